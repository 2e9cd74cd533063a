"""Hard pairs, and Simpson's paradox on top."""

from typing import ClassVar

from massart.worlds.rewards.pairs import ObliviousPairWorld

__all__ = ["HardPairsSimpson"]


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
    default_gap: ClassVar[float] = 0.2
    default_margin: ClassVar[float] = 0.04
    reach: ClassVar[float] = 0.5
    chain: ClassVar[float] = 0.5
    offset: ClassVar[float] = 0.4
    fall: ClassVar[float] = 0.55
