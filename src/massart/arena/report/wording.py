"""Numbers and verdicts in words, the same in the terminal, on the page and in the figure."""

from collections.abc import Iterable, Sequence

from massart.arena.report.summary import Race, Standing, Verdict, WorldResult

__all__ = [
    "count",
    "failures",
    "headline",
    "own_bound_words",
    "rate",
    "signed",
    "size_words",
    "verdict_words",
    "world_facts",
]


def count(value: float) -> str:
    """A number of rounds or mistakes.

    >>> count(20_000), count(1234.5)
    ('20,000', '1,234')
    """
    return f"{value:,.0f}"


def signed(value: float) -> str:
    """An excess, with its sign.

    >>> signed(1234.5), signed(-3.2), signed(0.0)
    ('+1,234', '−3', '0')
    """
    text = f"{value:+,.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def rate(value: float) -> str:
    """Mistakes per round.

    >>> rate(0.1234), rate(1.0)
    ('.123', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def verdict_words(standing: Standing) -> str:
    """The verdict, and how many seeds do not agree with the mean."""
    if standing.verdict is Verdict.KEPT and standing.seeds_above:
        return f"kept ({standing.seeds_above} of {standing.seeds} above)"
    if standing.verdict is Verdict.BROKE and standing.seeds_above < standing.seeds:
        return f"broke ({standing.seeds_above} of {standing.seeds} above)"
    if standing.verdict in (Verdict.FAILED, Verdict.STOPPED):
        return f"{standing.verdict} at round {count(standing.rounds)}"
    return str(standing.verdict)


def fewer_seeds(world: WorldResult) -> list[str]:
    """A sentence for the learners that ran with fewer seeds than the rest."""
    by_count: dict[int, list[str]] = {}
    for standing in world.standings:
        if standing.rounds and standing.seeds < world.seeds:
            by_count.setdefault(standing.seeds, []).append(standing.learner)
    return [f"{', '.join(sorted(names))}: {_number(seeds, 'seed')} only." for seeds, names in sorted(by_count.items())]


def failures(world: WorldResult) -> list[str]:
    """A sentence for each learner that raised."""
    return [f"{s.learner} failed at round {count(s.rounds)}: {s.error}" for s in world.standings if s.error]


def own_bound_words(standing: Standing) -> str:
    """What the learner's own theorem bounds its expected mistakes by, and whether its certificate contradicts it."""
    if standing.own_bound is None:
        return "–"
    if standing.contradicted:
        return f"{count(standing.own_bound)}, contradicts the declaration"
    if standing.own_bound_kept is None:
        return "says nothing yet"
    return count(standing.own_bound) if standing.own_bound_kept else f"{count(standing.own_bound)}, exceeded"


def headline(race: Race) -> str:
    """The race in a sentence or two: who stayed below the bound, in how many of the worlds where it says something."""
    judged = [world for world in race.worlds if world.bound is not None and world.bound < world.rounds / 2]
    if not judged:
        return "No bound says anything yet in these worlds: let the race run longer."
    ours = [name for name in race.learners if any(s.ours for _, s in race.standings_of(name))]
    others = [name for name in race.learners if name not in ours]
    groups = (("massart’s learners", ours), ("the others", others))
    return " ".join(f"Of {words}, {_kept_words(race, names, len(judged))}." for words, names in groups if names)


def _kept_words(race: Race, names: Sequence[str], worlds: int) -> str:
    kept = {name: sum(s.verdict is Verdict.KEPT for _, s in race.standings_of(name)) for name in names}
    most = max(kept.values())
    below = "stayed below the bound"
    if most == 0:
        return f"none {below}" + (" anywhere" if worlds > 1 else "")
    best = [name for name in names if kept[name] == most]
    rest = len(names) - len(best)
    if worlds == 1:
        return f"{_listed(best)} {below}" + (f", {rest} did not" if rest else "")
    every = "both worlds" if worlds == 2 else f"all {worlds} worlds"
    where = every if most == worlds else f"{most} of the {worlds} worlds"
    return f"{_listed(best)} {below} in {where} that have one" + (f", {rest} in fewer" if rest else "")


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:4])
    if len(names) > 4:
        shown = [*names[:3], f"{len(names) - 3} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def size_words(race: Race) -> str:
    """How large the race was."""
    return ", ".join(
        [
            _number(len(race.worlds), "world"),
            _number(len(race.learners), "learner"),
            f"{_span(world.seeds for world in race.worlds)} seeds each",
            f"{_span(world.rounds for world in race.worlds)} rounds",
        ]
    ).replace("1 seeds each", "1 seed each")


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _span(values: Iterable[int]) -> str:
    every = sorted(set(values))
    return count(every[0]) if len(every) == 1 else f"{count(every[0])} to {count(every[-1])}"


def world_facts(world: WorldResult) -> list[str]:
    """What the world declares."""
    kind = {True: ["adaptive: it sees the weights"], False: ["written beforehand"], None: []}[world.adaptive]
    margin = "no margin" if world.margin is None else f"margin {world.margin:g}"
    return [f"noise rate {world.noise_rate:g}", margin, f"{world.dimension} features", *kind]
