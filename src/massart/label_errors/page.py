"""The page of a diagnosis: how often labels disagree with predictions, where, and which rows to look at again."""

from html import escape
from typing import TYPE_CHECKING, Final

from massart.arena.report import frame
from massart.arena.report.drawing import OTHER, OURS, Line, Mark, Span, dots, lines
from massart.errors import counted

if TYPE_CHECKING:
    from massart.label_errors.diagnosis import Diagnosis

__all__ = ["page"]

_DRAWN, _LISTED, _FIRST, _ROWS, _CLASSES, _PAIRS = 15, 40, 20, 500, 12, 20  # places, rows and labels that are shown
_BY_HAND: Final = "massart.diagnose(X, y).report('page.html')  # with your own rows"
_READING: Final = (
    (
        "disagreement",
        "The label of a row contradicts the prediction that was made before the label was seen. It is a wrong label, "
        "or a row that the learner got wrong.",
    ),
    (
        "probability",
        "Of the label, by the learner when the row was scored: after a number of other rows (the delay) or all of "
        "them. It has seen the label by then, which makes labels look a little more probable than they are.",
    ),
    (
        "noise rate",
        "If the true label of each row is the most probable one to be shown, the mean chance that a label is wrong is "
        "at most the upper end of the mean chance of a disagreement (Theorem 24 of docs/theory.md). The lower limit is "
        "of the largest chance of any row, and needs a margin (Theorems 12 and 16).",
    ),
    (
        "place",
        "A group, a category, a value or a quarter of the values of a column, cut by the first 256 rows or a few more, "
        "which are not counted. At most 4,096 places are counted, and each takes 1/4096 of the doubt: all intervals "
        "hold at once, at every number of rows, also if rows depend on earlier labels.",
    ),
    (
        "more often, less often",
        "The interval of the place does not touch that of all other rows. It says where labels and predictions "
        "disagree, not why: hard rows do the same as wrong labels.",
    ),
)


def page(found: "Diagnosis", command: str | None = None) -> str:
    """The page as text."""
    low, high = found.limits
    leads = [
        f"{found.disagreements:,} of {found.compared:,} labels ({found.rate:.1%}) contradict the prediction made "
        f"before they were seen; {found.suspected:,} rows have a label that is not the most probable one.",
        f"The mean chance that a label is wrong is at most {high:.1%} (confidence {found.confidence:g}), if the "
        "true label of each row is the most probable one to be shown.",
    ]
    facts = " · ".join(f"{name}: {words}" for name, words in found.facts() if name in ("rows", "left out", "bound"))
    parts = [_places(found), _rows(found), _pairs(found), _curve(found, low, high), _reliability(found)]
    return frame.page(
        "massart diagnose",
        f"massart diagnose: {found.what}",
        "Which labels are probably wrong?",
        leads,
        f"{found.what} · {facts}",
        [],
        [part for part in parts if part],
        _READING,
        command or _BY_HAND,
        "The same rows and options give the same page.",
    )


def _rows(found: "Diagnosis") -> str:
    if not found.suspects:
        return ""
    files = any(one.source for one in found.suspects)
    shown = found.suspects[:_ROWS]
    body = []
    for one in shown:
        where = f"{one.source}, line {one.line:,}" if one.source else f"{one.row:,}"
        other = one.suggested if one.suggested != one.label else "the same"
        numbers = "".join(map(frame.cell, (f"{one.probability:.4f}", f"{one.suggested_probability:.4f}")))
        words = "".join(f'<td class="words">{escape(str(text))}</td>' for text in (one.label, other))
        body.append(f"<tr>{frame.row_head(where, False)}{words}{numbers}</tr>")
    heads = [
        frame.head("row" if not files else "file and line"),
        frame.head("label", words=True),
        frame.head("most probable", words=True),
        *map(frame.head, ("probability of the label", "of the most probable")),
    ]
    caption = f"The {counted(min(_FIRST, len(shown)), 'row')} with the least probable labels."
    more = ""
    if len(body) > _FIRST:
        kept = f", of {len(found.suspects):,} that were kept" if len(shown) < len(found.suspects) else ""
        inside = frame.table("More rows", f"Rows {_FIRST + 1} to {len(shown):,}{kept}.", heads, body[_FIRST:])
        more = f"<details><summary>{counted(len(body) - _FIRST, 'more row')}</summary>\n{inside}\n</details>\n"
    counting = "Lines are counted from 1." if files else "Rows are counted from 0."
    return f"""<section id="rows">
<h2>Rows to look at again</h2>
<p>The label that was least probable comes first. {counting}</p>
{frame.table("Rows", caption, heads, body[:_FIRST])}
{more}</section>"""


def _places(found: "Diagnosis") -> str:
    if not found.places:
        return ""
    more = [one for one in found.places if one.verdict == "more"]
    less = sorted((one for one in found.places if one.verdict == "less"), key=lambda one: one.high - one.rest_low)
    drawn = more[:_DRAWN] + less[: max(0, _DRAWN - len(more))] or list(found.places[:_DRAWN])
    marks = [Mark(one.name, one.rate, Span(one.low, one.high), OURS if one.verdict else OTHER) for one in drawn]
    words = {"more": "more often", "less": "less often", "": "not clear"}
    listed = (more + less)[:_LISTED] or list(found.places[:_DRAWN])
    body = []
    for one in listed:
        tag = {"more": "broke", "less": "kept", "": ""}[one.verdict]
        verdict = f'<td class="words"><span class="tag {tag}">{words[one.verdict]}</span></td>'
        numbers = (
            f"{one.rows:,}",
            f"{one.disagreements:,}",
            *(f"{value:.1%}" for value in (one.rate, one.low, one.high, one.rest_low, one.rest_high)),
        )
        body.append(f"<tr>{frame.row_head(one.name, False)}{verdict}{''.join(map(frame.cell, numbers))}</tr>")
    heads = [frame.head("place"), frame.head("than elsewhere", words=True)]
    heads += list(map(frame.head, ("rows", "disagree", "rate", "low", "high", "elsewhere low", "high")))
    caption = (
        f"{counted(len(listed), 'place')} of {len(found.places):,}; {len(more):,} have more disagreements than the "
    )
    caption += f"other rows and {len(less):,} have fewer, at confidence {found.confidence:g} for all together."
    return f"""<section id="places">
<h2>Where labels and predictions disagree</h2>
<p>The share of rows whose label contradicts the prediction, with an interval. The dashed line is the share in all
rows, {found.rate:.1%}.</p>
{dots(marks, found.rate, "all rows", "{:.1%}".format, share=True)}
{frame.table("Places", caption, heads, body)}
</section>"""


def _curve(found: "Diagnosis", low: float, high: float) -> str:
    if len(found.curve) < 2:
        return ""
    drawn = Line("labels that disagree", [rows for rows, _ in found.curve], [bad / rows for rows, bad in found.curve])
    return f"""<section id="curve">
<h2>Disagreements along the way</h2>
<p>Each row is predicted before it is learned. At first the learner knows little, and many labels contradict it. At the
end the mean chance of a disagreement is between {low:.1%} and {high:.1%} (confidence {found.confidence:g}).</p>
{lines([drawn], "rows", "share of labels that disagree, so far")}
</section>"""


def _pairs(found: "Diagnosis") -> str:
    if not found.pairs:
        return ""
    labels = list(found.labels)
    if len(labels) <= _CLASSES:
        heads = [frame.head("label"), *(frame.head(escape(str(label))) for label in labels)]
        body = []
        for label in labels:
            cells = [
                frame.cell("–" if other == label else f"{found.pairs.get((label, other), 0):,}") for other in labels
            ]
            body.append(f"<tr>{frame.row_head(str(label), False)}{''.join(cells)}</tr>")
        caption = "Rows by their label (down) and the more probable one (across)."
    else:
        heads = [frame.head("label"), frame.head("more probable", words=True), frame.head("rows")]
        body = [
            f'<tr>{frame.row_head(str(label), False)}<td class="words">{escape(str(other))}</td>'
            f"{frame.cell(f'{count:,}')}</tr>"
            for (label, other), count in list(found.pairs.items())[:_PAIRS]
        ]
        caption = "The most frequent pairs of a label and a more probable one."
    return f"""<section id="labels">
<h2>Which labels for which</h2>
<p>All {found.suspected:,} rows whose label is not the most probable one.</p>
{frame.table("Labels", caption, heads, body)}
</section>"""


def _reliability(found: "Diagnosis") -> str:
    points = found.reliability.points()
    if not points:
        return ""
    own = Line("answers", [p for p, _, _ in points], [share for _, share, _ in points], dotted=True)
    ideal = Line("if probabilities were right", [0.0, 1.0], [0.0, 1.0], OTHER, dashed=True)
    return f"""<section id="reliability">
<h2>Are the probabilities right?</h2>
<p>Answers by the probability that they had before the label was seen, and how often the label was the same.</p>
{lines([own, ideal], "probability of the answer", "share of labels that agree", logarithmic=False)}
</section>"""
