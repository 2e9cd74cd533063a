"""Rounds of the bandit policies the race compares with: probabilities, a draw, and a step of ridge regression.

    s   State          parameters and counts
    w   (d + 1,)       the ridge weights, so that w.x predicts (reward - middle) / width; the last is the intercept
    P   (d + 1, d + 1) (ridge I + sum u u')^-1 over the rows u learned; no rows and columns for the uniform policy
    X   (k, d + 1)     one round's arms, each with a 1 at its end; allowed (k,) says which may be played
    p   (k,)           probabilities, filled in

All policies score arms by w.x and differ in two places: `_chances` turns scores into probabilities, `_absorb` says
which row is regressed on. Formulas and sources are in docs/policies.md. Sums run in the order of the columns
without `fastmath`, so that a round alone and a round of a batch give the same bits.

Where each place in the list of arms has a regression of its own, w and P have one dimension more, W (m, d + 1) and
P (m, d + 1, d + 1): place i has the i-th, and all places from m - 1 on have the last, which has learned nothing.
"""

from enum import IntEnum
from math import floor, sqrt
from typing import Any, Final

import numpy as np

from massart.kernels.compiling import Flags, Floats, Integers, njit
from massart.kernels.learning.elementary import coin, draw, log


class State(IntEnum):
    """Places in `s`, float64: the parameters of a policy and what it counts."""

    KIND = 0  # which policy
    PARAMETER = 1  # its one parameter
    MIDDLE = 2  # of the interval of rewards
    WIDTH = 3  # its length
    CHOICES = 4  # choices made
    LEARNED = 5  # rewards learned
    EPOCHS = 6  # epoch-greedy: exploration rounds so far
    LEFT = 7  # epoch-greedy: rounds of this epoch still to be played greedily


UNIFORM, GREEDY, CENTRED, UCB, THOMPSON, INVERSE_GAP, EPOCH = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
_CONFIDENCE: Final = 3.6888794541139363  # SquareCB's ln(2/delta), delta = .05
_FLAT: Final = 1e-14  # a pivot this small, relative to the largest variance, is a direction without variance


@njit(cache=True, error_model="numpy")
def _with_ones(contexts: Floats, X: Floats) -> None:
    """Copy the arms (k, d) to X and put a 1 at the end of each."""
    k, d = contexts.shape
    for i in range(k):
        for j in range(d):
            X[i, j] = contexts[i, j]
        X[i, d] = 1.0


@njit(cache=True, error_model="numpy", inline="always")
def _times(P: Floats, x: Floats, out: Floats) -> float:
    """Set out = P x; return x'P x, which rounding may not make negative."""
    square = 0.0
    for i in range(x.size):
        total = 0.0
        for j in range(x.size):
            total += P[i, j] * x[j]
        out[i] = total
        square += total * x[i]
    return max(0.0, square)


@njit(cache=True, error_model="numpy", inline="always")
def _form(P: Floats, x: Floats) -> float:
    """Return x'P x, the bits of `_times`, without the zeros of x: rows of crossed features have many."""
    square = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            total = 0.0
            for j in range(x.size):
                if x[j] != 0.0:
                    total += P[i, j] * x[j]
            square += total * x[i]
    return max(0.0, square)


@njit(cache=True, error_model="numpy")
def _posterior_root(P: Floats, X: Floats) -> Any:
    """Lower triangular (k, k) root of X P X': Cholesky, with a zero column where no variance is left."""
    k, d = X.shape
    V, C = np.empty((k, d)), np.zeros((k, k))
    for i in range(k):
        _times(P, X[i], V[i])
        for j in range(i + 1):
            total = 0.0
            for c in range(d):
                total += V[i, c] * X[j, c]
            C[i, j] = total
    largest = 0.0
    for i in range(k):
        largest = max(largest, C[i, i])
    for j in range(k):
        pivot = C[j, j]
        for c in range(j):
            pivot -= C[j, c] * C[j, c]
        flat = pivot <= _FLAT * largest
        C[j, j] = 0.0 if flat else sqrt(pivot)
        for i in range(j + 1, k):
            total = C[i, j]
            for c in range(j):
                total -= C[i, c] * C[j, c]
            C[i, j] = 0.0 if flat else total / C[j, j]
    return C


@njit(cache=True, error_model="numpy")
def _thompson(
    scale: float, P: Floats, table: Floats, X: Floats, allowed: Flags, count: int, f: Floats, p: Floats
) -> None:
    """The share of the draws of `table` that each arm wins, and one draw more that is uniform."""
    root = _posterior_root(P, X)
    k = f.size
    for i in range(k):
        p[i] = 1.0 / count if allowed[i] else 0.0
    for n in range(table.shape[0]):
        best, top = -1, 0.0
        for i in range(k):
            if not allowed[i]:
                continue
            score = 0.0
            for j in range(i + 1):
                score += root[i, j] * table[n, j]
            score = f[i] + scale * score
            if best < 0 or score > top:
                best, top = i, score
        p[best] += 1.0
    for i in range(k):
        p[i] /= table.shape[0] + 1.0


@njit(cache=True, error_model="numpy")
def _chances(s: Floats, w: Floats, P: Floats, table: Floats, X: Floats, allowed: Flags, f: Floats, p: Floats) -> int:
    """Fill in scores f and probabilities p; return the allowed arm of the highest score."""
    kind, parameter = s[State.KIND], s[State.PARAMETER]
    k, d = X.shape
    count, greedy = 0, -1
    for i in range(k):
        total = 0.0
        for j in range(d):
            total += w[j] * X[i, j]
        f[i], p[i] = total, 0.0
        if allowed[i]:
            count += 1
            if greedy < 0 or total > f[greedy]:
                greedy = i
    if kind == UCB:
        best, top = -1, 0.0
        for i in range(k):
            if allowed[i]:
                bound = f[i] + parameter * sqrt(_form(P, X[i]))
                if best < 0 or bound > top:
                    best, top = i, bound
        p[best] = 1.0
    elif kind == THOMPSON:
        _thompson(parameter, P, table, X, allowed, count, f, p)
    elif kind == INVERSE_GAP:
        t = s[State.LEARNED] + 1.0
        rate = parameter * sqrt(count * t / (d * log(1.0 + t / d) + _CONFIDENCE))
        rest = 1.0
        for i in range(k):
            if allowed[i] and i != greedy:
                p[i] = 1.0 / (count + rate * (f[greedy] - f[i]))
                rest -= p[i]
        p[greedy] = rest
    else:
        explore = parameter
        if kind == UNIFORM:
            explore = 1.0
        elif kind == EPOCH:
            explore = 1.0 if s[State.LEFT] == 0.0 else 0.0
        for i in range(k):
            if allowed[i]:
                p[i] = explore / count
        p[greedy] += 1.0 - explore
    return greedy


@njit(cache=True, error_model="numpy", inline="always")
def _advance(s: Floats, count: int, d: int) -> None:
    """Count a choice; epoch-greedy follows its n-th exploration by floor(sqrt(n / (k (d + 1)))) greedy rounds."""
    s[State.CHOICES] += 1.0
    if s[State.KIND] == EPOCH:
        if s[State.LEFT] > 0.0:
            s[State.LEFT] -= 1.0
        else:
            s[State.EPOCHS] += 1.0
            s[State.LEFT] = floor(sqrt(s[State.EPOCHS] / (count * d)))


@njit(cache=True, error_model="numpy")
def _absorb(s: Floats, w: Floats, P: Floats, X: Floats, p: Floats, arm: int, reward: float, explored: bool) -> None:
    """One reward: recursive least squares by Sherman and Morrison on the arm, centred if the policy is."""
    s[State.LEARNED] += 1.0
    kind = s[State.KIND]
    if kind == UNIFORM or (kind == EPOCH and not explored):
        return
    d = w.size
    u, v = X[arm].copy(), np.empty(d)
    if kind == CENTRED:
        for i in range(p.size):
            for j in range(d):
                u[j] -= p[i] * X[i, j]
        u[d - 1] = 0.0  # but for rounding it is: centring leaves nothing of the intercept
    error = (reward - s[State.MIDDLE]) / s[State.WIDTH]
    for j in range(d):
        error -= w[j] * u[j]
    gain = 1.0 / (1.0 + _times(P, u, v))
    for i in range(d):
        w[i] += gain * error * v[i]
        for j in range(d):
            P[i, j] -= v[i] * v[j] * gain  # symmetric to the bit


@njit(cache=True, error_model="numpy")
def chances(s: Floats, w: Floats, P: Floats, table: Floats, contexts: Floats, allowed: Flags, p: Floats) -> int:
    """Fill in the probabilities of the next choice; return the greedy arm. Nothing changes."""
    X = np.empty((p.size, w.size))
    _with_ones(contexts, X)
    return _chances(s, w, P, table, X, allowed, np.empty(p.size), p)


@njit(cache=True, error_model="numpy")
def choose(
    s: Floats, w: Floats, P: Floats, table: Floats, seed: np.uint64, contexts: Floats, allowed: Flags, p: Floats
) -> Any:
    """Draw an arm: return it, the greedy arm, and whether an epoch begins."""
    X = np.empty((p.size, w.size))
    _with_ones(contexts, X)
    greedy = _chances(s, w, P, table, X, allowed, np.empty(p.size), p)
    explored = s[State.LEFT] == 0.0
    arm = draw(p, coin(seed, s[State.CHOICES]))
    _advance(s, allowed.sum(), w.size)
    return arm, greedy, explored


@njit(cache=True, error_model="numpy")
def learn(
    s: Floats, w: Floats, P: Floats, contexts: Floats, p: Floats, arm: int, reward: float, explored: bool
) -> None:
    """Learn the reward of an arm that was played with probabilities p."""
    X = np.empty((p.size, w.size))
    _with_ones(contexts, X)
    _absorb(s, w, P, X, p, arm, reward, explored)


@njit(cache=True, error_model="numpy")
def play(
    s: Floats, w: Floats, P: Floats, table: Floats, seed: np.uint64, contexts: Floats, rewards: Floats, arms: Integers,
    played: Floats, greedy: Integers,
) -> None:  # fmt: skip
    """Choose and learn, round by round: fill in the arms, their probabilities and the greedy arms."""
    n, k, _ = contexts.shape
    allowed, f, p, X = np.ones(k, np.bool_), np.empty(k), np.empty(k), np.empty((k, w.size))
    for t in range(n):
        _with_ones(contexts[t], X)
        greedy[t] = _chances(s, w, P, table, X, allowed, f, p)
        explored = s[State.LEFT] == 0.0
        arm = draw(p, coin(seed, s[State.CHOICES]))
        _advance(s, k, w.size)
        _absorb(s, w, P, X, p, arm, rewards[t, arm], explored)
        arms[t], played[t] = arm, p[arm]


@njit(cache=True, error_model="numpy")
def _chances_apart(s: Floats, W: Floats, P: Floats, X: Floats, allowed: Flags, p: Floats) -> int:
    """Upper confidence bounds of one regression per place: p is 1 for the highest; return the arm of the best score."""
    k, d = X.shape
    last, best, top, greedy, highest = W.shape[0] - 1, -1, 0.0, -1, 0.0
    for i in range(k):
        p[i] = 0.0
        if not allowed[i]:
            continue
        place = min(i, last)
        score = 0.0
        for j in range(d):
            score += W[place, j] * X[i, j]
        bound = score + s[State.PARAMETER] * sqrt(_form(P[place], X[i]))
        if best < 0 or bound > top:
            best, top = i, bound
        if greedy < 0 or score > highest:
            greedy, highest = i, score
    p[best] = 1.0
    return greedy


@njit(cache=True, error_model="numpy")
def chances_apart(s: Floats, W: Floats, P: Floats, contexts: Floats, allowed: Flags, p: Floats) -> int:
    """As `chances`, with one regression per place."""
    X = np.empty((p.size, W.shape[1]))
    _with_ones(contexts, X)
    return _chances_apart(s, W, P, X, allowed, p)


@njit(cache=True, error_model="numpy")
def play_apart(s: Floats, W: Floats, P: Floats, contexts: Floats, rewards: Floats, arms: Integers) -> None:
    """As `play`, with one regression per place, of which there are more than arms; every arm is certain."""
    n, k, _ = contexts.shape
    allowed, p, X = np.ones(k, np.bool_), np.empty(k), np.empty((k, W.shape[1]))
    for t in range(n):
        _with_ones(contexts[t], X)
        _chances_apart(s, W, P, X, allowed, p)
        arm = 0
        while p[arm] == 0.0:
            arm += 1
        s[State.CHOICES] += 1.0
        _absorb(s, W[arm], P[arm], X, p, arm, rewards[t, arm], True)
        arms[t] = arm
