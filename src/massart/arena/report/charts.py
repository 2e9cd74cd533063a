"""What the page's script draws: per world the curves with their bands over seeds, and the bound."""

from typing import Any

from massart.arena.report.palette import BOUND_DARK, BOUND_LIGHT, styles
from massart.arena.report.summary import Curve, Race, Standing, WorldResult

__all__ = ["ceiling", "chart_data"]

_DECADES_SHOWN = 3
_BOUNDS_SHOWN = 4.0


def chart_data(race: Race) -> dict[str, Any]:
    """Everything the charts need, as plain JSON."""
    first = race.shown_first()
    looks = styles(race.learners, first)
    return {
        "styles": {name: vars(look) for name, look in looks.items()},
        "bound": {"light": BOUND_LIGHT, "dark": BOUND_DARK},
        "worlds": [_world(world, first) for world in race.worlds],
    }


def _world(world: WorldResult, first: list[str]) -> dict[str, Any]:
    shown = [standing for standing in world.standings if standing.learner in first]
    return {
        "name": world.name,
        "noise_rate": world.noise_rate,
        "rounds": world.rounds,
        "from": max(1, world.rounds // 10**_DECADES_SHOWN),
        "ceiling": ceiling(world, shown),
        "bound": _points(world.bound_curve) if world.bound_curve else None,
        "curves": [
            {"learner": s.learner, "shown": s.learner in first, "seeds": s.seeds, **_points(s.curve)}
            for s in world.back_to_front()
        ],
    }


def _points(curve: Curve) -> dict[str, list[float]]:
    return {
        "x": list(curve.rounds),
        "mean": [round(value, 1) for value in curve.mean],
        "low": [round(value, 1) for value in curve.low],
        "high": [round(value, 1) for value in curve.high],
        "mistakes": [round(value, 1) for value in curve.mistakes],
    }


def ceiling(world: WorldResult, shown: list[Standing]) -> float | None:
    """Where the first view ends when some curve leaves the bound so far below that nothing else could be seen."""
    if world.bound_curve is None or not shown:
        return None
    limit = _BOUNDS_SHOWN * world.bound_curve.mean[-1]
    highest = max(max(standing.curve.high) for standing in shown)
    return limit if highest > 1.25 * limit else None
