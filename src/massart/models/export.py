"""Models for other programs: JSON, the coefficients of scikit-learn, ONNX."""

import json
import math
import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.formats import suffix_of
from massart.data.writers.file import Target, writing
from massart.errors import InvalidParameterError, needs
from massart.learners.certificate import certificate_facts
from massart.learners.class_pool import ClassPool
from massart.learners.groups import Grouped
from massart.learners.products import Products
from massart.models.class_graph import ClassGraph
from massart.models.opening import OpenedModel, build_model, open_model

__all__ = ["MODEL_FORMATS", "export_model", "facts", "finite"]

MODEL_FORMATS: Final = ("json", "npz", "onnx")
_BLOCK: Final = 1 << 16  # columns that become text at once
_ESCAPED: Final = "backslashreplace"  # half a surrogate pair becomes what JSON writes for it
_NAMING: Final = {
    "name": "the names of columns",
    "index": "the indices of svmlight, from 1",
    "hash": "the columns that names are hashed to, from 0",
    "column": "the columns, from 0",
}
_OPSET, _IR = 13, 7  # the oldest with all that is needed here, so that old runtimes read it
_MOST_WEIGHTS: Final = 1 << 28  # weights: protobuf holds no message of 2 GB


def export_model(model: str | os.PathLike[str], out: str | os.PathLike[str], to: str = "auto") -> int:
    """Write a model as JSON, .npz or ONNX, by the suffix of the file; return how many weights are not 0.

    Of several classes that were learned together, which only ONNX can hold, these are the numbers of the graph.

    >>> import tempfile
    >>> from massart import MassartClassifier, save
    >>> clf = MassartClassifier(0.1, 0.05).partial_fit([[3.0, 4.0]], ["yes"], classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/m.massart")
    ...     export_model(f"{folder}/m.massart", f"{folder}/m.npz")
    ...     with np.load(f"{folder}/m.npz") as parts:
    ...         parts["coef_"].shape, parts["intercept_"].shape, parts["classes_"].tolist()
    2
    ((1, 2), (1,), ['no', 'yes'])
    """
    chosen = _chosen(os.fspath(out), to)
    opened = open_model(model)
    if opened.kind == "ranker":
        return _export_ranker(opened, chosen, out)
    if opened.learner is None:
        what = "a classifier that has learned nothing yet" if opened.kind == "classifier" else f"a {opened.kind}"
        raise InvalidParameterError(f"{opened.path} holds {what}: only classifiers and rankers are written as {chosen}")
    if isinstance(opened.learner, Grouped):
        raise InvalidParameterError(
            f"{opened.path} has learned groups, each with weights of its own, for which {chosen} has no place: predict "
            "with massart"
        )
    if isinstance(opened.learner, Products):
        raise InvalidParameterError(
            f"{opened.path} has learned products of columns that are standardised along the way, for which {chosen} "
            "has no place: predict with massart, or train without products"
        )
    if not opened.is_linear and chosen != "onnx":
        raise InvalidParameterError(
            f"{opened.path} holds several classes that were learned together, not one linear score each: only linear "
            f"models are written as {chosen}; write it as onnx, or train with noise_rate and margin given, which keeps "
            "them linear"
        )
    if chosen == "onnx":
        graph = _onnx_bytes(opened)
        with writing(out) as target:
            target.write(graph)
    else:
        with writing(out) as target:
            (_write_json if chosen == "json" else _write_npz)(opened, target)
    if not opened.is_linear:
        return int(sum(np.count_nonzero(np.asarray(array)) for array in _predictor(opened).arrays().values()))
    return int(np.count_nonzero(opened.weights[:, :-1]))


def _predictor(opened: OpenedModel) -> ClassPool:
    """What predicts several classes that were learned together: after `fit`, another than what learned."""
    refitted = opened.class_pool("batch.") if opened.meta.get("refitted", False) else None
    pool: ClassPool = opened.learner if refitted is None else refitted
    return pool


def _export_ranker(opened: OpenedModel, chosen: str, out: str | os.PathLike[str]) -> int:
    """The linear score of a ranker: the higher, the better."""
    ranker = build_model(opened.kind, opened.meta, opened.arrays)
    if ranker.rounds == 0:
        raise InvalidParameterError(
            f"{opened.path} holds a ranker that has learned nothing yet: there is no {chosen} of it"
        )
    weights = np.asarray(ranker.weights, np.float64)
    if chosen == "onnx":
        graph = _ranker_onnx(opened, weights)
    with writing(out) as target:
        if chosen == "onnx":
            target.write(graph)
        elif chosen == "npz":
            np.savez(target, coef_=weights[None, :])
        else:
            known = facts(opened) | {"rounds": ranker.rounds, "columns": weights.size, "weights_by": _NAMING["column"]}
            known["weights"] = {str(column): float(weights[column]) for column in np.flatnonzero(weights).tolist()}
            text = json.dumps(finite(known), indent=1, ensure_ascii=False, allow_nan=False)
            target.write(f"{text}\n".encode(errors=_ESCAPED))
    return int(np.count_nonzero(weights))


def facts(opened: OpenedModel) -> dict[str, Any]:
    """What a model knows beside its weights, for JSON: no number in it is infinite or NaN."""
    meta = opened.meta
    found: dict[str, Any] = {
        "kind": opened.kind,
        "schema": opened.header["format"],
        "massart": opened.header["massart"],
        "parameters": meta.get("parameters", {}),
    }
    found |= {name: meta[name] for name in ("reading", "training", "progress") if name in meta}
    if opened.learner is not None:
        rounds, mistakes = int(opened.learner.rounds), int(opened.learner.mistakes)
        found |= {
            "classes": list(opened.classes),
            "columns": opened.weights.shape[1] - 1,
            "rounds": rounds,
            "mistakes": mistakes,
            "error": mistakes / rounds if rounds else None,
            "certificate": certificate_facts(opened.learner.certificate()),
            "noise_rate": opened.learner.lower_noise_rate(),
        }
    if isinstance(opened.learner, Grouped):
        found["groups"] = opened.learner.facts()
    plain: dict[str, Any] = finite(found)
    return plain


def finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have.

    >>> finite({"bound": math.inf, "rates": (0.5, math.nan)})
    {'bound': None, 'rates': [0.5, None]}
    """
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _chosen(out: str, to: str) -> str:
    if to not in ("auto", *MODEL_FORMATS):
        raise InvalidParameterError(f"{to!r}: a model is written as {', '.join(MODEL_FORMATS)}")
    chosen = suffix_of(out).removeprefix(".") if to == "auto" else to
    if chosen not in MODEL_FORMATS:
        raise InvalidParameterError(f"{out}: a model is written to a .json, .npz or .onnx file; name one of these")
    return chosen


def _write_json(opened: OpenedModel, target: Target) -> None:
    """All but the halfspaces at once, then these a block of weights at a time."""
    head = facts(opened) | {"weights_by": _NAMING[opened.naming]}
    start = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    target.write(f'{start},\n "halfspaces": ['.encode(errors=_ESCAPED))
    labels = opened.classes[1:] if len(opened.classes) == 2 else opened.classes
    for number, (label, row) in enumerate(zip(labels, opened.weights, strict=True)):
        begin = json.dumps({"class": label, "intercept": float(row[-1])}, ensure_ascii=False, allow_nan=False)
        target.write(f'{"," if number else ""}\n  {begin[:-1]}, "weights": {{'.encode(errors=_ESCAPED))
        for text in _weights(opened, row[:-1]):
            target.write(text.encode(errors=_ESCAPED))
        target.write(b"}}")
    target.write(b"\n ]\n}\n")


def _weights(opened: OpenedModel, row: NDArray[np.float64]) -> Iterator[str]:
    names, shift, first = opened.names, int(opened.naming == "index"), True
    for start in range(0, row.size, _BLOCK):
        block = row[start : start + _BLOCK]
        columns = np.flatnonzero(block)
        if not columns.size:
            continue
        values = map(repr, block[columns].tolist())
        if names is None:
            keys = [f'"{column}"' for column in (columns + start + shift).tolist()]
        else:
            keys = [json.dumps(names[column], ensure_ascii=False) for column in (columns + start).tolist()]
        pairs = ", ".join(f"{key}: {value}" for key, value in zip(keys, values, strict=True))
        yield pairs if first else f", {pairs}"
        first = False


def _write_npz(opened: OpenedModel, target: Target) -> None:
    """Without pickled objects: labels of several types become text."""
    classes = np.array(opened.classes)
    if classes.dtype.hasobject or classes.size != len({str(label) for label in opened.classes}):
        classes = np.array([str(label) for label in opened.classes])
    weights = np.asarray(opened.weights, np.float64)
    np.savez(target, coef_=weights[:, :-1], intercept_=weights[:, -1], classes_=classes)


def _onnx_bytes(opened: OpenedModel) -> bytes:
    """The model: input "X" (rows, columns) of float32; outputs "label" (rows,) and "score".

    The score is w.x + c of each row or, of more than two classes, (rows, classes): the highest one answers. Labels are
    whole numbers or text, as they were learned; any others become text. Weights are rounded to float32.
    """
    if opened.schema is not None and opened.schema.crossings:
        raise InvalidParameterError(
            f"{opened.path} crosses namespaces ({', '.join(opened.schema.crossings)}), which an ONNX graph of the "
            "columns cannot: convert the data with the same `crossings` first, and train on that"
        )
    if not opened.is_linear:
        return _classes_onnx(opened)
    if opened.weights.size > _MOST_WEIGHTS:
        raise InvalidParameterError(
            f"{opened.path} has {opened.weights.size:,} weights, more than the {_MOST_WEIGHTS:,} that ONNX can hold: "
            "train with fewer `bits`"
        )
    onnx, checker = (needs(name, "onnx", "to write ONNX models") for name in ("onnx", "onnx.checker"))
    helper, types, arrays = onnx.helper, onnx.TensorProto, onnx.numpy_helper
    halfspaces, width = opened.weights.shape[0], opened.weights.shape[1] - 1
    weights = np.ascontiguousarray(opened.weights.T, np.float32)
    initial = [arrays.from_array(weights[:-1], "weights"), arrays.from_array(weights[-1], "constants")]
    given, of_text = _label_tensor(opened.classes, onnx)
    initial.append(given)
    scores = "score" if halfspaces > 1 else "scores"
    nodes = [
        helper.make_node("MatMul", ["X", "weights"], ["products"]),
        helper.make_node("Add", ["products", "constants"], [scores]),
    ]
    if halfspaces > 1:
        nodes.append(helper.make_node("ArgMax", ["score"], ["answer"], axis=1, keepdims=0))
    else:
        initial += [arrays.from_array(np.array([1], np.int64), "one"), arrays.from_array(np.float32(0.0), "zero")]
        nodes += [
            helper.make_node("Squeeze", [scores, "one"], ["score"]),
            helper.make_node("GreaterOrEqual", ["score", "zero"], ["positive"]),
            helper.make_node("Cast", ["positive"], ["answer"], to=types.INT64),
        ]
    nodes.append(helper.make_node("Gather", ["labels", "answer"], ["label"]))
    graph = helper.make_graph(
        nodes,
        "massart",
        [helper.make_tensor_value_info("X", types.FLOAT, ["rows", width])],
        [
            helper.make_tensor_value_info("label", types.STRING if of_text else types.INT64, ["rows"]),
            helper.make_tensor_value_info("score", types.FLOAT, ["rows", halfspaces] if halfspaces > 1 else ["rows"]),
        ],
        initial,
    )
    return _model_bytes(graph, opened, onnx, checker)


def _label_tensor(classes: tuple[Any, ...], onnx: Any) -> tuple[Any, bool]:
    """The constant "labels", and whether it is of text."""
    labels, of_text = _labels(classes)
    if of_text:
        texts = [label.encode(errors=_ESCAPED) for label in labels]
        return onnx.helper.make_tensor("labels", onnx.TensorProto.STRING, [len(labels)], texts), True
    return onnx.numpy_helper.from_array(np.array(labels, np.int64), "labels"), False


def _model_bytes(graph: Any, opened: OpenedModel, onnx: Any, checker: Any) -> bytes:
    model = onnx.helper.make_model(
        graph,
        producer_name="massart",
        producer_version=str(opened.header["massart"]),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def _classes_onnx(opened: OpenedModel) -> bytes:
    """Several classes together: input "X" (rows, columns) of float64; outputs "label" and "probability" of classes."""
    pool = _predictor(opened)
    size = sum(np.asarray(array).size for array in pool.arrays().values())
    if size > _MOST_WEIGHTS // 2:
        raise InvalidParameterError(
            f"{opened.path} has {size:,} numbers, more than the {_MOST_WEIGHTS // 2:,} that ONNX can hold: train with "
            "fewer `bits`"
        )
    onnx, checker = (needs(name, "onnx", "to write ONNX models") for name in ("onnx", "onnx.checker"))
    helper, types = onnx.helper, onnx.TensorProto
    own = ClassGraph(pool, helper, onnx.numpy_helper)
    labels, of_text = _label_tensor(opened.classes, onnx)
    nodes = [
        *own.nodes,
        helper.make_node("ArgMax", ["probability"], ["answer"], axis=1, keepdims=0),
        helper.make_node("Gather", ["labels", "answer"], ["label"]),
    ]
    graph = helper.make_graph(
        nodes,
        "massart",
        [helper.make_tensor_value_info("X", types.DOUBLE, ["rows", pool.n_features])],
        [
            helper.make_tensor_value_info("label", types.STRING if of_text else types.INT64, ["rows"]),
            helper.make_tensor_value_info("probability", types.DOUBLE, ["rows", pool.n_classes]),
        ],
        [*own.initial, labels],
    )
    return _model_bytes(graph, opened, onnx, checker)


def _ranker_onnx(opened: OpenedModel, weights: NDArray[np.float64]) -> bytes:
    """Input "X" (arms, columns) of float64; output "score" (arms,)."""
    onnx, checker = (needs(name, "onnx", "to write ONNX models") for name in ("onnx", "onnx.checker"))
    helper, types = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "weights"], ["score"])],
        "massart",
        [helper.make_tensor_value_info("X", types.DOUBLE, ["arms", weights.size])],
        [helper.make_tensor_value_info("score", types.DOUBLE, ["arms"])],
        [onnx.numpy_helper.from_array(weights, "weights")],
    )
    return _model_bytes(graph, opened, onnx, checker)


def _labels(classes: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """The labels, and whether they are text.

    >>> _labels((False, True)), _labels((0.0, 1.0)), _labels(("no", "yes")), _labels((0.5, 2))
    (([0, 1], False), ([0, 1], False), (['no', 'yes'], True), (['0.5', '2'], True))
    """
    if all(isinstance(label, bool | int | float) and abs(label) < 2**63 and label == int(label) for label in classes):
        return [int(label) for label in classes], False
    return [str(label) for label in classes], True
