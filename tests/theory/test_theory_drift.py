"""Targets that move: discounted experts and projected descent on paths that hurt, a forgetting learner under drift."""

import math

import numpy as np
import pytest

from massart import theory


def discounted_hedge(label, experts, rounds, horizon, seed):
    """At every time, the discounted losses of draws less those of the best expert; the losses are `label`'s choice."""
    rng, beta = np.random.default_rng(seed), math.exp(-1 / horizon)
    rate = math.sqrt(8 * math.log(experts) / (horizon + 1))
    losses, drawn, regret = np.zeros(experts), 0.0, []
    for t in range(rounds):
        losses, drawn = beta * losses, beta * drawn
        weights = np.exp(-rate * (losses - losses.min()))
        weights /= weights.sum()
        loss = label(t, weights, rng)
        drawn += float(weights @ loss)
        losses += loss
        regret.append(drawn - losses.min())
    return np.array(regret)


def against_the_leader(t, weights, rng):
    return (weights == weights.max()).astype(float)


def against_the_majority(t, weights, rng):
    side = rng.random(weights.size) < 0.5
    return (side if weights @ side > 0.5 else ~side).astype(float)


def in_turns(t, weights, rng):
    """The best expert changes every 40 rounds."""
    return (np.arange(weights.size) != t // 40 % weights.size).astype(float)


def by_chance(t, weights, rng):
    return (rng.random(weights.size) < 0.5).astype(float)


@pytest.mark.parametrize("label", [against_the_leader, against_the_majority, in_turns, by_chance])
@pytest.mark.parametrize(("experts", "horizon"), [(2, 1), (2, 30), (20, 10), (20, 200)])
def test_draws_by_discounted_losses_pay_at_most_their_price(label, experts, horizon):
    """Theorem 7(i), at every time."""
    regret = discounted_hedge(label, experts, 1500, horizon, 0)
    assert regret.max() <= theory.discounted_hedge_price(experts, horizon) + 1e-9


def test_the_price_is_of_the_right_order():
    """Fair coins cost a third of it at least, so the bound is not idle."""
    regret = np.mean([discounted_hedge(by_chance, 20, 1500, 100, seed)[500:].mean() for seed in range(10)])
    assert regret >= theory.discounted_hedge_price(20, 100) / 3


@pytest.mark.parametrize("path", [0.0, 0.5, 4.0, 30.0])
@pytest.mark.parametrize("kind", ["away", "random", "follows"])
def test_projected_descent_follows_a_moving_point(kind, path):
    """Theorem 7(h): regret against points of the ball whose path has this length, whatever the gradients are."""
    rng, rounds, d = np.random.default_rng(5), 600, 3
    w, squares, regret, walked = np.zeros(d), 0.0, 0.0, 0.0
    point = np.array([1.0, 0.0, 0.0])
    for t in range(rounds):
        size = rng.uniform(0.0, 3.0)
        ways = {"away": w - point, "random": rng.normal(size=d), "follows": -point + 0.1 * rng.normal(size=d)}
        way = ways[kind]
        g = size * way / max(float(np.linalg.norm(way)), 1e-9)
        regret += float(g @ (w - point))
        squares += float(g @ g)
        if squares > 0.0:
            w = w - math.sqrt(2 * (1 + path) / squares) * g
            w /= max(1.0, float(np.linalg.norm(w)))
        if t % 40 == 39 and walked + 2.0 <= path:
            point, walked = -point, walked + 2.0
        assert regret <= 2 * math.sqrt(2) * math.sqrt((1 + path) * squares) + 1e-9
    assert walked <= path


def test_what_a_round_of_another_distribution_may_lose():
    """Proof of Theorem 7(g): (X - n)(1 - r) has a range of at most 2 / margin, whatever the row; sums of ages."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        noise, margin = rng.uniform(0.0, 0.5), rng.uniform(0.01, 1.0)
        u, v = rng.uniform(0.0, 1.0, (2, 4000))
        u[:2000] = 0.0
        v[1000:3000] = 1.0
        agree = (margin + v) / (u + margin)
        differ = -(v - margin) / (u + margin)
        values = np.concatenate([(x - noise) * part for x in (0.0, 1.0) for part in (agree, differ)])
        assert values.max() - values.min() <= 2.0 / margin + 1e-9
    for horizon in (1, 3, 100):
        beta = math.exp(-1 / horizon)
        assert sum(age * beta**age for age in range(60 * horizon)) <= horizon**2


def drifting_mistakes(noise, coordinates, fade, horizon, rounds, seed):
    """Discounted mistakes of Theorem 7(f)'s learner: coordinates vanish in turn, come back with the other sign."""
    rng, beta, margin = np.random.default_rng(seed), math.exp(-1 / horizon), 1 / math.sqrt(coordinates)
    cap = theory.gradient_cap(noise, margin)
    theta, squares, count, signs = np.zeros(coordinates), 0.0, 0.0, np.ones(coordinates)
    counts = np.empty(rounds)
    for t in range(rounds):
        turn, phase = divmod(t, 2 * fade)
        leaving = turn % coordinates
        mass = np.full(coordinates, 1 / coordinates)
        mass[leaving] *= abs(1 - phase / fade)
        mass[(leaving + 1) % coordinates] += 1 / coordinates - mass[leaving]
        if phase == fade:
            signs[leaving] *= -1  # it has no mass now
        j = int(rng.choice(coordinates, p=mass))
        y = signs[j] * (-1.0 if rng.random() < noise else 1.0)
        theta, squares = beta * theta, beta**2 * squares
        w = theta[j] / max(math.sqrt(2 * (cap**2 + squares)), float(np.linalg.norm(theta)))
        s = 1.0 if w >= 0 else -1.0
        g = 0.5 * ((1 - 2 * noise) * s - y) / (abs(w) + margin)
        theta[j] -= g
        squares += g * g
        count = beta * count + float(s != y)
        counts[t] = count
    return counts


def test_a_forgetting_learner_follows_distributions_that_drift():
    """Theorem 7(g) with the horizon it says; means of 15 runs, z = 3. The bound says something: below a half."""
    noise, coordinates, fade, rounds, runs = 0.1, 4, 2000, 9000, 15
    margin, drift = 1 / math.sqrt(coordinates), 1 / (coordinates * fade)
    horizon = theory.drift_horizon(noise, drift)
    counts = np.array([drifting_mistakes(noise, coordinates, fade, horizon, rounds, seed) for seed in range(runs)])
    low = counts.mean(axis=0) - 3 * counts.std(axis=0) / math.sqrt(runs)
    lost = 2 * drift * horizon**2 / margin
    for t in range(0, rounds, 100):
        effective = theory.discounted_rounds(t + 1, horizon)
        root = math.sqrt(2 * (noise * (1 - noise) * effective + (1 - noise) ** 2 + (1 - 2 * noise) * lost)) / margin
        bound = noise * effective + lost + root + 2 * (1 - 2 * noise) / margin**2
        assert low[t] <= bound
    assert bound < 0.5 * effective
    whole = theory.drifting_mistake_bound(noise, margin, 10**9, horizon, drift)
    assert whole / 10**9 == pytest.approx(bound / effective, rel=1e-6)


def test_the_bounds_and_their_limits():
    """Without drift 7(g) is 7(f); a horizon that is chosen well beats others; a longer path costs more."""
    assert theory.drifting_mistake_bound(0.1, 0.2, 10**6, 1000, 0.0) >= theory.forgetting_mistake_bound(
        0.1, 0.2, 10**6, 1000
    )
    assert theory.drifting_mistake_bound(0.1, 0.2, 10**6, 1000, 0.0) == pytest.approx(
        theory.forgetting_mistake_bound(0.1, 0.2, 10**6, 1000), rel=0.2
    )
    rate, drift = 0.2, 1e-9
    best = theory.drift_horizon(rate, drift)
    excess = [
        theory.drifting_mistake_bound(rate, 0.5, 10**12, factor * best, drift) / 10**12 - rate
        for factor in (0.1, 1, 10)
    ]
    assert excess[1] == min(excess)
    assert excess[1] == pytest.approx(3 * (rate * (1 - rate) * drift) ** (1 / 3) / 0.5, rel=0.2)
    assert theory.drift_horizon(0.1, 0.0) == math.inf
    assert theory.drift_horizon(0.0, 0.5) == 1.0
    still, moves = (theory.moving_target_mistake_bound(0.1, 0.3, 10**6, path) for path in (0.0, 3.0))
    assert moves - 10**5 > 2 * (still - 10**5) - 1e-6
