"""Numbers and verdicts in words, the same in the terminal, on the page and in the figure."""

import shlex
from collections.abc import Iterable, Sequence

from massart.arena.report.rows import Row
from massart.arena.report.summary import Race, Standing, Verdict, WorldResult

__all__ = ["command_of", "count", "headline", "promise_words", "rate", "signed", "size_words", "verdict_words"]


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
    """The verdict, and how many seeds disagree with the mean."""
    if standing.verdict is Verdict.KEPT and standing.seeds_above:
        return f"kept ({standing.seeds_above} of {standing.seeds} seeds above)"
    if standing.verdict is Verdict.BROKE and standing.seeds_above < standing.seeds:
        return f"broke ({standing.seeds_above} of {standing.seeds} seeds)"
    if standing.verdict in (Verdict.FAILED, Verdict.STOPPED):
        why = f": {standing.error}" if standing.error else ""
        return f"{standing.verdict} at round {count(standing.rounds)}{why}"
    return str(standing.verdict)


def promise_words(standing: Standing) -> str:
    """What the learner itself promises, as a number of mistakes."""
    if standing.promise is None:
        return "–"
    if standing.promise_kept is None:
        return "nothing yet"
    return count(standing.promise) if standing.promise_kept else f"{count(standing.promise)}, broken"


def headline(race: Race) -> str:
    """The race in a sentence or two: who kept below the bound, in how many of the worlds where it means something."""
    judged = [world for world in race.worlds if any(_judged(standing) for standing in world.standings)]
    if not judged:
        return "No bound means anything yet in these worlds: let the race run longer."
    ours = [name for name in race.learners if any(s.ours for _, s in race.standings_of(name))]
    others = [name for name in race.learners if name not in ours]
    parts = []
    if ours:
        parts.append(f"Of massart's learners, {_kept_words(race, ours, len(judged))}.")
    if others:
        parts.append(f"Of the others, {_kept_words(race, others, len(judged))}.")
    return " ".join(parts)


def _judged(standing: Standing) -> bool:
    return standing.verdict in (Verdict.KEPT, Verdict.BROKE, Verdict.FAILED)


def _kept_words(race: Race, names: Sequence[str], worlds: int) -> str:
    kept = {name: sum(s.verdict is Verdict.KEPT for _, s in race.standings_of(name)) for name in names}
    most = max(kept.values())
    if most == 0:
        return "none stayed below the bound in any world" if worlds > 1 else "none stayed below the bound"
    best = [name for name in names if kept[name] == most]
    if worlds == 1:
        return f"{_listed(best)} stayed below the bound" + _rest(len(names) - len(best), "went above it")
    everywhere = f"all {worlds} worlds" if most == worlds else f"{most} of {worlds} worlds"
    return f"{_listed(best)} stayed below the bound in {everywhere}" + _rest(len(names) - len(best), "in fewer")


def _rest(number: int, did: str) -> str:
    return f", {number} {did}" if number else ""


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


def command_of(rows: Iterable[Row]) -> str:
    """The command that runs the race of these rows again.

    >>> row = {"world": "kink", "learner": "massart", "seed": 0, "rounds": 500}
    >>> command_of([row, row | {"seed": 1}])
    'massart race kink --learner massart --rounds 500 --seeds 2 --report race.html'
    """
    every = list(rows)
    learners = dict.fromkeys(row["learner"] for row in every)
    parts = ["massart", "race", *dict.fromkeys(row["world"] for row in every)]
    for learner in learners:
        parts += ["--learner", learner]
    parts += ["--rounds", str(max(row["rounds"] for row in every))]
    parts += ["--seeds", str(max(row["seed"] for row in every) + 1), "--report", "race.html"]
    return shlex.join(parts)
