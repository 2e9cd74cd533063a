"""The page of `massart train --report`: error and bound over rounds, experts, weights, reliability and answers."""

from html import escape
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from massart.arena.report import frame
from massart.arena.report.drawing import COLOURS, OTHER, OURS, Line, Mark, dots, lines
from massart.arena.rows import suffix_of, write_bytes
from massart.data.feature_names import column_names, find_names
from massart.files import check_place
from massart.learners.history import History
from massart.models.headers import printable
from massart.training.answers import MOST_IN_TABLE

if TYPE_CHECKING:
    from massart.training import Summary
    from massart.training.run import Training

__all__ = ["Report", "page"]

_WEIGHTS, _EXPERTS, _LEAST = 20, len(COLOURS), 0.01  # that are drawn; the weight of an expert that is
_BINS: Final = 10
_READING: Final = (
    ("error", "Mistakes per round so far: each row is predicted before it is learned."),
    (
        "bound",
        "With the confidence of the certificate, at every round, the mistakes are below it, if labels are flipped with "
        "probability at most the noise rate, at the margin, that the certificate names. Where it is 100%, nothing is "
        "proved yet. It may rise: the certificate names the parameters whose bound is smallest at the time.",
    ),
    ("expert weights", "How much each of the learners that run side by side counts in the vote."),
    ("weights", "Of the scores w.x + c, of rows as they are; columns on other scales cannot be compared."),
)


class Report:
    """A page that is written at the end of a training; a place where it cannot be is refused at once."""

    def __init__(self, path: Path, command: str) -> None:
        suffix_of(path, (".html", ".htm"), "a report")
        check_place(path, "the report")
        self._path, self._command, self._history = path, command, History()

    def follow(self, training: "Training") -> None:
        """Record a training that is about to begin."""
        training.trainer.history = self._history

    def write(self, training: "Training", summary: "Summary") -> None:
        """Write the page."""
        text = page(training, summary, self._history, self._command)
        write_bytes(self._path, text.encode("utf-8", "backslashreplace"))


def page(training: "Training", summary: "Summary", history: History, command: str) -> str:
    """The page as text."""
    told = [line.partition("  ") for line in takewhile(bool, summary.lines())]  # a table of classes would follow
    facts = {name.strip(): words.strip() for name, _, words in told}
    leads = [f"{name.capitalize()} {facts[name]}." for name in ("error", "bound") if name in facts]
    parts = [_progress(history), _experts(history), _weights(training), _answers(summary)]
    return frame.page(
        "massart train",
        f"massart train: {training.reader.sources[0].name}",
        "What was learned?",
        leads,
        " · ".join(f"{name}: {words}" for name, words in facts.items() if name not in ("error", "bound", "speed")),
        [f'<p class="lead warning" role="note">{escape(words)}</p>' for words in summary.warnings],
        [part for part in parts if part],
        _READING,
        command,
        "The same data and seed give the same page, where no training was resumed.",
    )


def _progress(history: History) -> str:
    moments = history.moments
    if not moments:
        return ""
    rounds = [one.rounds for one in moments]
    drawn = [
        Line("mistakes", rounds, [one.mistakes / one.rounds for one in moments]),
        Line(
            f"bound (confidence {history.confidence:g})",
            rounds,
            [min(1.0, one.bound / one.rounds) for one in moments],
            COLOURS[1],
            dashed=True,
        ),
    ]
    return f"""<section id="progress">
<h2>Error and bound over rounds</h2>
<p>Mistakes per round so far, each row predicted before it was learned, and the bound on them.</p>
{lines(drawn, "rounds", "mistakes per round")}
</section>"""


def _experts(history: History) -> str:
    largest: dict[str, float] = {}
    for one in history.moments:
        for name, share in one.weights.items():
            largest[name] = max(share, largest.get(name, 0.0))
    named = [name for name in sorted(largest, key=lambda one: -largest[one]) if largest[name] >= _LEAST][:_EXPERTS]
    if len(largest) < 2:
        return ""
    rounds = [one.rounds for one in history.moments]
    drawn = [
        Line(name, rounds, [one.weights.get(name, 0.0) for one in history.moments], style)
        for name, style in zip(named, COLOURS, strict=False)
    ]
    return f"""<section id="experts">
<h2>Experts</h2>
<p>The weights of those that ever counted most, of {len(largest)} that learn side by side.</p>
{lines(drawn, "rounds", "weight")}
</section>"""


def _weights(training: "Training") -> str:
    """The largest weights of two classes."""
    trainer, schema = training.trainer, training.reader.schema
    if trainer.classes is not None or trainer.first is None:
        return ""
    every = (trainer.weights() if trainer.kept is None else trainer.kept)[:-1]
    order = [int(k) for k in np.lexsort((np.arange(every.size), -np.abs(every)))[:_WEIGHTS] if every[k] != 0.0]
    if not order:
        return ""
    names = _names(training, order, schema)
    marks = [Mark(names[k], float(every[k]), None, OURS if every[k] > 0.0 else OTHER) for k in order]
    body = [f"<tr>{frame.row_head(names[k], False)}{frame.cell(f'{every[k]:+.6g}')}</tr>" for k in order]
    table = frame.table("Weights", "The largest in size.", [frame.head("column"), frame.head("weight")], body)
    positive = escape(printable(str(training.classes[-1])))
    return f"""<section id="weights">
<h2>Weights</h2>
<p>Right of the dashed line a column speaks for {positive}, left of it against.</p>
{dots(marks, 0.0, "no weight", "{:+.4g}".format)}
{table}
</section>"""


def _names(training: "Training", columns: list[int], schema: Any) -> dict[int, str]:
    if schema.bits is None:
        first = 1 if schema.format == "svmlight" else 0
        known = schema.columns
        return {k: printable(known[k]) if known else f"index {k + first}" for k in columns}
    found = column_names(schema, columns)
    left = [k for k in columns if k not in found]
    if left and not any(source.is_pipe for source in training.reader.sources):
        found |= find_names([source.name for source in training.reader.sources], schema, left)
    return {k: printable(" | ".join(found[k])) if k in found else f"#{k}" for k in columns}


def _answers(summary: "Summary") -> str:
    """Which label was answered for which, and for two labels how reliable probabilities were."""
    counts, names = summary.counts, [printable(name) for name in summary.answers]
    if not summary.rows:
        return ""
    table = ""
    if len(names) <= MOST_IN_TABLE and counts.table:
        heads = [frame.head("label"), *(frame.head(escape(name)) for name in names)]
        heads += [frame.head("precision"), frame.head("recall")]
        body = []
        for k, name in enumerate(names):
            both = ["–" if one is None else f"{one:.3f}" for one in (counts.precision(k), counts.recall(k))]
            cells = "".join(map(frame.cell, (*(f"{count:,}" for count in counts.table[k]), *both)))
            body.append(f"<tr>{frame.row_head(name, False)}{cells}</tr>")
        table = frame.table("Answers", "Rows by their label (down) and the answer (across).", heads, body)
    return f"""<section id="answers">
<h2>Answers</h2>
<p>Each row was answered before its label was learned.</p>
{table}
{_reliability(summary)}
</section>"""


def _reliability(summary: "Summary") -> str:
    """Of two labels: answers by their probability. Scores are counted in bins, each of which has one probability."""
    points = summary.reliability(_BINS)
    if not points:
        return ""
    own = Line("answers", [p for p, _, _ in points], [share for _, share, _ in points], dotted=True)
    ideal = Line("if probabilities were right", [0.0, 1.0], [0.0, 1.0], OTHER, dashed=True)
    drawn = lines([own, ideal], "probability of the positive label", "share of positive labels", logarithmic=False)
    return (
        f"<p>Probabilities by the calibration at the end, of the scores from before each row was learned.</p>\n{drawn}"
    )
