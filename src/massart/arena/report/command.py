"""The command that runs a race again."""

import shlex
from collections.abc import Iterable, Sequence

from massart.arena.report.names import is_known_learner, is_own_world
from massart.arena.report.rows import Row

__all__ = ["command_line", "command_of"]


def command_line(
    worlds: Iterable[str],
    learners: Iterable[str],
    rounds: int,
    seeds: int,
    report: str,
    peer_seeds: int | None = None,
) -> str:
    """A `massart race` with everything spelled out, so that no default can change its meaning.

    >>> command_line(["kink"], ["massart"], 500, 2, "my race.html")
    "massart race kink --learner massart --rounds 500 --seeds 2 --report 'my race.html'"
    """
    parts = ["massart", "race", *worlds]
    for learner in learners:
        parts += ["--learner", learner]
    parts += ["--rounds", str(rounds), "--seeds", str(seeds)]
    if peer_seeds is not None:
        parts += ["--peer-seeds", str(peer_seeds)]
    return shlex.join([*parts, "--report", report])


def command_of(rows: Sequence[Row]) -> str | None:
    """The command that gives these rows, None when no command can: a world or learner of one's own, uneven seeds.

    >>> row = {"world": "kink", "noise_rate": 0.1, "margin": 0.05, "dimension": 20, "learner": "massart", "seed": 0,
    ...        "rounds": 500}
    >>> command_of([row, row | {"seed": 1}])
    'massart race kink --learner massart --rounds 500 --seeds 2 --report race.html'
    >>> command_of([row | {"margin": 0.02}])
    """
    worlds = dict.fromkeys(row["world"] for row in rows)
    learners = dict.fromkeys(row["learner"] for row in rows)
    seeds = {row["seed"] for row in rows}
    declared = {(row["world"], row["noise_rate"], row["margin"], row["dimension"]) for row in rows}
    if any(is_own_world(*world) for world in declared) or not all(map(is_known_learner, learners)):
        return None
    if seeds != set(range(len(seeds))) or len({(row["learner"], row["seed"]) for row in rows}) < len(seeds) * len(
        learners
    ):
        return None
    return command_line(worlds, learners, max(row["rounds"] for row in rows), len(seeds), "race.html")
