"""What a training came to: errors against the mistake bound, rows left out, speed and memory."""

import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from massart.data.schema import Schema
from massart.errors import counted
from massart.learners.certificate import Certificate, certificate_facts, group_lines, noise_rate_words
from massart.learners.groups import Grouped
from massart.models.headers import printable
from massart.training.answers import MOST_IN_TABLE, Answers
from massart.training.progress import Measured
from massart.values import Value

if TYPE_CHECKING:
    from massart.training.chunk_trainer import ChunkTrainer

__all__ = ["STATUS", "Summary", "label_words", "peak_memory"]

STATUS = "/proc/self/status"  # of Linux: what a process holds
_WIDEST, _MOST_SHOWN = 20, 30  # characters of a class's name; classes of a table


class Summary(Value):
    """The end of a training, or its state when it was stopped."""

    rows: int  # learned in the first pass, each predicted before it was learned
    mistakes: int
    positive: int  # rows with the positive label
    labels: tuple[str, ...]  # the negative and the positive one, or all of several, as the rows have them
    answers: tuple[str, ...]  # and as predictions name them
    counts: Answers  # which of them were answered for which
    passes: int
    trainer: "ChunkTrainer"  # what was learned: most of what is said about it is not asked for with --quiet
    row_errors: Mapping[str, int]  # rows left out, by kind of error
    unlabelled: int
    weightless: int
    held_out: int
    holdout: tuple[Measured, ...]  # on the rows kept apart, after each pass
    best_pass: int | None
    seconds: float  # of this process
    rows_per_second: float  # without compiling, as is the next one
    megabytes_per_second: float
    peak_memory: float | None  # megabytes; None where the system does not say
    warnings: tuple[str, ...] = ()  # about the data
    model: str | None = None  # where it lies
    checkpoint: str | None = None  # where to go on from
    stopped: int | None = None  # the signal that ended it before its time
    compiling_seconds: float = 0.0  # of `seconds`, for kernels that were not compiled yet

    @cached_property
    def certificate(self) -> Certificate | None:
        """Of all rounds of the model; None if nothing was learned."""
        return self.trainer.first.certificate() if self.trainer.first is not None else None

    @cached_property
    def noise_rate(self) -> float | None:
        """A lower confidence limit."""
        return self.trainer.first.lower_noise_rate() if self.trainer.first is not None else None

    @cached_property
    def groups(self) -> dict[str, dict[str, Any]]:
        """Rows, mistakes and certificate of each group, by its name; empty without groups."""
        first = self.trainer.first
        return first.facts() if isinstance(first, Grouped) else {}

    @cached_property
    def features(self) -> int:
        """Columns whose weight is not 0."""
        return self.trainer.features()

    @property
    def columns(self) -> int:
        """Columns of the model."""
        return self.trainer.width

    @property
    def error(self) -> float | None:
        """Mistakes per row."""
        return self.mistakes / self.rows if self.rows else None

    @property
    def constant(self) -> str:
        """The label of most rows, which is the best constant answer; of equals, the first one."""
        rows = self.counts.rows
        return self.answers[rows.index(max(rows)) if rows else 0]

    @property
    def constant_error(self) -> float | None:
        """Mistakes per row of always giving that answer."""
        return (self.rows - max(self.counts.rows)) / self.rows if self.rows else None

    @property
    def holdout_error(self) -> float | None:
        """Of the weights in the model, on the rows kept apart."""
        measured = self.holdout[(self.best_pass or 0) - 1] if self.holdout else Measured()
        return measured.error if measured.rows else None

    def reliability(self, bins: int = 10) -> list[tuple[float, float, int]]:
        """Of two labels: (mean probability of the positive one, its share, rows) of rows in bins of that probability.

        Probabilities are those of the calibration at the end, of scores from before each row was learned.
        """
        if not self.counts.bins:
            return []
        chances = self.trainer.calibration.probabilities(self.counts.bin_scores())[:, 1]
        negative, positive = np.array(self.counts.bins, np.float64)
        places, rows = np.minimum((chances * bins).astype(np.int64), bins - 1), negative + positive
        sums = [np.bincount(places, weights, bins) for weights in (rows, rows * chances, positive)]
        return [(own / n, plus / n, int(n)) for n, own, plus in zip(*(one.tolist() for one in sums), strict=True) if n]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = self.asdict()
        del plain["trainer"], plain["counts"]
        return plain | {
            "classes": self._class_facts(),
            "table": self.counts.table,
            "auc": self.counts.auc,
            "log_loss": self.counts.log_loss,
            "certificate": None if self.certificate is None else certificate_facts(self.certificate),
            "noise_rate": self.noise_rate,
            "groups": self.groups,
            "features": self.features,
            "columns": self.columns,
            "error": self.error,
            "constant": self.constant,
            "constant_error": self.constant_error,
            "holdout_error": self.holdout_error,
            "rows_with_errors": sum(self.row_errors.values()),
            "row_errors": dict(self.row_errors),
            "complete": self.stopped is None,
        }

    def lines(self, unsaved: str = "not saved") -> list[str]:
        """One fact per line, aligned, for people; `unsaved` stands for the name of a model without a file."""
        facts = [("learned", self._learned()), ("labels", self._labels()), ("error", self._error())]
        if len(self.labels) == 2 and self.counts.auc is not None:
            facts.append(("ranking", self._ranking()))
        if self.certificate is not None and self.noise_rate is not None:
            facts += [("bound", self.certificate.sentence), ("noise rate", noise_rate_words(self.noise_rate))]
        facts += [("group", f"{printable(name)}: {words}") for name, words in group_lines(self.groups)]
        if self.holdout:
            facts.append(("holdout", self._holdout()))
        if left_out := self._left_out():
            facts.append(("left out", left_out))
        facts += [
            ("features", f"{self.features:,} with a weight, in {counted(self.columns, 'column')}"),
            ("speed", self._speed()),
        ]
        facts.append(("model", self.model or unsaved))
        if self.stopped is not None:
            facts[-1] = ("stopped", "the model is not finished")
        return [f"{name:<10}  {fact}" for name, fact in facts] + self._class_lines()

    def _learned(self) -> str:
        return f"{counted(self.rows, 'row')}, {'one pass' if self.passes == 1 else f'{self.passes:,} passes'}"

    def _class_facts(self) -> dict[str, dict[str, Any]]:
        """Rows, precision and recall of each class."""
        return {
            name: {"rows": rows, "precision": self.counts.precision(k), "recall": self.counts.recall(k)}
            for k, (name, rows) in enumerate(zip(self.answers, self.counts.rows, strict=False))
        }

    def _ranking(self) -> str:
        """Of two classes: the area under the curve, and the log loss."""
        words = f"area under the ROC curve {self.counts.auc:.3f}"
        if self.counts.log_loss is not None:
            words += f", log loss {self.counts.log_loss:.4f}"
        sampled = "" if self.counts.given >= self.rows else f", of {counted(self.counts.given, 'row')} among them"
        return f"{words}: scores and probabilities from before each row was learned{sampled}"

    def _class_lines(self) -> list[str]:
        """A table of several classes: precision, recall and, of few, which were answered for which."""
        if len(self.labels) == 2 or not self.rows:
            return []
        names = [printable(name)[:_WIDEST] for name in self.answers]
        shown = sorted(range(len(names)), key=lambda k: -self.counts.rows[k])[:_MOST_SHOWN]
        wide = max(len("class"), *(len(names[k]) for k in shown))
        cells = [f"{'class':<{wide}}  {'rows':>9}  precision  recall"]
        table = len(names) <= MOST_IN_TABLE
        if table:
            cells[0] += "   answered: " + " ".join(f"{name:>{max(7, len(name))}}" for name in names)
            shown = list(range(len(names)))
        for k in shown:
            both = [
                "        -" if value is None else f"{value:9.3f}"
                for value in (self.counts.precision(k), self.counts.recall(k))
            ]
            row = f"{names[k]:<{wide}}  {self.counts.rows[k]:>9,}  {both[0]}  {both[1][3:]}"
            if table:
                row += "             " + " ".join(
                    f"{count:>{max(7, len(name))},}" for count, name in zip(self.counts.table[k], names, strict=True)
                )
            cells.append(row)
        if len(shown) < len(names):
            cells.append(f"and {len(names) - len(shown):,} classes of fewer rows")
        return ["", *cells]

    def _labels(self) -> str:
        if len(self.labels) > 2:
            return (
                f"{len(self.labels):,} classes; most rows, {max(self.counts.rows):,}, are of {printable(self.constant)}"
            )
        negative, positive = map(printable, self.labels)
        counts = counted(self.rows - self.positive, "row"), counted(self.positive, "row")
        return f"negative {negative} ({counts[0]}), positive {positive} ({counts[1]})"

    def _error(self) -> str:
        if self.error is None or self.constant_error is None:
            return "nothing was learned"
        weighted = self.certificate is not None and self.certificate.weighted
        of_rows = " (rows are counted, whatever their weight)" if weighted else ""
        mistakes = f"{counted(self.mistakes, 'mistake')}{of_rows}, each row predicted before it was learned"
        return f"{self.error:.2%}: {mistakes}; {self.constant_error:.2%} by always answering {printable(self.constant)}"

    def _holdout(self) -> str:
        if self.holdout_error is None:
            return "no row was kept apart"
        rows = self.holdout[0].rows
        words = f"{self.holdout_error:.2%} of {counted(rows, 'row')} kept apart"
        if len(self.holdout) > 1:
            every = ", ".join(f"{measured.error:.2%}" for measured in self.holdout)
            words += f"; after each pass {every}; the model has the weights of pass {self.best_pass}"
        return words

    def _left_out(self) -> str:
        parts = [f"{count:,} without a label" for count in (self.unlabelled,) if count]
        parts += [f"{count:,} of importance 0" for count in (self.weightless,) if count]
        parts += [f"{count:,}: {kind}" for kind, count in sorted(self.row_errors.items(), key=lambda item: -item[1])]
        return "; ".join(parts)

    def _speed(self) -> str:
        compiling = f" and {self.compiling_seconds:.2f} s of compiling" if self.compiling_seconds else ""
        memory = "" if self.peak_memory is None else f", at most {self.peak_memory:,.0f} MB of memory"
        return (
            f"{self.seconds - self.compiling_seconds:.2f} s{compiling}, {self.rows_per_second:,.0f} rows/s, "
            f"{self.megabytes_per_second:,.1f} MB/s{memory}"
        )


def label_words(schema: Schema) -> tuple[str, ...]:
    """How the rows name the classes.

    >>> label_words(Schema()), label_words(Schema(labels=("1", "2")))
    (('-1 or 0', '1'), ('1', '2'))
    """
    return ("-1 or 0", "1") if schema.labels is None else schema.labels


def peak_memory() -> float | None:
    """Megabytes that this process has held at most; None where the system does not say."""
    status = Path(STATUS)  # getrusage would count what the parent held before this program began
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    try:
        import resource  # noqa: PLC0415  Windows has none
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)
