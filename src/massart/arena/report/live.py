"""A race while it runs: how far it is, how fast, and each learner's mistakes against the bound, redrawn in place."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from massart.arena.race import Progress, Standing
from massart.arena.report.names import is_ours
from massart.arena.report.wording import count, rate

__all__ = ["LiveRace"]


class LiveRace:
    """Pass it as `progress` to `arena.race` or `arena.sweep`, inside of `with`."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._clock = clock
        self._begin: tuple[float, int] | None = None  # when the first event came, and how much was done by then

    def __enter__(self) -> Self:
        self._live.start()
        self._live.update(Text("on your marks ..."), refresh=True)
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
        return Group(line, _standings(event))

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


def _standings(event: Progress) -> Table:
    table = Table(title=f"{event.world}, seed {event.seed}", title_justify="left", header_style="bold")
    table.add_column("learner", no_wrap=True)
    for name in ("rounds", "mistakes", "per round", "its bound"):
        table.add_column(name, justify="right")
    for standing in event.standings:
        table.add_row(*_line(standing))
    return table


def _line(standing: Standing) -> list[Text]:
    name = Text(standing.learner, style="bold" if is_ours(standing.learner) else "")
    numbers = [count(standing.rounds), count(standing.mistakes), rate(standing.mistakes / max(1, standing.rounds))]
    if standing.error is not None:
        return [name, *map(Text, numbers), Text("failed", style="bold red")]
    if standing.bound is None:
        return [name, *map(Text, numbers), Text("–")]
    style = "green" if standing.mistakes <= standing.bound else "red"
    return [name, *map(Text, numbers), Text(count(standing.bound), style=style)]
