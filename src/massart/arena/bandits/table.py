"""A bandit race in the terminal: one line per policy, one column per world."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from massart.arena.bandits.contestants import is_ours
from massart.arena.bandits.summary import Standing, Verdict, summarise
from massart.arena.bandits.wording import failures, fewer_seeds, lift, marked
from massart.arena.report.rows import Row

__all__ = ["table"]

_STYLES = {
    Verdict.REACHED: "green",
    Verdict.ABOVE: "",
    Verdict.RANDOM: "dim",
    Verdict.BELOW: "red",
    Verdict.FAILED: "bold red",
    Verdict.STOPPED: "yellow",
}
_LEGEND = "✓ the guarantee of the long run, or more; ▼ less than a random arm."
_LEAST_WIDTH = 68  # so that title and legend stay on a line each


def table(rows: Sequence[Row]) -> Table:
    """Reward per round above a random arm, mean over seeds, the best policy first.

    The guarantee is a line of its own, and so is what the best arm of every round earns.

    >>> from massart.arena import bandits
    >>> table(bandits.sweep("simpson", ["monotone", "linucb"], rounds=100, seeds=1)).row_count
    4
    """
    race = summarise(rows)
    result = Table(
        title="Reward per round above a random arm, mean over seeds",
        title_justify="left",
        caption_justify="left",
        header_style="bold",
        min_width=_LEAST_WIDTH,
    )
    result.add_column("policy", no_wrap=True)
    for world in race.worlds:
        result.add_column(world.name, justify="right", overflow="fold")
    known = {
        "the best arm": [world.best for world in race.worlds],
        "guaranteed": [world.guarantee for world in race.worlds],
    }
    for name, values in known.items():
        cells = ("–" if value is None else lift(value) for value in values)
        result.add_row(*(Text(words, style="italic") for words in (name, *cells)))
    result.add_section()
    for name in race.learners:
        lifts = (_cell(world.of(name)) for world in race.worlds)
        result.add_row(Text(name, style="bold" if is_ours(name) else ""), *lifts)
    sentences = dict.fromkeys(words for world in race.worlds for words in (*failures(world), *fewer_seeds(world)))
    result.caption = Text("\n".join([_LEGEND, *sentences]))
    return result


def _cell(standing: Standing | None) -> Text:
    return Text(marked(standing), style="" if standing is None else _STYLES[standing.verdict])
