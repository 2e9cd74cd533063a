"""The slack form and the paper's two-arm half: what Lemma 2.2, Fact 2.4 and Theorem 1.8 print, and what is true.

The slack form (section 3 of docs/theory.md) bounds mistakes by the regret of the reweighted losses instead of linear
regret: losses l_t(w) = C(w.x; y) / m_t with C(t; y) = 1/2 ((1 - 2 noise_rate - slack)|t| - y t), the family of the
paper's Algorithm 1.  The slack pays for the floor under m_t; Theorem 1 needs none and is better.

"The paper" is Diakonikolas, Kontonis, Tzamos and Zarifis, Online Learning of Halfspaces with Massart
Noise (arXiv 2405.12958).  Three constants are not the printed ones, each for a reason:

1. `paper_slack` is (margin sqrt(T))^(-1/2); the printed T^(-1/4)/margin is out of the slack's range.
2. `descent_regret` is G D sqrt(T); the printed third of it is below what any algorithm can reach.
3. `paper_mistake_bound` rests on Theorem 2 of docs/theory.md; Lemma 2.2 is void at Algorithm 1's own floor.
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
    "descent_anytime_regret",
    "descent_regret",
    "paper_anytime_mistake_bound",
    "paper_floor",
    "paper_gradient_cap",
    "paper_lemma_derived_excess",
    "paper_lemma_excess",
    "paper_mistake_bound",
    "paper_slack",
    "paper_step",
    "paper_theorem_excess",
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
    `constant` is the c of the optimiser's regret bound R <= c sqrt(sum ||g||^2).

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


def paper_slack(noise_rate: float, margin: float, rounds: float) -> float:
    """Proof of Theorem 1.8, corrected: min((1 - 2 noise_rate) / 2, (margin sqrt(T))^(-1/2)).

    >>> paper_slack(noise_rate=0.1, margin=0.1, rounds=10**6)
    0.1
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    count = check_rounds(rounds, smallest=1.0)
    return min(0.5 * (1.0 - 2.0 * noise), 1.0 / math.sqrt(gamma * math.sqrt(count)))


def paper_floor(slack: float, margin: float) -> float:
    """Algorithm 1, line 1: slack margin / 4.

    >>> round(paper_floor(slack=0.1, margin=0.1), 12)
    0.0025
    """
    return check_slack(slack, 0.0) * check_margin(margin) / 4.0


def paper_gradient_cap(noise_rate: float, slack: float, floor: float) -> float:
    """Algorithm 1: the longest gradient of its losses, (1 + D) / (2 floor) with D = 1 - 2 noise_rate - slack.

    >>> round(paper_gradient_cap(noise_rate=0.1, slack=0.1, floor=0.0025), 9)
    340.0
    """
    eps = check_slack(slack, noise_rate)
    return (2.0 - 2.0 * noise_rate - eps) / (2.0 * check_positive("floor", floor))


def paper_step(cap: float, rounds: float) -> float:
    """Fact 2.4: the step D / (G sqrt(T)) on the unit ball, of diameter D = 2.

    >>> paper_step(cap=100.0, rounds=10_000)
    0.0002
    """
    return 2.0 / (check_positive("cap", cap) * math.sqrt(check_rounds(rounds, smallest=1.0)))


def descent_regret(cap: float, diameter: float, rounds: float) -> float:
    """Fact 2.4, corrected: projected descent with step D / (G sqrt(T)) has R <= G D sqrt(T).

    >>> descent_regret(cap=3.0, diameter=2.0, rounds=100)
    60.0
    """
    width = check_positive("diameter", diameter)
    return check_nonnegative("cap", cap) * width * math.sqrt(check_rounds(rounds))


def descent_anytime_regret(cap: float, diameter: float, rounds: float) -> float:
    """Fact 2.4, corrected: projected descent with step D / (G sqrt(t)) has R <= (3/2) G D sqrt(T).

    >>> descent_anytime_regret(cap=3.0, diameter=2.0, rounds=100)
    90.0
    """
    return 1.5 * descent_regret(cap, diameter, rounds)


def paper_lemma_excess(rounds: float, regret: float, slack: float, floor: float, margin: float) -> float:
    """Lemma 2.2 as printed: T (slack/2 + 8 floor/(slack margin)) + R (1 + 8 floor/(slack margin)).

    With Algorithm 1's floor it exceeds 2 T, so it says nothing there.

    >>> round(paper_lemma_excess(rounds=10**6, regret=0.0, slack=0.1, floor=0.0025, margin=0.1))
    2050000
    """
    eps, gamma = check_positive("slack", check_slack(slack, 0.0)), check_margin(margin)
    share = 8.0 * check_positive("floor", floor) / (eps * gamma)
    return check_rounds(rounds) * (0.5 * eps + share) + check_nonnegative("regret", regret) * (1.0 + share)


def paper_lemma_derived_excess(rounds: float, regret: float, slack: float, floor: float, margin: float) -> float:
    """Lemma 2.2 as its own equations give it: slack T/2 + R + 4 (R + T/2) floor/(slack margin).

    >>> round(paper_lemma_derived_excess(rounds=10**6, regret=0.0, slack=0.1, floor=0.0025, margin=0.1))
    550000
    """
    eps, gamma = check_positive("slack", check_slack(slack, 0.0)), check_margin(margin)
    count, loss = check_rounds(rounds), check_nonnegative("regret", regret)
    share = 4.0 * check_positive("floor", floor) / (eps * gamma)
    return 0.5 * eps * count + loss + (loss + 0.5 * count) * share


def paper_mistake_bound(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 8(a) of docs/theory.md: Algorithm 1 on the unit ball from w_1 = 0, horizon known.

    E[M] <= (noise_rate + slack/2) T + (5/4) G sqrt(T), with `paper_slack`, `paper_floor`,
    `paper_gradient_cap` G and `paper_step`; of order T^(3/4) / sqrt(margin).

    >>> round(paper_mistake_bound(noise_rate=0.1, margin=0.1, rounds=10**6) - 10**5)
    475000
    """
    eps = paper_slack(noise_rate, margin, rounds)
    cap = paper_gradient_cap(noise_rate, eps, paper_floor(eps, margin))
    return (noise_rate + 0.5 * eps) * rounds + 1.25 * cap * math.sqrt(rounds)


def paper_anytime_mistake_bound(noise_rate: float, margin: float, rounds: float) -> float:
    """Theorem 8(b) of docs/theory.md: Algorithm 1 with the parameters of round t used in round t.

    E[M] <= noise_rate T + 1/2 int_0^T slack_t dt + 3 G_T sqrt(T); the integral bounds the sum of the
    falling slack_t = min(D/2, margin^(-1/2) t^(-1/4)), D = 1 - 2 noise_rate.

    >>> round(paper_anytime_mistake_bound(noise_rate=0.1, margin=0.1, rounds=10**6) - 10**5)
    1086406
    """
    noise, gamma = check_noise_rate(noise_rate), check_margin(margin)
    count = check_rounds(rounds, smallest=1.0)
    largest, scale = 0.5 * (1.0 - 2.0 * noise), 1.0 / math.sqrt(gamma)
    turn = min(count, (scale / largest) ** 4)
    slack_sum = largest * turn + 4.0 / 3.0 * scale * (math.pow(count, 0.75) - math.pow(turn, 0.75))
    eps = paper_slack(noise, gamma, count)
    cap = paper_gradient_cap(noise, eps, paper_floor(eps, gamma))
    return noise * count + 0.5 * slack_sum + descent_anytime_regret(cap, 2.0, count)


def paper_theorem_excess(margin: float, rounds: float, constant: float = 1.0) -> float:
    """Theorem 1.8 as printed, up to its unnamed constant: T^(3/4) / margin.

    >>> round(paper_theorem_excess(margin=0.05, rounds=10**6), -3)
    632000.0
    """
    gamma, count = check_margin(margin), check_rounds(rounds)
    return check_positive("constant", constant) * math.pow(count, 0.75) / gamma
