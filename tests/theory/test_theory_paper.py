"""The paper's two-arm half: parameters in range, Lemma 2.2 printed and derived, descent's regret, Algorithm 1."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from massart import theory

EXACT = settings(derandomize=True, max_examples=150, deadline=None)
noise_rates = st.floats(0.0, 0.49)
margins = st.floats(0.001, 1.0)
rounds_range = st.integers(1, 10**9)


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
