"""Lemma 0 and Theorem 1 of docs/theory.md: the inverse-margin step and what it costs.

A round shows x with |w*.x| >= margin and a label flipped with probability at most noise_rate.
The learner hands g = 1/2 ((1 - 2 noise_rate) s - y) x / (|w.x| + margin), s its prediction, to an
online linear optimiser.  Lemma 0 turns that optimiser's regret into a mistake bound, and the length
of g is known: (1 - noise_rate)/margin after a mistake, noise_rate/margin after a correct round.
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
    "excess_mistake_probability",
    "excess_root",
    "fixed_mistake_bound",
    "fixed_regret",
    "fixed_step",
    "ftrl_mistake_bound",
    "ftrl_regret",
    "gradient_cap",
    "linearised_regret",
    "rounds_until",
    "rounds_until_worthwhile",
    "squared_gradients_bound",
]

_FOREVER = 10**60  # rounds


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
    within the tolerance in 10^60 rounds is refused.

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
