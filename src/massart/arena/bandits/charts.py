"""What the charts of a bandit race show: per world the curves with their bands over seeds, and the guarantee."""

from typing import Any

from massart.arena.bandits.contestants import is_ours
from massart.arena.bandits.summary import Race, WorldResult
from massart.arena.report.palette import BOUND_DARK, BOUND_LIGHT, Style, styles

__all__ = ["chart_data", "first_round", "looks_of", "span"]

_SHOWN = 200  # the chart begins after one round in so many: before, averages are mostly luck
# Ours have the colours of the learners of labels that are told as much.
_KIN = {"monotone": "massart", "monotone-unknown": "massart-unknown"}


def looks_of(race: Race) -> dict[str, Style]:
    """A style for each policy, ours strong and thick as in the races of labels.

    >>> from massart.arena.bandits.summary import Race
    >>> looks = looks_of(Race([], ["linucb", "monotone"], {}))
    >>> looks["monotone"].width > looks["linucb"].width
    True
    """
    ordered = [*filter(is_ours, race.learners), *(name for name in race.learners if not is_ours(name))]
    kin = [_KIN.get(name, name) for name in ordered]
    given = styles(kin, kin)
    return {name: given[relative] for name, relative in zip(ordered, kin, strict=True)}


def first_round(world: WorldResult) -> int:
    """Where the chart begins."""
    return max(1, world.rounds // _SHOWN)


def span(world: WorldResult) -> tuple[float, float]:
    """The lowest and highest lift that the chart shows, with a little room."""
    seen = [0.0, world.guarantee or 0.0]
    for standing in world.standings:
        curve = standing.curve
        for t, low, high in zip(curve.rounds, curve.low, curve.high, strict=True):
            seen += [low, high] if t >= first_round(world) else []
    room = 0.06 * (max(seen) - min(seen)) or 0.01
    return min(seen) - room, max(seen) + room


def chart_data(race: Race) -> dict[str, Any]:
    """Everything the page's script needs, as plain JSON."""
    return {
        "styles": {name: vars(look) for name, look in looks_of(race).items()},
        "guarantee": {"light": BOUND_LIGHT, "dark": BOUND_DARK},
        "worlds": [_world(world) for world in race.worlds],
    }


def _world(world: WorldResult) -> dict[str, Any]:
    return {
        "name": world.name,
        "rounds": world.rounds,
        "from": first_round(world),
        "span": span(world),
        "guarantee": world.guarantee,
        "curves": [
            {
                "learner": standing.learner,
                "seeds": standing.seeds,
                "x": standing.curve.rounds,
                "mean": [round(value, 5) for value in standing.curve.mean],
                "low": [round(value, 5) for value in standing.curve.low],
                "high": [round(value, 5) for value in standing.curve.high],
            }
            for standing in world.back_to_front()
        ],
    }
