"""The certificate of several classes that are learned together: Theorem 18 of docs/theory.md.

A wrong answer of one halfspace per class needs a wrong halfspace, so the bounds of the halfspaces add up; and the row
with which a class comes for the first time. What the answers lost beyond those of the halfspaces is measured.
"""


import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.kernels.learning import halfspace as kernel
from massart.kernels.learning.class_pool import Class, Setting
from massart.kernels.learning.halfspace import Rule, State
from massart.kernels.learning.mixture import Member, Total
from massart.learners.certificate import Certificate
from massart.learners.certify import certify, certify_classes, lower_noise_rate

__all__ = ["certify_class_pool", "lower_class_noise_rate"]

_SAME = ("SCALE", "NORM2", "SQUARES", "CAP", "ROUNDS", "POSITIVES", "WRONG", "LINEAR", "SPREAD", "INVERSE", "FIRST",
         "HEAVIEST")  # fmt: skip


def _halfspaces(
    how: NDArray[np.float64], classes: NDArray[np.float64], totals: NDArray[np.float64]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """(rule, state) of the halfspace of each class, as if it were alone."""
    found = []
    for own in classes.T:
        rule, state = np.zeros(len(Rule)), np.zeros(len(State))
        rule[[Rule.KIND, Rule.ETA, Rule.GAMMA]] = kernel.FTRL, own[Class.ETA], how[Setting.GAMMA]
        rule[[Rule.UNIT, Rule.BIAS]] = how[[Setting.UNIT, Setting.BIAS]]
        rule[[Rule.NEGATIVE, Rule.POSITIVE]] = 1.0, own[Class.WEIGHT]
        for name in _SAME:
            state[State[name]] = own[Class[name]]
        state[State.WEIGHT], state[State.LONGEST2] = own[Class.TOTAL], totals[Total.LONGEST2]
        state[State.UNPROVED] = totals[Total.UNPROVED]
        found.append((rule, state))
    return found


def certify_class_pool(
    how: NDArray[np.float64], classes: NDArray[np.float64], members: NDArray[np.float64], totals: NDArray[np.float64],
    confidence: float,
) -> Certificate:  # fmt: skip
    """The bounds of the halfspaces, the price of following them, and what the draws may add."""
    weight, wrong, expected = (float(totals[place]) for place in (Total.WEIGHT, Total.WRONG, Total.EXPECTED))
    doubt, count = 1 - confidence, max(1, classes.shape[1])
    each = 1 - doubt / (2 * count)
    alone = [certify(rule, state, each) for rule, state in _halfspaces(how, classes, totals)]
    if not alone:
        return Certificate(0.0, 0.0, 0.0, float(how[Setting.GAMMA]), 0.0, 0.0, 0.0, confidence, True, classes=count)
    lightest = [min(1.0, float(own)) for own in classes[Class.WEIGHT]]
    frequent = float(classes[Class.SUM].max())
    found = certify_classes(alone, lightest, (weight, wrong, frequent), confidence)
    heaviest = float(totals[Total.HEAVIEST])
    # In units of weighted mistakes: a row of class n that a halfspace gets wrong weighs at most so much more here.
    ratio = max(1.0, float(classes[Class.WEIGHT].max()))
    firsts = count * heaviest
    price = max(0.0, expected - float(members[Member.LOSS, -1]))
    scale = float(totals[Total.FIRST])
    draws = theory.anytime_deviation(1 - doubt / 2, [(float(totals[Total.COINS]), heaviest)], scale)
    bounds = [
        min(weight, ratio * sum(one / unit for one, unit in zip(own, lightest, strict=True)) + firsts + price + more)
        for own, more in (
            ([c.mistake_bound for c in alone], 0.0),
            ([c.confident_mistake_bound for c in alone], draws),
        )
    ]
    return found.replace(
        regret_bound=ratio * found.regret_bound + firsts + price,
        mistake_bound=bounds[1],
        confident_mistake_bound=bounds[1],
    ).without_bound(totals[Total.UNPROVED] != 0.0)


def lower_class_noise_rate(
    how: NDArray[np.float64], classes: NDArray[np.float64], members: NDArray[np.float64], totals: NDArray[np.float64],
    confidence: float,
) -> float:  # fmt: skip
    """The largest of the halfspaces' limits, each at its share of the doubt."""
    each = 1 - (1 - confidence) / max(1, classes.shape[1])
    halfspaces = _halfspaces(how, classes, totals)
    return max((lower_noise_rate(rule, state, each) for rule, state in halfspaces), default=0.0)
