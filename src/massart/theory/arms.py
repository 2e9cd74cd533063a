"""k arms (section 9 of docs/theory.md): the lift over a random arm that pairs of arms guarantee.

The learner scores the contexts, takes the best arm a, and treats every pair (a, j) as one example
z = x_a - x_j with real label y = r_a - r_j.  Rewards live in an interval of length `reward_width` (M),
expected rewards of two arms with different contexts differ by at least `gap` (Delta), in the target's order, their
scores by at least `margin` (gamma).  "Lift" is the expected reward above that of a uniformly random arm, over T rounds.

The functions named `paper_...` are the paper's own k-arm half: the parameters of its Theorem 1.10, its Lemma 3.4 and
the noise of its estimator, printed and corrected. The library runs on none of them.
"""

import math

from massart.errors import InvalidParameterError
from massart.theory.conditions import (
    check_arm_slack,
    check_arms,
    check_bandit,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rounds,
)
from massart.theory.confidence import anytime_evidence
from massart.theory.halfspace import ftrl_regret

__all__ = [
    "adaptive_bandit_gradient_cap",
    "arm_floor",
    "bandit_gradient_cap",
    "bandit_lift",
    "bandit_second_moment",
    "best_arm_lift",
    "exploration_cost",
    "exploration_rate",
    "full_information_gradient_cap",
    "full_information_lift",
    "guaranteed_lift",
    "lagging_cap_regret",
    "learned_lift",
    "lift_evidence",
    "lift_from_regret",
    "mixture_lift",
    "paper_bandit_excess",
    "paper_bandit_rounds",
    "paper_bandit_second_moment",
    "paper_exploration_rate",
    "paper_reward_derived_excess",
    "paper_reward_excess",
    "paper_shift",
    "paper_zero_weight",
    "path_price",
    "slack_lift_from_regret",
]


def guaranteed_lift(arms: int, gap: float, rounds: float) -> float:
    """Theorem 1.10 and Theorem 9 of docs/theory.md, leading term: (k-1)/k gap T.

    >>> guaranteed_lift(arms=5, gap=0.125, rounds=10**6)
    100000.0
    """
    count = check_arms(arms)
    return (count - 1) / count * check_positive("gap", gap) * check_rounds(rounds)


def best_arm_lift(arms: int, gap: float, rounds: float) -> float:
    """Definition 1.4: the best arm is at least (k-1)/2 gap T above a random one, k/2 times the guarantee.

    >>> best_arm_lift(arms=5, gap=0.1, rounds=10**6)
    200000.0
    """
    return 0.5 * (check_arms(arms) - 1) * check_positive("gap", gap) * check_rounds(rounds)


def arm_floor(gap: float, slack: float, margin: float) -> float:
    """Theorem 9(a) of docs/theory.md: the sharp floor slack margin / (2 gap - slack) for pairs of arms.

    >>> round(arm_floor(gap=0.2, slack=0.1, margin=0.3), 12)
    0.1
    """
    delta, gamma = check_positive("gap", gap), check_positive("margin", margin)
    eps = check_arm_slack(slack, delta)
    return eps * gamma / (2.0 * delta - eps)


def slack_lift_from_regret(arms: int, gap: float, slack: float, rounds: float, regret: float) -> float:
    """Theorem 9(a) of docs/theory.md: lift >= (k-1)/k (gap - slack) T - 2 R / k, R the regret of the losses.

    >>> slack_lift_from_regret(arms=2, gap=0.5, slack=0.25, rounds=1000, regret=20)
    105.0
    """
    remaining = gap - check_arm_slack(slack, gap)
    count = check_arms(arms)
    loss = 2.0 * check_nonnegative("regret", regret) / count
    return (count - 1) / count * remaining * check_rounds(rounds) - loss


def lift_from_regret(arms: int, gap: float, rounds: float, regret: float) -> float:
    """Theorem 9(b) of docs/theory.md: lift >= (k-1)/k gap T - 2 R / k, R the linear regret.

    >>> lift_from_regret(arms=5, gap=0.125, rounds=10**6, regret=10**5)
    60000.0
    """
    loss = 2.0 * check_nonnegative("regret", regret) / check_arms(arms)
    return guaranteed_lift(arms, gap, rounds) - loss


def full_information_gradient_cap(arms: int, gap: float, margin: float, reward_width: float) -> float:
    """Theorem 9(b) of docs/theory.md: ||g|| <= (k-1) (gap + M) / margin when all rewards are seen.

    >>> round(full_information_gradient_cap(arms=5, gap=0.1, margin=0.1, reward_width=1.0), 9)
    44.0
    """
    count = check_bandit(arms, gap, margin, reward_width)
    return (count - 1) * (gap + reward_width) / margin


def full_information_lift(arms: int, gap: float, margin: float, reward_width: float, rounds: float) -> float:
    """Theorem 9(b) of docs/theory.md with the dual averaging of Theorem 1(b).

    lift >= (k-1)/k (gap T - 2 sqrt(2) (gap + M) sqrt(T + 1) / margin).

    >>> round(full_information_lift(arms=5, gap=0.1, margin=0.1, reward_width=1.0, rounds=10**6))
    55110
    """
    cap, count = full_information_gradient_cap(arms, gap, margin, reward_width), check_rounds(rounds)
    return lift_from_regret(arms, gap, count, ftrl_regret(cap, count * cap * cap))


def bandit_gradient_cap(arms: int, gap: float, margin: float, reward_width: float, exploration: float) -> float:
    """Theorem 10 of docs/theory.md: the longest gradient built from one reward, baseline M/2.

    max((k-1)(gap + M/(2 pi)), (k-1) gap + k M/(2q)) / margin,
    q = exploration, pi = 1 - q + q/k the probability of the arm the learner favours.

    >>> round(bandit_gradient_cap(arms=5, gap=0.1, margin=0.1, reward_width=1.0, exploration=0.2), 9)
    129.0
    """
    count = check_bandit(arms, gap, margin, reward_width)
    q = check_positive("exploration", check_probability("exploration", exploration))
    favoured = (count - 1) * (gap + reward_width / (2.0 * (1.0 - q + q / count)))
    explored = (count - 1) * gap + count * reward_width / (2.0 * q)
    return max(favoured, explored) / margin


def bandit_second_moment(arms: int, gap: float, margin: float, reward_width: float, exploration: float) -> float:
    """Theorem 10 of docs/theory.md: E ||g||^2 of the inverse-probability estimate with baseline M/2.

    (pi (k-1)^2 (gap + M/(2 pi))^2 + (k-1) (q/k) ((k-1) gap + k M/(2q))^2) / margin^2,
    q = exploration, pi = 1 - q + q/k; about k (k-1) M^2 / (4 q margin^2).

    >>> round(bandit_second_moment(arms=10, gap=1 / 9, margin=0.2, reward_width=1.0, exploration=0.1) * 0.04)
    266
    """
    count = check_bandit(arms, gap, margin, reward_width)
    q = check_positive("exploration", check_probability("exploration", exploration))
    pi = 1.0 - q + q / count
    favoured = pi * ((count - 1) * (gap + reward_width / (2.0 * pi))) ** 2
    explored = (count - 1) * q / count * ((count - 1) * gap + count * reward_width / (2.0 * q)) ** 2
    return (favoured + explored) / margin**2


def exploration_rate(
    arms: int, gap: float, margin: float, reward_width: float, rounds: float, constant: float = math.sqrt(2.0)
) -> float:
    """Theorem 10 of docs/theory.md: min(1, (c M sqrt(k/(k-1)) / (2 margin gap sqrt(T)))^(2/3)).

    `constant` is the c of the optimiser's regret bound R <= c sqrt(sum ||g||^2): sqrt(2) for Theorem 1(b).

    >>> round(exploration_rate(arms=5, gap=0.1, margin=0.1, reward_width=1.0, rounds=10**6), 3)
    0.184
    """
    count, c = check_bandit(arms, gap, margin, reward_width), check_positive("constant", constant)
    horizon = check_rounds(rounds, smallest=1.0)
    balance = c * reward_width * math.sqrt(count / (count - 1)) / (2.0 * margin * gap * math.sqrt(horizon))
    return min(1.0, math.cbrt(balance) ** 2)


def exploration_cost(
    arms: int, gap: float, margin: float, reward_width: float, rounds: float, constant: float = math.sqrt(2.0)
) -> float:
    """Theorem 10 of docs/theory.md, leading order of what is lost of the guarantee at the best exploration.

    3 q (k-1)/k gap T = 3 (c/2)^(2/3) ((k-1)/k)^(2/3) gap^(1/3) (M T / margin)^(2/3).

    >>> round(exploration_cost(arms=5, gap=0.1, margin=0.1, reward_width=1.0, rounds=10**6), -2)
    44200.0
    """
    count, c = check_bandit(arms, gap, margin, reward_width), check_positive("constant", constant)
    horizon = check_rounds(rounds)
    shape = 0.5 * c * (count - 1) / count * reward_width * horizon / margin
    return 3.0 * math.cbrt(shape) ** 2 * math.cbrt(gap)


def bandit_lift(arms: int, gap: float, margin: float, reward_width: float, rounds: float, exploration: float) -> float:
    """Theorem 10 of docs/theory.md with the dual averaging of Theorem 1(b), every term kept.

    lift >= (1-q) ((k-1)/k gap T - (2/k) sqrt(2) sqrt(G^2 + T B)), q = exploration,
    G `bandit_gradient_cap`, B `bandit_second_moment`.

    >>> round(bandit_lift(arms=5, gap=0.1, margin=0.1, reward_width=1.0, rounds=10**6, exploration=0.2))
    37955
    """
    count = check_rounds(rounds)
    cap = bandit_gradient_cap(arms, gap, margin, reward_width, exploration)
    squares = count * bandit_second_moment(arms, gap, margin, reward_width, exploration)
    return (1.0 - exploration) * lift_from_regret(arms, gap, count, ftrl_regret(cap, squares))


def adaptive_bandit_gradient_cap(
    arms: int, gap: float, margin: float, reward_width: float, exploration: float
) -> float:
    """Theorem 11 of docs/theory.md: the longest gradient when every round has its own exploration rate.

    max((k-1)(gap + M/(2 pi)), (k-1) gap + sqrt(k-1) k M/(2q)) / margin, with q and pi as in Theorem 10.

    >>> round(adaptive_bandit_gradient_cap(5, gap=0.1, margin=0.1, reward_width=1.0, exploration=0.2), 9)
    254.0
    """
    count = check_bandit(arms, gap, margin, reward_width)
    q = check_positive("exploration", check_probability("exploration", exploration))
    favoured = (count - 1) * (gap + reward_width / (2.0 * (1.0 - q + q / count)))
    explored = (count - 1) * gap + math.sqrt(count - 1) * count * reward_width / (2.0 * q)
    return max(favoured, explored) / margin


def lagging_cap_regret(gradient_cap: float, squared_gradients: float, first_cap: float) -> float:
    """Theorem 17(a) of docs/theory.md: sqrt(2) sqrt(G^2 + S) + 2 (G - G_1), where w is made with the caps before it.

    >>> round(lagging_cap_regret(gradient_cap=3.0, squared_gradients=41.0, first_cap=2.5), 9)
    11.0
    """
    first, last = check_nonnegative("first_cap", first_cap), check_nonnegative("gradient_cap", gradient_cap)
    return ftrl_regret(last, squared_gradients) + 2.0 * max(0.0, last - first)


def learned_lift(
    gap: float, kept: float, gradient_cap: float, squared_gradients: float, first_cap: float, delay_cost: float = 0.0
) -> float:
    """Theorem 17(b) of docs/theory.md: E[lift] is at least the expectation of this, from what was really learned.

    gap KEPT - sqrt(2) sqrt(G^2 + S) - 2 (G - G_1) - DRIFT

    KEPT is the sum of (1 - q) #{j: z_j is not 0} / k over the rounds learned, DRIFT, `delay_cost`, what late rewards
    cost.

    >>> round(learned_lift(0.5, kept=100.0, gradient_cap=3.0, squared_gradients=41.0, first_cap=3.0, delay_cost=5.0), 9)
    35.0
    """
    regret = lagging_cap_regret(gradient_cap, squared_gradients, first_cap)
    return check_positive("gap", gap) * check_nonnegative("kept", kept) - regret - delay_cost


def lift_evidence(shortfall: float, variance: float, reach: float, margin: float, reward_width: float) -> float:
    """Theorem 17(c) of docs/theory.md: an e-value against the gap and the margin; P(it is ever 1/d or more) <= d.

    The mean of exp(l shortfall - variance phi(l reach) / reach^2), phi(s) = exp(s) - 1 - s, over the 46 rates
    l = 8 margin 2^(-i/2) / (M (margin + 2)).  The shortfall is `learned_lift` less the lift observed.

    >>> lift_evidence(shortfall=0.0, variance=0.0, reach=0.0, margin=0.5, reward_width=1.0)
    1.0
    >>> lift_evidence(2000.0, variance=1e5, reach=30.0, margin=0.5, reward_width=1.0) > 1000
    True
    """
    gamma, width = check_positive("margin", margin), check_positive("reward_width", reward_width)
    spread, far = check_nonnegative("variance", variance), check_nonnegative("reach", reach)
    return math.exp(min(700.0, anytime_evidence(shortfall, [(spread, far)], scale=width * (gamma + 2.0) / gamma)))


def path_price(prior: float, squares: float, lowered: float, tail: float) -> float:
    """Theorem 19(a) of docs/theory.md: the price of Prod with this prior for its default, from what a path had.

    L / eta + eta V + lowered + tail,  L = ln(1 / prior), eta = sqrt(L / (1 + V)), V = `squares`.

    >>> round(path_price(prior=0.05, squares=0.0, lowered=0.0, tail=0.0), 3)
    1.731
    >>> round(path_price(prior=0.05, squares=1e4, lowered=50.0, tail=0.0))
    396
    """
    if not 0.0 < check_probability("prior", prior) < 1.0:
        raise InvalidParameterError(f"prior must lie in (0, 1); got {prior!r}")
    log_prior, total = -math.log(prior), check_nonnegative("squares", squares)
    eta = math.sqrt(log_prior / (1.0 + total))
    return log_prior / eta + eta * total + lowered + check_nonnegative("tail", tail)


def mixture_lift(
    learned: float, behind: float, price: float, late: float, floors: float, reward_width: float, mixed: float
) -> float:
    """Theorem 19(b) of docs/theory.md: E[lift] of the default bandit is at least the expectation of this.

    mixed (learned - behind - M (price + late + floors)), `learned` the `learned_lift` of one slow expert, `mixed` the
    probability 1 - epsilon with which a round is not explored by a uniformly random arm.  Theorem 20(a), about the
    default ranker, has nothing but `learned` and a price that is known, and `mixed` = 1.

    >>> mixture_lift(900.0, behind=20.0, price=300.0, late=0.0, floors=80.0, reward_width=1.0, mixed=1.0)
    500.0
    """
    share = check_probability("mixed", mixed)
    width = check_positive("reward_width", reward_width)
    return share * (learned - behind - width * (price + late + check_nonnegative("floors", floors)))


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
