"""Progress on a terminal, redrawn in place: speed, error, mistake bound, and the time left."""

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from massart.cli.process import Outlet
from massart.cli.progress import Messages, Sums
from massart.data.chunk import Position
from massart.learners.certificate import CONTRADICTS, SAYS_NOTHING, WITHIN
from massart.training.progress import Measured, Progress, Step
from massart.training.run import Training

__all__ = ["LiveProgress"]

_REDRAW = 0.1  # seconds
_STYLES = {SAYS_NOTHING: "", WITHIN: "green", CONTRADICTS: "bold red"}
_RECENT = 3.0  # seconds that "recent" looks back


class _Begin(NamedTuple):
    """Where this process began the pass."""

    when: float
    rounds: int = 0
    fraction: float = 0.0  # of the input


class LiveProgress(Messages):
    """Pass it as `callbacks` to a training, inside of `with`."""

    def __init__(self, console: Console, out: Outlet, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(out, name)
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._clock = clock
        self._training: Training | None = None
        self._begun: _Begin | None = None
        self._drawn = -_REDRAW
        self._past: deque[tuple[float, Sums]] = deque()  # when, and the sums then, of the last seconds

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._live.stop()
        except OSError:
            self._out.silence()

    def say(self, words: str) -> None:
        """Above the live part, where it stays."""
        self._try(lambda: self._console.print(f"{self._name}: {words}", markup=False, highlight=False))

    def begin(self, training: Training) -> None:
        """Start the clock of a pass."""
        self._training = training
        # In the middle of the input, the reader can tell where that is only once it has read something.
        first = training.progress.position == Position()
        self._begun = _Begin(self._clock()) if first else None
        self._past.clear()
        if first and training.progress.passed == 1:
            self._draw()

    def step(self, step: Step) -> None:
        """Redraw, a few times a second."""
        if self._clock() - self._drawn >= _REDRAW:
            self._draw()

    def measured(self, passed: int, measured: Measured) -> None:
        """A line that stays."""
        self.say(f"error on {measured.rows:,} rows kept apart, after pass {passed}: {measured.error:.2%}")

    def _draw(self) -> None:
        self._drawn = self._clock()
        if self._training is not None:
            view = self.render(self._training)
            self._try(lambda: self._live.update(view, refresh=True))

    def _try(self, action: Callable[[], None]) -> None:
        if not self._out.broken:
            try:
                action()
            except OSError:  # the terminal has gone
                self._out.silence()

    def render(self, training: Training) -> Group:
        """What is shown at present."""
        progress, now = training.progress, self._clock()
        fraction = training.reader.fraction()
        self._begun = begun = self._begun or _Begin(now, progress.rounds, fraction or 0.0)
        seconds = max(now - begun.when, 1e-9)
        facts = Table.grid(padding=(0, 2))
        speed = f"{(progress.rounds - begun.rounds) / seconds:,.0f} rows/s"
        sizes = [source.size for source in training.reader.sources]
        done = None if fraction is None else max(0.0, fraction - begun.fraction)
        if done is not None and None not in sizes:
            speed += f", {done * sum(sizes) / seconds / 1e6:,.1f} MB/s"
        facts.add_row("rows", Text(f"{progress.rounds:,}"), Text(speed, style="cyan"))
        facts.add_row("error", *self._error_words(progress, now))
        if progress.rows_with_errors:
            facts.add_row("left out", Text(f"{progress.rows_with_errors:,} rows with errors", style="yellow"), "")
        pace = None if not done else seconds / done
        bound = Table.grid(padding=(0, 2))
        if training.trainer.first is not None and progress.learned:
            certificate = training.trainer.first.certificate()
            bound.add_row("bound", Text(certificate.sentence, style=_STYLES[certificate.verdict]))
        return Group(_head(training, fraction, pace), facts, bound)

    def _error_words(self, progress: Progress, now: float) -> tuple[Text, Text]:
        weight, wrong = sums = Sums(progress.weight, progress.wrong)
        self._past.append((now, sums))
        while now - self._past[0][0] > _RECENT and len(self._past) > 2:
            self._past.popleft()
        recent = sums.error_since(self._past[0][1])
        so_far = f"{wrong / weight:.2%}" if weight else "no row yet"
        words = [] if recent is None else [f"recent {recent:.2%}"]
        if weight:
            constant = min(progress.weight_positive, weight - progress.weight_positive) / weight
            words.append(f"best constant {constant:.2%}")
        return Text(so_far, style="bold"), Text(", ".join(words))


def _head(training: Training, fraction: float | None, pace: float | None) -> Table:
    """File and pass, how much of it is done and how long it will still take, at so many seconds per pass."""
    progress, passes = training.progress, training.settings.passes
    sources = training.reader.sources
    number = min(progress.position.source, len(sources) - 1)
    name: str = sources[number].name
    if len(sources) > 1:
        name += f" ({number + 1} of {len(sources)})"
    if passes > 1:
        name += f", pass {progress.passed} of {passes}"
    line = Table.grid(padding=(0, 2))
    if fraction is None:
        line.add_row(Text(name))
        return line
    words = f"{fraction:.0%}"
    if pace is not None:
        words += f", {_clock_words((1.0 - fraction + passes - progress.passed) * pace)} left"
    line.add_row(Text(name), ProgressBar(total=1.0, completed=fraction, width=30), Text(words))
    return line


def _clock_words(seconds: float) -> str:
    minutes, rest = divmod(round(min(seconds, 360_000.0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
