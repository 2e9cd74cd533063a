"""The race as one page: opens without a network, in any browser, on a screen or a phone, in light and in dark.

Plotly's script is copied into the page from the installed package, once. A content security policy in the page forbids
the browser to fetch anything at all, so what is promised here is enforced there.
"""

import importlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources

from massart import __version__
from massart.arena.report.charts import ceiling, chart_data
from massart.arena.report.command import command_of
from massart.arena.report.files import needs
from massart.arena.report.palette import styles
from massart.arena.report.rows import Row
from massart.arena.report.sections import learners_section, overview_section, world_section
from massart.arena.report.summary import Race, summarise
from massart.arena.report.wording import headline, size_words

__all__ = ["html"]

_BY_HAND = "massart.arena.report.html(rows)  # with the rows of your own race"


def html(rows: Sequence[Row], command: str | None = None, note: str | None = None) -> str:
    """The page as text.

    Parameters
    ----------
    rows : sequence of rows
        Of a race or a sweep, or read back from a file.
    command : str, optional
        What makes the page again; by default the `massart race` that gives these rows.
    note : str, optional
        A sentence for the top of the page, such as that the race was stopped.
    """
    needs("plotly", "to make the HTML report")
    plotly = importlib.import_module("plotly.offline")
    race = summarise(rows)
    parts = {
        "title": escape(f"massart race: {size_words(race)}"),
        "style": _part("page.css"),
        "headline": escape(headline(race)),
        "size": escape(size_words(race)),
        "note": f'<p class="lead warning" role="note">{escape(note)}</p>' if note else "",
        "overview": overview_section(race) if len(race.worlds) > 1 else "",
        "worlds": _worlds(race),
        "learners": learners_section(race),
        "command": escape(command or command_of(rows) or _BY_HAND),
        "version": escape(__version__),
        "plotly": plotly.get_plotlyjs().replace("</script", "<\\/script"),
        "data": json.dumps(chart_data(race), allow_nan=False).replace("<", "\\u003c"),
        "script": _part("page.js"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], _part("page.html"))


def _worlds(race: Race) -> str:
    shown = race.shown_first()
    looks = styles(race.learners, shown)
    sections = []
    for index, world in enumerate(race.worlds):
        first = [standing for standing in world.standings if standing.learner in shown]
        sections.append(world_section(index, world, looks, shown, ceiling(world, first) is not None))
    return "\n".join(sections)


def _part(name: str) -> str:
    return resources.files("massart.arena.report").joinpath(name).read_text(encoding="utf-8")
