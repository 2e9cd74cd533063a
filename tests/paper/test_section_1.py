"""Section 1 of the paper, statement by statement: the two settings and what is guaranteed in them."""

import itertools
import math

import numpy as np
import pytest
from paper_formulas import c_loss, fake_rewards, monotone_round, point_with_margin, sign, to_ball, unit


def test_definition_1_1_the_target_itself_makes_at_most_noise_rate_mistakes():
    """P[y != c*(x)] <= eta at each point, whatever the point: c* is expected to err on at most eta T rounds."""
    rng = np.random.default_rng(11)
    eta, T = 0.3, 8
    flip = rng.uniform(0, eta, T)
    expected = 0.0
    for flipped in itertools.product([False, True], repeat=T):  # every outcome of the T labels
        chance = np.prod(np.where(flipped, flip, 1 - flip))
        expected += chance * sum(flipped)
    assert expected == pytest.approx(flip.sum())
    assert expected <= eta * T


def test_remark_1_2_regret_against_the_target_plus_its_mistakes_is_the_mistake_count():
    """M(T) = R(T, c*) + sum eta_t <= R(T, c*) + eta T, for any learner; here one that always says +1."""
    rng = np.random.default_rng(12)
    eta, T = 0.2, 50
    clean, flip = rng.choice([-1, 1], T), rng.uniform(0, eta, T)
    mistakes = np.where(clean == 1, flip, 1 - flip).sum()
    mistakes_of_target = flip.sum()
    regret = ((1 - 2 * flip) * (clean == -1)).sum()
    assert mistakes - mistakes_of_target == pytest.approx(regret)
    assert mistakes <= regret + eta * T


def test_definition_1_3_sorted_rewards_are_any_increasing_function_of_the_score():
    rng = np.random.default_rng(13)
    for increasing in (np.tanh, np.floor, lambda s: s > 0.1, lambda s: s**3):
        scores = rng.uniform(-1, 1, 12)
        rewards = np.asarray(increasing(scores), dtype=float)
        assert np.all(np.subtract.outer(rewards, rewards) * np.subtract.outer(scores, scores) >= 0)
    assert not np.all(np.subtract.outer(scores**2, scores**2) * np.subtract.outer(scores, scores) >= 0)


def test_definition_1_4_orders_expectations_not_draws():
    """Bernoulli rewards whose means are Delta apart: monotone, although the better arm often pays less."""
    rng = np.random.default_rng(14)
    X, mean = monotone_round(rng, k=4, d=3, gamma=0.1, delta=0.2)
    score = X[:, 0]
    ahead = np.subtract.outer(score, score) > 0
    assert np.subtract.outer(mean, mean)[ahead].min() >= 0.2 - 1e-12
    i, j = np.argsort(score)[[2, 1]]
    assert mean[j] * (1 - mean[i]) > 0.05  # chance that j pays and i, which is better, does not


def test_remark_1_5_classification_is_a_bandit_with_two_arms():
    """Contexts (x, -x), rewards ((1+y)/2, (1-y)/2): reward = 1{no mistake}, gap = E y sign(w*.x) >= 1 - 2 eta."""
    rng = np.random.default_rng(15)
    eta, gamma = 0.25, 0.1
    for _ in range(200):
        x = point_with_margin(rng, 4, gamma, side=rng.choice([-1, 1]))
        flip, w = rng.uniform(0, eta), unit(rng, 4)
        rewards = {y: np.array([(1 + y) / 2, (1 - y) / 2]) for y in (-1, 1)}
        arm = int(np.argmax(np.stack([x, -x]) @ w))  # a tie goes to arm 0, as sign(0) = +1
        for y in (-1, 1):
            assert rewards[y][arm] == (sign(w @ x) == y)
        better = 0 if x[1] > 0 else 1
        expected = (1 - flip) * rewards[int(sign(x[1]))] + flip * rewards[int(-sign(x[1]))]
        assert expected[better] - expected[1 - better] == pytest.approx(1 - 2 * flip)
        assert expected[better] - expected[1 - better] >= 1 - 2 * eta - 1e-12
        assert abs((x - -x)[1]) >= 2 * gamma  # the pair margin of Theorem 1.10 is twice that of Theorem 1.8


def test_definition_1_6_one_reward_is_enough_for_an_unbiased_vector_of_differences():
    """Bandit feedback shows r_b only; a uniformly random b still estimates every r_i - r_j without bias."""
    rng = np.random.default_rng(16)
    for k in (2, 3, 7):
        r = rng.uniform(0, 1, k)
        mean_fake = np.mean([fake_rewards(r, b, 1.0) for b in range(k)], axis=0)
        np.testing.assert_allclose(np.subtract.outer(mean_fake, mean_fake), np.subtract.outer(r, r), atol=1e-12)


def test_remark_1_7_the_distribution_may_change_with_the_round():
    """One context list, two rounds: both monotone for the same target, yet no function of the context alone."""
    score = np.array([0.5, 0.1, -0.4])
    first, second = np.array([0.9, 0.6, 0.3]), np.array([0.7, 0.2, 0.0])
    for mean in (first, second):
        assert np.diff(mean[np.argsort(score)]).min() >= 0.2 - 1e-12
    assert np.argmax(second) == np.argmax(first)
    assert first[1] > second[1] + 0.3


def _algorithm_1(rng, T, runs, eta, gamma, eps, d=5):
    """Algorithm 1 with projected OGD from w = 0, `runs` copies at once, against points on the wrong side of w.

    Returns per run the sum of P[mistake] and the regret of the conditionally expected losses.
    """
    dt, tau = 1 - 2 * eta - eps, eps * gamma / 4
    step = 2 / ((1 + dt) / (2 * tau) * math.sqrt(T))
    W, mistakes, regret = np.zeros((runs, d)), np.zeros(runs), np.zeros(runs)
    for _ in range(T):
        across = W * (np.arange(d) != 1)  # the target is e_2
        length = np.linalg.norm(across, axis=1, keepdims=True)
        across = np.where(length > 0, across / np.where(length > 0, length, 1), np.eye(d)[0])
        X = gamma * np.eye(d)[1] - math.sqrt(1 - gamma**2) * across
        score = np.einsum("ij,ij->i", W, X)
        s, m = sign(score), np.maximum(np.abs(score), tau)
        flip = np.where(s > 0, eta, 0.0)  # noise only where the learner is right
        y = np.where(rng.uniform(size=runs) < flip, -1.0, 1.0)
        mistakes += np.where(s > 0, flip, 1 - flip)
        regret += (c_loss(dt, score, 1 - 2 * flip) - c_loss(dt, gamma, 1 - 2 * flip)) / m
        W = np.apply_along_axis(to_ball, 1, W - step * ((dt * s - y) / 2 / m)[:, None] * X)
    return mistakes, regret


def test_theorem_1_8_mistakes_are_at_most_noise_rate_rounds_plus_four_t_to_three_quarters_over_margin():
    """E M <= eta T + eps T/2 + R and R <= 2 G sqrt T, so 4 T^(3/4)/sqrt(gamma) at eps = 4 (gamma sqrt T)^(-1/2)."""
    eta, gamma, T, runs = 0.05, 0.5, 3000, 20
    eps = 4 * (gamma * math.sqrt(T)) ** -0.5
    assert eps < 1 - 2 * eta
    mistakes, regret = _algorithm_1(np.random.default_rng(18), T, runs, eta, gamma, eps)
    assert np.all(mistakes <= (eta + eps / 2) * T + regret + 1e-9)  # run by run
    # The regret bound holds in expectation for the expected losses: 5 standard errors over the runs.
    upper = regret.mean() + 5 * regret.std(ddof=1) / math.sqrt(runs)
    cap = (2 - 2 * eta - eps) / (2 * eps * gamma / 4)
    assert upper <= 2 * cap * math.sqrt(T)
    assert mistakes.mean() <= eta * T + 4 * T**0.75 / math.sqrt(gamma) <= eta * T + 4 * T**0.75 / gamma
    assert mistakes.mean() > eta * T  # the adversary is not asleep


def test_remark_1_9_noise_rate_times_rounds_is_not_the_information_theoretic_optimum():
    """One noisy point, one clean point: a majority vote per point (no halfspace at all) ends well below eta T."""
    eta, T = 0.3, 200  # each point is shown T times in turn

    def expected_mistakes(flip):
        """Sum over rounds of P[vote wrong](1 - flip) + P[vote right] flip; a tie is counted as wrong."""
        total = 0.0
        for n in range(T):
            wrong = sum(math.comb(n, i) * flip**i * (1 - flip) ** (n - i) for i in range((n + 1) // 2, n + 1))
            total += wrong * (1 - flip) + (1 - wrong) * flip
        return total

    mistakes = expected_mistakes(eta) + expected_mistakes(0.0)
    assert mistakes < 0.6 * eta * (2 * T)
    assert mistakes >= eta * T  # Bayes: half of eta times all rounds


def test_theorem_1_10_the_pairwise_loss_turns_into_lift_over_the_mean_arm():
    """r_a - mean = (1/k) sum_j (r_a - r_j), hence lift >= (k-1)/k Delta - (2/k) E<g, w - w*> round by round.

    g = sum_j 1/2 (Delta - y_j) z_j/(w.z_j + gamma) is the corrected step (errata 17, 18): no shift, no case w = 0.
    """
    rng = np.random.default_rng(110)
    for _ in range(1000):
        k = int(rng.integers(2, 7))
        gamma, delta = rng.uniform(0.01, 0.25), rng.uniform(0, 1 / (k - 1))
        X, r = monotone_round(rng, k, 3, gamma, delta)
        w = rng.uniform(0, 2) * rng.integers(0, 2) * unit(rng, 3)
        a = int(np.argmax(X @ w))
        z, y = np.delete(X[a] - X, a, axis=0), np.delete(r[a] - r, a)
        assert r[a] - r.mean() == pytest.approx(y.sum() / k)
        g = ((delta - y) / (2 * (z @ w + gamma))) @ z
        assert r[a] - r.mean() >= (k - 1) / k * delta - 2 / k * (g @ (w - np.eye(3)[0])) - 1e-12


def test_corollary_1_11_two_arms_give_back_the_mistake_bound():
    """k = 2, M = 1, Delta = 1 - 2 eta: reward >= T/2 + Delta T/2 - e is M(T) <= eta T + e, with the same e."""
    rng = np.random.default_rng(111)
    for _ in range(100):
        eta, T, excess = rng.uniform(0, 0.5), rng.uniform(1, 1e6), rng.uniform(0, 1e3)
        reward = T / 2 + (1 - 2 * eta) * T / 2 - excess
        assert T - reward == pytest.approx(eta * T + excess)
    # And the two losses agree: the pair (x, -x) with y = r_1 - r_2 is the example (2x, y).
    for _ in range(100):
        w, x, y, delta = unit(rng, 3), unit(rng, 3), rng.choice([-1.0, 1.0]), rng.uniform()
        assert c_loss(delta, w @ (x - -x), y) == pytest.approx(2 * c_loss(delta, w @ x, y))
