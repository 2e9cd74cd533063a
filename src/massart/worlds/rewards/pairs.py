"""Arms along a line: what the worlds made of the points F, G and N of `sacrificed-minority` share.

A round draws a point z of the unit sphere, of kind F, G or N, and places k arms along the line through it,

    x_i = 2 reach f_i z,   f_i equally spaced from -1/2 to 1/2,

so that neighbours differ by 2 reach z / (k-1). Two arms at reach 1 are z and -z: a row and its two labels.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from massart.worlds.plane import by_mass, complete
from massart.worlds.ranges import whole_number
from massart.worlds.rewards.base import Contexts, ObliviousRewardWorld, RewardChunk, RewardRound
from massart.worlds.rewards.monotone import MonotoneWorld, RewardLimits, coin_rewards, shuffled_steps
from massart.worlds.stream import AdaptiveGame, Block, Indices, Matrix, Vector, Weights, refuse_chunks

__all__ = ["HardPairs", "HardPairsSimpson", "HuntedPairs"]

_SECOND_OF_G = 0.08
_SHARE_OF_F = 0.48  # among the rounds of `hunted-pairs` that do not show N, as among those of `hard-pairs`


def _limits(gap: float, margin: float) -> RewardLimits:
    return RewardLimits(
        gap,
        margin,
        gap_reason="F must not have more between its arms than G and N",
        margin_reason="N must not lie further from the boundary than G",
        arms=2,
    )


class PairWorld(MonotoneWorld):
    """A world of arms along lines; `gap` is that of F, neighbours on G and N differ by `chain` / (k-1).

    F = (.6, .6) has mass .22, G = (.95, .08) mass .24, N = h (-1.5, 1) mass .54, with h = margin (k-1) / (2 reach).
    """

    reach: ClassVar[float]  # how far the outermost arms lie from the middle of the line
    chain: ClassVar[float]  # expected reward between the worst and the best arm on G and N
    masses: ClassVar[tuple[float, float, float]] = (0.22, 0.24, 0.54)

    def _largest_margin(self) -> float:
        return 2.0 * self.reach * _SECOND_OF_G / (self.arms - 1)

    def _largest_gap(self) -> float:
        return self.chain / (self.arms - 1)

    def _usual(self, default: float, largest: float) -> float:
        return min(default / (self.arms - 1), largest)  # the points stay where two arms have them

    @property
    def plane(self) -> Matrix:
        """The points F, G and N, one per row."""
        height = 0.5 * self.margin * (self.arms - 1) / self.reach
        return np.array([[0.6, 0.6], [0.95, _SECOND_OF_G], [-1.5 * height, height]])

    @property
    def gaps(self) -> Vector:
        """Expected reward between neighbours on F, G and N."""
        wide = self.chain / (self.arms - 1)
        return np.array([self.gap, wide, wide])

    def _expected(self, point: Indices, step: Matrix) -> Matrix:
        """Give the expected rewards of arms `step` (n, arms) steps from the middle of the lines of `point` (n,)."""
        means: Matrix = 0.5 + self.gaps[point][:, None] * step
        return means

    def _line(self, z: Matrix, step: Matrix) -> Contexts:
        """Place the arms along the lines through z (n, dimension)."""
        along = 2.0 * self.reach / (self.arms - 1) * step
        contexts: Contexts = along[:, :, None] * z[:, None, :]
        return contexts


class ObliviousPairWorld(PairWorld, ObliviousRewardWorld):
    """A world of pairs whose points come by their masses, with a level o uniform in [-offset, offset].

    The level moves all arms of the round along the target, by o e2, and its expected rewards by -fall o.
    """

    offset: ClassVar[float] = 0.0
    fall: ClassVar[float] = 0.0

    def _declare(self) -> None:
        self.mean_reward = 0.5
        self.best_reward = 0.5 + 0.5 * (self.arms - 1) * float(np.multiply(self.gaps, self.masses).sum())

    def _draw(self, block: Block) -> RewardChunk:
        rng, count = block.rng, block.size
        point = by_mass(rng, np.array(self.masses), count)
        step = shuffled_steps(rng, count, self.arms)
        level = rng.uniform(-self.offset, self.offset, (count, 1))
        means = self._expected(point, step) - self.fall * level
        rewards = coin_rewards(rng, means)
        contexts = self._line(complete(rng, self.plane[point], self.dimension), step)
        contexts[:, :, 1] += level
        return RewardChunk(contexts, means, rewards)


class HardPairs(ObliviousPairWorld):
    """The points of `sacrificed-minority`, k arms along the line from -z to z through each.

        F = (.6, .6)         mass .22, neighbours differ by `gap`
        G = (.95, .08)       mass .24, neighbours differ by .95 / (k-1)
        N = h (-1.5, 1)      mass .54, neighbours differ by .95 / (k-1),  h = margin (k-1) / 2

    The small gap of F limits how large its score can profitably be, G pulls towards e1, where the short N is in the
    wrong order. Within a round rewards are linear in the score, but on N the slope is some fifty times that on F.
    With more arms and nothing else said, the points stay and gap and margin are divided by k-1.

    >>> world = HardPairs()
    >>> world.arms, world.gap, world.margin, round(world.best_reward, 4), round(world.guaranteed_lift, 12)
    (2, 0.3, 0.08, 0.9035, 0.15)
    >>> five = HardPairs(arms=5, gap=0.1)
    >>> five.margin, round(five.guaranteed_lift, 12)
    (0.02, 0.08)
    """

    name = "hard-pairs"
    description = (
        "Pairs of opposite arms whose difference in reward is small where the contexts are far apart and large where "
        "they are near. A linear model of rewards gives up the near ones, even with each round's level removed."
    )
    limits = _limits(gap=0.3, margin=0.08)
    reach, chain = 1.0, 0.95


class HardPairsSimpson(ObliviousPairWorld):
    """As `hard-pairs`, half as long, moved by a level o uniform in [-.4, .4] along the target:

        x_i = o e2 + f_i z,   expected reward .5 - .55 o + (gap of the point) times the step,

    where neighbours on F differ by `gap`, on G and N by .5 / (k-1).

    >>> world = HardPairsSimpson()
    >>> world.arms, world.gap, world.margin, round(world.best_reward, 12), round(world.guaranteed_lift, 12)
    (2, 0.2, 0.04, 0.717, 0.1)
    """

    name = "hard-pairs-simpson"
    description = (
        "Hard pairs at a level that changes from round to round, rewards falling as the level rises: regression on the "
        "contexts is misled by the level, and regression on differences by the pairs."
    )
    limits = _limits(gap=0.2, margin=0.04)
    reach, chain = 0.5, 0.5
    offset, fall = 0.4, 0.55


class HuntedPairs(PairWorld):
    """The points of `hard-pairs`: N whenever the weights w have it in the wrong order, otherwise F or G.

    N is shown when -1.5 w_1 + w_2 <= 0, that is when the plane part of w does not prefer the better end of its
    line; otherwise F with probability .48, else G. All points are padded with fresh random directions,
    and rewards are drawn from the world's own random numbers, whatever those of the policy.

    >>> game = HuntedPairs().play(rounds=10)
    >>> one = game.next([1.0] + 9 * [0.0])      # the weights point along e1, where N is in the wrong order
    >>> sorted(abs(one.contexts[:, 1]).tolist()), sorted(one.means.round(3).tolist())
    ([0.04, 0.04], [0.025, 0.975])
    """

    name = "hunted-pairs"
    description = (
        "Hard pairs chosen against the policy: the pair with short contexts as long as the policy has it in the wrong "
        "order, otherwise pairs that pull the policy away again."
    )
    adaptive = True
    limits = HardPairs.limits
    reach, chain = HardPairs.reach, HardPairs.chain

    def _declare(self) -> None:
        """Nothing is known ahead: the policy decides what it is shown."""

    def chunks(self, rounds: int, size: int = 4096) -> Iterator[RewardChunk]:
        """Raise an error: the rounds of an adaptive world depend on the policy."""
        raise refuse_chunks(self, "policy", rounds, size)

    def play(self, rounds: int) -> "HuntedStream":
        """Start a game of `rounds` rounds; every game of the same world draws the same random numbers."""
        rounds = whole_number(self.name, "rounds", rounds, least=1)
        return HuntedStream(self._both, self.plane[2], self.dimension, rounds)

    def _both(self, block: int) -> tuple[RewardChunk, RewardChunk]:
        """Draw a block of rounds twice: with F or G, and with N, from the same random numbers."""
        rng, length = self._generator(block), self._block
        step = shuffled_steps(rng, length, self.arms)
        uniform = rng.random((length, self.arms))
        drawn = []
        for point in ((rng.random(length) >= _SHARE_OF_F).astype(np.intp), np.full(length, 2)):
            means = self._expected(point, step)
            contexts = self._line(complete(rng, self.plane[point], self.dimension), step)
            drawn.append(RewardChunk(contexts, means, (uniform < means).astype(np.float64)))
        return drawn[0], drawn[1]


class HuntedStream(AdaptiveGame):
    """A game: `next(weights)` shows one round."""

    player: ClassVar[str] = "policy"

    def __init__(
        self, draw: Callable[[int], tuple[RewardChunk, RewardChunk]], hunted: Vector, dimension: int, rounds: int
    ) -> None:
        super().__init__(dimension, rounds)
        self._draw = draw
        self._first, self._second = hunted.tolist()
        self._block = self._t = 0
        self._pulling, self._hunting = draw(0)

    def next(self, weights: Weights) -> RewardRound:
        """Choose the next round against a policy that favours the arm with the largest `weights.x`.

        `weights` may have any norm, zero included, and shape (dimension,) or (1, dimension); they are
        looked at, never kept.
        """
        w = self._look(weights)
        if not np.isfinite(w).all():
            raise self._bad(weights)
        t = self._t
        if t == len(self._hunting.means):
            self._block, t = self._block + 1, 0
            self._pulling, self._hunting = self._draw(self._block)
        misordered = self._first * w.item(0) + self._second * w.item(1) <= 0.0
        contexts, means, rewards = self._hunting if misordered else self._pulling
        self._t = t + 1
        self.played += 1
        return RewardRound(contexts[t], means[t], rewards[t])
