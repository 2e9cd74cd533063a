"""Lifts and verdicts in words, the same in the terminal and on the page."""

from massart.arena.bandits.summary import Race, Standing, Verdict, WorldResult
from massart.arena.report.wording import _listed, _number, _span, count

__all__ = [
    "failures",
    "fewer_seeds",
    "headline",
    "lift",
    "marked",
    "share",
    "size_words",
    "verdict_words",
    "world_facts",
]

MARKS = {Verdict.REACHED: "✓", Verdict.BELOW: "▼", Verdict.FAILED: "!", Verdict.STOPPED: "…"}


def lift(value: float) -> str:
    """Reward per round above a random arm, with its sign.

    >>> lift(0.0694), lift(-0.1), lift(-0.0001)
    ('+.069', '−.100', '.000')
    """
    text = f"{value:+.3f}"
    return ".000" if text[1:] == "0.000" else text.replace("0.", ".", 1).replace("-", "−")


def share(value: float | None) -> str:
    """Part of the best lift.

    >>> share(0.694), share(-1.0), share(-0.001), share(None)
    ('69%', '−100%', '0%', '–')
    """
    return "–" if value is None else f"{value:z.0%}".replace("-", "−")


def marked(standing: Standing | None) -> str:
    """The mark and the lift; a dash for a policy that did not race here."""
    if standing is None:
        return "–"
    number = lift(standing.lift) if standing.rounds else ""
    return f"{MARKS.get(standing.verdict, '')} {number}".strip()


def verdict_words(standing: Standing) -> str:
    """The verdict, with the round for those that did not get to the end."""
    if standing.finished:
        return str(standing.verdict)
    return f"{standing.verdict} at round {count(standing.rounds)}"


def failures(world: WorldResult) -> list[str]:
    """A sentence for each policy that raised."""
    return [
        f"{s.learner} failed at round {count(s.rounds)} of {world.name}: {s.error}" for s in world.standings if s.error
    ]


def fewer_seeds(world: WorldResult) -> list[str]:
    """A sentence for the policies that ran with fewer seeds than the rest."""
    by_count: dict[int, list[str]] = {}
    for standing in world.standings:
        if standing.rounds and standing.seeds < world.seeds:
            by_count.setdefault(standing.seeds, []).append(standing.learner)
    return [f"{', '.join(sorted(names))}: {_number(seeds, 'seed')} only." for seeds, names in sorted(by_count.items())]


def headline(race: Race) -> str:
    """The race in a sentence or two: who always earned more than a random arm, and who earned less."""
    always = [
        name
        for name in race.learners
        if all(s.verdict in (Verdict.REACHED, Verdict.ABOVE) for _, s in race.standings_of(name))
    ]
    where = f"in all {len(race.worlds)} worlds" if len(race.worlds) > 1 else f"in {race.worlds[0].name}"
    said = [
        f"{_listed(always)} earned more than a random arm {where}" if always else f"Nobody beat a random arm {where}"
    ]
    for world in race.worlds:
        below = [s.learner for s in reversed(world.standings) if s.verdict is Verdict.BELOW]
        if below:
            said.append(f"{_listed(below)} earned less in {world.name}")
    return ". ".join([*said, "Nobody earned less"] if len(said) == 1 else said) + "."


def size_words(race: Race) -> str:
    """How large the race was."""
    seeds = _span(world.seeds for world in race.worlds)
    return ", ".join(
        [
            _number(len(race.worlds), "world"),
            "1 policy" if len(race.learners) == 1 else f"{len(race.learners)} policies",
            f"{seeds} {'seed' if seeds == '1' else 'seeds'} each",
            f"{_span(world.rounds for world in race.worlds)} rounds",
        ]
    )


def world_facts(world: WorldResult) -> list[str]:
    """What the world declares."""
    kind = {True: ["adaptive: it sees the weights"], False: ["written beforehand"], None: []}[world.adaptive]
    model = (
        ["no gap, so nothing is guaranteed"]
        if world.gap is None
        else [f"gap {world.gap:g}", f"margin {world.margin:g}"]
    )
    return [f"{world.arms} arms", *model, f"{world.dimension} features", *kind]
