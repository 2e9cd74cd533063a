"""Simulated streams of labelled rows, or of rounds with arms, whose truth is known.

>>> from massart import worlds
>>> world = worlds.make("sacrificed-minority", seed=1)
>>> world.noise_rate, world.margin, world.dimension
(0.2, 0.04, 20)
>>> chunk = next(world.chunks(rounds=5000, size=5000))
>>> float((chunk.y != chunk.clean).mean())      # close to the declared world.bayes_error, 0.044
0.04...
>>> worlds.make("simpson", arms=10, gap=0.02).take(100).contexts.shape      # rounds, arms, dimension
(100, 10, 10)
"""

from massart.worlds.base import Chunk, Region, Round, Stream, World
from massart.worlds.data import from_data
from massart.worlds.data_sets import DataSet
from massart.worlds.registry import make, names, reward_names
from massart.worlds.rewards import (
    RewardChunk,
    RewardRound,
    RewardStream,
    RewardWorld,
    from_items,
    from_log,
    from_supervised,
)

__all__ = [
    "Chunk",
    "DataSet",
    "Region",
    "RewardChunk",
    "RewardRound",
    "RewardStream",
    "RewardWorld",
    "Round",
    "Stream",
    "World",
    "from_data",
    "from_items",
    "from_log",
    "from_supervised",
    "make",
    "names",
    "reward_names",
]
