"""The race in the terminal: every standing of every world, or, for many worlds, one line per world and learner."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from massart.arena.report.rows import Row
from massart.arena.report.summary import Race, Standing, Verdict, WorldResult, summarise
from massart.arena.report.wording import count, failures, fewer_seeds, own_bound_words, rate, signed, verdict_words

__all__ = ["by_learner", "by_world", "table"]

_STYLES = {
    Verdict.KEPT: "green",
    Verdict.BROKE: "red",
    Verdict.FAILED: "bold red",
    Verdict.STOPPED: "yellow",
    Verdict.EMPTY: "dim",
    Verdict.NONE: "dim",
}


def table(rows: Sequence[Row]) -> Table:
    """One line per world and learner, fewest mistakes first.

    The bound is the reference of Theorem 1(a) of docs/theory.md, the verdict that of the mean over seeds; `own
    bound` is the one that the learner's own theorem gives, where it has one.
    """
    race = summarise(rows)
    result = Table(title="Mistakes, mean over seeds", title_justify="left", header_style="bold")
    result.add_column("world", overflow="fold")
    result.add_column("learner", no_wrap=True)
    for name in ("mistakes", "per round", "over noise", "own bound"):
        result.add_column(name, justify="right")
    result.add_column("bound", overflow="fold")
    for world in race.worlds:
        result.add_row(Text(world.name, style="bold"), *_line_of_bound(world))
        lengths = [Text(f"{count(world.rounds)} rounds", style="dim"), *[Text()] * len(world.standings)]
        for length, standing in zip(lengths, world.standings, strict=False):
            result.add_row(length, *_line(standing))
        result.add_section()
    sentences = dict.fromkeys(words for world in race.worlds for words in (*failures(world), *fewer_seeds(world)))
    result.caption = Text("\n".join(sentences)) if sentences else None
    return result


def _line_of_bound(world: WorldResult) -> list[Text]:
    if world.bound is None:
        return [Text("no bound here", style="italic")]
    numbers = (
        count(world.bound),
        rate(world.bound / world.rounds),
        signed(world.bound - world.noise_rate * world.rounds),
    )
    return [Text(words, style="italic") for words in ("the bound", *numbers)]


def _line(standing: Standing) -> list[Text]:
    name = Text(standing.learner, style="bold" if standing.ours else "")
    numbers = count(standing.mistakes), rate(standing.rate), signed(standing.excess), own_bound_words(standing)
    if not standing.rounds:
        numbers = ("–",) * 4
    return [name, *map(Text, numbers), Text(verdict_words(standing), style=_STYLES[standing.verdict])]


def by_world(race: Race) -> Table:
    """One line per world: the bound, the best of ours, the best of the others, and how many broke it."""
    result = Table(title="By world: mistakes per round", title_justify="left", header_style="bold")
    result.add_column("world", no_wrap=True)
    result.add_column("noise", justify="right")
    result.add_column("bound", justify="right")
    result.add_column("best of massart")
    result.add_column("best of the others")
    result.add_column("others that broke it", justify="right")
    for world in race.worlds:
        bound = "–" if world.bound is None else rate(min(1.0, world.bound / world.rounds))
        others = [standing for standing in world.standings if not standing.ours]
        broke = sum(standing.verdict is Verdict.BROKE for standing in others)
        result.add_row(
            world.name,
            rate(world.noise_rate),
            bound,
            _best([standing for standing in world.standings if standing.ours]),
            _best(others),
            f"{broke} of {len(others)}" if world.bound is not None and others else "–",
        )
    return result


def _best(standings: Sequence[Standing]) -> Text:
    if not standings:
        return Text("–")
    best = standings[0]
    return Text(f"{rate(best.rate)} {best.learner}", style=_STYLES[best.verdict])


def by_learner(race: Race) -> Table:
    """One line per learner: in how many worlds it kept the bound, and where it went furthest above the noise."""
    result = Table(title="By learner, fewest mistakes first", title_justify="left", header_style="bold")
    result.add_column("learner", no_wrap=True)
    result.add_column("kept", justify="right")
    result.add_column("broke", justify="right")
    result.add_column("mean per round", justify="right")
    result.add_column("worst world, over its noise rate")
    for name in race.learners:
        pairs = race.standings_of(name)
        verdicts = [standing.verdict for _, standing in pairs]
        broke = verdicts.count(Verdict.BROKE)
        world, worst = max(pairs, key=lambda pair: pair[1].excess / max(1, pair[1].rounds))
        failed = f", failed in {verdicts.count(Verdict.FAILED)}" if Verdict.FAILED in verdicts else ""
        result.add_row(
            Text(name, style="bold" if worst.ours else ""),
            Text(str(verdicts.count(Verdict.KEPT)), style="green"),
            Text(f"{broke}{failed}", style="red" if broke or failed else ""),
            "–" if failed else rate(sum(standing.rate for _, standing in pairs) / len(pairs)),
            "–" if failed else f"{world.name} {_over(worst)}",
        )
    return result


def _over(standing: Standing) -> str:
    return f"{standing.excess / max(1, standing.rounds):+.3f}".replace("-", "−").replace("0.", ".", 1)
