"""Algorithms 2 and 3 as boxed in the paper against the library's update="paper", and section 3's claims on its loss."""

import math

import numpy as np
import pytest
from paper_formulas import fake_rewards, generator, monotone_round, sign, to_ball, unit
from paper_tables import rows_of

from massart import theory
from massart.kernels.learning import paper_ranking as paper
from massart.learners.bandit import MonotoneBandit


def _numerical_gradient(loss, w, h=1e-7):
    return np.array([(loss(w + h * e) - loss(w - h * e)) / (2 * h) for e in np.eye(w.size)])


def _rounds(rng, n, d=3):
    for _ in range(n):
        k = int(rng.integers(2, 6))
        gamma, delta = rng.uniform(0.05, 0.3), rng.uniform(0.1, 1) / (k - 1)
        X, r = monotone_round(rng, k, d, gamma, delta)
        yield k, gamma, delta, X, r


def test_algorithm_2_is_the_printed_loss():
    rng = np.random.default_rng(2)
    for k, gamma, delta, X, r in _rounds(rng, 300):
        v, w = unit(rng, 3) * rng.choice([0, 0.3, 1]), rng.normal(size=3)
        a, Lam = int(rng.integers(k)), rng.uniform(1, 9)
        printed = generator(w, X, v, r, a, delta, gamma / 2, Lam)
        assert paper.loss(w, X, v, r, a, delta, gamma / 2, Lam) == pytest.approx(printed)


def test_algorithm_3_is_followed_round_by_round():
    """Lines 1 to 2(g); gradients numerically from the printed loss, heads from the propensities, G by erratum 19."""
    rng = np.random.default_rng(3)
    k, d, gamma, delta, T = 3, 4, 0.4, 0.4, 4000
    known = {"arms": k, "gap": delta, "margin": gamma, "reward_width": 1.0, "rounds": T}
    Lam, q, rho = theory.paper_zero_weight(**known), theory.paper_exploration_rate(**known), theory.paper_shift(gamma)
    G = max((k - 1) * (delta + k - 1) * (2 + rho) / (2 * rho), 2 * (k - 1) ** 2 * Lam) / q
    bandit = MonotoneBandit(delta, gamma, horizon=T, random_state=0, update="paper")
    w, heads = np.eye(d)[0], 0  # line 1
    for _ in range(300):
        X, means = monotone_round(rng, k, d, gamma, delta)
        X[:, 0] *= -1  # the target is -e_1, so that w has a way to go
        r = (rng.random(k) < means).astype(float)  # line 2(a)
        alpha = int(np.argmax(X @ w))  # line 2(c)
        choice = bandit.choose(X)
        np.testing.assert_allclose(choice.probabilities, (1 - q) * np.eye(k)[alpha] + q / k, atol=1e-9)
        bandit.learn(choice, r[choice.arm])
        explored = np.delete(np.array(choice.memo["distances"])[:, 0], alpha).any()
        assert explored or choice.arm == alpha  # line 2(f): TAILS plays alpha
        if explored:  # line 2(e)
            heads += 1
            fake = fake_rewards(r, choice.arm, 1.0)
            g = _numerical_gradient(
                lambda u, X=X, v=w, fake=fake, a=alpha: generator(u, X, v, fake, a, delta, rho, Lam) / q, w
            )
            w = to_ball(w - 2 / (G * math.sqrt(T)) * g)  # line 2(g)
        np.testing.assert_allclose(bandit.arrays()["weights"][:, 0], w, atol=1e-5)
    assert abs(heads - 300 * q) <= 4 * math.sqrt(300 * q * (1 - q))


def test_lemma_3_2_regret_is_at_most_what_the_gradients_seen_say():
    """Gradient descent in a ball of diameter 2: sum <g, w - u> <= 2 / step + sum step |g|^2 / 2 for every unit u."""
    rng = np.random.default_rng(32)
    k, d, gamma, delta, T = 2, 3, 0.5, 0.9, 1000
    bandit = MonotoneBandit(delta, gamma, horizon=T, random_state=0, update="paper")
    q, Lam = (f(k, delta, gamma, 1.0, T) for f in (theory.paper_exploration_rate, theory.paper_zero_weight))
    inner, total = 0.0, np.zeros(d)
    for _ in range(T):
        X, means = monotone_round(rng, k, d, gamma, delta)
        X[:, 0] *= -1  # the target is -e_1, as far as can be from where w begins
        r = (rng.random(k) < means).astype(float)
        choice = bandit.choose(X)
        w, alpha = bandit.arrays()["weights"][:, 0].copy(), choice.memo["arms"][0]
        if np.delete(np.array(choice.memo["distances"])[:, 0], alpha).any():
            fake = fake_rewards(r, choice.arm, 1.0)
            g = 2 * (1 - q) / k / q * paper.gradient(w, X, w, fake, alpha, delta, gamma / 2, Lam)
            inner, total = inner + g @ w, total + g
        bandit.learn(choice, r[choice.arm])
    cap, squares = bandit.arrays()["experts"][[paper.Expert.CAP, paper.Expert.SQUARES], 0]
    regret = inner + np.linalg.norm(total)  # against the best u
    bound = 2 * cap + squares / 2
    assert 0.5 * bound < regret <= bound  # with this seed 0.86 of it: the way from e_1 to -e_1 costs nearly all
    guaranteed = delta * (1 - q) * (k - 1) / k * T - bound
    assert bandit.certificate().guaranteed_lift == pytest.approx(guaranteed)


def test_claims_3_5_to_3_7_hold_for_the_loss_of_the_library():
    """Target and learner, at w = 0 and elsewhere, with the constant of erratum 23."""
    rng = np.random.default_rng(35)
    target = np.eye(3)[0]
    for k, gamma, delta, X, r in _rounds(rng, 300):
        Lam, rho = rng.uniform(0.5, 50), gamma / 2
        for v in (unit(rng, 3), np.zeros(3)):
            a = int(np.argmax(X @ v)) if v.any() else int(rng.integers(k))
            theirs, ours = (paper.loss(u, X, v, r, a, delta, rho, Lam) for u in (target, v))
            if v.any():
                z, y = np.delete(X[a] - X, a, axis=0), np.delete(r[a] - r, a)
                assert theirs <= 1e-12  # Claims 3.5 and A.2
                assert ours == pytest.approx(np.sum(delta - sign(z @ v) * y) / 2)  # Claims 3.6 and A.3
            else:
                assert theirs <= -(k - 1) * Lam * gamma * delta + 1e-9
                assert ours == 0
            zero = not v.any()  # Claims 3.7 and A.4, round by round
            assert zero * (k - 1) * gamma * delta * Lam <= ours - theirs + (k - 1) / 2 + 1e-9


def test_lemma_3_4_and_theorem_a_5_rounds_at_zero_promise_nothing():
    """(k-1)/k Delta (1-q) per round with w not 0, none for the others: J of the paper is known, not estimated."""
    X = np.array([[0.5, 0.0], [-0.5, 0.0]])
    bandit = MonotoneBandit(0.9, 1.0, horizon=10**6, random_state=0, update="paper")
    q = theory.paper_exploration_rate(2, 0.9, 1.0, 1.0, 10**6)
    for _ in range(10):
        bandit.learn(bandit.choose(X), 0.5)
    kept = bandit.arrays()["experts"][paper.Expert.KEPT, 0]
    assert kept == pytest.approx(10 * (1 - q) / 2)
    arrays = bandit.arrays()
    arrays["weights"][:], arrays["experts"][paper.Expert.NORM2] = 0, 0
    bandit = MonotoneBandit.from_arrays(arrays)
    waiting = [bandit.choose(X) for _ in range(10)]
    for choice in waiting:
        bandit.learn(choice, 0.5)
    assert bandit.arrays()["experts"][paper.Expert.KEPT, 0] == kept


@pytest.mark.parametrize("heading", ["Section 3:", "Appendix A:"])
def test_section_3_and_the_appendix_have_no_empty_cell(heading):
    for row in rows_of(heading):
        assert len(row) == 4, row
        assert all(cell not in ("", "—", "-") for cell in row), row[0]
        assert "`massart." in row[2], row[0]
        assert "`tests/" in row[3], row[0]
