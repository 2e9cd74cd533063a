"""The parts of the page: the overview of all worlds, one section per world, and who the policies are."""

from html import escape

from massart.arena.bandits.summary import Race, Standing, Verdict, WorldResult
from massart.arena.bandits.wording import failures, fewer_seeds, lift, marked, share, verdict_words, world_facts
from massart.arena.report.palette import BOUND_DARK, BOUND_LIGHT, Style
from massart.arena.report.sections import _cell, _row_head, _swatch
from massart.arena.report.wording import count, rate

__all__ = ["overview_section", "policies_section", "world_section"]

_CSS = {Verdict.REACHED: "kept", Verdict.BELOW: "broke", Verdict.FAILED: "failed"}


def overview_section(race: Race) -> str:
    """Every policy in every world: its lift, and whether that is less than a random arm's."""
    heads = "".join(
        f'<th scope="col"><a href="#world-{index}">{escape(world.name)}</a></th>'
        for index, world in enumerate(race.worlds)
    )
    known = {
        "the best arm": [world.best for world in race.worlds],
        "guaranteed": [world.guarantee for world in race.worlds],
    }
    lines = [
        f'<tr class="bound"><th scope="row">{name}</th>{"".join(_cell(_known(value)) for value in values)}</tr>'
        for name, values in known.items()
    ]
    for name in race.learners:
        standings = [world.of(name) for world in race.worlds]
        ours = any(standing is not None and standing.ours for standing in standings)
        lines.append(f"<tr>{_row_head(name, ours)}{''.join(map(_overview_cell, standings))}</tr>")
    return f"""<section id="overview">
<h2>Overview</h2>
<p>A random arm has lift 0. Where within every round a better score means a better reward, massart’s bandit that knows
gap and margin earns at least the guarantee in the long run, in expectation, whatever the rounds have to do with each
other (Theorem 11 of its theory); for the one that does not know them there is no theorem. Policies that fit one
model to the rewards of all rounds have no guarantee here, and may end below random.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Lift per round of every policy in every world">
<table class="grid"><caption><span>Reward per round above a random arm, mean over seeds, best on average first. ✓ the
guarantee or more, ▼ less than a random arm.</span></caption>
<thead><tr><th scope="col">policy</th>{heads}</tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div>
</section>"""


def _overview_cell(standing: Standing | None) -> str:
    if standing is None:
        return "<td>–</td>"
    said = escape(f"{standing.learner}: {verdict_words(standing)}", quote=True)
    return f'<td><span class="tag {_CSS.get(standing.verdict, "")}" title="{said}">{marked(standing)}</span></td>'


def world_section(index: int, world: WorldResult, looks: dict[str, Style]) -> str:
    """What the world does, its chart with a legend of buttons, and its standings."""
    swatch = _swatch(BOUND_LIGHT, BOUND_DARK, 2.0, "dash")
    key = f'<li class="key">{swatch}guaranteed</li>' if world.guarantee is not None else ""
    begun = sorted((s for s in world.standings if s.rounds), key=lambda s: not s.ours)
    chips = "".join(_chip(standing, looks[standing.learner]) for standing in begun)
    failed = "".join(f'<p class="note">{escape(sentence)}</p>\n' for sentence in failures(world))
    return f"""<section id="world-{index}">
<h2>{escape(world.name)}</h2>
<p>{escape(world.sentence)}</p>
<p class="facts">{escape(" · ".join(world_facts(world)))}</p>
<p class="axis-name">reward per round above a random arm</p>
<div class="chart" id="chart-{index}" role="img" aria-label="{escape(_spoken(world), quote=True)}"></div>
<ul class="chips" aria-label="Curves of the chart">{key}{chips}</ul>
{_standings_table(world)}
{failed}</section>"""


def _standings_table(world: WorldResult) -> str:
    lines = []
    if world.best is not None:
        lines.append(_known_line("the best arm", world.best, 1.0))
    guarantee = world.guarantee
    placed = guarantee is None
    for standing in world.standings:
        if not placed and guarantee is not None and (standing.lift < guarantee or not standing.finished):
            lines.append(_known_line("guaranteed", guarantee, guarantee / world.best if world.best else None))
            placed = True
        lines.append(_standing_line(standing))
    if not placed and guarantee is not None:
        lines.append(_known_line("guaranteed", guarantee, guarantee / world.best if world.best else None))
    seeds = f"{world.seeds} seed{'' if world.seeds == 1 else 's'}"
    about = f"{world.name} after {count(world.rounds)} rounds, mean over {seeds}, highest lift first."
    about = " ".join([about, *fewer_seeds(world)])
    heads = ("lift", "least – most", "of the best", "reward", "favourite")
    columns = "".join(f'<th scope="col">{name}</th>' for name in heads)
    name = escape(world.name, quote=True)
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="Standings in {name}">
<table><caption><span>{escape(about)}</span></caption>
<thead><tr><th scope="col">policy</th><th scope="col" class="words">verdict</th>{columns}</tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div>"""


def _known_line(name: str, value: float, part: float | None) -> str:
    return (
        f'<tr class="bound"><th scope="row">{name}</th><td></td><td>{lift(value)}</td><td></td><td>{share(part)}</td>'
        "<td></td><td></td></tr>"
    )


def _standing_line(standing: Standing) -> str:
    verdict = f'<span class="tag {_CSS.get(standing.verdict, "")}">{escape(verdict_words(standing))}</span>'
    cells = ("",) * 5
    if standing.rounds:
        cells = (
            lift(standing.lift),
            f"{lift(standing.least)} – {lift(standing.most)}",
            share(standing.share),
            rate(standing.reward),
            "–" if standing.favourite is None else rate(standing.favourite),
        )
    head = _row_head(standing.learner, standing.ours)
    return f'<tr>{head}<td class="words">{verdict}</td>{"".join(map(_cell, cells))}</tr>'


def policies_section(race: Race) -> str:
    """Who the policies are."""
    lines = []
    for name in race.learners:
        standings = [standing for _, standing in race.standings_of(name)]
        below = sum(standing.verdict is Verdict.BELOW for standing in standings)
        lines.append(
            f"<tr>{_row_head(name, standings[0].ours)}<td>{below} of {len(standings)}</td>"
            f'<td class="words wrap">{escape(race.sentences[name])}</td></tr>'
        )
    return f"""<section id="policies">
<h2>The policies</h2>
<div class="scroll" tabindex="0" role="region" aria-label="The policies">
<table><caption><span>What each policy is, and in how many worlds it earned less than a random arm. Bold: massart’s
own.</span></caption>
<thead><tr><th scope="col">policy</th><th scope="col">below random</th>
<th scope="col" class="words">what it is</th></tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div>
</section>"""


def _chip(standing: Standing, style: Style) -> str:
    ours = ' class="ours"' if standing.ours else ""
    name = escape(standing.learner, quote=True)
    swatch = _swatch(style.light, style.dark, style.width, style.dash)
    return f'<li><button type="button" data-learner="{name}" aria-pressed="true"{ours}>{swatch}{name}</button></li>'


def _spoken(world: WorldResult) -> str:
    """The chart for those who do not see it."""
    ends = "; ".join(f"{s.learner} ends at {lift(s.lift)} ({verdict_words(s)})" for s in world.standings)
    line = "" if world.guarantee is None else f" The guarantee is {lift(world.guarantee)}."
    return f"Line chart: lift per round over {count(world.rounds)} rounds of {world.name}.{line} {ends}."


def _known(value: float | None) -> str:
    return "–" if value is None else lift(value)
