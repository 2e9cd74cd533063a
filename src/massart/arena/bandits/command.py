"""The command that runs a bandit race again."""

from collections.abc import Iterable, Sequence

from massart.arena.bandits.contestants import names
from massart.arena.report import command as labels
from massart.arena.report.rows import Row
from massart.errors import InvalidParameterError
from massart.worlds.registry import make

__all__ = ["command_line", "command_of"]


def command_line(
    worlds: Iterable[str],
    learners: Iterable[str],
    rounds: int,
    seeds: int,
    report: str,
    peer_seeds: int | None = None,
) -> str:
    """A `massart race --bandit` with everything spelled out.

    >>> command_line(["simpson"], ["linucb"], 500, 2, "race.html")
    'massart race --bandit simpson --learner linucb --rounds 500 --seeds 2 --report race.html'
    """
    return labels.command_line(["--bandit", *worlds], learners, rounds, seeds, report, peer_seeds)


def command_of(rows: Sequence[Row]) -> str | None:
    """The command that gives these rows, None when none can: a world or policy of one's own, uneven seeds.

    >>> row = {"world": "simpson", "arms": 5, "gap": 0.05, "margin": 0.1, "dimension": 10, "learner": "linucb",
    ...        "seed": 0, "rounds": 500}
    >>> command_of([row])
    'massart race --bandit simpson --learner linucb --rounds 500 --seeds 1 --report race.html'
    >>> command_of([row | {"gap": 0.02}])
    """
    worlds = dict.fromkeys(row["world"] for row in rows)
    learners = dict.fromkeys(row["learner"] for row in rows)
    seeds = {row["seed"] for row in rows}
    runs = {(row["learner"], row["seed"]) for row in rows}
    declared = {tuple(row[key] for key in ("world", "arms", "gap", "margin", "dimension")) for row in rows}
    even = seeds == set(range(len(seeds))) and len(runs) == len(seeds) * len(learners)
    if not even or not set(learners) <= set(names()) or not all(_is_default(*world) for world in declared):
        return None
    return command_line(worlds, learners, max(row["rounds"] for row in rows), len(seeds), "race.html")


def _is_default(name: str, *parameters: float | None) -> bool:
    try:
        world = make(name)
    except InvalidParameterError:
        return False
    return parameters == tuple(getattr(world, key, None) for key in ("arms", "gap", "margin", "dimension"))
