"""A bandit race as one page: opens without a network, in any browser, on a screen or a phone, in light and in dark."""

import importlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources

from massart import __version__
from massart.arena.bandits.charts import chart_data, looks_of
from massart.arena.bandits.command import command_of
from massart.arena.bandits.sections import overview_section, policies_section, world_section
from massart.arena.bandits.summary import summarise
from massart.arena.bandits.wording import headline, size_words
from massart.arena.report.files import needs
from massart.arena.report.rows import Row

__all__ = ["html"]

_BY_HAND = "massart.arena.bandits.html(rows)  # with the rows of your own race"


def html(rows: Sequence[Row], command: str | None = None, note: str | None = None) -> str:
    """The page as text.

    Parameters
    ----------
    rows : sequence of rows
        Of a bandit race or sweep, or read back from a file.
    command : str, optional
        What makes the page again; by default the `massart race --bandit` that gives these rows.
    note : str, optional
        A sentence for the top of the page, such as that the race was stopped.
    """
    needs("plotly", "to make the HTML report")
    plotly = importlib.import_module("plotly.offline")
    race = summarise(rows)
    looks = looks_of(race)
    parts = {
        "title": escape(f"massart race --bandit: {size_words(race)}"),
        "style": _part("massart.arena.report", "page.css"),
        "headline": escape(headline(race)),
        "size": escape(size_words(race)),
        "note": f'<p class="lead warning" role="note">{escape(note)}</p>' if note else "",
        "overview": overview_section(race),
        "worlds": "\n".join(world_section(index, world, looks) for index, world in enumerate(race.worlds)),
        "policies": policies_section(race),
        "command": escape(command or command_of(rows) or _BY_HAND),
        "version": escape(__version__),
        "plotly": plotly.get_plotlyjs().replace("</script", "<\\/script"),
        "data": json.dumps(chart_data(race), allow_nan=False).replace("<", "\\u003c"),
        "script": _part("massart.arena.bandits", "page.js"),
    }
    page = _part("massart.arena.bandits", "page.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], page)


def _part(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
