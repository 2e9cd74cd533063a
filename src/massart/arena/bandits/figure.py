"""A bandit race as a picture for a paper or a slide: one panel per world, drawn by Matplotlib."""

import io
import math
import os
from collections.abc import Sequence
from typing import Any

from massart.arena.bandits.charts import first_round, looks_of, span
from massart.arena.bandits.summary import Race, WorldResult, summarise
from massart.arena.report.figure import _DASHES, SUFFIXES
from massart.arena.report.files import needs, suffix_of, write_bytes
from massart.arena.report.palette import BOUND_LIGHT, Style
from massart.arena.report.rows import Row

__all__ = ["figure"]

_COLUMNS = 3


def figure(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write the lift of every policy over the rounds, with the guarantee, to a .png, .svg or .pdf file."""
    suffix = suffix_of(path, SUFFIXES, "a figure")
    needs("matplotlib", "to draw a figure")
    write_bytes(path, _drawn(summarise(rows), suffix[1:]))


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
        looks = looks_of(race)
        for world, axes in zip(race.worlds, panels, strict=False):
            _panel(axes, world, looks)
        for axes in panels[len(race.worlds) :]:
            axes.set_axis_off()
        canvas.supylabel("reward per round above a random arm", fontsize=9)
        handles = {
            label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        canvas.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=3 if columns == 1 else 6, frameon=False
        )
        sink = io.BytesIO()
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        canvas.savefig(sink, format=kind, metadata=dated)
    return sink.getvalue()


def _panel(axes: Any, world: WorldResult, looks: dict[str, Style]) -> None:
    for standing in world.back_to_front():
        look, curve = looks[standing.learner], standing.curve
        axes.fill_between(curve.rounds, curve.low, curve.high, color=look.light, alpha=0.12, linewidth=0)
        axes.plot(
            curve.rounds,
            curve.mean,
            color=look.light,
            linewidth=0.7 * look.width,
            linestyle=_DASHES[look.dash],
            label=standing.learner,
        )
    axes.axhline(0.0, color="#8c959f", linewidth=0.6, zorder=0)
    if world.guarantee is not None:
        axes.axhline(world.guarantee, linestyle="--", color=BOUND_LIGHT, linewidth=1.4, label="guaranteed")
    axes.set_xscale("log")
    axes.set_xlim(first_round(world), max(2, world.rounds))
    axes.set_ylim(*span(world))
    axes.set_title(f"{world.name}  ({world.arms} arms)", fontsize=9, loc="left")
    axes.set_xlabel("rounds")
