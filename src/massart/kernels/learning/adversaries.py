"""The choice of one round by an adversary that sees the learner's weights.

Symbols: w weights, gamma margin, target w* = e2 (index 1), sigma the global sign of the round.
Every kernel has the same first four arguments and the same answer:

    weights  (d,)    scratch copy of the learner's weights; rescaled in place
    rows     (n, d)  standard normal numbers on entry; row t becomes the round's x
    coins    (n, 3)  uniform numbers: the sign, the flip, the choice
    t                the row to fill
    returns  4 region + 2 [y = +1] + [clean = +1],  or -1 when the weights are not finite

The learner predicts +1 where w.x >= 0, so which side errs at a score of exactly 0 depends on sigma: the
sign is drawn first and each test is made on the signed point. The random numbers of all rounds are drawn
beforehand by the caller, and a round uses only its own: the label cannot depend on the learner's coins.
"""

import numpy as np
import numpy.typing as npt

from massart.kernels.compiling import njit

__all__ = ["hunted", "near_miss", "worst_of_pool", "worst_point"]

Array = npt.NDArray[np.float64]

_BARELY = 1e-9  # how wrong a barely wrong score is, per unit of weight: above rounding, below any margin


@njit(cache=True)
def _rescale(weights: Array) -> bool:
    """Divide by the largest entry, which changes no sign and keeps squares from overflowing."""
    largest = 0.0
    for value in weights:
        if not np.isfinite(value):
            return False
        largest = max(largest, abs(value))
    if largest > 0.0:
        for i in range(weights.size):
            weights[i] /= largest
    return True


@njit(cache=True)
def _square(v: Array, first: int) -> float:
    """Squared length of the coordinates other than e2, from `first` on."""
    total = 0.0
    for i in range(first, v.size):
        if i != 1:
            total += v[i] * v[i]
    return total


@njit(cache=True)
def _stretch(x: Array, first: int, length: float) -> None:
    """Give the coordinates other than e2, from `first` on, the length asked for."""
    square = _square(x, first)
    factor = length / np.sqrt(square) if square > 0.0 else 0.0
    for i in range(first, x.size):
        if i != 1:
            x[i] *= factor


@njit(cache=True)
def _errs(score: float, sigma: float) -> bool:
    """Whether the learner misclassifies sigma x, where score = w.x and w*.x > 0."""
    return (sigma * score >= 0.0) != (sigma > 0.0)


@njit(cache=True)
def _sigma(coins: Array, t: int) -> float:
    """The global sign of the round."""
    return 1.0 if coins[t, 0] < 0.5 else -1.0


@njit(cache=True)
def _finish(x: Array, sigma: float, region: int, flipped: bool) -> int:
    """Put the sign to the row; return the answer of the round."""
    for i in range(x.size):
        x[i] *= sigma
    return 4 * region + 2 * int((sigma > 0.0) != flipped) + int(sigma > 0.0)


@njit(cache=True)
def worst_point(weights: Array, rows: Array, coins: Array, t: int, noise_rate: float, margin: float) -> int:
    """World A1: gamma w* - sqrt(1 - gamma^2) w_perp / |w_perp|, clean if the learner errs, else noisy."""
    if not _rescale(weights):
        return -1
    x, sigma = rows[t], _sigma(coins, t)
    if _square(weights, 0) > 0.0:
        for i in range(x.size):
            x[i] = -weights[i]
    x[1] = margin
    _stretch(x, 0, np.sqrt(max(0.0, 1.0 - margin * margin)))
    score = 0.0
    for i in range(x.size):
        score += weights[i] * x[i]
    region = 0 if _errs(score, sigma) else 1
    flipped = region == 1 and coins[t, 1] < noise_rate
    return _finish(x, sigma, region, flipped)


@njit(cache=True)
def worst_of_pool(
    weights: Array, rows: Array, coins: Array, t: int, noise_rate: float, columns: Array, scores: Array
) -> int:
    """World A2: the misclassified row of a pool with the smallest |w.x|, clean; if none, a random one, noisy.

    columns (d, m): the pool, each row turned to the positive side of w*, one row per column, so that the
    inner loop is over contiguous numbers and free of dependencies; scores (m,): scratch.
    """
    if not _rescale(weights):
        return -1
    sigma = _sigma(coins, t)
    scores[:] = 0.0
    for i in range(weights.size):
        for j in range(scores.size):
            scores[j] += weights[i] * columns[i, j]
    chosen = -1
    smallest = np.inf
    for j in range(scores.size):
        if _errs(scores[j], sigma) and abs(scores[j]) < smallest:
            smallest = abs(scores[j])
            chosen = j
    region = 0
    flipped = False
    if chosen < 0:
        chosen = min(int(coins[t, 2] * scores.size), scores.size - 1)
        region = 1
        flipped = coins[t, 1] < noise_rate
    x = rows[t]
    for i in range(x.size):
        x[i] = columns[i, chosen]
    return _finish(x, sigma, region, flipped)


@njit(cache=True)
def near_miss(weights: Array, rows: Array, coins: Array, t: int, noise_rate: float, margin: float) -> int:
    """World A3: in even rounds a clean row scored wrong by a hair, if any; otherwise (.9, gamma), noisy."""
    if not _rescale(weights):
        return -1
    x, sigma = rows[t], _sigma(coins, t)
    reach = np.sqrt(max(0.0, 1.0 - margin * margin))
    across = np.sqrt(_square(weights, 0))  # |w_perp|
    along = margin * weights[1]  # the score of gamma w*
    # w.(gamma w* - c w_perp / |w_perp|) = along - c |w_perp|, which is -_BARELY |w_perp| at this c. When
    # the weights point away from w* so far that c leaves the sphere, its edge is wrong by more than a hair.
    c = max(along / across + _BARELY, -reach) if across > 0.0 else 0.0
    if t % 2 == 0 and c <= reach and _errs(along - c * across, sigma):
        region = 0
        x[1] = 0.0
        if across > 0.0:
            overlap = 0.0
            for i in range(x.size):
                overlap += x[i] * (weights[i] / across)
            for i in range(x.size):
                x[i] -= overlap * (weights[i] / across)
        # In the plane nothing is orthogonal to both w and w*: what is left there is rounding.
        room = np.sqrt(max(0.0, reach * reach - c * c)) if x.size > 2 or across == 0.0 else 0.0
        _stretch(x, 0, room)
        if across > 0.0:
            for i in range(x.size):
                x[i] -= c * (weights[i] / across)
    else:
        region = 1
        x[0] = 0.9
        _stretch(x, 2, np.sqrt(max(0.0, 0.19 - margin * margin)))
    x[1] = margin
    flipped = region == 1 and coins[t, 1] < noise_rate
    return _finish(x, sigma, region, flipped)


@njit(cache=True)
def hunted(weights: Array, rows: Array, coins: Array, t: int, noise_rate: float, share: float, plane: Array) -> int:
    """World A4: N padded along -w_pad, clean, whenever the learner errs on it; else F, noisy, or G.

    plane (3, 2): the points F, G, N, which are regions 0, 1, 2; share: the probability of F against G.
    """
    if not _rescale(weights):
        return -1
    x, sigma = rows[t], _sigma(coins, t)
    padding = _square(weights, 2)
    room = np.sqrt(max(0.0, 1.0 - plane[2, 0] ** 2 - plane[2, 1] ** 2))
    score = plane[2, 0] * weights[0] + plane[2, 1] * weights[1] - room * np.sqrt(padding)
    if _errs(score, sigma):
        region = 2
        if padding > 0.0:
            for i in range(2, x.size):
                x[i] = -weights[i]
    else:
        region = 0 if coins[t, 2] < share else 1
    x[0] = plane[region, 0]
    x[1] = plane[region, 1]
    _stretch(x, 2, np.sqrt(max(0.0, 1.0 - x[0] * x[0] - x[1] * x[1])))
    flipped = region == 0 and coins[t, 1] < noise_rate
    return _finish(x, sigma, region, flipped)
