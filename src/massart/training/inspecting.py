"""What a model file tells: what it is, how it was trained, what is guaranteed of it, which features are heaviest."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.feature_names import column_names, find_names
from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels.learning import ranking as kernel
from massart.models.export import facts, finite
from massart.models.opening import OpenedModel, open_any

__all__ = ["inspect_model"]

_EXPERTS: Final = 5  # of a pool that are named
_DECIDERS: Final = ("bandit", "ranker")


def inspect_model(path: str | os.PathLike[str], top: int = 10, names: Sequence[str] = ()) -> dict[str, Any]:
    """All of it, as JSON has it.

    `top` features are named, the heaviest first. Where names were hashed, data is looked through for names that are
    hashed to these columns.

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
    opened = open_any(path)
    found = {"file": str(path), "bytes": opened.size, **facts(opened)}
    if opened.kind in _DECIDERS:
        found |= _decider(opened)
    elif opened.learner is not None:
        found |= _learner(opened, top, names)
    plain: dict[str, Any] = finite(found)
    return plain


def _learner(opened: OpenedModel, top: int, names: Sequence[str]) -> dict[str, Any]:
    if names and opened.naming != "hash":
        raise InvalidParameterError(f"{opened.path} knows its columns without help: leave --names out")
    columns = [_heaviest(row[:-1], top) for row in opened.weights]
    labels = _labels(opened, {column for own in columns for column in own}, names)
    heavy = [
        [{"name": labels[column], "column": column, "weight": float(row[column])} for column in own]
        for row, own in zip(opened.weights, columns, strict=True)
    ]
    members = getattr(opened.learner, "members", [opened.learner])
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


def _heaviest(weights: NDArray[np.float64], top: int) -> list[int]:
    """The columns of the largest weights in size, which are not 0; of equals, the first."""
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
    if opened.naming == "hash" and opened.reading is not None:
        found = find_names(names, opened.reading, columns) if names and columns else {}
        for column, own in column_names(opened.reading, columns).items():
            found[column] = list(dict.fromkeys((*own, *found.get(column, []))))
        labels |= {column: " | ".join(own) for column, own in found.items()}
    return labels


def _decider(opened: OpenedModel) -> dict[str, Any]:
    """Parameters and counters of a bandit or ranker."""
    from massart.learners.bandit import MonotoneBandit  # noqa: PLC0415  SciPy's statistics
    from massart.learners.ranker import MonotoneRanker  # noqa: PLC0415

    try:
        decider = (MonotoneBandit if opened.kind == "bandit" else MonotoneRanker).from_arrays(opened.arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(f"{opened.path} does not hold a {opened.kind} that fits together: {error}") from None
    experts, how = opened.arrays["experts"], opened.arrays["how"]
    parameters: dict[str, Any] = {
        "gap": sorted(set(experts[kernel.Expert.DELTA].tolist())),
        "margin": sorted(set(experts[kernel.Expert.GAMMA].tolist())),
        "reward_range": [float(how[kernel.Setting.LOWEST]), float(how[kernel.Setting.HIGHEST])],
    }
    found = {"parameters": parameters, "columns": int(opened.arrays["weights"].shape[0]), "rounds": decider.rounds}
    if isinstance(decider, MonotoneRanker):
        return found | {"lift": decider.lift, "guaranteed_lift": decider.guaranteed_lift}
    parameters |= {
        "exploration": float(how[kernel.Setting.FLOOR]) or None,
        "horizon": float(how[kernel.Setting.HORIZON]) or None,
        "update": "paper" if how[kernel.Setting.PAPER] else "inverse-margin",
    }
    certificate = decider.certificate()
    words = {"verdict": certificate.verdict, "sentence": certificate.sentence}
    return found | {"pending": decider.pending, "certificate": asdict(certificate) | words}
