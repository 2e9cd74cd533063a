"""The slack form: its per-round inequality, the floor that cannot be raised, the black-box form, the tunings."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from massart import theory

EXACT = settings(derandomize=True, max_examples=150, deadline=None)
noise_rates = st.floats(0.0, 0.49)
margins = st.floats(0.001, 1.0)
shares = st.floats(0.0, 1.0)
inner_shares = st.floats(0.01, 1.0)


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


def test_printed_numbers():
    assert theory.slack_excess_order(0.1, 0.05, 1e6) == pytest.approx(2.3e5, rel=0.02)
    assert 2 * math.sqrt(2 * math.sqrt(2)) == pytest.approx(3.364, abs=5e-4)
    assert theory.slack_from_regret(0.1, 0.2, 1000, 0.0) == pytest.approx(200.0)
