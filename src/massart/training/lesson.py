"""One chunk at a time: which of its rows are learned, which only measure, and what is counted of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, crossed
from massart.errors import InvalidDataError
from massart.training.events import Step, Watcher
from massart.training.predictions import Answers, Sink
from massart.training.progress import Progress
from massart.training.pupil import Pupil, scores_of
from massart.training.settings import Settings

__all__ = ["Lesson"]

_Order = NDArray[np.uint64] | None


class Lesson:
    """What is done with a chunk: it is learned, or its rows kept apart are measured."""

    def __init__(
        self, pupil: Pupil, progress: Progress, settings: Settings, width: int | None, watcher: Watcher
    ) -> None:
        self._pupil, self._progress, self._settings = pupil, progress, settings
        self._width = width  # columns, where their number is known
        self._watcher = watcher
        self._every = settings.holdout if isinstance(settings.holdout, int) else 0
        self._judge = np.zeros(1)  # weights that are being measured

    def learn(self, chunk: Chunk, sink: Sink | None, names: tuple[str, str], *, as_scores: bool) -> int:
        """Answer and learn every row; return how many rows were learned."""
        first, learned = self._progress.passed == 1, 0
        answers = Answers() if sink is not None and first else None
        for part in crossed(chunk):
            if first:
                self._note_flaws(part)
            scores, order = self._learn_part(part)
            learned += scores.size
            if answers is not None:
                given = scores
                if order is not None:
                    given = np.full(len(part), np.nan)
                    given[order.astype(np.int64)] = scores
                answers.add(part, given)
        if answers is not None and sink is not None:
            sink.write(answers.text(names, as_scores=as_scores))
        return learned

    def begin_measuring(self) -> None:
        """From now on it is the weights of this moment that are measured."""
        self._judge = self._pupil.weights()

    def measure(self, chunk: Chunk) -> None:
        """Count rows kept apart, and mistakes on them."""
        progress = self._progress
        for part in crossed(chunk):
            if progress.passed == 1 and not self._every:
                self._note_flaws(part)
            judged = part.y != 0
            if part.weight.size:
                judged &= part.weight > 0.0
            if self._every:
                judged &= self._kept_apart(part)
            progress.read += len(part)
            wrong = judged & ((scores_of(part, self._judge) >= 0.0) != (part.y > 0))
            rows, mistakes = progress.measured
            progress.measured = rows + int(np.count_nonzero(judged)), mistakes + int(np.count_nonzero(wrong))

    def _note_flaws(self, part: Chunk) -> None:
        for flaw in part.errors:
            if self._settings.strict:
                raise InvalidDataError(f"{flaw} (without --strict the row would be left out)")
            self._progress.count_flaw(flaw)
            self._watcher.flaw(flaw)

    def _learn_part(self, part: Chunk) -> tuple[NDArray[np.float64], _Order]:
        progress = self._progress
        progress.width = max(progress.width, part.width)
        self._pupil.make_room(self._width or part.width, grows=self._width is None)
        order = self._order(part)
        scores = self._pupil.learn(part, order)
        taken: Any = slice(None) if order is None else order.astype(np.int64)
        plus = part.y[taken] > 0
        wrong = (scores >= 0.0) != plus
        weight = part.weight[taken] if part.weight.size else part.weight
        mistakes, positive = int(np.count_nonzero(wrong)), int(np.count_nonzero(plus))
        progress.read += len(part)
        progress.rounds += scores.size
        progress.weight += float(weight.sum()) if weight.size else scores.size
        progress.wrong += float(weight[wrong].sum()) if weight.size else mistakes
        progress.weight_positive += float(weight[plus].sum()) if weight.size else positive
        if progress.passed == 1:
            progress.learned += scores.size
            progress.mistakes += mistakes
            progress.positive += positive
        if scores.size:
            self._watcher.step(Step(part, order, scores, wrong, weight))
        return scores, order

    def _order(self, part: Chunk) -> _Order:
        """The rows that are learned; None: all of them."""
        labelled = part.y != 0
        unlabelled = len(part) - int(np.count_nonzero(labelled))
        if not unlabelled and not self._every and (not part.weight.size or part.weight.all()):
            return None
        weighty = labelled & (part.weight > 0.0) if part.weight.size else labelled
        taken = weighty & ~self._kept_apart(part) if self._every else weighty
        if self._progress.passed == 1:
            labelled_rows, weighty_rows = len(part) - unlabelled, int(np.count_nonzero(weighty))
            self._progress.unlabelled += unlabelled
            self._progress.weightless += labelled_rows - weighty_rows
            self._progress.held_out += weighty_rows - int(np.count_nonzero(taken))
        return np.flatnonzero(taken).astype(np.uint64)

    def _kept_apart(self, part: Chunk) -> NDArray[np.bool_]:
        """Every so-manieth row of the input, counted from 1."""
        return np.asarray(np.arange(self._progress.read + 1, self._progress.read + len(part) + 1) % self._every == 0)
