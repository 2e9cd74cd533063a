"""From an online learner to one predictor for a data set: an order of the rows, passes, and a choice of weights.

A learner with regret R over n independent rows has, at a round drawn by chance, an expected error of at most
noise_rate + R / n (theory.online_to_batch_error). That round's weights are a candidate here, several times over;
averages, which the theorem does not cover but which are usually better, and the last weights are the others.
Those with the fewest mistakes on the rows are polished: along each coordinate in turn, the exact minimum of the
mistakes is taken if it is lower by more than chance; then the best is the predictor. Noise that differs between
groups of rows moves the minimum of every convex loss, but not this one.
"""

from math import sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from massart.kernels.door import Rows
from massart.kernels.learning import coordinate_search as polishing
from massart.kernels.learning import rows as kernel
from massart.kernels.learning.elementary import log
from massart.kernels.learning.rows import score_many, score_many_csr
from massart.learners.calibration import ClassCalibration, ScoreCalibration
from massart.learners.class_pool import ClassPool
from massart.learners.multiclass import Binary, OneVsRest
from massart.learners.products import Products

_Together = TypeVar("_Together", ClassPool, Products)  # learners whose answers are not linear
_DRAWS = 6  # rounds drawn by chance
_JUDGED = 20_000  # rows that judge the candidates, at most
_AT_ONCE = 16  # candidates that are judged at once
_POLISHED = 8  # candidates that are polished, the best
_POLISHING = 50_000  # rows that polish them, at most
_SWEEPS = 2
_MANY_COLUMNS = 1024  # from which on unused ones are left out
_PER_COLUMN = ("weights", "variances")  # arrays of a learner with one entry per column, and one for the constant
_MOST_COPIES = 4  # copies of a row per row of data, on average, that weights may ask for


class _Columns:
    """The columns that are used: those that occur in X if it is sparse and they are few, else all.

    Candidates are dozens of weight vectors. With millions of columns, most of which occur in no row, they would be many
    times as large as the model.

    >>> columns = _Columns(sparse.csr_matrix(([1.0, 2.0], [3, 2000], [0, 2]), shape=(1, 5000)))
    >>> columns.of_rows.shape, columns.of_rows.toarray().tolist()
    ((1, 2), [[1.0, 2.0]])
    >>> np.flatnonzero(columns.widened(np.array([[5.0, 6.0, 7.0]]))).tolist()
    [3, 2000, 5000]
    """

    def __init__(self, X: Any) -> None:
        self.width = int(X.shape[1])
        self._taken: NDArray[np.int64] | None = None  # numbers of the columns, and that of the constant
        self.of_rows = X
        if not sparse.issparse(X) or self.width < _MANY_COLUMNS:
            return
        seen = np.zeros(self.width + 1, dtype=bool)
        seen[X.indices] = True
        seen[-1] = True
        if np.count_nonzero(seen) > self.width // 2:
            return
        self._taken = np.flatnonzero(seen)
        places = np.searchsorted(self._taken, X.indices)
        self.of_rows = sparse.csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], self._taken.size - 1))

    def _of(self, learner: Any) -> Any:
        """A copy of a learner that knows these columns alone: its weights are the same."""
        if self._taken is None:
            return learner
        if hasattr(learner, "members"):
            return type(learner)([self._of(member) for member in learner.members])
        arrays = learner.arrays()
        for name, array in arrays.items():
            if name.rpartition(".")[2] in _PER_COLUMN:
                arrays[name] = array[self._taken]
        return type(learner).from_arrays(arrays)

    def columns(self, learner: Any) -> NDArray[np.float64]:
        """(classes, experts, columns + 1): all weights of a learner."""
        return np.asarray(self._of(learner).columns())

    def leaders(self, learner: Any) -> NDArray[np.float64]:
        """(classes, 1, columns + 1): the weights that predict now."""
        return np.asarray(self._of(learner).leaders()[:, None, :])

    def summed(self, learner: Any, average: Any) -> tuple[NDArray[np.float64], float]:
        """(classes, experts, columns + 1): the sum of weight * w over all rounds, and the sum of weights."""
        if self._taken is not None:
            taken = self._taken
            average = [part[taken] for part in average] if isinstance(average, list) else average[taken]
        total, weight = self._of(learner).summed(average)
        return np.asarray(total), float(weight)

    def widened(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(classes, columns + 1) weights as weights of all columns."""
        if self._taken is None:
            return weights
        wide = np.zeros((len(weights), self.width + 1))
        wide[:, self._taken] = weights
        return wide

    def divided(self, X: Any, sizes: NDArray[np.float64]) -> Any:
        """All columns of X, divided by the sizes of these ones."""
        if not sparse.issparse(X):
            return X / sizes
        factors = (1.0 / sizes)[self.of_rows.indices]
        return sparse.csr_matrix((X.data * factors, X.indices, X.indptr), shape=X.shape)


def canonical_order(
    rows: Rows, labels: NDArray[np.int64], weight: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """A random order that depends on the rows and the seed, not on where the rows stand; (order, weight per copy).

    A row of weight 2 is learned twice, at the two places where the same row given twice would be learned; so a
    weight means what a repetition means. Where weights are large, a copy carries more than 1, so that there are at
    most a few copies per row; the largest weight of a copy is scaled to 1, which is what the learner's caps assume.
    """
    unit = max(1.0, float(weight.sum()) / (_MOST_COPIES * max(1, int(np.count_nonzero(weight)))))
    copies = np.ceil(weight / unit - 1e-9).astype(np.int64)
    copies[weight > 0] = np.maximum(copies[weight > 0], 1)
    per_copy = np.divide(weight, copies, out=np.zeros_like(weight), where=copies > 0)
    keys = rows.keys(labels, np.uint64(seed))
    # Rows of equal key are equal rows: which of them comes first does not matter, unless their weights differ.
    by_key = np.lexsort((per_copy, keys))
    places, copy_keys = kernel.copy_keys(keys[by_key], copies[by_key])
    order = by_key[places[np.argsort(copy_keys, kind="stable")]]
    return order.astype(np.uint64), per_copy / per_copy.max()


def fit_again(
    learner: _Together,
    rows: Rows,
    targets: NDArray[Any],
    labels: NDArray[np.int64],
    weight: NDArray[np.float64],
    passes: int,
    seed: int,
) -> _Together:
    """Learn the rows once with `learner`, go on with a copy for the other passes; return what predicts, the copy.

    Rounds, mistakes and certificate are those of the first pass, as in `fit_batch`. `targets` are the labels as the
    learner takes them.
    """
    order, weight = canonical_order(rows, labels, weight, seed)
    if order.size > np.count_nonzero(weight):
        learner.mark_unproved()
    learner.learn_rows(rows, targets, weight, order)
    again = learner.copy()
    again.mark_unproved()
    rng = np.random.default_rng(seed)
    for _ in range(1, passes):
        again.learn_rows(rows, targets, weight, rng.permutation(order))
        again.mix_as(learner)  # only the first pass shows how good an expert is on rows that it has not seen
    return again


def new_calibration(learner: Binary | OneVsRest) -> ScoreCalibration | ClassCalibration:
    """What makes probabilities of a learner's scores."""
    return ClassCalibration() if isinstance(learner, OneVsRest) else ScoreCalibration()


def calibrated(
    rows: Rows,
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    weight: NDArray[np.float64],
    seed: int,
) -> ScoreCalibration | ClassCalibration:
    """A calibration of the (rows, 1 or classes) scores of the rows that what gives them was learned from."""
    order, own = canonical_order(rows, labels, weight, seed)
    taken = order[:_JUDGED].astype(np.int64)
    scores = scores[taken]
    if scores.shape[1] == 1:
        binary = ScoreCalibration()
        binary.learn(scores.ravel(), (2 * labels[taken] - 1).astype(np.int8), own[taken])
        return binary
    several = ClassCalibration()
    several.learn(scores, labels[taken], own[taken])
    return several


def fit_batch(
    learner: Binary | OneVsRest,
    X: Any,
    rows: Rows,
    y: NDArray[Any],
    labels: NDArray[np.int64],
    weight: NDArray[np.float64],
    passes: int,
    seed: int,
    constant: float,
    class_weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Learn the rows once with `learner`, go on with a copy for the other passes; return (classes, d + 1) weights.

    Only the first pass meets rows whose labels have not been seen, so only it counts in the learner's rounds, mistakes
    and certificate, and a later `partial_fit` goes on from there. Where weights ask for copies of rows even it does
    not: then nothing is certified. `class_weight`, one per class, is the learner's own; here it weighs the mistakes
    that decide between candidates. `constant` is the value of the constant coordinate, 0 without an intercept.
    """
    columns = _Columns(X)
    judged = columns.of_rows
    sizes = _sizes(judged, weight)
    fresh = learner.copy() if sizes is not None else learner
    order, weight = canonical_order(rows, labels, weight, seed)
    if order.size > np.count_nonzero(weight):
        learner.mark_unproved()
    rng = np.random.default_rng(seed)
    average: Any = learner.new_average()
    drawn: list[NDArray[np.float64]] = []
    stops = np.unique(np.append(rng.integers(0, order.size, size=min(_DRAWS, order.size)), order.size))
    for start, stop in zip(np.append(0, stops[:-1]), stops, strict=True):
        learner.learn_rows(rows, y, weight, order[start:stop], average)
        if stop < order.size:
            drawn.append(columns.leaders(learner))
    total, weight_total = columns.summed(learner, average)
    averages = [total / weight_total]
    again = learner
    if passes > 1 and sizes is not None:
        drawn += [*averages, columns.columns(learner), columns.leaders(learner)]
        again, average, total, weight_total = fresh, None, 0.0 * total, 0.0
        average = fresh.new_average()
        rows = Rows.of(columns.divided(X, sizes)).check()
    elif passes > 1:
        again = learner.copy()
    before, weight_before = total, weight_total
    for _ in range(1, passes):
        before, weight_before = total, weight_total
        again.learn_rows(rows, y, weight, rng.permutation(order), average)
        total, weight_total = columns.summed(again, average)
        averages = [(total - before) / (weight_total - weight_before), total / weight_total]
    # Of equals the first wins: averages before the last weights, these before the weights of a round drawn by chance,
    # and these before answering the same to every row.
    late = [*averages, columns.columns(again), columns.leaders(again)]
    del again, fresh, average, averages, total, before  # each as large as the model, or twice
    if passes > 1 and sizes is not None:
        for own in late:
            own[:, :, :-1] /= sizes
    candidates = np.concatenate([*late, *drawn, *_constants(len(late[0]), late[0].shape[2], constant)], axis=1)
    del late, drawn
    candidates[~np.isfinite(candidates).all(axis=2)] = 0.0  # sums of numbers near the end of their range
    # The judges are rows in the canonical order, so that the choice depends on nothing but the rows either.
    judges = order[:_JUDGED].astype(np.int64)
    cost = weight * class_weight[labels]
    best = _by_mistakes(candidates, judged[judges], labels[judges], cost[judges])
    if len(candidates) > 1:  # the answer is the highest of several scores, not the sign of one
        return columns.widened(candidates[:, best[0]].copy())
    judges = order[:_POLISHING].astype(np.int64)
    weights = cost[judges], weight[judges] * class_weight.max()
    # By less than a row of the heavier label over one of the lighter, candidates may differ by chance.
    chance = float(weights[1].max() * (1.0 - class_weight.min() / class_weight.max()))
    # At any fixed step, none of so many coordinates is expected to pass by chance alone.
    doubt = sqrt(2.0 * log(2.0 * (columns.width + 1)))
    best_ones = candidates[0, best[:_POLISHED]]
    polished = _polish(best_ones, judged[judges], labels[judges], weights, (chance, doubt), constant)
    return columns.widened(polished[None])


def _constants(classes: int, width: int, constant: float) -> list[NDArray[np.float64]]:
    """(classes, constant answers, width): one of each class; none without an intercept.

    >>> _constants(1, 3, 1.0)[0].tolist()
    [[[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]
    """
    if constant == 0.0:
        return []
    always = np.zeros((classes, max(2, classes), width))
    always[:, :, -1] = np.eye(classes) if classes > 1 else np.array([1.0, -1.0])
    return [always]


def _sizes(X: Any, weight: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """(d,) sizes of the columns; None if they are all alike, within a factor of 10.

    The size is the root mean square of what is not 0, as the nearest power of two: so no value is rounded when it is
    divided, and the order of the rows, which decides about the last digit of a sum, decides about nothing else.

    The learners with a mistake bound take rows as they are. When columns are of very different size, passes after the
    first learn them in units of their own size instead; a row's meaning does not change with the units.
    """
    if sparse.issparse(X):
        total, present = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        kernel.add_squares(X.data, X.indices, X.indptr, weight, total, present)
    else:  # NumPy adds up in the order of the rows, but for `@`, whose order is that of the BLAS and its threads
        squares = np.square(X, dtype=np.float64)
        present = np.where(squares != 0, weight[:, None], 0.0).sum(axis=0)
        total = np.multiply(squares, weight[:, None], out=squares).sum(axis=0)
    sizes = np.sqrt(total / np.where(present > 0, present, 1.0))
    sizes = np.where((sizes > 1e-100) & (sizes < 1e100), sizes, 1.0)
    seen = sizes[present > 0]
    if not seen.size or seen.max() <= 10 * seen.min():
        return None
    mantissa, exponent = np.frexp(sizes)  # not exp2 and log2, whose last digits depend on the processor
    return np.asarray(np.ldexp(1.0, exponent - (mantissa < sqrt(0.5))))


def _polish(
    candidates: NDArray[np.float64],
    X: Any,
    labels: NDArray[np.int64],
    weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    doubts: tuple[float, float],
    constant: float,
) -> NDArray[np.float64]:
    """The candidate, (d + 1,), that makes the fewest mistakes after exact line searches along its coordinates.

    `weights` are those of the rows, and what they would be with the heavier label. `doubts` are the mistakes by which a
    later candidate has to be better than an earlier one, and how many deviations of chance a step has to gain.
    """
    chance, doubt = doubts
    ones = np.full((len(labels), 1), float(constant != 0.0))
    columns = sparse.hstack([sparse.csc_matrix(X, dtype=np.float64), ones], format="csc")
    entries = (columns.data, columns.indices.astype(np.int64), columns.indptr.astype(np.int64))
    y = 2.0 * labels - 1.0
    fewest, best = np.inf, np.asarray(candidates[0])
    for candidate in candidates:
        polished = candidate.copy()
        scores = polishing.scores_of(entries, polished, len(labels))
        polishing.polish(entries, y, *weights, scores, polished, doubt, _SWEEPS)
        mistakes = float(weights[0][(scores >= 0.0) != (y > 0.0)].sum())
        if mistakes < fewest - chance:
            fewest, best = mistakes, polished
    return best


def _by_mistakes(
    candidates: NDArray[np.float64], X: Any, labels: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Numbers of the candidates, of (classes, candidates, d + 1) weights, from the fewest mistakes to the most."""
    classes, count, width = candidates.shape
    mistakes = np.empty(count)
    for start in range(0, count, _AT_ONCE):
        part = candidates[:, start : start + _AT_ONCE]
        answers = _answers(part.reshape(-1, width), X, classes)
        wrong = np.where(answers != labels[:, None], weight[:, None], 0.0)
        mistakes[start : start + _AT_ONCE] = wrong.sum(axis=0)
    return np.asarray(np.argsort(mistakes, kind="stable"))


def _answers(weights: NDArray[np.float64], X: Any, classes: int) -> NDArray[Any]:
    """(rows, candidates): the numbers of the classes that candidates, (classes * candidates, d + 1), answer."""
    # A score of 0 is a cliff, and `@` would fall on a side of it that depends on the BLAS and its threads or, for a
    # sparse matrix, on whether a compiler fused products and sums.
    scores, turned = np.zeros((X.shape[0], len(weights))), np.ascontiguousarray(weights[:, :-1].T)
    if sparse.issparse(X):
        score_many_csr(X.data, X.indices, X.indptr, turned, scores)
    else:
        score_many(np.ascontiguousarray(X), turned, scores)
    scores = (scores + weights[:, -1]).reshape(X.shape[0], classes, -1)
    return np.asarray(scores[:, 0] >= 0.0 if classes == 1 else scores.argmax(axis=1))
