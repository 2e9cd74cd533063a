"""What a learner must offer to meet a world: one protocol for ours, the baselines and other people's packages."""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class OnlineLearner(Protocol):
    """Predict a row, then learn it; labels are -1 and +1, a score >= 0 means +1.

    Rows may come one by one or many at a time, with the same result bit for bit.
    """

    def score(self, x: NDArray[Any]) -> float:
        """The score of one row; nothing changes."""

    def predict(self, x: NDArray[Any]) -> int:
        """-1 or +1 for one row; nothing changes."""

    def learn(self, x: NDArray[Any], y: float) -> float:
        """Learn one row; return the score it had before."""

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Learn each row in turn; return the scores they had just before."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear predictor."""

    @property
    def direction(self) -> NDArray[np.float64]:
        """(d,) the weights up to a positive factor, without a copy where possible: what an adversary looks at."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it remembers."""

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are, bit for bit."""

    def copy(self) -> Self:
        """An independent learner in the same state."""
