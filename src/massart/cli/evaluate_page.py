"""The page of `massart evaluate --report`: policies side by side with their intervals, and every number below.

It opens without a network: style and pictures are inside of it, and it has no script. The pictures have one dot and one
bar for each row.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from massart.arena.report import frame
from massart.arena.report.drawing import OTHER, OURS, Mark, dots
from massart.cli.evaluate_tables import name_of, number, pairs, recommended_row, rows_of, title_of
from massart.errors import counted
from massart.evaluation import Comparison, Evaluation, Interval

__all__ = ["page"]

_READING: Final = (
    ("value", "What the policy would have earned per decision, by this estimator."),
    (
        "recommended",
        "dr, which is unbiased if propensities are right and varies less the better its model of rewards is; snips "
        "where there is no model; with fewer than 100 effective decisions ips with an interval that holds for every n. "
        "The rule does not look at the values.",
    ),
    ("above logged", "The value minus what was earned in the log, from the same decisions, with its own interval."),
    (
        "differences",
        "Both policies are weighed on the same decisions, so the interval of a difference is not the difference of "
        "two intervals. With fewer than 100 effective decisions, or a mean weight too far from 1, only intervals that "
        "hold for every n are given.",
    ),
    (
        "interval",
        "normal, bootstrap and cressie-read hold for large n; clopper-pearson and bernstein for every n if decisions "
        "are independent; sequence for all n at once, also in logs of a policy that learns. The last four need the "
        "range of the rewards.",
    ),
    (
        "effective sample size",
        "So many decisions of the policy itself would say as much: (sum of weights)^2 / sum of squared weights.",
    ),
    ("mean weight", "1 up to chance, if propensities are right and the policy plays no arm that was never logged."),
)


def page(found: Comparison, log: str, command: str) -> str:
    """The page as text."""
    first = found.evaluations[0]
    said: dict[str, list[str]] = {}
    for one in found.evaluations:
        for words in one.warnings:
            said.setdefault(words, []).append(one.policy)
    warned = [
        f'<p class="lead warning" role="note">{escape(_of(policies, found) + words)}</p>'
        for words, policies in said.items()
    ]
    many = len(found.evaluations) > 1
    parts = [_overview(found), _differences(found) if many else "", *map(_policy, found.evaluations), _bad(found)]
    question = "What would these policies have earned?" if many else f"What would {first.policy} have earned?"
    return frame.page(
        "massart evaluate",
        f"massart evaluate: {log}",
        question,
        _headlines(found),
        f"{log}: {title_of(first)}",
        warned,
        parts,
        _READING,
        command,
        "The same log and seed give the same page.",
    )


def _of(policies: Sequence[str], found: Comparison) -> str:
    """The policies that a sentence is about, unless it is about all."""
    return "" if len(policies) == len(found.evaluations) else f"{', '.join(policies)}: "


def _headlines(found: Comparison) -> list[str]:
    """A sentence for each policy, true of the row that is recommended."""
    words = []
    for one in found.evaluations:
        row = recommended_row(one)
        if row is None:
            words.append(f"The log says nothing about {one.policy}.")
            continue
        ends = f", {row.low} to {row.high} ({row.interval})" if row.low else ""
        words.append(f"{one.policy}: {row.value} per decision by {row.estimator}{ends}.")
    return [*words, f"The log earned {number(found.evaluations[0].logged_value)} per decision."]


def _overview(found: Comparison) -> str:
    marks, lines = [], []
    logged = found.evaluations[0].logged_value
    for one in found.evaluations:
        row = recommended_row(one)
        cells = row or ("nothing is known", *[""] * 8)
        words = "".join(f'<td class="words">{escape(text)}</td>' for text in (cells[0],))
        lines.append(f"<tr>{frame.row_head(one.policy, True)}{words}{''.join(map(frame.cell, cells[1:]))}</tr>")
        if one.recommended is not None:
            name, kind = one.recommended
            line = one[name]
            interval = next((interval for interval in line.intervals if interval.kind == kind), None)
            marks.append(Mark(f"{one.policy} ({name_of(name)})", line.value, interval))
    picture = dots(marks, logged, "what the log earned", number) if marks else ""
    heads = [frame.head("policy"), frame.head("estimator", words=True), *map(frame.head, _HEADS[1:])]
    caption = f"The recommended row of each policy, {title_of(found.evaluations[0])}."
    return f"""<section id="policies">
<h2>Reward per decision</h2>
<p>The dashed line is what the log earned, {number(logged)} per decision.</p>
{picture}
{frame.table("Policies", caption, heads, lines)}
</section>"""


_HEADS: Final = (*("estimator", "value", "standard error", "interval", "low", "high", "above logged", "low", "high"),)


def _differences(found: Comparison) -> str:
    chosen = pairs(found)
    marks = [Mark(f"{one.policy} - {one.other}", one.value, (one.intervals or (None,))[0]) for one in chosen]
    lines = []
    for one in found.differences:
        drawn = one in chosen
        for interval in one.intervals or (None,):
            ends = (
                ("none", "", "") if interval is None else (interval.kind, number(interval.low), number(interval.high))
            )
            cells = name_of(one.estimator), number(one.value), number(one.standard_error), *ends
            lines.append(_row("first" if drawn else "", f"{one.policy} - {one.other}", cells))
            drawn = False  # of several intervals the picture shows the first
    heads = list(map(frame.head, ("policies", "estimator", "difference", "standard error", "interval", "low", "high")))
    return f"""<section id="differences">
<h2>Differences</h2>
<p>Two policies on the same decisions. Where the bar leaves out the dashed line at 0, one is better than the other at
this confidence, if this pair alone was asked for; normal intervals are for large n. A dot without a bar has no interval
that could be trusted.</p>
{dots(marks, 0.0, "no difference", number)}
{frame.table("Differences", "Every estimator that both have; the strong rows are in the picture.", heads, lines)}
</section>"""


def _policy(found: Evaluation) -> str:
    marks = [
        Mark(
            f"{name_of(line.estimator)}, {interval.kind}", line.value, interval, _look(found, line.estimator, interval)
        )
        for line in found.lines
        for interval in line.intervals
        if line.estimator != "iips"
    ]
    first = recommended_row(found)
    lines = []
    if first is not None:
        lines.append(_row("first", f"{first.estimator}, recommended", first[1:]))
    lines += [_row("", row.estimator, row[1:]) for row in rows_of(found)]
    facts = (
        f"effective sample size {found.effective_sample_size:,.1f} of {found.decisions:,}",
        f"largest weight {found.largest_weight:.3g}, {found.largest_share:.2%} of all",
        f"mean weight {found.mean_weight:.3f}",
        f"{found.propensities} propensities",
    )
    heads = list(map(frame.head, _HEADS))
    notes = "".join(f'<p class="note">{escape(words)}</p>' for words in found.notes)
    return f"""<section>
<h2>{escape(found.policy)}</h2>
<p class="facts">{escape(" · ".join(facts))}</p>
{dots(marks, found.logged_value, "what the log earned", number)}
{frame.table(f"Estimates of {found.policy}", f"Every estimator, {title_of(found)}.", heads, lines)}
{_positions(found)}
{notes}
</section>"""


def _look(found: Evaluation, estimator: str, interval: Interval) -> str:
    return OURS if found.recommended == (estimator, interval.kind) else OTHER


def _row(css: str, name: str, cells: Sequence[str]) -> str:
    return f'<tr class="{css}">{frame.row_head(name, False)}{"".join(map(frame.cell, cells))}</tr>'


def _positions(found: Evaluation) -> str:
    if not found.positions:
        return ""
    lines = [
        _row(
            "",
            f"{one.position}",
            (f"{one.decisions:,}", *map(number, (one.logged, one.ips, one.standard_error, one.snips))),
        )
        for one in found.positions
    ]
    heads = list(map(frame.head, ("position", "decisions", "logged", "ips", "standard error", "snips")))
    of = "" if found.slates is None else f" of {counted(found.slates, 'list')}"
    return frame.table("Positions", f"Reward by position{of}.", heads, lines)


def _bad(found: Comparison) -> str:
    if not found.bad_lines:
        return ""
    count = found.evaluations[0].bad_lines
    listed = "".join(f'<p class="note">{escape(words)}</p>' for words in found.bad_lines)
    return f"""<section id="bad">
<h2>Bad lines</h2>
<p>{counted(count, "line")} of the log {"is" if count == 1 else "are"} bad and left out; the first:</p>
{listed}
</section>"""
