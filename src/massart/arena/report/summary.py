"""What the rows of a race say, and the command that gives them again."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from massart import worlds
from massart.arena.report.kinds import Race, ReportKind
from massart.arena.report.labels import LABEL_REPORT
from massart.arena.report.rewards import REWARD_REPORT
from massart.arena.rows import LabelRow, typed_rows
from massart.errors import InvalidParameterError

__all__ = ["command_line", "command_of", "summarise"]


def summarise(rows: Iterable[Mapping[str, Any]]) -> Race[Any]:
    """Turn the rows of a race into standings: per world, who did how well, and the curves over time.

    >>> row = {"world": "kink", "learner": "massart", "seed": 0, "rounds": 10_000, "mistakes": 900,
    ...        "clean_mistakes": 20, "noise_rate": 0.1, "margin": 0.05, "dimension": 20, "angle": 3.0,
    ...        "bound": 2230.0, "certified": None, "holds": True, "error": None}
    >>> race = summarise([row, row | {"learner": "perceptron", "mistakes": 3000, "bound": 1513.0}])
    >>> [(s.learner, s.rate, str(s.verdict)) for s in race.worlds[0].standings]
    [('massart', 0.09, 'kept'), ('perceptron', 0.3, 'broke')]
    """
    typed = typed_rows(rows)
    kind: ReportKind[Any, Any] = LABEL_REPORT if isinstance(typed[0], LabelRow) else REWARD_REPORT
    return kind.summarise(typed)


def command_line(
    worlds: Iterable[str],
    learners: Iterable[str],
    rounds: int,
    seeds: int,
    report: str,
    peer_seeds: int | None = None,
    *,
    bandit: bool = False,
    options: Sequence[str] = (),
) -> str:
    """A `massart race` with everything spelled out, so that no default can change its meaning; `options` are further.

    >>> command_line(["kink"], ["massart"], 500, 2, "my race.html")
    "massart race kink --learner massart --rounds 500 --seeds 2 --report 'my race.html'"
    """
    parts = ["massart", "race", *(REWARD_REPORT.options if bandit else ()), *worlds, *options]
    for learner in learners:
        parts += ["--learner", learner]
    parts += ["--rounds", str(rounds), "--seeds", str(seeds)]
    if peer_seeds is not None:
        parts += ["--peer-seeds", str(peer_seeds)]
    return shlex.join([*parts, "--report", report])


def command_of(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The command that gives these rows, None when no command can: a world or learner of one's own, uneven seeds.

    >>> row = {"world": "kink", "noise_rate": 0.1, "margin": 0.05, "dimension": 20, "learner": "massart", "seed": 0,
    ...        "rounds": 500}
    >>> command_of([row, row | {"seed": 1}])
    'massart race kink --learner massart --rounds 500 --seeds 2 --report race.html'
    >>> command_of([row | {"margin": 0.02}])
    """
    kind: ReportKind[Any, Any] = REWARD_REPORT if "arms" in rows[0] else LABEL_REPORT
    named = dict.fromkeys(row["world"] for row in rows)
    learners = dict.fromkeys(row["learner"] for row in rows)
    seeds = {row["seed"] for row in rows}
    runs = {(row["learner"], row["seed"]) for row in rows}
    declared = {tuple(row[key] for key in kind.world_keys) for row in rows}
    even = seeds == set(range(len(seeds))) and len(runs) == len(seeds) * len(learners)
    known = all(map(kind.registry.is_known, learners)) and all(_is_default(world, kind) for world in declared)
    if not even or not known:
        return None
    rounds = max(row["rounds"] for row in rows)
    return command_line(named, learners, rounds, len(seeds), "race.html", bandit=kind is REWARD_REPORT)


def _is_default(declared: tuple[Any, ...], kind: ReportKind[Any, Any]) -> bool:
    """Whether a world is the one that its name alone makes."""
    try:
        world = worlds.make(declared[0])
    except InvalidParameterError:
        return False
    return declared[1:] == tuple(getattr(world, key, None) for key in kind.world_keys[1:])
