"""The paper's k-arm half: the parameters of its Theorem 1.10, its Lemma 3.4, and the noise of its estimator.

Printed and corrected forms stand side by side; none of them is what the library runs on (see `arms`).
"""

import math

from massart.theory.conditions import (
    check_arms,
    check_bandit,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rounds,
)

__all__ = [
    "paper_bandit_excess",
    "paper_bandit_rounds",
    "paper_bandit_second_moment",
    "paper_exploration_rate",
    "paper_reward_derived_excess",
    "paper_reward_excess",
    "paper_shift",
    "paper_zero_weight",
]


def paper_shift(margin: float) -> float:
    """Lemma 3.4, proof: rho = margin / 2, how far Algorithm 2 shifts every pair along the learner's vector.

    >>> paper_shift(margin=0.1)
    0.05
    """
    return 0.5 * check_positive("margin", margin)


def paper_zero_weight(arms: int, gap: float, margin: float, reward_width: float, rounds: float) -> float:
    """Theorem 1.10, proof: Lambda = T^(1/6) (M / (k gap))^(1/3) / margin, the weight of a round at w = 0.

    >>> round(paper_zero_weight(arms=5, gap=0.1, margin=0.1, reward_width=1.0, rounds=10**6), 1)
    126.0
    """
    count = check_bandit(arms, gap, margin, reward_width)
    horizon = check_rounds(rounds, smallest=1.0)
    return math.cbrt(math.sqrt(horizon) * reward_width / (count * gap)) / margin


def paper_exploration_rate(arms: int, gap: float, margin: float, reward_width: float, rounds: float) -> float:
    """Theorem 1.10, proof: q = M / (margin Lambda gap), clipped at 1.

    Below `paper_bandit_rounds` rounds the printed value is no probability.

    >>> round(paper_exploration_rate(arms=5, gap=0.25, margin=0.1, reward_width=1.0, rounds=64 * 6400), 9)
    0.5
    """
    weight = paper_zero_weight(arms, gap, margin, reward_width, rounds)
    return min(1.0, reward_width / (margin * weight * gap))


def paper_bandit_rounds(arms: int, gap: float, reward_width: float) -> float:
    """Theorem 1.10, proof: its q is at most 1 from T = k^2 (M / gap)^4 on.

    >>> paper_bandit_rounds(arms=5, gap=0.25, reward_width=1.0)
    6400.0
    """
    ratio = check_positive("reward_width", reward_width) / check_positive("gap", gap)
    return float(check_arms(arms) ** 2 * ratio**4)


def paper_bandit_excess(
    arms: int, gap: float, margin: float, reward_width: float, rounds: float, constant: float = 1.0
) -> float:
    """Theorem 1.10, and Corollary 1.11 for two arms, as printed, up to the unnamed constant.

    T^(5/6) (k gap M^2)^(1/3) / margin.

    >>> round(paper_bandit_excess(arms=5, gap=0.1, margin=0.1, reward_width=1.0, rounds=10**6), -4)
    790000.0
    """
    count = check_bandit(arms, gap, margin, reward_width)
    size = math.cbrt(count * gap * reward_width**2)
    return check_positive("constant", constant) * math.cbrt(math.sqrt(check_rounds(rounds))) ** 5 * size / margin


def paper_reward_excess(
    arms: int, margin: float, reward_width: float, zero_weight: float, rounds: float, regret: float
) -> float:
    """Lemma 3.4 as printed: (R/k) (1 + 1/(margin Lambda)) + T M / Lambda.

    >>> paper_reward_excess(arms=2, margin=0.5, reward_width=1.0, zero_weight=4.0, rounds=100, regret=20)
    40.0
    """
    count, weight = check_arms(arms), check_positive("zero_weight", zero_weight)
    share = 1.0 / (check_positive("margin", margin) * weight)
    width = check_positive("reward_width", reward_width)
    return check_nonnegative("regret", regret) / count * (1.0 + share) + check_rounds(rounds) * width / weight


def paper_reward_derived_excess(
    arms: int, margin: float, reward_width: float, zero_weight: float, rounds: float, regret: float
) -> float:
    """Lemma 3.4 as its own equations give it: (R/k) (2 + 1/(margin Lambda)) + T M / (margin Lambda).

    >>> paper_reward_derived_excess(2, margin=0.5, reward_width=1.0, zero_weight=4.0, rounds=100, regret=20)
    75.0
    """
    count, weight = check_arms(arms), check_positive("zero_weight", zero_weight)
    share = 1.0 / (check_positive("margin", margin) * weight)
    width = check_positive("reward_width", reward_width)
    return check_nonnegative("regret", regret) / count * (2.0 + share) + check_rounds(rounds) * width * share


def paper_bandit_second_moment(arms: int, gap: float, margin: float, reward_width: float, exploration: float) -> float:
    """Algorithm 3: the largest E ||g||^2 of its fake rewards at ||z|| = 2 and denominator `margin`.

    (k-1)^2 (max(gap + M, (k-1) M - gap)^2 + (k-1) (gap + M)^2) / (k q margin^2);
    compare `bandit_second_moment`.

    >>> round(paper_bandit_second_moment(10, gap=1 / 9, margin=0.2, reward_width=1.0, exploration=0.1) * 0.04)
    7300
    """
    count = check_bandit(arms, gap, margin, reward_width)
    q = check_positive("exploration", check_probability("exploration", exploration))
    favoured = max(gap + reward_width, (count - 1) * reward_width - gap) ** 2
    explored = (count - 1) * (gap + reward_width) ** 2
    return (count - 1) ** 2 * (favoured + explored) / (count * q * margin**2)
