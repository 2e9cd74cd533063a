"""The slack form and its sharp floor; the paper's parameters, Lemma 2.2, descent's regret, Algorithm 1."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from massart import theory

EXACT = settings(derandomize=True, max_examples=150, deadline=None)
noise_rates = st.floats(0.0, 0.49)
margins = st.floats(0.001, 1.0)
rounds_range = st.integers(1, 10**9)
shares = st.floats(0.0, 1.0)
inner_shares = st.floats(0.01, 1.0)


@EXACT
@given(noise_rates, margins, rounds_range)
def test_algorithm_1_stays_inside_theorem_2(noise, gamma, rounds):
    slack = theory.paper_slack(noise, gamma, rounds)
    assert 0 < slack <= (1 - 2 * noise) / 2
    floor = theory.paper_floor(slack, gamma)
    assert floor < theory.sharp_floor(noise, slack, gamma)
    cap = theory.paper_gradient_cap(noise, slack, floor)
    lean = 1 - 2 * noise - slack
    # the gradient 1/2 (lean s - y) x / max(u, floor): longest on a mistake at the floor
    assert cap == pytest.approx(max(abs(lean * s - y) for s in (-1, 1) for y in (-1, 1)) / 2 / floor)
    regret = 1.25 * cap * math.sqrt(rounds)
    direct = theory.slack_from_regret(noise, slack, rounds, regret)
    assert theory.paper_mistake_bound(noise, gamma, rounds) == pytest.approx(direct)


def _ball_descent(gradients, steps, start):
    """Regret of projected descent on the unit ball against its best point."""
    w, paid = np.array(start, dtype=float), 0.0
    for g, step in zip(gradients, steps, strict=True):
        paid += float(g @ w)
        w = w - step * g
        w /= max(1.0, float(np.linalg.norm(w)))
    return paid + float(np.linalg.norm(gradients.sum(axis=0)))


def _gradients(kind, rounds, rng):
    if kind == "random":
        g = rng.normal(size=(rounds, 3))
    elif kind == "constant":
        g = np.tile([0.0, 0.0, 1.0], (rounds, 1))
    elif kind == "turning":
        angle = np.linspace(0, 4 * math.pi, rounds)
        g = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    else:  # one way, then back
        g = np.tile([1.0, 0.0, 0.0], (rounds, 1))
        g[rounds // 2 :] *= -1
    return g / np.linalg.norm(g, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["random", "constant", "turning", "back"])
@pytest.mark.parametrize("rounds", [1, 7, 400])
def test_fact_2_4_corrected(kind, rounds):
    cap = 3.0
    g = cap * _gradients(kind, rounds, np.random.default_rng(rounds))
    known = np.full(rounds, theory.paper_step(cap, rounds))
    falling = np.array([theory.paper_step(cap, t) for t in range(1, rounds + 1)])
    worst_start = g.sum(axis=0) / max(1e-12, np.linalg.norm(g.sum(axis=0)))  # opposite to the comparator
    for start in (np.zeros(3), worst_start, np.eye(3)[0]):
        assert _ball_descent(g, known, start) <= theory.descent_regret(cap, 2.0, rounds) + 1e-9
        assert _ball_descent(g, falling, start) <= theory.descent_anytime_regret(cap, 2.0, rounds) + 1e-9
    assert _ball_descent(g, known, np.zeros(3)) <= 1.25 * cap * math.sqrt(rounds) + 1e-9


def test_fact_2_4_as_printed_is_impossible():
    """Fresh directions force sqrt(T) = (1/2) G D sqrt(T) on anybody, above the printed third."""
    rounds = 400
    g = np.eye(rounds)
    regret = _ball_descent(g, np.full(rounds, theory.paper_step(1.0, rounds)), np.zeros(rounds))
    printed = theory.descent_regret(1.0, 2.0, rounds) / 3
    assert regret >= math.sqrt(rounds) - 1e-9 > printed


def test_lemma_2_2_is_void_at_algorithm_1s_floor():
    for slack in (0.01, 0.1, 0.3):
        floor = theory.paper_floor(slack, 0.1)
        assert theory.paper_lemma_excess(10**6, 0.0, slack, floor, 0.1) == pytest.approx(10**6 * (2 + slack / 2))
        derived = theory.paper_lemma_derived_excess(10**6, 0.0, slack, floor, 0.1)
        assert derived == pytest.approx(10**6 * (0.5 + slack / 2))


@EXACT
@given(st.floats(0.01, 1), margins, st.floats(0, 1e6), st.floats(1, 1e9), st.floats(0.001, 1))
def test_lemma_2_2_derived_is_sharper_than_printed(slack, gamma, regret, rounds, share):
    floor = share * slack * gamma / 2
    derived = theory.paper_lemma_derived_excess(rounds, regret, slack, floor, gamma)
    assert derived <= theory.paper_lemma_excess(rounds, regret, slack, floor, gamma)


def test_lemma_2_2_at_its_best_gives_five_sixths():
    """Optimised over slack and floor with R = sqrt(T)/floor: 3/2 32^(1/3) T^(5/6) margin^(-1/3), not T^(3/4)."""
    for rounds in (1e18, 1e24):
        for gamma in (0.1, 0.5):

            def excess(log, rounds=rounds, gamma=gamma):
                slack, floor = (min(math.exp(value), 1.0) for value in log)
                return math.log(theory.paper_lemma_excess(rounds, math.sqrt(rounds) / floor, slack, floor, gamma))

            best = minimize(excess, [-6.0, -12.0], method="Nelder-Mead", options={"xatol": 1e-8, "maxiter": 2000})
            order = 1.5 * 32 ** (1 / 3) * rounds ** (5 / 6) * gamma ** (-1 / 3)
            assert math.exp(best.fun) == pytest.approx(order, rel=0.03)
            assert math.exp(best.fun) > theory.paper_theorem_excess(gamma, rounds)


@pytest.mark.parametrize("rounds", [1, 10, 500, 20_000])
@pytest.mark.parametrize(("noise", "gamma"), [(0.0, 1.0), (0.1, 0.1), (0.4, 0.5)])
def test_anytime_bound_covers_the_sum_it_stands_for(noise, gamma, rounds):
    slacks = [theory.paper_slack(noise, gamma, t) for t in range(1, rounds + 1)]
    caps = [theory.paper_gradient_cap(noise, e, theory.paper_floor(e, gamma)) for e in slacks]
    steps = [theory.paper_step(c, t) for t, c in enumerate(caps, start=1)]
    assert caps == sorted(caps)
    assert steps == sorted(steps, reverse=True)
    # D^2/(2 step_T) + 1/2 sum step_t G_t^2 with D = 2, every term as it is
    direct = noise * rounds + sum(slacks) / 2 + 2 / steps[-1]
    direct += sum(s * c * c for s, c in zip(steps, caps, strict=True)) / 2
    bound = theory.paper_anytime_mistake_bound(noise, gamma, rounds)
    assert direct <= bound * (1 + 1e-12)
    # the slack's share alone: an integral over a falling function is above the sum by at most its first value
    slack_sum = 2 * (bound - noise * rounds - 3 * caps[-1] * math.sqrt(rounds))
    assert sum(slacks) * (1 - 1e-9) <= slack_sum + 1e-9 * bound
    assert slack_sum <= sum(slacks) + slacks[0] + 1e-9 * bound
    assert bound <= 1.5 * direct
    assert bound >= theory.paper_mistake_bound(noise, gamma, rounds)


def test_algorithm_1_has_order_three_quarters():
    """excess / (T^(3/4) margin^(-1/2)) tends to 1/2 + 5/4 (2 - 2 noise) 2 as the slack vanishes."""
    for noise, gamma in ((0.1, 0.05), (0.3, 0.5)):
        rounds = 1e30
        excess = theory.paper_mistake_bound(noise, gamma, rounds) - noise * rounds
        constant = 0.5 + 5 * (1 - noise)
        assert excess / (rounds**0.75 / math.sqrt(gamma)) == pytest.approx(constant, rel=1e-3)


def test_printed_numbers():
    assert theory.paper_floor(1.0, 1.0) == 0.25
    assert theory.paper_theorem_excess(0.05, 1e6) == pytest.approx(6.3e5, rel=0.01)
    assert theory.paper_theorem_excess(0.05, 1e6, constant=2.0) == pytest.approx(12.6e5, rel=0.01)
    assert theory.paper_slack(0.1, 0.1, 1e6) == pytest.approx(0.1)
    assert theory.paper_slack(0.4, 0.1, 1e4) == pytest.approx(0.1)  # (1 - 0.8)/2, clipped


def round_surplus(noise, slack, flip, u, v, agrees, m):
    """E l(w) - E l(w*) - (P(mistake) - noise - slack/2) for l(t) = 1/2 ((1 - 2 noise - slack)|t| - y t)/m."""
    lean, delta_t = 1 - 2 * noise - slack, 1 - 2 * flip
    p = 0.5 * (lean - (delta_t if agrees else -delta_t))
    return p * u / m - 0.5 * (lean - delta_t) * v / m - p


@EXACT
@given(noise_rates, inner_shares, shares, margins, st.floats(0, 1), shares, st.booleans(), shares)
def test_every_round_pays_up_to_the_sharp_floor(noise, eps_share, share, gamma, u, far, agrees, place):
    slack, flip, v = eps_share * (1 - 2 * noise), share * noise, gamma + far * (1 - gamma)
    tau = theory.sharp_floor(noise, slack, gamma)
    for m in (max(u, tau), u + tau, max(u, place * tau) or tau):
        surplus = round_surplus(noise, slack, flip, u, v, agrees, m)
        assert surplus >= -1e-9 * (1 + v / m)


@EXACT
@given(noise_rates, inner_shares, margins, st.floats(0, 1))
def test_the_floor_is_sharp(noise, eps_share, gamma, u):
    """Disagreement at the margin with full noise: nothing left at tau, a loss at 1.01 tau."""
    slack = eps_share * (1 - 2 * noise)
    tau = theory.sharp_floor(noise, slack, gamma)
    assert round_surplus(noise, slack, noise, u, gamma, False, u + tau) == pytest.approx(0.0, abs=1e-9)
    assert round_surplus(noise, slack, noise, u, gamma, False, u + 1.01 * tau) < 0.0


@EXACT
@given(noise_rates, inner_shares, margins)
def test_the_sharp_floor_is_above_the_ones_without_noise_in_them(noise, eps_share, gamma):
    slack = eps_share * (1 - 2 * noise)
    sharp = theory.sharp_floor(noise, slack, gamma)
    lean = 1 - 2 * noise - slack
    assert sharp >= slack * gamma / (1 + lean) * (1 - 1e-12)
    assert sharp > theory.paper_floor(slack, gamma)
    assert sharp <= gamma * (1 + 1e-12)  # at most the floor of Theorem 1, reached at the largest slack


@EXACT
@given(noise_rates, inner_shares, shares, margins, st.floats(0, 1), shares, st.booleans())
def test_half_the_floor_leaves_a_surplus(noise, eps_share, share, gamma, u, far, agrees):
    slack, flip, v = eps_share * (1 - 2 * noise), share * noise, gamma + far * (1 - gamma)
    m = u + theory.black_box_floor(noise, slack, gamma)
    kept = slack * gamma / (4 * m)
    assert round_surplus(noise, slack, flip, u, v, agrees, m) >= kept - 1e-9 * (1 + v / m)


@EXACT
@given(noise_rates, inner_shares, margins, st.floats(0.5, 4), st.floats(0, 1e9))
def test_black_box_price_covers_every_sum_of_inverse_denominators(noise, eps_share, gamma, c, inverse_sum):
    """R - surplus <= c (1-noise) sqrt(Q/tau) - slack gamma Q/4 for whatever Q = sum 1/m the rounds produce."""
    slack = eps_share * (1 - 2 * noise)
    tau = theory.black_box_floor(noise, slack, gamma)
    price = theory.black_box_mistake_bound(noise, gamma, 0, slack, c)
    best = (2 * c * (1 - noise) / (slack * gamma * math.sqrt(tau))) ** 2  # the Q that hurts most
    for q in (inverse_sum, best):
        net = c * (1 - noise) * math.sqrt(q / tau) - slack * gamma * q / 4
        assert net <= price * (1 + 1e-9)


@EXACT
@given(noise_rates, margins, st.floats(1, 1e12), st.floats(0.5, 4))
def test_black_box_slack_minimises(noise, gamma, rounds, c):
    best = theory.black_box_slack(noise, gamma, rounds, c)

    def excess(slack):
        return theory.black_box_mistake_bound(noise, gamma, rounds, slack, c) - noise * rounds

    slop = 1e-9 * (1 + noise * rounds)
    for factor in (0.5, 0.9, 1.1, 2.0):
        if factor * best <= 1 - 2 * noise:
            assert excess(factor * best) >= excess(best) - slop
    if best < 1 - 2 * noise:
        order = 0.75 * (16 * c * c * (1 - 2 * noise) * (1 - noise) ** 2) ** (1 / 3) * (rounds / gamma) ** (2 / 3)
        assert excess(best) == pytest.approx(order, rel=1e-6, abs=slop)


def test_tuned_slack_minimises_the_leading_order():
    for noise, gamma, rounds in ((0.1, 0.05, 1e6), (0.3, 0.1, 1e8), (0.45, 0.5, 1e9)):
        delta, spread = 1 - 2 * noise, math.sqrt(noise * (1 - noise) * rounds)

        def leading(slack, delta=delta, spread=spread, rounds=rounds, gamma=gamma):
            return slack * rounds / 2 + 2 * math.sqrt(2) * spread * 2 * delta / (slack * gamma)

        searched = minimize_scalar(leading, bounds=(1e-6, 2), method="bounded", options={"xatol": 1e-10})
        assert theory.tuned_slack(noise, gamma, rounds) == pytest.approx(searched.x, rel=1e-4)
        assert theory.slack_excess_order(noise, gamma, rounds) == pytest.approx(searched.fun, rel=1e-6)


@EXACT
@given(noise_rates, st.floats(0.01, 0.99), margins, st.floats(0, 1e9))
def test_descent_with_slack_is_theorem_1c_at_other_parameters(noise, eps_share, gamma, rounds):
    """The gradients are those of noise p = noise + slack/2 at margin tau, so the bound is Theorem 1(c) of them."""
    slack = eps_share * (1 - 2 * noise)
    tau, p = theory.sharp_floor(noise, slack, gamma), noise + slack / 2
    bound = theory.slack_mistake_bound(noise, gamma, rounds, slack)
    assert bound == pytest.approx(theory.adagrad_mistake_bound(p, tau, rounds))


def test_the_full_bound_approaches_its_leading_order():
    ratios = []
    for rounds in (1e12, 1e20, 1e28):
        slack = theory.tuned_slack(0.1, 0.05, rounds)
        excess = theory.slack_mistake_bound(0.1, 0.05, rounds, slack) - 0.1 * rounds
        ratios.append(excess / theory.slack_excess_order(0.1, 0.05, rounds))
    assert ratios[0] > ratios[1] > ratios[2]
    assert ratios[2] == pytest.approx(1.0, abs=0.001)


def test_printed_numbers_of_the_slack_form():
    assert theory.slack_excess_order(0.1, 0.05, 1e6) == pytest.approx(2.3e5, rel=0.02)
    assert 2 * math.sqrt(2 * math.sqrt(2)) == pytest.approx(3.364, abs=5e-4)
    assert theory.slack_from_regret(0.1, 0.2, 1000, 0.0) == pytest.approx(200.0)
