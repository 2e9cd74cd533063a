"""What was asked of a training: the learner, the passes, the rows that are kept apart, the checkpoints."""

import re
from typing import Any, NamedTuple

import numpy as np

from massart.errors import InvalidParameterError
from massart.learners.class_pool import ClassPool
from massart.learners.multiclass import Binary, make_grouped, make_learner
from massart.options import LearnerOptions
from massart.values import Value

__all__ = ["Every", "Settings"]

_MOST = 10**15  # rows or seconds
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LEARNER = ("noise_rate", "margin", "horizon", "update", "optimizer", "voting", "fit_intercept", "normalize",
            "products", "seed")  # fmt: skip


class Every(NamedTuple):
    """How often a checkpoint is written: after so many rows, or after so many seconds; both None for never.

    >>> Every.parse("1_000_000"), Every.parse("5m"), Every.parse("0")
    (Every(rows=1000000, seconds=None), Every(rows=None, seconds=300.0), Every(rows=None, seconds=None))
    """

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Every":
        """From 1000000, 1e6, 30s, 5m or 1h; 0 is never."""
        found = re.fullmatch(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:e[0-9]{1,2})?)([smh]?)", text.strip().lower())
        number = float(found[1]) if found else 0.5
        if number > _MOST:
            raise InvalidParameterError(f"a checkpoint every {text[:40]!r}: give 0 for none")
        if found and found[2]:
            return cls(seconds=number * _SECONDS[found[2]] or None)
        if number != int(number):
            raise InvalidParameterError(f"a checkpoint every {text!r}: give rows as 1000000, or a time as 30s, 5m, 1h")
        return cls(rows=int(number) or None)

    def due(self, rows: int, seconds: float) -> bool:
        """Whether so many rows and seconds since the last one are enough."""
        return bool((self.rows and rows >= self.rows) or (self.seconds and seconds >= self.seconds))


class Settings(Value):
    """How to learn. Parameters of the learner are those of `MassartClassifier`.

    >>> Settings(noise_rate=0.1, margin=0.05).learner(7).weights.size
    7
    """

    noise_rate: float | None = None
    margin: float | None = None
    horizon: float | None = None
    update: str = "inverse-margin"
    optimizer: str = "auto"
    voting: str = "sample"
    fit_intercept: bool = True
    normalize: bool = True
    products: bool = False
    seed: int = 0
    passes: int = 1
    holdout: int | str | None = None  # every n-th row is never learned but measures the error; or a file that does
    checkpoint: Every = Every(seconds=300.0)
    strict: bool = False  # stop at the first malformed row instead of leaving it out
    strict_resume: bool = False  # go on only if every byte of the data is the same, not only of samples of it
    given: frozenset[str] = frozenset()  # names that were given, though with the default value

    def __post_init__(self) -> None:
        self._learner_options()
        if self.products and self.passes > 1:
            raise InvalidParameterError(
                f"passes={self.passes}: rows with products are learned in one pass; leave it out"
            )
        if self.passes < 1:
            raise InvalidParameterError(f"passes={self.passes}: give 1 or more")
        if isinstance(self.holdout, int) and self.holdout > _MOST:
            raise InvalidParameterError(f"holdout: give at most {_MOST:g}")
        if isinstance(self.holdout, int) and self.holdout < 2:
            raise InvalidParameterError(
                f"holdout={self.holdout}: give 2 or more to keep every n-th row apart, or the name of a file"
            )
        if not 0 <= self.seed < 2**32:
            raise InvalidParameterError(f"seed={self.seed}: give a whole number from 0 to 2**32 - 1")

    def learner(self, n_features: int, *, grouped: bool = False) -> Binary:
        """A new learner of that many columns; of rows that come in groups, if `grouped`."""
        return (make_grouped if grouped else make_learner)(n_features, self._learner_options())

    def class_learner(self, n_features: int, classes: int) -> ClassPool:
        """A new learner of that many columns and, for now, classes."""
        options = self._learner_options()
        if options.noise_rate is not None or options.margin is not None or options.horizon is not None:
            raise InvalidParameterError(
                "noise rate, margin and horizon are for two labels: leave them out where there are more, or name two "
                "with `labels=('NEGATIVE', 'POSITIVE')`"
            )
        return ClassPool.with_options(n_features, np.ones(classes), options)

    def _learner_options(self) -> LearnerOptions:
        return LearnerOptions(**{name: getattr(self, name) for name in _LEARNER})

    def parameters(self) -> dict[str, Any]:
        """What `MassartClassifier` calls them, for the model file."""
        own = {name: getattr(self, name) for name in self._written() if name != "seed"}
        return own | {"passes": self.passes, "random_state": self.seed}

    def options(self) -> dict[str, Any]:
        """All that the model depends on."""
        return {name: getattr(self, name) for name in (*self._written(), "passes", "holdout")}

    def _written(self) -> tuple[str, ...]:
        """The parameters of the learner that a file has: one without products is as before there were any."""
        return tuple(name for name in _LEARNER if name != "products" or self.products)

    def going_on(self, parameters: dict[str, Any], model: str) -> "Settings":
        """These settings with the learner of a model; one that was asked for and is another's is refused.

        >>> Settings(margin=0.1).going_on({"noise_rate": 0.1, "margin": 0.05}, "m.massart")
        Traceback (most recent call last):
        massart.errors.InvalidParameterError: margin=0.1, but m.massart was begun with margin=0.05: leave it out
        """
        known = {**parameters, "seed": parameters.get("random_state") or 0}
        usual = self._defaults
        for name in _LEARNER:
            asked, own = getattr(self, name), known.get(name, usual[name])
            if asked != own and (name in self.given or asked != usual[name]):
                raise InvalidParameterError(
                    f"{name}={asked!r}, but {model} was begun with {name}={own!r}: leave it out"
                )
        return self.replace(**{name: known.get(name, usual[name]) for name in _LEARNER})
