"""The slack form (section 3 of docs/theory.md): regret of the reweighted losses instead of linear regret.

Losses l_t(w) = C(w.x; y) / m_t with C(t; y) = 1/2 ((1 - 2 noise_rate - slack)|t| - y t), the family of
the paper's Algorithm 1.  The slack pays for the floor under m_t; Theorem 1 needs none and is better.
"""

import math

from massart.theory.conditions import (
    check_margin,
    check_noise_rate,
    check_nonnegative,
    check_positive,
    check_rounds,
    check_slack,
)

__all__ = [
    "black_box_floor",
    "black_box_mistake_bound",
    "black_box_slack",
    "sharp_floor",
    "slack_excess_order",
    "slack_from_regret",
    "slack_mistake_bound",
    "tuned_slack",
]


def sharp_floor(noise_rate: float, slack: float, margin: float) -> float:
    """Theorem 2 of docs/theory.md: the largest tau for which m_t <= |w.x| + tau is safe.

    tau = slack margin / (2 (1 - 2 noise_rate) - slack).

    >>> round(sharp_floor(noise_rate=0.1, slack=0.2, margin=0.07), 12)
    0.01
    """
    eps = check_slack(slack, noise_rate)
    return eps * check_margin(margin) / (2.0 * (1.0 - 2.0 * noise_rate) - eps)


def slack_from_regret(noise_rate: float, slack: float, rounds: float, regret: float) -> float:
    """Theorem 2 of docs/theory.md: E[M] <= (noise_rate + slack / 2) T + R for any learner with loss regret R.

    >>> slack_from_regret(noise_rate=0.1, slack=0.2, rounds=1000, regret=50)
    250.0
    """
    eps = check_slack(slack, noise_rate)
    return (noise_rate + 0.5 * eps) * check_rounds(rounds) + check_nonnegative("regret", regret)


def slack_mistake_bound(noise_rate: float, margin: float, rounds: float, slack: float) -> float:
    """Theorem 2 of docs/theory.md with projected descent of step sqrt(2 / S_t).

    E[M] <= p T + 2 sqrt(2) sqrt(p (1-p) T) / tau + 8 (1 - 2p) / tau^2,
    p = noise_rate + slack / 2, tau the sharp floor.

    >>> round(slack_mistake_bound(noise_rate=0.1, margin=0.05, rounds=10**6, slack=0.2) - 10**5)
    352472
    """
    eps = check_positive("slack", check_slack(slack, noise_rate))
    tau, count = sharp_floor(noise_rate, eps, margin), check_rounds(rounds)
    p = noise_rate + 0.5 * eps
    return p * count + math.sqrt(8.0 * p * (1.0 - p) * count) / tau + 8.0 * (1.0 - 2.0 * p) / tau**2


def tuned_slack(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 2 of docs/theory.md, leading order: the slack that balances slack T / 2 against the regret.

    min(D, sqrt(8 sqrt(2) D sqrt(noise_rate (1 - noise_rate)) / (margin sqrt(T)))),  D = 1 - 2 noise_rate.

    >>> round(tuned_slack(noise_rate=0.1, margin=0.05, rounds=10**6), 3)
    0.233
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    count = check_rounds(rounds, smallest=1.0)
    gap = 1.0 - 2.0 * noise
    balance = 8.0 * math.sqrt(2.0) * gap * math.sqrt(noise * (1.0 - noise)) / (gamma * math.sqrt(count))
    return min(gap, math.sqrt(balance))


def slack_excess_order(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 2 of docs/theory.md, leading order of the excess at `tuned_slack`.

    2 sqrt(2 sqrt(2)) sqrt(D) (noise_rate (1 - noise_rate))^(1/4) T^(3/4) / sqrt(margin),
    D = 1 - 2 noise_rate.

    >>> round(slack_excess_order(noise_rate=0.1, margin=0.05, rounds=10**6), -3)
    233000.0
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    constant = 2.0 * math.sqrt(2.0 * math.sqrt(2.0))
    shape = math.sqrt(1.0 - 2.0 * noise) * math.sqrt(math.sqrt(noise * (1.0 - noise)))
    return constant * shape * math.pow(count, 0.75) / math.sqrt(gamma)


def black_box_floor(noise_rate: float, slack: float, margin: float) -> float:
    """Theorem 3 of docs/theory.md: half the sharp floor, so that every round keeps slack margin / (4 m_t).

    >>> round(black_box_floor(noise_rate=0.1, slack=0.2, margin=0.07), 12)
    0.005
    """
    return 0.5 * sharp_floor(noise_rate, slack, margin)


def black_box_slack(noise_rate: float, margin: float, rounds: float, constant: float) -> float:
    """Theorem 3 of docs/theory.md: the slack that minimises `black_box_mistake_bound`, clipped to its range.

    min(D, (16 c^2 D (1 - noise_rate)^2 / (margin^2 T))^(1/3)),  D = 1 - 2 noise_rate;
    `constant` is the c of the optimiser's promise R <= c sqrt(sum ||g||^2).

    >>> round(black_box_slack(noise_rate=0.1, margin=0.05, rounds=10**6, constant=1.0), 4)
    0.1607
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    count, c = check_rounds(rounds, smallest=1.0), check_positive("constant", constant)
    gap = 1.0 - 2.0 * noise
    return min(gap, math.cbrt(16.0 * c * c * gap * (1.0 - noise) ** 2 / (gamma * gamma * count)))


def black_box_mistake_bound(noise_rate: float, margin: float, rounds: float, slack: float, constant: float) -> float:
    """Theorem 3 of docs/theory.md: any optimiser with loss regret R <= c sqrt(sum ||g||^2).

    E[M] <= (noise_rate + slack / 2) T + 4 c^2 D (1 - noise_rate)^2 / (slack margin)^2,  D = 1 - 2 noise_rate.

    >>> round(black_box_mistake_bound(0.1, 0.05, 10**6, slack=0.16, constant=1.0) - 10**5)
    120500
    """
    eps, gamma = check_positive("slack", check_slack(slack, noise_rate)), check_margin(margin)
    count, c = check_rounds(rounds), check_positive("constant", constant)
    price = 4.0 * c * c * (1.0 - 2.0 * noise_rate) * (1.0 - noise_rate) ** 2 / (eps * gamma) ** 2
    return (noise_rate + 0.5 * eps) * count + price
