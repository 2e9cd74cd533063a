"""Simulated streams of rounds with k arms, whose truth is known.

>>> from massart import worlds
>>> world = worlds.make("simpson", seed=1)
>>> world.arms, world.gap, world.margin, world.dimension
(5, 0.05, 0.1, 10)
>>> chunk = world.take(2000)
>>> chunk.contexts.shape, chunk.means.shape, chunk.rewards.shape
((2000, 5, 10), (2000, 5), (2000, 5))
"""

from massart.worlds.rewards.base import RewardChunk, RewardRound, RewardStream, RewardWorld
from massart.worlds.rewards.labelled import from_items, from_supervised
from massart.worlds.rewards.replay import from_log

__all__ = ["RewardChunk", "RewardRound", "RewardStream", "RewardWorld", "from_items", "from_log", "from_supervised"]
