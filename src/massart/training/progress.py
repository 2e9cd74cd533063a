"""How far a training has come, which a checkpoint holds, and what a training reports on the way."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Position, RowError
from massart.errors import ModelFileError
from massart.training.answers import Answers
from massart.values import Record

if TYPE_CHECKING:
    from massart.training.run import Training

__all__ = ["FINISH", "LEARN", "MEASURE", "OTHER_LABELS", "Callbacks", "Measured", "Progress", "Step"]

LEARN, MEASURE, FINISH = "learn", "measure", "finish"  # the rows; the rows kept apart; the model file
OTHER_LABELS = "others"
_MOST_KINDS = 20  # of row errors that are counted one by one
_MOST_LABELS, _LONGEST_LABEL = 20, 40  # unknown labels that are counted one by one; characters of one
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class Measured(NamedTuple):
    """Mistakes on the rows kept apart."""

    rows: int = 0
    mistakes: int = 0

    @property
    def error(self) -> float:
        """Mistakes per row; 0 without rows."""
        return self.mistakes / max(1, self.rows)


class Progress(Record):
    """Counts so far, and the place from which to go on.

    >>> progress = Progress(learned=10, position=Position(0, 420, 10))
    >>> Progress.from_dict(progress.as_dict()) == progress
    True
    """

    passed: int = 1  # the pass under way, from 1
    phase: str = LEARN
    position: Position = Position()
    read: int = 0  # rows read in this phase, those left out included
    # Of the first pass:
    learned: int = 0
    mistakes: int = 0
    positive: int = 0  # of those learned, with the positive label
    unlabelled: int = 0
    weightless: int = 0
    held_out: int = 0
    width: int = 0  # columns seen
    row_errors: dict[str, int] = {}  # rows left out, by kind of error
    unknown_labels: dict[str, int] = {}  # those of them left out for their label, by label
    output: str = ""  # where the predictions of the first pass go, and how
    predictions: int = 0  # bytes written there, if it is a file
    answers: Answers | None = None  # of the first pass; never None once made
    # Of the pass under way; the last three are sums of importances:
    rounds: int = 0
    weight: float = 0.0
    wrong: float = 0.0
    weight_positive: float = 0.0
    # Of the rows kept apart: after each pass, and of the measurement under way.
    holdout: list[Measured] = []
    measured: Measured = Measured()

    def __post_init__(self) -> None:
        self.answers = Answers() if self.answers is None else self.answers

    def as_dict(self) -> dict[str, Any]:
        """For a JSON header; `from_dict` gives it back."""
        place = list(self.position if self.position.marks else self.position[:3])
        return self.asdict() | {"position": place, "answers": self.counted.asdict()}

    @property
    def counted(self) -> Answers:
        """The answers of the first pass."""
        assert self.answers is not None  # noqa: S101  __post_init__ has seen to it
        return self.answers

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Progress":
        """The progress whose `as_dict()` this is."""
        try:
            found = cls(**given)
            place = given["position"]
            found.position = Position(*place[:3], *map(tuple, place[3:]))
            found.answers = Answers.from_dict(dict(given["answers"]))
            found.positive, found.unknown_labels = int(given["positive"]), dict(given["unknown_labels"])
            found.holdout = [Measured(int(rows), int(mistakes)) for rows, mistakes in given["holdout"]]
            found.measured = Measured(int(given["measured"][0]), int(given["measured"][1]))
        except (TypeError, KeyError, ValueError, IndexError) as error:
            raise ModelFileError(f"the progress in the checkpoint is incomplete ({error})") from None
        return found

    @property
    def rows_with_errors(self) -> int:
        """Rows left out because they could not be read."""
        return sum(self.row_errors.values())

    @property
    def best_pass(self) -> int | None:
        """The pass, from 1, after which the rows kept apart had the fewest mistakes, the first of equals."""
        mistakes = [measured.mistakes for measured in self.holdout if measured.rows]
        return mistakes.index(min(mistakes)) + 1 if mistakes else None

    def count_error(self, error: RowError) -> None:
        """Count it among those of its kind.

        >>> progress = Progress()
        >>> for found in ("'x'", "'y'"):
        ...     progress.count_error(RowError("a.svm", 1, 3, f"expected a number, found {found}"))
        >>> progress.row_errors
        {'expected a number, found ...': 2}
        """
        # What is quoted differs between two errors of a kind, unless it is a sign; advice comes after a semicolon.
        kind = _QUOTED.sub(lambda found: "..." if re.search(r"\w", found[0]) else found[0], error.message).split("; ")[
            0
        ]
        if kind not in self.row_errors and len(self.row_errors) >= _MOST_KINDS:
            kind = "other errors"
        self.row_errors[kind] = self.row_errors.get(kind, 0) + 1
        if error.label is not None:
            label = error.label[:_LONGEST_LABEL]
            if label not in self.unknown_labels and len(self.unknown_labels) >= _MOST_LABELS:
                label = OTHER_LABELS
            self.unknown_labels[label] = self.unknown_labels.get(label, 0) + 1

    def next_phase(self, phase: str, passed: int) -> None:
        """Begin a pass, a measurement or the end."""
        self.phase, self.passed = phase, passed
        self.position, self.read, self.measured = Position(), 0, Measured()
        if phase == LEARN:
            self.rounds, self.weight, self.wrong, self.weight_positive = 0, 0.0, 0.0, 0.0


class Step(NamedTuple):
    """Some rows that were just learned, in order; `weight` is empty where all importances are 1."""

    part: Chunk
    order: NDArray[np.uint64] | None  # which of its rows were learned; None: all
    answers: NDArray[np.int64]  # before learning: numbers of classes
    classes: NDArray[np.int64]  # of the rows
    names: Sequence[str]  # of the classes
    weight: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.answers.size)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which of them were predicted wrongly."""
        return np.asarray(self.answers != self.classes)

    def row(self, place: int) -> int:
        """Where the row at a place of the order stands in the part."""
        return place if self.order is None else int(self.order[place])

    def features(self, place: int) -> int:
        """Its values other than 0."""
        row = self.row(place)
        if self.part.is_sparse:
            indptr = self.part.rows[2]
            return int(indptr[row + 1]) - int(indptr[row])
        return int(np.count_nonzero(self.part.rows[row]))


class Callbacks:
    """What a training, a prediction or a conversion calls on the way; a view overrides what it shows."""

    def begin(self, training: "Training") -> None:
        """The first row is about to be learned, of this or of a later pass."""

    def step(self, step: Step) -> None:
        """Rows were learned and counted in the training's progress."""

    def advanced(self, rows: int, fraction: float | None) -> None:
        """So many rows were predicted or converted, and this share of the input was read, if that is known."""

    def row_error(self, error: RowError) -> None:
        """A row was left out."""

    def measured(self, passed: int, measured: Measured) -> None:
        """The error on rows kept apart, after a pass."""

    def note(self, words: str) -> None:
        """A message."""
