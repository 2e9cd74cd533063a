"""Pictures of pages without a script, as SVG: dots with bars over a common axis, and lines over rounds."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final, NamedTuple

__all__ = ["COLOURS", "OTHER", "OURS", "STYLE", "Line", "Mark", "Span", "dots", "lines"]

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP, _BOTTOM = 1000, 250, 24, 34, 10, 34  # of a picture
_LABEL: Final = 29  # characters of a name in a picture
_LEGEND: Final = 50  # characters of a name below lines
_HEIGHT, _MARGIN = 360, 74  # of a picture with lines: its height, and the room left of the axis
OURS: Final = "--light:#0550ae;--dark:#6cb6ff"
OTHER: Final = "--light:#6e7781;--dark:#9aa4af"
COLOURS: Final = (  # of lines: they differ in brightness, too
    OURS,
    "--light:#b35900;--dark:#ffa657",
    "--light:#0a7a55;--dark:#56d4a0",
    "--light:#a0308f;--dark:#f29be0",
    "--light:#7d6608;--dark:#e3c74a",
    "--light:#b3121d;--dark:#ff9a94",
)
STYLE: Final = """
.picture { overflow-x: auto; margin: .5rem 0 1rem; }
.plot { width: 100%; min-width: 40rem; height: auto; display: block; }
.plot text { fill: var(--ink); font: 15px var(--sans); }
.plot .tick { fill: var(--ink-soft); font-size: 13px; }
.plot line.grid { stroke: var(--line); }
.plot line.zero { stroke: var(--zero); stroke-width: 2; stroke-dasharray: 5 4; }
.plot .bar { stroke: var(--light); stroke-width: 3; }
.plot .dot { fill: var(--light); }
.plot .line { fill: none; stroke: var(--light); stroke-width: 2.5; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  .plot .bar, .plot .line { stroke: var(--dark); }
  .plot .dot { fill: var(--dark); }
}
th[scope="row"] { overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .3rem 0; color: var(--accent); }
tr.first th, tr.first td { font-weight: 650; background: var(--shade); }
"""
_Scale = Callable[[float], float]


class Span(NamedTuple):
    """The two ends of a bar."""

    low: float
    high: float


class Mark(NamedTuple):
    """A dot with its name and, if there is one, its bar."""

    label: str
    value: float
    interval: Any  # a `Span`, or another pair of low and high; None: no bar
    style: str = OURS


class Line(NamedTuple):
    """A line with its name."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = OURS
    dashed: bool = False
    dotted: bool = False  # a dot at each point


def dots(
    marks: Sequence[Mark],
    reference: float | None,
    meaning: str,
    words: Callable[[float], str] = "{:.4f}".format,
    *,
    share: bool = False,
) -> str:
    """Dots with bars over a common axis, and a dashed line at the reference; `words` says a number aloud.

    Shares have an axis in percent.

    >>> dots([Mark("a < b", 0.5, Span(0.4, 0.6))], 0.3, "what was").count("a &lt; b 0.5000 (0.4000 to 0.6000)")
    1
    """
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

    spoken = "; ".join(f"{mark.label} {words(mark.value)}{_spoken(mark.interval, words)}" for mark in marks)
    parts = [*_axis(low, high, x, height - _BOTTOM, share)]
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
    return _drawn(parts, height, f"{spoken}; the dashed line is {meaning}" if reference is not None else spoken)


def _spoken(interval: Any, words: Callable[[float], str]) -> str:
    return "" if interval is None else f" ({words(interval.low)} to {words(interval.high)})"


def _drawn(parts: Sequence[str], height: float, words: str) -> str:
    inside = "\n".join(parts)
    named = escape(words, quote=True)
    drawn = f'<svg class="plot" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{named}">\n{inside}\n</svg>'
    return f'<div class="picture" tabindex="0">\n{drawn}\n</div>'


def _steps(low: float, high: float) -> tuple[list[float], int]:
    """Round numbers between two others, about six of them, and the digits that they need."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)], digits


def _axis(low: float, high: float, x: _Scale, bottom: float, share: bool) -> list[str]:
    """Grid lines at round numbers."""
    parts = []
    values, digits = _steps(low, high)
    for value in values:
        place = x(value)
        parts.append(f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        text = f"{value:.{digits}f}" if abs(value) < 1e7 else f"{value:.3g}"
        text = f"{100 * value:.{max(0, digits - 2)}f}%" if share else text
        parts.append(f'<text class="tick" x="{place:.1f}" y="{bottom + 20}" text-anchor="middle">{text}</text>')
    return parts


def lines(
    drawn: Sequence[Line],
    x_name: str,
    y_name: str,
    *,
    logarithmic: bool = True,
    share: bool = True,
    top: float | None = None,
) -> str:
    """Lines over a common axis of numbers, which grow by factors if `logarithmic`; shares are shown in percent.

    Points above `top` are left out of the picture.

    >>> lines([Line("error", [1, 10, 100], [1.0, 0.5, 0.25])], "rounds", "mistakes").count("<polyline")
    1
    >>> lines([], "rounds", "mistakes")
    ''
    """
    own = [line for line in drawn if len(line.x)]
    if not own:
        return ""
    first, last = min(min(line.x) for line in own), max(max(line.x) for line in own)
    last = last if last > first else first + 1.0
    values = [value for line in own for value in line.y if top is None or value <= top]
    low, high = min([0.0, *values]), max(values, default=1.0)
    high = (high if high > low else low + 1.0) + 0.04 * (high - low)
    legend = 26 * math.ceil(len(own) / 2)
    upper, bottom = _TOP + 22, _HEIGHT - 46
    right = _WIDTH - _RIGHT

    def x(value: float) -> float:
        where = math.log(value / first) / math.log(last / first) if logarithmic else (value - first) / (last - first)
        return _MARGIN + (right - _MARGIN) * where

    def y(value: float) -> float:
        return bottom - (bottom - upper) * (value - low) / (high - low)

    parts = [f'<text class="tick" x="4" y="{_TOP + 6}">{escape(y_name)}</text>']
    marks, digits = _steps(low, high)
    for value in marks:
        text = f"{100 * value:.{max(0, digits - 2)}f}%" if share else f"{value:,.{digits}f}"
        parts.append(f'<line class="grid" x1="{_MARGIN}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(f'<text class="tick" x="{_MARGIN - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{text}</text>')
    for value in _powers(first, last) if logarithmic else _steps(first, last)[0]:
        text = f"{value:,.0f}" if logarithmic or last - first > 10 else f"{100 * value:.0f}%"
        parts.append(f'<text class="tick" x="{x(value):.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{text}</text>')
    parts.append(f'<text class="tick" x="{right}" y="{bottom + 38}" text-anchor="end">{escape(x_name)}</text>')
    for number, line in enumerate(own):
        points = [(x(a), y(b)) for a, b in zip(line.x, line.y, strict=True) if top is None or b <= top]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        dash = ' stroke-dasharray="7 5"' if line.dashed else ""
        parts.append(f'<polyline class="line" style="{line.style}"{dash} points="{path}"/>')
        if line.dotted or len(points) == 1:
            parts += [f'<circle class="dot" style="{line.style}" cx="{a:.1f}" cy="{b:.1f}" r="5"/>' for a, b in points]
        at, below = _MARGIN + 455 * (number % 2), _HEIGHT + 14 + 26 * (number // 2)
        parts.append(
            f'<line class="line" style="{line.style}"{dash} x1="{at}" x2="{at + 30}" y1="{below}" y2="{below}"/>'
        )
        label = line.label if len(line.label) <= _LEGEND else line.label[: _LEGEND - 3] + "..."
        parts.append(f'<text x="{at + 38}" y="{below + 5}">{escape(label)}</text>')
    ends = "; ".join(f"{line.label} ends at {_ended(line, share)}" for line in own)
    return _drawn(parts, _HEIGHT + legend + 8, f"Line chart: {y_name}, over {x_name}. {ends}.")


def _ended(line: Line, share: bool) -> str:
    return f"{100 * line.y[-1]:.2f}%" if share else f"{line.y[-1]:,.4g}"


def _powers(first: float, last: float) -> list[float]:
    """Powers of ten in a range; its ends where there are fewer than two."""
    found = [10.0**k for k in range(math.ceil(math.log10(first) - 1e-9), math.floor(math.log10(last) + 1e-9) + 1)]
    return found if len(found) > 1 else [first, last]
