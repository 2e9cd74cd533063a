"""What Theorem 1(b) of docs/theory.md says with high probability, under broken assumptions, and offline."""

import math

from massart.theory.conditions import (
    check_confidence,
    check_margin,
    check_noise_rate,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rounds,
)
from massart.theory.halfspace import fixed_mistake_bound

__all__ = [
    "corruption_penalty",
    "deviation",
    "high_probability_mistake_bound",
    "margin_penalty",
    "noise_penalty",
    "online_to_batch_error",
    "robust_mistake_bound",
    "samples_for_error",
]


def deviation(
    noise_rate: float,
    margin: float,
    confidence: float,
    rounds: float,
    *,
    squared_weights: float | None = None,
    largest_weight: float = 1.0,
) -> float:
    """Theorem 4 of docs/theory.md: how far the sum of T rounds strays from its conditional mean.

    K sqrt(2 noise_rate (1 - noise_rate) sum c_t^2 L) + (2/3) K max c_t L,
    K = (1 + margin) / margin, L = ln(1 / (1 - confidence)), c_t the rounds' importance weights (1 if unset).

    >>> round(deviation(noise_rate=0.1, margin=0.1, confidence=0.99, rounds=10_000), 1)
    1035.3
    >>> round(deviation(0.1, 0.1, 0.99, 10_000, squared_weights=4.0 * 10_000, largest_weight=2.0) / 2, 1)
    1035.3
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    log = -math.log1p(-check_confidence(confidence))
    count = check_rounds(rounds)
    squares = count if squared_weights is None else check_nonnegative("squared_weights", squared_weights)
    largest = check_nonnegative("largest_weight", largest_weight)
    scale = (1.0 + gamma) / gamma
    return scale * (math.sqrt(2.0 * noise * (1.0 - noise) * squares * log) + 2.0 / 3.0 * largest * log)


def _ftrl_excess(noise: float, gamma: float, rounds: float, shift: float) -> float:
    """Z <= shift + A sqrt(V' + b Z), A = sqrt(2)/gamma  =>  Z <= shift + A sqrt(V' + b shift) + A^2 b."""
    b = 1.0 - 2.0 * noise
    spread = noise * (1.0 - noise) * rounds + (1.0 - noise) ** 2 + b * shift
    return shift + math.sqrt(2.0 * spread) / gamma + 2.0 * b / gamma**2


def high_probability_mistake_bound(noise_rate: float, margin: float, rounds: float, confidence: float) -> float:
    """Theorem 4 of docs/theory.md: with probability at least `confidence`, for the learner of Theorem 1(b),

    M <= noise_rate T + dev + sqrt(2) sqrt(V + (1 - noise_rate)^2 + (1 - 2 noise_rate) dev) / margin
         + 2 (1 - 2 noise_rate) / margin^2,   V = noise_rate (1 - noise_rate) T,  dev = `deviation`.

    >>> round(high_probability_mistake_bound(0.1, 0.1, 10_000, confidence=0.99) - 1000)
    1783
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    return noise * count + _ftrl_excess(noise, gamma, count, deviation(noise, gamma, confidence, count))


def margin_penalty(noise_rate: float, margin: float, distance: float) -> float:
    """Theorem 5 of docs/theory.md: a round at `distance` |w*.x| below the margin costs this much more.

    (1 - noise_rate) max(0, 1 - distance / margin).

    >>> margin_penalty(noise_rate=0.1, margin=0.2, distance=0.1)
    0.45
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    return (1.0 - noise) * max(0.0, 1.0 - check_nonnegative("distance", distance) / gamma)


def noise_penalty(noise_rate: float, margin: float, flip_rate: float, distance: float) -> float:
    """Theorem 5 of docs/theory.md: a round whose label flips more often than declared costs this much more.

    max(0, flip_rate - noise_rate) (1 + distance / margin).

    >>> noise_penalty(noise_rate=0.25, margin=0.5, flip_rate=1.0, distance=1.0)
    2.25
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    surplus = max(0.0, check_probability("flip_rate", flip_rate) - noise)
    return surplus * (1.0 + check_nonnegative("distance", distance) / gamma)


def corruption_penalty(noise_rate: float, margin: float, corrupted: float) -> float:
    """Theorem 5 of docs/theory.md: `corrupted` arbitrary rounds cost at most this much more.

    corrupted (1 - noise_rate) (1 + 1 / margin).

    >>> round(corruption_penalty(noise_rate=0.1, margin=0.1, corrupted=10), 9)
    99.0
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    return check_nonnegative("corrupted", corrupted) * (1.0 - noise) * (1.0 + 1.0 / gamma)


def robust_mistake_bound(noise_rate: float, margin: float, rounds: float, penalty: float) -> float:
    """Theorem 5 of docs/theory.md: E[M] when rounds break the assumptions by a total `penalty` P.

    noise_rate T + P + sqrt(2) sqrt(V + (1 - noise_rate)^2 + (1 - 2 noise_rate) P) / margin
    + 2 (1 - 2 noise_rate) / margin^2,   V = noise_rate (1 - noise_rate) T.

    >>> round(robust_mistake_bound(0.1, 0.05, 10**6, penalty=0.0) - 10**5)
    9125
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    return noise * count + _ftrl_excess(noise, gamma, count, check_nonnegative("penalty", penalty))


def online_to_batch_error(noise_rate: float, margin: float, samples: float) -> float:
    """Theorem 6 of docs/theory.md: expected error of a uniformly random iterate of Theorem 1(a) on n samples.

    noise_rate + f / (margin^2 n)
    <= noise_rate + sqrt(noise_rate (1 - noise_rate) / n) / margin + (1 - 2 noise_rate) / (margin^2 n).

    >>> round(online_to_batch_error(noise_rate=0.0, margin=0.1, samples=10_000), 9)
    0.01
    """
    count = check_rounds(samples, "samples", smallest=1.0)
    return fixed_mistake_bound(noise_rate, margin, count) / count


def samples_for_error(noise_rate: float, margin: float, excess: float) -> int:
    """Theorem 6 of docs/theory.md: the smallest n whose `online_to_batch_error` is <= noise_rate + excess.

    n = ceil((noise_rate (1 - noise_rate) + excess (1 - 2 noise_rate)) / (excess margin)^2).

    >>> samples_for_error(noise_rate=0.1, margin=0.1, excess=0.01)
    98000
    """
    noise, gamma, e = check_noise_rate(noise_rate), check_margin(margin), check_positive("excess", excess)
    exact = (noise * (1.0 - noise) + e * (1.0 - 2.0 * noise)) / (e * gamma) ** 2
    # 1e-12: a rounding error above a whole number is not a reason for one more sample
    return max(1, math.ceil(exact * (1.0 - 1e-12)))
