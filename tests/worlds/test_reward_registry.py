"""Reward worlds by name, their defaults, and what is refused."""

import typing

import numpy as np
import processes
import pytest

from massart import worlds
from massart.errors import InvalidParameterError
from massart.worlds.registry import RewardName

# arms, gap, margin, best lift and guaranteed lift per round: the last two worked out by hand.
DECLARED = {
    "linear": (5, 0.05, 0.1, 1 / 3, 0.04),  # highest score -.9 + .4 + 1.4 * 5/6 = 2/3, half of it
    "sorted": (5, 0.1, 0.1, 0.4, 0.08),  # .4 + .6 * 5/6 - .5
    "simpson": (5, 0.05, 0.1, 0.1, 0.04),
    "step-maps": (5, 0.05, 0.1, 0.3, 0.04),  # .1 + .4 / 2
    "hard-pairs": (2, 0.3, 0.08, 0.4035, 0.15),  # .22 * .15 + .78 * .475
    "hard-pairs-simpson": (2, 0.2, 0.04, 0.217, 0.1),  # .22 * .1 + .78 * .25
    "hunted-pairs": (2, 0.3, 0.08, None, 0.15),
}
# (largest margin, largest gap) times (arms - 1); `linear` at its default margin has its own.
LARGEST = {
    "linear": (1.8, None),
    "sorted": (1.8, 1.0),
    "simpson": (1.2, 0.36),
    "step-maps": (1.2, 0.2),
    "hard-pairs": (0.16, 0.95),
    "hard-pairs-simpson": (0.08, 0.5),
    "hunted-pairs": (0.16, 0.95),
}


def test_reward_worlds_and_label_worlds_are_told_apart():
    assert worlds.reward_names() == list(DECLARED)
    assert not set(worlds.reward_names()) & set(worlds.names())
    assert set(typing.get_args(RewardName)) == set(DECLARED)
    for name in worlds.reward_names():
        assert isinstance(worlds.make(name), worlds.RewardWorld)
        assert not isinstance(worlds.make(name), worlds.World)


@pytest.mark.parametrize("name", DECLARED)
def test_defaults(name):
    world = worlds.make(name)
    arms, gap, margin, best_lift, guaranteed = DECLARED[name]
    assert (world.name, world.arms, world.dimension) == (name, arms, 10)
    assert (world.gap, world.margin) == pytest.approx((gap, margin))
    assert world.best_lift == (None if best_lift is None else pytest.approx(best_lift))
    assert world.guaranteed_lift == pytest.approx(guaranteed)
    assert world.reward_range == (0.0, 1.0)
    assert world.adaptive == (name == "hunted-pairs")


def test_the_settings_with_more_arms():
    simpson = worlds.make("simpson", arms=10, gap=0.02)
    assert (simpson.margin, simpson.best_lift) == pytest.approx((0.1, 0.09))
    pairs = worlds.make("hard-pairs", arms=5, gap=0.1)
    assert (pairs.margin, pairs.best_lift, pairs.guaranteed_lift) == pytest.approx((0.02, 0.4145, 0.08))
    assert worlds.make("hard-pairs", arms=5).gap == pytest.approx(0.075)
    for name in worlds.reward_names():
        assert worlds.make(name, arms=60).arms == 60  # whatever the defaults, they fit


@pytest.mark.parametrize("arms", [2, 5, 9])
@pytest.mark.parametrize("name", DECLARED)
def test_gaps_and_margins_up_to_the_largest_are_kept_and_beyond_are_refused(name, arms):
    arms = max(arms, worlds.make(name).limits.least_arms)
    margin, gap = LARGEST[name]
    margin /= arms - 1
    gap = 0.5 / 0.9 * margin if gap is None else gap / (arms - 1)
    world = worlds.make(name, arms=arms, gap=gap, margin=margin, dimension=3)
    assert (world.gap, world.margin) == (gap, margin)
    game = world.play(300)
    for _ in range(300):
        one = game.next(np.array([1.0, 0.1, -0.5]))
        assert np.linalg.norm(one.contexts, axis=1).max() <= 1 + 1e-12
        assert np.diff(np.sort(one.contexts[:, 1])).min() >= margin - 1e-9
        assert np.diff(np.sort(one.means)).min() >= gap - 1e-9
        assert -1e-9 <= one.means.min() <= one.means.max() <= 1 + 1e-9
    for bad in (0.0, -0.1, 1.001 * margin, float("nan"), "wide", True):
        with pytest.raises(InvalidParameterError, match=r"needs margin in \(0, .* got .*arms"):
            worlds.make(name, arms=arms, margin=bad)
    for bad in (0.0, -0.1, 1.001 * gap, float("nan"), "wide"):
        with pytest.raises(InvalidParameterError, match=r"needs gap in \(0, .* got .*arms"):
            worlds.make(name, arms=arms, gap=bad, margin=margin)


@pytest.mark.parametrize("bad", [1, 0, 2.5, "5", True])
def test_one_arm_and_one_dimension_are_refused(bad):
    with pytest.raises(InvalidParameterError, match="arms to be a whole number, at least 2"):
        worlds.make("simpson", arms=bad)
    with pytest.raises(InvalidParameterError, match="arms to be a whole number, at least 3"):
        worlds.make("step-maps", arms=bad)
    with pytest.raises(InvalidParameterError, match="dimension to be a whole number, at least 2"):
        worlds.make("simpson", dimension=bad)


def test_other_parameters_are_refused():
    with pytest.raises(InvalidParameterError, match="no parameter 'noise_rate'; it has arms, gap, margin"):
        worlds.make("simpson", noise_rate=0.1)
    with pytest.raises(InvalidParameterError, match=r"it has arms.*seed, jump"):
        worlds.make("step-maps", jumps=0.1)
    with pytest.raises(InvalidParameterError, match="no parameter 'arms'; it has noise_rate"):
        worlds.make("kink", arms=3)
    with pytest.raises(InvalidParameterError, match=r"needs jump in \[0, 0.6\)"):
        worlds.make("step-maps", jump=0.6)
    with pytest.raises(InvalidParameterError, match="did you mean 'simpson'"):
        worlds.make("simpsons")
    for bad in (-1, "x", 1.5):
        with pytest.raises(InvalidParameterError, match="seed must be"):
            worlds.make("simpson", seed=bad)


def test_rewards_do_not_depend_on_the_dimension():
    for name in worlds.reward_names():
        if not worlds.make(name).adaptive:
            small, large = (worlds.make(name, dimension=dimension).take(50) for dimension in (2, 30))
            assert np.array_equal(small.rewards, large.rewards)
            assert np.array_equal(small.means, large.means)


def test_large_contexts_come_in_small_blocks():
    world = worlds.make("simpson", dimension=300_000)
    assert world.take(2).contexts.shape == (2, 5, 300_000)
    assert world._block == 1
    assert worlds.make("simpson")._block == 1024


def test_making_reward_worlds_is_light():
    code = "import massart.worlds as w; [w.make(n).play(1).next([0.0] * 10) for n in w.reward_names()]"
    assert processes.loaded_by(code, "numba", "sklearn", "scipy", "massart.learners") == []
