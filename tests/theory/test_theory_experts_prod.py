"""Theorem 7(d) to (f): Prod with a default, the pool and forgetting in plain Python, on adversarial streams."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from massart import theory

LAZY = 17 / 16


class LazyAdaHedge:
    """Shares of N experts; the rate is that of AdaHedge as long as the gap has grown by no more than a sixteenth."""

    def __init__(self, experts):
        self.losses, self.gap, self.gap_then = np.zeros(experts), 0.0, 0.0

    def shares(self):
        ahead = self.losses - self.losses.min()
        rate = math.log(ahead.size) / self.gap_then if self.gap_then > 0 else math.inf
        weights = np.exp(-rate * ahead) if rate < math.inf else (ahead == 0).astype(float)
        return weights / weights.sum(), rate

    def learn(self, losses):
        (shares, rate), before = self.shares(), self.losses
        self.losses = before + losses
        if rate == math.inf:
            mix = self.losses.min() - before.min()
        else:
            mix = (logsumexp(-rate * before) - logsumexp(-rate * self.losses)) / rate
        self.gap += max(0.0, float(shares @ losses - mix))
        if self.gap > LAZY * self.gap_then:
            self.gap_then = self.gap
        return float(shares @ losses)


class Prod:
    """A default and another adviser; `discount` takes the smallest n that Theorem 7(d) allows."""

    def __init__(self, discount=False):
        self.discount = discount
        self.lead, self.n, self.rate, self.heaviest = 0.0, 1.0, 0.5, 0.0
        self.squares, self.scaled = 0.0, 0.0  # sums of d^2 and of (d / heaviest so far)^2
        self.paid = self.default = self.other = 0.0

    def chance(self, weight=1.0):
        """Probability of following the other adviser in a round of this weight."""
        self.heaviest = max(self.heaviest, weight)
        odds = self.rate / (1 - self.rate) * math.exp(self.rate * self.lead / self.heaviest)
        return odds / (1 + odds)

    def learn(self, default, other, weight=1.0):
        chance, d = self.chance(weight), default - other
        self.paid += default - chance * d
        self.default += default
        self.other += other
        self.lead += self.heaviest / self.rate * math.log1p(self.rate * d / self.heaviest)
        self.squares += d * d
        self.scaled += (d / self.heaviest) ** 2
        n = 1 + (self.squares / self.heaviest**2 if self.discount else self.scaled)
        self.n = max(self.n, n)
        if self.n > LAZY / (4 * self.rate**2):
            self.rate = 0.5 / math.sqrt(self.n)

    def used(self):
        """What was paid over the default and over the other adviser, as a fraction of the proved price."""
        over = (self.paid - self.default) / self.heaviest, (self.paid - self.other) / self.heaviest
        return over[0] / theory.prod_default_price(self.n - 1), over[1] / theory.prod_price(self.n - 1)


def _hold(level, size=1.0):
    """Keep rate * lead / heaviest near a level: the default is ahead if it is negative, the other if positive."""
    return lambda t, c: size if c.rate * c.lead < level * c.heaviest else -size


def _threshold(share):
    """Keep the lead just below what makes Prod change its mind."""
    return lambda t, c: 1.0 if c.rate * c.lead < share * math.log((1 - c.rate) / c.rate) * c.heaviest else -1.0


# What the default loses more than the other in round t, as a fraction of the round's weight.
ADVERSARIES = {
    "default is right": lambda t, c: -1.0,
    "other is right": lambda t, c: 1.0,
    "alternating": lambda t, c: (-1.0) ** t,
    "bursts": lambda t, c: 1.0 if t // 50 % 2 else -1.0,
    "growing bursts": lambda t, c: 1.0 if int(math.log2(t + 1)) % 2 else -1.0,
    "against the coin": lambda t, c: -1.0 if c.chance() > 0.5 else 1.0,
    "small differences": lambda t, c: 0.1 if t % 3 else -0.15,
    "random": lambda t, c: math.sin(1e4 * (t + 1) ** 2),
    "rarely": lambda t, c: -1.0 if t % 100 == 7 else 0.0,
    **{f"hold at {level:g}": _hold(level) for level in (-3.0, -1.0, -0.5, 0.0, 1.0)},
    "hold softly": _hold(-1.0, 0.1),
    **{f"threshold {share:g}": _threshold(share) for share in (0.5, 0.8, 1.0, 1.2)},
}
WEIGHTS = {
    "equal": lambda t: 1.0,
    "forgetting": lambda t: math.exp(t / 30),
    "doubling": lambda t: 2.0 ** (t // 40),
    "linear": lambda t: 1.0 + t,
    "one heavy": lambda t: 300.0 if t == 250 else 1.0,
    "random": lambda t: 10 ** math.sin(7 * t * t),
}


def _play(adversary, weight, rounds, discount=False):
    """The largest fractions used of both prices, over all rounds."""
    prod, used = Prod(discount), []
    for t in range(rounds):
        prod.chance(weight(t))
        d = ADVERSARIES[adversary](t, prod) * weight(t)
        prod.learn(max(d, 0.0), max(-d, 0.0), weight(t))
        used.append(prod.used())
    return np.array(used)


@pytest.mark.parametrize("discount", [False, True])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_prod_keeps_both_prices_in_every_round(weight, discount):
    for adversary in ADVERSARIES:
        assert _play(adversary, WEIGHTS[weight], 600, discount).max() <= 1.0, adversary


def test_the_prices_are_not_far_above_what_a_prod_can_be_made_to_pay():
    used = np.array([_play(adversary, WEIGHTS["equal"], 4000)[-1] for adversary in ADVERSARIES])
    assert (used.max(axis=0) >= 0.75).all()


def _potential(rate, heaviest, lead):
    odds = rate / (1 - rate)
    return heaviest / rate * np.logaddexp(0.0, np.log(odds) + rate * lead / heaviest)


def test_between_rounds_the_potential_gains_no_more_than_the_proof_says():
    """2 ln 2 per unit of the heaviest row, 1/e per unit of the rate's logarithm: however far they go at once."""
    rng = np.random.default_rng(0)
    size = 200_000
    rate = 0.5 * 10 ** rng.uniform(-4, 0, size)
    later = rate * 10 ** rng.uniform(-2, 0, size)
    heaviest = 10 ** rng.uniform(-2, 2, size)
    heavier = heaviest * 10 ** rng.uniform(0, 2, size)
    lead = heaviest / rate * rng.normal(size=size) * 10 ** rng.uniform(-2, 2, size)
    start = _potential(rate, heaviest, lead)
    gain = _potential(rate, heavier, lead) - start
    rounding = 1e-12 * (1 + start)
    assert (gain <= 2 * math.log(2) * (heavier - heaviest) + rounding).all()
    gain = _potential(later, heaviest, lead) - start
    allowed = heaviest / math.e * np.log(rate / later)
    assert (gain <= allowed + rounding).all()
    assert gain.max() > 0.0  # it does happen,
    small = (rate < 1e-3) & (later > 0.9 * rate)
    assert (gain / allowed)[small].max() > 0.9  # and at small rates the constant is what it must be


def test_what_is_cut_off_a_lead_does_not_matter():
    """e^-m heaviest / rate^2 for a cut at rate * lead / heaviest = +-m; here m = 20, in the kernel 600."""
    cut = 20.0
    for rate in (0.5, 0.1, 0.01):
        for excess in (0.1, 5.0, 100.0):
            end, far = cut / rate, (cut + excess) / rate
            allowed = math.exp(-cut) / rate**2 + 1e-9
            assert _potential(rate, 1.0, -end) - _potential(rate, 1.0, -far) <= allowed
            assert (_potential(rate, 1.0, end) - end) - (_potential(rate, 1.0, far) - far) <= allowed


def test_the_second_order_constant():
    """ln(1 + z) >= z - (4 ln 2 - 2) z^2 from -1/2 on, with equality there; times sqrt(17/16) it is below 4/5."""
    constant = 4 * math.log(2) - 2
    z = np.linspace(-0.5, 0.5, 100_001)
    slack = np.log1p(z) - z + constant * z**2
    assert slack.min() == pytest.approx(0.0, abs=1e-12)
    assert 0.79 < constant * math.sqrt(LAZY) < 0.8


def test_prices_are_monotone_concave_and_split_in_one_way():
    splits = np.linspace(0, 1000, 4001)
    for price in (theory.prod_default_price, theory.prod_price):
        values = np.array([price(split) for split in splits])
        assert (np.diff(values) > 0).all()
        assert (np.diff(values[1:], n=2) < 0).all()
    assert theory.prod_price(0) == theory.prod_default_price(0) == pytest.approx(2 * math.log(2))


def _labels_against(name, rng):
    """The label of a round, from the experts' answers, the vote, the shares and the chance of Prod."""
    return {
        "vote": lambda answers, vote, shares, chance: -vote,
        "likelier answer": lambda answers, vote, shares, chance: (
            -np.sign(chance * (shares @ answers) + (1 - chance) * vote + 1e-12)
        ),
        "draws": lambda answers, vote, shares, chance: -np.sign(shares @ answers + 1e-12),
        "leader": lambda answers, vote, shares, chance: -answers[np.argmax(shares)],
        "nobody": lambda answers, vote, shares, chance: rng.choice([-1.0, 1.0]),
        "truth": lambda answers, vote, shares, chance: answers[0] * (1 if rng.random() < 0.85 else -1),
    }[name]


@pytest.mark.parametrize("target", ["vote", "likelier answer", "draws", "leader", "nobody", "truth"])
@pytest.mark.parametrize("experts", [2, 5, 16])
def test_the_pool_is_near_the_vote_and_near_every_expert(target, experts):
    """Theorem 7(e) on every path, with measured gap and split, and before the fact for T rounds."""
    rng = np.random.default_rng(experts)
    rounds = 800
    label = _labels_against(target, rng)
    hedge, prod, truth = LazyAdaHedge(experts), Prod(), rng.choice([-1.0, 1.0], size=rounds)
    for t in range(rounds):
        # Expert 0 is the best; heavy tails make the vote of scores differ from that of answers.
        right = rng.random(experts) < np.linspace(0.95, 0.4, experts)
        scores = np.where(right, truth[t], -truth[t]) * rng.pareto(1.0, experts)
        answers, (shares, _) = np.where(scores >= 0, 1.0, -1.0), hedge.shares()
        vote = 1.0 if shares @ scores >= 0 else -1.0
        y = label(answers, vote, shares, prod.chance())
        drawn = hedge.learn((answers != y).astype(float))
        prod.learn(float(vote != y), drawn)
        split, best = prod.n - 1, hedge.losses.min()
        assert prod.paid <= prod.default + theory.prod_default_price(split)
        assert prod.other <= best + 2 * hedge.gap + 1e-9
        assert prod.paid <= best + 2 * hedge.gap + theory.prod_price(split)
        assert split <= prod.default + prod.other + 1e-9
    assert 2 * hedge.gap <= theory.adahedge_price(experts, rounds, best, LAZY)
    assert prod.paid <= best + theory.adahedge_price(experts, rounds, best, LAZY) + theory.prod_price(rounds)
    if target == "vote":
        assert prod.default == rounds  # the vote alone is always wrong


def test_what_votes_can_lose():
    """Answers: at most twice what draws lose. Scores: not even that. No coins: everything, against half; coins help."""
    rng = np.random.default_rng(0)
    shares, answers = rng.dirichlet(np.full(7, 0.3), size=5000), rng.choice([-1.0, 1.0], size=(5000, 7))
    votes = np.where((shares * answers).sum(axis=1) >= 0, 1.0, -1.0)
    wrong = votes != 1.0
    drawn = (shares * (answers != 1.0)).sum(axis=1)
    assert (drawn[wrong] >= 0.5).all()
    experts = 9
    scores = np.append(np.ones(experts - 1), -float(experts))
    assert scores.sum() < 0 < (scores > 0).sum() / experts
    assert (scores < 0).mean() == pytest.approx(1 / experts)
    hedge, prod, answers = LazyAdaHedge(2), Prod(), np.array([1.0, -1.0])
    for _ in range(2000):
        vote = 1.0 if hedge.shares()[0] @ answers >= 0 else -1.0
        prod.learn(1.0, hedge.learn((answers != -vote).astype(float)))
    assert prod.default == 2000
    assert hedge.losses.min() <= 1000
    assert prod.paid <= 1200


def _forgetting_run(gradients, beta, cap):
    """Dual averaging on rows that weigh beta^-t: discounted regret and its bound after every round."""
    theta, squares, paid, regrets = np.zeros(gradients.shape[1]), 0.0, 0.0, []
    for shown in gradients:
        # In units of the coming round's weight: everything before is worth beta times as much.
        theta, squares, paid = beta * theta, beta**2 * squares, beta * paid
        w = theta / max(math.sqrt(2 * (cap**2 + squares)), float(np.linalg.norm(theta)))
        # NaN is the adversary's turn: the longest gradient, straight at the learner.
        g = cap * w / max(float(np.linalg.norm(w)), 1e-9) if np.isnan(shown).any() else shown
        paid += float(g @ w)
        theta, squares = theta - g, squares + float(g @ g)
        regrets.append((paid + float(np.linalg.norm(theta)), theory.ftrl_regret(squares, cap)))
    return np.array(regrets)


@pytest.mark.parametrize("horizon", [1, 5, 100])
def test_forgetting_keeps_the_regret_of_weighted_rows(horizon):
    beta, cap = math.exp(-1 / horizon), 3.0
    rng = np.random.default_rng(horizon)
    ball = rng.normal(size=(400, 4))
    ball *= cap * rng.random((400, 1)) / np.linalg.norm(ball, axis=1, keepdims=True)
    drift = np.cumsum(rng.normal(size=(400, 4)), axis=0)
    drift *= cap / np.linalg.norm(drift, axis=1, keepdims=True)
    hunted = np.where(rng.random((400, 1)) < 0.8, np.nan, ball)
    for gradients in (ball, drift, hunted, np.full((400, 4), np.nan), np.repeat(ball[::50], 50, axis=0)):
        regret, bound = _forgetting_run(gradients, beta, cap).T
        assert (regret <= bound + 1e-9).all()


def test_mistakes_are_what_their_discounted_counts_add_up_to():
    rng = np.random.default_rng(0)
    for horizon in (1, 7, 50):
        beta, count, counts = math.exp(-1 / horizon), 0.0, []
        mistakes = rng.random(300) < 0.3
        for mistake in mistakes:
            count = beta * count + mistake
            counts.append(count)
        assert (1 - beta) * sum(counts) + beta * counts[-1] == pytest.approx(mistakes.sum())
        assert theory.discounted_rounds(300, horizon) == pytest.approx(sum(beta**age for age in range(300)))
        assert theory.discounted_rounds(10**9, horizon) <= horizon + 1


def test_what_forgetting_costs():
    """The excess of a horizon once per horizon; a horizon beyond all rounds is no forgetting."""
    whole = theory.ftrl_mistake_bound(0.1, 0.2, 10_000)
    assert theory.forgetting_mistake_bound(0.1, 0.2, 10_000, horizon=10**9) == pytest.approx(whole, rel=1e-3)
    excesses = [theory.forgetting_mistake_bound(0.1, 0.2, 10**6, 10**k) - 10**5 for k in range(1, 8)]
    assert excesses == sorted(excesses, reverse=True)
    effective = theory.discounted_rounds(10**6, 1000)
    once = theory.ftrl_mistake_bound(0.1, 0.2, effective) - 0.1 * effective
    per_horizon = theory.forgetting_mistake_bound(0.1, 0.2, 10**6, 1000) - 10**5
    assert per_horizon / once == pytest.approx(1000, rel=0.01)


def test_a_forgetting_learner_after_its_target_turned():
    """Theorem 7(f): the discounted mistakes, long after a turn and soon after it; means of 40 runs, z = 3."""
    noise, margin, horizon, turn, rounds = 0.1, 0.4, 150, 800, 2600
    beta, runs = math.exp(-1 / horizon), 40
    rng = np.random.default_rng(3)
    cap = theory.gradient_cap(noise, margin)
    discounted = np.zeros((runs, rounds))
    w_star = np.array([1.0, 0.0])
    for run in range(runs):
        theta, squares, count = np.zeros(2), 0.0, 0.0
        side, height = rng.choice([-1.0, 1.0], size=rounds), rng.uniform(margin, 1.0, size=rounds)
        away = rng.choice([-1.0, 1.0], size=rounds) * np.sqrt(1 - height**2)
        flips = np.where(rng.random(rounds) < noise, -1.0, 1.0)
        for t in range(rounds):
            theta, squares = beta * theta, beta**2 * squares
            x = np.array([side[t] * height[t], away[t]])
            y = (1.0 if w_star @ x > 0 else -1.0) * flips[t] * (1.0 if t < turn else -1.0)
            w = theta / max(math.sqrt(2 * (cap**2 + squares)), float(np.linalg.norm(theta)))
            s = 1.0 if w @ x >= 0 else -1.0
            g = 0.5 * ((1 - 2 * noise) * s - y) * x / (abs(w @ x) + margin)
            theta, squares = theta - g, squares + float(g @ g)
            count = beta * count + float(s != y)
            discounted[run, t] = count
    mean = discounted.mean(axis=0) - 3 * discounted.std(axis=0) / math.sqrt(runs)
    for t in range(0, rounds, 25):
        effective, since = theory.discounted_rounds(t + 1, horizon), t + 1 - turn
        lost = effective - theory.discounted_rounds(since, horizon) if since > 0 else 0.0
        penalty = theory.corruption_penalty(noise, margin, lost)
        assert lost <= (horizon + 1) * beta**since + 1e-9 or since <= 0
        assert mean[t] <= theory.robust_mistake_bound(noise, margin, effective, penalty)
    effective = theory.discounted_rounds(rounds, horizon)
    assert discounted[:, -1].mean() <= theory.ftrl_mistake_bound(noise, margin, effective) <= 0.5 * effective


def test_a_prod_of_a_learner_that_remembers_and_one_that_forgets():
    """Theorem 7(f): losses 0 or 1, a turn half way; near the better one before it and after it."""
    rng = np.random.default_rng(4)
    prod, rounds = Prod(), 4000
    for t in range(rounds):
        remembers = rng.random() < (0.1 if t < rounds // 2 else 0.5)
        forgets = rng.random() < (0.5 if t % (rounds // 2) < 60 else 0.15)
        prod.learn(float(remembers), float(forgets))
        assert max(prod.used()) <= 1.0
        if t == rounds // 2 - 1:  # so far forgetting was worse, by more than 50 mistakes
            assert prod.paid <= prod.default + 5 < prod.other - 50
    assert prod.paid < prod.default - 200
