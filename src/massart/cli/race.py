"""`massart race`: learners in worlds or on data files; a live table, then a table, a page, a figure or rows."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from massart.cli import cluster, race_data, reading_options
from massart.cli._command import plain_console, reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, leave
from massart.errors import InvalidParameterError, needs
from massart.files import OutputLock, check_place

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.console import Console

    from massart.arena.registry import Registry
    from massart.arena.report.table import LiveRace
    from massart.worlds import DataSet

_REWARD_WORLDS = ("simpson", "hard-pairs", "hard-pairs-simpson")  # if none is named
_ROUNDS = 20_000  # at most, if nothing is said


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
    from typer import BadParameter

    raise BadParameter(f"{text!r} is not a whole number, as 20000 or 1e6 are")


def race(
    world: Annotated[
        list[str] | None,
        Argument(
            help="Worlds by name; if neither a world nor --data is named, all of them, or three with --bandit.",
            show_default=False,
        ),
    ] = None,
    bandit: Annotated[bool, Option("--bandit", help="Race bandit policies in worlds with arms and rewards.")] = False,
    learner: Annotated[
        list[str] | None,
        Option(
            "--learner",
            "-l",
            metavar="NAME",
            help="A learner by name, once for each or with commas. Groups: default (if none is named), peers (other "
            "packages' learners, as far as installed; with --data --bandit also if none is named), all.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        Option(
            parser=whole_number,
            metavar="N",
            help="Rounds of each race; 1e6 is understood.  \\[default: 20000, or each row of --data once, if these are "
            "fewer and not items]",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        Option(
            min=1,
            help="Each world is raced with the seeds 0, 1, ..., SEEDS - 1. \\[default: 5, with --bandit 3]",
            show_default=False,
        ),
    ] = None,
    peer_seeds: Annotated[
        int | None,
        Option(
            min=1,
            help="How many of the seeds other packages' learners get: some are slow. All by default, with --bandit 1.",
        ),
    ] = None,
    jobs: Annotated[int, Option(help="Processes; -1 for one per core. The numbers stay the same.")] = 1,
    scheduler: cluster.Scheduler = None,
    data: race_data.Data = None,
    conversion: race_data.Conversion = None,
    raw: race_data.Raw = False,
    arms: race_data.Arms = None,
    noise: race_data.Noise = None,
    noise_rate: race_data.NoiseRate = None,
    label: reading_options.Label = None,
    ignore: reading_options.Ignore = None,
    categorical: reading_options.Categorical = None,
    data_format: race_data.Format = None,
    bits: race_data.Bits = None,
    report: Annotated[Path | None, Option(help="Write a page (.html) that opens without a network.")] = None,
    figure: Annotated[Path | None, Option(help="Draw the curves to a .png, .svg or .pdf file.")] = None,
    rows: Annotated[Path | None, Option(help="Write every row to a .json, .jsonl or .parquet file.")] = None,
    resume: Annotated[
        Path | None,
        Option(help="A journal of finished runs: a race that is started again with it runs only the rest."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the rows as JSON instead of a table.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors while it runs.")] = False,
) -> None:
    """Race learners in worlds with noisy labels, and see who stays below the bound.

    Ctrl-C stops the race, keeps what was done and writes the report from it.

    [bold]Examples[/bold]

    massart race hunted-minority kink --rounds 5000 --seeds 2 --report race.html

    massart race --bandit --data flowers.csv --label species --conversion noisy
    """
    outputs = _Outputs(report, figure, rows)
    about = race_data.DataOptions(
        data or [], conversion or [], raw, arms, noise, noise_rate, label, ignore, categorical, data_format, bits
    )
    with reporting("massart race", flags=race_data.FLAGS), ExitStack() as held:
        about.check(bandit)
        outputs.check()
        for path in filter(None, outputs):
            held.enter_context(OutputLock(path))
        sets = about.worlds(bandit)
        plan = _Plan(
            _worlds(world or [], bandit, sets),
            sets,
            _learners(learner, bandit, sets),
            _rounds(sets) if rounds is None else rounds,
            seeds or (3 if bandit else 5),
            peer_seeds or (1 if bandit else None),
            jobs,
            resume,
            bandit,
            about.words(),
        )
        asked = cluster.Asked(scheduler)
        executor = held.enter_context(asked.engine()).executor() if asked else None
        done = _run(plan, quiet, executor)
        _show(done, plan, outputs, json, quiet)
        if done.interrupted:
            leave(130)
        if any(row["error"] for row in done.rows):
            leave(1)


class _Plan(NamedTuple):
    worlds: Sequence[str]
    sets: Sequence["DataSet"]
    learners: Sequence[str]
    rounds: int
    seeds: int
    peer_seeds: int | None
    jobs: int
    resume: Path | None
    bandit: bool
    options: Sequence[str]  # about data

    def command(self, page: str) -> str:
        """The command that runs this race again."""
        from massart.arena.report.summary import command_line

        numbers = (self.rounds, self.seeds, page, self.peer_seeds)
        return command_line(self.worlds, self.learners, *numbers, bandit=self.bandit, options=self.options)


class _Done(NamedTuple):
    rows: Sequence[Any]
    interrupted: str  # why there is not more, empty if there is all


class _Outputs(NamedTuple):
    report: Path | None
    figure: Path | None
    rows: Path | None

    def check(self) -> None:
        """Find out before the race what could not be written after it."""
        from massart.arena import rows
        from massart.arena.report.charts import FIGURE_SUFFIXES

        if self.report is not None:
            rows.suffix_of(self.report, (".html", ".htm"), "a report")
        if self.figure is not None:
            rows.suffix_of(self.figure, FIGURE_SUFFIXES, "a figure")
            needs("matplotlib", "report", "to draw a figure")
        if self.rows is not None and rows.suffix_of(self.rows, rows.SUFFIXES, "a table of rows") == ".parquet":
            needs("pyarrow", "report", "to write Parquet files")
        for path in filter(None, self):
            check_place(path)

    def write(self, rows: Sequence[Any], command: str, note: str | None) -> list[Path]:
        """Write what was asked for; return the files written."""
        from massart.arena import report
        from massart.arena.rows import write_bytes

        if self.report is not None:
            write_bytes(self.report, report.html(rows, command=command, note=note).encode())
        if self.figure is not None:
            report.figure(rows, self.figure)
        if self.rows is not None:
            report.write_rows(rows, self.rows)
        return [path for path in self if path is not None]


def _learners(named: list[str] | None, bandit: bool, sets: Sequence["DataSet"]) -> list[str]:
    """Those named, without those that need what data sets do not tell."""
    from massart.arena.registry import LEARNERS, POLICIES

    registry: Registry = POLICIES if bandit else LEARNERS
    made: list[Any] = [one.make(0) for one in sets]
    unknown = [need for need in ("gap", "margin") if any(getattr(one, need, None) is None for one in made)]
    return registry.opened(named or (["default", "peers"] if bandit and sets else ["default"]), unknown)


def _rounds(sets: Sequence["DataSet"]) -> int:
    """If nothing is said: each row once, where rows are rounds."""
    return min([_ROUNDS, *(one.rows for one in sets if one.rows is not None)])


def _worlds(named: list[str], bandit: bool, sets: Sequence["DataSet"]) -> list[str]:
    """The worlds to race in besides data sets: those named, if they are of the kind that was asked for."""
    from massart import worlds

    for name in named:
        world: Any = worlds.make(name)
        if bandit and isinstance(world, worlds.World):
            raise InvalidParameterError(
                f"the world {name!r} has labels and no arms: race it without --bandit, or name one of "
                f"{', '.join(worlds.reward_names())}"
            )
        if not bandit and isinstance(world, worlds.RewardWorld):
            raise InvalidParameterError(
                f"the world {name!r} has arms and rewards, not labels: race policies in it with "
                f"`massart race --bandit {name}`"
            )
    if named or sets:
        return named
    return [*_REWARD_WORLDS] if bandit else worlds.names()


def _run(plan: _Plan, quiet: bool, executor: "Executor | None" = None) -> _Done:
    """Sweep, with a live table if standard error is a terminal."""
    from rich.console import Console

    from massart import arena

    console = Console(stderr=True)
    try:
        with _live(console) if console.is_terminal and not quiet else nullcontext() as live:
            found = arena.sweep(
                [*plan.worlds, *plan.sets],
                plan.learners,
                rounds=plan.rounds,
                seeds=plan.seeds,
                peer_seeds=plan.peer_seeds,
                jobs=plan.jobs,
                executor=executor,
                resume=plan.resume,
                progress=live,
            )
    except arena.SweepInterrupted as stop:
        raced = {(row["world"], row["learner"]) for row in stop.rows}
        # Half a run is worth showing only where there is no complete one.
        half = [row for row in stop.partial if (row["world"], row["learner"]) not in raced]
        return _Done([*stop.rows, *half], f"stopped after {stop.done} of {stop.total} races")
    return _Done(found, "")


def _live(console: "Console") -> "LiveRace":
    from massart.arena.report.table import LiveRace

    return LiveRace(console)


def _show(done: _Done, plan: _Plan, outputs: _Outputs, json: bool, quiet: bool) -> None:
    """Results to stdout and to files, everything else to stderr."""
    from massart.arena.report.summary import summarise
    from massart.arena.report.table import tables
    from massart.arena.rows import rows_as_json

    def say(words: str) -> None:
        if not quiet:
            Outlet(sys.stderr, careless=True).say(words)

    if done.interrupted:
        say(done.interrupted)
    if not done.rows:
        say("nothing was finished, so there is nothing to report")
        return
    command = plan.command(str(outputs.report or "race.html"))
    note = f"This race was {done.interrupted}; the page shows what was done by then." if done.interrupted else None
    written = outputs.write(done.rows, command, note)
    if json:
        Outlet(sys.stdout).say(rows_as_json(done.rows))
    else:
        race, console = summarise(done.rows), plain_console()
        for table in tables(race):
            console.print(table)
        console.print(race.kind.headline(race))
    for path in written:
        say(f"wrote {path}")
