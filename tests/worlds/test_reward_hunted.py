"""The adaptive reward world: what it shows whom, and what it refuses."""

import numpy as np
import pytest

from massart import worlds
from massart.errors import InvalidDataError, InvalidParameterError

HEIGHTS = {"F": 0.6, "G": 0.08, "N": 0.04}


def shown(world, one):
    """Which point a round shows: by the second coordinate of its outermost arms."""
    height = np.abs(one.contexts[:, 1]).max()
    return next(name for name, value in HEIGHTS.items() if abs(height - value) < 1e-12)


@pytest.mark.parametrize("arms", [2, 5])
def test_n_is_shown_exactly_while_it_is_misordered_in_the_plane(arms):
    world = worlds.make("hunted-pairs", arms=arms)
    game, rng = world.play(3000), np.random.default_rng(2)
    seen = []
    for _ in range(3000):
        weights = rng.standard_normal(10)
        one = game.next(weights)
        assert (shown(world, one) == "N") == (-1.5 * weights[0] + weights[1] <= 0.0)
        if shown(world, one) == "N":  # its plane part alone stands in the wrong order
            assert np.corrcoef(one.contexts[:, :2] @ weights[:2], one.means)[0, 1] < 0.0
        seen.append(shown(world, one))
    others = [name for name in seen if name != "N"]
    # F comes with .48 among the others: binomial, z = 5.
    assert abs(others.count("F") / len(others) - 0.48) <= 5 * np.sqrt(0.48 * 0.52 / len(others))


def test_zero_weights_order_nothing_and_are_hunted():
    world = worlds.make("hunted-pairs")
    game = world.play(100)
    assert {shown(world, game.next(np.zeros(10))) for _ in range(100)} == {"N"}


def test_the_target_is_never_shown_n():
    world = worlds.make("hunted-pairs")
    game = world.play(200)
    assert {shown(world, game.next(world.target)) for _ in range(200)} == {"F", "G"}


def test_the_weights_choose_the_point_and_nothing_else():
    """Same order of arms and same coins whatever the policy: its own randomness cannot reach the rewards."""
    world = worlds.make("hunted-pairs", arms=5)
    for_n, for_others = world.play(2000), world.play(2000)
    for _ in range(2000):
        hunted, spared = for_n.next(-world.target), for_others.next(world.target)
        assert np.array_equal(hunted.means.argsort(), spared.means.argsort())
        same_mean = hunted.means == spared.means
        assert np.array_equal(hunted.rewards[same_mean], spared.rewards[same_mean])


def test_rounds_handed_out_stay_what_they_were():
    world = worlds.make("hunted-pairs")
    game, rng = world.play(3000), np.random.default_rng(1)
    rounds = [game.next(rng.standard_normal(10)) for _ in range(10)]
    kept = [part.copy() for one in rounds for part in one]
    for _ in range(2500):
        game.next(rng.standard_normal(10))
    assert all(np.array_equal(a, b) for a, b in zip([part for one in rounds for part in one], kept, strict=True))


def test_weights_are_copied_and_of_any_kind():
    weights = np.array([1.0, 0.5, -2.0, 0.25])
    frozen = weights.copy()
    frozen.setflags(write=False)
    kinds = [weights, frozen, weights.tolist(), weights.astype(np.float32), weights[None], 1e300 * weights]
    answers = [worlds.make("hunted-pairs", dimension=4).play(1).next(kind) for kind in kinds]
    assert np.array_equal(weights, frozen)
    for answer in answers[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(answer, answers[0], strict=True))


def test_a_game_ends_and_chunks_are_refused():
    world = worlds.make("hunted-pairs")
    game = world.play(1024)
    for _ in range(1024):
        game.next(world.target)
    with pytest.raises(InvalidDataError, match="ended after 1,024 rounds"):
        game.next(world.target)
    for refuse in (world.chunks, world.take):
        with pytest.raises(InvalidParameterError, match=r"adaptive.*play"):
            refuse(10)
    with pytest.raises(InvalidParameterError, match="rounds"):
        world.play(0)
