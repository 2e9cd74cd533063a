"""Section 3 of the paper: the claims that are right as printed, from formulas."""

import numpy as np
import pytest
from paper_formulas import c_loss, fake_rewards, generator, generator_gradient, monotone_round, shifted, sign, unit


def _rounds(rng, n):
    for _ in range(n):
        k = int(rng.integers(2, 7))
        gamma, delta = rng.uniform(0.01, 0.25), rng.uniform(0, 1 / (k - 1))
        X, r = monotone_round(rng, k, 3, gamma, delta)
        yield k, gamma, delta, X, r


def test_claim_3_1_convex_and_lipschitz_when_the_current_vector_has_norm_one():
    """With |v| = 1, true rewards and k rho <= 2 the printed constant 2 M k/rho holds (compare errata 18 and 19)."""
    rng = np.random.default_rng(31)
    for k, gamma, delta, X, r in _rounds(rng, 300):
        v, a, rho = unit(rng, 3), int(rng.integers(k)), gamma / 2
        w1, w2, share = rng.standard_normal(3), rng.standard_normal(3), rng.uniform()
        values = [generator(w, X, v, r, a, delta, rho, 1.0) for w in (w1, w2, share * w1 + (1 - share) * w2)]
        assert values[2] <= share * values[0] + (1 - share) * values[1] + 1e-9
        assert np.linalg.norm(generator_gradient(w1, X, v, r, a, delta, rho)) <= 2 * k / rho


def test_claim_3_3_the_loss_estimate_is_unbiased():
    """Every outcome of the coin and of the explored arm, with and without w_t = 0."""
    rng = np.random.default_rng(33)
    q = 0.1
    for k, gamma, delta, X, r in _rounds(rng, 200):
        v, w = unit(rng, 3) * rng.integers(0, 2), rng.standard_normal(3)
        a = int(np.argmax(X @ v))
        heads = [generator(w, X, v, fake_rewards(r, b, 1.0), a, delta, gamma / 2, 3.0) / q for b in range(k)]
        expected = q * np.mean(heads) + (1 - q) * 0.0
        assert expected == pytest.approx(generator(w, X, v, r, a, delta, gamma / 2, 3.0), abs=1e-9)


def test_claim_3_5_the_target_has_no_positive_loss_when_the_current_vector_is_not_zero():
    """With the shift rho <= gamma every pair's expected loss is <= 0; for w_t = 0 see erratum 23."""
    rng = np.random.default_rng(35)
    for k, gamma, delta, X, r in _rounds(rng, 300):
        a = int(rng.integers(k))
        z = shifted(X, rng.standard_normal(3), a, gamma / 2)
        assert np.all(c_loss(delta, z[:, 0], np.delete(r[a] - r, a)) <= 1e-12)


def test_claim_3_6_the_learner_pays_half_of_gap_minus_difference_per_pair():
    rng = np.random.default_rng(36)
    for _, gamma, delta, X, r in _rounds(rng, 300):
        v = unit(rng, 3)
        a = int(np.argmax(X @ v))
        z, y = np.delete(X[a] - X, a, axis=0), np.delete(r[a] - r, a)
        expected = np.sum(delta - sign(z @ v) * y) / 2
        assert generator(v, X, v, r, a, delta, gamma / 2, 1.0) == pytest.approx(expected)
        assert np.array_equal(sign(shifted(X, v, a, gamma / 2) @ v), sign(z @ v))
        assert generator(np.zeros(3), X, np.zeros(3), r, a, delta, gamma / 2, 1.0) == 0


def test_claim_3_7_rounds_at_zero_are_bounded_by_the_regret():
    """J (k-1) gamma Delta Lambda <= R + T M (k-1)/2: the printed claim, with half of its second term."""
    rng = np.random.default_rng(37)
    for k, gamma, delta, X, r in _rounds(rng, 300):
        v, Lam, target = unit(rng, 3) * rng.integers(0, 2), 10 ** rng.uniform(-1, 2), np.eye(3)[0]
        a = int(np.argmax(X @ v))
        losses = [generator(u, X, v, r, a, delta, gamma / 2, Lam) for u in (v, target)]
        zero = not v.any()
        assert zero * (k - 1) * gamma * delta * Lam <= losses[0] - losses[1] + (k - 1) / 2 + 1e-9


def test_lemma_3_4_lift_follows_from_the_pairwise_losses_when_no_round_is_at_zero():
    """lift >= (k-1)/k Delta - (2/k)(l(w_t) - l(w*)): the part of the proof that precedes erratum 21."""
    rng = np.random.default_rng(34)
    for k, gamma, delta, X, r in _rounds(rng, 300):
        v = unit(rng, 3)
        a = int(np.argmax(X @ v))
        regret = generator(v, X, v, r, a, delta, gamma / 2, 1.0)
        regret -= generator(np.eye(3)[0], X, v, r, a, delta, gamma / 2, 1.0)
        assert r[a] - r.mean() >= (k - 1) / k * delta - 2 / k * regret - 1e-9
