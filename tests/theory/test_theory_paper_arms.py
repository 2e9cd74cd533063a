"""The paper's k-arm half: its parameters, where they are probabilities, Lemma 3.4's two forms, its estimator."""

import itertools

import pytest

from massart import theory


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
def test_printed_second_moments(arms, moment):
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
