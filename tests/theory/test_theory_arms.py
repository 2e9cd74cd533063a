"""k arms: pairs obey Lemma 0, the estimator's moments by enumeration, the exploration that minimises the loss."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from massart import theory

EXACT = settings(derandomize=True, max_examples=200, deadline=None)


def _round(rng, arms):
    """Contexts in the unit ball, a target, a learner, expected rewards sorted by the target with gaps >= gap."""
    while True:
        contexts = rng.normal(size=(arms, 4))
        contexts /= np.maximum(1.0, np.linalg.norm(contexts, axis=1, keepdims=True))
        target = rng.normal(size=4)
        target /= np.linalg.norm(target)
        order = np.argsort(contexts @ target)
        margin = float(np.diff((contexts @ target)[order]).min())
        if margin > 1e-3:
            break
    gap = rng.uniform(0.01, 1.0 / (arms - 1))
    spare = 1.0 - (arms - 1) * gap
    steps = gap + spare * rng.dirichlet(np.ones(arms))[: arms - 1] * rng.integers(0, 2)
    rewards = np.empty(arms)
    rewards[order] = np.concatenate([[0.0], np.cumsum(steps)])
    return contexts, target, rng.normal(size=4) * rng.choice([0.01, 1.0]), rewards, gap, margin


def test_pairs_turn_regret_into_lift():
    """(2/k) E <g, w - w*> >= (k-1)/k gap - (E r_a - mean), the per-round form of Theorem 9(b)."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        arms = int(rng.integers(2, 7))
        contexts, target, w, rewards, gap, margin = _round(rng, arms)
        a = int(np.argmax(contexts @ w))
        g = np.zeros(4)
        for j in range(arms):
            z = contexts[a] - contexts[j]
            g += 0.5 * (gap - (rewards[a] - rewards[j])) * z / (abs(w @ z) + margin) if j != a else 0.0
        lift = rewards[a] - rewards.mean()
        guaranteed = theory.lift_from_regret(arms, gap, 1, max(0.0, g @ (w - target)))
        assert lift >= guaranteed - 1e-9
        assert 2 / arms * (g @ (w - target)) >= theory.guaranteed_lift(arms, gap, 1) - lift - 1e-9
        cap = theory.full_information_gradient_cap(arms, gap, margin, 1.0)
        assert np.linalg.norm(g) <= cap + 1e-9


def test_pairs_with_slack_and_the_sharp_floor():
    """Theorem 9(a) round by round, with the additive floor; a pair at the margin fails at 1.01 of it."""
    rng = np.random.default_rng(6)
    for _ in range(400):
        arms = int(rng.integers(2, 6))
        contexts, target, w, rewards, gap, margin = _round(rng, arms)
        slack = gap * rng.uniform(0.05, 1)
        floor, a = theory.arm_floor(gap, slack, margin), int(np.argmax(contexts @ w))
        regret = 0.0
        for j in range(arms):
            z, y = contexts[a] - contexts[j], rewards[a] - rewards[j]
            m = abs(w @ z) + floor
            regret += sum(
                sign * 0.5 * ((gap - slack) * abs(t) - y * t) / m for sign, t in ((1, w @ z), (-1, target @ z))
            )
        lift = rewards[a] - rewards.mean()
        assert lift >= (arms - 1) / arms * (gap - slack) - 2 / arms * regret - 1e-9
        paid = max(0.0, regret)
        guaranteed = theory.slack_lift_from_regret(arms, gap, slack, 1, paid)
        assert guaranteed == pytest.approx((arms - 1) / arms * (gap - slack) - 2 / arms * paid)
    gap, slack, margin, u = 0.3, 0.1, 0.2, 0.05

    def surplus(floor):  # two arms, the learner wrong at the margin, E y = -gap
        lean, m = gap - slack, u + floor
        return 0.5 * (lean + gap) * u / m - 0.5 * (lean - gap) * margin / m - 0.5 * (lean + gap)

    sharp = theory.arm_floor(gap, slack, margin)
    assert surplus(sharp) == pytest.approx(0.0, abs=1e-12)
    assert surplus(1.01 * sharp) < 0


def test_the_best_arm_is_half_a_chain_above_the_mean():
    for arms in (2, 3, 7):
        rewards = 0.1 * np.arange(arms)
        assert rewards.max() - rewards.mean() == pytest.approx(theory.best_arm_lift(arms, 0.1, 1))
        assert theory.best_arm_lift(arms, 0.1, 1) == pytest.approx(arms / 2 * theory.guaranteed_lift(arms, 0.1, 1))


def _worst_moments(arms, gap, margin, width, q):
    """Largest E ||g||^2 and ||g|| over rewards in {0, width}^k: all pairs along one line, ||z|| = 2, m = margin."""
    favoured = 1 - q + q / arms
    moment = longest = 0.0
    for rewards in itertools.product((0.0, width), repeat=arms):
        here = 0.0
        for played in range(arms):  # arm 0 is the learner's favourite
            chance = favoured if played == 0 else q / arms
            estimate = [width / 2] * arms
            estimate[played] += (rewards[played] - width / 2) / chance
            g = sum(0.5 * abs(gap - (estimate[0] - estimate[j])) * 2 / margin for j in range(1, arms))
            here += chance * g * g
            longest = max(longest, g)
        moment = max(moment, here)
    return moment, longest


@pytest.mark.parametrize("arms", [2, 3, 5, 8])
@pytest.mark.parametrize("q", [0.02, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_moments_by_enumeration(arms, q, share):
    gap, margin, width = share * 1.5 / (arms - 1), 2 / (arms - 1) * 0.4, 1.5
    moment, longest = _worst_moments(arms, gap, margin, width, q)
    assert theory.bandit_second_moment(arms, gap, margin, width, q) == pytest.approx(moment)
    assert theory.bandit_gradient_cap(arms, gap, margin, width, q) == pytest.approx(longest)


@pytest.mark.parametrize(("arms", "moment"), [(2, 8.3), (3, 21), (5, 63), (10, 266)])
def test_printed_second_moments(arms, moment):
    scaled = theory.bandit_second_moment(arms, 1 / (arms - 1), 0.1, 1.0, 0.1) * 0.01
    assert scaled == pytest.approx(moment, rel=0.01)


@EXACT
@given(
    st.integers(2, 12),
    st.floats(0.01, 1),
    st.floats(0.01, 1),
    st.floats(0.1, 10),
    st.floats(10, 1e12),
    st.floats(0.5, 3),
)
def test_exploration_minimises_the_leading_loss(arms, gap_share, margin_share, width, rounds, c):
    gap, margin = gap_share * width / (arms - 1), margin_share * 2 / (arms - 1)

    def loss(q):
        moment = arms * (arms - 1) * width**2 / (4 * q * margin**2)
        return q * theory.guaranteed_lift(arms, gap, rounds) + 2 / arms * c * math.sqrt(rounds * moment)

    q = theory.exploration_rate(arms, gap, margin, width, rounds, c)
    if q < 1:
        assert theory.exploration_cost(arms, gap, margin, width, rounds, c) == pytest.approx(loss(q))
        searched = minimize_scalar(loss, bounds=(q / 5, min(1.0, 5 * q)), method="bounded")
        assert searched.fun >= loss(q) * (1 - 1e-9)
    assert all(loss(q) <= loss(other) * (1 + 1e-12) for other in (q / 2, 0.9 * q, min(1.0, 1.1 * q)))


def _lagging_run(gradients):
    """Regret against the best point, cap, squares and first cap of dual averaging whose caps lag by one round."""
    theta, regret, cap, squares = np.zeros(gradients.shape[1]), 0.0, 0.0, 0.0
    for g in gradients:
        scale = max(math.sqrt(2 * (cap**2 + squares)), np.linalg.norm(theta))
        regret += g @ theta / scale if scale > 0 else 0.0
        theta, cap, squares = theta - g, max(cap, np.linalg.norm(g)), squares + g @ g
    return regret + np.linalg.norm(theta), cap, squares, np.linalg.norm(gradients[0])


def test_caps_that_lag_are_paid_for():
    """Theorem 17(a) on gradients that grow; and the seven of the example break the bound without its last term."""
    rng = np.random.default_rng(17)
    for _ in range(500):
        rounds, d = int(rng.integers(2, 30)), int(rng.integers(1, 4))
        gradients = rng.normal(size=(rounds, d)) * np.exp(rng.uniform(-0.5, 1) * np.arange(rounds))[:, None]
        regret, *rest = _lagging_run(gradients)
        assert regret <= theory.lagging_cap_regret(*rest) * (1 + 1e-12)
    regret, cap, squares, first = _lagging_run(np.array([[0.0033, 0.003, 0.0021, -1.0, -0.38, -0.42, -0.1]]).T)
    assert regret > 1.08 * theory.ftrl_regret(cap, squares)
    assert regret <= theory.lagging_cap_regret(cap, squares, first)


def test_learned_lift_is_gap_times_kept_less_what_learning_cost():
    assert theory.learned_lift(0.2, 1000.0, 5.0, 400.0, 2.0, 30.0) == pytest.approx(
        200 - math.sqrt(2 * 425) - 2 * (5 - 2) - 30
    )
    assert theory.lagging_cap_regret(5.0, 400.0, 5.0) == theory.ftrl_regret(5.0, 400.0)


def test_evidence_is_the_mean_over_rates_and_never_overflows():
    shortfall, variance, reach, margin, width = 30.0, 900.0, 4.0, 0.3, 2.0
    rates = 8 / (width * (1 + 2 / margin)) * 2.0 ** (-np.arange(46) / 2)
    phi = np.expm1(rates * reach) - rates * reach
    expected = np.mean(np.exp(rates * shortfall - variance * phi / reach**2))
    assert theory.lift_evidence(shortfall, variance, reach, margin, width) == pytest.approx(expected, rel=1e-6)
    assert theory.lift_evidence(1e300, 1.0, 1.0, margin, width) < math.inf
    assert theory.lift_evidence(-1e300, 1.0, 1.0, margin, width) == 0
    assert theory.lift_evidence(5.0, 1e300, 0.0, margin, width) == 0


def test_evidence_rarely_grows_when_the_mean_is_not_positive():
    """Centred coins of chance 0.02: 1/d = 5 is reached at one of 20 looks in at most 0.2 of 400 runs, + 4 deviations.

    In fact in 40 of them or fewer; and a mean of a tenth of a deviation per round is found out in most runs.
    """
    rng, chance = np.random.default_rng(3), 0.02
    paths = np.cumsum((rng.random((400, 2000)) < chance) - chance, axis=1)[:, 99::100]
    spread = chance * (1 - chance) * np.arange(100, 2001, 100)

    def reached(sums):
        looks = [
            [theory.lift_evidence(x, v, 1 - chance, 1.0, 1.0) for x, v in zip(run, spread, strict=True)] for run in sums
        ]
        return int(np.sum(np.max(looks, axis=1) >= 5))

    assert reached(paths) <= 80 + 4 * math.sqrt(400 * 0.2 * 0.8)
    assert reached(paths) <= 40
    assert reached(paths + 0.1 * math.sqrt(chance * (1 - chance)) * np.arange(100, 2001, 100)) >= 300


def test_example_with_five_arms():
    """T = 10^6, k = 5, gap = margin = 0.1, M = 1: what is guaranteed, what exploring costs, what is left."""
    setting = {"arms": 5, "gap": 0.1, "margin": 0.1, "reward_width": 1.0, "rounds": 10**6}
    assert theory.guaranteed_lift(5, 0.1, 10**6) == pytest.approx(8.0e4)
    q = theory.exploration_rate(**setting)
    assert q == pytest.approx(0.184, abs=5e-4)
    assert theory.exploration_cost(**setting) == pytest.approx(4.42e4, rel=2e-3)
    # with every term of the second moment kept, the same exploration leaves 3.8e4 of the 8.0e4
    assert theory.bandit_lift(**setting, exploration=q) == pytest.approx(3.79e4, rel=5e-3)
    assert theory.paper_bandit_excess(**setting) == pytest.approx(7.9e5, rel=0.01)


def test_bandit_lift_is_best_near_its_exploration_and_below_full_information():
    setting = {"arms": 4, "gap": 0.2, "margin": 0.3, "reward_width": 1.0, "rounds": 10**9}
    q = theory.exploration_rate(**setting)
    here = theory.bandit_lift(**setting, exploration=q)
    assert here >= theory.bandit_lift(**setting, exploration=q / 4)
    assert here >= theory.bandit_lift(**setting, exploration=4 * q)
    assert here < theory.full_information_lift(**setting) < theory.guaranteed_lift(4, 0.2, 10**9)
    assert theory.bandit_lift(**setting, exploration=1.0) == 0.0


def test_adaptive_cap_has_two_regimes():
    """k = 5, M = 1: exploring decides for small q, the favourite's own small probability at q = 1."""
    assert theory.adaptive_bandit_gradient_cap(5, 0.1, 0.5, 1.0, 0.1) == pytest.approx((0.4 + 2 * 25) / 0.5)
    assert theory.adaptive_bandit_gradient_cap(5, 0.1, 0.5, 1.0, 1.0) == pytest.approx(4 * (0.1 + 2.5) / 0.5)
    assert theory.adaptive_bandit_gradient_cap(5, 0.1, 0.5, 1.0, 0.96) == pytest.approx(4 * (0.1 + 1 / 0.464) / 0.5)


def test_exploration_is_a_probability_however_few_the_rounds():
    assert theory.exploration_rate(5, 0.1, 0.1, 1.0, rounds=1) == 1.0


def test_full_information_lift_closed_form():
    for arms, gap, margin, rounds in ((2, 0.3, 0.1, 1e4), (5, 0.1, 0.1, 1e6)):
        closed = (arms - 1) / arms * (gap * rounds - 2 * math.sqrt(2) * (gap + 1) * math.sqrt(rounds + 1) / margin)
        assert theory.full_information_lift(arms, gap, margin, 1.0, rounds) == pytest.approx(closed)


def test_rounds_with_their_own_exploration_stay_below_the_adaptive_cap():
    """q_t = q margin sqrt(sum ||z||^2/m^2 / (4(k-1))): at most q, gradients below the cap, on random geometries."""
    rng = np.random.default_rng(9)
    for _ in range(2000):
        arms, q, margin, width = int(rng.integers(2, 9)), rng.uniform(0.01, 1), rng.uniform(0.01, 0.2), 1.0
        gap = rng.uniform(0.01, 1) / (arms - 1)
        ratio = rng.uniform(0, 2, size=arms - 1) ** rng.integers(1, 4) / (margin * rng.uniform(1, 20, size=arms - 1))
        ratio = np.minimum(ratio, 2 / margin)  # ||z||/m <= 2/margin
        q_t = q * margin * math.sqrt((ratio**2).sum() / (4 * (arms - 1)))
        assert q_t <= q * (1 + 1e-12)
        cap = theory.adaptive_bandit_gradient_cap(arms, gap, margin, width, q)
        favoured = 0.5 * (gap + width / (2 * (1 - q_t + q_t / arms))) * ratio.sum()
        explored = 0.5 * gap * ratio.sum() + 0.5 * width / 2 * arms / q_t * ratio.max()
        assert max(favoured, explored) <= cap * (1 + 1e-9)


@pytest.mark.parametrize(
    ("arms", "gap", "lift"), [(5, 0.05, 0.040), (10, 0.02, 0.018), (2, 0.3, 0.150), (5, 0.1, 0.080), (2, 0.2, 0.100)]
)
def test_printed_guarantees_per_round(arms, gap, lift):
    assert theory.guaranteed_lift(arms, gap, 1) == pytest.approx(lift)


def test_two_arms_are_classification():
    """Rewards ((1+y)/2, (1-y)/2), contexts (x, -x): z = 2x, so margin and gap of Theorem 1 appear unchanged."""
    noise, margin, rounds, regret = 0.1, 0.05, 1000, 30.0
    lift = theory.lift_from_regret(2, 1 - 2 * noise, rounds, regret)
    # reward = T - M and the mean reward is T/2, so the lift bounds M by noise T + R
    assert rounds / 2 - lift == pytest.approx(noise * rounds + regret)
    # y = r_1 - r_2 = +-1 as before: the cap is twice that of Theorem 1 at margin 2 gamma, that is, the same
    cap = theory.full_information_gradient_cap(2, 1 - 2 * noise, 2 * margin, 1.0)
    assert cap == pytest.approx(theory.gradient_cap(noise, margin))


def test_parameters_of_theorem_1_10():
    setting = {"arms": 5, "gap": 0.1, "margin": 0.1, "reward_width": 1.0, "rounds": 10**12}
    weight = theory.paper_zero_weight(**setting)
    assert weight == pytest.approx(100 * 2 ** (1 / 3) / 0.1)
    assert theory.paper_exploration_rate(**setting) == pytest.approx(1.0 / (0.1 * weight * 0.1))
    assert theory.paper_shift(0.1) == 0.05


@pytest.mark.parametrize(("arms", "gap", "rounds"), [(5, 0.25, 6400), (10, 1 / 9, 6.561e5)])
def test_from_when_on_q_is_a_probability(arms, gap, rounds):
    start = theory.paper_bandit_rounds(arms, gap, 1.0)
    assert start == pytest.approx(rounds)
    setting = {"arms": arms, "gap": gap, "margin": 0.1, "reward_width": 1.0}
    assert theory.paper_exploration_rate(**setting, rounds=start / 2) == 1.0
    assert theory.paper_exploration_rate(**setting, rounds=start) == pytest.approx(1.0)
    # q falls like T^(-1/6): a tenth takes a million times the rounds
    assert theory.paper_exploration_rate(**setting, rounds=start * 10**6) == pytest.approx(0.1)


def test_theorem_1_10_balances_its_terms():
    """q (k-1)/k gap T, T M/(margin Lambda) and the regret term meet at its parameters."""
    arms, gap, margin, width, rounds = 4, 0.2, 0.1, 1.0, 1e18
    setting = (arms, gap, margin, width, rounds)
    weight, q = theory.paper_zero_weight(*setting), theory.paper_exploration_rate(*setting)
    order = theory.paper_bandit_excess(*setting)
    # the first two carry no 1/margin; the regret does, and is the one the theorem prints
    assert width * rounds / (margin * weight) == pytest.approx(order * margin)
    assert q * gap * rounds == pytest.approx(order * margin)
    regret = arms**2 * width * rounds**0.5 * weight / q  # Lemma 3.2 with the k^2 its fake rewards need
    assert regret / arms == pytest.approx(order, rel=1e-6)


def test_lemma_3_4_printed_and_derived():
    printed = theory.paper_reward_excess(4, 0.1, 1.0, 50.0, 1000, 80.0)
    derived = theory.paper_reward_derived_excess(4, 0.1, 1.0, 50.0, 1000, 80.0)
    assert printed == pytest.approx(20 * 1.2 + 20)
    assert derived == pytest.approx(20 * 2.2 + 200)
    assert theory.paper_reward_excess(4, 1.0, 1.0, 50.0, 1000, 0.0) == pytest.approx(
        theory.paper_reward_derived_excess(4, 1.0, 1.0, 50.0, 1000, 0.0)
    )


def test_corollary_1_11_is_two_arms():
    two = theory.paper_bandit_excess(2, 0.3, 0.1, 1.0, 10**6)
    assert two == pytest.approx(2 ** (1 / 3) * 0.3 ** (1 / 3) * (10**6) ** (5 / 6) / 0.1)
    assert theory.paper_bandit_excess(2, 0.3, 0.1, 1.0, 10**6, constant=3.0) == pytest.approx(3 * two)


def _fake_moment(arms, gap, margin, width, q):
    """Largest E ||g||^2 over rewards in {0, M}^k: the fake reward vector of Algorithm 3, pairs along one line."""
    worst = 0.0
    for rewards in itertools.product((0.0, width), repeat=arms):
        here = 0.0
        for explored, reward in enumerate(rewards):
            fake = [(arms - 1) * reward if i == explored else width - reward for i in range(arms)]
            g = sum(0.5 * abs(gap - (fake[0] - fake[j])) * 2 / margin for j in range(1, arms)) / q
            here += q / arms * g * g
        worst = max(worst, here)
    return worst


@pytest.mark.parametrize("arms", [2, 3, 4, 6])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_fake_rewards_by_enumeration(arms, share):
    gap, margin, width, q = share * 2.0 / (arms - 1), 0.1, 2.0, 0.3
    formula = theory.paper_bandit_second_moment(arms, gap, margin, width, q)
    assert formula == pytest.approx(_fake_moment(arms, gap, margin, width, q))


@pytest.mark.parametrize(("arms", "moment"), [(2, 40), (3, 90), (5, 650), (10, 7300)])
def test_printed_second_moments_of_the_paper(arms, moment):
    scaled = theory.paper_bandit_second_moment(arms, 1 / (arms - 1), 0.1, 1.0, 0.1) * 0.01
    assert scaled == pytest.approx(moment, rel=1e-6)


def test_the_librarys_estimator_is_quieter_by_four_k():
    ratios = [
        theory.paper_bandit_second_moment(k, 1e-3 / k, 1.0 / k, 1.0, 1e-4)
        / theory.bandit_second_moment(k, 1e-3 / k, 1.0 / k, 1.0, 1e-4)
        / (4 * k)
        for k in (50, 200, 1000)
    ]
    assert ratios[-1] == pytest.approx(1.0, abs=0.02)
    at_ten = theory.paper_bandit_second_moment(10, 1 / 9, 0.1, 1.0, 0.1)
    assert at_ten / theory.bandit_second_moment(10, 1 / 9, 0.1, 1.0, 0.1) == pytest.approx(27.4, abs=0.1)
