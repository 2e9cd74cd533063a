"""Text to model in one pass, by massart and by Vowpal Wabbit: whole files, large and small."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from file_contenders import ONE, POOL, TOLD, VW, check_learned, train, vowpal, vowpal_seconds
from file_processes import Command, Recorder, able
from file_rows import FEW, Block
from measuring import Contender, Finding, Section, Times, Wanted, interleave, quotients
from report import Tick

LARGE = 1_000  # megabytes of the largest file; where smaller ones are judged, the start of both processes counts
# By megabytes: below LARGE in times of Vowpal Wabbit's whole process, from there on of its time without the start.
WANTED = {
    10: {ONE: Wanted(at_least=1.0), POOL: Wanted(at_least=0.7)},
    100: {ONE: Wanted(at_least=1.8), POOL: Wanted(at_least=1.2)},
    LARGE: {ONE: Wanted(at_least=2.5), POOL: Wanted(at_least=1.6)},
}
WIDE_WANTED = {LARGE: {POOL: Wanted(at_least=1.2)}}  # -b 22
VW_PROCESS = f"{VW}, whole process"


@dataclass(frozen=True)
class Text:
    """One kind of text: what massart reads, what Vowpal Wabbit reads, and with which options."""

    title: str
    about: str
    mine: Block
    theirs: Block
    suffix: str
    wanted: Mapping[float, Mapping[str, Wanted]]
    options: tuple[str, ...] = ()

    def commands(self, rows: int, folder: Path) -> list[Command]:
        """All contenders, on files of that many rows."""
        mine = self.mine.write(folder / f"rows.{self.suffix}", rows)
        theirs = mine if self.theirs is self.mine else self.theirs.write(folder / "twin.vw", rows)
        own = [train(kind, mine, folder, rows, *self.options) for kind in (ONE, POOL)]
        return [*own, vowpal(theirs, folder, rows, *self.options)]


def text_section(text: Text, sizes: Sequence[float], folder: Path, rounds: int, tick: Tick) -> Section:
    """Each size in turn; at each, all contenders take turns."""
    present, absent = able(text.commands(FEW, folder), folder)
    about = (
        f"{text.about} Numbers: rows per second, in times of {' '.join(['vw', *text.options])} --binary "
        "--loss_function logistic, on the wall, 2 cores each. massart: the whole process, its start included, which "
        "decides about small files. VW: without the start of Python and the import, unless it says 'whole process'."
    )
    section = Section(text.title, about, "times", [], {}, [], absent)
    for megabytes in sizes:
        _measure(section, text, megabytes, {command.name for command in present}, folder, rounds, tick)
    return section


def _measure(
    section: Section, text: Text, megabytes: float, names: set[str], folder: Path, rounds: int, tick: Tick
) -> None:
    """Add one size to the section."""
    rows = text.mine.rows_in(megabytes)
    recorders = {c.name: Recorder(c, folder) for c in text.commands(rows, folder) if c.name in names}
    if VW in recorders:
        recorders[VW].seconds = vowpal_seconds(rows)
    contenders = [recorder.contender() for recorder in recorders.values()]
    seconds = interleave(contenders, rounds, tick) if contenders else {}
    for kind in TOLD.keys() & names:
        check_learned(kind, folder, rows)
    if VW in recorders:
        contenders.append(Contender(VW_PROCESS, "the same with its start", rows, recorders[VW], threads=2))
        kept = recorders[VW].runs[1:]  # the first round is thrown away
        seconds[VW_PROCESS] = Times([r.wall / rows for r in kept], [r.processor / rows for r in kept])
    size = f"{megabytes:,g} MB"
    section.contenders = [
        *section.contenders,
        *(Contender(f"{size}, {c.name}", c.measures, c.rows, c.run, c.threads) for c in contenders),
    ]
    section.seconds.update({f"{size}, {name}": times for name, times in seconds.items()})
    section.findings += _findings(
        size, seconds, text.wanted.get(megabytes, {}), VW if megabytes >= LARGE else VW_PROCESS
    )


def _findings(size: str, seconds: dict[str, Times], wanted: Mapping[str, Wanted], against: str) -> list[Finding]:
    found = []
    for kind in (ONE, POOL):
        for other, measures in ((VW, "over VW"), (VW_PROCESS, "over VW, whole process")):
            if kind in seconds and other in seconds:
                ratios = quotients(seconds[other].wall, seconds[kind].wall)
                found.append(
                    Finding(f"{size}, {kind}", measures, ratios, wanted.get(kind) if other == against else None)
                )
    return found
