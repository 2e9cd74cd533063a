"""The race as one page: opens without a network, in any browser, on a screen or a phone, in light and in dark.

The charts are drawn as SVG by the page's own script (page.js). A content security policy in the page forbids the
browser to load anything at all.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from massart import __version__
from massart.arena.report import frame
from massart.arena.report.charts import REFERENCE, Style, chart_data, styles
from massart.arena.report.kinds import Curve, Race, Reference, Standing, WorldResult, count
from massart.arena.report.summary import command_of, summarise
from massart.errors import counted

__all__ = ["html"]

_BY_HAND = "massart.arena.report.html(rows)  # with the rows of your own race"


def html(rows: Sequence[Mapping[str, Any]], command: str | None = None, note: str | None = None) -> str:
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
    race = summarise(rows)
    kind, size = race.kind, race.kind.size_words(race)
    kicker = " ".join(["massart race", *kind.options])
    looks = styles(race)
    parts = {
        "title": escape(f"{kicker}: {size}"),
        "style": frame.part("page.css"),
        "kicker": kicker,
        "question": escape(kind.question),
        "headline": escape(kind.headline(race)),
        "size": escape(size),
        "note": f'<p class="lead warning" role="note">{escape(note)}</p>' if note else "",
        "overview": _overview(race) if len(race.worlds) > 1 else "",
        "worlds": "\n".join(_world(index, race, world, looks) for index, world in enumerate(race.worlds)),
        "learners": _learners(race),
        "reading": "\n".join(f"<dt>{escape(term)}</dt><dd>{escape(words)}</dd>" for term, words in kind.reading),
        "command": escape(command or command_of(rows) or _BY_HAND),
        "version": escape(__version__),
        "data": json.dumps(chart_data(race), allow_nan=False).replace("<", "\\u003c"),
        "script": frame.part("page.js"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], frame.part("page.html"))


def _overview(race: Race[Any]) -> str:
    """Every learner in every world: its number, and its mark."""
    kind = race.kind
    links = [f'<a href="#world-{index}">{escape(world.name)}</a>' for index, world in enumerate(race.worlds)]
    lines = [
        f'<tr class="bound"><th scope="row">{name}</th>{"".join(map(frame.cell, cells))}</tr>'
        for name, cells in kind.overview_references(race).items()
    ]
    for name in race.learners:
        cells = "".join(_overview_cell(race, world.of(name)) for world in race.worlds)
        lines.append(f"<tr>{frame.row_head(race.title(name), race.is_ours(name))}{cells}</tr>")
    label = f"Every {kind.registry.noun} in every world"
    text, caption = kind.overview_words(race)
    heads = [frame.head(kind.registry.noun), *map(frame.head, links)]
    return f"""<section id="overview">
<h2>Overview</h2>
<p>{escape(text)}</p>
{frame.table(label, caption, heads, lines, grid=True)}
</section>"""


def _overview_cell(race: Race[Any], standing: Standing | None) -> str:
    if standing is None:
        return "<td>–</td>"
    words = escape(f"{standing.title}: {race.kind.verdict_words(standing)}", quote=True)
    marked = escape(race.kind.marked(standing))
    return f'<td><span class="tag {race.kind.css(standing)}" title="{words}">{marked}</span></td>'


def _world(index: int, race: Race[Any], world: WorldResult[Any], looks: dict[str, Style]) -> str:
    """What the world does, its chart with a legend of buttons, and its standings."""
    kind, shown = race.kind, race.shown_first()
    zoomed = kind.ceiling(world, shown) is not None
    zoom = '<li><button type="button" data-zoom aria-pressed="false">whole height</button></li>' if zoomed else ""
    cut = '<p class="note">Some curves leave the chart at the top; “whole height” shows them.</p>\n' if zoomed else ""
    curve = kind.reference_curve(world)
    key = f'<li class="key">{_swatch(REFERENCE)}{escape(kind.reference)}</li>' if curve is not None else ""
    begun = sorted((s for s in world.standings if s.rounds), key=lambda s: (not s.ours, s.learner not in shown))
    chips = "".join(_chip(standing, looks[standing.learner], standing.learner in shown) for standing in begun)
    failed = "".join(f'<p class="note">{escape(sentence)}</p>\n' for sentence in kind.failures(world))
    return f"""<section id="world-{index}">
<h2>{escape(world.name)}</h2>
<p>{escape(world.sentence)}</p>
<p class="facts">{escape(" · ".join(kind.world_facts(world)))}</p>
<p class="axis-name">{escape(kind.axis)}</p>
<div class="chart" id="chart-{index}" role="img" aria-label="{escape(_spoken(race, world), quote=True)}"></div>
{cut}<ul class="chips" aria-label="Curves of the chart">{key}{chips}{zoom}</ul>
{_standings(race, world)}
{failed}</section>"""


def _standings(race: Race[Any], world: WorldResult[Any]) -> str:
    kind = race.kind
    after = f"{world.name} after {count(world.rounds)} rounds, mean over {counted(world.seeds, 'seed')}"
    caption = " ".join([f"{after}, {kind.order_words}.", *kind.fewer_seeds(world)])
    heads = [frame.head(kind.registry.noun), frame.head(kind.verdict_head, words=True), *map(frame.head, kind.columns)]
    lines = [_line(race, line) for line in kind.lines(world)]
    return frame.table(f"Standings in {world.name}", caption, heads, lines)


def _line(race: Race[Any], line: Any) -> str:
    if isinstance(line, Reference):
        head = f'<th scope="row">{escape(line.name)}</th>'
        return f'<tr class="bound">{head}<td></td>{"".join(map(frame.cell, line.cells))}</tr>'
    kind = race.kind
    verdict = f'<span class="tag {kind.css(line)}">{escape(kind.verdict_words(line))}</span>'
    cells = "".join(map(frame.cell, kind.cells(line)))
    return f'<tr>{frame.row_head(line.title, line.ours)}<td class="words">{verdict}</td>{cells}</tr>'


def _learners(race: Race[Any]) -> str:
    """Who the learners are."""
    kind = race.kind
    lines = [
        f"<tr>{frame.row_head(race.title(name), race.is_ours(name))}<td>{kind.tally(race, name)}</td>"
        f'<td class="words"><code>{escape(name)}</code></td>'
        f'<td class="words wrap">{escape(race.sentences[name])}</td></tr>'
        for name in race.learners
    ]
    noun, nouns = kind.registry.noun, kind.registry.nouns
    heads = [
        frame.head(noun),
        frame.head(kind.tally_head),
        frame.head("--learner", words=True),
        frame.head("what it is", words=True),
    ]
    return f"""<section id="learners">
<h2>The {nouns}</h2>
{frame.table(f"The {nouns}", kind.tally_caption, heads, lines)}
</section>"""


def _chip(standing: Standing, style: Style, shown: bool) -> str:
    ours = ' class="ours"' if standing.ours else ""
    return (
        f'<li><button type="button" data-learner="{escape(standing.learner, quote=True)}" '
        f'aria-pressed="{str(shown).lower()}"{ours}>{_swatch(style)}{escape(standing.title)}</button></li>'
    )


def _swatch(style: Style) -> str:
    return (
        f'<svg class="swatch" style="--light:{style.light};--dark:{style.dark}" viewBox="0 0 30 10" aria-hidden="true">'
        f'<line x1="0" y1="5" x2="30" y2="5" stroke="currentColor" stroke-width="{style.width}" '
        f'stroke-dasharray="{" ".join(map(str, style.dash))}"/></svg>'
    )


def _spoken(race: Race[Any], world: WorldResult[Any]) -> str:
    """The chart in words, for screen readers."""
    kind = race.kind

    def end(curve: Curve) -> str:
        return kind.value_words(curve.mean[-1]) if curve.mean else "nothing"

    ends = [f"{s.title} ends at {end(s.curve)} ({kind.verdict_words(s)})" for s in world.standings]
    reference = kind.reference_curve(world)
    if reference is not None:
        ends.insert(0, f"{kind.reference} ends at {end(reference)}")
    return f"Line chart: {kind.axis}, over {count(world.rounds)} rounds of {world.name}. {'; '.join(ends)}."
