"""What `massart inspect` finds in a model file, and how it shows it: one fact per line, and a table of features."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.feature_names import column_names, find_names
from massart.data.io.turns import BEFORE, FIELDS
from massart.errors import InvalidParameterError, counted
from massart.kernels.learning import ranking as kernel
from massart.learners.certificate import group_lines, noise_rate_words
from massart.learners.pool import Pool
from massart.models.export import facts, finite
from massart.models.opening import OpenedModel, model_of, open_model

__all__ = ["fact_lines", "feature_heads", "feature_rows", "inspect_model", "shown"]

_EXPERTS: Final = 5  # of a pool that are named
_DECIDERS: Final = ("bandit", "ranker")
_LONGEST, _LONGEST_PATH = 60, 240  # characters of a name
_FILES, _COLUMNS, _PARTITIONS = 4, 8, 8  # that are named
_HEADS: Final = {"weight": "weight", "effect": "weight x deviation"}

Fact = tuple[str, str]


def inspect_model(path: str | os.PathLike[str], top: int = 10, names: Sequence[str] = ()) -> dict[str, Any]:
    """All of it, as JSON has it.

    `top` features are named, the heaviest first: by weight times the standard deviation of the column, where the
    learner keeps deviations, else by weight. Where names were hashed, data is looked through for names that are hashed
    to these columns.

    >>> import tempfile
    >>> from massart import MassartClassifier, save
    >>> clf = MassartClassifier(0.1, 0.05).partial_fit([[1.0, 2.0]], ["yes"], classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/m.massart")
    ...     found = inspect_model(f"{folder}/m.massart", top=1)
    >>> found["kind"], found["rounds"], [feature["name"] for feature in found["features"]]
    ('classifier', 1, ['column 1'])
    """
    if top < 0:
        raise InvalidParameterError(f"top={top}: give 0 or more")
    opened = open_model(path)
    found = {"file": str(path), "bytes": opened.path.stat().st_size, **facts(opened)}
    if opened.kind in _DECIDERS:
        found |= _decider(opened)
    elif opened.learner is not None:
        found |= _learner(opened, top, names)
    plain: dict[str, Any] = finite(found)
    return plain


def _learner(opened: OpenedModel, top: int, names: Sequence[str]) -> dict[str, Any]:
    if names and opened.naming != "hash":
        raise InvalidParameterError(f"{opened.path} knows its columns without help: leave `names` out")
    if not opened.is_linear:
        return {"experts": dict(list(opened.learner.shares().items())[:_EXPERTS]), "features": []}
    members = getattr(opened.learner, "members", [opened.learner])
    spreads = [member.deviations() if isinstance(member, Pool) else None for member in members]
    columns = [_heaviest(row[:-1], own, top) for row, own in zip(opened.weights, spreads, strict=True)]
    labels = _labels(opened, {column for own in columns for column in own}, names)
    heavy = [
        [{"name": labels[column], **_feature(column, row, spread)} for column in own]
        for row, own, spread in zip(opened.weights, columns, spreads, strict=True)
    ]
    shares = [dict(list(member.shares().items())[:_EXPERTS]) for member in members]
    constants = opened.weights[:, -1].tolist()
    used = int(np.count_nonzero(opened.weights[:, :-1].any(axis=0) if len(heavy) > 1 else opened.weights[0, :-1]))
    if len(heavy) == 1:
        return {"experts": shares[0], "used": used, "intercept": constants[0], "features": heavy[0]}
    each = [str(label) for label in opened.classes]
    return {
        "experts": dict(zip(each, shares, strict=True)),
        "used": used,
        "intercept": dict(zip(each, constants, strict=True)),
        "features": dict(zip(each, heavy, strict=True)),
    }


def _feature(column: int, weights: NDArray[np.float64], spread: NDArray[np.float64] | None) -> dict[str, Any]:
    weight, deviation = float(weights[column]), None if spread is None else float(spread[column])
    effect = None if deviation is None else weight * deviation
    return {"column": column, "weight": weight, "deviation": deviation, "effect": effect}


def _heaviest(weights: NDArray[np.float64], spread: NDArray[np.float64] | None, top: int) -> list[int]:
    """The columns of the largest weights in size, which are not 0; of equals, the first."""
    if spread is not None:
        sizes = np.abs(weights)
        order = np.lexsort((-sizes, -sizes * spread))
        return [int(column) for column in order if sizes[column] > 0][:top]
    sizes = np.abs(weights)
    top = min(top, sizes.size)
    if not top:
        return []
    least = np.partition(sizes, sizes.size - top)[sizes.size - top]
    above, equal = np.flatnonzero(sizes > least), np.flatnonzero(sizes == least)
    chosen = np.concatenate((above, equal[: top - above.size]))
    order = np.lexsort((chosen, -sizes[chosen]))
    return [int(column) for column in chosen[order] if sizes[column] > 0]


def _labels(opened: OpenedModel, columns: set[int], names: Sequence[str]) -> dict[int, str]:
    """What people call these columns."""
    words = {"name": "", "index": "index ", "hash": "#", "column": "column "}[opened.naming]
    labels = {column: words + opened.key(column) for column in columns}
    if opened.naming == "hash" and opened.schema is not None:
        found = find_names(names, opened.schema, columns) if names and columns else {}
        for column, own in column_names(opened.schema, columns).items():
            found[column] = list(dict.fromkeys((*own, *found.get(column, []))))
        labels |= {column: " | ".join(own) for column, own in found.items()}
    return labels


def _decider(opened: OpenedModel) -> dict[str, Any]:
    """Parameters and counters of a bandit or ranker."""
    decider = model_of(str(opened.path), opened.kind, opened.meta, opened.arrays)
    experts, how = opened.arrays["experts"], opened.arrays["how"]
    parameters: dict[str, Any] = {
        "gap": sorted(set(experts[kernel.Expert.DELTA].tolist())),
        "margin": sorted(set(experts[kernel.Expert.GAMMA].tolist())),
        "reward_range": [float(how[kernel.Setting.LOWEST]), float(how[kernel.Setting.HIGHEST])],
    }
    found = {"parameters": parameters, "columns": int(opened.arrays["weights"].shape[0]), "rounds": decider.rounds}
    if opened.kind == "ranker":
        return found | {"lift": decider.lift, "guaranteed_lift": decider.guaranteed_lift}
    parameters |= {
        "exploration": float(how[kernel.Setting.FLOOR]) or None,
        "horizon": float(how[kernel.Setting.HORIZON]) or None,
        "update": "paper" if how[kernel.Setting.PAPER] else "inverse-margin",
    }
    certificate = decider.certificate()
    words = {"verdict": certificate.verdict, "sentence": certificate.sentence}
    return found | {"pending": decider.pending, "certificate": asdict(certificate) | words}


def shown(text: str, longest: int = _LONGEST) -> str:
    r"""A name from a file, safe to print, and not too long.

    >>> shown("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    safe = text if text.isprintable() else text.encode("unicode_escape").decode()
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


def fact_lines(found: Mapping[str, Any]) -> list[Fact]:
    """Everything but the features."""
    facts: list[Fact] = [("model", _what(found))]
    if "progress" in found:
        facts.append(("not finished", _progress(found["progress"])))
    facts.append(("parameters", _parameters(found["parameters"])))
    if "reading" in found:
        facts.append(("reading", _reading(found["reading"])))
    for run in found.get("training", {}).get("runs", []):
        facts += _run(run)
    if "rounds" in found:
        facts += _counts(found)
    if "experts" in found:
        facts += _experts(found)
    return facts


def feature_rows(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Name, weight and, where deviations are known, effect; the class before them if there are more than two."""
    features = found.get("features") or []
    if isinstance(features, Mapping):
        return [(shown(label), *row) for label, own in features.items() for row in _pairs(own)]
    return list(_pairs(features))


def _pairs(features: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (" | ".join(map(shown, feature["name"].split(" | "))), *(f"{feature[key]:+.6g}" for key in _numbers(feature)))
        for feature in features
    ]


def _numbers(feature: Mapping[str, Any]) -> tuple[str, ...]:
    return ("weight",) if feature["effect"] is None else ("weight", "effect")


def feature_heads(found: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the columns of `feature_rows`."""
    features = found["features"]
    several = isinstance(features, Mapping)
    first = next(own[0] for own in features.values() if own) if several else features[0]
    numbers = tuple("raw weight" if len(_numbers(first)) == 1 else _HEADS[key] for key in _numbers(first))
    return (*(("class",) if several else ()), "heaviest feature", *numbers)


def _what(found: Mapping[str, Any]) -> str:
    classes = found.get("classes", [])
    telling = f" of {' and '.join(shown(str(label)) for label in classes)}" if len(classes) == 2 else ""
    if len(classes) > 2:
        telling = f" of {len(classes)} classes"
    if found["kind"] == "classifier" and not classes:
        telling = " that has learned nothing yet"
    size = f"{found['bytes'] / 1e6:,.1f} MB" if found["bytes"] >= 1e5 else f"{found['bytes']:,} bytes"
    writer = f"written by massart {shown(found['massart'])}"
    return f"{shown(found['kind'])}{telling}; schema {found['schema']}, {writer}, {size}"


def _progress(progress: Mapping[str, Any]) -> str:
    source, _, line = progress["position"][:3]
    place = f"line {line:,} of file {source + 1}"
    if marks := progress["position"][3:]:
        pairs = list(zip(marks[0][BEFORE::FIELDS], marks[0][BEFORE + 2 :: FIELDS], strict=False))
        place = ", ".join(f"offset {offset:,} of partition {partition}" for partition, offset in pairs[:_PARTITIONS])
        place += f" and {len(pairs) - _PARTITIONS:,} more" if len(pairs) > _PARTITIONS else ""
    phase = "measuring the rows kept apart" if progress["phase"] == "measure" else "learning"
    if progress["phase"] == "finish":
        return "a checkpoint: all is learned, the model was about to be written; go on with --resume"
    return (
        f"a checkpoint: {phase} in pass {progress['passed']}, {progress['read']:,} rows read, up to {place}; "
        "go on with --resume"
    )


def _parameters(parameters: Mapping[str, Any]) -> str:
    given = [f"{name}={_value(value)}" for name, value in parameters.items() if value is not None]
    unknown = [name for name in ("noise_rate", "margin") if name in parameters and parameters[name] is None]
    tried = [f"{' and '.join(unknown)} not given, so several are tried"] if unknown else []
    return ", ".join(given + tried) or "none"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float) else shown(str(value))


def _reading(reading: Mapping[str, Any]) -> str:
    names = [shown(name) for name in reading.get("columns", [])]
    listed = ", ".join(names[:_COLUMNS]) + (f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else "")
    columns = f"names hashed to 2**{reading['bits']} columns" if "bits" in reading else "counted columns"
    parts = [shown(reading.get("format", "auto")), f"{columns} ({listed})" if names else columns]
    parts += [f"{key} {shown(reading[key])}" for key in ("label", "weight") if key in reading]
    parts.append(f"labels {' and '.join(map(shown, reading.get('labels', ('-1 or 0', '1'))))}")
    for key, what in (
        ("categorical", "names in"),
        ("ignore", "without"),
        ("crossings", "crossing"),
        ("groups", "groups by"),
    ):
        if reading.get(key):
            parts.append(f"{what} {', '.join(map(shown, reading[key]))}")
    return "; ".join(parts)


def _run(run: Mapping[str, Any]) -> list[Fact]:
    files = [
        f"{shown(name, _LONGEST_PATH)}{'' if size is None else f' ({size:,} bytes)'}"
        for name, size in run.get("sources", [])
    ]
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    parts = [f"{run.get('learned', 0):,} learned"]
    parts += [f"{run[key]:,} {what}" for key, what in _LEFT_OUT.items() if run.get(key)]
    parts += [f"{count:,} left out: {shown(kind)}" for kind, count in (run.get("flaws") or {}).items()]
    if run.get("holdout"):
        parts.append("holdout error " + ", ".join(f"{wrong / max(1, rows):.2%}" for rows, wrong in run["holdout"]))
    return [("trained on", ", ".join(files[:_FILES]) + more), ("rows", "; ".join(parts))]


_LEFT_OUT = {"unlabelled": "without a label", "weightless": "of importance 0", "held_out": "kept apart"}


def _counts(found: Mapping[str, Any]) -> list[Fact]:
    if found["kind"] in ("bandit", "ranker"):
        return _decisions(found)
    facts = [("rounds", f"{found['rounds']:,}, {counted(found['mistakes'], 'mistake')}")]
    if found["error"] is not None:
        of_rows = "; rows are counted, whatever their weight" if found["certificate"]["weighted"] else ""
        words = f" ({found['error']:.2%}), each row predicted before it was learned{of_rows}"
        facts = [("rounds", facts[0][1] + words)]
    facts.append(("bound", found["certificate"]["sentence"]))
    facts.append(("noise rate", noise_rate_words(found["noise_rate"])))
    facts += [(f"group {shown(name)}", words) for name, words in group_lines(found.get("groups", {}))]
    return facts


def _decisions(found: Mapping[str, Any]) -> list[Fact]:
    facts = [("rounds", f"{found['rounds']:,}"), ("columns", f"{found['columns']:,}")]
    if found["kind"] == "ranker":
        facts.append(("lift", f"{found['lift']:,.1f} seen"))
        least = found["guaranteed_lift"]
        known = len(found["parameters"]["gap"]) == 1
        theorem = "Theorem 17" if known else "Theorem 20, if gap and margin are the largest of these"
        words = f"an expected lift of at least {least:,.1f} ({theorem})" if least > 0 else "nothing yet"
        return [*facts, ("guarantee", words)]
    lift = found["certificate"]
    seen = f"{lift['observed_lift']:,.1f} seen ({lift['low']:,.1f} to {lift['high']:,.1f} at {lift['confidence']:.0%})"
    facts.append(("pending", f"{found['pending']:,} choices wait for their reward"))
    return [*facts, ("lift", seen), ("guarantee", lift["sentence"])]


def _experts(found: Mapping[str, Any]) -> list[Fact]:
    if "intercept" not in found:  # classes that were learned together have no weights of their own
        named = "; ".join(f"{name} {share:.0%}" for name, share in found["experts"].items())
        return [("columns", f"{found['columns']:,}"), ("expert weights", named)]
    facts = [("columns", f"{found['columns']:,}, of which {found['used']:,} have a weight")]
    several = isinstance(found["intercept"], Mapping)
    pools = found["experts"] if several else {"": found["experts"]}
    constants = found["intercept"] if several else {"": found["intercept"]}
    for label, shares in pools.items():
        whom = f" {shown(label)}" if label else ""
        facts.append((f"expert weights{whom}", "; ".join(f"{name} {share:.0%}" for name, share in shares.items())))
        facts.append((f"constant{whom}", f"{constants[label]:+.6g}"))
    return facts
