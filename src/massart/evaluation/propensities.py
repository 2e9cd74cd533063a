"""Propensities that were not logged, estimated from which arms were taken.

The model is a conditional logit, p(a | x) = exp(theta.x_a) / sum over arms b of exp(theta.x_b), with an intercept for
each arm where all decisions have equally many; columns are scaled to a mean square of 1 and theta has the penalty
|theta|^2 / 2. It is cross-fitted: the propensity of a decision comes from a model of the others.

It is the truth only if the choice depended on nothing but these features and chance. If there was no chance, no model
helps: a log of a policy that does not explore says nothing about another one. Such a log is refused where it shows:
if the same contexts always got the same arm, or if models of other decisions foretell the arm nearly always.
"""

from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidDataError
from massart.evaluation.reward_model import folds_of, used_columns

__all__ = ["estimated_propensities"]

_REPEATS: Final = 10  # decisions with contexts that came before, among which chance would show
_FORETOLD: Final = 0.99  # share of decisions
_ARMS: Final = 1000  # up to which each has an intercept
_STEPS: Final = 200  # of the solver
_LEAST: Final = 1e-12  # probability


def estimated_propensities(
    contexts: Any,
    starts: npt.NDArray[np.int64],
    taken: npt.NDArray[np.int64],
    positions: npt.NDArray[np.int64] | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    groups: npt.NDArray[np.int64] | None = None,
) -> FloatArray:
    """The probability of the arm taken (n,), by models that did not see the decision.

    The arguments are those of `cross_fitted_rewards`; `positions` (n,) tell apart decisions with the same contexts.

    >>> taken = np.arange(40) * 2 + (np.arange(40) % 4 == 0)  # the second of two arms once in four times
    >>> estimated_propensities(np.zeros((80, 0)), np.arange(41) * 2, taken).round(1)[:2].tolist()
    [0.3, 0.8]
    """
    count = taken.size
    _refuse_repeats(contexts, starts, taken, positions)
    units = count if groups is None else int(groups.max()) + 1
    if units < 2:
        raise InvalidDataError(f"{_NOTHING}: one decision is not enough to estimate any; {_REMEDY}")
    rows = _scaled(contexts, starts)
    fold_of = folds_of(count, min(folds, units), seed, groups)
    fold_of_arm = np.repeat(fold_of, np.diff(starts))
    chances = np.empty(rows.shape[0])
    for fold in range(min(folds, units)):
        others = np.flatnonzero(fold_of != fold)
        theta = _fitted(rows, starts, taken, others)
        here = np.flatnonzero(fold_of_arm == fold)
        chances[here] = np.asarray(rows[here] @ theta)
    chances = _softmax(chances, starts)
    best = np.maximum.reduceat(chances, starts[:-1])
    alone = np.diff(starts) > 1
    foretold = float((chances[taken] >= best)[alone].mean()) if alone.any() else 1.0
    if foretold >= _FORETOLD:
        raise InvalidDataError(
            f"{_NOTHING}, and the arm taken follows from the features in {foretold:.1%} of the decisions: such a log "
            f"explores too little, and nothing can be said about another policy; {_REMEDY}"
        )
    return np.maximum(chances[taken], _LEAST)


_NOTHING: Final = "no propensities were logged"
_REMEDY: Final = "log the probability with which the arm was drawn"


def _refuse_repeats(contexts: Any, starts: npt.NDArray[np.int64], taken: npt.NDArray[np.int64], positions: Any) -> None:
    arms = taken - starts[:-1]
    seen: dict[bytes, int] = {}
    repeats = 0
    for row, (first, last) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        block = contexts[first:last]
        digest = blake2b(repr((block.shape, None if positions is None else int(positions[row]))).encode())
        for part in (block.indptr, block.indices, block.data) if sparse.issparse(block) else (block,):
            digest.update(np.ascontiguousarray(part).data if part.size else b"")
        arm = int(arms[row])
        before = seen.setdefault(digest.digest(), arm)
        if before != arm:
            return
        repeats += 1
    repeats -= len(seen)
    if repeats >= _REPEATS:
        raise InvalidDataError(
            f"{_NOTHING}, and in {repeats:,} decisions whose contexts came before the same arm was taken as then, "
            f"always: such a log explores nothing, and nothing can be said about another policy; {_REMEDY}"
        )


def _scaled(contexts: Any, starts: npt.NDArray[np.int64]) -> Any:
    """Sparse rows whose columns have mean square 1, and intercepts."""
    rows = sparse.csr_array(used_columns(contexts))
    squares = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
    scale = np.where(squares > 0.0, 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), 0.0)
    rows = rows @ sparse.diags_array(scale) if rows.shape[1] else rows
    counts = np.diff(starts)
    arms = int(counts[0])
    if (counts == arms).all() and arms <= _ARMS:
        ones = sparse.csr_array(
            (np.ones(rows.shape[0]), np.tile(np.arange(arms), counts.size), np.arange(rows.shape[0] + 1)),
            shape=(rows.shape[0], arms),
        )
        rows = sparse.hstack([rows, ones], format="csr")
    return rows.tocsr()


def _softmax(scores: FloatArray, starts: npt.NDArray[np.int64]) -> FloatArray:
    counts = np.diff(starts)
    shifted = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts[:-1]), counts))
    return np.asarray(shifted / np.repeat(np.add.reduceat(shifted, starts[:-1]), counts))


def _fitted(rows: Any, starts: npt.NDArray[np.int64], taken: npt.NDArray[np.int64], chosen: Any) -> FloatArray:
    """The theta of a conditional logit on some decisions."""
    from scipy import optimize  # noqa: PLC0415  takes long, and most logs have propensities

    counts = np.diff(starts)[chosen]
    own_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = np.repeat(starts[chosen] - own_starts[:-1], counts) + np.arange(own_starts[-1])
    X = rows[places]
    own = own_starts[:-1] + (taken - starts[:-1])[chosen]
    target = np.zeros(X.shape[0])
    target[own] = 1.0
    XT = X.T.tocsr()

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        chances = _softmax(np.asarray(X @ theta), own_starts)
        value = -float(np.log(np.maximum(chances[own], 1e-300)).sum()) + 0.5 * float(np.square(theta).sum())
        return value / counts.size, (np.asarray(XT @ (chances - target)) + theta) / counts.size

    found = optimize.minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(found.x)
