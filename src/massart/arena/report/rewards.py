"""The report of a race in worlds with rewards: who earned more than a random arm.

A random arm has lift 0 on average, and over the rounds of a run a standard deviation that the row calls `chance`. A
policy is below random if the mean of its lift over n seeds is less than -3 chance / sqrt(n), which happens to a random
arm about once in 700 races, and above if it is more than that; in between it is like random.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from massart.arena.registry import POLICIES
from massart.arena.report import kinds as words
from massart.arena.report.kinds import Curve, Race, Reference, ReportKind, Standing, WorldResult
from massart.arena.rows import RewardRow

__all__ = ["REWARD_REPORT", "RewardReport", "RewardResult", "RewardStanding", "Verdict", "lift_words", "share_words"]

_DEVIATIONS = 3.0
_NO_GUARANTEE = (
    "A random arm has lift 0. Nothing is guaranteed here: nobody knows whether a better score means a better expected "
    "reward in every round, and by how much."
)


class Verdict(StrEnum):
    """How a policy compares with a random arm and with the guarantee."""

    REACHED = "the guarantee or more"
    ABOVE = "above random"
    RANDOM = "like random"
    BELOW = "below random"
    STOPPED = "stopped early"
    FAILED = "failed"


_MARKS = {Verdict.REACHED: "✓", Verdict.BELOW: "▼", Verdict.FAILED: "!", Verdict.STOPPED: "…"}
_CSS = {Verdict.REACHED: "kept", Verdict.BELOW: "broke", Verdict.FAILED: "failed"}


@dataclass(frozen=True, kw_only=True)
class RewardStanding(Standing):
    """How one policy stands in one world with rewards; per round."""

    reward: float
    lift: float
    share: float | None
    favourite: float | None


@dataclass(frozen=True, kw_only=True)
class RewardResult(WorldResult[RewardStanding]):
    """One world with rewards: what is guaranteed and possible."""

    arms: int
    gap: float | None
    guarantee: float | None
    best: float | None  # None where each policy has a game of its own


class RewardReport(ReportKind[RewardStanding, RewardResult]):
    """What the report of a race in worlds with rewards says."""

    registry = POLICIES
    world_keys = ("world", "arms", "gap", "margin", "dimension")
    options = ("--bandit",)
    most_shown = 12
    shown_part = 200
    question = "Who earns more than a random arm?"
    axis = "reward per round above a random arm"
    against = "per round against a random arm"
    digits = 3
    reference = "guaranteed"
    familiar = ("monotone", "monotone-unknown", "paper")
    columns = ("lift", "min – max", "of the best", "reward", "favourite")
    verdict_head = "verdict"
    tally_head = "below random"
    tally_caption = "What each policy is, and in how many worlds it earned less than a random arm. Bold: massart’s own."
    overview_text = (
        "A random arm has lift 0. Where within every round a better score means a better reward, massart’s bandit that "
        "knows gap and margin earns at least the guarantee in the long run, in expectation, whatever the rounds have "
        "to do with each other (Theorem 11 of its theory); for the one that does not know them there is no theorem. "
        "Policies that fit one model to the rewards of all rounds have no guarantee here, and may end below random."
    )
    overview_caption = (
        "Reward per round above a random arm, mean over seeds, best on average first. ✓ the guarantee or more, ▼ less "
        "than a random arm."
    )
    order_words = "highest lift first"
    reading = (
        (
            "lift",
            "The expected reward of the arm played less the mean over all arms of the round, averaged over the rounds "
            "so far. A random arm has lift 0.",
        ),
        (
            "guaranteed",
            "(k − 1) / k × gap for k arms: what Theorem 11 of massart’s theory guarantees in expectation and in "
            "the long run to its bandit with gap and margin known, in worlds where, within every round, a better score "
            "means a better expected reward. What learning costs at the beginning comes off it.",
        ),
        (
            "the best arm",
            "The lift of a policy that knows the best arm of every round. In an adaptive world each policy has rounds "
            "of its own, so there is no such line.",
        ),
        (
            "below random",
            "The mean lift over seeds is negative by more than three standard deviations of that of random arms.",
        ),
        ("of the best", "Lift divided by that of the best arm in the same rounds."),
        (
            "favourite",
            "The probability with which the policy plays its most probable arm, at the end: the closer to 1, the less "
            "it explores.",
        ),
        ("the band around a curve", "From the minimum to the maximum over seeds."),
    )

    def facts_of(self, key: tuple[Any, ...]) -> str:
        """The parameters of a world, to tell it from another of the same name."""
        _, arms, gap, margin, dimension = key
        return f"{arms} arms, gap {gap}, margin {margin}, {dimension} features"

    def value(self, row: Any) -> float:
        """The lift per round."""
        return float(row.lift)

    def world(self, common: dict[str, Any], rows: Sequence[Any], learners: Mapping[str, Any]) -> RewardResult:
        """The result of a world, highest lift first."""
        first: RewardRow = rows[0]
        rounds = common["rounds"]
        standings = [self._standing(learner, runs, rounds) for learner, runs in learners.items()]
        standings.sort(key=lambda s: (not s.finished, -s.lift, s.learner))
        best = None if common["adaptive"] else words.mean([row.best_lift for row in rows if row.rounds == rounds])
        return RewardResult(
            **common, standings=standings, arms=first.arms, gap=first.gap, guarantee=first.guaranteed_lift, best=best
        )

    def _standing(self, learner: str, runs: Mapping[int, list[Any]], rounds: int) -> RewardStanding:
        there: list[RewardRow]
        fields, there = self.common(learner, runs)
        lift = words.mean([row.lift for row in there])
        doubt = _DEVIATIONS * math.sqrt(sum(row.chance**2 for row in there)) / len(there)
        return RewardStanding(
            **fields,
            verdict=_verdict(fields["error"], fields["rounds"] < rounds, lift, doubt, there[0].guaranteed_lift),
            minimum=min(row.lift for row in there),
            maximum=max(row.lift for row in there),
            reward=words.mean([row.reward for row in there]),
            lift=lift,
            share=_mean_of_known([row.share for row in there]),
            favourite=_mean_of_known([row.favourite for row in there]),
        )

    def place(self, standings: Sequence[RewardStanding]) -> tuple[bool, float]:
        """By the mean over worlds of the share of the best lift."""
        return not all(s.finished for s in standings), -words.mean([s.share or 0.0 for s in standings])

    def headline(self, race: Race[RewardResult]) -> str:
        """Who always earned more than a random arm, and who earned less."""
        more = (Verdict.REACHED, Verdict.ABOVE)
        always = [
            race.title(name)
            for name in race.learners
            if all(standing.verdict in more for _, standing in race.standings_of(name))
        ]
        where = f"in {words.all_worlds(len(race.worlds)) if len(race.worlds) > 1 else race.worlds[0].name}"
        who = f"{words.listed(always)} earned more than a random arm" if always else "No policy beat a random arm"
        sentences = [f"{who} {where}"]
        for world in race.worlds:
            below = [s.title for s in reversed(world.standings) if s.verdict is Verdict.BELOW]
            if below:
                sentences.append(f"{words.listed(below)} earned less in {world.name}")
        return ". ".join([*sentences, "None earned less"] if len(sentences) == 1 else sentences) + "."

    def world_facts(self, world: RewardResult) -> list[str]:
        """What the world declares."""
        model = ["no gap, so nothing is guaranteed"]
        if world.gap is not None:
            model = [f"gap {world.gap:g}", f"margin {world.margin:g}"]
        return [f"{world.arms} arms", *model, f"{world.dimension} features", *words.adaptive_words(world.adaptive)]

    def css(self, standing: RewardStanding) -> str:
        """The class of the verdict's tag."""
        return _CSS.get(Verdict(standing.verdict), "")

    def marked(self, standing: RewardStanding | None) -> str:
        """The mark and the lift."""
        if standing is None:
            return "–"
        mark = _MARKS.get(Verdict(standing.verdict), "")
        return f"{mark} {lift_words(standing.lift) if standing.rounds else ''}".strip()

    def overview_references(self, race: Race[RewardResult]) -> dict[str, list[str]]:
        """The best arm and, if any world has one, the guarantee."""
        best = {"the best arm": [_known(world.best) for world in race.worlds]}
        if all(world.guarantee is None for world in race.worlds):
            return best
        return {**best, "guaranteed": [_known(world.guarantee) for world in race.worlds]}

    def overview_words(self, race: Race[RewardResult]) -> tuple[str, str]:
        """The text above the overview, and its caption; where no world has a guarantee, without it."""
        if any(world.guarantee is not None for world in race.worlds):
            return super().overview_words(race)
        return _NO_GUARANTEE, self.overview_caption.replace("✓ the guarantee or more, ▼ less", "▼ less")

    def lines(self, world: RewardResult) -> list[RewardStanding | Reference]:
        """The best arm, and the standings with the guarantee between those above and those below."""
        lines: list[RewardStanding | Reference] = list(world.standings)
        guarantee = world.guarantee
        if guarantee is not None:
            reached = [s for s in world.standings if s.lift >= guarantee and s.finished]
            part = guarantee / world.best if world.best else None
            lines.insert(
                len(reached), Reference(self.reference, (lift_words(guarantee), "", share_words(part), "", ""))
            )
        if world.best is not None:
            lines.insert(0, Reference("the best arm", (lift_words(world.best), "", share_words(1.0), "", "")))
        return lines

    def cells(self, standing: RewardStanding) -> Sequence[str]:
        """The cells of a standing."""
        if not standing.rounds:
            return ("",) * len(self.columns)
        return (
            lift_words(standing.lift),
            f"{lift_words(standing.minimum)} – {lift_words(standing.maximum)}",
            share_words(standing.share),
            words.rate(standing.reward),
            "–" if standing.favourite is None else words.rate(standing.favourite),
        )

    def tally(self, race: Race[RewardResult], learner: str) -> str:
        """In how many worlds the policy earned less than a random arm."""
        standings = [standing for _, standing in race.standings_of(learner)]
        return f"{sum(standing.verdict is Verdict.BELOW for standing in standings)} of {len(standings)}"

    def value_words(self, value: float) -> str:
        """A lift in words."""
        return lift_words(value)

    def reference_curve(self, world: RewardResult) -> Curve | None:
        """The guarantee, a level line."""
        if world.guarantee is None:
            return None
        level = [world.guarantee, world.guarantee]
        return Curve([self.first_round(world), max(2, world.rounds)], level, level, level)

    def ceiling(self, world: RewardResult, shown: Sequence[str]) -> float | None:
        """None: a chart shows everything."""
        del world, shown
        return None

    def panel_title(self, world: RewardResult) -> str:
        """The title of a figure's panel."""
        return f"{world.name}  ({world.arms} arms)"


REWARD_REPORT = RewardReport()


def lift_words(value: float) -> str:
    """Reward per round above a random arm, with its sign.

    >>> lift_words(0.0694), lift_words(-0.1), lift_words(-0.0001)
    ('+.069', '−.100', '.000')
    """
    text = f"{value:+.3f}"
    return ".000" if text[1:] == "0.000" else text.replace("0.", ".", 1).replace("-", "−")


def share_words(value: float | None) -> str:
    """Part of the best lift.

    >>> share_words(0.694), share_words(-1.0), share_words(-0.001), share_words(None)
    ('69%', '−100%', '0%', '–')
    """
    return "–" if value is None else f"{value:z.0%}".replace("-", "−")


def _known(value: float | None) -> str:
    return "–" if value is None else lift_words(value)


def _verdict(error: str | None, short: bool, lift: float, doubt: float, guarantee: float | None) -> Verdict:
    if error is not None:
        return Verdict.FAILED
    if short:
        return Verdict.STOPPED
    if abs(lift) <= doubt:
        return Verdict.RANDOM
    if guarantee is not None and lift >= guarantee:
        return Verdict.REACHED
    return Verdict.ABOVE if lift > 0.0 else Verdict.BELOW


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return words.mean(known) if known else None
