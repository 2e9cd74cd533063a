"""The errata of the paper's sections 1 and 2: the printed statement fails, the corrected one holds.

One test per row of the errata table in docs/paper-to-code.md, numbered in the paper's order. Everything is
computed from formulas (NumPy only), so these tests say nothing about the library: they justify its choices.
"""

import itertools
import math

import numpy as np
import pytest
from paper_formulas import c_loss, leaky_relu, lemma_excess, point_with_margin, sign, to_ball, unit


def test_erratum_01_the_cited_regret_bound_is_zero_at_one_round():
    """Section 1, bound of Ben-David, Pal and Shalev-Shwartz: LD * log T vanishes at T = 1."""
    T, littlestone, eta = 1, 1, 0.0
    speed = 1 - 2 * math.sqrt(eta * (1 - eta))
    printed = 0 + littlestone * math.log(T) / speed  # some hypothesis agrees with the single label
    # The learner says +1 with probability p; the worse of the two targets costs it max(p, 1-p).
    minimax = min(max(p, 1 - p) for p in np.linspace(0, 1, 101))
    assert minimax == pytest.approx(0.5)
    assert minimax > printed
    # The logarithm is that of the number of experts, sum_{i <= LD} C(T, i), which T^LD undercounts here.
    experts = sum(math.comb(T, i) for i in range(littlestone + 1))
    assert minimax <= math.log(experts) / speed


def test_erratum_02_monotone_rewards_need_room_for_the_whole_chain():
    """Definition 1.4 asks for gap Delta between all pairs: k arms need (k-1) Delta <= M, (k-1) gamma <= 2."""
    rng = np.random.default_rng(2)
    k, M = 5, 1.0
    sorted_rewards = np.sort(rng.uniform(0, M, (20_000, k)), axis=1)
    smallest_gap = np.diff(sorted_rewards, axis=1).min(axis=1)
    assert smallest_gap.max() <= M / (k - 1)  # so a gap of 0.3, allowed as printed, exists for no distribution
    assert M / (k - 1) < 0.3

    feasible = np.linspace(0, M, k)  # attained, also by scores w*.x_i in [-1, 1]
    assert np.diff(feasible).min() == pytest.approx(M / (k - 1))
    assert np.diff(np.linspace(-1, 1, k)).min() == pytest.approx(2 / (k - 1))
    # What the gap then guarantees: (k-1)/k Delta <= M/k, while the best arm is (k-1) Delta/2 above the mean.
    above_mean = sorted_rewards[:, -1] - sorted_rewards.mean(axis=1)
    assert np.all(above_mean >= (k - 1) * smallest_gap / 2 - 1e-12)
    assert np.all((k - 1) / k * smallest_gap <= M / k)


def _bisection_labels(choose_label, T):
    """Points (p, -1) and labels consistent with sign(p - theta): the adversary that needs no margin."""
    low, high, rounds = 0.0, 1.0, []
    w = np.zeros(2)
    for _ in range(T):
        p = (low + high) / 2
        x = np.array([p, -1.0]) / math.hypot(p, 1)
        prediction = float(sign(w @ x))
        y = choose_label(prediction)
        low, high = (low, p) if y > 0 else (p, high)
        rounds.append((p, prediction, y))
        if prediction != y:
            w = w + y * x
    theta = (low + high) / 2
    return rounds, theta


def test_erratum_03_only_deterministic_learners_can_be_forced_to_err_every_round():
    """Section 1.1: "impossible to do less than T mistakes" ignores that M(T) is an expectation."""
    T = 40
    rounds, theta = _bisection_labels(lambda prediction: -prediction, T)
    assert sum(prediction != y for _, prediction, y in rounds) == T  # the perceptron, deterministic, errs always
    assert all(sign(p - theta) == y for p, _, y in rounds)  # and a halfspace explains every label
    # A fair coin errs with probability 1/2 whatever the label: T/2 expected mistakes against the same adversary.
    assert sum(0.5 * (y == 1) + 0.5 * (y == -1) for _, _, y in rounds) == T / 2


def test_erratum_04_corollary_1_11_needs_the_margin_of_theorem_1_10():
    """Corollary 1.11 forgets the margin: noiseless rewards (Delta = 1), yet nobody beats a random arm."""
    T, mean_reward, smallest = 8, 0.0, math.inf
    for labels in itertools.product([-1.0, 1.0], repeat=T):
        answers = iter(labels)
        rounds, theta = _bisection_labels(lambda _, answers=answers: next(answers), T)
        assert all(sign(p - theta) == y for p, _, y in rounds)
        smallest = min(smallest, *(abs(p - theta) for p, _, _ in rounds))
        mean_reward += sum(prediction == y for _, prediction, y in rounds) / 2**T
    assert mean_reward == T / 2  # the lift is 0 at every T: not Delta T / 2 - o(T)
    # With the margin stated, nothing is contradicted: these contexts force gamma <= 2^-(T+1).
    assert smallest == 2.0 ** -(T + 1)
    assert T / 2 - T ** (5 / 6) / smallest <= 0


def test_erratum_05_fact_2_1_has_the_wrong_sign():
    assert leaky_relu(0.2, 3.0) == pytest.approx(2.4)
    printed = ((1 - 2 * 0.2) * 3.0 - 3.0) / 2
    assert printed == pytest.approx(-0.6)
    t, lam = np.meshgrid(np.linspace(-5, 5, 201), np.linspace(0, 1, 21))
    np.testing.assert_allclose(((1 - 2 * lam) * np.abs(t) + t) / 2, leaky_relu(lam, t), atol=1e-12)


def test_erratum_06_c_delta_is_a_leaky_relu_for_labels_plus_minus_one_only():
    """Algorithm 2 uses C_Delta with real y, where the two printed forms differ."""
    delta, t, y = 0.6, 1.0, 0.5
    assert leaky_relu((1 - delta) / 2, -t * y) == pytest.approx(-0.10)
    assert c_loss(delta, t, y) == pytest.approx(0.05)
    # The half-difference form is the one that is linear in y, which Claim 3.3 needs.
    rng = np.random.default_rng(6)
    t, y1, y2 = rng.normal(size=(3, 1000))
    share = rng.uniform(size=1000)
    mixed = share * c_loss(delta, t, y1) + (1 - share) * c_loss(delta, t, y2)
    np.testing.assert_allclose(c_loss(delta, t, share * y1 + (1 - share) * y2), mixed, atol=1e-12)
    # For real y the leaky form reads 1/2 (Delta |t||y| - y t).
    np.testing.assert_allclose(leaky_relu((1 - delta) / 2, -t * y1), (delta * np.abs(t * y1) - y1 * t) / 2, atol=1e-12)


def test_erratum_07_the_optimal_vector_enters_the_loss_with_a_plus():
    """E C_Delta(-w*.x; y) is positive; it is E C_Delta(+w*.x; y) that is at most -(eps/2)|w*.x|."""
    assert c_loss(0.6, -0.3, 0.8) == pytest.approx(0.21)  # Delta=.6, w*.x=.3, E y=.8: printed to be <= 0
    assert c_loss(0.6, 0.3, 0.8) == pytest.approx(-0.03)
    rng = np.random.default_rng(7)
    delta, score, extra, eps_share = rng.uniform(size=(4, 2000))
    score = 2 * score - 1
    mean_label = np.sign(score) * (delta + extra * (1 - delta))
    eps = eps_share * delta
    assert np.all(c_loss(delta - eps, -score, mean_label) > 0)
    assert np.all(c_loss(delta - eps, score, mean_label) <= -(eps / 2) * np.abs(score) + 1e-15)


def test_erratum_08_algorithm_1_starts_nowhere_and_sign_of_zero_is_open():
    """Step 2 sets w^(0), round 1 reads w^(1); with sign(0) = 0 the tie is no label at all."""
    gamma, delta = 0.2, 0.6
    w, x = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for y in (-1.0, 1.0):
        assert np.sign(w @ x) * y != 1 - 2 * (np.sign(w @ x) != y)  # the proof's identity, sign(0) = 0
        assert sign(w @ x) * y == 1 - 2 * (sign(w @ x) != y)

    def margin_of_lemma(predicted, used):
        """E<g, w - w*> - (P[mistake] - eta) at w.x = 0, w*.x = gamma, E y = Delta; the form of docs/theory.md."""
        gradient_along_x = (delta * used - delta) / 2 / gamma
        return gradient_along_x * (0 - gamma) - (delta - predicted * delta) / 2

    assert margin_of_lemma(-1, +1) == pytest.approx(-delta)  # prediction and update must share the sign
    assert margin_of_lemma(-1, -1) >= 0
    assert margin_of_lemma(+1, +1) >= 0
    # From w = 0 the target is at distance 1; from e_1 it may be at distance 2.
    target = np.array([-1.0, 0.0])
    assert np.linalg.norm(np.zeros(2) - target) == 1
    assert np.linalg.norm(np.array([1.0, 0.0]) - target) == 2


def test_erratum_09_the_floor_of_algorithm_1_makes_lemma_2_2_vacuous():
    """tau = eps gamma / 4 turns the lemma's 8 tau / (eps gamma) into 2: an excess above 2 T."""
    T, eps, gamma = 10**6, 0.1, 0.1
    assert lemma_excess(T, eps, gamma, eps * gamma / 4, regret=0.0) == pytest.approx(2.05e6)
    # The box is right all the same: its floor is below eps gamma / (2 Delta - eps), where no such term is paid.
    for delta, share in itertools.product(np.linspace(0.01, 1, 50), np.linspace(0.01, 1, 50)):
        eps = share * delta
        assert eps * gamma / 4 <= eps * gamma / (2 * delta - eps)


def test_erratum_10_conditions_on_slack_and_floor_appear_in_the_proof_only():
    """Lemma 2.2 states neither eps < Delta/2 nor tau <= eps gamma/2; what is needed is eps <= Delta."""
    delta, eps = 0.2, 0.3  # Dt = -0.1: the loss is not convex, Fact 2.4 does not apply
    ends = (c_loss(delta - eps, 1.0, 1.0) + c_loss(delta - eps, -1.0, 1.0)) / 2
    assert ends < c_loss(delta - eps, 0.0, 1.0)
    rng = np.random.default_rng(10)
    a, b, share = rng.normal(size=1000), rng.normal(size=1000), rng.uniform(size=1000)
    for dt in (0.0, 0.05, 1.0):  # eps between Delta/2 and Delta is as good
        for y in (-1, 1):
            chord = share * c_loss(dt, a, y) + (1 - share) * c_loss(dt, b, y)
            assert np.all(c_loss(dt, share * a + (1 - share) * b, y) <= chord + 1e-12)

    def step_holds(ratio):  # ratio = tau / (eps gamma); the proof's |J|(1/(2 ratio) - 1/2) >= |J|/(4 ratio)
        return 1 / (2 * ratio) - 1 / 2 >= 1 / (4 * ratio)

    assert step_holds(0.5)
    assert not step_holds(1.0)


def test_erratum_11_the_domain_is_missing():
    """E sum l(w*) <= -T gamma eps/2 needs |w_t.x| <= 1, hence the unit ball, which is never named."""
    gamma, eps, delta = 0.2, 0.1, 0.6

    def expected_loss_of_target(w, x, tau):
        return c_loss(delta - eps, x[1], delta * sign(x[1])) / max(abs(w @ x), tau)

    x = np.array([math.sqrt(1 - gamma**2), gamma])
    tau = eps * gamma / 4
    assert expected_loss_of_target(np.array([10.0, 0.0]), x, tau) > -gamma * eps / 2
    rng = np.random.default_rng(11)
    for _ in range(500):
        w = rng.uniform() * unit(rng, 4)
        x = point_with_margin(rng, 4, gamma, side=rng.choice([-1, 1]))
        assert expected_loss_of_target(w, x, tau) <= -gamma * eps / 2 + 1e-12


def test_erratum_12_the_set_of_small_margin_rounds_is_random():
    """|J| <= (R + T) 4 tau/(eps gamma) bounds E|J|; a realisation of J can be T."""
    T, p, eps, gamma = 1000, 0.1, 0.2, 0.1
    tau = eps * gamma / 100
    # One coin for the whole run: with probability p all w_t = 0 (J = all rounds), else w_t = w* (J empty).
    # At w_t = 0: l(w_t) = 0 and E l(w*) = -(eps/2) gamma/tau when |w*.x| = gamma, |E y| = Delta.
    expected_regret = p * T * eps * gamma / (2 * tau)
    printed = (expected_regret + T) * 4 * tau / (eps * gamma)
    realisations = {T: p, 0: 1 - p}
    assert max(realisations) > 4 * printed
    expected_size = sum(size * chance for size, chance in realisations.items())
    assert expected_size <= (expected_regret + T / 2) * 4 * tau / (eps * gamma)


def test_erratum_13_constants_of_lemma_2_2():
    """The proof loses a factor 2, then ends on a bound that is weaker than the statement it should prove."""
    # (a) J = 30, S = 80 satisfy |J| <= (R + T/2) k and S <= 2 R + 2|J| (k = 4 tau/(eps gamma)), not the display.
    T, R, k = 100.0, 10.0, 0.5
    J = (R + T / 2) * k
    S = 2 * R + 2 * J
    assert (J, S) == (30.0, 80.0)
    display = 2 * R + (R + T) * k
    assert display < S
    # (b) g <= 2 is too weak for S <= 2R + 2|J| (it gives 4|J|); the truth is g <= (1 + Dt)/2 <= 1.
    for dt, mean, s in itertools.product(np.linspace(0, 1, 11), np.linspace(-1, 1, 21), (-1, 1)):
        assert (dt - mean * s) / 2 <= (1 + dt) / 2 <= 1
    # (c) as derived: E M <= (eta + eps/2) T + R + k (R + T/2).  Last line of the proof > statement > derived.
    rng = np.random.default_rng(13)
    for _ in range(200):
        T, R, eps, k = rng.uniform(1, 1e6), rng.uniform(0, 1e5), rng.uniform(0.01, 0.5), rng.uniform(0, 2)
        derived = eps / 2 * T + R + k * (R + T / 2)
        statement = lemma_excess(T, eps, 1.0, k * eps / 4, R)
        last_line = eps * T + R + 4 * k * (R + T)
        assert derived < statement < last_line


def _orthogonal_adversary(step_of, T, d=4):
    """Gradients of norm 1, orthogonal to w_t and to the sum of the past ones; the learner's regret in the ball."""
    rng = np.random.default_rng(14)
    w, total, loss = np.zeros(d), np.zeros(d), 0.0
    for t in range(1, T + 1):
        basis = np.linalg.qr(np.column_stack([w, total, rng.standard_normal((d, 2))]))[0]
        g = basis[:, 2]
        loss += g @ w
        total = total + g
        w = to_ball(w - step_of(t) * g)
    return loss + np.linalg.norm(total)


def test_erratum_14_online_gradient_descent_has_no_third():
    """Fact 2.4 prints G D sqrt(T)/3; no algorithm has less than G D sqrt(T)/2, this one has G D sqrt(T)."""
    assert 1 * 2 > 1 * 2 / 3  # T = 1 in [-1, 1]: w_1 = 1, loss w; the regret is G D
    T, G, D = 2000, 1.0, 2.0
    regret = _orthogonal_adversary(lambda t: D / (G * math.sqrt(T)), T)
    assert regret == pytest.approx(math.sqrt(T))  # 44.72
    assert regret > G * D * math.sqrt(T) / 3  # 29.81
    assert regret <= G * D * math.sqrt(T)
    # The same adversary forces the same regret on any other step: the third is not a matter of tuning.
    assert _orthogonal_adversary(lambda t: 0.1 / math.sqrt(t), T) == pytest.approx(math.sqrt(T))


def _regret_of_algorithm_1(eps, gamma=0.1, eta=0.3):
    """Loss regret of Algorithm 1 (OGD of Fact 2.4) when every point is as good as orthogonal to w_t."""
    T = round(4 / gamma**2)
    dt, tau = 1 - 2 * eta - eps, eps * gamma / 4
    G = (1 + dt) / (2 * tau)
    w, regret = np.zeros(T + 1), 0.0
    for t in range(T):
        x = np.zeros(T + 1)
        x[0] = gamma  # the target is e_1, labels are clean: y = +1
        if t:  # cancel w.x, up to a hair on the wrong side
            x[1:] = -(gamma * w[0] + 1e-12) * w[1:] / (w[1:] @ w[1:])
        if x @ x < 1:
            x[t + 1] = math.sqrt(1 - x @ x)  # a coordinate w has not seen
        else:  # w is too close to the target: from here on, points with regret >= 0 that teach nothing new
            x = np.eye(T + 1)[0]
        m = max(abs(w @ x), tau)
        regret += (c_loss(dt, w @ x, 1) - c_loss(dt, x[0], 1)) / m
        w = to_ball(w - 2 / (G * math.sqrt(T)) * (dt * sign(w @ x) - 1) / 2 * x / m)
    return regret, math.sqrt(T) / gamma, 2 * G * math.sqrt(T)


def test_erratum_15_the_regret_scales_with_the_floor_not_with_the_margin():
    """Proof of Theorem 1.8: R = O(sqrt(T)/gamma) should be O(sqrt(T)/tau): gradients have norm (1+Dt)/(2 tau)."""
    ratios = []
    for eps in (0.2, 0.02, 0.002):
        regret, printed, corrected = _regret_of_algorithm_1(eps)
        ratios.append(regret / printed)
        assert regret <= corrected
    assert ratios[0] > 1
    assert ratios[1] > 5 * ratios[0]  # no constant serves all eps: the ratio grows like 1/eps
    assert ratios[2] > 5 * ratios[1]


def _best_of_printed_lemma(T, gamma):
    """Smallest excess Lemma 2.2 proves with R = 2 sqrt(T)/tau, over eps and tau = ratio * eps * gamma."""
    eps, ratio = np.meshgrid(np.geomspace(1e-6, 1, 481), np.geomspace(1e-6, 0.5, 481))
    tau = ratio * eps * gamma
    return float(lemma_excess(T, eps, gamma, tau, 2 * np.sqrt(T) / tau).min())


def test_erratum_16_the_printed_choice_of_parameters_does_not_give_three_quarters():
    """Proof of Theorem 1.8: what Lemma 2.2 yields is T^(5/6) gamma^(-1/3); the theorem needs the sharper lemma."""
    # (i) with tau = eps^(1+zeta) gamma the term 8 T tau/(eps gamma) = 8 T eps^zeta tends to 8 T, not to 0.
    T, gamma = 1e12, 0.1
    for zeta in (1e-2, 1e-4):
        eps = (gamma * math.sqrt(T)) ** (-1 / (2 + zeta))
        assert lemma_excess(T, eps, gamma, eps ** (1 + zeta) * gamma, 0.0) > 7 * T
    # (ii) eps T = sqrt(T)/(eps^(1+zeta) gamma) has the solution (gamma sqrt T)^(-1/(2+zeta)); printed is another.
    zeta = 0.1
    solved, printed = (gamma * math.sqrt(T)) ** (-1 / (2 + zeta)), T ** (-1 / (4 + 2 * zeta)) / gamma
    assert solved * T == pytest.approx(math.sqrt(T) / (solved ** (1 + zeta) * gamma))
    assert printed * T > 3 * math.sqrt(T) / (printed ** (1 + zeta) * gamma)
    # (iii) that eps T is T to the (3+2zeta)/(4+2zeta): above 3/4 for zeta > 0, where "3/4 - O(zeta)" is printed.
    exponent = (3 + 2 * zeta) / (4 + 2 * zeta)
    assert solved * T == pytest.approx(T**exponent * gamma ** (-1 / (2 + zeta)))
    assert exponent > 3 / 4
    # (iv) the best the lemma can do: slope 5/6 in T, -1/3 in gamma, so the ratio to T^(3/4)/gamma is unbounded.
    big = [_best_of_printed_lemma(T, 0.1) for T in (1e15, 1e18, 1e21)]
    slopes = np.diff(np.log10(big)) / 3
    np.testing.assert_allclose(slopes, 5 / 6, atol=0.02)
    assert math.log(_best_of_printed_lemma(1e18, 0.01) / big[1]) / math.log(10) == pytest.approx(1 / 3, abs=0.03)
    assert big[2] / (1e21**0.75 / 0.1) > 3 * big[0] / (1e15**0.75 / 0.1)
    # (v) corrected: E M <= (eta + eps/2) T + R at tau = eps gamma/4 and eps = 4 (gamma sqrt T)^(-1/2) proves it.
    for T, gamma in itertools.product((1e6, 1e9, 1e12), (0.01, 0.1, 1.0)):
        eps = 4 * (gamma * math.sqrt(T)) ** -0.5
        excess = eps * T / 2 + 2 * math.sqrt(T) / (eps * gamma / 4)
        assert excess == pytest.approx(4 * T**0.75 / math.sqrt(gamma))
        assert excess <= 4 * T**0.75 / gamma * (1 + 1e-12)
