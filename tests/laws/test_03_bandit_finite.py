"""Finite input never makes the state of a bandit or ranker non-finite, over a billion rounds and at the ends of ranges.

States of a billion rounds are forged: counts and sums as large as so many rounds of this kind can make them.
"""

import numpy as np
import pytest

from massart import MonotoneBandit, MonotoneRanker, load, save
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.learning import mixture
from massart.kernels.learning import ranking as kernel

D = 4
KINDS = {
    "default": {},
    "gap known": {"gap": 0.1},
    "margin known": {"margin": 0.1},
    "both known": {"gap": 0.1, "margin": 0.1},
    "paper": {"gap": 0.5, "margin": 0.5, "horizon": 1e9, "update": "paper"},
    "smallest": {"gap": 1e-12, "margin": 1e-12},
    "smallest, paper": {"gap": 1e-12, "margin": 1e-12, "horizon": 1e15, "update": "paper"},
    "shortest, paper": {"gap": 1.0, "margin": 2.0, "horizon": 1.0, "update": "paper"},
    "uniform": {"exploration": 1.0},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
BILLION = 1e9


def scaled(kind, unit):
    """The options of a kind for rewards in another unit."""
    options = dict(KINDS[kind])
    return options | ({"gap": options["gap"] * unit} if "gap" in options else {})


def knows_margin(kind):
    return "margin" in KINDS[kind]


def assert_finite(policy):
    for name, array in policy.arrays().items():
        assert array.dtype.kind != "f" or np.isfinite(array).all(), name


def contexts(rng, kind):
    """Arms of any length allowed: zero, tiny, equal up to the last bit, huge."""
    X = rng.normal(size=(int(rng.integers(1, 6)), D))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * (1 + 1e-12)
    how = rng.integers(6)
    if how == 0:
        X *= 10.0 ** rng.uniform(-320, 0, size=(len(X), 1))
    elif how == 1:
        X[:] = X[0]
        X[-1, 0] = np.nextafter(X[0, 0], 0.0)
    elif how == 2:
        X[rng.integers(len(X))] = 0.0
    elif how == 3 and not knows_margin(kind):
        X *= 10.0 ** rng.uniform(0, 50, size=(len(X), 1))
    elif how == 4 and not knows_margin(kind):
        X *= 1e50
    return X


def used(bandit, kind, rounds, seed=0):
    """Rounds whose rewards are at the ends of the range, beside the baseline, late, and out of order."""
    rng, waiting = np.random.default_rng(seed), []
    low, high = bandit._state.lowest, bandit._state.highest
    for _ in range(rounds):
        waiting.append(bandit.choose(contexts(rng, kind)))
        if rng.random() < 0.7:
            choice = waiting.pop(int(rng.integers(len(waiting))))
            near = float(bandit.arrays()["totals"][kernel.Total.BASELINE])
            bandit.learn(choice, rng.choice([low, high, near, np.clip(np.nextafter(near, high), low, high)]))
    for choice in waiting:
        bandit.expire(choice)
    assert_finite(bandit)
    assert np.isfinite(bandit.weights).all()
    p = bandit.probabilities(np.eye(D))
    assert abs(p.sum() - 1) < 1e-9
    bandit.certificate()


@every_kind
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1e50, 1e50), (0.0, 1e-50), (1e50 * (1 - 1e-9), 1e50), (-1.0, 1.0)])
def test_rewards_of_every_size_and_contexts_of_every_length(kind, ends, tmp_path):
    bandit = MonotoneBandit(reward_range=ends, random_state=0, **scaled(kind, ends[1] - ends[0]))
    used(bandit, kind, 300)
    save(bandit, tmp_path / "m")
    used(load(tmp_path / "m"), kind, 50)


def aged(bandit):
    """As it may be after a billion rounds: sums a billion times those of the rounds it has had, their squares too."""
    arrays = bandit.arrays()
    times = BILLION / bandit.rounds
    totals, experts = arrays["totals"], arrays["experts"]
    for row in (
        kernel.Total.CHOICES,
        kernel.Total.ROUNDS,
        kernel.Total.REWARD,
        kernel.Total.SPREAD,
        kernel.Total.SEEN,
        kernel.Total.SEEN2,
    ):
        totals[row] = (
            np.floor(totals[row] * times) if row in (kernel.Total.CHOICES, kernel.Total.ROUNDS) else totals[row] * times
        )
    for row in (
        kernel.Expert.SQUARES,
        kernel.Expert.KEPT,
        kernel.Expert.LIFT,
        kernel.Expert.LIFT2,
        kernel.Expert.DRIFT,
        kernel.Expert.VARIANCE,
    ):
        experts[row] *= times
    experts[kernel.Expert.KEPT] = np.minimum(experts[kernel.Expert.KEPT], totals[kernel.Total.ROUNDS])
    if not arrays["how"][kernel.Setting.PAPER]:
        arrays["weights"] *= np.sqrt(times)
        experts[kernel.Expert.NORM2] *= times
        experts[kernel.Expert.SCALE] /= np.sqrt(times)
    return MonotoneBandit.from_arrays(arrays)


@every_kind
def test_a_billion_rounds(kind, tmp_path):
    """And a trillion, and as many as a bandit can count."""
    bandit = MonotoneBandit(random_state=0, **KINDS[kind])
    used(bandit, kind, 200)
    old = aged(bandit)
    assert old.rounds >= BILLION * 0.999
    used(old, kind, 300)
    save(old, tmp_path / "m")
    assert load(tmp_path / "m").rounds == old.rounds
    arrays = old.arrays()
    arrays["totals"][[kernel.Total.CHOICES, kernel.Total.ROUNDS]] = 2.0**48 - 10
    last = MonotoneBandit.from_arrays(arrays)
    for _ in range(10):
        last.learn(last.choose(np.eye(D)), 1.0)
    with pytest.raises(InvalidDataError, match="as many as it can"):
        last.choose(np.eye(D))
    assert_finite(last)


def test_experts_that_hardly_differ_have_equal_shares():
    """A reward 1e-160 above the baseline: squares of it vanish, and a rate made of them was infinite."""
    bandit = MonotoneBandit(reward_range=(-1.0, 1.0), random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        bandit.learn(bandit.choose(rng.normal(size=(3, D))), 1e-160)
        assert np.isfinite(bandit.probabilities(np.eye(D))).all()
    assert_finite(bandit)


def test_every_arm_of_a_round_is_played_with_a_probability_that_can_be_divided_by():
    """Nearly equal contexts made the least probability about 1e-150, and the reward divided by it infinite."""
    bandit = MonotoneBandit(0.1, 0.1, random_state=0)
    for gap in (1e-17, 1e-100, 1e-160, 1e-300):
        X = np.zeros((3, D))
        X[:, 0] = [0.0, gap, -gap]
        p = bandit.probabilities(X)
        assert p.min() >= kernel.LEAST_RATE / 3
        bandit.learn(bandit.choose(X), 1.0)
    assert_finite(bandit)


def test_weights_of_algorithm_3_that_nearly_vanish_are_zero():
    """|v.z| is at least margin / 2 times the length of v: a length of 1e-160 made the next step infinite."""
    bandit = MonotoneBandit(0.5, 0.5, horizon=100, random_state=0, update="paper")
    rng = np.random.default_rng(0)
    used(bandit, "paper", 50)
    for length in (1e-29, 1e-31, 1e-200):
        arrays = bandit.arrays()
        arrays["weights"][:, 0] = rng.normal(size=D) * length
        arrays["experts"][kernel.Expert.NORM2] = 0.0 if length < 1e-30 else np.sum(arrays["weights"] ** 2)
        used(MonotoneBandit.from_arrays(arrays), "paper", 100)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1e50, 1e50), (0.0, 1e-50)])
@pytest.mark.parametrize("options", [(0.1, 0.05), (1e-12, 1e-12), (1.0, 2.0)])
def test_a_ranker(ends, options):
    width = ends[1] - ends[0]
    ranker, rng = MonotoneRanker(options[0] * width, options[1], reward_range=ends), np.random.default_rng(0)
    for t in range(300):
        X = contexts(rng, "both known")
        ranker.learn(X, rng.choice(ends, size=len(X)))
        if t == 200:
            arrays = ranker.arrays()
            arrays["totals"][kernel.Total.ROUNDS] = BILLION
            arrays["experts"][kernel.Expert.SQUARES] *= BILLION / 200
            ranker = MonotoneRanker.from_arrays(arrays)
    assert_finite(ranker)
    assert np.isfinite(ranker.score(np.eye(D))).all()
    assert np.isfinite(ranker.guaranteed_lift)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1e50, 1e50), (0.0, 1e-50)])
def test_a_ranker_with_default_settings(ends):
    ranker, rng = MonotoneRanker(reward_range=ends, random_state=0), np.random.default_rng(0)
    for t in range(300):
        X = rng.normal(size=(rng.integers(1, 6), D)) * 10.0 ** rng.uniform(-160, 48, size=D)
        ranker.learn(X, rng.choice(ends, size=len(X)))
        if t == 200:
            arrays = ranker.arrays()
            arrays["totals"][kernel.Total.ROUNDS] = BILLION
            arrays["mixed"][[mixture.Total.ROUNDS, mixture.Total.HEARD]] = BILLION
            arrays["experts"][kernel.Expert.SQUARES] *= BILLION / 200
            ranker = MonotoneRanker.from_arrays(arrays)
    assert_finite(ranker)
    assert np.isfinite(ranker.score(np.eye(D))).all()
    assert np.isfinite(ranker.guaranteed_lift)
    MonotoneRanker.from_arrays(ranker.arrays())


def test_what_lies_beyond_the_limits_is_refused_with_a_sentence():
    bandit = MonotoneBandit(random_state=0)
    for length in (1.1e50, 1e150, 1e200, 1.7e308):
        with pytest.raises(InvalidDataError, match=r"contexts\[0\].*longer than 1e\+50"):
            bandit.choose(np.full((2, D), length))
        with pytest.raises(InvalidDataError, match="contexts"):
            bandit.play(np.full((1, 2, D), length), np.ones((1, 2)))
    for parameters in ({"margin": 5e-324}, {"gap": 5e-324}, {"margin": 1e-13}, {"horizon": 1e308}, {"horizon": 1.1e15},
                       {"reward_range": (-1e308, 1e308)}, {"reward_range": (0, 1e-300)}):  # fmt: skip
        with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
            MonotoneBandit(**parameters)
