"""Intervals of differences that hold for every n, where a normal interval does not.

Rewards are scaled to [0, 1]. A policy with weights w has a value V >= E[w r], and 1 - V >= E[w (1 - r)]; both with
equality if every arm it plays was logged.

**Two policies**, with weights w and v and values V and U. For every b that is not chosen by looking at these decisions

    X = min(w, b) r + min(v, b) (1 - r)    lies in [0, b] and has E X <= 1 + V - U,

so a low end for E X, less 1, is one for V - U, and the high end is minus the low end for U - V. Each has half of the
error. What both policies have in common is in one term, decision by decision. Low ends for E X are those of
Clopper-Pearson (in the form for any terms in [0, b]), Bernstein and the sequence, which takes X / 2 with b infinite, as
its claim is about means of at most 1.

**A policy and the log.** The policy that wrote the log may have learned while it did, so that the expected reward of a
decision given the past changes from one to the next; what a policy is compared with is the mean L of these. With S_n
the sum of the rewards less these expectations and rho > 0, Hoeffding's lemma makes exp(lambda S_n - lambda^2 n / 8) a
supermartingale for every lambda, and so is its mean over lambda ~ N(0, 1 / rho),

    sqrt(rho / (n/4 + rho)) exp(S_n^2 / (2 (n/4 + rho))).

By Ville's inequality it reaches 1 / error with probability at most `error`, whatever n (Robbins 1970), so

    |mean reward - L| <= sqrt((n/4 + rho) (2 ln(1 / error) + ln((n/4 + rho) / rho))) / n    for all n at once.

The interval of V - L is that of V at half of the error, less the mean reward, widened by this with the other half.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidParameterError
from massart.evaluation.intervals import (
    Interval,
    bernstein_low,
    confidence_sequence,
    empirical_bernstein_interval,
    low_end,
    pilot_size,
    scaled_rewards,
)
from massart.evaluation.likelihood import binomial_low, clopper_pearson_interval
from massart.evaluation.log import WeightedLog
from massart.theory import check_confidence

__all__ = ["EXACT", "difference_from_log", "difference_interval", "exact_differences"]

EXACT: Final = ("clopper-pearson", "bernstein", "sequence")  # kinds of intervals that hold for every n
_RHO: Final = 25.0  # the widening is least, for its n, at about a thousand decisions


def difference_interval(
    kind: str,
    rewards: FloatArray,
    weights: FloatArray,
    others: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    *,
    max_weight: float | None = None,
) -> Interval:
    """The value of the policy of `weights` less that of the policy of `others`, by the module's first part.

    `kind` is one of `EXACT`, `max_weight` is b; without it the first tenth of the decisions gives b, the largest weight
    among them, and the others give the interval.

    >>> rewards, played = np.tile([1.0, 0.0], 500), np.tile([2.0, 0.0], 500)
    >>> interval = difference_interval("clopper-pearson", rewards, played, 2.0 - played, max_weight=2.0)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.99, 1.0)
    """
    delta = 0.5 - 0.5 * check_confidence(confidence)
    scaled = scaled_rewards(rewards, reward_range)
    if max_weight is not None and not 0.0 < max_weight < math.inf:
        raise InvalidParameterError(f"max_weight must be a finite number above 0, not {max_weight}")
    cap = math.inf if kind == "sequence" else max_weight
    if cap is None:
        pilot = pilot_size(rewards.size)
        cap = max(float(weights[:pilot].max(initial=0.0)), float(others[:pilot].max(initial=0.0)))
        scaled, weights, others = scaled[pilot:], weights[pilot:], others[pilot:]
    first, second = np.minimum(weights, cap), np.minimum(others, cap)
    low = _low(kind, first * scaled + second * (1.0 - scaled), cap, delta) - 1.0
    high = 1.0 - _low(kind, second * scaled + first * (1.0 - scaled), cap, delta)
    width = reward_range[1] - reward_range[0]
    return Interval(kind, width * min(1.0, low), width * max(-1.0, high), confidence)


def _low(kind: str, terms: FloatArray, cap: float, delta: float) -> float:
    """A low end of the mean of terms in [0, cap], which is at most 2."""
    if kind == "sequence":
        return 2.0 * float(low_end(0.5 * terms, delta)[-1])
    if not cap > 0.0:
        return 0.0
    if kind == "bernstein":
        return bernstein_low(terms, cap, delta)
    return cap * binomial_low(np.minimum(terms / cap, 1.0), delta / math.e)


def difference_from_log(
    kind: str,
    rewards: FloatArray,
    weights: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    *,
    max_weight: float | None = None,
) -> Interval:
    """The value of a policy less what was earned in the log, by the module's second part.

    >>> rewards = np.tile([1.0, 0.0], 500)
    >>> interval = difference_from_log("clopper-pearson", rewards, np.tile([2.0, 0.0], 500), max_weight=2.0)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.38, 0.55)
    """
    error = 1.0 - check_confidence(confidence)
    parts = rewards, weights, reward_range, 1.0 - 0.5 * error
    if kind == "clopper-pearson":
        value = clopper_pearson_interval(*parts, max_weight=max_weight)
    elif kind == "bernstein":
        value = empirical_bernstein_interval(*parts, max_weight=max_weight)
    else:
        (value,) = confidence_sequence(*parts)
    width, earned = reward_range[1] - reward_range[0], float(rewards.mean())
    doubt = width * _widening(rewards.size, 0.5 * error)
    low = max(-width, value.low - earned - doubt)
    high = min(width, value.high - earned + doubt)
    return Interval(kind, low, high, confidence)


def _widening(count: int, error: float) -> float:
    spread = 0.25 * count + _RHO
    return math.sqrt(spread * (2.0 * math.log(1.0 / error) + math.log(spread / _RHO))) / count


def exact_differences(
    kinds: Sequence[str],
    seen: WeightedLog,
    other: WeightedLog | None,
    reward_range: tuple[float, float],
    confidence: float,
    max_weight: float | None,
) -> list[Interval]:
    """The intervals of these kinds of one policy less another, or less the log; empty ones are left out."""
    made = []
    for kind in kinds:
        if not seen.is_logged and other is not None and not other.is_logged:
            parts = kind, seen.rewards, seen.weights, other.weights, reward_range, confidence
            made.append(difference_interval(*parts, max_weight=max_weight))
            continue
        policy = other if seen.is_logged and other is not None else seen
        one = difference_from_log(kind, seen.rewards, policy.weights, reward_range, confidence, max_weight=max_weight)
        made.append(one if policy is seen else one._replace(low=-one.high, high=-one.low))
    return [one for one in made if one.low <= one.high]
