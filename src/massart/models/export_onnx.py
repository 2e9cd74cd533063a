"""A model as an ONNX graph: one matrix product, a comparison, and the label it points to."""

import importlib
from typing import Any, Final

import numpy as np

from massart.errors import InvalidParameterError, MassartError
from massart.models.opening import OpenedModel

__all__ = ["MissingOnnxError", "onnx_bytes"]

_OPSET, _IR = 13, 7  # the oldest with all that is needed here, so that old runtimes read it
_MOST: Final = 1 << 28  # weights: protobuf holds no message of 2 GB


class MissingOnnxError(MassartError, ImportError):
    """The package onnx is not installed."""


def onnx_bytes(opened: OpenedModel) -> bytes:
    """The model: input "X" (rows, columns) of float32; outputs "label" (rows,) and "score".

    The score is w.x + c of each row or, of more than two classes, (rows, classes): the highest one answers. Labels are
    whole numbers or text, as they were learned; any others become text. Weights are rounded to float32.
    """
    if opened.reading is not None and opened.reading.crossings:
        raise InvalidParameterError(
            f"{opened.path} crosses namespaces ({', '.join(opened.reading.crossings)}), which an ONNX graph of the "
            "columns cannot: convert the data with the same -q and --cubic first, and train on that"
        )
    if opened.weights.size > _MOST:
        raise InvalidParameterError(
            f"{opened.path} has {opened.weights.size:,} weights, more than the {_MOST:,} that ONNX can hold: "
            "train with fewer bits (-b)"
        )
    try:
        onnx = importlib.import_module("onnx")
        checker = importlib.import_module("onnx.checker")
    except ImportError:
        raise MissingOnnxError('onnx is needed to write ONNX models: pip install "massart[onnx]"') from None
    helper, types, arrays = onnx.helper, onnx.TensorProto, onnx.numpy_helper
    halfspaces, width = opened.weights.shape[0], opened.weights.shape[1] - 1
    weights = np.ascontiguousarray(opened.weights.T, np.float32)
    labels, of_text = _labels(opened.classes)
    initial = [arrays.from_array(weights[:-1], "weights"), arrays.from_array(weights[-1], "constants")]
    initial.append(
        helper.make_tensor(
            "labels", types.STRING, [len(labels)], [label.encode(errors="backslashreplace") for label in labels]
        )
        if of_text
        else arrays.from_array(np.array(labels, np.int64), "labels")
    )
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
    model = helper.make_model(
        graph,
        producer_name="massart",
        producer_version=str(opened.header["massart"]),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def _utf8(label: str) -> bytes:
    return label.encode(errors="backslashreplace")  # half a surrogate pair is no UTF-8


def _labels(classes: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """The labels, and whether they are text.

    >>> _labels((False, True)), _labels((0.0, 1.0)), _labels(("no", "yes")), _labels((0.5, 2))
    (([0, 1], False), ([0, 1], False), (['no', 'yes'], True), (['0.5', '2'], True))
    """
    if all(isinstance(label, bool | int | float) and abs(label) < 2**63 and label == int(label) for label in classes):
        return [int(label) for label in classes], False
    return [str(label) for label in classes], True
