"""Section 2 of the paper, statement by statement, corrected where docs/paper-to-code.md says so."""

import math

import numpy as np
import pytest
from paper_formulas import c_loss, leaky_relu, point_with_margin, sign, to_ball, unit


def test_fact_2_1_leaky_relu_is_half_of_weighted_absolute_value_plus_identity():
    t, lam = np.meshgrid(np.linspace(-3, 3, 121), np.linspace(0, 1, 21))
    np.testing.assert_allclose(leaky_relu(lam, t), ((1 - 2 * lam) * np.abs(t) + t) / 2, atol=1e-12)
    np.testing.assert_allclose(t * (t > 0), (t + np.abs(t)) / 2)  # the two identities of its proof
    np.testing.assert_allclose(t * (t < 0), (t - np.abs(t)) / 2)


def test_c_delta_is_the_leaky_relu_of_the_negated_margin():
    t, delta = np.meshgrid(np.linspace(-3, 3, 121), np.linspace(0, 1, 21))
    for y in (-1, 1):
        np.testing.assert_allclose(c_loss(delta, t, y), leaky_relu((1 - delta) / 2, -t * y), atol=1e-12)


def test_label_consistency_expected_label_times_clean_sign_is_at_least_delta():
    """E[y] sign(w*.x) = 1 - 2 eta_t >= 1 - 2 eta."""
    rng = np.random.default_rng(20)
    eta = 0.35
    flip, clean = rng.uniform(0, eta, 1000), rng.choice([-1, 1], 1000)
    mean_label = (1 - flip) * clean + flip * -clean
    np.testing.assert_allclose(mean_label * clean, 1 - 2 * flip)
    assert np.all(mean_label * clean >= 1 - 2 * eta)


def test_claim_2_3_the_target_has_expected_loss_at_most_minus_half_slack_times_margin():
    rng = np.random.default_rng(23)
    delta, score, extra, share = rng.uniform(size=(4, 5000))
    score = 2 * score - 1
    eps = share * delta
    mean_label = np.sign(score) * (delta + extra * (1 - delta))
    loss = c_loss(delta - eps, score, mean_label)
    assert np.all(loss <= -(eps / 2) * np.abs(score) + 1e-15)
    tight = c_loss(delta - eps, score, np.sign(score) * delta)  # equality when the noise is exactly eta
    np.testing.assert_allclose(tight, -(eps / 2) * np.abs(score), atol=1e-15)


def _random_rounds(rng, T, gamma, eta, tau, d=3):
    """Any weights, any points of margin gamma, any noise up to eta; half of the rounds close to the boundary."""
    for _ in range(T):
        x = point_with_margin(rng, d, gamma, side=rng.choice([-1, 1]))
        w = 10 ** rng.uniform(-3, 0.5) * unit(rng, d)
        if rng.uniform() < 0.5:
            w = w - (w @ x - rng.uniform(-2, 2) * tau) * x / (x @ x)
        mean_label = sign(x[1]) * rng.uniform(1 - 2 * eta, 1)
        yield w, x, float(sign(x[1]) * (1 - 2 * eta) if rng.uniform() < 0.5 else mean_label)


@pytest.mark.parametrize("ratio", [0.05, 0.25, 0.5])  # tau / (eps gamma); the proof assumes at most 1/2
def test_lemma_2_2_as_its_own_equations_derive_it(ratio):
    """|J| <= k (R + T/2) and E M <= (eta + eps/2) T + R + k (R + T/2), k = 4 tau/(eps gamma), R the exact regret."""
    rng = np.random.default_rng(22)
    for _ in range(20):
        eta, gamma = rng.uniform(0, 0.45), rng.uniform(0.05, 0.5)
        eps = rng.uniform(0.05, 1) * (1 - 2 * eta) / 2
        tau, dt = ratio * eps * gamma, 1 - 2 * eta - eps
        regret = mistakes = small = 0.0
        T = 50
        for w, x, mean_label in _random_rounds(rng, T, gamma, eta, tau):
            m = max(abs(w @ x), tau)
            regret += (c_loss(dt, w @ x, mean_label) - c_loss(dt, x[1], mean_label)) / m
            mistakes += (1 - sign(w @ x) * mean_label) / 2
            small += abs(w @ x) <= tau
        k = 4 * ratio
        assert small <= k * (regret + T / 2) + 1e-9
        assert mistakes <= (eta + eps / 2) * T + regret + k * (regret + T / 2) + 1e-9


def test_lemma_2_2_sharp_no_price_for_small_margins_up_to_the_sharp_floor():
    """P[mistake] - eta - eps/2 <= E l(w_t) - E l(w*) in every round iff tau <= eps gamma/(2 Delta - eps)."""
    rng = np.random.default_rng(222)

    def surplus(w_score, target_score, mean_label, dt, tau):
        m = max(abs(w_score), tau)
        gained = (c_loss(dt, w_score, mean_label) - c_loss(dt, target_score, mean_label)) / m
        return gained - (dt - sign(w_score) * mean_label) / 2

    for _ in range(300):
        eta, gamma = rng.uniform(0, 0.45), rng.uniform(0.05, 0.5)
        delta = 1 - 2 * eta
        eps = rng.uniform(0.01, 1) * delta
        tau = eps * gamma / (2 * delta - eps)
        for w, x, mean_label in _random_rounds(rng, 5, gamma, eta, tau):
            assert surplus(w @ x, x[1], mean_label, delta - eps, tau) >= -1e-9
        # Sharp: w.x = 0 on the wrong side, w*.x = -gamma, noise exactly eta; 1 % more floor and it fails.
        assert surplus(0.0, -gamma, -delta, delta - eps, tau) == pytest.approx(0, abs=1e-12)
        assert surplus(0.0, -gamma, -delta, delta - eps, 1.01 * tau) < 0


def _ogd_regret(gradient_of, T, step, d, start):
    """Projected online gradient descent on linear losses in the unit ball."""
    w, total, loss = start, np.zeros(d), 0.0
    for t in range(T):
        g = gradient_of(t, w, total)
        loss += g @ w
        total = total + g
        w = to_ball(w - step * g)
    return loss + np.linalg.norm(total)


def test_fact_2_4_online_gradient_descent_regret_is_at_most_g_d_sqrt_t():
    """Step D/(G sqrt T), diameter D = 2: regret <= G D sqrt T on random, constant and adversarial gradients."""
    rng = np.random.default_rng(24)
    d = 4
    for T in (1, 2, 10, 300):
        for G in (0.1, 1.0, 50.0):
            kinds = {
                "random": lambda t, w, total, G=G: G * rng.uniform() * unit(rng, d),
                "constant": lambda t, w, total, G=G: G * np.eye(d)[0],
                "along w": lambda t, w, total, G=G: G * (w / np.linalg.norm(w) if w.any() else np.eye(d)[1]),
                "drifting": lambda t, w, total, G=G, T=T: G * np.eye(d)[0] * (1 if t < T / 4 else -1),
                "against the leader": lambda t, w, total, G=G: G * sign(w[0]) * np.eye(d)[0],
            }
            for name, kind in kinds.items():
                for start in (np.zeros(d), np.eye(d)[0]):
                    regret = _ogd_regret(kind, T, 2 / (G * math.sqrt(T)), d, start)
                    assert regret <= 2 * G * math.sqrt(T) * (1 + 1e-12), name


def test_fact_2_4_one_round_attains_the_corrected_constant():
    """T = 1 from the boundary: regret exactly G D, three times what is printed."""
    regret = _ogd_regret(lambda t, w, total: np.eye(4)[0], 1, 2.0, 4, np.eye(4)[0])
    assert regret == 2.0
