"""Many halfspaces and one master (section 7 of docs/theory.md): the price of not knowing the parameters.

Every expert sees every label, so the master's problem is prediction with expert advice; it follows an
expert drawn from its weights, and its expected mistakes exceed the best expert's by the price below.
"""

import math
from collections.abc import Iterable

from massart.errors import InvalidParameterError
from massart.theory.conditions import (
    check_experts,
    check_margin,
    check_mistakes,
    check_noise_rate,
    check_rounds,
)
from massart.theory.halfspace import ftrl_mistake_bound

__all__ = ["adahedge_price", "hedge_known_horizon_price", "hedge_price", "pool_mistake_bound"]


def hedge_price(experts: int, rounds: float) -> float:
    """Theorem 7(a) of docs/theory.md: Hedge with learning rate 2 sqrt(ln N / t), anytime: sqrt(T ln N).

    >>> round(hedge_price(experts=40, rounds=10_000), 1)
    192.1
    """
    return math.sqrt(check_rounds(rounds) * math.log(check_experts(experts)))


def hedge_known_horizon_price(experts: int, rounds: float) -> float:
    """Theorem 7(a) of docs/theory.md: Hedge with learning rate sqrt(8 ln N / T): sqrt(T ln N / 2).

    >>> round(hedge_known_horizon_price(experts=40, rounds=10_000), 1)
    135.8
    """
    return math.sqrt(0.5 * check_rounds(rounds) * math.log(check_experts(experts)))


def adahedge_price(experts: int, rounds: float, best_loss: float) -> float:
    """Theorem 7(b) of docs/theory.md: AdaHedge of de Rooij, van Erven, Grünwald and Koolen (2014).

    2 sqrt(L (1 - L/T) ln N) + (16/3) ln N + 2,  L = min(best_loss, T/2), for losses in [0, 1]
    whose best expert loses `best_loss`, or is known to lose no more.  Nothing for a single expert.

    >>> round(adahedge_price(experts=40, rounds=10_000, best_loss=100), 1)
    59.9
    """
    count, horizon = check_experts(experts), check_rounds(rounds)
    # L (1 - L/T) falls beyond T/2; its largest value below an upper bound on the loss is what is safe
    loss = min(check_mistakes(best_loss, horizon), 0.5 * horizon)
    if count == 1 or horizon == 0.0:
        return 0.0
    log = math.log(count)
    return 2.0 * math.sqrt(loss * (1.0 - loss / horizon) * log) + 16.0 / 3.0 * log + 2.0


def pool_mistake_bound(
    noise_rate: float,
    margin: float,
    rounds: float,
    grid: Iterable[tuple[float, float]],
    experts: int | None = None,
) -> float:
    """Theorem 7(c) of docs/theory.md: E[M] of AdaHedge over learners of Theorem 1(b) on a grid.

    min over (p, g) in grid with p >= noise_rate and g <= margin of B = ftrl_mistake_bound(p, g, T),
    plus adahedge_price(experts, T, B).  `grid` holds the (noise_rate, margin) pairs of the experts;
    `experts` counts the whole pool, when others than those of the grid sit in it.

    >>> grid = [(p, 2.0**-j) for p in (0.05, 0.1, 0.2, 0.4) for j in range(8)]
    >>> round(pool_mistake_bound(0.1, 0.05, 10**6, grid) - 10**5)
    16424
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    pairs = list(grid)
    bounds = [ftrl_mistake_bound(p, g, count) for p, g in pairs if p >= noise and g <= gamma]
    if not bounds:
        raise InvalidParameterError(
            f"the grid holds no pair with noise_rate >= {noise_rate!r} and margin <= {margin!r}; "
            "only such an expert is promised anything: add one"
        )
    members = len(pairs) if experts is None else check_experts(experts)
    if members < len(pairs):
        raise InvalidParameterError(f"experts must count at least the {len(pairs)} of the grid; got {experts!r}")
    best = min(bounds)
    return best + adahedge_price(members, count, min(best, count))
