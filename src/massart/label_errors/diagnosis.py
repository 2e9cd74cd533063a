"""What a diagnosis found: numbers, the same in words, and as files and a page."""

import os
from functools import cached_property
from typing import Any, Final, NamedTuple

from massart.arena.rows import suffix_of, write_bytes
from massart.errors import counted
from massart.label_errors.places import MOST_PLACES, Place
from massart.label_errors.suspects import Suspect, check_table, writing_table
from massart.learners.certificate import Certificate, facts_html, noise_rate_words
from massart.values import Value

__all__ = ["BINS", "Diagnosis", "Reliability"]

BINS: Final = 10  # of probabilities
_LISTED: Final = 5  # rows and places in a text


class Reliability(NamedTuple):
    """Answers by their probability, in ten bins: rows, the sums of their probabilities, and right answers."""

    rows: list[float]
    probabilities: list[float]
    right: list[float]

    def points(self) -> list[tuple[float, float, int]]:
        """(mean probability, share of right answers, rows) of each bin that has rows."""
        bins = zip(self.rows, self.probabilities, self.right, strict=True)
        return [(total / rows, right / rows, int(rows)) for rows, total, right in bins if rows]


class Diagnosis(Value):
    """Which labels are probably wrong, and where.

    Parameters
    ----------
    rows : rows with a label, which were learned.
    left_out : rows that were not, by the reason.
    labels : how often each label came.
    compared, disagreements : rows that were predicted before they were learned, and how many of these predictions the
        label contradicted.
    limits : for the mean chance of a disagreement, at `confidence`, valid at every row (Theorem 24(a) of
        docs/theory.md). If the true label of each row is the most probable one to be shown, the second is an upper
        limit for the mean chance that a label is wrong (24(b)).
    suspected : rows whose label was not the most probable one when they were scored.
    suspects : the rows with the least probable labels, the least probable first.
    pairs : how often each pair of a label and another, more probable one came, the most frequent first.
    places : where labels and predictions disagree more or less often than elsewhere, the clearest first.
    reliability : probabilities of answers, each before its label was seen, against how often they were right.
    curve : pairs of rows compared and disagreements among them, along the way.
    classifier : what was learned.
    """

    what: str
    rows: int
    left_out: dict[str, int]
    labels: dict[Any, int]
    compared: int
    disagreements: int
    limits: tuple[float, float]
    confidence: float
    suspected: int
    suspects: tuple[Suspect, ...]
    pairs: dict[tuple[Any, Any], int]
    places: tuple[Place, ...]
    reliability: Reliability
    curve: tuple[tuple[int, int], ...]
    classifier: Any

    @property
    def rate(self) -> float:
        """Disagreements per row compared."""
        return self.disagreements / max(1, self.compared)

    @cached_property
    def noise_rate(self) -> float:
        """A lower limit (99%) for the largest chance that a label is wrong; 0 while nothing can be said.

        It holds if the margin is as large as the learner assumes: see `MassartClassifier`.
        """
        return float(self.classifier.noise_rate_)

    @cached_property
    def certificate(self) -> Certificate:
        """What is proved of the mistakes of the learner itself."""
        found: Certificate = self.classifier.certificate()
        return found

    def facts(self) -> list[tuple[str, str]]:
        """What was found, in words, one fact each."""
        high = self.limits[1]
        labels = ", ".join(f"{label} ({counted(rows, 'row')})" for label, rows in list(self.labels.items())[:12])
        facts = [
            ("rows", f"{self.rows:,}; labels {labels}{' and others' if len(self.labels) > 12 else ''}"),
            (
                "disagreements",
                f"{self.disagreements:,} of {self.compared:,} ({self.rate:.2%}): labels that contradict the prediction "
                "made before they were seen",
            ),
            (
                "noise rate",
                f"on average at most {high:.2%} ({self.confidence:.4g}, if the true label of each row is the most "
                f"probable one); at its largest {noise_rate_words(self.noise_rate)}",
            ),
            ("suspected", f"{self.suspected:,} rows have a label that is not the most probable one"),
            ("places", self._place_words()),
            ("bound", self.certificate.sentence),
        ]
        if self.left_out:
            facts.insert(1, ("left out", "; ".join(f"{rows:,} {why}" for why, rows in self.left_out.items())))
        return facts

    def _place_words(self) -> str:
        marked = [one.verdict for one in self.places]
        more, less = marked.count("more"), marked.count("less")
        return (
            f"{counted(len(self.places), 'place')} compared: labels disagree more often than elsewhere in {more:,}, "
            f"less often in {less:,} ({self.confidence:.4g} for all {MOST_PLACES:,} possible ones together)"
        )

    def __str__(self) -> str:
        facts = self.facts()
        facts += [("place", self.place_line(one)) for one in self.places[:_LISTED] if one.verdict]
        facts += [("row", suspect_line(one)) for one in self.suspects[:_LISTED]]
        return "\n".join(f"{name:<13}  {words}" for name, words in facts)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.rows:,} rows: {self.suspected:,} suspected labels>"

    def _repr_html_(self) -> str:
        rows = [(f"row {one.row:,}", suspect_line(one).partition(": ")[2]) for one in self.suspects[:_LISTED]]
        places = [(one.name, place_words(one)) for one in self.places[:_LISTED] if one.verdict]
        return facts_html([*self.facts(), *places, *rows], f"Diagnosis of {self.what}")

    @staticmethod
    def place_line(place: Place) -> str:
        """A place and its rates."""
        return f"{place.name}: {place_words(place)}"

    def write(self, path: str | os.PathLike[str]) -> None:
        """The suspects as a .csv or .parquet file, for whoever labels them again."""
        check_table(path, "the rows")
        with writing_table(path) as table:
            columns = [list(column) for column in zip(*self.suspects, strict=True)]
            if columns:
                table.add(columns)

    def page(self, command: str | None = None) -> str:
        """All of it as a page that opens without a network; `command` is what makes it again."""
        from massart.label_errors.page import page  # noqa: PLC0415  few need it

        return page(self, command)

    def report(self, path: str | os.PathLike[str], command: str | None = None) -> None:
        """Write the page."""
        suffix_of(path, (".html", ".htm"), "a report")
        write_bytes(path, self.page(command).encode("utf-8", "backslashreplace"))


def place_words(place: Place) -> str:
    """The rates of a place and of the other rows."""
    rest = f"elsewhere {place.rest_low:.1%} to {place.rest_high:.1%}"
    return f"{place.rate:.1%} of {counted(place.rows, 'row')} disagree ({place.low:.1%} to {place.high:.1%}), {rest}"


def suspect_line(suspect: Suspect) -> str:
    """A row, its label and a more probable one."""
    where = f"{suspect.source}, line {suspect.line:,}" if suspect.source else f"{suspect.row:,}"
    words = f"{where}: {suspect.label} has probability {suspect.probability:.3f}"
    if suspect.suggested != suspect.label:
        words += f", {suspect.suggested} {suspect.suggested_probability:.3f}"
    return words
