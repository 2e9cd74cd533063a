"""The pairwise kernels follow the oracle round by round, and one reward says on average what all of them would."""

import numpy as np
import pytest
import scipy.sparse as sp
from forged_choices import resigned
from oracle import coin
from oracle_arms import InverseMarginArms

from massart import theory
from massart.kernels.learning import ranking
from massart.learners.bandit import FINE_GAPS, FINE_MARGINS, MonotoneBandit

D = 6
DRIFT = 1e-8  # NumPy adds in another order than the kernels, and rounds amplify the rounding

CASES = {
    "known": ({"gap": 0.1, "margin": 0.2, "horizon": 300}, [(0.1, 0.2)], {"T": 300}),
    "anytime, floor": ({"gap": 0.3, "margin": 0.05, "exploration": 0.3}, [(0.3, 0.05)], {"floor": 0.3}),
    "four margins": ({"gap": 0.1}, [(0.1, m) for m in FINE_MARGINS], {"relative": True}),
    "four gaps": ({"margin": 0.1}, [(g, 0.1) for g in FINE_GAPS], {}),
}
every_case = pytest.mark.parametrize("case", CASES)


def in_ball(X):
    """Rows longer than 1 scaled to length 1."""
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))


def stream(rounds, seed=0, changing=True):
    """Contexts in the unit ball with zeros, rewards rising with the first coordinate, masks; k changes if asked to."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        k = int(rng.integers(1, 7)) if changing else 4
        X = in_ball(rng.normal(size=(k, D)) / 2 * (rng.random((k, D)) < 0.6))
        allowed = rng.random(k) < 0.8 if changing else np.ones(k, bool)
        allowed[rng.integers(k)] = True
        rewards = (rng.random(k) < 0.5 + 0.4 * np.tanh(3 * X[:, 0])).astype(float)
        yield X, allowed, rewards


def expert_weights(bandit):
    arrays = bandit.arrays()
    return (arrays["weights"] * arrays["experts"][ranking.Expert.SCALE]).T


@every_case
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_kernel_follows_the_oracle_round_by_round(case, form):
    options, grid, told = CASES[case]
    bandit, oracle = MonotoneBandit(random_state=3, **options), InverseMarginArms(D, grid, **told)
    seed, first = int(bandit.arrays()["seed"][0]), [0.0] * len(grid)
    for number, (X, allowed, rewards) in enumerate(stream(300)):
        choice = bandit.choose(form(X), allowed=allowed)
        plan = oracle.plan(X[allowed], np.linalg.norm(X, axis=1).max())
        np.testing.assert_allclose(choice.probabilities[allowed], plan[1], atol=DRIFT, err_msg=f"round {number}")
        assert (choice.probabilities[~allowed] == 0).all()
        place = int(np.searchsorted(np.cumsum(plan[1]), coin(seed, number), side="right"))
        assert choice.arm == np.flatnonzero(allowed)[place]
        bandit.learn(choice, rewards[choice.arm])
        oracle.learn(X[allowed], plan, place, rewards[choice.arm])
        first = [cap or e.G for cap, e in zip(first, oracle.experts, strict=True)]
        expected = np.array([e.w for e in oracle.experts])
        np.testing.assert_allclose(expert_weights(bandit), expected, atol=DRIFT, err_msg=f"round {number}")
    experts = bandit.arrays()["experts"]
    for slot, name in ((ranking.Expert.CAP, "G"), (ranking.Expert.SQUARES, "S"), (ranking.Expert.LIFT, "lift")):
        np.testing.assert_allclose(experts[slot], [getattr(e, name) for e in oracle.experts], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(experts[ranking.Expert.FIRST], first, rtol=1e-7)
    np.testing.assert_allclose(experts[ranking.Expert.DRIFT], 0, atol=1e-9)
    assert (experts[ranking.Expert.FIRST] < experts[ranking.Expert.CAP]).all()  # caps lag
    assert expected[:, 0].max() > 0.2  # something was learned, so the comparison means something


def after(rounds, **options):
    """A bandit that has learned some rounds."""
    bandit = MonotoneBandit(random_state=1, **options)
    for X, _, rewards in stream(rounds, changing=False):
        choice = bandit.choose(X)
        bandit.learn(choice, rewards[choice.arm])
    return bandit


@pytest.mark.parametrize("options", [{"gap": 0.2, "margin": 0.1}, {}], ids=["one expert", "default"])
def test_the_gradient_from_one_reward_is_unbiased(options):
    """Every arm that could have been played, with its probability: the mean step is that of full information."""
    bandit = after(30, **options)
    rng = np.random.default_rng(8)
    for _ in range(20):
        k = int(rng.integers(2, 6))
        X, r = in_ball(rng.normal(size=(k, D))), rng.random(k)
        choice = bandit.choose(X)
        before, mean = bandit.arrays()["weights"].copy(), 0.0
        for arm in range(k):
            copy = bandit.copy()
            copy.learn(resigned(bandit, choice, arm=arm), r[arm])
            mean = mean + choice.probabilities[arm] * (before - copy.arrays()["weights"])
        experts = bandit.arrays()["experts"]
        for e in range(experts.shape[1]):
            a, q = choice.memo["arms"][e], choice.memo["rates"][e]
            m = np.array(choice.memo["margins"])[:, e]
            g = (1 - q) / k * ((experts[ranking.Expert.DELTA, e] - (r[a] - r)) / m) @ (X[a] - X)
            np.testing.assert_allclose(mean[:, e], g, atol=1e-9 * max(1, abs(g).max() / q))
        bandit.learn(choice, r[choice.arm])


def test_estimated_rewards_are_unbiased_with_any_baseline():
    p, r, allowed = np.array([0.7, 0.0, 0.2, 0.1]), np.array([0.9, 0.3, 0.2, 0.6]), np.array([True, False, True, True])
    S, t, shares = np.zeros((len(ranking.Expert), 1)), np.zeros(len(ranking.Total)), np.ones(1)
    for baseline in (0.0, 0.25, 0.9):
        estimates, mean, lift = np.empty(4), np.zeros(4), 0.0
        for arm in np.flatnonzero(allowed):
            S[:], t[:] = 0, 0
            ranking.estimate(arm, r[arm], baseline, p, allowed, np.array([2]), shares, S, t, estimates)
            mean += p[arm] * estimates
            lift += p[arm] * np.array([S[ranking.Expert.LIFT, 0], t[ranking.Total.SEEN]])
        np.testing.assert_allclose(mean[allowed], r[allowed] - baseline, atol=1e-12)
        np.testing.assert_allclose(lift, np.array([r[2], p @ r]) - r[allowed].mean(), atol=1e-12)


def test_every_gradient_is_within_the_cap_known_before_its_reward():
    """And Theorem 9(b)'s constant is attained: two arms at distance 2, w = 0, the worse one favoured."""
    bandit = MonotoneBandit(0.2, 0.1, random_state=0)
    for X, allowed, _ in stream(200, seed=4):
        choice = bandit.choose(X, allowed=allowed)
        before = bandit.arrays()["experts"][ranking.Expert.SQUARES, 0]
        bandit.learn(choice, float(choice.number % 2))  # the ends of the range
        experts = bandit.arrays()["experts"]
        assert np.sqrt(experts[ranking.Expert.SQUARES, 0] - before) <= experts[ranking.Expert.CAP, 0] * (1 + 1e-9)
    memo = (np.array([0]), np.zeros(1), np.full((2, 1), 0.1), np.array([[0.0], [4.0]]), np.ones(2))
    S, T = np.zeros((len(ranking.Expert), 1)), np.zeros((2, 1))
    S[ranking.Expert.DELTA] = 0.2
    rows = (np.array([1.0, 0.0, -1.0, 0.0]), np.arange(2).astype(np.uint64), np.empty(0, np.uint64))
    ranking.teach(rows, np.ones(2, bool), np.array([0.0, 1.0]), memo, 1.0, 1.0, T, S, np.zeros((2, 1)))
    cap = theory.full_information_gradient_cap(arms=2, gap=0.2, margin=0.1, reward_width=1.0)
    assert np.sqrt(S[ranking.Expert.SQUARES, 0]) == pytest.approx(2 / 2 * cap)  # gradients are multiplied by 2 / k
    assert S[ranking.Expert.CAP, 0] == pytest.approx(2 / 2 * cap)


def test_a_round_is_as_doubtful_as_theorem_17_says():
    """Every arm and reward of honest rounds: mean at most 0, variance at most v, and never more than c above the mean.

    v and c are what VARIANCE gains and REACH is in the first round of a bandit with these weights.
    """
    rng, nearest = np.random.default_rng(5), np.zeros(2)
    target, gap, margin = np.eye(D)[0], 0.3, 0.2
    for number in range(200):
        k, norm = int(rng.integers(2, 5)), rng.uniform(0, 1)
        scores = margin * rng.permutation(k) - 0.4
        X = rng.normal(size=(k, D)) * 0.2
        X[:, 0] = scores
        X = np.vstack([X, X[:1]]) if number % 2 else X  # an arm with an equal context
        means = 0.1 + gap / margin * (X[:, 0] + 0.4) * rng.uniform(1, 0.9 / (gap * (k - 1)))
        means = np.clip(means, 0.0, 1.0) if number % 3 else 0.1 + gap / margin * (X[:, 0] + 0.4)
        bandit = MonotoneBandit(gap, margin, random_state=0, horizon=10 ** rng.uniform(0, 5))
        bandit.probabilities(X)
        w = rng.normal(size=D)
        w *= norm / np.linalg.norm(w)
        arrays = bandit.arrays() | {"weights": w[:, None].copy()}
        bandit = MonotoneBandit.from_arrays(arrays | {"totals": arrays["totals"] + np.eye(len(ranking.Total))[0]})
        choice = bandit.choose(X)
        values, chances = [], []
        for arm, reward in ((a, r) for a in range(len(X)) for r in (0.0, 1.0)):
            copy = bandit.copy()
            copy.learn(resigned(bandit, choice, arm=arm), reward)
            s, t = copy.arrays()["experts"][:, 0], copy.arrays()["totals"]
            g = (w[:, None] - copy.arrays()["weights"])[:, 0]
            values.append(gap * s[ranking.Expert.KEPT] - t[ranking.Total.SEEN] - g @ (w - target))
            chances.append(choice.probabilities[arm] * (means[arm] if reward else 1 - means[arm]))
        mean = np.dot(chances, values)
        found = np.array([np.dot(chances, (values - mean) ** 2), np.max(values) - mean])
        allowed = s[[ranking.Expert.VARIANCE, ranking.Expert.REACH]]
        a, q, p, k = choice.memo["arms"][0], choice.memo["rates"][0], choice.probabilities, len(X)
        lengths = np.linalg.norm(X[a] - X, axis=1)
        bounds = np.where(lengths > 0, ((X[a] - X) @ w + lengths) / ((X[a] - X) @ w + margin), 0.0)
        bounds[a] = bounds.sum()
        e = abs(1 / k - p) + (1 - q) / k * bounds  # the baseline is 1/2, and so is W
        np.testing.assert_allclose(allowed, [np.sum(e**2 / p) / 4, (np.max(e / p) + e.sum()) / 2], rtol=1e-9)
        assert sum(chances) == pytest.approx(1)
        assert mean <= 1e-9
        assert (found <= allowed * (1 + 1e-9)).all()
        nearest = np.maximum(nearest, found / allowed)
    assert nearest.min() > 0.3  # the bounds are not far off


def test_exploration_is_that_of_theorems_10_and_11():
    """At w = 0, unit contexts opposite to each other have |z| / m = 2 / gamma: the rate of Theorem 10 itself."""
    bandit = MonotoneBandit(0.5, 0.5, horizon=10**4, random_state=0)
    rate = theory.exploration_rate(arms=2, gap=0.5, margin=0.5, reward_width=1.0, rounds=10**4)
    assert bandit.probabilities([[1.0, 0.0], [-1.0, 0.0]])[1] == pytest.approx(rate / 2)
    assert bandit.probabilities([[0.5, 0.0], [-0.5, 0.0]])[1] == pytest.approx(rate / 4)
    assert bandit.probabilities([[0.5, 0.5], [0.5, 0.5]])[1] == 0.5  # nothing can be learned from equal arms
