"""A log of decisions in a file: which format it has, reading it in chunks, writing one.

| format | | file |
|---|---|---|
| `vw` | VW's `--cb_adf` text | `massart.data.decisions.vw` |
| `dsjson` | VW's and Personalizer's decision service | `massart.data.decisions.dsjson` |
| `jsonl` | massart's own records, one per line | `massart.data.records` |
| `parquet` | the same records as columns | `massart.data.decisions.parquet` |

Text may be compressed with gzip, zstd or bz2.  A flawed line is refused with file, line and field; nothing that was
read before it should be used, and `massart.evaluation` does not.
"""

import contextlib
import gzip
import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from massart.data.decisions.checks import LogChecker, refuse
from massart.data.decisions.dsjson import decision_to_dsjson, read_dsjson
from massart.data.decisions.parquet import read_parquet, write_parquet
from massart.data.decisions.survey import LogSurvey
from massart.data.decisions.table import Decision, DecisionBatch
from massart.data.decisions.vw import decision_to_text, read_text
from massart.data.io.blocks import blocks
from massart.data.io.sources import Source
from massart.data.records import decision_of, record, record_of
from massart.errors import InvalidDataError, InvalidParameterError

__all__ = ["LOG_FORMATS", "DecisionLog", "detect_format", "write_decisions"]

LOG_FORMATS = ("vw", "dsjson", "jsonl", "parquet")
_BATCH = 1 << 26  # bytes of a batch, unless one decision takes more
_SUFFIXES = {".parquet": "parquet", ".jsonl": "jsonl", ".dsjson": "dsjson", ".vw": "vw", ".txt": "vw", ".dat": "vw"}


class DecisionLog:
    """A log that can be read again and again, in batches; a decision is checked before it is handed out.

    After a reading, `skipped` counts what was left out and why (decisions that never got a reward, or that repeat an
    earlier one), and `warnings` has sentences about the log as a whole. A batch has at most `batch_size` decisions, and
    fewer where these are large.

    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_decisions([Decision(np.eye(2), 1, 0.5, 1.0)], f"{folder}/log.jsonl")
    ...     [batch.rewards.tolist() for batch in DecisionLog(f"{folder}/log.jsonl")]
    1
    [[1.0]]
    """

    def __init__(self, path: str | os.PathLike[str], log_format: str = "auto", *, batch_size: int = 8192) -> None:
        self.path = Path(path)
        if log_format not in ("auto", *LOG_FORMATS):
            choice = ", ".join(("auto", *LOG_FORMATS))
            raise InvalidParameterError(f"log_format {log_format!r} is none of {choice}")
        if batch_size < 1:
            raise InvalidParameterError(f"batch_size must be at least 1, not {batch_size}")
        if self.path.is_dir():
            raise InvalidDataError(f"{self.path} is a folder: give the name of a log file")
        if not self.path.exists():
            raise InvalidDataError(f"{self.path} does not exist: give the name of a log file")
        self.format = detect_format(self.path) if log_format == "auto" else log_format
        self.batch_size = batch_size
        self.skipped: Counter[str] = Counter()
        self.warnings: tuple[str, ...] = ()

    def decisions(self) -> Iterator[Decision]:
        """One by one; raises at the end if the propensity of any was impossible, which are not handed out."""
        self.skipped.clear()
        self.warnings = ()
        source = Source(self.path).name
        checker, survey = LogChecker(source), LogSurvey()
        readers: dict[str, Callable[[], Iterator[Decision]]] = {
            "vw": lambda: read_text(_lines(self.path), source, self.skipped),
            "dsjson": lambda: read_dsjson(_lines(self.path), source, self.skipped),
            "jsonl": lambda: _records(self.path, source),
            "parquet": lambda: read_parquet(self.path),
        }
        for decision in readers[self.format]():
            if checker.sound(decision) and not survey.is_repeat(decision):
                yield decision
        checker.finish()
        self.skipped.update(survey.repeated)
        self.warnings = tuple(survey.warnings())

    def __iter__(self) -> Iterator[DecisionBatch]:
        waiting: list[Decision] = []
        size = 0
        for decision in self.decisions():
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


def detect_format(path: Path) -> str:
    """The format of a file from how it begins, its name where that does not tell."""
    source = Source(path)
    if source.head(4) == b"PAR1":
        return "parquet"
    for number, text in _lines(path):
        if not text.strip():
            continue
        if text.lstrip().startswith("{"):
            fields = record(text, source.name, number)
            return "dsjson" if {"c", "_label_cost", "EventId", "RewardValue"} & set(fields) else "jsonl"
        if "|" in text:
            return "vw"
        break
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    raise InvalidDataError(
        f"{source.name}: its format cannot be told from its first line; name one of {', '.join(LOG_FORMATS)}"
    )


def write_decisions(decisions: Iterable[Decision], path: str | os.PathLike[str], log_format: str = "auto") -> int:
    """Write a log, whole or not at all, and return how many decisions it has; "auto" goes by the suffix.

    VW text and dsjson cannot hold everything: `target` is lost in both, VW text also loses `probabilities` and
    `time` and refuses weights.  JSON lines and Parquet give back exactly what was written.
    """
    target = Path(path)
    suffix = target.with_suffix("").suffix if target.suffix.lower() == ".gz" else target.suffix
    chosen = _SUFFIXES.get(suffix.lower(), "") if log_format == "auto" else log_format
    if chosen not in LOG_FORMATS:
        raise InvalidParameterError(f"{target}: name one of the formats {', '.join(LOG_FORMATS)}")
    checker = LogChecker(str(target))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")

    def checked() -> Iterator[Decision]:
        for decision in decisions:
            checker.sound(decision)
            yield decision

    try:
        if chosen == "parquet":
            write_parquet(checked(), partial)
        else:
            _write_text(checked(), partial, chosen, zipped=target.suffix.lower() == ".gz")
        checker.finish()
        partial.replace(target)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return checker.seen


def _write_text(decisions: Iterable[Decision], path: Path, log_format: str, zipped: bool) -> None:
    forms: dict[str, Callable[[Decision], str]] = {
        "vw": decision_to_text,
        "dsjson": decision_to_dsjson,
        "jsonl": lambda decision: json.dumps(record_of(decision), allow_nan=False) + "\n",
    }
    form = forms[log_format]
    file: IO[bytes]
    with gzip.open(path, "wb") if zipped else path.open("wb") as file:  # type: ignore[assignment]
        for decision in decisions:
            file.write(form(decision).encode())


def _records(path: Path, source: str) -> Iterator[Decision]:
    for number, text in _lines(path):
        if text.strip():
            yield decision_of(record(text, source, number), source, number)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines, without line ends and byte order mark; one that is too long is refused."""
    source = Source(path)
    for block in blocks(source):
        if block.errors:
            first = block.errors[0]
            refuse(first.source, first.line, "line", first.message, "log fewer features, or fewer arms, per decision")
        for number, line in enumerate(block.text.tobytes().removesuffix(b"\n").split(b"\n"), start=block.line + 1):
            try:
                text = line.decode()
            except UnicodeDecodeError:
                refuse(source.name, number, "line", "it is not UTF-8", "save the file as UTF-8")
            yield number, text.rstrip("\r")
