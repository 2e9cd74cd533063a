"""The page of `massart evaluate --report`: policies side by side with their intervals, and every number below.

It opens without a network: style and pictures are inside of it, and it has no script. The pictures are drawn here, one
dot and one bar for each row.
"""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

from massart import __version__
from massart.arena.report import frame
from massart.cli.evaluate_tables import name_of, number, pairs, recommended_row, rows_of, title_of
from massart.errors import counted
from massart.evaluation import Comparison, Evaluation, Interval

__all__ = ["page"]

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP, _BOTTOM = 1000, 250, 24, 34, 10, 34  # of a picture
_LABEL: Final = 34  # characters of a name in a picture
_STYLE: Final = "--light:#0550ae;--dark:#6cb6ff"
_OTHER: Final = "--light:#6e7781;--dark:#9aa4af"
_EXTRA: Final = """
.picture { overflow-x: auto; margin: .5rem 0 1rem; }
.plot { width: 100%; min-width: 40rem; height: auto; display: block; }
.plot text { fill: var(--ink); font: 15px var(--sans); }
.plot .tick { fill: var(--ink-soft); font-size: 13px; }
.plot line.grid { stroke: var(--line); }
.plot line.zero { stroke: var(--zero); stroke-width: 2; stroke-dasharray: 5 4; }
.plot .bar { stroke: var(--light); stroke-width: 3; }
.plot .dot { fill: var(--light); }
@media (prefers-color-scheme: dark) { .plot .bar { stroke: var(--dark); } .plot .dot { fill: var(--dark); } }
tr.first th, tr.first td { font-weight: 650; background: var(--shade); }
"""
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


class _Mark(NamedTuple):
    label: str
    value: float
    interval: Interval | None
    style: str = _STYLE


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
    reading = "\n".join(f"<dt>{escape(term)}</dt><dd>{escape(words)}</dd>" for term, words in _READING)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(f"massart evaluate: {log}")}</title>
<style>
{frame.part("page.css")}{_EXTRA}</style>
</head>
<body>
<header>
<p class="kicker">massart evaluate</p>
<h1>{escape(question)}</h1>
{"".join(f'<p class="lead">{escape(words)}</p>' for words in _headlines(found))}
<p class="facts">{escape(f"{log}: {title_of(first)}")}</p>
{chr(10).join(warned)}
</header>
<main>
{chr(10).join(parts)}
<section id="reading">
<h2>How to read this page</h2>
<dl>
{reading}
</dl>
</section>
<section id="again">
<h2>Make this page again</h2>
<div class="command"><pre tabindex="0"><code>{escape(command)}</code></pre></div>
<p class="note">The same log and seed give the same page. It needs no network. massart {escape(__version__)}.</p>
</section>
</main>
</body>
</html>
"""


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
            marks.append(_Mark(f"{one.policy} ({name_of(name)})", line.value, interval))
    picture = _plot(marks, logged, "what the log earned") if marks else ""
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
    marks = [_Mark(f"{one.policy} - {one.other}", one.value, (one.intervals or (None,))[0]) for one in chosen]
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
{_plot(marks, 0.0, "no difference")}
{frame.table("Differences", "Every estimator that both have; the strong rows are in the picture.", heads, lines)}
</section>"""


def _policy(found: Evaluation) -> str:
    marks = [
        _Mark(
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
{_plot(marks, found.logged_value, "what the log earned")}
{frame.table(f"Estimates of {found.policy}", f"Every estimator, {title_of(found)}.", heads, lines)}
{_positions(found)}
{notes}
</section>"""


def _look(found: Evaluation, estimator: str, interval: Interval) -> str:
    return _STYLE if found.recommended == (estimator, interval.kind) else _OTHER


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


def _plot(marks: Sequence[_Mark], reference: float | None, meaning: str) -> str:
    """Dots with bars over a common axis, and a dashed line at the reference."""
    if not marks:
        return ""
    ends: list[float] = [mark.value for mark in marks]
    ends += [end for mark in marks if mark.interval for end in (mark.interval.low, mark.interval.high)]
    ends += [] if reference is None else [reference]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    low, high = low - room, high + room
    height = _TOP + _ROW * len(marks) + _BOTTOM

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _RIGHT - _LEFT) * (value - low) / (high - low)

    spoken = "; ".join(f"{mark.label} {number(mark.value)}{_spoken(mark.interval)}" for mark in marks)
    parts = [*_axis(low, high, x, height - _BOTTOM)]
    if reference is not None:
        place = x(reference)
        parts.append(f'<line class="zero" x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{height - _BOTTOM}"/>')
    for row, mark in enumerate(marks):
        y = _TOP + _ROW * (row + 0.5)
        label = mark.label if len(mark.label) <= _LABEL else "..." + mark.label[3 - _LABEL :]
        parts.append(f'<text x="{_LEFT - 14}" y="{y + 5:.1f}" text-anchor="end">{escape(label)}</text>')
        if mark.interval is not None:
            begin, end = x(mark.interval.low), x(mark.interval.high)
            parts.append(
                f'<line class="bar" style="{mark.style}" x1="{begin:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            )
        parts.append(f'<circle class="dot" style="{mark.style}" cx="{x(mark.value):.1f}" cy="{y:.1f}" r="6"/>')
    words = escape(f"{spoken}; the dashed line is {meaning}" if reference is not None else spoken, quote=True)
    inside = "\n".join(parts)
    drawn = f'<svg class="plot" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{words}">\n{inside}\n</svg>'
    return f'<div class="picture" tabindex="0">\n{drawn}\n</div>'


def _spoken(interval: Interval | None) -> str:
    return "" if interval is None else f" ({number(interval.low)} to {number(interval.high)})"


def _axis(low: float, high: float, x: Callable[[float], float], bottom: float) -> list[str]:
    """Grid lines at round numbers, about six of them."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    parts = []
    for k in range(math.ceil(low / step), math.floor(high / step) + 1):
        place = x(k * step)
        parts.append(f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        text = f"{k * step:.{digits}f}" if abs(k * step) < 1e7 else f"{k * step:.3g}"
        parts.append(f'<text class="tick" x="{place:.1f}" y="{bottom + 20}" text-anchor="middle">{text}</text>')
    return parts
