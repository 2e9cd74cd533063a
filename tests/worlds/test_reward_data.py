"""Data sets and logs as reward worlds: where numbers end up, and what is refused."""

import numpy as np
import pytest

from massart import worlds
from massart.errors import InvalidDataError, InvalidParameterError

RNG = np.random.default_rng(8)
ROWS = RNG.standard_normal((200, 3)) * 7
LABELS = np.array(["red", "green", "blue"])[RNG.integers(3, size=200)]
CONTEXTS = RNG.standard_normal((200, 4, 3))
ARMS = RNG.integers(4, size=200)
CHANCES = RNG.uniform(0.1, 1.0, 200)
REWARDS = RNG.random(200)


def test_a_row_stands_in_the_block_of_its_class():
    world = worlds.from_supervised(ROWS, LABELS, shuffle=False)
    scaled = ROWS / np.linalg.norm(ROWS, axis=1).max()
    chunk = world.take(450)
    assert (world.classes, world.arms, world.dimension) == (["blue", "green", "red"], 3, 9)
    for t in (0, 1, 150, 199, 200, 449):
        blocks = chunk.contexts[t].reshape(3, 3, 3)
        owner = [int(np.flatnonzero(np.abs(block).sum(axis=1))[0]) for block in blocks]
        assert sorted(owner) == [0, 1, 2]
        for arm, which in enumerate(owner):
            assert np.array_equal(blocks[arm, which], scaled[t % 200])
            assert np.count_nonzero(blocks[arm]) == 3
            assert chunk.rewards[t, arm] == chunk.means[t, arm] == (world.classes[which] == LABELS[t % 200])
    assert (chunk.rewards.sum(axis=1) == 1.0).all()


def test_every_pass_shows_every_row_once_in_a_new_order():
    world = worlds.from_supervised(ROWS, LABELS)
    shown = world.take(400).contexts.sum(axis=1).reshape(400, 3, 3)[:, 0]  # each block holds the row
    passes = [shown[:200], shown[200:]]
    for each in passes:
        assert np.array_equal(np.sort(each[:, 0]), np.sort(ROWS[:, 0] / np.linalg.norm(ROWS, axis=1).max()))
    assert not np.array_equal(*passes)


def ranks_of(world, rows):
    """Where rows stand in the world's random direction, from 0 to 1: it is that of the seed."""
    direction = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, 2))).standard_normal(rows.shape[1])
    return np.argsort(np.argsort((rows * direction).sum(axis=1))) / (len(rows) - 1)


def expected_of(conversion, right, rank, t):
    rising = t % 2000 / 1000
    return {
        "clean": right,
        "noisy": abs(right - 0.3 * rank),
        "drifting-level": 0.4 * right + 0.6 * (rising if rising <= 1 else 2 - rising),
        "level-by-context": 0.4 * right + 0.6 * rank,
    }[conversion]


@pytest.mark.parametrize("conversion", ["clean", "noisy", "drifting-level", "level-by-context"])
@pytest.mark.parametrize("standardise", [False, True])
def test_conversions_have_the_expected_rewards_of_their_formulas(conversion, standardise):
    world = worlds.from_supervised(ROWS, LABELS, conversion=conversion, standardise=standardise, shuffle=False)
    rows = ROWS / np.linalg.norm(ROWS, axis=1).max()
    if standardise:
        rows = np.c_[(rows - rows.mean(axis=0)) / rows.std(axis=0), np.ones(200)]
        rows /= np.linalg.norm(rows, axis=1).max()
    rank, chunk = ranks_of(world, rows), world.take(2500)
    assert world.dimension == 3 * rows.shape[1]
    assert f"conversion={conversion!r}" in repr(world)
    for t in (0, 1, 199, 200, 999, 1000, 1700, 2499):
        owner = np.abs(chunk.contexts[t].reshape(3, 3, -1)).sum(axis=2).argmax(axis=1)
        np.testing.assert_allclose(chunk.contexts[t].sum(axis=0).reshape(3, -1)[0], rows[t % 200], atol=1e-15)
        for arm in range(3):
            right = float(world.classes[owner[arm]] == LABELS[t % 200])
            assert chunk.means[t, arm] == pytest.approx(expected_of(conversion, right, rank[t % 200], t), abs=1e-12)
    assert set(np.unique(chunk.rewards)) == {0.0, 1.0}


@pytest.mark.parametrize("simpson", [False, True])
def test_items_have_the_expected_rewards_of_their_formulas(simpson):
    """Rows are told apart by their numbers; classes are worth 0, .5 and 1 in the order of their names."""
    world = worlds.from_items(ROWS, LABELS, arms=4, simpson=simpson)
    moved = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0)
    rows = moved / np.linalg.norm(moved, axis=1).max()
    value = np.array([["blue", "green", "red"].index(label) for label in LABELS]) / 2
    place = np.argsort(np.argsort(moved @ ((value - value.mean()) @ moved)))
    chunk, starts = world.take(3000), []
    for contexts, means in zip(chunk.contexts, chunk.means, strict=True):
        which = [int(np.abs(rows - x).max(axis=1).argmin()) for x in contexts]
        np.testing.assert_allclose(contexts, rows[which], atol=1e-12)
        if not simpson:
            np.testing.assert_allclose(means, 0.1 + 0.8 * value[which], atol=1e-12)
            continue
        middle = 0.5 - (means - 0.5 - 0.2 * (value[which] - 0.5)) / 1.2  # as the formula has it, the same for all arms
        assert np.ptp(middle) < 1e-9
        starts.append(round((middle[0] - 0.2) * 200))
        assert (place[which] >= starts[-1]).all()
        assert (place[which] < starts[-1] + 80).all()
    assert not simpson or (min(starts), max(starts)) == (0, 120)  # of 121 windows, 3000 rounds miss one: below 2e-11


def test_a_log_of_all_rewards_is_shown_as_it_was():
    rewards = RNG.uniform(-2.0, 3.0, (200, 4))
    world = worlds.from_log(CONTEXTS, rewards, reward_range=(-2.0, 3.0), shuffle=False)
    scale = np.linalg.norm(CONTEXTS, axis=2).max()
    chunk = world.take(200)
    assert not world.imputed
    assert world.reward_range == (-2.0, 3.0)
    for t in range(200):
        order = [int(np.flatnonzero((CONTEXTS[t] / scale == x).all(axis=1))[0]) for x in chunk.contexts[t]]
        assert sorted(order) == [0, 1, 2, 3]
        assert np.array_equal(chunk.rewards[t], rewards[t][order])
        assert np.array_equal(chunk.means[t], rewards[t][order])
    assert world.best_reward == pytest.approx(rewards.max(axis=1).mean())
    assert world.mean_reward == pytest.approx(rewards.mean())


def test_unseen_rewards_come_from_the_weighted_ridge_regression():
    world = worlds.from_log(CONTEXTS, REWARDS, ARMS, CHANCES, ridge=2.0, shuffle=False)
    scaled = CONTEXTS / np.linalg.norm(CONTEXTS, axis=2).max()
    seen = np.c_[scaled[np.arange(200), ARMS], np.ones(200)]
    weighted = seen / CHANCES[:, None]
    penalty = np.diag([2.0, 2.0, 2.0, 0.0])  # the intercept is free
    slope = np.linalg.solve(seen.T @ weighted + penalty, weighted.T @ REWARDS)
    chunk = world.take(200)
    assert world.imputed
    expected = np.clip(chunk.contexts @ slope[:3] + slope[3], 0.0, 1.0)
    np.testing.assert_allclose(chunk.means, expected, atol=1e-9)
    assert set(np.unique(chunk.rewards)) == {0.0, 1.0}


def test_rewards_are_drawn_at_the_ends_of_their_range():
    world = worlds.from_log(CONTEXTS, 10.0 * REWARDS - 4.0, ARMS, reward_range=(-4.0, 6.0))
    chunk = world.take(4000)
    assert set(np.unique(chunk.rewards)) == {-4.0, 6.0}
    # Two-point rewards: variance (mean - low)(high - mean); z = 5.
    error = np.sqrt(((chunk.means + 4.0) * (6.0 - chunk.means)).sum())
    assert abs((chunk.rewards - chunk.means).sum()) <= 5.0 * error


def test_the_data_given_is_not_touched():
    before = ROWS.copy(), CONTEXTS.copy()
    worlds.from_supervised(ROWS, LABELS).take(10).contexts[:] = 0.0
    worlds.from_log(CONTEXTS, REWARDS, ARMS).take(10).contexts[:] = 0.0
    assert np.array_equal(ROWS, before[0])
    assert np.array_equal(CONTEXTS, before[1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a", "b"]], [1], "numbers only"),
        (np.zeros(3), [1, 0, 1], "rows and columns"),
        ([[1.0, np.nan], [1.0, 2.0]], [0, 1], "NaN or infinity"),
        (np.zeros((2, 2)), [0, 1], "every row of X is zero"),
        (np.eye(2), [0, 1, 1], "one label per row"),
        (np.eye(2), [1, 1], "at least two classes"),
        (np.eye(2), [1.0, np.nan], "y holds NaN"),
    ],
)
def test_labelled_data_that_is_none_is_refused(X, y, message):
    with pytest.raises(InvalidDataError, match=message):
        worlds.from_supervised(X, y)


def test_conversions_and_items_that_are_none_are_refused():
    with pytest.raises(InvalidParameterError, match=r"conversion must be one of clean, noisy, .*, got 'Noisy'"):
        worlds.from_supervised(ROWS, LABELS, conversion="Noisy")
    with pytest.raises(InvalidParameterError, match="'items' needs arms to be a whole number, at least 2, got 1"):
        worlds.from_items(ROWS, LABELS, arms=1)
    with pytest.raises(InvalidDataError, match="every row of X is zero"):
        worlds.from_items(np.ones((4, 2)), [0, 1, 0, 1])
    with pytest.raises(InvalidDataError, match="at least two classes"):
        worlds.from_items(ROWS, np.ones(200))


def spoiled(values, index, value):
    copy = np.array(values, dtype=float)
    copy.flat[index] = value
    return copy


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((5, 3)), REWARDS), r"contexts must have shape \(rounds"),
        ((CONTEXTS[:, :1], REWARDS), "at least 2 arms"),
        ((np.zeros((0, 2, 2)), []), r"contexts must have shape \(rounds"),
        ((np.zeros((2, 2, 2)), [0.0, 1.0], [0, 1]), "every context is zero"),
        ((spoiled(CONTEXTS, 7, np.nan), REWARDS, ARMS), "contexts hold NaN"),
        ((CONTEXTS, spoiled(REWARDS, 7, np.inf), ARMS), "rewards hold NaN"),
        ((CONTEXTS, [["a"]], ARMS), "rewards must hold numbers"),
        ((CONTEXTS, spoiled(REWARDS, 7, 1.5), ARMS), r"reward_range = \(0, 1\); 1 do not, the first is 1.5"),
        ((CONTEXTS, REWARDS[:7], ARMS), "one entry per round, 200 in all, got 7"),
        ((CONTEXTS, np.zeros((200, 3))), r"shape \(200, 4\) or \(200,\)"),
        ((CONTEXTS, np.zeros((200, 4)), ARMS), "leave arms and probabilities out"),
        ((CONTEXTS, REWARDS), "need arms"),
        ((CONTEXTS, REWARDS, ARMS + 1), "whole numbers from 0 to 3"),
        ((CONTEXTS, REWARDS, ARMS - 0.5), "whole numbers from 0 to 3"),
        ((CONTEXTS, REWARDS, ARMS[:5]), "whole numbers from 0 to 3"),
        ((CONTEXTS, REWARDS, ARMS, CHANCES[:5]), r"probabilities must have shape \(200,\)"),
        ((CONTEXTS, REWARDS, ARMS, spoiled(CHANCES, 7, 0.0)), r"\(0, 1\]; 1 do not, the first in round 7: 0"),
        ((CONTEXTS, REWARDS, ARMS, spoiled(CHANCES, 7, 1.2)), "the first in round 7: 1.2"),
        ((CONTEXTS, REWARDS, ARMS, spoiled(CHANCES, 7, np.nan)), "probabilities hold NaN"),
    ],
)
def test_logs_that_are_none_are_refused(arguments, message):
    with pytest.raises(InvalidDataError, match=message):
        worlds.from_log(*arguments)


@pytest.mark.parametrize("reward_range", [(1.0, 0.0), (0.0, 0.0), (0.0,), "ab", None, (0.0, np.inf), (np.nan, 1.0)])
def test_ranges_that_are_none_are_refused(reward_range):
    with pytest.raises(InvalidParameterError, match="reward_range must be two numbers"):
        worlds.from_log(CONTEXTS, REWARDS, ARMS, reward_range=reward_range)
    with pytest.raises(InvalidParameterError, match="ridge"):
        worlds.from_log(CONTEXTS, REWARDS, ARMS, ridge=0.0)
