"""When a race is looked at, and what is written down: log-spaced rounds, the angle to the truth, the mistake bound."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.errors import InvalidParameterError
from massart.worlds.base import World

__all__ = ["Promise", "Row", "angle_between", "checkpoints", "promise"]

Row = dict[str, Any]
Promise = Callable[[int], float]

_PER_DECADE = 20


def checkpoints(rounds: int) -> list[int]:
    """The rounds after which a race of `rounds` rounds is looked at.

    1, 2, 5, 10, 20, 50, ... and, above 100, also the nearest whole numbers to 10^(k/20); always the last
    round. But for its last round, a shorter race is looked at when a longer one is.

    >>> checkpoints(130)
    [1, 2, 5, 10, 20, 50, 100, 112, 126, 130]
    """
    decades = range(len(str(rounds)))
    plain = (digit * 10**decade for decade in decades for digit in (1, 2, 5))
    fine = (round(10 ** (k / _PER_DECADE)) for k in range(2 * _PER_DECADE, _PER_DECADE * len(str(rounds))))
    return sorted({t for t in (*plain, *fine) if t <= rounds} | {rounds})


def angle_between(weights: NDArray[np.float64], target: NDArray[np.float64]) -> float | None:
    """Degrees between two vectors, None when one of them is 0 or not finite.

    2 atan2(|u - v|, |u + v|) of the unit vectors u and v, which is exact to rounding at every angle; the arc cosine
    of u.v loses half of the digits near 0 and 180.

    >>> angle_between(np.array([2.0, 0.0]), np.array([0.0, 0.5]))
    90.0
    """
    longest = float(np.abs(weights).max(initial=0.0)), float(np.abs(target).max(initial=0.0))
    if not all(0.0 < length < math.inf for length in longest):
        return None
    u, v = weights / longest[0], target / longest[1]  # so that no square is lost to underflow
    u, v = u / _length(u), v / _length(v)
    return math.degrees(2.0 * math.atan2(_length(u - v), _length(u + v)))


def _length(vector: NDArray[np.float64]) -> float:
    """Without BLAS, whose order of additions depends on the processor and on the number of its threads."""
    return math.sqrt(float(np.square(vector).sum()))


def promise(contestant: str | None, world: World, rounds: int) -> Promise | None:
    """What theory bounds the expected mistakes after t rounds by: t -> bound.

    A contestant of ours is held to its own theorem. Everybody else is shown the smallest of these bounds, that of
    Theorem 1(a) of docs/theory.md with the step tuned for t. None where no theorem applies: no margin, or a
    target that turns.

    >>> from massart import worlds
    >>> told = promise("perceptron", worlds.make("masked-margin", noise_rate=0.1, margin=0.05), 10_000)
    >>> round(told(10_000) - 1000)
    781
    """
    noise_rate, margin = world.noise_rate, world.margin
    if margin is None or not np.array_equal(world.target_at(0), world.target_at(rounds - 1)):
        return None
    if contestant == "massart-unknown":
        return _pool_promise(noise_rate, margin)
    own: dict[str | None, Promise] = {
        "massart": lambda t: theory.ftrl_mistake_bound(noise_rate, margin, t),
        "massart-adagrad": lambda t: theory.adagrad_mistake_bound(noise_rate, margin, t),
        "massart-fixed": lambda t: theory.fixed_mistake_bound(noise_rate, margin, t, horizon=rounds),
        "paper": _paper_promise(noise_rate, margin, rounds),
    }
    reference: Promise = lambda t: theory.fixed_mistake_bound(noise_rate, margin, t)  # noqa: E731
    return own.get(contestant, reference)


def _paper_promise(noise_rate: float, margin: float, horizon: int) -> Promise:
    """Theorem 8(a) of docs/theory.md at a round before the horizon: the slack and the step stay those of the horizon.

    (noise_rate + slack / 2) t + 1 / (2 step) + step G^2 t / 2, which at t = horizon is `theory.paper_mistake_bound`.
    """
    slack = theory.paper_slack(noise_rate, margin, horizon)
    cap = theory.paper_gradient_cap(noise_rate, slack, theory.paper_floor(slack, margin))
    step = theory.paper_step(cap, horizon)
    return lambda t: (noise_rate + 0.5 * slack) * t + theory.fixed_regret(step, cap * cap * t)


def _pool_promise(noise_rate: float, margin: float) -> Promise | None:
    from massart.learners.pool import MARGINS, MOST_EXPERTS, NOISE_RATES  # noqa: PLC0415 - numba, when a race begins

    grid = [(rate, gamma) for rate in NOISE_RATES for gamma in MARGINS]
    try:
        theory.pool_mistake_bound(noise_rate, margin, 1, grid, MOST_EXPERTS)
    except InvalidParameterError:
        return None  # the world is noisier, or its margin smaller, than any expert of the pool was told
    return lambda t: theory.pool_mistake_bound(noise_rate, margin, t, grid, MOST_EXPERTS)
