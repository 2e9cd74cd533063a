"""How far a training has come: where in which pass, and what has been counted; a checkpoint holds it."""

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from massart.data.chunk import Position, RowError
from massart.errors import ModelFileError

__all__ = ["FINISH", "LEARN", "MEASURE", "OTHER_LABELS", "Progress"]

LEARN, MEASURE, FINISH = "learn", "measure", "finish"  # the rows; the rows kept apart; the model file
OTHER_LABELS = "others"
_MOST_KINDS = 20  # of flaws that are told apart
_MOST_LABELS, _LONGEST_LABEL = 20, 40  # unknown labels that are counted one by one; characters of one
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass
class Progress:
    """Counts so far, and the place from which to go on.

    >>> progress = Progress(learned=10, position=Position(0, 420, 10))
    >>> Progress.from_dict(progress.as_dict()) == progress
    True
    """

    passed: int = 1  # the pass under way, from 1
    phase: str = LEARN
    position: Position = Position()  # noqa: RUF009  a NamedTuple does not change
    read: int = 0  # rows met in this phase, those left out included
    # Of the first pass:
    learned: int = 0
    mistakes: int = 0
    positive: int = 0  # of those learned, with the positive label
    unlabelled: int = 0
    weightless: int = 0
    held_out: int = 0
    width: int = 0  # columns seen
    flaws: dict[str, int] = field(default_factory=dict)  # rows left out, by kind
    unknown_labels: dict[str, int] = field(default_factory=dict)  # those of them left out for their label, by label
    output: str = ""  # where the answers of the first pass go, and how
    predictions: int = 0  # bytes written there, if it is a file
    # Of the pass under way, as sums of importances:
    rounds: int = 0
    weight: float = 0.0
    wrong: float = 0.0
    weight_positive: float = 0.0
    # Of the rows kept apart: (rows, mistakes) after each pass, and of the measurement under way.
    holdout: list[tuple[int, int]] = field(default_factory=list)
    measured: tuple[int, int] = (0, 0)

    def as_dict(self) -> dict[str, Any]:
        """For a JSON header; `from_dict` gives it back."""
        return asdict(self) | {"position": list(self.position)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Progress":
        """The progress whose `as_dict()` this is."""
        try:
            found = cls(**given)
            found.position = Position(*given["position"])
            found.positive, found.unknown_labels = int(given["positive"]), dict(given["unknown_labels"])
            found.holdout = [(int(rows), int(wrong)) for rows, wrong in given["holdout"]]
            found.measured = (int(given["measured"][0]), int(given["measured"][1]))
        except (TypeError, KeyError, ValueError, IndexError) as error:
            raise ModelFileError(f"the progress that the checkpoint tells of is not whole ({error})") from None
        return found

    @property
    def flawed(self) -> int:
        """Rows left out because something is wrong with them."""
        return sum(self.flaws.values())

    @property
    def best_pass(self) -> int | None:
        """The pass, from 1, after which the rows kept apart had the fewest mistakes, the first of equals."""
        wrong = [mistakes for rows, mistakes in self.holdout if rows]
        return wrong.index(min(wrong)) + 1 if wrong else None

    def count_flaw(self, flaw: RowError) -> None:
        """Count it among those of its kind.

        >>> progress = Progress()
        >>> for found in ("'x'", "'y'"):
        ...     progress.count_flaw(RowError("a.svm", 1, 3, f"expected a number, found {found}"))
        >>> progress.flaws
        {'expected a number, found ...': 2}
        """
        # What is quoted differs between two flaws of a kind, unless it is a sign; advice comes after a semicolon.
        kind = _QUOTED.sub(lambda found: "..." if re.search(r"\w", found[0]) else found[0], flaw.message).split("; ")[0]
        if kind not in self.flaws and len(self.flaws) >= _MOST_KINDS:
            kind = "other flaws"
        self.flaws[kind] = self.flaws.get(kind, 0) + 1
        if flaw.label is not None:
            label = flaw.label[:_LONGEST_LABEL]
            if label not in self.unknown_labels and len(self.unknown_labels) >= _MOST_LABELS:
                label = OTHER_LABELS
            self.unknown_labels[label] = self.unknown_labels.get(label, 0) + 1

    def next_phase(self, phase: str, passed: int) -> None:
        """Begin a pass, a measurement or the end."""
        self.phase, self.passed = phase, passed
        self.position, self.read, self.measured = Position(), 0, (0, 0)
        if phase == LEARN:
            self.rounds, self.weight, self.wrong, self.weight_positive = 0, 0.0, 0.0, 0.0
