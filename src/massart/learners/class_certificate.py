"""The certificate of several classes that are learned together: Theorem 23 of docs/theory.md.

A wrong answer of one halfspace per class needs a wrong halfspace, or a class that comes for the first time, so the
bounds of the halfspaces add up. What the answers lost beyond those of the halfspaces is measured. Optimal error is
SQ-hard from three classes on, even under random noise (arXiv 2502.11413), so no bound like noise_rate * T is claimed.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.kernels.learning import halfspace as kernel
from massart.kernels.learning.class_pool import Class, Setting
from massart.kernels.learning.halfspace import Rule, State
from massart.kernels.learning.mixture import Member, Total
from massart.learners.certificate import Certificate
from massart.learners.certify import certify, lower_noise_rate

__all__ = ["ClassPoolState", "certify_class_pool", "lower_class_noise_rate"]

_SAME = ("SCALE", "NORM2", "SQUARES", "CAP", "ROUNDS", "POSITIVES", "WRONG", "LINEAR", "SPREAD", "INVERSE", "FIRST",
         "HEAVIEST")  # fmt: skip


class ClassPoolState(NamedTuple):
    """What a pool of several classes counts, as its kernel holds it."""

    how: NDArray[np.float64]
    classes: NDArray[np.float64]  # those that have come
    members: NDArray[np.float64]
    totals: NDArray[np.float64]


def _halfspaces(state: ClassPoolState) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """(rule, state) of the halfspace of each class, as if it were alone."""
    found = []
    for own in state.classes.T:
        rule, alone = np.zeros(len(Rule)), np.zeros(len(State))
        rule[[Rule.KIND, Rule.ETA, Rule.GAMMA]] = kernel.FTRL, own[Class.ETA], state.how[Setting.GAMMA]
        rule[[Rule.UNIT, Rule.BIAS]] = state.how[[Setting.UNIT, Setting.BIAS]]
        rule[[Rule.NEGATIVE, Rule.POSITIVE]] = 1.0, own[Class.WEIGHT]
        for name in _SAME:
            alone[State[name]] = own[Class[name]]
        alone[State.WEIGHT], alone[State.LONGEST2] = own[Class.TOTAL], state.totals[Total.LONGEST2]
        alone[State.UNPROVED] = state.totals[Total.UNPROVED]
        found.append((rule, alone))
    return found


def _parts(count: int) -> list[float]:
    """The part of all doubt that each class has, by the order in which they came: 1/2, 1/6, 1/12 and so on.

    How many will come is not known, so the parts must not depend on it.

    >>> [round(1 / part) for part in _parts(3)]
    [2, 6, 12]
    """
    return [1.0 / (n * (n + 1)) for n in range(1, count + 1)]


def certify_class_pool(state: ClassPoolState, confidence: float) -> Certificate:
    """The bounds of the halfspaces, the price of not following them, and what the draws may add."""
    theory.check_confidence(confidence)
    how, classes, members, totals = state
    count, doubt = classes.shape[1], 1 - confidence
    weight, heaviest, scale = (float(totals[place]) for place in (Total.WEIGHT, Total.HEAVIEST, Total.FIRST))
    parts = _parts(count)
    alone = [certify(*own, 1 - doubt / 2 * part) for own, part in zip(_halfspaces(state), parts, strict=True)]
    # A row weighs what its class does. For the halfspace of another class it weighs 1, so at most so much less.
    ratio = max([1.0, *classes[Class.WEIGHT].tolist()])
    price = max(0.0, float(totals[Total.EXPECTED] - members[Member.LOSS, -1]))
    more = count * heaviest + price  # the rows with which classes came, and what was lost beyond the halfspaces
    draws = 0.0
    if weight > 0.0:
        draws = theory.anytime_deviation(1 - doubt / 2, [(float(totals[Total.COINS]), heaviest)], scale)
    sure = min(weight, ratio * sum(one.confident_mistake_bound for one in alone) + more + draws)
    evidence = sum(part * one.evidence for one, part in zip(alone, parts, strict=True))
    applies = bool(totals[Total.UNPROVED] == 0.0) and all(one.applies for one in alone)
    return Certificate(
        rounds=weight,
        mistakes=float(totals[Total.WRONG]),
        noise_rate=max((one.noise_rate for one in alone), default=0.0),
        margin=float(how[Setting.GAMMA]),
        regret_bound=ratio * sum(one.regret_bound for one in alone) + more,
        mistake_bound=sure,
        confident_mistake_bound=sure,
        confidence=confidence,
        holds=not applies or evidence < 1 / doubt,
        evidence=evidence,
        constant_mistakes=weight - float(classes[Class.SUM].max()) if count else inf,
        applies=applies,
        classes=max(3, count),
        weighted=weight != float(totals[Total.ROUNDS]),
    ).without_bound(totals[Total.UNPROVED] != 0.0)


def lower_class_noise_rate(state: ClassPoolState, confidence: float) -> float:
    """The largest of the halfspaces' limits, each at its part of the doubt."""
    halfspaces = _halfspaces(state)
    parts = _parts(len(halfspaces))
    limits = (lower_noise_rate(*own, 1 - (1 - confidence) * part) for own, part in zip(halfspaces, parts, strict=True))
    return max(limits, default=0.0)
