"""The parts of the page: the overview of all worlds, one section per world, and who the learners are."""

from html import escape

from massart.arena.report.palette import BOUND_DARK, BOUND_LIGHT, Style
from massart.arena.report.summary import Race, Standing, Verdict, WorldResult
from massart.arena.report.wording import (
    count,
    failures,
    fewer_seeds,
    own_bound_words,
    rate,
    signed,
    verdict_words,
    world_facts,
)

__all__ = ["learners_section", "overview_section", "world_section"]

_MARKS = {Verdict.KEPT: "✓", Verdict.BROKE: "✗", Verdict.FAILED: "!", Verdict.STOPPED: "…"}
_SVG_DASHES = {"solid": "", "dash": "6 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdashdot": "11 3 2 3"}


def overview_section(race: Race) -> str:
    """Every learner in every world: mistakes per round, and whether it stayed below the bound."""
    heads = "".join(
        f'<th scope="col"><a href="#world-{index}">{escape(world.name)}</a></th>'
        for index, world in enumerate(race.worlds)
    )
    given = {
        "noise rate": [rate(world.noise_rate) for world in race.worlds],
        "the bound": map(_bound_rate, race.worlds),
    }
    lines = [
        f'<tr class="bound"><th scope="row">{name}</th>{"".join(map(_cell, cells))}</tr>'
        for name, cells in given.items()
    ]
    for name in race.learners:
        standings = [world.of(name) for world in race.worlds]
        ours = any(standing is not None and standing.ours for standing in standings)
        lines.append(f"<tr>{_row_head(name, ours)}{''.join(map(_overview_cell, standings))}</tr>")
    return f"""<section id="overview">
<h2>Overview</h2>
<p>With noise rate and margin known, a learner can stay below the bound whatever the adversary does. Most learners
have no such guarantee; here all are held to the same line.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Mistakes per round of every learner in every world">
<table class="grid"><caption><span>Mistakes per round, mean over seeds, fewest on average first. ✓ the mean kept
below the bound, ✗ it broke the bound; no mark: there is no bound, or it says nothing yet.</span></caption>
<thead><tr><th scope="col">learner</th>{heads}</tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div>
</section>"""


def _overview_cell(standing: Standing | None) -> str:
    if standing is None:
        return "<td>–</td>"
    number = rate(standing.rate) if standing.rounds else ""
    said = escape(f"{standing.learner}: {verdict_words(standing)}", quote=True)
    mark = _MARKS.get(standing.verdict, "")
    return f'<td><span class="tag {_css(standing.verdict)}" title="{said}">{number} {mark}</span></td>'


def world_section(index: int, world: WorldResult, styles: dict[str, Style], shown: list[str], zoomed: bool) -> str:
    """What the world does, its chart with a legend of buttons, and its standings."""
    zoom = '<li><button type="button" data-zoom aria-pressed="false">whole height</button></li>' if zoomed else ""
    bound_key = f'<li class="key">{_swatch(BOUND_LIGHT, BOUND_DARK, 2.0, "dash")}the bound</li>' if world.bound else ""
    begun = sorted((s for s in world.standings if s.rounds), key=lambda s: (not s.ours, s.learner not in shown))
    chips = "".join(_chip(standing, styles[standing.learner], shown) for standing in begun)
    cut = "<p class='note'>Some curves leave the chart at the top; “whole height” shows them.</p>\n" if zoomed else ""
    failed = "".join(f'<p class="note">{escape(sentence)}</p>\n' for sentence in failures(world))
    return f"""<section id="world-{index}">
<h2>{escape(world.name)}</h2>
<p>{escape(world.sentence)}</p>
<p class="facts">{escape(" · ".join(world_facts(world)))}</p>
<p class="axis-name">mistakes − noise rate × rounds</p>
<div class="chart" id="chart-{index}" role="img" aria-label="{escape(_spoken(world), quote=True)}"></div>
{cut}<ul class="chips" aria-label="Curves of the chart">{bound_key}{chips}{zoom}</ul>
{_standings_table(world)}
{failed}</section>"""


def _standings_table(world: WorldResult) -> str:
    heads = ("mistakes", "min – max", "per round", "over noise", "untrue rate", "angle", "own bound")
    lines = []
    bound_line = ""
    if world.bound is not None:
        excess = signed(world.bound - world.noise_rate * world.rounds)
        bound_line = (
            f'<tr class="bound"><th scope="row">the bound</th><td></td><td>{count(world.bound)}</td><td></td>'
            f"<td>{rate(world.bound / world.rounds)}</td><td>{excess}</td><td></td><td></td><td></td></tr>"
        )
    placed = False
    for standing in world.standings:
        if not placed and world.bound is not None and (standing.mistakes > world.bound or not standing.finished):
            lines.append(bound_line)
            placed = True
        lines.append(_standing_line(standing))
    if not placed:
        lines.append(bound_line)
    seeds = f"{world.seeds} seed{'' if world.seeds == 1 else 's'}"
    about = f"{world.name} after {count(world.rounds)} rounds, mean over {seeds}, fewest mistakes first."
    about = " ".join([about, *fewer_seeds(world)])
    columns = "".join(f'<th scope="col">{name}</th>' for name in heads)
    name = escape(world.name, quote=True)
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="Standings in {name}">
<table><caption><span>{escape(about)}</span></caption>
<thead><tr><th scope="col">learner</th><th scope="col" class="words">the bound</th>{columns}</tr></thead>
<tbody>
{chr(10).join(filter(None, lines))}
</tbody></table></div>"""


def _standing_line(standing: Standing) -> str:
    verdict = f'<span class="tag {_css(standing.verdict)}">{escape(verdict_words(standing))}</span>'
    cells = ("",) * 7
    if standing.rounds:
        cells = (
            count(standing.mistakes),
            f"{count(standing.fewest)} – {count(standing.most)}",
            rate(standing.rate),
            signed(standing.excess),
            rate(standing.clean_mistakes / standing.rounds),
            "–" if standing.angle is None else f"{standing.angle:.0f}°",
            own_bound_words(standing),
        )
    head = _row_head(standing.learner, standing.ours)
    return f'<tr>{head}<td class="words">{verdict}</td>{"".join(map(_cell, cells))}</tr>'


def learners_section(race: Race) -> str:
    """Who the learners are."""
    lines = []
    for name in race.learners:
        pairs = race.standings_of(name)
        ours = any(standing.ours for _, standing in pairs)
        kept = sum(standing.verdict is Verdict.KEPT for _, standing in pairs)
        lines.append(
            f"<tr>{_row_head(name, ours)}<td>{kept} of {sum(world.bound is not None for world, _ in pairs)}</td>"
            f'<td class="words wrap">{escape(race.sentences[name])}</td></tr>'
        )
    return f"""<section id="learners">
<h2>The learners</h2>
<div class="scroll" tabindex="0" role="region" aria-label="The learners">
<table><caption><span>What each learner is, and in how many worlds with a bound it kept below it. Bold: massart’s
own.</span></caption>
<thead><tr><th scope="col">learner</th><th scope="col">kept</th>
<th scope="col" class="words">what it is</th></tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div>
</section>"""


def _chip(standing: Standing, style: Style, shown: list[str]) -> str:
    pressed = "true" if standing.learner in shown else "false"
    ours = ' class="ours"' if standing.ours else ""
    name = escape(standing.learner, quote=True)
    swatch = _swatch(style.light, style.dark, style.width, style.dash)
    return (
        f'<li><button type="button" data-learner="{name}" aria-pressed="{pressed}"{ours}>{swatch}{name}</button></li>'
    )


def _swatch(light: str, dark: str, width: float, dash: str) -> str:
    return (
        f'<svg class="swatch" style="--light:{light};--dark:{dark}" viewBox="0 0 30 10" aria-hidden="true">'
        f'<line x1="0" y1="5" x2="30" y2="5" stroke="currentColor" stroke-width="{width}" '
        f'stroke-dasharray="{_SVG_DASHES[dash]}"/></svg>'
    )


def _spoken(world: WorldResult) -> str:
    """The chart for those who do not see it."""
    ends = "; ".join(f"{s.learner} ends at {signed(s.excess)} ({verdict_words(s)})" for s in world.standings)
    line = "" if world.bound is None else f" The bound ends at {signed(world.bound - world.noise_rate * world.rounds)}."
    shown = f"mistakes minus noise rate times rounds, over {count(world.rounds)} rounds of {world.name}"
    return f"Line chart: {shown}.{line} {ends}."


def _bound_rate(world: WorldResult) -> str:
    return "–" if world.bound is None else rate(min(1.0, world.bound / world.rounds))


def _row_head(name: str, ours: bool) -> str:
    return f'<th scope="row"{" class=ours" if ours else ""}>{escape(name)}</th>'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _css(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")
