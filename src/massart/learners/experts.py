"""Many halfspaces side by side: one per noise rate and margin (and class), mixed by AdaHedge. No parameter to choose.

With noise rate and margin unknown, every pair of a grid is an expert. A pair with a noise rate not below the true
one and a margin not above the true one keeps its own promise, and the mixture makes, in expectation, at most the
mistakes of the best expert plus the price of mixing. Labels teach all experts alike, so nothing is explored.
More than two classes are one halfspace (or one pool) per class against the rest, in the same pass.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.kernels import halfspace as kernel
from massart.learners.certificate import Certificate, certify_mixture
from massart.learners.rows import NO_WEIGHT, Rows
from massart.learners.rules import check_arrays, initial_state, make_rule

# Within a factor 2 of the noise rate and 4 of the margin an expert loses little, so a coarse grid is enough.
NOISE_RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.48)
MARGINS = (1 / 4, 1 / 16, 1 / 64, 1 / 256)

_NOTHING = np.empty((0, 0))


class Experts:
    """`classes` pools of halfspaces (1 pool for two classes), one expert per (noise rate, margin).

    `answers` are class numbers: 0 and 1 for one pool, where 1 is the side w.x >= 0.

    >>> pool = Experts(2, noise_rates=[0.1], margins=[0.1, 0.3])
    >>> X = np.array([[1.0, 0.5], [-1.0, 0.2], [0.9, -0.3], [-0.8, -0.1]])
    >>> answers = pool.learn_rows(Rows.of(X), np.array([1, 0, 1, 0]))
    >>> answers.tolist(), pool.mistakes
    ([1, 1, 1, 0], 1)
    """

    def __init__(
        self,
        n_features: int,
        *,
        noise_rates: Sequence[float] = NOISE_RATES,
        margins: Sequence[float] = MARGINS,
        horizon: float | None = None,
        update: str = "inverse-margin",
        optimizer: str = "auto",
        fit_intercept: bool = True,
        normalize: bool = True,
        classes: int = 1,
        seed: int = 0,
    ) -> None:
        rules = np.array(
            [
                make_rule(
                    noise_rate,
                    margin,
                    horizon,
                    update=update,
                    optimizer=optimizer,
                    fit_intercept=fit_intercept,
                    normalize=normalize,
                )
                for _ in range(classes)
                for noise_rate in noise_rates
                for margin in margins
            ]
        )
        experts = len(noise_rates) * len(margins)
        self._set(
            {
                "rules": rules,
                "weights": np.zeros((n_features + 1, len(rules))),
                "states": np.array([initial_state(rule) for rule in rules]),
                "losses": np.zeros((classes, experts)),
                "gaps": np.zeros(classes),
                "totals": np.zeros(kernel.TOTALS_SIZE),
                "seed": np.array([seed], dtype=np.uint64),
            }
        )

    def _set(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._rules = arrays["rules"]  # (columns, RULE_SIZE), columns = classes * experts
        self._V = arrays["weights"]  # (n_features + 1, columns)
        self._S = arrays["states"]  # (columns, STATE_SIZE)
        self._losses = arrays["losses"]  # (classes, experts) mistakes of each expert, weighted
        self._gaps = arrays["gaps"]  # (classes,) AdaHedge's cumulative mixability gap
        self._totals = arrays["totals"]  # (TOTALS_SIZE,) counts of the mixture's own predictions
        self._seed = arrays["seed"]  # (1,) of the coins that draw an expert

    def learn_rows(
        self,
        rows: Rows,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64] = NO_WEIGHT,
        order: NDArray[np.uint64] | None = None,
        average: NDArray[np.float64] = _NOTHING,
    ) -> NDArray[np.int64]:
        """Predict, then learn, rows in the given order, all or none; return the class numbers predicted."""
        sure = rows.checked or rows.count == 1  # a kernel refuses a row before it learns from it
        state = (self._S, self._losses, self._gaps, self._totals)
        own = (self._V, average, *state)
        before = None if sure else [array.copy() for array in own]
        answers = np.empty(rows.count if order is None else order.size, np.int64)
        every = np.arange(rows.width, dtype=np.uint64)
        for data, batch, place in rows.parts(order, labels, weight):
            entries = data if rows.csr is not None else (data.reshape(-1), every, every[:0])
            bad = kernel.learn_columns(
                entries, batch, self._seed[0], self._rules, self._V, average, state, answers[place]
            )
            if bad >= 0:
                for array, old in zip(own, before or own, strict=True):
                    array[:] = old
                rows.refuse(order, place.start + bad)
        return answers

    def learn_many(self, X: Any, y: Any) -> NDArray[np.float64]:
        """For one pool: predict, then learn, each row with its label -1 or +1; return the predictions, -1 or +1."""
        rows = X if isinstance(X, Rows) else Rows.of(X, scaled=bool(self._rules[0, kernel.UNIT]))
        labels = (np.asarray(y) > 0).astype(np.int64)
        return np.where(self.learn_rows(rows, labels) == 1, 1.0, -1.0)

    def learn(self, x: NDArray[Any], y: float) -> float:
        """For one pool: learn one row with its label -1 or +1; return what was predicted for it, -1 or +1."""
        return float(self.learn_many(x[None, :], [y])[0])

    def score(self, x: NDArray[Any]) -> float:
        """The value w.x of the expert with the fewest mistakes; `learn` predicts with one drawn by chance."""
        return float(self.weights @ x + self.leaders()[0, -1] * self._rules[0, kernel.BIAS])

    def predict(self, x: NDArray[Any]) -> int:
        """The sign of `score`."""
        return 1 if self.score(x) >= 0.0 else -1

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the first class's leader, without the constant coordinate."""
        return self.leaders()[0, :-1]

    @property
    def direction(self) -> NDArray[np.float64]:
        """The same, for an adversary."""
        return self.weights

    @property
    def rounds(self) -> int:
        """Rows learned."""
        return int(self._totals[kernel.TOTAL_ROUNDS])

    @property
    def mistakes(self) -> int:
        """Rows that the mixture predicted wrongly before they were learned."""
        return int(self._totals[kernel.TOTAL_MISTAKES])

    def certificate(self, confidence: float = 0.99) -> Certificate:
        """What the theory promises for the rounds seen, and whether they contradict it."""
        return certify_mixture(self._rules, self._S, self._gaps, self._totals, confidence)

    def _by_class(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return columns.T.reshape(*self._losses.shape, -1)

    def columns(self) -> NDArray[np.float64]:
        """(classes, experts, n_features + 1): the weights of every expert, intercept last."""
        return self._by_class(self._V * self._S[:, kernel.SCALE])

    def summed(self, average: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """(classes, experts, n_features + 1): the sum of weight * w over all rounds, and the sum of weights."""
        total = float(self._totals[kernel.TOTAL_WEIGHT])
        return self._by_class(self._V * self._S[:, kernel.SCALED] - average), total

    def new_average(self) -> NDArray[np.float64]:
        """Zeros of the shape that `learn_rows(average=...)` takes."""
        return np.zeros_like(self._V)

    def leaders(self) -> NDArray[np.float64]:
        """(classes, n_features + 1): the weights of the expert with the fewest mistakes so far, per class."""
        classes, experts = self._losses.shape
        best = np.arange(classes) * experts + self._losses.argmin(axis=1)
        return np.ascontiguousarray((self._V[:, best] * self._S[best, kernel.SCALE]).T)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it remembers; `from_arrays` gives it back bit for bit."""
        return {
            "rules": self._rules,
            "weights": self._V,
            "states": self._S,
            "losses": self._losses,
            "gaps": self._gaps,
            "totals": self._totals,
            "seed": self._seed,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "Experts":
        """The pool whose `arrays()` these are."""
        classes, experts = arrays["losses"].shape
        columns = classes * experts
        check_arrays(
            arrays,
            {
                "rules": (columns, kernel.RULE_SIZE),
                "weights": (arrays["weights"].shape[0], columns),
                "states": (columns, kernel.STATE_SIZE),
                "losses": (classes, experts),
                "gaps": (classes,),
                "totals": (kernel.TOTALS_SIZE,),
            },
        )
        if arrays["seed"].shape != (1,) or arrays["seed"].dtype != np.uint64:
            raise ModelFileError("array 'seed' is not one number of 64 bits")
        pool = cls.__new__(cls)
        pool._set(arrays)
        return pool

    def copy(self) -> "Experts":
        """An independent pool in the same state."""
        return Experts.from_arrays({name: array.copy() for name, array in self.arrays().items()})
