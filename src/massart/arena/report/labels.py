"""The report of a race in worlds with labels: who stayed below the bound.

All learners of a world are compared with one bound, the reference of Theorem 1(a) of docs/theory.md,

    noise_rate T + f / margin^2,

which a learner that knows noise rate, margin and horizon keeps on average. It bounds an expectation, so it is the mean
over seeds that is compared with it. Learners of massart have a bound of their own besides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from massart import theory
from massart.arena.registry import LEARNERS
from massart.arena.report import kinds as words
from massart.arena.report.kinds import Curve, Race, Reference, ReportKind, Standing, WorldResult
from massart.arena.rows import LabelRow

__all__ = ["LABEL_REPORT", "LabelReport", "LabelStanding", "LabelWorld", "Verdict"]

_BOUNDS_SHOWN = 4.0


class Verdict(StrEnum):
    """How the mistakes compare with the bound."""

    KEPT = "kept"
    BROKE = "broke"
    EMPTY = "says nothing yet"  # the bound is at least half the rounds, which guessing gets wrong
    NONE = "no bound"  # the world has no margin
    STOPPED = "stopped early"
    FAILED = "failed"


_MARKS = {Verdict.KEPT: "✓", Verdict.BROKE: "✗", Verdict.FAILED: "!", Verdict.STOPPED: "…"}


@dataclass(frozen=True, kw_only=True)
class LabelStanding(Standing):
    """How one learner stands in one world with labels."""

    mistakes: float
    clean_mistakes: float
    angle: float | None
    excess: float  # mistakes - noise_rate * rounds
    seeds_above: int  # runs above the reference bound
    own_bound: float | None  # the learner's own, None if it has none
    own_bound_kept: bool | None  # None if it says nothing yet
    contradicted: bool  # whether the certificate of any seed contradicts the declared noise rate and margin

    @property
    def rate(self) -> float:
        """Mistakes per round."""
        return self.mistakes / max(1, self.rounds)


@dataclass(frozen=True, kw_only=True)
class LabelWorld(WorldResult[LabelStanding]):
    """One world with labels: its noise rate and the reference bound."""

    noise_rate: float
    bound: float | None
    bound_curve: Curve | None


class LabelReport(ReportKind[LabelStanding, LabelWorld]):
    """What the report of a race in worlds with labels says."""

    registry = LEARNERS
    world_keys = ("world", "noise_rate", "margin", "dimension")
    most_shown = 8
    shown_part = 1000
    question = "Who stays below the mistake bound when labels are noisy?"
    axis = "mistakes − noise rate × rounds"
    against = "against noise rate × rounds"
    digits = 0
    reference = "the bound"
    familiar = ("massart", "massart-unknown", "paper", "massart-fixed", "massart-adagrad")
    columns = ("mistakes", "min – max", "per round", "over noise", "untrue rate", "angle", "own bound")
    verdict_head = "the bound"
    tally_head = "kept"
    tally_caption = "What each learner is, and in how many worlds with a bound it kept below it. Bold: massart’s own."
    overview_text = (
        "With noise rate and margin known, a learner can stay below the bound whatever the adversary does. Most "
        "learners have no such guarantee; here all are compared with the same bound."
    )
    overview_caption = (
        "Mistakes per round, mean over seeds, fewest on average first. ✓ the mean kept below the bound, ✗ it broke the "
        "bound; no mark: there is no bound, or it says nothing yet."
    )
    order_words = "fewest mistakes first"
    reading = (
        (
            "the bound",
            "noise rate × rounds + f / margin²: the smallest bound in massart’s theory (Theorem 1(a) of its notes), "
            "where f² = noise rate × (1 − noise rate) × rounds × margin² + (1 − 2 × noise rate) × f. It holds for the "
            "expected number of mistakes, so the verdict compares it with the mean over seeds.",
        ),
        ("says nothing yet", "The bound is at least half the number of rounds, which guessing would get wrong."),
        ("no bound", "The world has no margin, or its target moves; no theorem applies."),
        (
            "over noise",
            "Mistakes − noise rate × rounds, what the charts show. Below zero where labels are seldom flipped.",
        ),
        ("untrue rate", "Mistakes against the true label, before noise, which the learner never sees."),
        ("angle", "Between the learner’s weights and the target at the last round."),
        (
            "own bound",
            "The bound of the learner’s own theorem on its expected mistakes, for the noise rate and the margin of the "
            "world: “says nothing yet” if that is at least half the rounds, “exceeded” if the mean over seeds is above "
            "it, “contradicts the declaration” if the certificate of a seed says so; – if it has none.",
        ),
        ("the band around a curve", "From the minimum to the maximum over seeds."),
    )

    def facts_of(self, key: tuple[Any, ...]) -> str:
        """The parameters of a world, to tell it from another of the same name."""
        _, noise_rate, margin, dimension = key
        return f"noise rate {noise_rate}, margin {margin}, {dimension} features"

    def value(self, row: Any) -> float:
        """Mistakes - noise_rate * rounds."""
        return float(row.mistakes - row.noise_rate * row.rounds)

    def world(self, common: dict[str, Any], rows: Sequence[Any], learners: Mapping[str, Any]) -> LabelWorld:
        """The result of a world, fewest mistakes first."""
        noise_rate, margin = rows[0].noise_rate, rows[0].margin
        bound = bound_curve = None
        if margin is not None and any(row.bound is not None for row in rows):
            rounds = sorted({row.rounds for row in rows} - {0})
            bounds = [theory.fixed_mistake_bound(noise_rate, margin, t) for t in rounds]
            excess = [b - noise_rate * t for b, t in zip(bounds, rounds, strict=True)]
            bound, bound_curve = bounds[-1], Curve(rounds, excess, excess, excess)
        standings = [self._standing(name, runs, common["rounds"], bound) for name, runs in learners.items()]
        standings.sort(key=lambda s: (not s.finished, s.rate, s.learner))
        return LabelWorld(**common, standings=standings, noise_rate=noise_rate, bound=bound, bound_curve=bound_curve)

    def _standing(self, learner: str, runs: Mapping[int, list[Any]], rounds: int, bound: float | None) -> LabelStanding:
        there: list[LabelRow]
        fields, there = self.common(learner, runs)
        reached, first = fields["rounds"], there[0]
        mistakes = words.mean([row.mistakes for row in there])
        angles = [row.angle for row in there if row.angle is not None]
        own_bound = self._own_bound(first, fields["ours"])
        return LabelStanding(
            **fields,
            verdict=_verdict(fields["error"], reached < rounds, mistakes, rounds, bound),
            minimum=min(row.mistakes for row in there),
            maximum=max(row.mistakes for row in there),
            mistakes=mistakes,
            clean_mistakes=words.mean([row.clean_mistakes for row in there]),
            angle=words.mean(angles) if angles else None,
            excess=mistakes - first.noise_rate * reached,
            seeds_above=0 if bound is None else sum(row.mistakes > bound for row in there),
            own_bound=own_bound,
            own_bound_kept=None if own_bound is None or own_bound >= reached / 2 else mistakes <= own_bound,
            contradicted=fields["ours"] and any(row.holds is not None and not row.holds for row in there),
        )

    @staticmethod
    def _own_bound(row: LabelRow, ours: bool) -> float | None:
        """The bound of the learner's own theorem: rows of a learner without one carry the reference bound."""
        if row.bound is None or row.margin is None:
            return None
        reference = theory.fixed_mistake_bound(row.noise_rate, row.margin, row.rounds)
        return row.bound if ours or row.bound != reference else None

    def place(self, standings: Sequence[LabelStanding]) -> tuple[bool, float]:
        """By the mean of mistakes per round over worlds."""
        return not all(s.finished for s in standings), words.mean([s.rate for s in standings])

    def headline(self, race: Race[LabelWorld]) -> str:
        """Who stayed below the bound, in how many of the worlds where it says something."""
        judged = [world for world in race.worlds if world.bound is not None and world.bound < world.rounds / 2]
        if all(world.margin is None for world in race.worlds):
            where = "" if len(race.worlds) == 1 else " per round, on average over worlds"
            return f"{race.title(race.learners[0])} made the fewest mistakes{where}. There is no margin, so no bound."
        if not judged:
            return "No bound says anything yet in these worlds: let the race run longer."
        ours = [name for name in race.learners if race.is_ours(name)]
        others = [name for name in race.learners if name not in ours]
        groups = (("massart’s learners", ours), ("the others", others))
        return " ".join(f"Of {who}, {_kept_words(race, names, len(judged))}." for who, names in groups if names)

    def world_facts(self, world: LabelWorld) -> list[str]:
        """What the world declares."""
        margin = "no margin" if world.margin is None else f"margin {world.margin:g}"
        facts = [f"noise rate {world.noise_rate:g}", margin, f"{world.dimension} features"]
        return [*facts, *words.adaptive_words(world.adaptive)]

    def verdict_words(self, standing: LabelStanding) -> str:
        """The verdict, and how many seeds do not agree with the mean."""
        kept, broke = standing.verdict is Verdict.KEPT, standing.verdict is Verdict.BROKE
        if (kept and standing.seeds_above) or (broke and standing.seeds_above < standing.seeds):
            return f"{standing.verdict} ({standing.seeds_above} of {standing.seeds} above)"
        return super().verdict_words(standing)

    def own_bound_words(self, standing: LabelStanding) -> str:
        """The bound of the learner's own theorem, and whether its certificate contradicts the declaration."""
        if standing.own_bound is None:
            return "–"
        bound = words.count(standing.own_bound)
        if standing.contradicted:
            return f"{bound}, contradicts the declaration"
        if standing.own_bound_kept is None:
            return "says nothing yet"
        return bound if standing.own_bound_kept else f"{bound}, exceeded"

    def css(self, standing: LabelStanding) -> str:
        """The class of the verdict's tag."""
        return standing.verdict.value.replace(" ", "-")

    def marked(self, standing: LabelStanding | None) -> str:
        """Mistakes per round and the mark."""
        if standing is None:
            return "–"
        mark = _MARKS.get(Verdict(standing.verdict), "")
        return f"{words.rate(standing.rate) if standing.rounds else ''} {mark}".strip()

    def overview_references(self, race: Race[LabelWorld]) -> dict[str, list[str]]:
        """Noise rate and bound."""
        return {
            "noise rate": [words.rate(world.noise_rate) for world in race.worlds],
            "the bound": [self.bound_rate(world) for world in race.worlds],
        }

    def bound_rate(self, world: LabelWorld) -> str:
        """The bound per round."""
        return "–" if world.bound is None else words.rate(min(1.0, world.bound / world.rounds))

    def lines(self, world: LabelWorld) -> list[LabelStanding | Reference]:
        """The standings, with the bound between those below and those above."""
        lines: list[LabelStanding | Reference] = list(world.standings)
        bound = world.bound
        if bound is not None:
            cells = (
                words.count(bound),
                "",
                words.rate(bound / world.rounds),
                words.signed(bound - world.noise_rate * world.rounds),
                "",
                "",
                "",
            )
            below = [s for s in world.standings if s.mistakes <= bound and s.finished]
            lines.insert(len(below), Reference(self.reference, cells))
        return lines

    def cells(self, standing: LabelStanding) -> Sequence[str]:
        """The cells of a standing."""
        if not standing.rounds:
            return ("",) * len(self.columns)
        return (
            words.count(standing.mistakes),
            f"{words.count(standing.minimum)} – {words.count(standing.maximum)}",
            words.rate(standing.rate),
            words.signed(standing.excess),
            words.rate(standing.clean_mistakes / standing.rounds),
            "–" if standing.angle is None else f"{standing.angle:.0f}°",
            self.own_bound_words(standing),
        )

    def tally(self, race: Race[LabelWorld], learner: str) -> str:
        """In how many worlds with a bound the learner kept below it."""
        pairs = race.standings_of(learner)
        kept = sum(standing.verdict is Verdict.KEPT for _, standing in pairs)
        return f"{kept} of {sum(world.bound is not None for world, _ in pairs)}"

    def value_words(self, value: float) -> str:
        """Mistakes over noise, in words."""
        return words.signed(value)

    def reference_curve(self, world: LabelWorld) -> Curve | None:
        """The bound."""
        return world.bound_curve

    def ceiling(self, world: LabelWorld, shown: Sequence[str]) -> float | None:
        """Where the first view ends when some curve is so far above the bound that nothing else could be seen."""
        curves = [s.curve.high for s in world.standings if s.learner in shown and s.curve.high]
        if world.bound_curve is None or not curves:
            return None
        limit = _BOUNDS_SHOWN * world.bound_curve.mean[-1]
        return limit if max(map(max, curves)) > 1.25 * limit else None

    def panel_title(self, world: LabelWorld) -> str:
        """The title of a figure's panel."""
        return f"{world.name}  (noise rate {world.noise_rate:g})"


LABEL_REPORT = LabelReport()


def _verdict(error: str | None, short: bool, mistakes: float, rounds: int, bound: float | None) -> Verdict:
    if error is not None:
        return Verdict.FAILED
    if short:
        return Verdict.STOPPED
    if bound is None:
        return Verdict.NONE
    if bound >= rounds / 2:
        return Verdict.EMPTY
    return Verdict.KEPT if mistakes <= bound else Verdict.BROKE


def _kept_words(race: Race[LabelWorld], names: Sequence[str], worlds: int) -> str:
    kept = {name: sum(s.verdict is Verdict.KEPT for _, s in race.standings_of(name)) for name in names}
    most = max(kept.values())
    below = "stayed below the bound"
    if most == 0:
        return f"none {below}" + (" anywhere" if worlds > 1 else "")
    best = [race.title(name) for name in names if kept[name] == most]
    rest = len(names) - len(best)
    if worlds == 1:
        return f"{words.listed(best)} {below}" + (f", {rest} did not" if rest else "")
    where = words.all_worlds(worlds) if most == worlds else f"{most} of the {worlds} worlds"
    return f"{words.listed(best)} {below} in {where} that have one" + (f", {rest} in fewer" if rest else "")
