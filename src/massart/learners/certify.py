"""From what learners have counted to certificates, valid at every round, and to a lower limit for the noise rate.

docs/theory.md: Theorem 12 is the certificate of one halfspace, Theorem 13 that with class weights, Theorem 14 that of a
pool, Theorem 16 the second test, which finds labels that say nothing.
"""

from collections.abc import Sequence
from math import exp, inf, log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.kernels.learning import halfspace as kernel
from massart.kernels.learning import pool
from massart.kernels.learning.halfspace import Rule, State
from massart.kernels.learning.mixture import Member, Total
from massart.kernels.learning.pool import Column, Setting
from massart.learners.certificate import Certificate

_HALVINGS = 40  # of the interval in which a limit is searched


def _as_number(log_evidence: float) -> float:
    return exp(min(log_evidence, 700.0))


def _unequal(weight: float, heaviest: float, rounds: float) -> bool:
    """Whether rows had different weights, from their sum, the largest, and their number."""
    return abs(weight - heaviest * rounds) > 1e-9 * abs(weight)


def _largest(heaviest: float, longest2: float, margin: float) -> float:
    """The most that chance can add in a round, c (margin + |x|) / m with m at its smallest."""
    return heaviest * (margin + sqrt(max(longest2, 1.0))) / margin


def _before_class_weights(noise_rate: float, negative: float, positive: float) -> float:
    """The inverse of theory.class_weight_noise_rate.

    >>> round(_before_class_weights(theory.class_weight_noise_rate(0.2, 3.0), 3.0, 1.0), 9)
    0.2
    """
    ratio = max(negative / positive, positive / negative)
    return noise_rate / (noise_rate + ratio * (1.0 - noise_rate))


def _class_weighted(arrays: NDArray[np.float64], negative: int, positive: int) -> bool:
    return bool(arrays[negative] != arrays[positive])


def regret_bound(rule: NDArray[np.float64], s: NDArray[np.float64]) -> float:
    """What the optimiser's regret on <g, .> is at most, from the gradients it has really seen."""
    kind, squares = rule[Rule.KIND], float(s[State.SQUARES])
    if kind == kernel.FTRL:
        return theory.ftrl_regret(float(s[State.CAP]), squares)
    if kind == kernel.FIXED:
        return theory.fixed_regret(float(rule[Rule.PACE]), squares)
    if kind == kernel.ADAGRAD:
        return theory.adagrad_regret(squares)
    # Gradient descent with steps that never grow, in a ball of diameter 2, plus the price of the slack.
    distance = 2.0 / float(s[State.STEP]) if s[State.STEP] > 0 else 0.0
    return distance + float(s[State.STEPPED]) / 2 + float(s[State.SLACK])


def path_regret(rule: NDArray[np.float64], s: NDArray[np.float64]) -> float:
    """The largest regret against a point of the unit ball: on the path if the sum of gradients is known, else a bound.

    sum <g, w> + |sum g|; for adagrad-norm and the paper's steps, whose sum of gradients is not kept, Theorems 1(c), 8.
    """
    if rule[Rule.KIND] in (kernel.FTRL, kernel.FIXED):
        return float(s[State.LINEAR]) + sqrt(float(s[State.NORM2]))
    return regret_bound(rule, s)


def certify(rule: NDArray[np.float64], s: NDArray[np.float64], confidence: float) -> Certificate:
    """The certificate of one halfspace: Theorem 12 of docs/theory.md."""
    theory.check_confidence(confidence)
    noise_rate, margin = float(rule[Rule.ETA]), float(rule[Rule.GAMMA])
    weight, wrong, positives = (float(s[k]) for k in (State.WEIGHT, State.WRONG, State.POSITIVES))
    regret, chance, log_evidence = 0.0, 0.0, -inf
    if s[State.ROUNDS] > 0.0:
        regret = path_regret(rule, s)
        floor = float(s[State.FLOOR]) if rule[Rule.KIND] == kernel.PAPER else margin
        largest = _largest(float(s[State.HEAVIEST]), float(s[State.LONGEST2]), floor)
        spreads = [(float(s[State.SPREAD]), largest)]
        scale = float(s[State.FIRST]) * (1.0 + margin) / margin
        chance = theory.anytime_deviation(confidence, spreads, scale)
        log_evidence = theory.anytime_evidence(wrong - noise_rate * weight - regret, spreads, scale)
    expected = noise_rate * weight + regret
    applies = _applies(rule, s)
    return Certificate(
        rounds=weight,
        mistakes=wrong,
        noise_rate=noise_rate,
        margin=margin,
        regret_bound=regret,
        mistake_bound=expected,
        confident_mistake_bound=expected + chance,
        confidence=confidence,
        holds=not applies or log_evidence < -log1p(-confidence),
        evidence=_as_number(log_evidence),
        constant_mistakes=min(positives, weight - positives),
        applies=applies,
        weighted=weight != float(s[State.ROUNDS]),
    ).without_bound(s[State.UNPROVED] != 0.0)


def _applies(rule: NDArray[np.float64], s: NDArray[np.float64]) -> bool:
    if s[State.UNPROVED] != 0.0:
        return False
    rounds, heaviest = float(s[State.ROUNDS]), float(s[State.HEAVIEST])
    classes = rule[[Rule.NEGATIVE, Rule.POSITIVE]]
    weight = _plain_weight(float(s[State.WEIGHT]), float(s[State.POSITIVES]), *classes)
    return not _unequal(weight, heaviest, rounds)


def _plain_weight(weight: float, positives: float, negative: float, positive: float) -> float:
    """The sum of weights if both labels had the heavier class weight."""
    heavy = max(negative, positive)
    return float((weight - positives) * (heavy / negative) + positives * (heavy / positive))


def lower_noise_rate(rule: NDArray[np.float64], s: NDArray[np.float64], confidence: float) -> float:
    """A lower confidence limit for the noise rate, at the declared margin: Theorems 12 and 16 of docs/theory.md."""
    own = certify(rule, s, 1 - (1 - confidence) / 2)
    if not own.applies or s[State.ROUNDS] == 0.0:
        return 0.0
    classes = float(rule[Rule.NEGATIVE]), float(rule[Rule.POSITIVE])
    floor = _before_class_weights(own.noise_rate, *classes) if not own.holds else 0.0
    if rule[Rule.KIND] not in (kernel.FTRL, kernel.FIXED) or _class_weighted(rule, Rule.NEGATIVE, Rule.POSITIVE):
        return floor
    margin = float(rule[Rule.GAMMA])
    learners = [(margin, 1.0 - 2.0 * own.noise_rate, sqrt(float(s[State.NORM2])), float(s[State.INVERSE]))]
    longest = max(margin, sqrt(float(s[State.LONGEST2])))
    weights = float(s[State.HEAVIEST]), float(s[State.FIRST])
    return max(floor, _search(learners, margin, longest, weights, 1 - (1 - confidence) / 2))


Direction = tuple[float, float, float, float]  # of a learner: margin, 1 - 2 noise rate, |theta|, sum of c margin / m


def _direction(
    noise_rate: float, margin: float, learners: Sequence[Direction], longest: float, weights: tuple[float, float]
) -> float:
    """The log of the mean over learners of their evidence against noise rate and margin: Theorem 16."""
    heaviest, first = weights
    logs = [
        theory.direction_evidence(
            noise_rate, margin, 2.0 * own * norm, total, leak, heaviest=heaviest, longest=longest, scale=first
        )
        for own, leak, norm, total in learners
    ]
    highest = max(logs)
    return highest if highest == -inf else highest + log(sum(exp(value - highest) for value in logs) / len(logs))


def _search(
    learners: Sequence[Direction], margin: float, longest: float, weights: tuple[float, float], confidence: float
) -> float:
    """The largest noise rate that `_direction` rules out; its evidence falls as the noise rate grows."""
    enough = -log1p(-confidence)
    low, high = 0.0, 0.5
    if _direction(low, margin, learners, longest, weights) < enough:
        return 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _direction(middle, margin, learners, longest, weights) < enough:
            high = middle
        else:
            low = middle
    return low


class _Expert(NamedTuple):
    """An expert of a pool with a mistake bound: its parameters, and what the rounds say about them."""

    noise_rate: float
    margin: float
    constant: bool
    regret: float
    price: float  # what the answers were expected to lose beyond its mistakes
    spreads: list[tuple[float, float]]
    scale: float
    log_evidence: float

    def bound(self, weight: float) -> float:
        return self.noise_rate * weight + self.regret + max(0.0, self.price)


class Prod(NamedTuple):
    """What mixing two learners by Prod adds to the certificate of its default."""

    mistakes: float
    expected: float  # sum of the probabilities of a mistake, before the draws
    variance: float  # of the draws
    heaviest: float


class PoolState(NamedTuple):
    """What a pool counts, as its kernel holds it."""

    how: NDArray[np.float64]
    S: NDArray[np.float64]
    M: NDArray[np.float64]
    t: NDArray[np.float64]
    plain: int  # experts with a mistake bound


def certify_mixture(state: PoolState, confidence: float, prod: Prod | None = None) -> Certificate:
    """The certificate of a pool: Theorem 14 of docs/theory.md.

    Of the experts with a mistake bound that the rounds do not contradict, the one with the smallest bound is named.
    Every expert has been given an equal share of the doubt beforehand, so naming one afterwards costs nothing more.
    """
    theory.check_confidence(confidence)
    how, t = state.how, state.t
    mistakes = float(t[Total.WRONG]) if prod is None else prod.mistakes
    weight, rounds, positives = (float(t[k]) for k in (Total.WEIGHT, Total.ROUNDS, Total.POSITIVES))
    experts = _experts(state, prod)
    doubt = 1 - confidence
    each = 1 - doubt / len(experts)
    bounds = [
        own.bound(weight) + (theory.anytime_deviation(each, own.spreads, own.scale) if rounds > 0.0 else 0.0)
        for own in experts
    ]
    tried = list(zip(bounds, experts, strict=True))
    open_ones = [pair for pair in tried if pair[1].log_evidence < log(len(experts) / doubt) and mistakes <= pair[0]]
    open_ones = open_ones or [pair for pair in tried if pair[1].log_evidence < log(1 / doubt)]
    if open_ones:
        sure, named = min(open_ones, key=lambda pair: pair[0])
    else:
        sure, named = max(tried, key=lambda pair: (pair[1].noise_rate, -pair[1].margin))
    evidence = min(own.log_evidence for own in experts)
    applies = _pool_applies(how, t)
    expected = named.bound(weight) if len(experts) == 1 else sure
    return Certificate(
        rounds=weight,
        mistakes=mistakes,
        noise_rate=named.noise_rate,
        margin=named.margin,
        regret_bound=named.regret + max(0.0, named.price),
        mistake_bound=expected,
        confident_mistake_bound=sure,
        confidence=confidence,
        holds=not applies or evidence < -log(doubt),
        evidence=_as_number(evidence),
        constant_mistakes=min(positives, weight - positives),
        applies=applies,
        weighted=weight != rounds,
    ).without_bound(t[Total.UNPROVED] != 0.0)


def _pool_applies(how: NDArray[np.float64], t: NDArray[np.float64]) -> bool:
    if t[Total.UNPROVED] != 0.0:
        return False
    classes = how[[Setting.NEGATIVE, Setting.POSITIVE]]
    weight = _plain_weight(float(t[Total.WEIGHT]), float(t[Total.POSITIVES]), *classes)
    return not _unequal(weight, float(t[Total.HEAVIEST]), float(t[Total.ROUNDS]))


def _experts(state: PoolState, prod: Prod | None) -> list[_Expert]:
    """The experts with a mistake bound. Their evidence is the mean of that of Theorem 12, 14 and 16."""
    how, S, M, t, plain = state
    weight, wrong, expected = (float(t[k]) for k in (Total.WEIGHT, Total.WRONG, Total.EXPECTED))
    chance = wrong - expected
    draws = [(float(t[Total.COINS]), float(t[Total.HEAVIEST]))]
    if prod is not None:
        chance += prod.mistakes - prod.expected
        expected += prod.expected - wrong
        draws.append((prod.variance, prod.heaviest))
    weighted = _class_weighted(how, Setting.NEGATIVE, Setting.POSITIVE)
    experts = []
    for k in range(pool.DIAGONAL, pool.DIAGONAL + plain):
        noise_rate, margin = float(S[Column.ETA, k]), float(S[Column.GAMMA, k])
        own, regret = (
            float(M[Member.LOSS, k]),
            float(S[Column.LINEAR, k]) + sqrt(float(S[Column.NORM2, k])),
        )
        largest = _largest(float(t[Total.HEAVIEST]), float(t[Total.LONGEST2]), margin)
        spreads = [(noise_rate * (1.0 - noise_rate) * float(S[Column.SPREAD, k]), largest)]
        scale = float(t[Total.FIRST]) * (1.0 + margin) / margin
        logs = [-inf]
        if t[Total.ROUNDS] > 0.0:
            excess = own - noise_rate * weight - regret
            logs = [
                theory.anytime_evidence(excess, spreads, scale),
                theory.anytime_evidence(excess + chance, spreads + draws, scale),
            ]
            if not weighted:
                like = _directions(S, plain, bool(S[Column.CONSTANT, k]))
                logs.append(_direction(noise_rate, margin, like, _longest(t, margin), _weights(t)))
        highest = max(logs)
        together = highest if highest == -inf else highest + log(sum(exp(v - highest) for v in logs) / len(logs))
        constant = bool(S[Column.CONSTANT, k])
        experts.append(_Expert(noise_rate, margin, constant, regret, expected - own, spreads + draws, scale, together))
    return experts


def _directions(S: NDArray[np.float64], plain: int, constant: bool) -> list[Direction]:
    """What Theorem 16 needs of the experts that have the constant coordinate, or of those that have not."""
    columns = range(pool.DIAGONAL, pool.DIAGONAL + plain)
    return [
        (
            float(S[Column.GAMMA, k]),
            1.0 - 2.0 * float(S[Column.ETA, k]),
            sqrt(S[Column.NORM2, k]),
            float(S[Column.GAMMA, k] * S[Column.INVERSE, k]),
        )
        for k in columns
        if bool(S[Column.CONSTANT, k]) == constant
    ]


def _longest(t: NDArray[np.float64], margin: float) -> float:
    return max(margin, sqrt(float(t[Total.LONGEST2])))


def _weights(t: NDArray[np.float64]) -> tuple[float, float]:
    return float(t[Total.HEAVIEST]), float(t[Total.FIRST])


def lower_pool_noise_rate(state: PoolState, confidence: float) -> float:
    """A lower confidence limit for the noise rate, if the margin is at least the smallest of the pool's.

    The smaller of the limits with and without the constant coordinate, each at its smallest margin: Theorems 12 and 16.
    """
    how, S, t, plain = state.how, state.S, state.t, state.plain
    if t[Total.ROUNDS] == 0.0 or not _pool_applies(how, t):
        return 0.0
    experts = _experts(state, None)
    half = (1 - confidence) / 2
    limits = []
    for constant in {own.constant for own in experts}:
        alike = [own for own in experts if own.constant == constant]
        margin = min(own.margin for own in alike)
        at_margin = [own for own in alike if own.margin == margin]
        out = [own.noise_rate for own in at_margin if own.log_evidence >= log(len(at_margin) / half)]
        limit = _before_class_weights(max(out, default=0.0), float(how[Setting.NEGATIVE]), float(how[Setting.POSITIVE]))
        if not _class_weighted(how, Setting.NEGATIVE, Setting.POSITIVE):
            like = _directions(S, plain, constant)
            limit = max(limit, _search(like, margin, _longest(t, margin), _weights(t), 1 - half))
        limits.append(limit)
    return min(limits)


def certify_classes(
    classes: Sequence[Certificate],
    lightest: Sequence[float],
    totals: tuple[float, float, float],
    confidence: float,
) -> Certificate:
    """The certificate of one halfspace per class: a wrong answer needs a wrong halfspace, so their bounds add up.

    `classes` were asked for an equal share of the doubt each. `lightest` is the smaller of the two class weights of
    each: a mistake weighs at least that much there. `totals` are the weights of all rows, of the wrong answers, and of
    the most frequent class. Bounds are cut at the number of rounds.
    """
    theory.check_confidence(confidence)
    weight, wrong, most_frequent = totals
    units = list(zip(classes, lightest, strict=True))
    evidence = sum(c.evidence for c in classes) / len(classes)
    applies = all(c.applies for c in classes)
    return Certificate(
        rounds=weight,
        mistakes=wrong,
        noise_rate=max(c.noise_rate for c in classes),
        margin=min(c.margin for c in classes),
        regret_bound=sum(c.regret_bound / unit for c, unit in units),
        mistake_bound=min(weight, sum(c.mistake_bound / unit for c, unit in units)),
        confident_mistake_bound=min(weight, sum(c.confident_mistake_bound / unit for c, unit in units)),
        confidence=confidence,
        holds=not applies or evidence < 1 / (1 - confidence),
        evidence=evidence,
        constant_mistakes=weight - most_frequent,
        applies=applies,
        classes=len(classes),
        weighted=any(c.weighted for c in classes),
    )
