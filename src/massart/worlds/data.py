"""Any labelled data set as a world: Massart noise put on top of labels that are taken to be true."""

import warnings
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.base import Chunk, Labels, ObliviousWorld, Region, flip
from massart.worlds.ranges import within
from massart.worlds.stream import Block, Matrix, Passes, Seed, Vector

__all__ = ["NOISES", "DataWorld", "from_data", "one_label_per_row", "scaled_rows", "standard_columns"]

NOISES = ("uniform", "near-boundary", "far-from-boundary", "group", "outside-group")


def from_data(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    noise: str = "uniform",
    noise_rate: float = 0.1,
    group: npt.ArrayLike | None = None,
    target: npt.ArrayLike | None = None,
    shuffle: bool = True,
    seed: Seed = 0,
) -> "DataWorld":
    """Make a world of a labelled data set by flipping its labels at rates of at most `noise_rate`.

    With v = |target.x| and v_max its largest value over the rows, a label is flipped with probability

        uniform              noise_rate
        near-boundary        noise_rate (1 - v / v_max)
        far-from-boundary    noise_rate v / v_max
        group                noise_rate inside the group, 0 outside
        outside-group        noise_rate outside the group, 0 inside

    The last is the experiment of Chen, Koehler, Moitra and Yau (2020): the group is clean, the other rows are
    noisy, and one looks at how the learner treats the group.

    Rows are divided by the largest norm. Of the two classes the larger value is +1. `group` is a mask of the rows.
    `target` is the boundary through the origin (append a column of ones to the rows if yours does not pass
    through it); left out, it is the logistic regression of the given labels. The world's `margin` is None
    when the target does not reproduce the labels. Rounds beyond the last row start over, in a new
    order if `shuffle`, and with new noise.

    >>> rows = np.array([[3.0, 4.0], [1.0, -2.0], [-3.0, 1.0], [-1.0, -2.0]])
    >>> world = from_data(rows, ["yes", "yes", "no", "no"], noise="outside-group", noise_rate=0.2,
    ...                   group=[True, True, False, False], target=[1.0, 0.0])
    >>> world.margin, world.bayes_error
    (0.2, 0.1)
    >>> [(region.name, region.flip_rate) for region in world.regions]
    [('group', 0.0), ('others', 0.2)]
    """
    return DataWorld(X, y, noise, noise_rate, group, target, shuffle, seed)


class DataWorld(ObliviousWorld):
    """A data set and the rates at which its labels are flipped; made by `from_data`."""

    name: ClassVar[str] = "data"
    description: ClassVar[str] = (
        "A labelled data set whose labels are taken to be true, and flipped uniformly, by the distance from "
        "the boundary, or for one group only."
    )

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        noise: str,
        noise_rate: float,
        group: npt.ArrayLike | None,
        target: npt.ArrayLike | None,
        shuffle: bool,
        seed: Seed,
    ) -> None:
        super().__init__(seed)
        if noise not in NOISES:
            raise InvalidParameterError(f"noise must be one of {', '.join(NOISES)}; got {noise!r}")
        self.noise = noise
        self.shuffle = shuffle
        self.noise_rate = within(self.name, "noise_rate", noise_rate, 0.0, 0.5, ends="[)")
        self._rows = scaled_rows(X)
        self._clean, self.classes = _labels(y, len(self._rows))
        self.dimension = self._rows.shape[1]
        self.target = _target(target, self._rows, self._clean)
        scores = np.einsum("ij,j->i", self._rows, self.target)  # not `@`: its bits depend on the number of threads
        separated = bool(np.all(scores * self._clean > 0.0))
        self.margin = float(np.abs(scores).min()) if separated else None
        self._rates, self._region, labels = _noise(noise, self.noise_rate, np.abs(scores), group)
        shares = [self._region == index for index in range(len(labels))]
        self.regions = tuple(
            Region(label, _mean(self._rates[share]), float(share.mean()))
            for label, share in zip(labels, shares, strict=True)
        )
        self.bayes_error = _mean(self._rates)
        self._passes = Passes(len(self._rows), shuffle, self)

    def _draw(self, block: Block) -> Chunk:
        chosen = self._passes.chosen(block)
        clean = self._clean[chosen]
        y = flip(block.rng, clean, self._rates[chosen]).astype(np.int8)
        return Chunk(self._rows[chosen], y, clean.astype(np.int8), self._region[chosen])

    def _parameters(self) -> dict[str, Any]:
        return {"rows": len(self._rows), "noise": self.noise, **super()._parameters()}


def scaled_rows(X: npt.ArrayLike) -> Matrix:
    """Check rows and divide them by their largest norm."""
    if hasattr(X, "toarray"):
        raise InvalidDataError("X is sparse, and worlds hand out dense rows: pass X.toarray()")
    try:
        rows = np.array(X, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidDataError("X must hold numbers only: encode categories before") from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidDataError(f"X must have rows and columns, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InvalidDataError("X holds NaN or infinity: fill or drop those rows before")
    largest = float(np.sqrt(np.square(rows).sum(axis=1)).max())
    if largest == 0.0:
        raise InvalidDataError("every row of X is zero: there is nothing to learn from")
    return np.divide(rows, largest, out=rows)


def standard_columns(rows: Matrix, *, ones: bool) -> Matrix:
    """Give columns mean 0 and standard deviation 1, but for those that never change, which are 0."""
    moved = rows - rows.mean(axis=0)
    spread = moved.std(axis=0)
    changes = rows.max(axis=0) > rows.min(axis=0)
    scaled: Matrix = np.where(changes, moved / np.where(spread > 0.0, spread, 1.0), 0.0)
    return np.column_stack([scaled, np.ones(len(rows))]) if ones else scaled


def one_label_per_row(y: npt.ArrayLike, size: int) -> npt.NDArray[Any]:
    """Check that y has one label for each of `size` rows."""
    labels = np.asarray(y)
    if labels.shape != (size,):
        raise InvalidDataError(f"y must have one label per row, shape ({size},), got {labels.shape}")
    return labels


def _labels(y: npt.ArrayLike, size: int) -> tuple[Vector, list[Any]]:
    labels = one_label_per_row(y, size)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InvalidDataError(f"y must hold two classes, got {len(classes)}: {classes[:5].tolist()}")
    return np.where(labels == classes[1], 1.0, -1.0), classes.tolist()


def _target(given: npt.ArrayLike | None, rows: Matrix, clean: Vector) -> Vector:
    if given is None:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - only when no target is given

        # Weak regularisation: rows have norm at most 1, so that C = 1 would shrink the weights to nothing.
        model = LogisticRegression(C=100.0, fit_intercept=False, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an optimum reached to few digits is boundary enough
            target = np.asarray(model.fit(rows, clean).coef_[0], dtype=np.float64)
    else:
        target = np.array(given, dtype=np.float64)
        if target.shape != (rows.shape[1],):
            raise InvalidDataError(f"target must have shape ({rows.shape[1]},), got {target.shape}")
    length = float(np.sqrt(np.square(target).sum()))
    if not 0.0 < length < np.inf:
        raise InvalidDataError("target must be finite and not zero")
    unit: Vector = target / length
    return unit


def _mean(rates: Vector) -> float:
    """Average, kept within its numbers: the rounded mean of equal rates may otherwise exceed them."""
    return float(np.clip(rates.mean(), rates.min(), rates.max()))


def _noise(
    noise: str, noise_rate: float, distance: Vector, group: npt.ArrayLike | None
) -> tuple[Vector, Labels, list[str]]:
    """Give each row's flip rate and region, and the regions' names."""
    size = len(distance)
    if noise in ("group", "outside-group"):
        inside: npt.NDArray[np.bool_] = np.asarray([] if group is None else group)
        if inside.shape != (size,) or inside.dtype != np.bool_ or inside.all() or not inside.any():
            raise InvalidDataError(
                f"noise={noise!r} needs group: one True or False per row, {size} in all, both of them present"
            )
        noisy = inside if noise == "group" else ~inside
        return np.where(noisy, noise_rate, 0.0), (~inside).astype(np.int8), ["group", "others"]
    if group is not None:
        raise InvalidParameterError(f"group is not used by noise={noise!r}: pass noise='outside-group' or 'group'")
    if noise == "uniform":
        return np.full(size, noise_rate), np.zeros(size, dtype=np.int8), ["all"]
    farthest = distance.max()
    if farthest == 0.0:
        raise InvalidDataError("every row lies on the boundary: pass another target")
    relative = distance / farthest
    rates = noise_rate * (1.0 - relative if noise == "near-boundary" else relative)
    parts = min(4, size)
    rank = np.argsort(np.argsort(distance, kind="stable"), kind="stable")
    names = [f"{part + 1} of {parts} by distance" for part in range(parts)]
    return rates, (rank * parts // size).astype(np.int8), names
