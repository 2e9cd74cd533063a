"""`massart race`: learners meet worlds; a live table while it runs, a table, a page, a figure or rows at the end."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from massart.cli._command import plain_console, reporting
from massart.files import OutputLock, check_place

_MANY_WORLDS = 3  # beyond which the terminal gets one line per world and per learner instead of one for each pair


def whole_number(text: str) -> int:
    """A count as people write it.

    >>> whole_number("20_000"), whole_number("1e6")
    (20000, 1000000)
    """
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{text!r} is not a whole number, as 20000 or 1e6 are")


def race(
    world: Annotated[
        list[str] | None,
        typer.Argument(
            help="Worlds by name; if none is named, all of them, or three with --bandit.",
            show_default=False,
        ),
    ] = None,
    bandit: Annotated[
        bool, typer.Option("--bandit", help="Race bandit policies in worlds with arms and rewards.")
    ] = False,
    learner: Annotated[
        list[str] | None,
        typer.Option(
            "--learner",
            "-l",
            help="A learner by name, once for each or with commas. Groups: default (if none is named), peers (other "
            "packages' learners, as far as installed), all.",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(parser=whole_number, metavar="N", help="Rounds of each race; 1e6 is understood.")
    ] = 20_000,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Each world is raced with the seeds 0, 1, ..., SEEDS - 1. \\[default: 5, with --bandit 3]",
            show_default=False,
        ),
    ] = None,
    peer_seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many of the seeds other packages' learners get: some are slow. All by default, with --bandit 1.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core. The numbers stay the same.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Write a page (.html) that opens without a network.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the curves to a .png, .svg or .pdf file.")] = None,
    rows: Annotated[Path | None, typer.Option(help="Write every row to a .json, .jsonl or .parquet file.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="A journal: started again with it, a race only does what is missing.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON instead of a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors on the way.")] = False,
) -> None:
    """Race learners through worlds whose labels lie, and see who stays below the bound.

    Ctrl-C stops the race, keeps what was done and writes the report from it.

    [bold]Example[/bold]

    massart race hunted-minority kink --rounds 5000 --seeds 2 --report race.html
    """
    outputs = _Outputs(report, figure, rows)
    with reporting("massart race"), ExitStack() as held:
        outputs.check()
        for path in filter(None, outputs):
            held.enter_context(OutputLock(path))
        peer_seeds = peer_seeds or (1 if bandit else None)
        worlds, learners = world or _every_world(bandit), _field(learner or ["default"], bandit)
        plan = _Plan(worlds, learners, rounds, seeds or (3 if bandit else 5), peer_seeds, jobs, resume, bandit)
        done = _run(plan, quiet)
        _tell(done, plan, outputs, json, quiet)
        if done.interrupted:
            raise typer.Exit(130)
        if any(row["error"] for row in done.rows):
            raise typer.Exit(1)


class _Plan(NamedTuple):
    worlds: Sequence[str]
    learners: Sequence[str]
    rounds: int
    seeds: int
    peer_seeds: int | None
    jobs: int
    resume: Path | None
    bandit: bool

    def arena(self) -> Any:
        """Where it is raced: what offers `sweep`."""
        from massart import arena
        from massart.arena import bandits

        return bandits if self.bandit else arena

    def report(self) -> Any:
        """What shows the rows: html, figure, write_rows, summarise, table."""
        from massart.arena import bandits, report

        return bandits if self.bandit else report


class _Done(NamedTuple):
    rows: Sequence[Any]
    interrupted: str  # why there is not more, empty if there is all


class _Outputs(NamedTuple):
    report: Path | None
    figure: Path | None
    rows: Path | None

    def check(self) -> None:
        """Find out before the race what could not be written after it."""
        from massart.arena.report import files
        from massart.arena.report.figure import SUFFIXES as FIGURES
        from massart.arena.report.rows import SUFFIXES as ROWS

        if self.report is not None:
            files.suffix_of(self.report, (".html", ".htm"), "a report")
            files.needs("plotly", "to make the HTML report")
        if self.figure is not None:
            files.suffix_of(self.figure, FIGURES, "a figure")
            files.needs("matplotlib", "to draw a figure")
        if self.rows is not None and files.suffix_of(self.rows, ROWS, "a table of rows") == ".parquet":
            files.needs("pyarrow", "to write Parquet files")
        for path in filter(None, self):
            check_place(path)

    def write(self, report: Any, rows: Sequence[Any], command: str, note: str | None) -> list[Path]:
        """Write what was asked for; return the files written."""
        from massart.arena.report.files import write_bytes

        if self.report is not None:
            write_bytes(self.report, report.html(rows, command=command, note=note).encode())
        if self.figure is not None:
            report.figure(rows, self.figure)
        if self.rows is not None:
            report.write_rows(rows, self.rows)
        return [path for path in self if path is not None]


def _every_world(bandit: bool) -> list[str]:
    if bandit:
        from massart.arena import bandits

        return [*bandits.WORLDS]
    from massart import worlds

    return worlds.names()


def _field(learners: list[str], bandit: bool) -> list[str]:
    """The learners named, groups opened, each once."""
    if bandit:
        from massart.arena import bandits

        return bandits.opened(learners)
    from massart.learners import contestants

    installed = contestants.names()
    peers: list[str] = [name for name in ("sklearn-log", "river-log", "vw") if name in installed]
    groups: dict[str, list[str]] = {"default": [*contestants.DEFAULT], "peers": peers, "all": installed}
    named = [name for given in learners for name in given.split(",") if name]
    return list(dict.fromkeys(learner for name in named for learner in groups.get(name, [name])))


def _run(plan: _Plan, quiet: bool) -> _Done:
    """Sweep, with a live table if somebody is watching."""
    from rich.console import Console

    from massart.arena import SweepInterrupted

    console = Console(stderr=True)
    watched = console.is_terminal and not quiet
    try:
        with _live(console, plan.bandit) if watched else nullcontext() as live:
            found = plan.arena().sweep(
                plan.worlds,
                plan.learners,
                rounds=plan.rounds,
                seeds=plan.seeds,
                peer_seeds=plan.peer_seeds,
                jobs=plan.jobs,
                resume=plan.resume,
                progress=live,
            )
    except SweepInterrupted as stop:
        raced = {(row["world"], row["learner"]) for row in stop.rows}
        # Half a run is worth showing only where there is no whole one.
        half = [row for row in stop.partial if (row["world"], row["learner"]) not in raced]
        return _Done([*stop.rows, *half], f"stopped after {stop.done} of {stop.total} races")
    return _Done(found, "")


def _live(console: Any, bandit: bool) -> Any:
    if bandit:
        from massart.arena import bandits

        return bandits.LiveRace(console)
    from massart.arena.report.live import LiveRace

    return LiveRace(console)


def _tell(done: _Done, plan: _Plan, outputs: _Outputs, json: bool, quiet: bool) -> None:
    """Results to stdout and to files, everything else to stderr."""
    from massart.arena.report.rows import rows_as_json

    def say(words: str) -> None:
        if not quiet:
            typer.echo(words, err=True)

    if done.interrupted:
        say(done.interrupted)
    if not done.rows:
        say("nothing was finished, so there is nothing to report")
        return
    page = str(outputs.report or "race.html")
    command = _command(plan, page)
    note = f"This race was {done.interrupted}; the page shows what was done by then." if done.interrupted else None
    written = outputs.write(plan.report(), done.rows, command, note)
    if json:
        typer.echo(rows_as_json(done.rows))
    else:
        _print_tables(done.rows, plan.bandit)
    for path in written:
        say(f"wrote {path}")


def _command(plan: _Plan, page: str) -> str:
    from massart.arena import bandits
    from massart.arena.report.command import command_line

    line = bandits.command_line if plan.bandit else command_line
    return line(plan.worlds, plan.learners, plan.rounds, plan.seeds, page, plan.peer_seeds)


def _print_tables(rows: Sequence[Any], bandit: bool) -> None:
    from massart.arena import bandits, report
    from massart.arena.report.table import by_learner, by_world
    from massart.arena.report.wording import headline

    console = plain_console()
    if bandit:
        console.print(bandits.table(rows))
        console.print(bandits.headline(bandits.summarise(rows)))
        return
    summary = report.summarise(rows)
    if len(summary.worlds) <= _MANY_WORLDS:
        console.print(report.table(rows))
    else:
        console.print(by_world(summary))
        console.print(by_learner(summary))
    console.print(headline(summary))
