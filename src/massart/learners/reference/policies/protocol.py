"""What a bandit policy must offer to meet a stream of rewards: one protocol for ours, baselines and other packages."""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from massart.learners.choice import Choice, Played

__all__ = ["Policy"]


@runtime_checkable
class Policy(Protocol):
    """Choose one of k arms, each described by a row of `contexts`; learn from the reward when it comes.

    The number of arms may change from choice to choice, the number of features may not. Rewards lie in the
    `reward_range` the policy was made for.
    """

    def choose(self, contexts: Any, allowed: ArrayLike | None = None) -> Choice:
        """Draw one of the arms, of those that are allowed if a mask (k,) says which."""

    def probabilities(self, contexts: Any, allowed: ArrayLike | None = None) -> NDArray[np.float64]:
        """(k,) with which the next `choose` would play each arm; nothing is drawn and nothing changes."""

    def learn(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice, at any time after it and in any order; each choice at most once."""

    def play(self, contexts: Any, rewards: Any) -> Played:
        """Choose and learn in n rounds, contexts (n, k, d) and the rewards (n, k) of all arms being known.

        The same bits as `choose` and `learn` round by round; of each row of rewards only the played arm's is looked at.
        """

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear score of an arm, up to a constant within the round: what an adversary looks at."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it remembers."""

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The policy whose `arrays()` these are: its future is the same."""

    def copy(self) -> Self:
        """An independent policy in the same state."""
