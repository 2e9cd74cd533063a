"""The mistake rates of the usual learners in hostile worlds, against a table measured with other code.

Rates after 20,000 rounds in 20 dimensions. The table holds means of three runs to three digits. One run has a standard
deviation of .002 to .023, depending on the cell, so two means of three differ by chance with .002 to .019. The
mean of 40 other runs (8 in `hunted-minority`) lies within .02 of the table in every cell tested here; the mean of the
first three does so in all but the three cells of MORE_SEEDS, whose runs spread by .010, .023 and .016: there 12 are
averaged.
"""

import numpy as np
import pytest

from massart import worlds
from massart.arena.registry import LEARNERS

ROUNDS, SEEDS, TOLERANCE = 20_000, 3, 0.02
WORLDS = ("masked-margin", "sacrificed-minority", "sacrificed-majority", "fixed-pair", "hunted-minority")
TABLE = {  # E1, E2, E3, E6, A4 over E2
    "perceptron": (0.269, 0.357, 0.420, 0.408, 0.645),
    "averaged-perceptron": (0.186, 0.302, 0.366, 0.301, 0.471),
    "passive-aggressive": (0.234, 0.316, 0.390, 0.384, 0.599),
    "passive-aggressive-small": (0.116, 0.371, 0.412, 0.300, 0.629),
    "logistic": (0.106, 0.417, 0.481, 0.300, 0.655),
    "logistic-fast": (0.191, 0.340, 0.426, 0.301, 0.635),
    "hinge": (0.169, 0.319, 0.392, 0.300, 0.582),
    "adaptive-logistic": (0.168, 0.344, 0.433, 0.300, 0.619),
    "arow": (0.188, 0.375, 0.447, 0.300, 0.660),
    "online-ridge": (0.188, 0.375, 0.447, 0.300, 0.660),
    "leaky-relu": (0.103, 0.451, 0.531, 0.304, 0.637),
    "coin-betting": (0.060, 0.232, 0.161, 0.302, 0.389),
}
MORE_SEEDS = {
    ("passive-aggressive-small", "masked-margin"): 12,
    ("hinge", "masked-margin"): 12,
    ("logistic", "sacrificed-majority"): 12,
}


def mistake_rate(name, world_name, seed):
    world = worlds.make(world_name, seed=seed)
    learner = LEARNERS.make(
        name, dimension=world.dimension, noise_rate=world.noise_rate, margin=world.margin, horizon=ROUNDS, seed=seed
    )
    if not world.adaptive:
        for chunk in world.chunks(ROUNDS):
            learner.learn_many(chunk.X, chunk.y)
    else:
        game = world.play(ROUNDS)
        for _ in range(ROUNDS):
            x, y, _, _ = game.next(learner.direction)
            learner.learn(x, y)
    return learner.mistakes / ROUNDS


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("world", WORLDS)
def test_the_mistake_rate_is_that_of_the_table(name, world):
    seeds = range(MORE_SEEDS.get((name, world), SEEDS))
    rate = np.mean([mistake_rate(name, world, seed) for seed in seeds])
    assert rate == pytest.approx(TABLE[name][WORLDS.index(world)], abs=TOLERANCE)


@pytest.mark.parametrize("world", WORLDS[1:3] + WORLDS[4:])
def test_told_the_truth_ours_stays_below_the_noise_where_they_all_exceed_it(world):
    noise = worlds.make(world).noise_rate
    assert max(mistake_rate("massart", world, seed) for seed in range(SEEDS)) < noise
    assert min(TABLE[name][WORLDS.index(world)] for name in TABLE if name != "coin-betting") > noise
