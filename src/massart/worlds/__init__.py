"""Streams of labelled rows that know their truth: where learners are raced and laws are checked.

>>> from massart import worlds
>>> world = worlds.make("sacrificed-minority", seed=1)
>>> world.noise_rate, world.margin, world.dimension
(0.2, 0.04, 20)
>>> chunk = next(world.chunks(rounds=5000, size=5000))
>>> float((chunk.y != chunk.clean).mean())      # close to the declared world.bayes_error, 0.044
0.04...
"""

from massart.worlds.base import Chunk, Region, Round, Stream, World
from massart.worlds.data import from_data
from massart.worlds.registry import make, names

__all__ = ["Chunk", "Region", "Round", "Stream", "World", "from_data", "make", "names"]
