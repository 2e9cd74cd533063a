"""The learners of a race by name: ours, the usual ones, and other people's packages when they are installed."""

import difflib
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from massart.errors import InvalidParameterError
from massart.learners.base import OnlineLearner
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool
from massart.learners.reference import baselines
from massart.learners.reference.baselines import peers

__all__ = ["DEFAULT", "describe", "is_ours", "make", "names"]

DEFAULT: Final = (
    "massart",
    "massart-unknown",
    "paper",
    "perceptron",
    "averaged-perceptron",
    "passive-aggressive",
    "logistic",
    "hinge",
    "adaptive-logistic",
    "arow",
    "leaky-relu",
)


class _Told(NamedTuple):
    """What a learner may be told about the world before the race."""

    dimension: int
    noise_rate: float | None
    margin: float | None
    horizon: int | None
    seed: int


class _Entry(NamedTuple):
    build: Callable[[_Told], Any]
    description: str
    ours: bool = False
    needs: tuple[str, ...] = ()  # of noise_rate, margin, horizon


def _halfspace(told: _Told, optimizer: str) -> Halfspace:
    return _rows_as_they_come(told, told.horizon if optimizer == "fixed" else None, optimizer=optimizer)


def _paper(told: _Told) -> Halfspace:
    return _rows_as_they_come(told, told.horizon, update="paper")


def _rows_as_they_come(told: _Told, horizon: int | None, **how: Any) -> Halfspace:
    assert told.noise_rate is not None  # noqa: S101 - `needs` has been checked
    assert told.margin is not None  # noqa: S101
    return Halfspace(told.dimension, told.noise_rate, told.margin, horizon, fit_intercept=False, normalize=False, **how)


def _unknown(told: _Told) -> Pool:
    return Pool(told.dimension, fit_intercept=False, normalize=False, seed=told.seed)


def _plain(learner: Callable[..., Any], **options: float) -> Callable[[_Told], Any]:
    """A learner that is told only the dimension."""
    return lambda told: learner(told.dimension, **options)


def _knowing(learner: Callable[..., Any], *needs: str) -> Callable[[_Told], Any]:
    """A learner that is told some of what the world declares."""
    return lambda told: learner(told.dimension, **{name: getattr(told, name) for name in needs})


_PROMISE = ("noise_rate", "margin")
_ENTRIES: Final[dict[str, _Entry]] = {
    "massart": _Entry(
        partial(_halfspace, optimizer="ftrl"),
        "inverse-margin update under FTRL, told noise rate and margin",
        ours=True,
        needs=_PROMISE,
    ),
    "massart-fixed": _Entry(
        partial(_halfspace, optimizer="fixed"),
        "inverse-margin update with the constant step of the horizon, told noise rate and margin",
        ours=True,
        needs=(*_PROMISE, "horizon"),
    ),
    "massart-adagrad": _Entry(
        partial(_halfspace, optimizer="adagrad-norm"),
        "inverse-margin update by projected descent with AdaGrad-norm steps, told noise rate and margin",
        ours=True,
        needs=_PROMISE,
    ),
    "massart-unknown": _Entry(
        _unknown,
        "told nothing: a pool of inverse-margin and conventional learners, as MassartClassifier()",
        ours=True,
    ),
    "paper": _Entry(_paper, "Algorithm 1 as printed, told noise rate and margin", ours=True, needs=_PROMISE),
    "perceptron": _Entry(_plain(baselines.Perceptron), "adds y x on a mistake"),
    "averaged-perceptron": _Entry(
        _plain(baselines.AveragedPerceptron), "predicts with the average of the perceptron's weights"
    ),
    "passive-aggressive": _Entry(_plain(baselines.PassiveAggressive, aggressiveness=1.0), "PA-I with C = 1"),
    "passive-aggressive-small": _Entry(_plain(baselines.PassiveAggressive, aggressiveness=0.01), "PA-I with C = 0.01"),
    "logistic": _Entry(_plain(baselines.LogisticDescent, step=1.0), "logistic gradient descent, steps 1/sqrt(t)"),
    "logistic-fast": _Entry(
        _plain(baselines.LogisticDescent, step=10.0), "logistic gradient descent, steps 10/sqrt(t)"
    ),
    "hinge": _Entry(_plain(baselines.HingeDescent, step=1.0), "hinge gradient descent, steps 1/sqrt(t)"),
    "adaptive-logistic": _Entry(
        _plain(baselines.AdaptiveLogistic), "logistic descent with a step per coordinate, like Vowpal Wabbit's"
    ),
    "arow": _Entry(_plain(baselines.Arow), "adaptive regularisation of weight vectors, full matrix, r = 1"),
    "online-ridge": _Entry(_plain(baselines.OnlineRidge), "recursive least squares on the labels, ridge 1"),
    "leaky-relu": _Entry(
        _knowing(baselines.LeakyReluDescent, "noise_rate"),
        "leaky-ReLU descent without the division by the margin, told the noise rate",
        needs=("noise_rate",),
    ),
    "coin-betting": _Entry(
        _knowing(baselines.CoinBetting, "noise_rate"),
        "inverse-margin update by coin betting, told the noise rate but no margin",
        needs=("noise_rate",),
    ),
    "exponential-net": _Entry(
        _knowing(baselines.ExponentialNet, *_PROMISE),
        "exponential weights over a net of directions, told noise rate and margin; at most 3 features",
        needs=_PROMISE,
    ),
}


def names(peers: bool = True) -> list[str]:
    """All names that `make` takes here; `peers` adds those of other people's packages that are installed.

    >>> names(peers=False)[:3]
    ['massart', 'massart-fixed', 'massart-adagrad']
    """
    return [*_ENTRIES, *(_installed_peers() if peers else ())]


def _installed_peers() -> list[str]:
    return [name for name in peers.NAMES if peers.is_installed(name)]


def make(
    name: str,
    *,
    dimension: int,
    noise_rate: float | None = None,
    margin: float | None = None,
    horizon: int | None = None,
    seed: int = 0,
) -> OnlineLearner:
    """A fresh learner for rows of `dimension` features, without intercept, rows taken as they come (norm at most 1).

    The rest is what the world declares; each learner uses what its description says and nothing more.

    >>> learner = make("massart", dimension=20, noise_rate=0.1, margin=0.05)
    >>> learner.weights.shape
    (20,)
    >>> make("perceptrom", dimension=20)
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: there is no learner 'perceptrom'; did you mean 'perceptron'...
    """
    told = _Told(dimension, noise_rate, margin, horizon, seed)
    if name in peers.NAMES:
        learner: OnlineLearner = peers.make(name, dimension, seed)
        return learner
    entry = _find(name)
    missing = [need for need in entry.needs if getattr(told, need) is None]
    if missing:
        raise InvalidParameterError(
            f"the learner {name!r} must be told {' and '.join(missing)}: give a number, or use 'massart-unknown', "
            "which is told nothing"
        )
    built: OnlineLearner = entry.build(told)
    return built


def describe(name: str) -> str:
    """One line on what a learner is.

    >>> describe("perceptron")
    'adds y x on a mistake'
    """
    return peers.describe(name) if name in peers.NAMES else _find(name).description


def is_ours(name: str) -> bool:
    """Whether a learner belongs to this package rather than to the comparison.

    >>> is_ours("massart-unknown"), is_ours("arow")
    (True, False)
    """
    return name not in peers.NAMES and _find(name).ours


def _find(name: str) -> _Entry:
    if name in _ENTRIES:
        return _ENTRIES[name]
    known = [*_ENTRIES, *peers.NAMES]
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"choose one of {', '.join(known)}"
    raise InvalidParameterError(f"there is no learner {name!r}; {hint}")
