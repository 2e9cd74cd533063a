"""The price of a pool: Hedge and AdaHedge run on losses that hurt, against the proved numbers."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from massart import theory


def hedge_regret(losses, rate):
    """Exponential weights with learning rate rate(t), t = 1, 2, ...; regret against the best column."""
    totals, paid = np.zeros(losses.shape[1]), 0.0
    for t, loss in enumerate(losses, start=1):
        weights = np.exp(-rate(t) * (totals - totals.min()))
        paid += float(weights @ loss / weights.sum())
        totals += loss
    return paid - totals.min()


def adahedge_regret(losses, laziness=1.0):
    """AdaHedge: the learning rate is ln N over the sum of past mixability gaps (follow the leaders while that is 0).

    A lazy one sets its rate anew only when the sum has grown by the factor `laziness`.
    """
    experts = losses.shape[1]
    totals, paid, gaps, then = np.zeros(experts), 0.0, 0.0, 0.0
    for loss in losses:
        ahead = totals - totals.min()
        if then == 0.0:
            weights = (ahead == 0.0) / (ahead == 0.0).sum()
            mix = (totals + loss).min() - totals.min()
        else:
            rate = math.log(experts) / then
            weights = np.exp(-rate * ahead)
            weights /= weights.sum()
            mix = float(logsumexp(-rate * ahead) - logsumexp(-rate * (ahead + loss))) / rate
        mean = float(weights @ loss)
        gaps += max(0.0, mean - mix)
        then = gaps if gaps > laziness * then else then
        paid += mean
        totals += loss
    assert paid - totals.min() <= 2 * gaps + 1e-9
    return paid - totals.min(), totals.min(), gaps


def _loss_sequences(experts, rounds, seed):
    rng = np.random.default_rng(seed)
    yield (rng.random((rounds, experts)) < 0.5).astype(float)
    yield (rng.random((rounds, experts)) < np.linspace(0.02, 0.98, experts)).astype(float)
    yield rng.random((rounds, experts)) ** 8
    turn = np.zeros((rounds, experts))  # leaders fall one after another: what follow-the-leader dies of
    turn[np.arange(rounds), np.arange(rounds) % experts] = 1.0
    turn[0] *= 0.5
    yield turn
    one_good = np.ones((rounds, experts))
    one_good[:, -1] = 0.0
    yield one_good
    yield np.zeros((rounds, experts))


@pytest.mark.parametrize("experts", [2, 5, 40])
@pytest.mark.parametrize("rounds", [1, 20, 400])
def test_masters_keep_their_price(experts, rounds):
    log = math.log(experts)
    for losses in _loss_sequences(experts, rounds, seed=experts + rounds):
        anytime = hedge_regret(losses, lambda t: 2 * math.sqrt(log / t))
        assert anytime <= theory.hedge_price(experts, rounds) + 1e-9
        known = hedge_regret(losses, lambda _: math.sqrt(8 * log / rounds))
        assert known <= theory.hedge_known_horizon_price(experts, rounds) + 1e-9
        for laziness in (1.0, 17 / 16, 4.0):
            regret, best, gaps = adahedge_regret(losses, laziness)
            price = theory.adahedge_price(experts, rounds, best, laziness)
            assert regret <= price + 1e-9
            assert 2 * gaps <= price + 1e-9


@pytest.mark.parametrize("weigh", [lambda t: 1.05**t, lambda t: 1.0 + t % 50, lambda t: 300.0 if t == 200 else 1.0])
def test_weights_multiply_the_price_by_the_heaviest(weigh):
    weights = np.array([weigh(t) for t in range(400)])
    heaviest = weights.max()
    for losses in _loss_sequences(5, 400, seed=1):
        regret, best, gaps = adahedge_regret(losses * weights[:, None], 17 / 16)
        price = heaviest * theory.adahedge_price(5, weights.sum() / heaviest, best / heaviest, 17 / 16)
        assert regret <= min(price, 2 * gaps) + 1e-9 * heaviest


def test_the_gap_is_bounded_by_the_variance_of_the_losses():
    """The self-bounding step of Theorem 7(b), and that a price is at most about 3 times what fair coins cost."""
    rng = np.random.default_rng(2)
    experts, rounds, laziness = 16, 4000, 17 / 16
    losses = (rng.random((rounds, experts)) < 0.5).astype(float)
    _, best, gaps = adahedge_regret(losses, laziness)
    log = laziness * math.log(experts)
    assert gaps**2 <= 0.25 * rounds * log + (2 / 3 * log + 1) * gaps
    assert theory.adahedge_price(experts, rounds, best, laziness) <= 3 * 2 * gaps


def test_laziness_costs_its_root():
    assert theory.adahedge_price(16, 10**6, 10**5, 1.0) == theory.adahedge_price(16, 10**6, 10**5)
    exact, lazy = theory.adahedge_price(16, 10**8, 10**7), theory.adahedge_price(16, 10**8, 10**7, 17 / 16)
    assert lazy / exact == pytest.approx(math.sqrt(17 / 16), rel=1e-3)


def test_hedge_price_is_not_far_above_a_hard_sequence():
    """Fair coins, 40 experts: regret is about sqrt(T ln N / 2) for any master, so the prices are within 2 of it."""
    rng = np.random.default_rng(0)
    rounds, experts = 4000, 40
    best = np.mean([rng.binomial(rounds, 0.5, size=experts).min() for _ in range(200)])
    unavoidable = rounds / 2 - best
    assert unavoidable <= theory.hedge_known_horizon_price(experts, rounds) <= 2 * unavoidable
    assert theory.hedge_price(experts, rounds) <= 2 * unavoidable


def test_adahedge_price_is_first_order():
    """No loss, no square root; monotone in the loss; flat beyond half of the rounds."""
    log = math.log(16)
    assert theory.adahedge_price(16, 1000, 0) == pytest.approx(16 / 3 * log + 2)
    prices = [theory.adahedge_price(16, 1000, loss) for loss in (0, 1, 10, 100, 500, 700, 1000)]
    assert prices == sorted(prices)
    assert prices[4] == prices[5] == prices[6] == pytest.approx(math.sqrt(1000 * log) + 16 / 3 * log + 2)


def test_hedge_prices_are_what_their_two_terms_add_up_to():
    """ln N / rate_T + 1/8 sum rate_t: equality for a constant rate, sum 1/sqrt(t) <= 2 sqrt(T) for the falling one."""
    experts, rounds = 12, 5000
    log = math.log(experts)
    constant = math.sqrt(8 * log / rounds)
    assert theory.hedge_known_horizon_price(experts, rounds) == pytest.approx(log / constant + rounds * constant / 8)
    falling = 2 * np.sqrt(log / np.arange(1, rounds + 1))
    exact = log / falling[-1] + falling.sum() / 8
    assert exact <= theory.hedge_price(experts, rounds) <= 1.02 * exact


def test_one_expert_costs_nothing():
    assert theory.hedge_price(1, 1000) == 0.0
    assert theory.hedge_known_horizon_price(1, 1000) == 0.0
    assert theory.adahedge_price(1, 1000, 300) == 0.0
    assert theory.adahedge_price(5, 0, 0) == 0.0


def test_loss_plus_price_is_monotone_and_concave_in_the_loss():
    """What Jensen and the substitution of an upper bound for the best loss need in Theorem 7(c)."""
    loss = np.linspace(0, 1000, 2001)
    total = loss + np.array([theory.adahedge_price(9, 1000, value) for value in loss])
    assert (np.diff(total) > 0).all()
    assert (np.diff(total, n=2) <= 1e-9).all()


def test_a_pool_follows_its_best_safe_expert():
    grid = [(0.05, 0.5), (0.1, 0.05), (0.2, 0.05), (0.1, 0.025), (0.4, 0.025)]
    rounds = 10**6

    def price(experts, loss, rounds):
        return theory.adahedge_price(experts, rounds, loss, 17 / 16) + theory.prod_price(rounds)

    best = theory.ftrl_mistake_bound(0.1, 0.05, rounds)
    assert theory.pool_mistake_bound(0.1, 0.05, rounds, grid) == pytest.approx(best + price(5, best, rounds))
    larger = theory.pool_mistake_bound(0.1, 0.05, rounds, iter(grid), experts=12)
    assert larger == pytest.approx(best + price(12, best, rounds))
    # a vacuous expert costs T, not more, inside the square root
    vacuous = theory.pool_mistake_bound(0.4, 0.001, 100, [(0.45, 0.001), (0.1, 0.1)])
    assert vacuous == pytest.approx(theory.ftrl_mistake_bound(0.45, 0.001, 100) + price(2, 100, 100))
    # one expert is no pool
    assert theory.pool_mistake_bound(0.1, 0.05, rounds, [(0.1, 0.05)]) == best


def test_a_pool_promises_less_per_round_the_longer_it_runs():
    """What `rounds_until` needs."""
    grid = [(0.1, 0.05), (0.4, 0.02)]
    per_round = [theory.pool_mistake_bound(0.1, 0.05, 1.3**k, grid, experts=16) / 1.3**k for k in range(100)]
    assert per_round == sorted(per_round, reverse=True)
    assert theory.rounds_until(lambda p, g, t: theory.pool_mistake_bound(p, g, t, grid), 0.1, 0.05, 0.05) > 10**4


def test_overhead_of_a_grid_of_forty_at_twenty_thousand_rounds():
    # sqrt(ln N / (2T)) per round: 0.0096 for N = 40
    assert theory.hedge_known_horizon_price(40, 20_000) / 20_000 < 0.013
