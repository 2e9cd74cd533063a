"""Progress of commands that go through rows once and learn nothing: how many, how much of the input, how long still."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from massart.cli.outlets import Outlet
from massart.cli.progress_table import Teller
from massart.training.events import Watcher

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["watching_rows"]


@contextmanager
def watching_rows(err: Outlet, name: str, *, quiet: bool, to_stdout: bool) -> Iterator[Watcher]:
    """Who is told of rows: nobody if quiet, a bar on a terminal, unless the rows go to that terminal themselves."""
    if quiet or not sys.stderr.isatty() or (to_stdout and sys.stdout.isatty()):
        yield Watcher() if quiet else Teller(err, name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    parts = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(err, name, bar)


class _Bar(Teller):
    def __init__(self, out: Outlet, name: str, bar: "Progress") -> None:
        super().__init__(out, name)
        self._bar, self._task = bar, bar.add_task("0 rows", total=None)

    def say(self, words: str) -> None:
        self._bar.console.print(f"{self._name}: {words}", markup=False, highlight=False, soft_wrap=True)

    def advanced(self, rows: int, fraction: float | None) -> None:
        known: dict[str, Any] = {} if fraction is None else {"total": 1.0, "completed": fraction}
        self._bar.update(self._task, description=f"{rows:,} rows", **known)
