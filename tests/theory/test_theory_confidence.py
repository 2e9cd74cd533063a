"""High probability, broken assumptions, offline: each against its per-round inequality or a simulation."""

import itertools
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


# Theorems 12, 13 and 16: what may be looked at in every round.
RATES = 8.0 * 2.0 ** (-0.5 * np.arange(46))  # times 1 / scale
DIRECTION_RATES = 4.0 * 2.0 ** (-0.5 * np.arange(24))
SPREADS = st.lists(st.tuples(st.floats(1e-3, 1e4), st.floats(1e-2, 50.0)), min_size=1, max_size=3)


def phi(s):
    """e^s - 1 - s, by its series where the difference would lose its digits."""
    s = np.asarray(s, dtype=float)
    series = s**2 / 2 * (1 + s / 3 * (1 + s / 4 * (1 + s / 5)))
    return np.where(s < 1e-2, series, np.expm1(np.minimum(s, 700.0)) - s)


def compensation(rates, spreads):
    return sum(variance * phi(rates * largest) / largest**2 for variance, largest in spreads)


@EXACT
@given(st.floats(-500, 2000), SPREADS, st.floats(0.5, 100.0))
def test_evidence_is_the_mean_over_its_rates(excess, spreads, scale):
    logs = RATES / scale * excess - compensation(RATES / scale, spreads)
    expected = np.logaddexp.reduce(logs) - math.log(46)
    assert theory.anytime_evidence(excess, spreads, scale) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@EXACT
@given(SPREADS, st.floats(0.5, 100.0), st.floats(0.01, 0.9999))
def test_deviation_at_any_time_is_where_one_rate_alone_has_enough_evidence(spreads, scale, confidence):
    """The smallest excess at which some rate, with its share 1/46, reaches 1 / (1 - confidence); never below E's."""
    rates = RATES / scale
    expected = np.min((math.log(46 / (1 - confidence)) + compensation(rates, spreads)) / rates)
    found = theory.anytime_deviation(confidence, spreads, scale)
    assert found == pytest.approx(expected, rel=1e-6)
    enough = -math.log1p(-confidence)
    assert theory.anytime_evidence(found, spreads, scale) >= enough - 1e-9 * (1 + enough)
    assert theory.anytime_deviation((1 + confidence) / 2, spreads, scale) > found
    grown = [(4 * variance, largest) for variance, largest in spreads]
    assert theory.anytime_deviation(confidence, grown, scale) >= found
    longer = [(variance, 2 * largest) for variance, largest in spreads]
    assert theory.anytime_deviation(confidence, longer, scale) >= found * (1 - 1e-12), "as padded files rely on"


def test_evidence_of_spreads_that_are_nothing_or_overflow():
    assert theory.anytime_evidence(0.0, [(0.0, 0.0)], 1.0) == pytest.approx(0.0)
    assert theory.anytime_evidence(0.0, [], 1.0) == pytest.approx(0.0)
    assert math.isfinite(theory.anytime_deviation(0.99, [(1.0, 1e6)], 1.0))
    assert math.isfinite(theory.anytime_evidence(1e-148, [(1e-297, 1e-150)], 1e-150)), "weights may be tiny"
    assert theory.anytime_evidence(1.0, [(1.0, 1e300)], 1e-3) <= 1.0


def test_anytime_deviation_is_near_that_of_one_look_and_grows_like_the_root():
    """At the scale of Theorem 4: at most twice that bound from 1,000 rounds on, and 2.2 times as much per factor 4."""
    last = None
    for rounds in (1_000, 4_000, 16_000, 64_000):
        spreads = [(0.1 * 0.9 * rounds * 11.0**2, 11.0)]
        found = theory.anytime_deviation(0.99, spreads, 11.0)
        assert theory.deviation(0.1, 0.1, 0.99, rounds) * 0.9 < found < 2 * theory.deviation(0.1, 0.1, 0.99, rounds)
        assert last is None or found < 2.2 * last
        last = found


def increments(noise, flip, gamma, u, v, agrees, weights=(1.0, 1.0)):
    """(probability, increment) for both labels: weight * (X - noise) (1 - rho); weights of the true and the flipped."""
    m = u + gamma
    rest = (gamma + v) / m if agrees else -(v - gamma) / m  # 1 - rho
    truth, flipped = weights
    on_truth, on_flip = (0.0, 1.0) if agrees else (1.0, 0.0)  # whether it is a mistake
    return [(1 - flip, truth * (on_truth - noise) * rest), (flip, flipped * (on_flip - noise) * rest)]


LAMBDAS = np.concatenate([[1e-3, 1e-2], np.linspace(0.05, 8.0, 30)])


@EXACT
@given(noise_rates, shares, margins, st.floats(0, 5), shares, st.floats(0.1, 3.0), st.booleans())
def test_a_round_of_theorem_12_is_a_supermartingale(noise, share, gamma, u, far, c, agrees):
    """E exp(lambda increment) <= exp(noise (1 - noise) phi(lambda a)), a = c (gamma + length) / m, in all cases."""
    flip, v = share * noise, gamma + far * (1 - gamma)
    a = c * (gamma + 1) / (u + gamma)
    rates = LAMBDAS / a
    two = increments(noise, flip, gamma, u, v, agrees)
    log_mean = np.log1p(sum(p * np.expm1(rates * c * value) for p, value in two))
    assert np.all(log_mean <= noise * (1 - noise) * phi(rates * a) + 1e-12 * (1 + rates * a))


def test_theorem_12_is_reached_and_half_of_it_would_not_do():
    """On agreement at v = 1 and flips at the full rate the second order is exact: half the variance is too little."""
    noise, gamma, u, a = 0.2, 0.1, 0.3, 1.1 / 0.4
    two = increments(noise, noise, gamma, u, 1.0, agrees=True)
    rate = 1e-3 / a
    mean = sum(p * math.exp(rate * value) for p, value in two)
    allowed = noise * (1 - noise) * float(phi(rate * a))
    assert math.log(mean) == pytest.approx(allowed, rel=1e-2)
    assert math.log(mean) > allowed / 2


@EXACT
@given(
    st.floats(0.0, 0.45),
    shares,
    margins,
    st.floats(0, 5),
    shares,
    st.floats(0.1, 3.0),
    st.floats(0.05, 20.0),
    st.booleans(),
)
def test_a_round_of_theorem_13_is_a_supermartingale(noise, share, gamma, u, far, c, ratio, agrees):
    """Weights c and c * ratio of the true and the flipped label, the noise rate that they make, a of the heavier."""
    weighted = theory.class_weight_noise_rate(noise, ratio)
    if weighted >= 0.5:
        return
    flip, v = share * noise, gamma + far * (1 - gamma)
    weights = (c, c * ratio)
    a = max(weights) * (gamma + 1) / (u + gamma)
    rates = LAMBDAS / a
    two = increments(weighted, flip, gamma, u, v, agrees, weights)
    log_mean = np.log1p(sum(p * np.expm1(rates * value) for p, value in two))
    assert np.all(log_mean <= weighted * (1 - weighted) * phi(rates * a) + 1e-12 * (1 + rates * a))
    assert sum(p * value for p, value in two) <= 1e-9 * a, "Lemma 0, weighted"


def test_class_weights_need_the_changed_rate():
    """Honest labels, flipped ones weigh 3 times as much: the mean is 0 at the changed rate, above 0 at the old one."""
    weighted = theory.class_weight_noise_rate(0.2, 3.0)
    assert weighted == pytest.approx(0.2 * 3 / (0.8 + 0.2 * 3))
    assert theory.class_weight_noise_rate(0.2, 1 / 3) == pytest.approx(weighted), "whichever class is the heavier"
    assert theory.class_weight_noise_rate(0.2, 1.0) == pytest.approx(0.2)
    means = [
        sum(p * value for p, value in increments(rate, 0.2, 0.1, 0.3, 0.5, True, (1.0, 3.0)))
        for rate in (weighted, 0.2)
    ]
    assert means[0] == pytest.approx(0.0, abs=1e-12)
    assert means[1] > 0.1


@EXACT
@given(
    noise_rates,
    margins,
    st.floats(0, 1e4),
    st.floats(0, 1e5),
    shares,
    st.floats(0.1, 10.0),
    st.floats(0.1, 10.0),
    st.floats(0.1, 10.0),
)
def test_evidence_of_a_direction_is_the_mean_over_its_rates(noise, margin, norm, total, leak, heaviest, longest, scale):
    longest = max(longest, margin)
    rates = DIRECTION_RATES / scale
    ends = [
        -rates * heaviest * v * (1 - leak) + np.logaddexp(np.log1p(-noise), _log(noise) + 2 * rates * heaviest * v)
        for v in (margin, longest)
    ]
    worst = np.maximum(*ends)
    logs = np.where(worst < 0, -rates * norm - total / heaviest * worst, -np.inf)
    expected = np.logaddexp.reduce(logs) - math.log(24)
    found = theory.direction_evidence(noise, margin, norm, total, leak, heaviest=heaviest, longest=longest, scale=scale)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def _log(p):
    return math.log(p) if p > 0 else -np.inf


@EXACT
@given(noise_rates, shares, margins, shares, shares, shares, st.floats(0.1, 5.0), st.booleans())
def test_a_round_of_theorem_16_is_a_supermartingale(noise, share, margin, far, leak, part, heaviest, agrees):
    """E exp(-lambda h (y - leak s) w*.x) <= exp(h / heaviest * max over the ends of f), for any v, h and sign."""
    flip, v, h = share * noise, margin + far * (1 - margin), part * heaviest
    sign = 1.0 if agrees else -1.0  # that of the learner, times that of the target
    rates = 4.0 * 2.0 ** (-0.5 * np.arange(24))
    mean = (1 - flip) * np.exp(-rates * h * v * (1 - leak * sign)) + flip * np.exp(rates * h * v * (1 + leak * sign))

    def f(z):
        return -z * (1 - leak) + np.log1p(noise * np.expm1(2 * z))

    worst = np.maximum(f(rates * heaviest * margin), f(rates * heaviest))
    allowed = part * worst
    assert np.all(np.log(mean) <= allowed + 1e-9 * (1 + np.abs(allowed)))


def test_evidence_of_a_direction_falls_with_the_noise_rate_and_rises_with_the_margin():
    """What the search for a limit relies on."""
    found = [theory.direction_evidence(noise, 0.1, 30.0, 5000.0, 0.5) for noise in np.linspace(0, 0.49, 50)]
    assert all(after <= before for before, after in itertools.pairwise(found))
    found = [theory.direction_evidence(0.1, margin, 30.0, 5000.0, 0.0) for margin in np.geomspace(1e-3, 1, 50)]
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(found))
    assert theory.direction_evidence(0.1, 0.1, 30.0, 5000.0, 1.0) == -math.inf, "no rate is left"


def test_coin_labels_are_found_out_by_their_direction():
    """|sum y x| is about sqrt(T) for coins: 1,000 rounds at margin 1/16, 25,000 at 1/128, noise rate 0.05 declared."""
    for rounds, margin in ((1_000, 1 / 16), (25_000, 1 / 128)):
        enough = theory.direction_evidence(0.05, margin, math.sqrt(rounds), rounds, 0.0)
        assert enough >= math.log(100)


def limits_of(*counts):
    return theory.lower_disagreement_limit(*counts), theory.upper_disagreement_limit(*counts)


def test_disagreement_limits_hold_at_all_times_for_chances_that_change():
    """Of 200 streams at confidence 0.9, each looked at 300 times, at most 20 fail on average: 40 is 4.7 deviations."""
    failed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        chances = np.where(np.arange(300) % 3 == 0, 0.05, rng.random(300))
        wrong = np.cumsum(rng.random(300) < chances)
        means = np.cumsum(chances) / np.arange(1, 301)
        limits = [limits_of(int(m), n, 0.9) for n, m in enumerate(wrong, 1)]
        failed += any(not low <= mean <= high for (low, high), mean in zip(limits, means, strict=True))
    assert failed <= 40


def test_disagreement_limits_close_in_and_are_never_outside():
    widths = [np.subtract(*limits_of(n // 5, n, 0.99)[::-1]) for n in (10, 100, 1000, 10**5, 10**7)]
    assert all(later < early for early, later in itertools.pairwise(widths))
    normal = 2 * 2.576 * np.sqrt(0.16 / 10**7)
    assert normal < widths[-1] < 1.8 * normal  # sqrt(2 ln(92 / 0.01)) / 2.576 = 1.66, and the grid of rates
    for n in (1, 7, 10**9):
        for m in (0, n // 2, n):
            low, high = limits_of(m, n, 0.99)
            assert 0.0 <= low <= m / n <= high <= 1.0
