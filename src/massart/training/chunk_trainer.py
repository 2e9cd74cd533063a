"""One chunk at a time: which of its rows are learned, which only measure the error, and what is counted of them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, crossed
from massart.data.formats.labels import ClassNumbers, as_text
from massart.data.row_errors import label_error
from massart.errors import InvalidDataError
from massart.kernels.door import NO_WEIGHT, Rows
from massart.learners.calibration import ScoreCalibration
from massart.learners.class_pool import ClassPool
from massart.learners.group_columns import read_groups
from massart.learners.groups import Grouped
from massart.learners.history import History
from massart.learners.products import Products
from massart.learners.sparse_rows import has_weight
from massart.models.saving import learner_meta
from massart.training.progress import Callbacks, Measured, Progress, Step
from massart.training.scoring import Scorer
from massart.training.settings import Settings

if TYPE_CHECKING:
    from massart.training.predict import PredictionLines

__all__ = [
    "AGAIN",
    "BATCH",
    "FIRST",
    "KEPT",
    "SCORES",
    "ChunkTrainer",
    "check_width",
    "row_errors",
    "with_columns",
]

FIRST, AGAIN, KEPT = "learner.", "further.", "kept"  # names of arrays in a file, or their beginnings
BATCH, SCORES = "batch.", "calibration."
_SHOWN = 40  # characters of a label in a message
_ALL, _EVERY = 10_000, 16  # rows whose scores are all calibrated; after them, one of so many
_TOGETHER = 32  # rows that get their probabilities before any of them is learned
_Order = NDArray[np.uint64] | None


class ChunkTrainer:
    """Learns the rows of chunks with a learner that grows with the columns, and counts them in `progress`.

    Only in the first pass are labels unseen, so the counts and the certificate are those of `first`; a copy, `again`,
    goes on learning in later passes.

    Parameters
    ----------
    settings : how to learn.
    progress : the counts to go on from.
    columns : how many there are; None: as many as rows have.
    groups : the names of the columns that say which groups a row belongs to.
    classes : the numbers of more than two classes, which are then learned together; the columns must be known.

    >>> trainer = ChunkTrainer(Settings(noise_rate=0.1, margin=0.05))
    >>> trainer.make_room(3)
    >>> trainer.make_room(9)
    >>> trainer.width
    16
    """

    def __init__(
        self,
        settings: Settings,
        progress: Progress | None = None,
        columns: int | None = None,
        callbacks: Callbacks | None = None,
        groups: Sequence[str] = (),
        classes: ClassNumbers | None = None,
    ) -> None:
        self.settings, self.progress, self.classes = settings, progress or Progress(), classes
        self.first: Any = None  # a learner of two classes, or a ClassPool
        self.again: Any = None
        self.kept: Any = None  # of the best pass, or the last: (columns + 1,) weights, or a ClassPool
        self.calibration = ScoreCalibration()  # of the scores of two classes, in the first pass
        self.history: History | None = None  # of the first pass, if it is wanted
        self.width = 0
        self._columns = columns
        self._callbacks = callbacks or Callbacks()
        self._every = settings.holdout if isinstance(settings.holdout, int) else 0
        self._groups = tuple(groups)
        self._scorer = Scorer(np.zeros(1))

    def restore(
        self, first: Any, again: Any = None, kept: Any = None, calibration: ScoreCalibration | None = None
    ) -> "ChunkTrainer":
        """Go on with learners and weights from a file."""
        self.first, self.again, self.kept, self.width = first, again, kept, first.n_features
        self.calibration = calibration or ScoreCalibration()
        return self

    @property
    def names(self) -> Sequence[str]:
        """Of the classes; two are -1 and 1 here."""
        return ("-1", "1") if self.classes is None else self.classes.names

    @property
    def learner(self) -> Any:
        """The one that learns at present."""
        found = self.again or self.first
        if found is None:
            raise InvalidDataError("nothing was learned, so there is no model")
        return found

    def learn(self, chunk: Chunk, lines: "PredictionLines | None" = None) -> int:
        """Predict and learn every row, the predictions to `lines`; return how many rows were learned."""
        learned = 0
        for part in crossed(chunk):
            if self.progress.passed == 1:
                self._count_errors(part)
            found, order = self._learn_part(part)
            learned += found.size
            if lines is not None:
                given = found
                if order is not None:
                    given = np.full(len(part), np.nan)
                    given[order.astype(np.int64)] = found
                lines.add(part, given)
        return learned

    def begin_measuring(self) -> None:
        """The present weights are the ones that `measure` uses."""
        if self.classes is None:
            self._scorer = Scorer(self.weights(), self.learner, self._groups)

    def measure(self, chunk: Chunk) -> None:
        """Count rows kept apart, and mistakes on them."""
        progress = self.progress
        for part in crossed(chunk):
            if progress.passed == 1 and not self._every:
                self._count_errors(part)
            taken = part.y != 0
            if part.weight.size:
                taken &= part.weight > 0.0
            if self._every:
                taken &= self._kept_apart(part)
            progress.read += len(part)
            wrong = taken & self._are_wrong(part)
            rows, mistakes = progress.measured
            progress.measured = Measured(rows + int(np.count_nonzero(taken)), mistakes + int(np.count_nonzero(wrong)))

    def _are_wrong(self, part: Chunk) -> NDArray[np.bool_]:
        """Which rows are predicted wrongly at present."""
        if self.classes is None:
            return np.asarray((self._scorer.scores(part) >= 0.0) != (part.y > 0))
        return np.asarray(answers_of(part, self.learner) != self._class_numbers(part))

    def _class_numbers(self, part: Chunk) -> NDArray[np.int64]:
        """The numbers of the rows' classes; classes that join are made known to the learners."""
        assert self.classes is not None  # noqa: S101  there are more than two
        before = self.classes.names
        numbers = self.classes.of(part.labels)
        if len(self.classes.names) > len(before):
            places = np.array([self.classes.names.index(name) for name in before], np.int64)
            for learner in (self.first, self.again, self.kept):
                if learner is not None:
                    learner.join(places, np.ones(len(self.classes.names)))
            self.progress.counted.move(places[: len(self.progress.counted.rows)], len(self.classes.names))
        return numbers

    def _without_unknown(self, part: Chunk, numbers: NDArray[np.int64]) -> Chunk:
        """The rows as if those of a class that is not known had no label; they are counted as errors."""
        unknown = (numbers < 0) & (part.y != 0)
        if not unknown.any():
            return part
        if self.progress.passed == 1:
            for row in np.flatnonzero(unknown).tolist():
                text = as_text(part.labels[row])[:_SHOWN]
                error = part.error(int(part.lines[row]), label_error(repr(text), tuple(self.names)), text)
                for one in row_errors(part.replace(errors=(error,)), strict=self.settings.strict):
                    self.progress.count_error(one)
                    self._callbacks.row_error(one)
        return part.replace(y=np.where(unknown, 0, part.y).astype(np.int8))

    def _count_errors(self, part: Chunk) -> None:
        for error in row_errors(part, strict=self.settings.strict):
            self.progress.count_error(error)
            self._callbacks.row_error(error)

    def _learn_part(self, part: Chunk) -> tuple[NDArray[np.float64], _Order]:
        """Learn the rows; their scores before or, of more than two classes, the numbers of the answers."""
        progress = self.progress
        progress.width = max(progress.width, part.width)
        numbers, known = (part.y > 0).astype(np.int64), 2
        if self.classes is not None:
            numbers = self._class_numbers(part)
            known, labelled = len(self.classes.names), part.y
            part = self._without_unknown(part, numbers)
            progress.unlabelled -= int(np.count_nonzero(part.y != labelled)) if progress.passed == 1 else 0
        self.make_room(self._columns or part.width)
        order = self._order(part)
        taken: Any = slice(None) if order is None else order.astype(np.int64)
        classes = numbers[taken]
        if self.classes is None:
            scores = self.learn_rows(part, order)
            answers = (scores >= 0.0).astype(np.int64)
            if progress.passed == 1:
                self._calibrate(part, taken, scores)
        else:
            answers = self._learn_classes(part, numbers, order)
            scores = answers.astype(np.float64)
        weight = part.weight[taken] if part.weight.size else part.weight
        wrong, plus = answers != classes, classes > 0
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
                progress.counted.count(classes, answers, known)
        if scores.size:
            self._callbacks.step(Step(part, order, answers, classes, self.names, weight))
        return scores, order

    def _calibrate(self, part: Chunk, taken: Any, scores: NDArray[np.float64]) -> None:
        """Count scores and their probabilities, then learn the latter: of all rows at first, of every 16th later."""
        first = self.progress.learned
        numbers = np.arange(first, first + scores.size)
        chosen = np.flatnonzero((numbers < _ALL) | (numbers % _EVERY == 0))
        numbers = numbers[chosen]
        if not chosen.size:
            return
        y, scores = np.ascontiguousarray(part.y[taken][chosen]), scores[chosen]
        weight = part.weight[taken][chosen] if part.weight.size else NO_WEIGHT
        counted = self.progress.counted
        counted.count_scores(y > 0, scores)
        for start in range(0, scores.size, _TOGETHER):
            own = slice(start, start + _TOGETHER)
            negative, positive = self.calibration.probabilities(scores[own]).T
            counted.count_probabilities(np.where(y[own] > 0, positive, negative))
            self.calibration.learn(scores[own], y[own], weight[own], every=1 if numbers[start] < _ALL else _EVERY)

    def _order(self, part: Chunk) -> _Order:
        """The rows that are learned; None: all of them."""
        labelled = part.y != 0
        unlabelled = len(part) - int(np.count_nonzero(labelled))
        if not unlabelled and not self._every and (not part.weight.size or part.weight.all()):
            return None
        weighty = labelled & (part.weight > 0.0) if part.weight.size else labelled
        taken = weighty & ~self._kept_apart(part) if self._every else weighty
        if self.progress.passed == 1:
            labelled_rows, weighty_rows = len(part) - unlabelled, int(np.count_nonzero(weighty))
            self.progress.unlabelled += unlabelled
            self.progress.weightless += labelled_rows - weighty_rows
            self.progress.held_out += weighty_rows - int(np.count_nonzero(taken))
        return np.flatnonzero(taken).astype(np.uint64)

    def _kept_apart(self, part: Chunk) -> NDArray[np.bool_]:
        """Every n-th row of the input, counted from 1."""
        return np.asarray(np.arange(self.progress.read + 1, self.progress.read + len(part) + 1) % self._every == 0)

    def make_room(self, width: int) -> None:
        """Have at least `width` columns; where more may come, room is doubled, which costs least in the end."""
        if self.first is None:
            if self.classes is None:
                self.width, self.first = width, self.settings.learner(width, grouped=bool(self._groups))
            else:
                self.width, self.first = width, self.settings.class_learner(width, len(self.names))
        elif self._columns is not None:
            check_width(width, self.width)
        elif width > self.width:
            self._widen(1 << (width - 1).bit_length())

    def _widen(self, width: int) -> None:
        for learner in (self.first, self.again):
            if learner is not None:
                learner.widen(width)
        self.width = width

    def learn_rows(self, part: Chunk, order: _Order = None) -> NDArray[np.float64]:
        """Predict, then learn, the rows of the order, or all; return their scores before learning."""
        rows = Rows.read(part.rows, self.width, scaled=self.settings.normalize)
        scores = np.empty(len(part) if order is None else order.size)
        if scores.size:
            y = part.y if part.y.flags.writeable else part.y.copy()  # kernels are compiled for arrays that may change
            weight = part.weight if part.weight.size else NO_WEIGHT
            learner = self.learner
            grouped = isinstance(learner, Grouped) and self._groups
            groups = {"groups": read_groups(self._groups, part.groups)} if grouped else {}
            for own, piece in self._pieces(order, scores.size):
                learner.learn_rows(rows, y, weight, piece, scores=scores[own], **groups)
        return scores

    def _pieces(self, order: _Order, count: int) -> Iterable[tuple[slice, _Order]]:
        """The rows in parts, between which the history looks at the learner; without a history, all at once."""
        if self.history is None or self.progress.passed > 1:
            return [(slice(None), order)]
        return self.history.pieces(self.first, order, count)

    def _learn_classes(self, part: Chunk, numbers: NDArray[np.int64], order: _Order) -> NDArray[np.int64]:
        """`learn_rows` for more than two classes; returns the numbers of the answers."""
        count = len(part) if order is None else order.size
        if not count:
            return np.empty(0, np.int64)
        rows = Rows.read(part.rows, self.width, scaled=self.settings.normalize)
        weight = part.weight if part.weight.size else NO_WEIGHT
        found = np.empty(count, np.int64)
        for own, piece in self._pieces(order, count):
            found[own] = self.learner.learn_rows(rows, numbers, weight, piece)
        return found

    def weights(self) -> NDArray[np.float64]:
        """(columns + 1,) the weights that predict now, the constant last."""
        if isinstance(self.learner, Products):  # what scores has no one weight per column
            return np.zeros(1)
        return np.ascontiguousarray(self.learner.leaders()[0])

    def features(self) -> int:
        """Columns that have a weight: in the weights kept, or with any expert of the learner."""
        if self.kept is not None and self.classes is None:
            return int(np.count_nonzero(self.kept[:-1]))
        if self.first is None:
            return 0
        counted = self.first.plain if isinstance(self.first, Products) else self.first
        own = [array for name, array in counted.arrays().items() if name.rpartition(".")[2] == "weights"]
        return int(np.count_nonzero(np.logical_or.reduce([has_weight(array)[:-1] for array in own])))

    def begin_again(self) -> None:
        """Go on with a copy."""
        if self.again is None and self.first is not None:
            self.again = self.first.copy()

    def keep(self) -> None:
        """Keep the present weights for the model."""
        self.kept = self.weights() if self.classes is None else self.learner.copy()

    def trim(self, width: int) -> None:
        """End with exactly so many columns."""
        if self.classes is not None:
            return
        if width > self.width:
            self._widen(width)
        for learner in (self.first, self.again):
            if learner is not None:
                learner.narrow(width)
        self.width = width

    def arrays(self, *, checkpoint: bool = False) -> tuple[str, dict[str, NDArray[Any]]]:
        """The kind of the learner and the arrays for a file; a checkpoint also has those of later passes."""
        if self.first is None:
            raise InvalidDataError("nothing was learned, so there is no model")
        name, own = learner_meta(self.first)
        arrays = {f"{FIRST}{part}": array for part, array in own.items()}
        if self.classes is not None:
            return name, arrays | self._class_arrays(checkpoint=checkpoint)
        if self.settings.passes == 1 or checkpoint:  # it is of the scores of the first pass
            arrays |= {f"{SCORES}{part}": array for part, array in self.calibration.arrays().items()}
        if self.settings.passes > 1 and (self.kept is not None or self.again is not None):
            best = self.kept if self.kept is not None else self.weights()
            arrays["batch_weights"] = with_columns(best, self.width)[None]
        if checkpoint:
            if self.again is not None:
                arrays |= {f"{AGAIN}{part}": array for part, array in learner_meta(self.again)[1].items()}
            if self.kept is not None:
                arrays[KEPT] = self.kept
        return name, arrays

    def _class_arrays(self, *, checkpoint: bool) -> dict[str, NDArray[Any]]:
        """What belongs to later passes of more than two classes."""
        parts = {BATCH: self.kept if self.kept is not None else self.again, AGAIN: self.again if checkpoint else None}
        if checkpoint:
            parts[BATCH] = self.kept
        own = {start: learner for start, learner in parts.items() if learner is not None}
        return {f"{start}{part}": array for start, learner in own.items() for part, array in learner.arrays().items()}


def answers_of(part: Chunk, learner: ClassPool) -> NDArray[np.int64]:
    """The number of the most probable class of every row."""
    return np.asarray(learner.probabilities(Rows.read(part.rows, learner.n_features)).argmax(axis=1))


def row_errors(part: Chunk, *, strict: bool) -> Any:
    """The errors of rows that were left out; with `strict`, the first one is raised."""
    if strict and part.errors:
        raise InvalidDataError(f"{part.errors[0]} (with `strict=False` the row is left out)")
    return part.errors


def with_columns(weights: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The same weights for another number of columns.

    >>> with_columns(np.array([1.0, 2.0, 9.0]), 3)
    array([1., 2., 0., 9.])
    """
    found = np.zeros(width + 1)
    common = min(width, weights.size - 1)
    found[:common], found[-1] = weights[:common], weights[-1]
    return found


def check_width(rows: int, model: int) -> None:
    """Refuse rows whose columns are not those of the model."""
    if rows != model:
        raise InvalidDataError(f"the rows have {rows:,} columns, but the model was trained on {model:,}")
