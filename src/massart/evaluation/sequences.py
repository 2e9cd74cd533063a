"""A confidence sequence: intervals for every n that hold all at once, so one may look and stop at any time.

**Claim.** Let Y_1, Y_2, ... >= 0 have E[Y_i | Y_1..Y_(i-1)] <= mu, let 0 < c < 1, and let L be J positive numbers
("stakes").  For m > 0 and lambda in L let

    K_n(m, lambda) = product over i <= n of (1 + min(lambda, c/m) (Y_i - m)).

Then with probability at least 1 - alpha, for all n at once,

    mu >= sup {m : K_s(m, lambda) >= J/alpha for some s <= n and some lambda in L}.

*Proof.* Each factor is at least 1 - c > 0, and at m = mu has conditional mean at most 1.  So K_n(mu, lambda) is a
non-negative supermartingale that begins at 1, and by Ville's inequality reaches J/alpha with probability at most
alpha/J; one of the J stakes does with probability at most alpha.  Each factor falls in m: where lambda <= c/m it is
1 + lambda (Y_i - m), elsewhere 1 - c + c Y_i/m, and both agree where they meet.  So if K_s(m, lambda) >= J/alpha for
some m > mu, then K_s(mu, lambda) >= J/alpha too, which we have just excluded.  QED

This is betting against the mean m (Waudby-Smith and Ramdas 2023, section 4) with variables bounded from one side only
(Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2022); stakes on a geometric grid are the stitching of Howard,
Ramdas, McAuliffe and Sekhon (2021).  With rewards scaled to [0, 1], Y = w r gives the low end: E[w r] <= value;
Y = w (1 - r) gives 1 minus the high end: E[w (1 - r)] <= 1 - value.  No bound on the weights is needed, the logging
policy may learn while it logs, and arms it never plays only widen the interval.  What is needed: the value of the
policy given the past stays the same over the log (no drift), and logged propensities are true.

At n decisions the best stake is near sqrt(2 ln(J/alpha) / (n var Y)); then the interval is
sqrt(2 ln(J/alpha)) / z times as wide as the normal one, 1.9 times at a confidence of .95.
"""

import math
from collections.abc import Sequence

import numpy as np

from massart.data.decisions.decision import FloatArray
from massart.errors import InvalidParameterError
from massart.evaluation.intervals import Interval, check_confidence, scaled_rewards

__all__ = ["STAKES", "confidence_sequence", "low_end"]

STAKES = tuple(2.0**power for power in range(4, -17, -1))  # from a handful of decisions to billions
_CAP = 0.5  # c above
_HALVINGS = 20  # a bound stops short of the sup by at most a millionth: on the safe side


def low_end(values: FloatArray, error: float, times: Sequence[int] | None = None) -> FloatArray:
    """The claim's bound at each of the rising `times` (by default at the end), for a mean of at most 1.

    >>> flips = np.tile([1.0, 0.0], 500)
    >>> low_end(flips, 0.05, [10, 100, 1000]).round(3).tolist()
    [0.094, 0.33, 0.445]
    """
    threshold = math.log(len(STAKES) / error)

    def reached(mean: float, stake: float, time: int) -> bool:
        gains = np.log1p(min(stake, _CAP / mean) * (values[:time] - mean))
        return bool(np.cumsum(gains).max(initial=0.0) >= threshold)

    bounds, bound = [], 0.0
    for time in [values.size] if times is None else times:
        for stake in STAKES:
            # A stake is worth a search only if it reaches beyond what the others have.
            low, high = bound, 1.0
            if low >= high or not reached(low + (high - low) * 0.5**_HALVINGS, stake, time):
                continue
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if reached(middle, stake, time) else (low, middle)
            bound = low
        bounds.append(bound)
    return np.array(bounds)


def confidence_sequence(
    rewards: FloatArray,
    weights: FloatArray,
    reward_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    *,
    times: Sequence[int] | None = None,
) -> list[Interval]:
    """One interval after each of the `times` decisions (by default after all), each within the ones before.

    An interval whose low end is above its high end says, as surely as `confidence`, that the log is not what it is
    taken for: the value drifts, or propensities are wrong.

    >>> rewards = np.tile([1.0, 0.0], 500)
    >>> [(round(i.low, 2), round(i.high, 2)) for i in confidence_sequence(rewards, np.ones(1000), times=[10, 1000])]
    [(0.08, 0.93), (0.44, 0.56)]
    """
    error = 0.5 - 0.5 * check_confidence(confidence)
    low, high = reward_range
    scaled = scaled_rewards(rewards, reward_range)
    when = [rewards.size] if times is None else list(times)
    if sorted(when) != when or (when and not 1 <= when[0] <= when[-1] <= rewards.size):
        raise InvalidParameterError(f"times must rise from 1 to the {rewards.size} decisions of the log, not {when}")
    bottoms = low_end(weights * scaled, error, when)
    tops = 1.0 - low_end(weights * (1.0 - scaled), error, when)
    width = high - low
    return [
        Interval("sequence", low + width * float(bottom), low + width * float(top), confidence)
        for bottom, top in zip(bottoms, tops, strict=True)
    ]
