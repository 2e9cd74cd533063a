"""Lift, guaranteed and seen: what a bandit earns above a random arm."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from massart import theory
from massart.kernels.blend_state import BlendState
from massart.kernels.learning import paper_ranking as paper
from massart.kernels.learning.blend import PRIORS, Mixed
from massart.kernels.learning.ranking import Expert, Setting, Total
from massart.kernels.query_state import QueryState
from massart.learners.certificate import facts_html

NOTHING, WITHIN, CONTRADICTS = "guarantees nothing yet", "within the guarantee", "contradicts the declaration"


@dataclass(frozen=True)
class LiftCertificate:
    """Lift over a uniformly random arm, summed over the rounds learned.

    `guaranteed_lift` bounds an expectation: if any two arms of a round with different contexts differ by `gap` in
    expected reward and by `margin` in score, and arms with equal contexts have equal expected rewards, then the
    expected lift is at least the expectation of this number (Theorem 17(b) of docs/theory.md, computed from what was
    really learned, late rewards included). It may be negative, and then it guarantees nothing. It is None where there
    is no theorem: for a bandit that knows one of gap and margin, and for update="paper" once a choice was made
    while another one waited for its reward. For one that knows neither (default settings) it is that of Theorem 19,
    on the condition that gap and margin are at least those in `assumed`, where the margin is in units of the longest
    context so far.

    With `pending` choices that wait for their reward it counts the rounds learned. It is then valid only if which
    rewards have arrived depends neither on the arms played nor on the rewards; let the others `expire` first. A reward
    that expired is the default reward, and gap and margin must hold of rewards counted so.

    Once `logged` rounds of another policy were learned, from a log, nothing is guaranteed, and the lift seen counts
    those rounds as well. Nor is anything if the exploration of a bandit with default settings `varied`.

    `observed_lift` is estimated from the rewards seen by inverse probability weighting; `low` and `high` are its normal
    interval at `confidence`, for one look at a number of rounds fixed beforehand. `evidence` is an e-value against the
    declaration (Theorem 17(c)): if gap and margin are true, it ever reaches 1 / (1 - confidence) with probability at
    most 1 - confidence, however often one looks. `holds` is False when it has. Where there is no such test, `evidence`
    is 1: without a theorem, for update="paper", and while a choice made before one that was learned still waits.
    """

    rounds: int
    pending: int
    gap: float | None
    margin: float | None
    guaranteed_lift: float | None
    observed_lift: float
    low: float
    high: float
    confidence: float
    evidence: float
    holds: bool
    assumed: tuple[float, float] | None = None
    logged: int = 0  # rounds learned that another policy played
    varied: bool = False  # whether `exploration` was changed on the way, as the decision service can

    @property
    def verdict(self) -> str:
        """One of "guarantees nothing yet", "within the guarantee" and "contradicts the declaration"."""
        if not self.holds:
            return CONTRADICTS
        return WITHIN if self.guaranteed_lift is not None and self.guaranteed_lift > 0.0 else NOTHING

    @property
    def sentence(self) -> str:
        """The verdict and its reason in one line."""
        if not self.holds:
            return (
                f"{CONTRADICTS}: the lift seen, {_whole(self.observed_lift)}, is lower than chance allows "
                f"(confidence {self.confidence:g}, at any number of looks): the gap or the margin is smaller than "
                "declared, or arms with equal contexts have unequal rewards"
            )
        if self.logged:
            return f"{NOTHING}: {self.logged:,} of the {self.rounds:,} rounds learned were played by another policy"
        if self.assumed is not None:
            return self._on_condition
        if self.guaranteed_lift is None:
            paper = "there is no theorem for update='paper' with rewards that come late"
            one = "there is no theorem for a bandit that knows one of gap and margin"
            return f"{NOTHING}: {one if self.gap is None or self.margin is None else paper}"
        if self.guaranteed_lift <= 0.0:
            return f"{NOTHING}: after {self.rounds:,} rounds learning may still have cost more than the gap brings"
        seen = (
            f"{WITHIN}: an expected lift of at least {_whole(self.guaranteed_lift)}, {_whole(self.observed_lift)} seen"
        )
        return seen if self.observed_lift >= self.guaranteed_lift else f"{seen}; the difference may be chance"

    @property
    def _on_condition(self) -> str:
        if self.varied:
            return f"{NOTHING}: the exploration was changed on the way, and Theorem 19 is of one that stays"
        gap, margin = self.assumed or (0.0, 0.0)
        condition = f"a gap of {gap:g} and a margin of {margin:g} of the longest context"
        if self.guaranteed_lift is None or self.guaranteed_lift <= 0.0:
            return f"{NOTHING}: after {self.rounds:,} rounds learning may still have cost more than {condition} brings"
        least, seen = _whole(self.guaranteed_lift), _whole(self.observed_lift)
        return f"{WITHIN}: an expected lift of at least {least} with {condition}, {seen} seen"

    def __str__(self) -> str:
        """Three lines for people; the last one is the sentence."""
        known = f"gap {_known(self.gap)}, margin {_known(self.margin)}"
        waiting = ""
        if self.pending:
            waiting = (
                f"; {self.pending:,} choices wait: valid only if which rewards have come depends neither on the arms "
                "nor on the rewards, so expire those that will not come"
            )
        return (
            f"{self.rounds:,} rounds learned, {known}{waiting}\n"
            f"Lift over a random arm: {_whole(self.observed_lift)} seen ({_whole(self.low)} to {_whole(self.high)}, "
            f"normal interval of one look at {self.confidence:g})\n"
            f"{self.sentence}"
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        return lift_html(self, "Certificate of lift")


def lift_html(certificate: LiftCertificate, title: str) -> str:
    """A certificate as a table for notebooks, under this title."""
    learned, seen, sentence = str(certificate).split("\n")
    verdict, _, words = sentence.partition(": ")
    facts = [("verdict", words), ("rounds", learned), ("lift", seen.partition(": ")[2])]
    return facts_html(facts, f"{title}: {verdict}")


def _whole(lift: float) -> str:
    return f"{lift:z,.0f}"


def _known(value: float | None) -> str:
    return "not known" if value is None else f"{value:g}"


def _interval(total: float, squares: float, rounds: float, z: float) -> tuple[float, float]:
    spread = z * float(np.sqrt(max(0.0, squares - total * total / max(rounds, 1.0))))
    return total - spread, total + spread


def certify_lift(
    how: NDArray[np.float64],
    S: NDArray[np.float64],
    t: NDArray[np.float64],
    pending: Collection[int],
    confidence: float,
) -> LiftCertificate:
    """The certificate of a bandit whose choices with these numbers wait for their reward."""
    theory.check_confidence(confidence)
    rounds, observed = float(t[Total.ROUNDS]), float(t[Total.SEEN])
    low, high = _interval(observed, float(t[Total.SEEN2]), rounds, float(norm.ppf(0.5 + confidence / 2)))
    gaps, margins = set(S[Expert.DELTA].tolist()), set(S[Expert.GAMMA].tolist())
    gap = gaps.pop() if len(gaps) == 1 else None
    margin = margins.pop() if len(margins) == 1 and not how[Setting.RELATIVE] else None
    guaranteed, evidence, s = None, 1.0, S[:, 0]
    width = float(how[Setting.HIGHEST] - how[Setting.LOWEST])
    if gap is not None and margin is not None and how[Setting.PAPER]:
        if not s[Expert.DRIFT]:  # gradient descent in the unit ball; rounds that explore always teach a little
            regret = 2.0 * s[Expert.CAP] + s[Expert.SQUARES] / 2.0 + paper.LEAST_KEPT * width * rounds
            guaranteed = float(gap * s[Expert.KEPT] - regret)
    elif gap is not None and margin is not None:
        guaranteed = learned_lift(s)
        if min(pending, default=rounds) >= rounds:  # what was learned is what was chosen first
            shortfall, variance, reach = guaranteed - observed, float(s[Expert.VARIANCE]), float(s[Expert.REACH])
            evidence = theory.lift_evidence(shortfall, variance, reach, margin, width)
    holds = evidence * (1.0 - confidence) < 1.0
    return LiftCertificate(
        int(rounds), len(pending), gap, margin, guaranteed, observed, low, high, confidence, evidence, holds
    )


def certify_blend(state: BlendState, pending: Collection[int], confidence: float) -> LiftCertificate:
    """The certificate of a bandit with default settings: Theorem 19, for its expert of the largest gap and margin.

    Which expert that is does not depend on what happens: the best of several bounds would be too high on average.
    """
    S, mix = state.experts, state.mix[:, 1]
    plain = certify_lift(state.how, S, state.totals, pending, confidence)
    e = _largest(S)
    price = theory.path_price(PRIORS[1], *(float(mix[row]) for row in (Mixed.SQUARES, Mixed.LOWERED, Mixed.TAIL)))
    guaranteed = theory.mixture_lift(
        learned_lift(S[:, e]), float(state.behind[e]), price, float(mix[Mixed.LATE]), float(mix[Mixed.FLOORS]),
        state.highest - state.lowest, 1.0 - float(state.how[Setting.FLOOR]),
    )  # fmt: skip
    assumed = float(S[Expert.DELTA, e]), float(S[Expert.GAMMA, e])
    return replace(plain, guaranteed_lift=guaranteed, assumed=assumed)


def _largest(S: NDArray[np.float64]) -> int:
    """The expert of the largest gap and margin: it does not depend on what happens."""
    return int(np.lexsort((S[Expert.GAMMA], S[Expert.DELTA]))[-1])


def mixed_lift(state: QueryState) -> float:
    """Theorem 20 of docs/theory.md: what is guaranteed of a ranker with default settings."""
    e = _largest(state.experts)
    width = state.highest - state.lowest
    return theory.mixture_lift(learned_lift(state.experts[:, e]), 0.0, state.price(e), 0.0, 0.0, width, 1.0)


def learned_lift(s: NDArray[np.float64]) -> float:
    """Theorem 17(b) of docs/theory.md for one column of `kernels.ranking`'s S."""
    names = (Expert.DELTA, Expert.KEPT, Expert.CAP, Expert.SQUARES, Expert.FIRST, Expert.DRIFT)
    return theory.learned_lift(*(float(s[name]) for name in names))
