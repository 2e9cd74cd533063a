"""The hard points of classification as a bandit: differences of rewards that no linear function describes."""

from typing import ClassVar

from massart.worlds.rewards.pairs import ObliviousPairWorld

__all__ = ["HardPairs"]


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
    default_gap: ClassVar[float] = 0.3
    default_margin: ClassVar[float] = 0.08
    reach: ClassVar[float] = 1.0
    chain: ClassVar[float] = 0.95
