"""The race in the terminal: tables of its results, and a table that is redrawn while it runs."""

import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from massart.arena.race import Progress
from massart.arena.registry import LEARNERS, POLICIES
from massart.arena.report.kinds import Race, Reference, count, rate
from massart.arena.report.labels import LABEL_REPORT, LabelStanding, LabelWorld, Verdict
from massart.arena.report.rewards import lift_words
from massart.arena.report.summary import summarise
from massart.arena.rows import RewardStanding, Standing

__all__ = ["LiveRace", "by_learner", "by_world", "table", "tables"]

_STYLES = {  # by the verdict of either kind
    "kept": "green",
    "broke": "red",
    "says nothing yet": "dim",
    "no bound": "dim",
    "the guarantee or more": "green",
    "above random": "",
    "like random": "dim",
    "below random": "red",
    "failed": "bold red",
    "stopped early": "yellow",
}
_REACHED = "✓ the guarantee of the long run, or more; "
_BELOW = "▼ less than a random arm."
_LEAST_WIDTH = 68  # so that title and legend stay on a line each
_NAME_WIDTH = 24  # of the learners' names, where possible
_MANY_WORLDS = 3  # beyond which the terminal gets one line per world and per learner instead of one for each pair


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The results in one table.

    In worlds with labels one line per world and learner, fewest mistakes first. The bound is the reference of Theorem
    1(a) of docs/theory.md, the verdict that of the mean over seeds; `own bound` is the one that the learner's own
    theorem gives, where it has one. In worlds with rewards one line per policy and a column per world: the reward per
    round above a random arm, mean over seeds, the best policy first.

    >>> from massart import arena
    >>> table(arena.sweep("simpson", ["monotone", "linucb"], rounds=100, seeds=1)).row_count
    4
    """
    race = summarise(rows)
    return _by_both(race) if race.kind is LABEL_REPORT else _by_policy(race)


def tables(race: Race[Any]) -> list[Table]:
    """What a terminal shows of a race."""
    if race.kind is not LABEL_REPORT:
        return [_by_policy(race)]
    return [_by_both(race)] if len(race.worlds) <= _MANY_WORLDS else [by_world(race), by_learner(race)]


def _titled(title: str) -> Table:
    return Table(title=title, title_justify="left", caption_justify="left", header_style="bold")


def _name(title: str, ours: bool) -> Text:
    return Text(title, style="bold" if ours else "")


def _wrapped(words: str) -> str:
    """Long names in two lines, so that all numbers fit into 80 columns."""
    return "\n".join(textwrap.wrap(words, _NAME_WIDTH, break_long_words=False, break_on_hyphens=False))


def _by_both(race: Race[LabelWorld]) -> Table:
    result = _titled("Mistakes, mean over seeds")
    result.add_column("learner", no_wrap=True)
    for name in ("mistakes", "per round", "over noise", "own bound"):
        result.add_column(name, justify="right")
    result.add_column("bound", overflow="fold")
    for world in race.worlds:
        result.add_row(Text(_wrapped(f"{world.name}, {count(world.rounds)} rounds"), style="bold underline"))
        cells = ["no bound here"]
        for line in LABEL_REPORT.lines(world):
            if isinstance(line, Reference):
                cells = [line.name, line.cells[0], *line.cells[2:4]]
        result.add_row(*(Text(words, style="italic") for words in cells))
        for standing in world.standings:
            result.add_row(*_line(standing))
        result.add_section()
    notes = race.kind.notes(race)
    result.caption = Text("\n".join(notes)) if notes else None
    return result


def _line(standing: LabelStanding) -> list[Text]:
    cells = LABEL_REPORT.cells(standing)
    numbers = (cells[0], cells[2], cells[3], cells[6]) if standing.rounds else ("–",) * 4
    verdict = Text(LABEL_REPORT.verdict_words(standing), style=_STYLES[standing.verdict])
    return [_name(_wrapped(standing.title), standing.ours), *map(Text, numbers), verdict]


def by_world(race: Race[LabelWorld]) -> Table:
    """One line per world: the bound, the best of ours, the best of the others, and how many broke it."""
    result = _titled("By world: mistakes per round")
    result.add_column("world", no_wrap=True)
    result.add_column("noise", justify="right")
    result.add_column("bound", justify="right")
    result.add_column("best of massart")
    result.add_column("best of the others")
    result.add_column("others that broke it", justify="right")
    for world in race.worlds:
        ours = [standing for standing in world.standings if standing.ours]
        others = [standing for standing in world.standings if not standing.ours]
        broke = sum(standing.verdict is Verdict.BROKE for standing in others)
        result.add_row(
            world.name,
            rate(world.noise_rate),
            LABEL_REPORT.bound_rate(world),
            _best(ours),
            _best(others),
            f"{broke} of {len(others)}" if world.bound is not None and others else "–",
        )
    return result


def _best(standings: Sequence[LabelStanding]) -> Text:
    if not standings:
        return Text("–")
    best = standings[0]
    return Text(f"{rate(best.rate)} {best.title}", style=_STYLES[best.verdict])


def by_learner(race: Race[LabelWorld]) -> Table:
    """One line per learner: in how many worlds it kept the bound, and where it went furthest above the noise."""
    result = _titled("By learner, fewest mistakes first")
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
            _name(race.title(name), race.is_ours(name)),
            Text(str(verdicts.count(Verdict.KEPT)), style="green"),
            Text(f"{broke}{failed}", style="red" if broke or failed else ""),
            "–" if failed else rate(sum(standing.rate for _, standing in pairs) / len(pairs)),
            "–" if failed else f"{world.name} {lift_words(worst.excess / max(1, worst.rounds))}",
        )
    return result


def _by_policy(race: Race[Any]) -> Table:
    result = _titled("Reward per round above a random arm, mean over seeds")
    result.min_width = _LEAST_WIDTH
    result.add_column("policy", no_wrap=True)
    for world in race.worlds:
        result.add_column(world.name, justify="right", overflow="fold")
    for name, values in race.kind.overview_references(race).items():
        result.add_row(*(Text(words, style="italic") for words in (name, *values)))
    result.add_section()
    for name in race.learners:
        standings = [world.of(name) for world in race.worlds]
        cells = (Text(race.kind.marked(s), style="" if s is None else _STYLES[s.verdict]) for s in standings)
        result.add_row(_name(race.title(name), race.is_ours(name)), *cells)
    guaranteed = any(world.guarantee is not None for world in race.worlds)
    result.caption = Text("\n".join([f"{_REACHED if guaranteed else ''}{_BELOW}", *race.kind.notes(race)]))
    return result


class LiveRace:
    """How far a race is, how fast, and each learner's counts, redrawn in place.

    Pass it as `progress` to `arena.race` or `arena.sweep`, inside of `with`.

    >>> console = Console(width=80)
    >>> event = Progress(5, 10, "simpson", 0, [RewardStanding("linucb", 5, -0.1, 0.04, None)])
    >>> with console.capture() as shown:
    ...     console.print(LiveRace(console).render(event))
    >>> "linucb" in shown.get(), "−.100" in shown.get()
    (True, True)
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._clock = clock
        self._begin: tuple[float, int] | None = None  # when the first event came, and how much was done by then

    def __enter__(self) -> Self:
        self._live.start()
        self._live.update(Text("starting ..."), refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Progress) -> None:
        """Redraw."""
        self._live.update(self.render(event), refresh=True)

    def render(self, event: Progress) -> Group:
        """What is shown for an event."""
        line = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=event.total, completed=event.done, width=30)
        share = f"{count(event.done)} of {count(event.total)} rounds"
        line.add_row(bar, Text(share), Text(self._pace(event), style="cyan"))
        rewards = any(isinstance(standing, RewardStanding) for standing in event.standings)
        heads = ("lift per round", "guaranteed") if rewards else ("mistakes", "per round", "its bound")
        standings = _titled(f"{event.world}, seed {event.seed}")
        standings.add_column("policy" if rewards else "learner", no_wrap=True)
        for name in ("rounds", *heads):
            standings.add_column(name, justify="right")
        for standing in event.standings:
            cells = _reward_cells(standing) if isinstance(standing, RewardStanding) else _label_cells(standing)
            if standing.error is not None:
                cells = [*cells[:-1], Text("failed", style="bold red")]
            registry = POLICIES if rewards else LEARNERS
            name = _name(registry.title(standing.learner), registry.is_ours(standing.learner))
            standings.add_row(name, Text(count(standing.rounds)), *cells)
        return Group(line, standings)

    def _pace(self, event: Progress) -> str:
        now = self._clock()
        if self._begin is None:
            self._begin = now, event.done
        seconds, done = now - self._begin[0], event.done - self._begin[1]
        if seconds <= 0.0 or done <= 0:
            return ""
        left = (event.total - event.done) * seconds / done
        return f"{count(done / seconds)} rounds per second, {_clock_words(left)} left"


def _clock_words(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _label_cells(standing: Standing) -> list[Text]:
    cells = [Text(count(standing.mistakes)), Text(rate(standing.mistakes / max(1, standing.rounds)))]
    if standing.bound is None:
        return [*cells, Text("–")]
    style = "green" if standing.mistakes <= standing.bound else "red"
    return [*cells, Text(count(standing.bound), style=style)]


def _reward_cells(standing: RewardStanding) -> list[Text]:
    guaranteed = standing.guaranteed_lift
    style = "red" if standing.lift < 0.0 else "green" if standing.lift >= (guaranteed or 0.0) else ""
    return [Text(lift_words(standing.lift), style=style), Text("–" if guaranteed is None else lift_words(guaranteed))]
