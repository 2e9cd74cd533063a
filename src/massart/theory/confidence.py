"""What holds with high probability, at one time or at all times, under broken assumptions, and offline."""

import math
from collections.abc import Sequence
from functools import lru_cache

from massart.theory.conditions import (
    check_confidence,
    check_margin,
    check_mistakes,
    check_noise_rate,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rounds,
)
from massart.theory.halfspace import fixed_mistake_bound

__all__ = [
    "anytime_deviation",
    "anytime_evidence",
    "class_weight_noise_rate",
    "corruption_penalty",
    "deviation",
    "direction_evidence",
    "high_probability_mistake_bound",
    "lower_disagreement_limit",
    "margin_penalty",
    "noise_penalty",
    "online_to_batch_error",
    "robust_mistake_bound",
    "samples_for_error",
    "upper_disagreement_limit",
]

_RATES = 46  # of the mixture of Theorem 12, each below the one before by sqrt(2)
_DIRECTION_RATES = 24  # of that of Theorem 16


def deviation(
    noise_rate: float,
    margin: float,
    confidence: float,
    rounds: float,
    *,
    squared_weights: float | None = None,
    largest_weight: float = 1.0,
) -> float:
    """Theorem 4 of docs/theory.md: how far the sum of T rounds strays from its conditional mean, at a T fixed before.

    K sqrt(2 noise_rate (1 - noise_rate) sum c_t^2 L) + (2/3) K max c_t L,
    K = (1 + margin) / margin, L = ln(1 / (1 - confidence)), c_t the rounds' importance weights (1 if unset), which
    must be fixed before the first round: for weights chosen on the way there is `anytime_deviation`.

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


def _rates(scale: float) -> list[float]:
    """lambda_j = 8 * 2^(-j/2) / scale: fixed before the first label is seen, as `scale` is."""
    return [8.0 * 2.0 ** (-0.5 * j) / scale for j in range(_RATES)]


_UNIT_RATES = [(rate, math.expm1(rate)) for rate in _rates(1.0)]


def _compensation(rate: float, spreads: Sequence[tuple[float, float]]) -> float:
    """The sum of variance * (e^s - 1 - s) / largest^2, s = rate * largest, over pairs (variance, largest)."""
    total = 0.0
    for variance, largest in spreads:
        s = rate * largest
        if s < 1e-4:
            curve = rate * rate * (0.5 + s / 6.0 + s * s / 20.0)  # not below (e^s - 1 - s) / s^2 for s <= 1
        elif s < 700.0:
            curve = (math.expm1(s) - s) / largest / largest
        else:
            curve = math.inf
        total += variance * curve if variance > 0.0 else 0.0
    return total


def _log_mean_exp(logs: Sequence[float]) -> float:
    highest = max(logs)
    if highest == -math.inf:
        return highest
    return highest + math.log(math.fsum(math.exp(value - highest) for value in logs) / len(logs))


def anytime_evidence(surplus: float, spreads: Sequence[tuple[float, float]], scale: float) -> float:
    """Theorem 12 of docs/theory.md: ln E, E the evidence that mistakes exceed what the declaration allows.

    E is the mean over j < 46 of exp(lambda_j surplus - sum variance phi(lambda_j largest) / largest^2) with
    phi(s) = e^s - 1 - s and lambda_j = 8 * 2^(-j/2) / scale.  `surplus` is the mistakes less the noise and the
    regret of the path, `spreads` the pairs (variance, largest) of the path's sums, `scale` a number that was fixed
    before the first label.  If the stream is as declared, E exceeds 1 / (1 - confidence) at some time with
    probability at most 1 - confidence.

    >>> round(anytime_evidence(surplus=200.0, spreads=[(900.0, 1.0)], scale=2.0), 1)
    16.9
    """
    rates = _rates(check_positive("scale", scale))
    return _log_mean_exp([rate * surplus - _compensation(rate, spreads) for rate in rates])


def anytime_deviation(confidence: float, spreads: Sequence[tuple[float, float]], scale: float) -> float:
    """Theorem 12 of docs/theory.md: how far chance carries the mistakes at any time, with this confidence.

    min over j < 46 of [ln(46 / (1 - confidence)) + sum variance phi(lambda_j largest) / largest^2] / lambda_j; see
    `anytime_evidence`.

    >>> round(anytime_deviation(0.99, spreads=[(900.0, 1.0)], scale=2.0), 1)
    126.1
    """
    log = math.log(_RATES) - math.log1p(-check_confidence(confidence))
    return min((log + _compensation(rate, spreads)) / rate for rate in _rates(check_positive("scale", scale)))


def lower_disagreement_limit(mistakes: float, rounds: float, confidence: float) -> float:
    """Theorem 24 of docs/theory.md: a lower limit, valid at all times, for the mean chance that a prediction is wrong.

    max over j < 46 of (exp((lambda_j M - L) / n) - 1) / (exp(lambda_j) - 1), L = ln(2 * 46 / (1 - confidence)),
    lambda_j = 8 * 2^(-j/2), if labels contradict M of n predictions; together with `upper_disagreement_limit`.

    >>> round(lower_disagreement_limit(mistakes=200, rounds=1000, confidence=0.99), 3)
    0.15
    """
    count, wrong = check_rounds(rounds), check_mistakes(mistakes, rounds)
    return _low_mean(wrong, count, math.log(2 * _RATES) - math.log1p(-check_confidence(confidence)))


def upper_disagreement_limit(mistakes: float, rounds: float, confidence: float) -> float:
    """Theorem 24 of docs/theory.md: an upper limit; 1 - `lower_disagreement_limit` of the other rounds.

    If the true label is the most probable one in every round, it also limits the mean chance of a wrong label.

    >>> round(upper_disagreement_limit(mistakes=200, rounds=1000, confidence=0.99), 3)
    0.258
    """
    return 1.0 - lower_disagreement_limit(check_rounds(rounds) - check_mistakes(mistakes, rounds), rounds, confidence)


def _low_mean(successes: float, count: float, doubt: float) -> float:
    """`lower_disagreement_limit`, `doubt` being L."""
    if count == 0.0:
        return 0.0
    return min(1.0, max(0.0, *(math.expm1((rate * successes - doubt) / count) / grown for rate, grown in _UNIT_RATES)))


def class_weight_noise_rate(noise_rate: float, ratio: float) -> float:
    """Theorem 13 of docs/theory.md: the noise rate of mistakes that are weighted by their label.

    noise_rate r / (1 - noise_rate + noise_rate r), r the larger weight over the smaller.

    >>> class_weight_noise_rate(noise_rate=0.2, ratio=2.0)
    0.3333333333333333
    """
    noise, r = check_noise_rate(noise_rate), check_positive("ratio", ratio)
    r = max(r, 1.0 / r)
    return noise * r / (1.0 - noise + noise * r)


def direction_evidence(
    noise_rate: float,
    margin: float,
    norm: float,
    total: float,
    leak: float,
    *,
    heaviest: float = 1.0,
    longest: float = 1.0,
    scale: float = 1.0,
) -> float:
    """Theorem 16 of docs/theory.md: ln E, E the evidence that no halfspace of this margin explains the labels.

    For weights h_t in [0, heaviest] and signs s_t chosen before the label, `norm` is |sum h_t (y_t - leak s_t) x_t|
    and `total` is sum h_t.  E is the mean over j < 24 of exp(-lambda_j norm - (total / heaviest) max(f(margin
    heaviest), f(longest heaviest))), terms with a positive max left out, where
    f(z) = -lambda z (1 - leak) + ln(1 - noise_rate + noise_rate e^(2 lambda z)) and lambda_j = 4 * 2^(-j/2) / scale.

    >>> round(direction_evidence(0.05, 1 / 16, norm=20.0, total=1000.0, leak=0.0), 1)
    67.7
    """
    noise, gamma, lean = check_noise_rate(noise_rate), check_margin(margin), check_probability("leak", leak)
    heavy, long = check_positive("heaviest", heaviest), check_positive("longest", longest)
    moments = _largest_moments(noise, gamma, lean, heavy, long, check_positive("scale", scale))
    length, count = check_nonnegative("norm", norm), check_nonnegative("total", total) / heavy
    return _log_mean_exp([-rate * length - count * worst if worst < 0.0 else -math.inf for rate, worst in moments])


@lru_cache(maxsize=256)  # who looks at every round asks for the same ones
def _largest_moments(
    noise_rate: float, margin: float, leak: float, heaviest: float, longest: float, scale: float
) -> list[tuple[float, float]]:
    """The pairs (lambda_j, max(f(margin heaviest), f(longest heaviest))) of `direction_evidence`."""
    rates = [4.0 * 2.0 ** (-0.5 * j) / scale for j in range(_DIRECTION_RATES)]
    ends = [heaviest * v for v in (margin, longest)]
    return [(rate, max(_log_moment(rate * z, noise_rate, leak) for z in ends)) for rate in rates]


def _log_moment(z: float, noise_rate: float, leak: float) -> float:
    """-z (1 - leak) + ln(1 - noise_rate + noise_rate e^(2 z)), for z >= 0."""
    if z > 300.0:  # e^(2 z) alone counts, and noise_rate may be 0
        return -z * (1.0 - leak) + (2.0 * z + math.log(noise_rate) if noise_rate > 0.0 else 0.0)
    return -z * (1.0 - leak) + math.log1p(noise_rate * math.expm1(2.0 * z))


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
