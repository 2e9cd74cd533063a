"""Lemma 0 and Theorems 1, 15 and 18 of docs/theory.md: the inverse-margin step, what it costs, and what it must.

A round shows x with |w*.x| >= margin and a label flipped with probability at most noise_rate.
The learner hands g = 1/2 ((1 - 2 noise_rate) s - y) x / (|w.x| + margin), s its prediction, to an
online linear optimiser.  Lemma 0 turns that optimiser's regret into a mistake bound, and the length
of g is known: (1 - noise_rate)/margin after a mistake, noise_rate/margin after a correct round.
With an intercept the rows are (x, 1) scaled to norm 1, and `scaled_margin` or `affine_margin` is the margin
that counts. `lower_mistake_bound` is what no learner can avoid.
"""

import math
from collections.abc import Callable

from massart.errors import InvalidParameterError
from massart.theory.conditions import (
    check_margin,
    check_mistakes,
    check_noise_rate,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rounds,
)

__all__ = [
    "adagrad_mistake_bound",
    "adagrad_regret",
    "affine_margin",
    "excess_mistake_probability",
    "excess_root",
    "fixed_mistake_bound",
    "fixed_regret",
    "fixed_step",
    "ftrl_mistake_bound",
    "ftrl_regret",
    "gradient_cap",
    "hardest_noise_rate",
    "linearised_regret",
    "lower_mistake_bound",
    "lower_mistake_bound_at",
    "rounds_until",
    "rounds_until_worthwhile",
    "scaled_margin",
    "squared_gradients_bound",
]

_FOREVER = 10**60  # rounds
_HARDEST = 0.735  # (1 - 2 noise_rate) sqrt(visits) of Theorem 18(b)
_TERMS = 1000  # of Theorem 18(a)'s sum that are added one by one
_LEAST_VISITS = 5  # of each row, in Theorem 18(b)


def excess_mistake_probability(noise_rate: float, flip_rate: float, agrees: bool) -> float:
    """Lemma 0 of docs/theory.md, right side: P(mistake) - noise_rate in one round.

    The learner errs with probability flip_rate where it agrees with the target, else 1 - flip_rate.

    >>> excess_mistake_probability(noise_rate=0.1, flip_rate=0.05, agrees=False)
    0.85
    """
    noise = check_noise_rate(noise_rate)
    flip = check_probability("flip_rate", flip_rate)
    return (flip if agrees else 1.0 - flip) - noise


def linearised_regret(
    noise_rate: float,
    flip_rate: float,
    learner_distance: float,
    target_distance: float,
    agrees: bool,
    denominator: float,
) -> float:
    """Lemma 0 of docs/theory.md, left side: E <g, w - w*> in one round.

        (flip_rate - noise_rate) (u - v) / m          where learner and target agree
        (1 - noise_rate - flip_rate) (u + v) / m      where they do not

    with u = |w.x| (`learner_distance`), v = |w*.x| (`target_distance`), m the denominator of g.
    Lemma 0: it is at least `excess_mistake_probability` when v >= margin, flip_rate <= noise_rate
    and u - margin <= m <= u + margin.

    >>> linearised_regret(0.1, 0.05, 0.2, target_distance=0.3, agrees=False, denominator=0.25)
    1.7
    """
    noise = check_noise_rate(noise_rate)
    flip = check_probability("flip_rate", flip_rate)
    u = check_nonnegative("learner_distance", learner_distance)
    v = check_nonnegative("target_distance", target_distance)
    m = check_positive("denominator", denominator)
    if agrees:
        return (flip - noise) * (u - v) / m
    return (1.0 - noise - flip) * (u + v) / m


def gradient_cap(noise_rate: float, margin: float) -> float:
    """Theorem 1 of docs/theory.md: G = (1 - noise_rate) / margin, the longest gradient of ||x|| <= 1.

    >>> gradient_cap(noise_rate=0.1, margin=0.05)
    18.0
    """
    return (1.0 - check_noise_rate(noise_rate)) / check_margin(margin)


def squared_gradients_bound(rounds: float, mistakes: float, noise_rate: float, margin: float) -> float:
    """Theorem 1 of docs/theory.md: sum ||g||^2 <= ((1 - 2 noise_rate) M + noise_rate^2 T) / margin^2.

    M mistakes in T rounds; it holds on every path, not only on average.

    >>> squared_gradients_bound(rounds=100, mistakes=20, noise_rate=0.1, margin=0.5)
    68.0
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    count = check_rounds(rounds)
    wrong = check_mistakes(mistakes, count)
    return ((1.0 - 2.0 * noise) * wrong + noise * noise * count) / (gamma * gamma)


def excess_root(scale: float, variance: float, drift: float) -> float:
    """Solving step of Theorem 1 of docs/theory.md: the largest Z with Z <= scale sqrt(variance + drift Z).

    Z = (scale^2 drift + sqrt(scale^4 drift^2 + 4 scale^2 variance)) / 2
      <= scale^2 drift + scale sqrt(variance).

    >>> excess_root(scale=2.0, variance=9.0, drift=0.0)
    6.0
    """
    a = check_nonnegative("scale", scale)
    v = check_nonnegative("variance", variance)
    b = check_nonnegative("drift", drift)
    return 0.5 * (a * a * b + math.sqrt((a * a * b) ** 2 + 4.0 * a * a * v))


def _fixed_root(noise: float, gamma: float, rounds: float) -> float:
    """Solve f^2 = V gamma^2 + b f for f > 0, b = 1 - 2 noise, V = noise (1 - noise) T."""
    b = 1.0 - 2.0 * noise
    return 0.5 * (b + math.sqrt(b * b + 4.0 * noise * (1.0 - noise) * rounds * gamma * gamma))


def fixed_step(noise_rate: float, margin: float, horizon: float) -> float:
    """Theorem 1(a) of docs/theory.md: the step margin^2 / f for a known horizon.

    f = (b + sqrt(b^2 + 4 noise_rate (1 - noise_rate) T margin^2)) / 2,  b = 1 - 2 noise_rate.

    >>> fixed_step(noise_rate=0.0, margin=0.5, horizon=1000)
    0.25
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    return gamma * gamma / _fixed_root(noise, gamma, check_rounds(horizon, "horizon"))


def fixed_regret(step: float, squared_gradients: float) -> float:
    """Theorem 1(a) of docs/theory.md: gradient descent from 0, no projection, ||w*|| <= 1.

    R <= 1 / (2 step) + step S / 2,  S = sum ||g||^2.

    >>> fixed_regret(step=0.1, squared_gradients=100.0)
    10.0
    """
    length = check_positive("step", step)
    return 0.5 / length + 0.5 * length * check_nonnegative("squared_gradients", squared_gradients)


def fixed_mistake_bound(noise_rate: float, margin: float, rounds: float, horizon: float | None = None) -> float:
    """Theorem 1(a) of docs/theory.md: E[M] <= noise_rate T + f / margin^2 with `fixed_step`.

    At most noise_rate T + sqrt(noise_rate (1 - noise_rate) T) / margin + (1 - 2 noise_rate) / margin^2;
    without noise it is Novikoff's 1 / margin^2.  When the step was tuned for another `horizon` it is
    noise_rate T + (f^2 + V margin^2) / ((2 f - b) margin^2), f of the horizon, V of `rounds`.

    >>> fixed_mistake_bound(noise_rate=0.0, margin=0.125, rounds=10**6)
    64.0
    >>> round(fixed_mistake_bound(noise_rate=0.1, margin=0.05, rounds=10**6) - 10**5)
    6162
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    if horizon is None:
        return noise * count + _fixed_root(noise, gamma, count) / gamma**2
    f = _fixed_root(noise, gamma, check_rounds(horizon, "horizon"))
    spread = noise * (1.0 - noise) * count * gamma**2
    return noise * count + (f * f + spread) / ((2.0 * f - (1.0 - 2.0 * noise)) * gamma**2)


def ftrl_regret(cap: float, squared_gradients: float) -> float:
    """Theorem 1(b) of docs/theory.md: anytime dual averaging on the unit ball.

    w_t = Proj(-sum_{s<t} g_s / sqrt(2 (cap^2 + S_{t-1}))) has R <= sqrt(2) sqrt(cap^2 + S_T)
    whenever ||g_t|| <= cap in every round.

    >>> ftrl_regret(cap=1.0, squared_gradients=7.0)
    4.0
    """
    largest = check_nonnegative("cap", cap)
    return math.sqrt(2.0 * (largest * largest + check_nonnegative("squared_gradients", squared_gradients)))


def ftrl_mistake_bound(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 1(b) of docs/theory.md: no horizon needed.

    E[M] <= noise_rate T + sqrt(2) sqrt(noise_rate (1 - noise_rate) T + (1 - noise_rate)^2) / margin
            + 2 (1 - 2 noise_rate) / margin^2.

    >>> round(ftrl_mistake_bound(noise_rate=0.1, margin=0.05, rounds=10**6) - 10**5)
    9125
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    spread = noise * (1.0 - noise) * count + (1.0 - noise) ** 2
    return noise * count + math.sqrt(2.0 * spread) / gamma + 2.0 * (1.0 - 2.0 * noise) / gamma**2


def adagrad_regret(squared_gradients: float) -> float:
    """Theorem 1(c) of docs/theory.md: projected descent on the unit ball, step sqrt(2 / S_t).

    R <= 2 sqrt(2) sqrt(S_T).

    >>> adagrad_regret(squared_gradients=2.0)
    4.0
    """
    return math.sqrt(8.0 * check_nonnegative("squared_gradients", squared_gradients))


def adagrad_mistake_bound(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 1(c) of docs/theory.md: neither horizon nor cap needed.

    E[M] <= noise_rate T + 2 sqrt(2) sqrt(noise_rate (1 - noise_rate) T) / margin
            + 8 (1 - 2 noise_rate) / margin^2.

    >>> round(adagrad_mistake_bound(noise_rate=0.1, margin=0.05, rounds=10**6) - 10**5)
    19531
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    spread = noise * (1.0 - noise) * count
    return noise * count + math.sqrt(8.0 * spread) / gamma + 8.0 * (1.0 - 2.0 * noise) / gamma**2


def rounds_until(
    mistake_bound: Callable[[float, float, float], float], noise_rate: float, margin: float, tolerance: float
) -> int:
    """Find the smallest T >= 1 with mistake_bound(noise_rate, margin, T) / T <= noise_rate + tolerance.

    The excess per round has to fall with T, as it does for every bound of this package; a bound that does not come
    within the tolerance in 10^60 rounds raises an error.

    >>> rounds_until(fixed_mistake_bound, noise_rate=0.0, margin=0.1, tolerance=0.01)
    10000
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    allowed = check_positive("tolerance", tolerance)

    def enough(count: int) -> bool:
        return mistake_bound(noise, gamma, count) - noise * count <= allowed * count

    high = 1
    while not enough(high):
        high *= 2
        if high > _FOREVER:
            raise InvalidParameterError(
                f"tolerance={tolerance}: this bound does not come within it at noise_rate={noise_rate} and "
                f"margin={margin}, however many rounds there are; allow more"
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def rounds_until_worthwhile(noise_rate: float, margin: float, tolerance: float) -> int:
    """Theorem 1(b) of docs/theory.md: the smallest T with bound / T <= noise_rate + tolerance.

    >>> rounds_until_worthwhile(noise_rate=0.1, margin=0.1, tolerance=0.05)
    12806
    """
    return rounds_until(ftrl_mistake_bound, noise_rate, margin, tolerance)


def scaled_margin(margin: float, row_length: float, intercept_scaling: float = 1.0) -> float:
    """Theorem 15 (intercept) of docs/theory.md: the margin that counts when a homogeneous target is learned as affine.

    margin |x| / sqrt(|x|^2 + intercept_scaling^2): a target with |w*.x| >= margin |x| has it on the rows
    (x, intercept_scaling) scaled to norm 1, on which a learner with an intercept works.  `row_length`
    is the length |x| of the shortest row: shorter rows have the smaller margin.

    >>> round(scaled_margin(margin=0.5, row_length=1.0), 4)
    0.3536
    >>> round(scaled_margin(margin=0.5, row_length=0.01), 4)
    0.005
    """
    gamma, length = check_margin(margin), check_positive("row_length", row_length)
    return gamma * length / math.hypot(length, check_positive("intercept_scaling", intercept_scaling))


def affine_margin(distance: float, offset: float, row_length: float, intercept_scaling: float = 1.0) -> float:
    """Theorem 15 (intercept) of docs/theory.md: the margin that counts for a target with an offset.

    distance / sqrt((1 + offset^2 / intercept_scaling^2) (|x|^2 + intercept_scaling^2)): a target
    sign(w*.x + offset), |w*| = 1, |w*.x + offset| >= distance, has it on the rows
    (x, intercept_scaling) scaled to norm 1.  `offset` is its size, the sign does not matter; `row_length`
    is the length |x| of the longest row.  It is largest, distance / (row_length + offset), at
    intercept_scaling = sqrt(row_length offset).

    >>> affine_margin(distance=0.5, offset=0.0, row_length=0.75)
    0.4
    >>> round(affine_margin(distance=0.5, offset=3.0, row_length=4.0), 4)
    0.0383
    >>> round(affine_margin(distance=0.5, offset=3.0, row_length=4.0, intercept_scaling=3.5), 4)
    0.0714
    """
    least = check_positive("distance", distance)
    length, scaling = (
        check_nonnegative("row_length", row_length),
        check_positive("intercept_scaling", intercept_scaling),
    )
    shift = check_nonnegative("offset", offset)
    if least > (length + shift) * (1.0 + 1e-12):
        raise InvalidParameterError(
            f"distance={distance!r}: no row of length at most {row_length!r} lies so far from a boundary with "
            f"offset {offset!r}; the largest distance there is {length + shift:g}"
        )
    # Divided step by step: the product of two long lengths may be beyond the largest float.
    return min(1.0, least / math.hypot(1.0, shift / scaling) / math.hypot(length, scaling))


def hardest_noise_rate(margin: float, rounds: float) -> float:
    """Theorem 18(b) of docs/theory.md: (1 - 0.735 / sqrt(n)) / 2, n the visits of each row.

    n = floor(T / D) for D = floor(1 / margin^2) orthogonal rows in turn, at least 5.

    >>> hardest_noise_rate(margin=0.1, rounds=40_000)
    0.481625
    """
    _, visits = _turns(check_margin(margin), check_rounds(rounds), _LEAST_VISITS)
    return 0.5 * (1.0 - _HARDEST / math.sqrt(visits))


def lower_mistake_bound(margin: float, rounds: float) -> float:
    """Theorem 18(b) of docs/theory.md: no learner, of any power, has fewer expected mistakes at `hardest_noise_rate`.

    p T + 0.183 D sqrt(n) at p = hardest_noise_rate(margin, rounds), D and n as there; D sqrt(n) is
    sqrt(T) / margin where both are whole.  Theorem 1(a) is within 3 times that excess from n = 6 on.

    >>> p = hardest_noise_rate(margin=0.1, rounds=40_000)
    >>> round(lower_mistake_bound(margin=0.1, rounds=40_000) - p * 40_000, 6)
    366.0
    """
    gamma, count = check_margin(margin), check_rounds(rounds)
    rows, visits = _turns(gamma, count, _LEAST_VISITS)
    return hardest_noise_rate(gamma, count) * count + 0.183 * rows * math.sqrt(visits)


def lower_mistake_bound_at(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 18(a) of docs/theory.md: the same at a noise rate p that is given.

    p T + (b / 2) D sum_{s < n} max(0, 1 - c sqrt(s)), with b = 1 - 2 p, c^2 = b artanh(b) and D, n of
    `hardest_noise_rate`; in fewer than D rounds, D is their number.  Beyond n = 1 / c^2 the excess over
    p T does not grow with T.  After a thousand terms the integral stands for the rest, and is not larger.

    >>> round(lower_mistake_bound_at(noise_rate=0.1, margin=0.1, rounds=40_000) - 4_000, 1)
    42.5
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    if count < 1.0:
        return noise * count
    rows, visits = _turns(max(gamma, 1.0 / math.sqrt(math.floor(count))), count)
    b = 1.0 - 2.0 * noise
    c = math.sqrt(b * math.atanh(b)) if b < 1.0 else math.inf
    last = min(float(visits), 1.0 / (c * c))  # where the terms end
    wrong = 1.0 + sum(max(0.0, 1.0 - c * math.sqrt(s)) for s in range(1, min(visits, _TERMS)))
    if last > _TERMS:
        wrong += (last - _TERMS) - 2.0 / 3.0 * c * (last**1.5 - _TERMS**1.5)
    return noise * count + 0.5 * b * rows * wrong


def _turns(gamma: float, count: float, least: int = 1) -> tuple[int, int]:
    """The orthogonal rows of Theorem 18 and how often each is shown, which must be `least` times or more."""
    rows = math.floor(1.0 / (gamma * gamma) * (1.0 + 1e-12))  # 1 / 0.1^2 is 99.99999999999999
    visits = math.floor(count / rows)
    if visits < least:
        raise InvalidParameterError(
            f"rounds={count:g}: the lower bound for margin {gamma:g} needs at least {least * rows:g} rounds, "
            f"{least} for each of {rows:g} orthogonal rows"
        )
    return rows, visits
