"""The race as a picture for a paper or a slide: one panel per world, drawn by Matplotlib."""

import io
import math
import os
from collections.abc import Sequence
from typing import Any

from massart.arena.report.charts import ceiling
from massart.arena.report.files import needs, suffix_of, write_bytes
from massart.arena.report.palette import BOUND_LIGHT, Style, styles
from massart.arena.report.rows import Row
from massart.arena.report.summary import Race, WorldResult, summarise

__all__ = ["SUFFIXES", "figure"]

SUFFIXES = (".png", ".svg", ".pdf")
_DASHES = {"solid": "-", "dot": ":", "dashdot": "-.", "longdashdot": (0, (8, 2, 2, 2))}
_COLUMNS = 3


def figure(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write the curves of at most eight learners, with bands over seeds and the bound, to .png, .svg or .pdf."""
    suffix = suffix_of(path, SUFFIXES, "a figure")
    needs("matplotlib", "to draw a figure")
    race = summarise(rows)
    write_bytes(path, _drawn(race, suffix[1:]))


def _drawn(race: Race, kind: str) -> bytes:
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(_COLUMNS, len(race.worlds))
    lines = math.ceil(len(race.worlds) / columns)
    # A fixed salt and no date: the same rows give the same bytes.
    with mpl.rc_context(
        {"svg.hashsalt": "massart", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        canvas = Figure(figsize=(max(6.4, 4.2 * columns), 3.2 * lines + 0.9), layout="constrained", dpi=150)
        panels = canvas.subplots(lines, columns, squeeze=False).ravel()
        looks = styles(race.learners, race.shown_first())
        for world, axes in zip(race.worlds, panels, strict=False):
            _panel(axes, world, race.shown_first(), looks)
        for axes in panels[len(race.worlds) :]:
            axes.set_axis_off()
        canvas.supylabel("mistakes − noise rate × rounds", fontsize=9)
        handles = {
            label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        canvas.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=3 if columns == 1 else 5, frameon=False
        )
        sink = io.BytesIO()
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        canvas.savefig(sink, format=kind, metadata=dated)
    return sink.getvalue()


def _panel(axes: Any, world: WorldResult, shown: Sequence[str], looks: dict[str, Style]) -> None:
    first = [standing for standing in world.back_to_front() if standing.learner in shown]
    for standing in first:
        look, curve = looks[standing.learner], standing.curve
        axes.fill_between(curve.rounds, curve.low, curve.high, color=look.light, alpha=0.15, linewidth=0)
        axes.plot(
            curve.rounds,
            curve.mean,
            color=look.light,
            linewidth=0.7 * look.width,
            linestyle=_DASHES[look.dash],
            label=standing.learner,
        )
    axes.axhline(0.0, color="#8c959f", linewidth=0.6, zorder=0)
    if world.bound_curve:
        axes.plot(
            world.bound_curve.rounds, world.bound_curve.mean, "--", color=BOUND_LIGHT, linewidth=1.4, label="the bound"
        )
    axes.set_xscale("log")
    axes.set_xlim(max(1, world.rounds // 1000), max(2, world.rounds))
    top = ceiling(world, first)
    if top is not None:
        axes.set_ylim(top=top)
    axes.set_title(f"{world.name}  (noise rate {world.noise_rate:g})", fontsize=9, loc="left")
    axes.set_xlabel("rounds")
