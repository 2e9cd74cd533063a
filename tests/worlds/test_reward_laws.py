"""Laws of every reward world: what it declares is what it does.

Statistical thresholds are z = 5 standard errors: a correct world fails one such check with probability about 6e-7, and
seeds are fixed, so a failure is a defect.
"""

import pickle

import numpy as np
import pytest

from massart import theory, worlds
from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds import RewardChunk

ROUNDS = 6000
Z = 5.0
ROUNDING = 1e-12

OPTIONS = {
    "two arms": {"arms": 2},
    "five arms": {"arms": 5},
    "ten arms in the plane": {"arms": 10, "dimension": 2},
    "small gap and margin": {"arms": 3, "gap": 0.01, "margin": 0.03, "dimension": 4},
}
MAKERS = {name: (lambda seed=0, name=name: worlds.make(name, seed=seed)) for name in worlds.reward_names()}
for name in worlds.reward_names():
    for title, options in OPTIONS.items():
        if options["arms"] < worlds.make(name).limits.least_arms:
            continue
        MAKERS[f"{name}, {title}"] = lambda seed=0, name=name, options=options: worlds.make(name, seed=seed, **options)
MAKERS["simpson, ten arms, gap .02"] = lambda seed=0: worlds.make("simpson", arms=10, gap=0.02, seed=seed)
MAKERS["hard-pairs, five arms, gap .1"] = lambda seed=0: worlds.make("hard-pairs", arms=5, gap=0.1, seed=seed)
MAKERS["step-maps without a jump"] = lambda seed=0: worlds.make("step-maps", gap=0.15, jump=0.0, seed=seed)


def supervised(seed=0, **how):
    rng = np.random.default_rng(5)
    return worlds.from_supervised(rng.standard_normal((300, 4)), rng.integers(3, size=300), seed=seed, **how)


def items(seed=0, **how):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((300, 4)) * [1.0, 5.0, 0.1, 0.0]
    return worlds.from_items(X, np.digitize(X[:, 0] + rng.standard_normal(300), [-1.0, 0.0, 1.5]), seed=seed, **how)


def logged(seed=0, full=False):
    rng = np.random.default_rng(6)
    contexts, arms = rng.standard_normal((300, 4, 3)), rng.integers(4, size=300)
    if full:
        return worlds.from_log(contexts, rng.random((300, 4)), seed=seed)
    rewards = rng.random(300) < 0.5 + 0.2 * np.tanh(contexts[np.arange(300), arms, 0])
    return worlds.from_log(contexts, rewards, arms, np.full(300, 0.25), seed=seed)


MODEL = dict(MAKERS)
for conversion in ("noisy", "drifting-level", "level-by-context"):
    MAKERS[f"supervised, {conversion}"] = lambda seed=0, how=conversion: supervised(seed, conversion=how)
MAKERS["supervised, standardised"] = lambda seed=0: supervised(seed, conversion="noisy", standardise=True)
MAKERS |= {"items": items, "items, simpson": lambda seed=0: items(seed, simpson=True, arms=3)}
MAKERS |= {"supervised": supervised, "log": logged, "log of all rewards": lambda seed=0: logged(seed, full=True)}
OBLIVIOUS = {name: build for name, build in MAKERS.items() if not build().adaptive}


def over(makers):
    return pytest.mark.parametrize("build", makers.values(), ids=makers.keys())


def rounds_of(world, rounds=ROUNDS):
    """All rounds as one chunk; an adaptive world is shown weights of every kind, zero and its target among them."""
    if not world.adaptive:
        return world.take(rounds)
    game = world.play(rounds)
    rng = np.random.default_rng(1)
    kinds = [np.zeros(world.dimension), world.target, -world.target]
    shown = [kinds[t % 5] if t % 5 < 3 else rng.standard_normal(world.dimension) for t in range(rounds)]
    return RewardChunk(*map(np.array, zip(*(game.next(weights) for weights in shown), strict=True)))


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def in_order(world, chunk):
    """Scores and means of each round, arms by rising score."""
    scores = chunk.contexts @ world.target
    order = scores.argsort(axis=1)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(chunk.means, order, axis=1)


@over(MAKERS)
def test_declares_itself(build):
    world = build()
    assert world.name in repr(world)
    assert world.description.endswith(".")
    assert (world.best_reward is None) == (world.mean_reward is None) == (world.best_lift is None) == world.adaptive
    facts = (world.gap, world.margin, world.target, world.guaranteed_lift)
    assert [fact is not None for fact in facts] == [world.satisfies_model] * 4


@over(MODEL)
def test_what_is_promised_is_that_of_the_theory(build):
    world = build()
    low, high = world.reward_range
    theory.check_bandit(world.arms, world.gap, world.margin, high - low)  # raises where the chain has no room
    assert np.linalg.norm(world.target) == pytest.approx(1.0, abs=ROUNDING)
    assert world.guaranteed_lift == pytest.approx((world.arms - 1) / world.arms * world.gap, abs=ROUNDING)
    if not world.adaptive:
        assert world.best_lift >= theory.best_arm_lift(world.arms, world.gap, 1) - ROUNDING


@over(MAKERS)
def test_the_record_has_its_shapes(build):
    world = build()
    chunk = rounds_of(world, 1500)
    assert chunk.contexts.shape == (1500, world.arms, world.dimension)
    assert chunk.means.shape == chunk.rewards.shape == (1500, world.arms)
    for part in chunk:
        assert part.dtype == np.float64
        assert part.flags.c_contiguous
    with pytest.raises(AttributeError):
        chunk.rewards = chunk.means


@over(MAKERS)
def test_contexts_lie_in_the_unit_ball_and_rewards_in_their_range(build):
    world = build()
    chunk = rounds_of(world)
    low, high = world.reward_range
    assert np.linalg.norm(chunk.contexts, axis=2).max() <= 1 + ROUNDING
    for part in (chunk.means, chunk.rewards):
        assert low - ROUNDING <= part.min() <= part.max() <= high + ROUNDING


@over(MODEL)
def test_arms_keep_the_margin_and_the_gap(build):
    world = build()
    scores, means = in_order(world, rounds_of(world))
    apart, better = np.diff(scores, axis=1), np.diff(means, axis=1)
    assert apart.min() >= world.margin - ROUNDING
    assert better.min() >= world.gap - ROUNDING
    # The declared numbers are not modest ones. The smallest of n spacings, n >= ROUNDS, beyond margin or gap is
    # exponential with mean at most (range 1.8) / n in `linear` and `sorted`, and zero elsewhere: 20 means, 2e-9.
    assert apart.min() <= world.margin + 20 * 1.8 / ROUNDS
    assert better.min() <= world.gap + 20 * 1.0 / ROUNDS


@over(MAKERS)
def test_rewards_have_their_means(build):
    chunk = rounds_of(build())
    off = chunk.rewards - chunk.means
    # Variance of a bounded reward is at most that of the coin with the same mean on the same range, here (0, 1).
    error = np.sqrt((chunk.means * (1 - chunk.means)).sum(axis=0))
    assert (abs(off.sum(axis=0)) <= Z * error + ROUNDING).all()
    tilt = 2 * chunk.means - 1  # a mean that is wrong in opposite ways for good and bad arms
    error = np.sqrt((tilt**2 * chunk.means * (1 - chunk.means)).sum())
    assert abs((tilt * off).sum()) <= Z * error + ROUNDING


@over(MAKERS)
def test_position_tells_nothing(build):
    world = build()
    chunk = rounds_of(world)
    error = np.sqrt((world.arms - 1) / ROUNDS) / world.arms
    for extreme in (chunk.means.max(axis=1), chunk.means.min(axis=1)):
        equal = chunk.means == extreme[:, None]
        share = (equal / equal.sum(axis=1, keepdims=True)).mean(axis=0)  # arms that are equal share the round
        assert (abs(share - 1 / world.arms) <= Z * error).all()


@over(OBLIVIOUS)
def test_best_and_mean_reward_are_those_of_the_stream(build):
    world = build()
    chunk = rounds_of(world, 4 * ROUNDS)
    for declared, each in (
        (world.best_reward, chunk.means.max(axis=1)),
        (world.mean_reward, chunk.means.mean(axis=1)),
        (world.best_reward, np.take_along_axis(chunk.rewards, chunk.means.argmax(axis=1)[:, None], axis=1)[:, 0]),
        (world.mean_reward, chunk.rewards.mean(axis=1)),
    ):
        assert abs(each.mean() - declared) <= Z * each.std() / np.sqrt(len(each)) + ROUNDING


@over(MODEL)
def test_the_inequality_behind_the_guarantee_holds_in_every_round(build):
    """Theorem 9(b): <g, w - w*> >= ((k-1) gap - k lift) / 2 for any weights w, with expected rewards in g."""
    world = build()
    chunk = rounds_of(world, 1500)
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((1500, world.dimension)) * rng.choice([0.01, 0.3, 3.0], (1500, 1))
    rows = np.arange(1500)
    scores = np.einsum("nkd,nd->nk", chunk.contexts, weights)
    arm = scores.argmax(axis=1)
    z = chunk.contexts[rows, arm][:, None] - chunk.contexts
    y = chunk.means[rows, arm][:, None] - chunk.means
    m = scores.max(axis=1, keepdims=True) - scores + world.margin
    pull = 0.5 * (world.gap - y) / m
    pull[rows, arm] = 0.0
    left = np.einsum("nk,nkd,nd->n", pull, z, weights - world.target)
    lift = chunk.means[rows, arm] - chunk.means.mean(axis=1)
    right = 0.5 * ((world.arms - 1) * world.gap - world.arms * lift)
    assert (left >= right - 1e-9).all()


@over(MAKERS)
def test_a_seed_reproduces_the_stream_and_another_does_not(build):
    world = build(7)
    first = rounds_of(world, 2500)
    assert same(first, rounds_of(world, 2500))
    assert same(first, rounds_of(build(7), 2500))
    assert same(first, rounds_of(pickle.loads(pickle.dumps(world)), 2500))  # noqa: S301 - our own bytes
    other = rounds_of(build(8), 2500)
    assert not np.array_equal(first.contexts, other.contexts)
    assert not np.array_equal(first.means, other.means)
    assert not np.array_equal(first.rewards, other.rewards)
    assert not np.array_equal(first.rewards[:1024], first.rewards[1024:2048])  # blocks are different


@over(OBLIVIOUS)
def test_chunks_of_any_size_and_single_rounds_are_the_same_stream(build):
    world, rounds = build(), 2300
    whole = world.take(rounds)
    for size in (1, 613, 1024, 2300, 5000):
        parts = list(world.chunks(rounds, size))
        assert {len(part.means) for part in parts[:-1]} <= {size}
        assert same([np.concatenate(columns) for columns in zip(*parts, strict=True)], whole)
    game = world.play(rounds)
    assert same([np.array(column) for column in zip(*(game.next(None) for _ in range(rounds)), strict=True)], whole)
    assert game.played == game.rounds == rounds
    with pytest.raises(InvalidDataError, match="ended after 2,300 rounds"):
        game.next(None)
    assert same(world.take(100), [column[:100] for column in whole])


@over(OBLIVIOUS)
def test_a_chunk_may_be_written_to(build):
    world = build()
    kept = [part.copy() for part in world.take(50)]
    for part in world.take(50):
        part[:] = 9.0
    assert same(world.take(50), kept)


@pytest.mark.parametrize(("rounds", "size"), [(0, 10), (10, 0), (1.5, 10), (10, "all")])
def test_counts_that_are_none_are_refused(rounds, size):
    with pytest.raises(InvalidParameterError, match="whole number, at least 1"):
        worlds.make("simpson").chunks(rounds, size)
