"""Lemma 0, Theorems 1, 15, 18: the inequality on draws and at its corners, the solving steps, the printed numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom, norm

from massart import theory
from massart.errors import InvalidParameterError

EXACT = settings(derandomize=True, max_examples=150, deadline=None)
noise_rates = st.floats(0.0, 0.499)
margins = st.floats(0.001, 1.0)
distances = st.floats(0.0, 5.0)
shares = st.floats(0.0, 1.0)
ROUNDING = 1e-9


@EXACT
@given(noise_rates, shares, margins, distances, shares, st.booleans(), shares)
def test_lemma_0_for_every_denominator_it_names(noise, share, gamma, u, far, agrees, place):
    flip, v = share * noise, gamma + far * (1 - gamma)
    lowest = max(u - gamma, 1e-3 * gamma)
    m = lowest + place * (u + gamma - lowest)
    left = theory.linearised_regret(noise, flip, u, v, agrees, m)
    assert left >= theory.excess_mistake_probability(noise, flip, agrees) - ROUNDING * (1 + abs(left))


def test_lemma_0_is_what_the_gradient_does():
    """The two sides against vectors: average <g, w - w*> over the two labels with their probabilities."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        w, target, x = rng.normal(size=(3, 4))
        target /= np.linalg.norm(target)
        x /= max(1.0, np.linalg.norm(x))
        noise, gamma = rng.uniform(0, 0.5), rng.uniform(0.01, 1)
        flip = rng.uniform(0, noise)
        s, s_star = np.sign(w @ x), np.sign(target @ x)
        m = abs(w @ x) + gamma
        left = right = 0.0
        for y, probability in ((s_star, 1 - flip), (-s_star, flip)):
            g = 0.5 * ((1 - 2 * noise) * s - y) * x / m
            left += probability * g @ (w - target)
            right += probability * (s != y)
            length = (1 - noise if s != y else noise) / m * np.linalg.norm(x)
            assert np.linalg.norm(g) == pytest.approx(length)
        u, v, agrees = abs(w @ x), abs(target @ x), s == s_star
        assert left == pytest.approx(theory.linearised_regret(noise, flip, u, v, agrees, m))
        assert right - noise == pytest.approx(theory.excess_mistake_probability(noise, flip, agrees))


@EXACT
@given(noise_rates, shares, margins, distances)
def test_lemma_0_is_tight_on_both_sides(noise, share, gamma, u):
    """Equality at v = gamma: m = u + gamma where they disagree, m = u - gamma where they agree."""
    flip = share * noise
    wrong = theory.excess_mistake_probability(noise, flip, agrees=False)
    assert theory.linearised_regret(noise, flip, u, gamma, False, u + gamma) == pytest.approx(wrong)
    assert theory.linearised_regret(noise, flip, u, gamma, False, u + 1.01 * gamma) < wrong
    u = 2 * gamma + u
    if flip < noise * (1 - 1e-6) - 1e-9:
        right = theory.excess_mistake_probability(noise, flip, agrees=True)
        assert theory.linearised_regret(noise, flip, u, gamma, True, u - gamma) == pytest.approx(right)
        assert theory.linearised_regret(noise, flip, u, gamma, True, u - 1.01 * gamma) < right


def _loss_gap(noise, flip, u, v, agrees, m):
    """E l(w) - E l(w*) for the loss l(t) = 1/2 (Delta |t| - y t) / m itself, not its linearisation."""
    delta, delta_t = 1 - 2 * noise, 1 - 2 * flip
    at_learner = 0.5 * (delta - (delta_t if agrees else -delta_t)) * u / m
    return at_learner - 0.5 * (delta - delta_t) * v / m


def test_the_loss_version_of_lemma_0_is_false():
    """Where the learner sits on its own hyperplane its loss is 0 but it errs almost surely."""
    for noise in (0.0, 0.1, 0.4):
        excess = theory.excess_mistake_probability(noise, noise, agrees=False)
        assert _loss_gap(noise, noise, 0.0, 0.1, False, 0.1) == pytest.approx(0.0)
        assert excess > 0.0
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(4000):
        noise, gamma, u = rng.uniform(0, 0.5), rng.uniform(0.01, 0.5), rng.uniform(0, 1)
        flip, v, agrees = rng.uniform(0, noise), rng.uniform(gamma, 1), rng.random() < 0.5
        excess = theory.excess_mistake_probability(noise, flip, agrees)
        failures += _loss_gap(noise, flip, u, v, agrees, u + gamma) < excess - 1e-12
        assert theory.linearised_regret(noise, flip, u, v, agrees, u + gamma) >= excess - 1e-12
    assert failures > 400  # false on a good part of all draws, not on a corner


def _descent(kind, gradients, cap):
    """Regret against the best point of the unit ball of the three optimisers of Theorem 1."""
    w, total, squares, paid = np.zeros(gradients.shape[1]), np.zeros(gradients.shape[1]), 0.0, 0.0
    step = 1.0 / math.sqrt((gradients**2).sum())
    for g in gradients:
        paid += g @ w
        total += g
        squares += g @ g
        if kind == "fixed":
            w = w - step * g
            continue
        w = -total / math.sqrt(2 * (cap**2 + squares)) if kind == "ftrl" else w - math.sqrt(2 / squares) * g
        w = w / max(1.0, np.linalg.norm(w))
    regret = paid + np.linalg.norm(total)
    bound = {
        "fixed": theory.fixed_regret(step, squares),
        "ftrl": theory.ftrl_regret(cap, squares),
        "adagrad": theory.adagrad_regret(squares),
    }
    return regret, bound[kind]


@pytest.mark.parametrize("kind", ["fixed", "ftrl", "adagrad"])
@pytest.mark.parametrize("dimension", [1, 2, 20])
def test_the_optimisers_keep_their_regret(kind, dimension):
    rng = np.random.default_rng(dimension)
    for rounds in (1, 2, 10, 300):
        for _ in range(20):
            lengths = rng.uniform(0.01, 1, size=(rounds, 1)) ** rng.integers(0, 8)
            drift = rng.uniform(-1, 1) * np.eye(dimension)[0]
            g = rng.normal(size=(rounds, dimension)) + 3 * drift
            g *= lengths / np.linalg.norm(g, axis=1, keepdims=True)
            regret, bound = _descent(kind, g, cap=1.0)
            assert regret <= bound + 1e-9


def test_regret_constants():
    """1/(2 step) + step S/2, sqrt(2) sqrt(cap^2 + S) and 2 sqrt(2) sqrt(S), at numbers whose roots are whole."""
    assert theory.fixed_regret(0.5, 8.0) == pytest.approx(3.0)
    assert theory.ftrl_regret(3.0, 9.0) == pytest.approx(6.0)
    assert theory.adagrad_regret(18.0) == pytest.approx(12.0)


def test_fixed_regret_is_reached():
    """Gradients orthogonal to everything before them: regret sqrt(S), the tuned bound exactly."""
    regret, bound = _descent("fixed", np.eye(64), cap=1.0)
    assert regret == pytest.approx(8.0)
    assert bound == pytest.approx(8.0)


@EXACT
@given(noise_rates, margins, st.floats(1, 1e8))
def test_fixed_step_solves_its_minimisation(noise, gamma, rounds):
    b, spread = 1 - 2 * noise, noise * (1 - noise) * rounds * gamma**2

    def excess(step):
        mu = step / gamma**2
        return (1 / mu + mu * spread) / (2 - mu * b) / gamma**2

    best = theory.fixed_step(noise, gamma, rounds)
    value = theory.fixed_mistake_bound(noise, gamma, rounds) - noise * rounds
    slop = 1e-9 * (1 + noise * rounds)
    assert excess(best) == pytest.approx(value, rel=1e-6, abs=slop)
    for factor in (0.5, 0.9, 1.1, 1.5):
        if best * factor * b < 2 * gamma**2:  # beyond it the inequality bounds nothing
            assert excess(best * factor) >= value * (1 - 1e-9) - slop
    searched = minimize_scalar(excess, bounds=(best / 4, min(4 * best, 1.999 * gamma**2 / b)), method="bounded")
    assert searched.fun >= value * (1 - 1e-6) - slop


@EXACT
@given(st.floats(0.01, 100), st.floats(0.01, 1e6), st.floats(0, 1))
def test_excess_root_is_the_largest_solution(scale, variance, drift):
    root = theory.excess_root(scale, variance, drift)
    searched = brentq(lambda z: z - scale * math.sqrt(variance + drift * z), 0, 10 * root + 1)
    assert root == pytest.approx(searched, rel=1e-6)
    assert root <= scale**2 * drift + scale * math.sqrt(variance) * (1 + 1e-12)


@EXACT
@given(noise_rates, margins, st.floats(1, 1e8))
def test_the_closed_bounds_dominate_the_exact_roots(noise, gamma, rounds):
    b, spread = 1 - 2 * noise, noise * (1 - noise) * rounds
    cases = [
        (theory.fixed_mistake_bound, 1.0, None),
        (theory.ftrl_mistake_bound, math.sqrt(2), spread + (1 - noise) ** 2),
        (theory.adagrad_mistake_bound, 2 * math.sqrt(2), spread),
    ]
    for bound, constant, variance in cases:
        value = bound(noise, gamma, rounds) - noise * rounds
        slop = 1e-9 * (1 + noise * rounds)
        if variance is None:
            assert value <= math.sqrt(spread) / gamma + b / gamma**2 + slop
        else:
            root = theory.excess_root(constant / gamma, variance, b)
            assert root - slop <= value <= 2 * root + slop


@EXACT
@given(noise_rates, margins, st.integers(1, 10**7))
def test_bounds_grow_with_rounds_and_shrink_with_margin(noise, gamma, rounds):
    for bound in (theory.fixed_mistake_bound, theory.ftrl_mistake_bound, theory.adagrad_mistake_bound):
        here = bound(noise, gamma, rounds)
        assert bound(noise, gamma, rounds + 1) >= here
        assert bound(noise, gamma / 2, rounds) >= here
        assert (here - noise * rounds) / rounds >= (bound(noise, gamma, 2 * rounds) / (2 * rounds) - noise) - 1e-9
    ordered = [f(noise, gamma, rounds) for f in (theory.fixed_mistake_bound, theory.ftrl_mistake_bound)]
    assert ordered == sorted(ordered)


def test_without_noise_the_bound_is_the_perceptrons():
    for gamma in (1.0, 0.5, 0.01):
        for rounds in (1, 10**3, 10**9):
            assert theory.fixed_mistake_bound(0.0, gamma, rounds) == pytest.approx(gamma**-2)
            assert theory.adagrad_mistake_bound(0.0, gamma, rounds) == pytest.approx(8 * gamma**-2)
        assert theory.fixed_step(0.0, gamma, 100) == pytest.approx(gamma**2)


@EXACT
@given(noise_rates, margins, st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_step_for_another_horizon(noise, gamma, rounds, horizon):
    other = theory.fixed_mistake_bound(noise, gamma, rounds, horizon)
    own = theory.fixed_mistake_bound(noise, gamma, rounds)
    assert other >= own * (1 - 1e-12)
    assert theory.fixed_mistake_bound(noise, gamma, rounds, rounds) == pytest.approx(own)
    # the inequality it solves: Z = R(step, S) with S at M = noise T + Z
    excess = other - noise * rounds
    step = theory.fixed_step(noise, gamma, horizon)
    squares = ((1 - 2 * noise) * other + noise**2 * rounds) / gamma**2
    assert theory.fixed_regret(step, squares) == pytest.approx(excess, rel=1e-6, abs=1e-9 * (1 + other))


@EXACT
@given(noise_rates, margins, st.integers(0, 1000), shares)
def test_squared_gradients_count_mistakes(noise, gamma, rounds, share):
    mistakes = int(share * rounds)
    direct = mistakes * theory.gradient_cap(noise, gamma) ** 2 + (rounds - mistakes) * (noise / gamma) ** 2
    assert theory.squared_gradients_bound(rounds, mistakes, noise, gamma) == pytest.approx(direct)


@pytest.mark.parametrize(
    ("noise", "gamma", "rounds", "fixed", "ftrl", "adagrad"),
    [(0.1, 0.05, 10**6, 6162, 9125, 19531), (0.1, 0.1, 10**6, 3040, 4403, 9125)],
)
def test_printed_excesses(noise, gamma, rounds, fixed, ftrl, adagrad):
    assert theory.fixed_mistake_bound(noise, gamma, rounds) - noise * rounds == pytest.approx(fixed, abs=0.6)
    assert theory.ftrl_mistake_bound(noise, gamma, rounds) - noise * rounds == pytest.approx(ftrl, abs=0.6)
    assert theory.adagrad_mistake_bound(noise, gamma, rounds) - noise * rounds == pytest.approx(adagrad, abs=0.6)


@pytest.mark.parametrize(
    ("noise", "gamma", "rate"),
    [
        (0.1, 0.1, 0.123),
        (0.1, 0.045, 0.158),
        (0.2, 0.04, 0.281),
        (0.3, 0.04, 0.387),
        (0.1, 0.05, 0.151),
        (0.3, 0.3, 0.311),
    ],
)
def test_printed_mistake_rates(noise, gamma, rate):
    assert theory.fixed_mistake_bound(noise, gamma, 20_000) / 20_000 == pytest.approx(rate, abs=5.01e-4)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(noise_rates, margins, st.floats(0.001, 0.6))
def test_rounds_until_is_the_smallest(noise, gamma, tolerance):
    for bound in (theory.fixed_mistake_bound, theory.ftrl_mistake_bound):
        rounds = theory.rounds_until(bound, noise, gamma, tolerance)
        assert bound(noise, gamma, rounds) - noise * rounds <= tolerance * rounds
        if rounds > 1:
            assert bound(noise, gamma, rounds - 1) - noise * (rounds - 1) > tolerance * (rounds - 1)
    assert theory.rounds_until_worthwhile(noise, gamma, tolerance) == rounds


def test_a_bound_that_never_comes_near_is_refused_rather_than_waited_for():
    with pytest.raises(InvalidParameterError, match="this bound does not come within it"):
        theory.rounds_until(lambda noise, margin, rounds: (noise + 0.08) * rounds, 0.12, 0.1, 0.05)


directions = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3).filter(lambda w: np.linalg.norm(w) > 1e-3)
lengths = st.floats(1e-3, 1e3)


def unit(vector):
    return np.asarray(vector) / np.linalg.norm(vector)


def with_constant(x, scaling):
    """The row on which a learner with an intercept works."""
    return unit([*x, scaling])


@EXACT
@given(directions, directions, lengths, lengths)
def test_theorem_15_a_homogeneous_target_on_rows_with_a_constant(target, row, length, scaling):
    w, x = unit(target), unit(row) * length
    margin = min(1.0, abs(w @ x) / length)
    if margin < 1e-9:
        return
    reached = abs(np.array([*w, 0.0]) @ with_constant(x, scaling))
    assert reached == pytest.approx(theory.scaled_margin(margin, length, scaling), rel=1e-9)
    # Among rows of different lengths the shortest decides.
    assert theory.scaled_margin(margin, length, scaling) <= theory.scaled_margin(margin, 2 * length, scaling)


@EXACT
@given(directions, directions, lengths, st.floats(-1e3, 1e3), lengths)
def test_theorem_15_an_affine_target_on_rows_with_a_constant(target, row, length, offset, scaling):
    w, x = unit(target), unit(row) * length
    distance = abs(w @ x + offset)
    if distance < 1e-9 * (length + abs(offset)):
        return
    combined = np.array([*w, offset / scaling])  # its score of (x, scaling) is w.x + offset
    reached = abs(unit(combined) @ with_constant(x, scaling))
    stated = theory.affine_margin(distance, abs(offset), length, scaling)
    assert reached == pytest.approx(stated, rel=1e-6)
    assert stated <= 1.0
    assert theory.affine_margin(distance, abs(offset), 2 * length, scaling) <= stated  # the longest row decides
    best = distance / (length + abs(offset))
    assert stated <= best * (1 + 1e-9)
    if offset != 0:
        at_best = theory.affine_margin(distance, abs(offset), length, math.sqrt(length * abs(offset)))
        assert at_best == pytest.approx(best, rel=1e-9)


def test_an_affine_margin_that_no_row_has_is_refused():
    with pytest.raises(InvalidParameterError, match=r"the largest distance there is 1\.5"):
        theory.affine_margin(distance=1.6, offset=0.5, row_length=1.0)


def least_excess(noise, visits):
    """What the majority of the labels seen, the best rule there is, costs per row above noise * visits, exactly."""
    b, excess = 1 - 2 * noise, 0.0
    for s in range(visits):
        right = np.arange(s + 1)
        law = binom.pmf(right, s, 1 - noise)
        excess += b * (law[2 * right < s].sum() + 0.5 * law[2 * right == s].sum())
    return excess


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1, 0.3, 0.45, 0.469, 0.499])
@pytest.mark.parametrize("visits", [1, 2, 7, 60, 400])
def test_theorem_18_is_below_the_best_rule_there_is(noise, visits):
    rounds = 100 * visits + 37  # a last turn that is not complete costs nothing beyond the noise
    stated = theory.lower_mistake_bound_at(noise, 0.1, rounds) - noise * rounds
    assert 0 < stated <= 100 * least_excess(noise, visits) * (1 + 1e-9)


@pytest.mark.parametrize("visits", [5, 6, 7, 20, 100, 400])
def test_theorem_18_at_the_hardest_noise_rate_is_within_a_factor_of_three_of_theorem_1a(visits):
    margin, rounds = 0.1, 100 * visits
    noise = theory.hardest_noise_rate(margin, rounds)
    lower = theory.lower_mistake_bound(margin, rounds) - noise * rounds
    assert lower == pytest.approx(0.183 * math.sqrt(rounds) / margin)
    assert lower <= theory.lower_mistake_bound_at(noise, margin, rounds) - noise * rounds
    assert lower <= 100 * least_excess(noise, visits)
    upper = theory.fixed_mistake_bound(noise, margin, rounds) - noise * rounds
    assert (upper <= 3.0 * lower) == (visits >= 6)


def test_theorem_18_for_other_margins_and_rounds_uses_whole_numbers():
    # 11 rows fit the margin 0.3, for which 1 / margin^2 is 11.1; their own margin is larger.
    assert theory.lower_mistake_bound_at(0.2, 0.3, 110) == theory.lower_mistake_bound_at(0.2, 1 / math.sqrt(11), 110)
    for margin in (0.1, 1 / 7, 0.3, 0.01):  # 1 / 0.1^2 is 99.99999999999999 in floats
        rows = math.floor(round(1 / margin**2, 6))
        with pytest.raises(InvalidParameterError, match=f"needs at least {5 * rows:g} rounds"):
            theory.lower_mistake_bound(margin, 5 * rows - 1)
        assert theory.hardest_noise_rate(margin, 5 * rows) == 0.5 * (1 - 0.735 / math.sqrt(5))


def test_theorem_18_in_few_rounds_uses_as_many_rows():
    assert theory.lower_mistake_bound_at(0.1, 0.1, 30) == pytest.approx(3 + 0.5 * 0.8 * 30)
    assert theory.lower_mistake_bound_at(0.1, 0.1, 1) == pytest.approx(0.5)
    assert theory.lower_mistake_bound_at(0.1, 0.1, 0.5) == 0.05


def test_theorem_18_the_long_sum_is_its_integral():
    noise, rounds = 0.4999, 10**8  # the sum ends after 25 million terms
    c = math.sqrt(2e-4 * math.atanh(2e-4))
    terms = np.maximum(0.0, 1.0 - c * np.sqrt(np.arange(10**6)))
    stated = theory.lower_mistake_bound_at(noise, 0.1, rounds) - noise * rounds
    assert stated == pytest.approx(100 * 1e-4 * terms.sum(), rel=1e-5)
    assert stated <= 100 * 1e-4 * terms.sum()


def test_the_best_constant_of_the_lower_bound():
    """Many visits: a max over a of a * integral of the normal tail at -a sqrt(t), 0.2649 at a = 1.25."""
    t = (np.arange(100_000) + 0.5) / 100_000
    found = minimize_scalar(lambda a: -a * norm.cdf(-a * np.sqrt(t)).mean(), bounds=(0.5, 3), method="bounded")
    assert found.x == pytest.approx(1.25, abs=0.01)
    assert -found.fun == pytest.approx(0.2649, abs=1e-4)
    assert 0.5 / -found.fun < 1.9  # what Theorem 1(a) has for its sqrt(T) / margin near noise rate 1/2
