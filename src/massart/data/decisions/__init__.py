"""A log of decisions in files: which format it has, reading it in batches, writing one.

| format | | module |
|---|---|---|
| `vw` | VW's `--cb_adf` text | `massart.data.decisions.vw` |
| `vw-cb` | VW's `--cb` text, one line per decision | `massart.data.decisions.vw_cb` |
| `dsjson` | VW's and Personalizer's decision service | `massart.data.decisions.dsjson` |
| `jsonl` | massart's own records, one per line | `massart.data.decisions.json_lines` |
| `csv` | the same records, one per line, or a table with columns of any names | `.records`, `.tables` |
| `parquet` | the same records as columns | `massart.data.decisions.records` |

Logs come from the same places as rows: files, folders, patterns, pipes; plain, gzip, zstd or bz2. A malformed line is
refused with file, line and field; nothing that was read before it should be used, and `massart.evaluation` does not.
With `max_bad_lines` that many are left out instead, counted and listed.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Final

from massart.data.decisions import dsjson, records, tables, vw, vw_cb
from massart.data.decisions.checker import LogChecker
from massart.data.decisions.decision import BadLines, Decision, DecisionBatch, FloatArray
from massart.data.decisions.json_lines import Waiting, read_jsonl
from massart.data.decisions.reading import LogReading
from massart.data.decisions.tables import LogColumns
from massart.data.formats import suffix_of
from massart.data.io.blocks import blocks
from massart.data.io.sources import Paths, Source, find_sources
from massart.data.row_errors import most_unpacked
from massart.data.writers.file import writing
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = [
    "LOG_FORMATS",
    "Decision",
    "DecisionBatch",
    "DecisionLog",
    "FloatArray",
    "LogColumns",
    "detect_format",
    "write_decisions",
]

LOG_FORMATS: Final = ("vw", "dsjson", "jsonl", "csv", "parquet")
_READ: Final = (*LOG_FORMATS, "vw-cb")
_BATCH: Final = 1 << 26  # bytes of a batch, unless one decision takes more
_SUFFIXES: Final = {
    **{".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".dsjson": "dsjson", ".csv": "csv", ".tsv": "csv"},
    **dict.fromkeys((".vw", ".txt", ".dat"), "vw"),
}
_HEAD: Final = 1 << 20  # bytes that are looked at
_WRITERS: Final[dict[str, Callable[[Decision], str]]] = {
    "vw": vw.decision_to_text,
    "dsjson": dsjson.decision_to_dsjson,
    "jsonl": records.decision_to_json,
    "csv": records.decision_to_csv,
}


class DecisionLog:
    """A log that is read in batches, and as often as its sources can be; a decision is checked before it is returned.

    `paths` are files, folders, patterns, or standard input ("-"), as for `massart.data.read`. After a reading,
    `skipped` counts what was left out and why (decisions that never got a reward, or that repeat an earlier one),
    `warnings` has messages about the log as a whole, and `bad` counts bad lines. A batch has at most `batch_size`
    decisions, and fewer where these are large. `columns` says which column of a CSV table is what; those of the Open
    Bandit Dataset are known. With `crossed`, features of VW's logs that all arms share are multiplied with those of
    each arm, and hashed to 2^24 columns, as a bandit that knows names wants them. `actions` is the number of actions of
    `vw-cb`; if it is None, the largest in the log. Up to `max_bad_lines` bad lines are left out. With
    `propensities_may_miss` a log may have none at all: then they are NaN.

    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_decisions([Decision(np.eye(2), 1, 0.5, 1.0)], f"{folder}/log.jsonl")
    ...     [batch.rewards.tolist() for batch in DecisionLog(f"{folder}/log.jsonl")]
    1
    [[1.0]]
    """

    def __init__(
        self,
        paths: Paths,
        log_format: str = "auto",
        *,
        batch_size: int = 8192,
        columns: LogColumns | None = None,
        max_bad_lines: int = 0,
        propensities_may_miss: bool = False,
        crossed: bool = False,
        actions: int | None = None,
    ) -> None:
        if log_format not in ("auto", *_READ):
            raise InvalidParameterError(f"`log_format={log_format!r}`: choose one of auto, {', '.join(_READ)}")
        if columns is not None and log_format not in ("auto", "csv"):
            raise InvalidParameterError(f"`log_format={log_format!r}`: columns are named for csv only")
        numbers = ("batch_size", batch_size, 1), ("max_bad_lines", max_bad_lines, 0), ("actions", actions or 1, 1)
        for name, value, least in numbers:
            if value < least:
                raise InvalidParameterError(f"{name} must be at least {least}, not {value}")
        self.sources = find_sources(paths)
        first = self.sources[0]
        self.name = first.name if len(self.sources) == 1 else f"{first.name} and {len(self.sources) - 1} more"
        self.columns = columns
        if columns is not None:
            self.format = "csv"
        else:
            self.format = detect_format(first) if log_format == "auto" else log_format
        self.batch_size = batch_size
        self.max_bad_lines = max_bad_lines
        self.propensities_may_miss = propensities_may_miss
        self.crossed, self.actions = crossed, actions
        self.source = self.name  # of the decision that was returned last
        self.warnings: tuple[str, ...] = ()
        self.reading = self._new_reading()

    def _new_reading(self) -> LogReading:
        how = {"max_bad_lines": self.max_bad_lines, "propensities_may_miss": self.propensities_may_miss}
        return LogReading(self.name, **how)  # type: ignore[arg-type]

    @property
    def skipped(self) -> Counter[str]:
        """Decisions that were left out, by reason."""
        return self.reading.skipped

    @property
    def bad(self) -> BadLines:
        """Bad lines of the last reading."""
        return self.reading.bad

    @property
    def is_table(self) -> bool:
        """Whether it is a table, whose arms are known when all of it is read."""
        return self.format == "csv" and (self.columns is not None or _is_open_bandit(self.sources[0]))

    @property
    def size(self) -> int | None:
        """Bytes on disk; None if a source is a pipe."""
        sizes = [source.size for source in self.sources]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def decisions(self) -> Iterator[Decision]:
        """One by one; raises at the end if the propensity of any was impossible; those are not returned."""
        yield from self._unfinished()
        self.warnings = self.reading.finish()

    def _unfinished(self) -> Iterator[Decision]:
        self.warnings, self.reading = (), self._new_reading()
        checker, survey = self.reading.checker, self.reading.survey
        for name, decision in self._read(self.reading.waiting):
            checker.source = self.source = name
            if checker.is_valid(decision) and not survey.is_repeat(decision):
                yield decision

    def part(self, number: int) -> "DecisionLog":
        """One of its files as a log; `unfinished` reads it, and `LogReading.add` puts the readings together."""
        own = copy(self)
        own.sources, own.reading = (self.sources[number],), self._new_reading()
        own.reading.checker.source = own.sources[0].name
        return own

    def unfinished(self) -> Iterator[DecisionBatch]:
        """Batches, without the verdict on the log as a whole."""
        return self._batched(self._unfinished())

    def _read(self, waiting: Waiting) -> Iterator[tuple[str, Decision]]:
        if self.is_table:
            files = ((source.name, self._lines(source)) for source in self.sources)
            yield from tables.read_tables(files, self.columns, self.bad, most_unpacked(self.size), crossed=self.crossed)
            return
        for source in self.sources:
            for decision in self._read_one(source, waiting):
                yield source.name, decision

    def _read_one(self, source: Source, waiting: Waiting) -> Iterator[Decision]:
        if self.format == "parquet":
            return records.read_parquet(source, self.bad)
        lines = self._lines(source)
        if self.format == "vw-cb":
            return vw_cb.read_text(lines, source.name, self.skipped, self.bad, self.actions_of_log())
        if self.format in ("vw", "dsjson"):
            read = vw.read_text if self.format == "vw" else dsjson.read_dsjson
            return read(lines, source.name, self.skipped, self.bad, crossed=self.crossed)
        if self.format == "csv":
            return records.read_csv(lines, source.name, self.bad)
        return read_jsonl(lines, source.name, self.bad, waiting)

    def actions_of_log(self) -> int:
        """How many actions there are: as given, or the largest number in the log, which is read for that."""
        if self.actions is None:
            if self.size is None:
                raise InvalidParameterError(
                    f"{self.name} can be read only once: pass `actions`, the number of actions there are"
                )
            self.actions = max(vw_cb.largest_action(self._lines(source)) for source in self.sources)
        return self.actions

    def _lines(self, source: Source) -> Iterator[tuple[int, str]]:
        """Numbered lines, without line ends and byte order mark; one that is too long or no UTF-8 is bad."""
        part_of_more = self.format == "vw"  # a decision takes several lines, and is bad if one of them is
        for block in blocks(source):
            for one in block.errors:
                words = f"{one.message}; log fewer features, or fewer arms, per decision"
                self.bad.take(InvalidDataError(f"{one.source}, line {one.line}, line: {words}"))
                if part_of_more:
                    yield one.line, vw.UNREADABLE
            if not block.text.size:
                continue
            for number, line in enumerate(block.text.tobytes().removesuffix(b"\n").split(b"\n"), start=block.line + 1):
                try:
                    text = line.decode().rstrip("\r")
                except UnicodeDecodeError:
                    words = f"{source.name}, line {number}, line: it is not UTF-8; save the file as UTF-8"
                    self.bad.take(InvalidDataError(words))
                    if not part_of_more:
                        continue
                    text = vw.UNREADABLE
                yield number, text

    def __iter__(self) -> Iterator[DecisionBatch]:
        return self._batched(self.decisions())

    def _batched(self, decisions: Iterable[Decision]) -> Iterator[DecisionBatch]:
        waiting: list[Decision] = []
        size = 0
        for decision in decisions:
            waiting.append(decision)
            size += decision.nbytes
            if len(waiting) == self.batch_size or size > _BATCH:
                yield DecisionBatch.of(waiting)
                waiting, size = [], 0
        if waiting:
            yield DecisionBatch.of(waiting)

    def read(self) -> DecisionBatch:
        """All of it at once."""
        return DecisionBatch.of(list(self.decisions()))


def detect_format(source: Source) -> str:
    """The format of a log, from how it begins or, where that does not show it, from its name."""
    head = source.head(_HEAD)
    if head.startswith(b"PAR1"):
        return "parquet"
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    number, first = next(((i, line) for i, line in enumerate(lines, 1) if line.strip()), (0, b""))
    text = first.decode(errors="replace").strip()
    if text.startswith("{"):
        own = ("c", "_label_cost", "EventId", "RewardValue")
        try:
            names = set(records.record(text, source.name, number))
        except InvalidDataError:  # the line is bad, or the rest of it was not read
            names = {name for name in own if f'"{name}"' in text}
        return "dsjson" if set(own) & names else "jsonl"
    if tables.csv_separator(text) is not None or tables.is_open_bandit(text):
        return "csv"
    if "|" in text:
        second = lines[number].decode(errors="replace") if number < len(lines) else ""
        return "vw-cb" if vw_cb.is_labelled(text) and vw_cb.is_labelled(second) else "vw"
    named = _SUFFIXES.get(suffix_of(source.path.name)) if source.path is not None else None
    if named is None:
        raise InvalidDataError(
            f"{source.name}: its first line does not show its format; pass `log_format`, one of {', '.join(_READ)}"
        )
    return named


def write_decisions(decisions: Iterable[Decision], path: str | os.PathLike[str], log_format: str = "auto") -> int:
    """Write a log, whole or not at all, and return how many decisions it has; "auto" goes by the suffix.

    It is compressed if the name ends with .gz, .zst or .bz2. VW text and dsjson cannot hold everything: `target` is
    lost in both, VW text also loses `probabilities` and `time` and refuses weights. JSON lines, CSV and Parquet give
    back exactly what was written.
    """
    name = os.fspath(path)
    chosen = _SUFFIXES.get(suffix_of(name), "") if log_format == "auto" else log_format
    if chosen not in LOG_FORMATS:
        raise InvalidParameterError(f"{name}: pass `log_format`, one of {', '.join(LOG_FORMATS)}")
    checker = LogChecker(name)

    def checked() -> Iterator[Decision]:
        for decision in decisions:
            checker.is_valid(decision)
            yield decision

    with writing(path) as target:
        if chosen == "parquet":
            records.write_parquet(checked(), target)
        else:
            if chosen == "csv":
                target.write(records.csv_header().encode())
            for decision in checked():
                target.write(_WRITERS[chosen](decision).encode())
        checker.finish()
    return checker.seen


def _is_open_bandit(source: Source) -> bool:
    head = source.head(_HEAD).removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    return tables.is_open_bandit(head.decode(errors="replace").strip())
