"""The errata of the paper's section 3 and appendix: the printed statement fails, the corrected one holds.

Formulas only (NumPy): the bandit itself is not needed to see where its printed analysis goes wrong.
"""

import itertools
import math

import numpy as np
import pytest
from paper_formulas import (
    fake_rewards,
    generator,
    generator_gradient,
    monotone_round,
    shifted,
    sign,
    unit,
)


def test_erratum_17_a_tie_divides_by_zero():
    """Algorithm 2 with sign(0) = 0: v.z_j = 0 is a denominator. Also the decomposition of r_a loses terms."""
    X, v, rho = np.array([[0.0, 0.5], [0.0, -0.5], [-0.3, 0.0]]), np.array([1.0, 0.0]), 0.05
    a = 0
    assert (shifted(X, v, a, rho, sign_of=np.sign) @ v)[0] == 0
    np.testing.assert_allclose(np.abs(shifted(X, v, a, rho) @ v), [rho, 0.3 + rho])

    r, others = np.array([0.9, 0.2, 0.4]), [1, 2]
    wins = X[a] @ v - X[others] @ v

    def decomposed(sign_of):
        return r.mean() + np.sum(sign_of(wins) * (r[a] - r[others])) / 3

    assert decomposed(np.sign) != pytest.approx(r[a])
    assert decomposed(sign) == pytest.approx(r[a])


def test_erratum_18_the_loss_is_not_lipschitz_near_v_zero():
    """Claim 3.1 prints 2 M k max(Lambda, 1/rho), but |v.z_j| >= rho |v| only: the gradient explodes as v -> 0."""
    k, M, delta, rho, gamma = 2, 1.0, 0.5, 0.05, 0.1
    X, r = np.array([[0.01, 0.6], [-0.01, -0.4]]), np.array([0.0, 1.0])
    claimed = 2 * M * k / rho  # any Lambda <= 1/rho
    norms = {}
    for length in (1.0, 1e-1, 1e-3, 1e-6):
        v = np.array([length, 0.0])
        norms[length] = np.linalg.norm(generator_gradient(v, X, v, r, 0, delta, rho))
        assert norms[length] == pytest.approx(norms[1.0] / length)
    assert norms[1.0] < claimed == 80
    assert norms[1e-1] > claimed
    assert norms[1e-6] > 1e5 * claimed

    # A floor that does not shrink with v: norm at most (k-1)(Delta + M)/gamma for every v, no shift, no v = 0 case.
    rng = np.random.default_rng(18)
    for _ in range(500):
        k = int(rng.integers(2, 7))
        X, r = rng.standard_normal((k, 4)), rng.uniform(0, M, k)
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        v = 10.0 ** rng.uniform(-8, 0) * unit(rng, 4)
        a = int(np.argmax(X @ v))
        z, y = np.delete(X[a] - X, a, axis=0), np.delete(r[a] - r, a)
        g = ((delta - y) / (2 * (z @ v + gamma))) @ z
        assert np.linalg.norm(g) <= (k - 1) * (delta + M) / gamma


def _fake_gradient_norm(k, rho, delta, M=1.0):
    """Largest gradient of G with the fake rewards: the explored arm is the chosen one and pays M."""
    height = np.linspace(-1, 1, k) * 0.01  # scores of the target e_1
    X = np.column_stack([height, -np.sqrt(1 - height**2 - 1e-12), np.zeros(k)])
    a = k - 1
    X[a, 1] *= -1
    X[a, 2] = 1e-9
    r = np.zeros(k)
    r[a] = M
    w, v = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    return np.linalg.norm(generator_gradient(w, X, v, fake_rewards(r, a, M), a, delta, rho))


def test_erratum_19_fake_rewards_cost_another_factor_k():
    """Claim 3.1 is applied in Lemma 3.2 to rewards up to (k-1) M: the gradient is of order k^2 M / rho."""
    M, rho = 1.0, 0.01
    ratios = [_fake_gradient_norm(k, rho, M / (k - 1)) / (2 * M * k / rho) for k in (2, 3, 5, 10, 20)]
    assert ratios[0] < 1
    assert ratios[-1] > 9
    assert all(b > a for a, b in itertools.pairwise(ratios[1:]))
    # |y~_j| <= (k-1) M, hence norm <= (k-1) (Delta + (k-1) M) (2 + rho)/(2 rho) when |v| = 1; attained up to rho.
    for k in (2, 3, 5, 10, 20):
        delta = M / (k - 1)
        corrected = (k - 1) * (delta + (k - 1) * M) * (2 + rho) / (2 * rho)
        assert 0.98 * corrected <= _fake_gradient_norm(k, rho, delta) <= corrected
    rng = np.random.default_rng(19)
    for _ in range(300):
        k = int(rng.integers(2, 9))
        X, r = rng.standard_normal((k, 4)), rng.uniform(0, M, k)
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        fake, a = fake_rewards(r, int(rng.integers(k)), M), int(rng.integers(k))
        assert np.abs(fake[a] - fake).max() <= (k - 1) * M + 1e-12
        norm = np.linalg.norm(generator_gradient(unit(rng, 4), X, unit(rng, 4), fake, a, 0.1 * M, 0.05))
        assert norm <= (k - 1) * (0.1 * M + (k - 1) * M) * 2.05 / 0.1


def test_erratum_20_the_proof_of_claim_3_3_loses_lambda():
    """At w_t = 0 the loss carries Lambda; the display without it is not the expectation of the loss."""
    rng = np.random.default_rng(20)
    k, d, M, Lam, q = 4, 3, 1.0, 5.0, 0.2
    X, r = monotone_round(rng, k, d, gamma=0.1, delta=0.1)
    w, v, a = unit(rng, d), np.zeros(d), 2
    fakes = [fake_rewards(r, b, M) for b in range(k)]
    expected = q * np.mean([generator(w, X, v, fake, a, 0.1, 0.05, Lam) / q for fake in fakes])
    printed = -np.mean([np.sum((X[a] - X) @ w * (fake[a] - fake)) for fake in fakes])
    assert expected == pytest.approx(Lam * printed)
    assert abs(expected - printed) > 0.1
    assert expected == pytest.approx(generator(w, X, v, r, a, 0.1, 0.05, Lam))  # Claim 3.3 itself is right


def _two_arms(gamma, across, reward_gap):
    """Two contexts mirrored in the origin, target e_1, pair margin gamma; arm 0 is the better one."""
    x = np.array([gamma / 2, across])
    return np.stack([x, -x]), np.array([reward_gap, 0.0])


def test_erratum_21_the_remainder_of_lemma_3_4():
    """Printed (R/k)(1 + 1/(gamma Lam)) + T M/Lam; derived (R/k)(2 + 1/(gamma Lam)) + T M/(gamma Lam)."""
    target, k, M = np.array([1.0, 0.0]), 2, 1.0

    def printed(R, T, gamma, Lam):
        return R / k * (1 + 1 / (gamma * Lam)) + T * M / Lam

    def corrected(R, T, gamma, Lam):
        return R / k * (2 + 1 / (gamma * Lam)) + T * M / (gamma * Lam)

    # (a) T rounds of the wrong arm by the gap Delta: regret Delta T, lift -Delta T/2.  The 2 is needed.
    gamma, delta, T = 0.1, 0.5, 1000
    Lam, rho = 100 / gamma, gamma / 2
    X, r = _two_arms(gamma, 0.0, delta)
    v = np.array([-1.0, 0.0])  # ranks arm 1 first
    regret = T * (generator(v, X, v, r, 1, delta, rho, Lam) - generator(target, X, v, r, 1, delta, rho, Lam))
    lift = T * (r[1] - r.mean())
    assert regret == pytest.approx(delta * T)
    assert lift < delta * T / 2 - printed(regret, T, gamma, Lam)
    assert lift >= delta * T / 2 - corrected(regret, T, gamma, Lam)

    # (b) regret 0: some rounds at w_t = 0 (random arm, lift 0) paid for by easy rounds.  The 1/gamma is needed.
    gamma, Lam = 0.001, 100.0
    rho = gamma / 2
    X, r = _two_arms(gamma, 0.9, delta)
    blind = -np.mean([generator(target, X, np.zeros(2), r, a, delta, rho, Lam) for a in (0, 1)])
    easy_X, easy_r = _two_arms(gamma, 0.9, M)
    v = np.array([0.0, 1.0])
    easy = generator(v, easy_X, v, easy_r, 0, delta, rho, Lam)
    easy -= generator(target, easy_X, v, easy_r, 0, delta, rho, Lam)
    assert blind > 0 > easy
    share = easy / (easy - blind)  # share of rounds at w_t = 0 that makes the regret vanish
    assert share * blind + (1 - share) * easy == pytest.approx(0)
    lift = (1 - share) * (easy_r[0] - easy_r.mean())
    assert lift < delta / 2 - printed(0.0, 1, gamma, Lam) - 0.1
    assert lift >= delta / 2 - corrected(0.0, 1, gamma, Lam)

    # (c) the corrected remainder on random rounds of every kind, per round and hence for sums.
    rng = np.random.default_rng(21)
    for _ in range(500):
        k = int(rng.integers(2, 6))
        gamma, delta, Lam = rng.uniform(0.02, 0.3), rng.uniform(0.01, 1 / (k - 1)), 10 ** rng.uniform(-1, 3)
        X, r = monotone_round(rng, k, 3, gamma, delta)
        target3, v = np.eye(3)[0], unit(rng, 3) * rng.integers(0, 2)
        arms = [int(np.argmax(X @ v))] if v.any() else range(k)
        losses = [[generator(u, X, v, r, a, delta, gamma / 2, Lam) for u in (v, target3)] for a in arms]
        regret = float(np.mean([mine - best for mine, best in losses]))
        lift = np.mean([r[a] - r.mean() for a in arms])
        assert lift >= (k - 1) / k * delta - corrected(regret, 1, gamma, Lam) - 1e-12


def test_erratum_22_the_shift_needs_an_absolute_value():
    """Proof of Lemma 3.4: w*.z sign(w*.X) >= |w*.X| - rho w*.v/|v| is false when w*.v < 0."""
    rho, target, v = 0.1, np.array([1.0, 0.0]), np.array([-0.6, 0.8])
    X = np.array([[0.2, 0.5], [0.0, 0.0]])
    z = shifted(X, v, 0, rho)[0]
    assert z @ target == pytest.approx(0.14)
    assert z @ target < 0.2 - rho * (target @ v)  # printed: 0.26
    rng = np.random.default_rng(22)
    for _ in range(500):
        X, v, target = rng.standard_normal((2, 3)), rng.standard_normal(3), unit(rng, 3)
        score, z = float((X[0] - X[1]) @ target), shifted(X, v, 0, rho)[0]
        assert z @ target * sign(score) >= abs(score) - rho * abs(target @ v) / np.linalg.norm(v) - 1e-12


def test_erratum_23_claim_3_5_has_three_constants():
    """Statement -k gamma Delta, proof -k Lam Delta, needed by Claim 3.7 and true: -(k-1) Lam gamma Delta."""
    gamma, delta, Lam, k = 0.2, 0.3, 1.0, 3
    X, r = np.array([[gamma, 0.0], [0.0, 0.0], [-gamma, 0.0]]), np.array([2 * delta, delta, 0.0])
    loss = generator(np.array([1.0, 0.0]), X, np.zeros(2), r, 1, delta, gamma / 2, Lam)
    assert loss == pytest.approx(-(k - 1) * Lam * gamma * delta)  # the middle arm attains it
    assert loss > -k * gamma * delta
    assert loss > -k * Lam * delta
    # The tower-rule display has 1{w_t = 0} where it should have l(w*) 1{w_t = 0}: +1 instead of a negative number.
    assert loss < 0
    rng = np.random.default_rng(23)
    for _ in range(500):
        k = int(rng.integers(2, 7))
        gamma, delta, Lam = rng.uniform(0.01, 0.25), rng.uniform(0, 1 / (k - 1)), 10 ** rng.uniform(-1, 2)
        X, r = monotone_round(rng, k, 3, gamma, delta)
        loss = generator(np.eye(3)[0], X, np.zeros(3), r, int(rng.integers(k)), delta, gamma / 2, Lam)
        assert loss <= -(k - 1) * Lam * gamma * delta + 1e-12


def test_erratum_24_the_exploration_probability_exceeds_one():
    """Proof of Theorem 1.10: q = M/(gamma Lam Delta) is a probability only once T >= k^2 (M/Delta)^4."""

    def printed_q(T, k, delta, gamma, M=1.0):
        Lam = T ** (1 / 6) * (M / (k * delta)) ** (1 / 3) / gamma
        return M / (gamma * Lam * delta)

    for k, delta, needed in ((5, 0.25, 6400), (10, 1 / 9, 656_100)):
        assert (k - 1) * delta <= 1
        assert printed_q(needed / 2, k, delta, 0.1) > 1
        assert printed_q(needed, k, delta, 0.1) == pytest.approx(1)
        assert printed_q(needed * 10**6, k, delta, 0.1) == pytest.approx(0.1)
    # Clipping is harmless: below that T the guaranteed gain (k-1)/k Delta T is smaller than the term subtracted.
    for k, delta, T in itertools.product((2, 5, 10), (0.01, 0.05, 0.1), (1e2, 1e4, 1e5)):
        if printed_q(T, k, delta, 1.0) > 1:
            assert (k - 1) / k * delta * T < T ** (5 / 6) * (k * delta) ** (1 / 3)


def test_erratum_25_the_last_display_loses_its_constant():
    """Proof of Theorem 1.10: no O(.) is printed, yet two of its three terms exceed the remainder at gamma = 1."""
    T, k, delta, M, gamma = 1e9, 3, 0.4, 1.0, 1.0
    printed = T ** (5 / 6) * (k * delta) ** (1 / 3) * M ** (2 / 3) / gamma
    Lam = T ** (1 / 6) * (M / (k * delta)) ** (1 / 3) / gamma
    q = M / (gamma * Lam * delta)
    exploration, blind = q * (k - 1) / k * delta * T, T * M / (gamma * Lam)
    assert q < 1
    assert blind == pytest.approx(printed)
    assert exploration + (1 - q) * blind > 1.4 * printed
    # With an O(.), and with the k^2 of erratum 19 in the regret, the order is the printed one for every gamma.
    for T, k, gamma in itertools.product((1e9, 1e12), (2, 5, 10), (0.01, 0.1)):
        delta = 0.5 / (k - 1)
        Lam = T ** (1 / 6) * (M / (k * delta)) ** (1 / 3) / gamma
        q = M / (gamma * Lam * delta)
        regret = k**2 * M * math.sqrt(T) * max(Lam, 1 / gamma) / q
        remainder = regret / k * (2 + 1 / (gamma * Lam)) + T * M / (gamma * Lam) + q * delta * T
        assert remainder <= 6 * T ** (5 / 6) * (k * delta * M**2) ** (1 / 3) / gamma
