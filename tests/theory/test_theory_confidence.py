"""High probability, broken assumptions, offline: each against its per-round inequality or a simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from massart import theory

EXACT = settings(derandomize=True, max_examples=150, deadline=None)
noise_rates = st.floats(0.0, 0.499)
margins = st.floats(0.001, 1.0)
shares = st.floats(0.0, 1.0)


@EXACT
@given(noise_rates, shares, margins, st.floats(0, 5), shares, st.booleans())
def test_a_round_has_the_range_and_variance_of_the_deviation(noise, share, gamma, u, far, agrees):
    """<g, w - w*> - 1{mistake} takes two values; their distance is at most K, their variance K^2 noise (1-noise)."""
    flip, v, m = share * noise, gamma + far * (1 - gamma), u + gamma
    towards = (u - v if agrees else u + v) / m
    on_mistake, on_correct = (1 - noise) * towards - 1, -noise * towards
    chance = flip if agrees else 1 - flip
    scale = (1 + gamma) / gamma
    assert abs(on_mistake - on_correct) <= scale * (1 + 1e-12)
    assert chance * (1 - chance) * (on_mistake - on_correct) ** 2 <= scale**2 * noise * (1 - noise) * (1 + 1e-9)
    mean = chance * on_mistake + (1 - chance) * on_correct
    assert mean >= -noise - 1e-9  # Lemma 0 again
    both = theory.linearised_regret(noise, flip, u, v, agrees, m) - chance
    assert mean == pytest.approx(both, abs=1e-9 * (1 + abs(towards)))


@pytest.mark.parametrize("rounds", [10, 200, 5000])
@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_freedman_on_the_worst_two_valued_martingale(rounds, noise):
    """Steps K (1{flip} - noise): the largest variance and range allowed.

    The sum must exceed the deviation in at most a share 1 - confidence of the paths: n = 200000 paths, so the
    observed share may be above that by z = 4 standard errors, 4 sqrt(c (1-c) / n), once in 30000 seeds.
    """
    paths, gamma = 200_000, 0.1
    rng = np.random.default_rng(rounds)
    scale = (1 + gamma) / gamma
    sums = scale * (rng.binomial(rounds, noise, size=paths) - rounds * noise)
    for confidence in (0.5, 0.9, 0.99):
        allowed = (1 - confidence) + 4 * math.sqrt(confidence * (1 - confidence) / paths)
        dev = theory.deviation(noise, gamma, confidence, rounds)
        assert (sums >= dev).mean() <= allowed
        assert (-sums >= dev).mean() <= allowed


def test_half_the_deviation_would_not_do():
    """In the Gaussian regime half of it is 1.07 standard deviations at 90%: exceeded by 14% of all paths."""
    rng = np.random.default_rng(1)
    sums = 11.0 * (rng.binomial(10**6, 0.3, size=200_000) - 3e5)
    share = (sums >= 0.5 * theory.deviation(0.3, 0.1, 0.9, 10**6)).mean()
    assert share > 0.1 + 4 * math.sqrt(0.09 / 200_000)


def test_weighted_deviation_on_unequal_weights():
    """A tenth of the rounds weigh 10, the rest 1; 20000 paths, threshold as above."""
    paths, rounds, noise, gamma = 20_000, 400, 0.2, 0.2
    weights = np.where(np.arange(rounds) % 10 == 0, 10.0, 1.0)
    rng = np.random.default_rng(3)
    flips = rng.random((paths, rounds), dtype=np.float32) < noise
    sums = (1 + gamma) / gamma * (flips @ weights - noise * weights.sum())
    squares, largest = float(weights @ weights), float(weights.max())
    dev = theory.deviation(noise, gamma, 0.9, rounds, squared_weights=squares, largest_weight=largest)
    assert (sums >= dev).mean() <= 0.1 + 4 * math.sqrt(0.09 / paths)
    assert (sums >= theory.deviation(noise, gamma, 0.9, rounds) / 2).mean() > 0.1  # the weights matter


def test_unit_weights_are_the_default_and_scaling_scales():
    plain = theory.deviation(0.2, 0.1, 0.95, 500)
    assert theory.deviation(0.2, 0.1, 0.95, 500, squared_weights=500, largest_weight=1) == plain
    assert theory.deviation(0.2, 0.1, 0.95, 500, squared_weights=500 * 9, largest_weight=3) == pytest.approx(3 * plain)
    assert theory.deviation(0.0, 0.1, 0.95, 0) == pytest.approx(11 * 2 / 3 * math.log(20))


@EXACT
@given(noise_rates, margins, st.integers(1, 10**8), st.floats(0.01, 0.9999))
def test_high_probability_bound_solves_its_inequality(noise, gamma, rounds, confidence):
    """Every Z with Z <= dev + sqrt(2) sqrt(G^2 + S(noise T + Z)) lies below the bound."""
    dev = theory.deviation(noise, gamma, confidence, rounds)
    bound = theory.high_probability_mistake_bound(noise, gamma, rounds, confidence)
    variance = noise * (1 - noise) * rounds + (1 - noise) ** 2 + (1 - 2 * noise) * dev
    largest = dev + theory.excess_root(math.sqrt(2) / gamma, variance, 1 - 2 * noise)
    cap = theory.gradient_cap(noise, gamma)
    squares = ((1 - 2 * noise) * (noise * rounds + largest) + noise**2 * rounds) / gamma**2
    assert dev + theory.ftrl_regret(cap, squares) == pytest.approx(largest, rel=1e-9)
    assert noise * rounds + largest <= bound * (1 + 1e-12)
    assert bound >= theory.ftrl_mistake_bound(noise, gamma, rounds)
    assert theory.high_probability_mistake_bound(noise, gamma, rounds, (1 + confidence) / 2) > bound


def test_printed_high_probability_excess():
    assert theory.high_probability_mistake_bound(0.1, 0.1, 10**4, 0.99) - 1000 == pytest.approx(1783, abs=0.6)


@EXACT
@given(noise_rates, shares, margins, st.floats(0, 5), shares, st.booleans())
def test_robust_round(noise, flip, gamma, u, v, agrees):
    """Any flip rate up to 1, any distance down to 0: Lemma 0 with the two penalties."""
    left = theory.linearised_regret(noise, flip, u, v, agrees, u + gamma)
    penalty = theory.margin_penalty(noise, gamma, v) + theory.noise_penalty(noise, gamma, flip, v)
    right = theory.excess_mistake_probability(noise, flip, agrees)
    assert left + penalty >= right - 1e-9 * (1 + abs(left))
    assert penalty <= theory.corruption_penalty(noise, gamma, 1) * (1 + 1e-12)


def test_robust_penalties_are_reached_and_vanish():
    # a clean point on the target's hyperplane that the learner gets wrong, u = 0: exactly the margin penalty
    left = theory.linearised_regret(0.1, 0.0, 0.0, 0.0, False, 0.2)
    assert left + theory.margin_penalty(0.1, 0.2, 0.0) == pytest.approx(
        theory.excess_mistake_probability(0.1, 0.0, agrees=False)
    )
    # a flipped label at u = 0, v = 1 where they agree: exactly the noise penalty
    left = theory.linearised_regret(0.1, 1.0, 0.0, 1.0, True, 0.2)
    assert left + theory.noise_penalty(0.1, 0.2, 1.0, 1.0) == pytest.approx(
        theory.excess_mistake_probability(0.1, 1.0, agrees=True)
    )
    # nothing assumed of a round: the worst is a certain flip as far from the hyperplane as a point can be
    worst = theory.noise_penalty(0.1, 0.2, 1.0, 1.0)
    assert theory.corruption_penalty(0.1, 0.2, 7) == pytest.approx(7 * worst)
    assert theory.margin_penalty(0.1, 0.2, 0.2) == 0.0
    assert theory.noise_penalty(0.1, 0.2, 0.1, 1.0) == 0.0


@EXACT
@given(noise_rates, margins, st.integers(1, 10**8), st.floats(0, 1e6))
def test_robust_bound_starts_at_theorem_1b_and_solves_its_inequality(noise, gamma, rounds, penalty):
    assert theory.robust_mistake_bound(noise, gamma, rounds, 0.0) == pytest.approx(
        theory.ftrl_mistake_bound(noise, gamma, rounds)
    )
    bound = theory.robust_mistake_bound(noise, gamma, rounds, penalty)
    variance = noise * (1 - noise) * rounds + (1 - noise) ** 2 + (1 - 2 * noise) * penalty
    largest = penalty + theory.excess_root(math.sqrt(2) / gamma, variance, 1 - 2 * noise)
    assert noise * rounds + largest <= bound * (1 + 1e-12)


@EXACT
@given(noise_rates, margins, st.floats(1e-4, 0.5))
def test_samples_for_error_is_the_smallest(noise, gamma, excess):
    samples = theory.samples_for_error(noise, gamma, excess)
    assert theory.online_to_batch_error(noise, gamma, samples) <= noise + excess * (1 + 1e-9)
    if samples > 1:
        before = theory.online_to_batch_error(noise, gamma, samples - 1)
        assert before > noise + excess * (1 - 1e-9)
    assert abs(samples - theory.rounds_until(theory.fixed_mistake_bound, noise, gamma, excess)) <= 1 + 1e-9 * samples


@EXACT
@given(noise_rates, margins, st.floats(1, 1e9))
def test_online_to_batch_is_below_its_simple_form(noise, gamma, samples):
    simple = noise + math.sqrt(noise * (1 - noise) / samples) / gamma + (1 - 2 * noise) / (gamma**2 * samples)
    assert theory.online_to_batch_error(noise, gamma, samples) <= simple * (1 + 1e-12)
