"""Worlds with something of their own: the uniform sphere, two phases, the pair, the coins, the turning target."""

import numpy as np
import pytest
from scipy.stats import beta, kstest

from massart import worlds
from massart.errors import InvalidParameterError


@pytest.mark.parametrize(("margin", "dimension"), [(0.1, 20), (0.6, 20), (0.1, 3)])
def test_random_noise_is_uniform_on_the_sphere_given_the_margin(margin, dimension):
    """The squares of a uniform point's coordinates are Beta(1/2, (d-1)/2), given one the next Beta(1/2, (d-2)/2).

    Kolmogorov-Smirnov at p > 1e-6: a correct world fails with probability 1e-6, and the seed is fixed.
    """
    X = worlds.make("random-noise", margin=margin, dimension=dimension, seed=2).take(20_000).X
    law = beta(0.5, (dimension - 1) / 2)
    below = law.cdf(margin**2)
    assert kstest(X[:, 1] ** 2, lambda v: (law.cdf(v) - below) / (1 - below)).pvalue > 1e-6
    share = X[:, 0] ** 2 / (1 - X[:, 1] ** 2)
    assert kstest(share, beta(0.5, (dimension - 2) / 2).cdf).pvalue > 1e-6


def test_padding_is_fresh_and_has_mean_zero():
    chunk = worlds.make("masked-margin").take(20_000)
    padding = chunk.X[:, 2:] * chunk.clean[:, None]
    for index in range(3):
        here = padding[chunk.region == index]
        # Entries have variance room^2/18 <= 1/18: z = 5 standard errors of the mean, for 54 means.
        assert np.abs(here.mean(axis=0)).max() <= 5 / np.sqrt(18 * len(here))


@pytest.mark.parametrize("rounds", [1, 2, 7, 5000, 9001])
def test_two_phases_change_in_the_middle(rounds):
    region = worlds.make("two-phases").take(rounds).region
    half = (rounds + 1) // 2
    assert set(region[:half]) <= {0, 1}
    assert set(region[half:]) <= {2}


def test_two_phases_mix_the_first_half_as_declared():
    region = worlds.make("two-phases").take(20_000).region[:10_000]
    assert abs((region == 0).mean() - 0.48) <= 5 * np.sqrt(0.48 * 0.52 / 10_000)  # z = 5


@pytest.mark.parametrize("margin", [0.3, 0.1, 1.0])
def test_the_pair_is_two_rows(margin):
    chunk = worlds.make("fixed-pair", margin=margin).take(1000)
    rows = {tuple(row) for row in chunk.X * chunk.clean[:, None] + 0.0}
    assert len(rows) == (1 if margin == 1.0 else 2)
    assert np.linalg.norm(chunk.X, axis=1) == pytest.approx(1.0)


def test_orthogonal_coins_are_unit_rows_in_turn():
    world = worlds.make("orthogonal-coins", margin=0.25, seed=3)
    assert (world.rows, world.dimension, world.margin) == (16, 16, 0.25)
    chunk = world.take(9000)  # more than a block, and no multiple of 16
    turn = np.arange(9000) % 16
    assert np.array_equal(chunk.X * chunk.clean[:, None], np.eye(16)[turn] * np.sign(world.target))
    assert np.array_equal(np.abs(world.target), np.full(16, 0.25))
    # The signs come from the seed: fair coins, each world its own. Sixteen alike have probability 2^-15.
    assert len({tuple(worlds.make("orthogonal-coins", margin=0.25, seed=seed).target) for seed in range(20)}) == 20


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ({}, (100, 100, 0.1)),
        ({"dimension": 7}, (7, 7, 1 / np.sqrt(7))),
        ({"margin": 0.288675}, (12, 12, 1 / np.sqrt(12))),
        ({"margin": 0.5, "dimension": 6}, (4, 6, 0.5)),
        ({"margin": 1}, (1, 2, 1.0)),
    ],
)
def test_orthogonal_coins_have_one_row_per_inverse_squared_margin(given, shape):
    world = worlds.make("orthogonal-coins", **given)
    assert (world.rows, world.dimension, world.margin) == shape
    assert np.linalg.norm(world.target) == pytest.approx(1.0, abs=1e-12)


def test_coins_that_cannot_be_are_refused():
    with pytest.raises(
        InvalidParameterError, match=r"at margin=0.3 it is 11.1111: take 0.3015113 \(11 rows\) or 0.2886751"
    ):
        worlds.make("orthogonal-coins", margin=0.3)
    with pytest.raises(InvalidParameterError, match=r"100 orthogonal rows at margin 0.1 and needs dimension"):
        worlds.make("orthogonal-coins", margin=0.1, dimension=20)
    assert worlds.make("orthogonal-coins", margin=0.3015113).rows == 11  # what the message offers is taken


def test_a_turning_target_is_its_base_turned():
    base = worlds.make("kink", seed=4)
    world = worlds.make("turning-target", base="kink", angle_per_round=0.01, seed=4)
    plain, turned = base.take(6000), world.take(6000)
    assert np.array_equal(plain.y, turned.y)
    assert np.array_equal(plain.X[:, 2:], turned.X[:, 2:])
    for t in (0, 1, 100, 5000):
        cos, sin = np.cos(0.01 * t), np.sin(0.01 * t)
        assert turned.X[t, :2] == pytest.approx(np.array([[cos, -sin], [sin, cos]]) @ plain.X[t, :2])
        assert world.target_at(t)[:2] == pytest.approx([-sin, cos])
    assert np.array_equal(world.target, base.target)
    # No fixed vector labels the rows: after half a turn every label of the first target is wrong.
    late = slice(314, 315)
    assert (turned.X[late] @ world.target * turned.clean[late] < 0).all()


def test_a_world_itself_can_be_turned():
    base = worlds.from_data([[1.0, 0.5], [-1.0, 0.2]], [1, 0], target=[1.0, 0.0])
    world = worlds.make("turning-target", base=base, angle_per_round=0.1)
    chunk = world.take(100)
    targets = np.array([world.target_at(t) for t in range(100)])
    assert (np.einsum("ij,ij->i", chunk.X, targets) * chunk.clean).min() >= world.margin - 1e-12
    assert "base='data'" in repr(world)


def test_turns_that_cannot_be_are_refused():
    with pytest.raises(InvalidParameterError, match="only an oblivious world"):
        worlds.make("turning-target", base="worst-point")
    with pytest.raises(InvalidParameterError, match="only an oblivious world"):
        worlds.make("turning-target", base=3)
    with pytest.raises(InvalidParameterError, match="belong to the world that is turned"):
        worlds.make("turning-target", base=worlds.make("kink"), margin=0.01)
    with pytest.raises(InvalidParameterError, match="at least two dimensions"):
        worlds.make("turning-target", base=worlds.from_data([[1.0], [-1.0]], [0, 1]))
    with pytest.raises(InvalidParameterError, match="angle_per_round in"):
        worlds.make("turning-target", angle_per_round=float("inf"))
