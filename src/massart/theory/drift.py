"""Targets that move (section 7.5 of docs/theory.md): what forgetting guarantees, and the price of following experts."""

import math

from massart.theory.conditions import (
    check_experts,
    check_margin,
    check_noise_rate,
    check_nonnegative,
    check_probability,
    check_rounds,
)
from massart.theory.experts import discounted_rounds

__all__ = ["discounted_hedge_price", "drift_horizon", "drifting_mistake_bound", "moving_target_mistake_bound"]


def drifting_mistake_bound(noise_rate: float, margin: float, rounds: float, horizon: float, drift: float) -> float:
    """Theorem 7(g) of docs/theory.md: E[M] of Theorem 7(f)'s learner if rows and target drift.

    noise_rate T + ((1 - b) T + b) Z,  b = exp(-1 / horizon), where Z is P + f + 2 (1 - 2 noise_rate) / margin^2,
    P = 2 drift horizon^2 / margin and f the root of Theorem 1(b) with (1 - 2 noise_rate) P more under it, for
    discounted_rounds(T, horizon) rounds. `drift` is the largest distance in total variation between the distributions
    of two rounds in a row.

    >>> round(drifting_mistake_bound(0.1, 0.5, rounds=10**6, horizon=2000, drift=1e-6) / 10**6, 3)
    0.131
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    effective, moved = discounted_rounds(rounds, horizon), check_probability("drift", drift)
    lost, gap = 2.0 * moved * horizon * horizon / gamma, 1.0 - 2.0 * noise
    root = math.sqrt(2.0 * (noise * (1.0 - noise) * effective + (1.0 - noise) ** 2 + gap * lost)) / gamma
    new = -math.expm1(-1.0 / horizon)
    return noise * count + (new * count + 1.0 - new) * (lost + root + 2.0 * gap / (gamma * gamma))


def drift_horizon(noise_rate: float, drift: float) -> float:
    """Theorem 7(g) of docs/theory.md: the horizon with the smallest leading term.

    (sqrt(2 n (1 - n)) / (4 drift))^(2/3), n the noise rate; at least 1.

    >>> round(drift_horizon(noise_rate=0.1, drift=1e-6))
    2241
    """
    noise, moved = check_noise_rate(noise_rate), check_probability("drift", drift)
    if moved == 0.0:
        return math.inf
    return max(1.0, math.pow(math.sqrt(2.0 * noise * (1.0 - noise)) / (4.0 * moved), 2.0 / 3.0))


def moving_target_mistake_bound(noise_rate: float, margin: float, rounds: float, path: float) -> float:
    """Theorem 7(h) of docs/theory.md: E[M] of projected descent with steps sqrt(2 (1 + path) / S) for a moving target.

    noise_rate T + 2 sqrt(2 (1 + path) n (1 - n) T) / margin + 8 (1 + path) (1 - 2 n) / margin^2, n the noise rate.
    `path` is an upper bound on the sum of the distances between the targets of two rounds in a row.

    >>> round(moving_target_mistake_bound(0.1, 0.5, rounds=10**6, path=10) - 10**5)
    5910
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    length = 1.0 + check_nonnegative("path", path)
    root = 2.0 * math.sqrt(2.0 * length * noise * (1.0 - noise) * count) / gamma
    return noise * count + root + 8.0 * length * (1.0 - 2.0 * noise) / (gamma * gamma)


def discounted_hedge_price(experts: int, horizon: float) -> float:
    """Theorem 7(i) of docs/theory.md: sqrt((k + 1) ln N / 2), what draws by discounted losses lose, discounted.

    The learning rate is sqrt(8 ln N / (k + 1)), k the horizon of the discount; the price holds at every time.

    >>> round(discounted_hedge_price(experts=20, horizon=1000), 1)
    38.7
    """
    memory = check_rounds(horizon, name="horizon", smallest=1.0)
    return math.sqrt(0.5 * (memory + 1.0) * math.log(check_experts(experts)))
