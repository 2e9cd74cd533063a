"""Predictions of a model for the rows of a file, streamed: as many lines out as rows in."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from massart.data.chunk import crossed
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.errors import InvalidDataError
from massart.files import check_place
from massart.training.ahead import Ahead
from massart.training.checkpoint import class_names, open_model
from massart.training.events import Watcher
from massart.training.predictions import Answers, PredictionFile, Sink
from massart.training.pupil import check_width, scores_of
from massart.training.settings import Settings

__all__ = ["Predicted", "predict_file"]


@dataclass(frozen=True)
class Predicted:
    """What was predicted."""

    rows: int
    labelled: int
    mistakes: int  # among the labelled
    flawed: int  # rows left out

    @property
    def error(self) -> float | None:
        """Mistakes per labelled row."""
        return self.mistakes / self.labelled if self.labelled else None


def predict_file(
    model: Path,
    data: Sequence[str],
    out: Path | Sink,
    *,
    scores: bool = False,
    data_format: str | None = None,
    strict: bool = False,
    workers: int = 2,
    watcher: Watcher | None = None,
) -> Predicted:
    """Write a label, or the score w.x + c, for every row; the model's own reading says what its columns are.

    A score of 0 or more means the positive label. Columns that the model has never met count for nothing.
    """
    watcher = watcher or Watcher()
    saved = open_model(model, mmap=True)
    weights = saved.arrays.get("batch_weights")
    weights = saved.pupil(Settings()).weights() if weights is None else np.array(weights[0])
    names = class_names(saved.classes)
    reading = saved.reading
    if "reading" not in saved.meta and isinstance(saved.classes[0], str):
        reading = replace(reading, labels=None)  # whatever labels the rows may have, they need not be these
    if data_format is not None and data_format != reading.format:
        reading = replace(reading, format=data_format, header=None, separator=None)
    if isinstance(out, Path):
        check_place(out, "the predictions")
    reader = Reader(find_sources(list(data)), reading, workers=workers, labelled=False, tags=True)
    if reader.schema.width is not None:
        check_width(reader.schema.width, weights.size - 1)
    sink = PredictionFile(out) if isinstance(out, Path) else out
    counts: Counter[str] = Counter()
    try:
        for chunk in Ahead(reader.chunks()):
            answers = Answers()
            for part in crossed(chunk):
                for flaw in part.errors:
                    if strict:
                        raise InvalidDataError(f"{flaw} (without --strict the row would be left out)")
                    watcher.flaw(flaw)
                found = scores_of(part, weights)
                labelled = part.y != 0
                wrong = labelled & ((found >= 0.0) != (part.y > 0))
                counts["rows"] += len(part)
                counts["labelled"] += int(np.count_nonzero(labelled))
                counts["mistakes"] += int(np.count_nonzero(wrong))
                counts["flawed"] += len(part.errors)
                answers.add(part, found)
            sink.write(answers.text(names, as_scores=scores))
            watcher.advanced(counts["rows"], reader.fraction())
        if isinstance(sink, PredictionFile):
            sink.finish()
    except BaseException:
        if isinstance(sink, PredictionFile):
            sink.abandon()
        raise
    return Predicted(counts["rows"], counts["labelled"], counts["mistakes"], counts["flawed"])
