"""Curves with their bands over seeds: their colours, the data of the page's charts, and a figure by Matplotlib.

Massart's learners are strong and thick, the others muted and thin, the same learner the same everywhere. Neighbours in
each list of colours differ in lightness as well as in hue, so that they stay apart for colour-blind eyes and in grey;
every colour has at least three times the contrast of its background. The bound, or the guarantee, alone is dashed.
"""

import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from massart.arena.report.kinds import Curve, Race, WorldResult
from massart.arena.report.summary import summarise
from massart.arena.rows import suffix_of, write_bytes
from massart.errors import needs

__all__ = ["FIGURE_SUFFIXES", "REFERENCE", "Style", "chart_data", "figure", "styles"]

FIGURE_SUFFIXES = (".png", ".svg", ".pdf")

# (on white, on near-black)
_OURS = (
    ("#0550ae", "#6cb6ff"),
    ("#bc4c00", "#ffa657"),
    ("#0a7b60", "#45d4ae"),
    ("#8250df", "#d2a8ff"),
    ("#a40e4c", "#ff9bce"),
)
_OTHERS = (
    ("#7d6a2f", "#d6c48a"),
    ("#7f8c99", "#8b98a5"),
    ("#6d4a5e", "#d3a9bf"),
    ("#5f8f9c", "#7fb6c4"),
    ("#4d5a45", "#b9c9ad"),
    ("#a3837a", "#a98b82"),
    ("#4f5b7c", "#aab6d8"),
)
_DASHES = ((), (2, 3), (7, 3, 2, 3), (11, 3, 2, 3))  # of the first learners with a colour, of the next ones, ...
_COLUMNS = 3
_LEGEND_COLUMNS = 6


@dataclass(frozen=True)
class Style:
    """How a learner's curve is drawn on a light and on a dark page."""

    light: str
    dark: str
    width: float
    dash: tuple[int, ...]


REFERENCE = Style("#1b1f24", "#f0f3f6", 2.0, (6, 4))


def styles(race: Race[Any]) -> dict[str, Style]:
    """A style for each learner; those shown first get the plain lines, and ours the same colours in every race."""
    familiar = [name for name in race.kind.familiar if name in race.learners]
    given = {True: 0, False: 0}
    result = {}
    for name in dict.fromkeys([*familiar, *race.shown_first(), *race.learners]):
        ours = race.is_ours(name)
        colours, width = (_OURS, 3.0) if ours else (_OTHERS, 1.6)
        lap, place = divmod(given[ours], len(colours))
        result[name] = Style(*colours[place], width, _DASHES[lap % len(_DASHES)])
        given[ours] += 1
    return result


def chart_data(race: Race[Any]) -> dict[str, Any]:
    """Everything the page's script needs, as plain JSON."""
    kind = race.kind
    return {
        "axis": kind.axis,
        "against": kind.against,
        "digits": kind.digits,
        "reference": {"title": kind.reference, **vars(REFERENCE)},
        "styles": {name: {"title": race.title(name), **vars(style)} for name, style in styles(race).items()},
        "worlds": [_world(race, world) for world in race.worlds],
    }


def _world(race: Race[Any], world: WorldResult[Any]) -> dict[str, Any]:
    shown, kind = race.shown_first(), race.kind
    reference = kind.reference_curve(world)
    digits = kind.digits + 1 if kind.digits == 0 else kind.digits + 2
    return {
        "name": world.name,
        "noise_rate": getattr(world, "noise_rate", None),
        "rounds": world.rounds,
        "from": kind.first_round(world),
        "ceiling": kind.ceiling(world, shown),
        "reference": None if reference is None else _points(reference, digits),
        "curves": [
            {"learner": s.learner, "shown": s.learner in shown, "seeds": s.seeds, **_points(s.curve, digits)}
            for s in world.back_to_front()
        ],
    }


def _points(curve: Curve, digits: int) -> dict[str, list[float]]:
    return {
        "x": list(curve.rounds),
        "mean": [round(value, digits) for value in curve.mean],
        "low": [round(value, digits) for value in curve.low],
        "high": [round(value, digits) for value in curve.high],
    }


def figure(rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write the curves, one panel per world, with bands over seeds, to a .png, .svg or .pdf file."""
    suffix = suffix_of(path, FIGURE_SUFFIXES, "a figure")
    needs("matplotlib", "report", "to draw a figure")
    write_bytes(path, _drawn(summarise(rows), suffix[1:]))


def _drawn(race: Race[Any], form: str) -> bytes:
    import matplotlib as mpl  # noqa: PLC0415

    # A fixed salt and no date: the same rows give the same bytes.
    plain: dict[Any, Any] = {
        "svg.hashsalt": "massart",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(plain):
        sink = io.BytesIO()
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[form]
        canvas(race).savefig(sink, format=form, metadata=dated)
    return sink.getvalue()


def canvas(race: Race[Any]) -> Any:
    """The figure as a Matplotlib object."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(_COLUMNS, len(race.worlds))
    lines = math.ceil(len(race.worlds) / columns)
    drawing = Figure(figsize=(max(6.4, 4.2 * columns), 3.2 * lines + 0.9), layout="constrained", dpi=150)
    panels = drawing.subplots(lines, columns, squeeze=False).ravel()
    looks = styles(race)
    for world, axes in zip(race.worlds, panels, strict=False):
        _panel(axes, race, world, looks)
    for axes in panels[len(race.worlds) :]:
        axes.set_axis_off()
    drawing.supylabel(race.kind.axis, fontsize=9)
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    agg: Any = FigureCanvasAgg(drawing)
    renderer = agg.get_renderer()
    for ncols in range(_LEGEND_COLUMNS, 0, -1):  # as many columns as fit into the width
        legend = drawing.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=ncols, frameon=False
        )
        if ncols == 1 or legend.get_window_extent(renderer).width <= 0.98 * drawing.bbox.width:
            extra = legend.get_window_extent(renderer).height / drawing.dpi - 0.5
            drawing.set_figheight(3.2 * lines + 0.9 + max(0.0, extra))
            break
        legend.remove()
    return drawing


def _panel(axes: Any, race: Race[Any], world: WorldResult[Any], looks: dict[str, Style]) -> None:
    kind, shown = race.kind, race.shown_first()
    for standing in world.back_to_front():
        look, curve = looks[standing.learner], standing.curve
        if standing.learner in shown:
            axes.fill_between(curve.rounds, curve.low, curve.high, color=look.light, alpha=0.15, linewidth=0)
            axes.plot(curve.rounds, curve.mean, **_line(look), label=standing.title)
    axes.axhline(0.0, color="#8c959f", linewidth=0.6, zorder=0)
    reference = kind.reference_curve(world)
    if reference is not None:
        axes.plot(reference.rounds, reference.mean, **_line(REFERENCE), label=kind.reference)
    axes.set_xscale("log")
    axes.set_xlim(kind.first_round(world), max(2, world.rounds))
    axes.set_ylim(*_extent(race, world))
    axes.set_title(kind.panel_title(world), fontsize=9, loc="left")
    axes.set_xlabel("rounds")


def _line(look: Style) -> dict[str, Any]:
    width = 0.7 * look.width
    dash = tuple(length / width for length in look.dash)
    return {"color": look.light, "linewidth": width, "linestyle": (0, dash) if dash else "-"}


def _extent(race: Race[Any], world: WorldResult[Any]) -> tuple[float, float]:
    """The lowest and highest value that a panel shows, with a little room; as in the page's script."""
    kind, shown = race.kind, race.shown_first()
    begin, reference = kind.first_round(world), kind.reference_curve(world)
    seen = [0.0, *([] if reference is None else reference.mean[-1:])]
    for curve in (standing.curve for standing in world.standings if standing.learner in shown):
        for t, low, high in zip(curve.rounds, curve.low, curve.high, strict=True):
            seen += [low, high] if t >= begin else []
    top, bottom = max(seen), min(seen)
    ceiling = kind.ceiling(world, shown)
    top = top if ceiling is None else min(top, ceiling)
    room = 0.06 * (top - bottom) or 0.01
    return bottom - room, top + room
