"""The bandit policies of a race by name: ours, the usual ones, and other people's packages when they are installed."""

import difflib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from massart.errors import InvalidParameterError
from massart.learners.bandit import MonotoneBandit
from massart.learners.reference import policies
from massart.learners.reference.policies import peers
from massart.learners.reference.policies.base import Policy

__all__ = ["describe", "is_ours", "make", "names"]


class _Told(NamedTuple):
    """What a policy may be told about the world before the race."""

    dimension: int
    arms: int
    reward_range: tuple[float, float]
    seed: int
    gap: float | None
    margin: float | None
    horizon: int | None


class _Entry(NamedTuple):
    build: Callable[[_Told], Any]
    description: str
    ours: bool = False
    needs: tuple[str, ...] = ()  # of gap, margin, horizon


def _plain(policy: Callable[..., Any], **options: float) -> Callable[[_Told], Any]:
    """A policy that is told only the dimension and the range of rewards."""
    return lambda told: policy(told.dimension, reward_range=told.reward_range, seed=told.seed, **options)


def _monotone(told: _Told) -> MonotoneBandit:
    return MonotoneBandit(told.gap, told.margin, told.reward_range, told.horizon, random_state=told.seed)


def _monotone_unknown(told: _Told) -> MonotoneBandit:
    return MonotoneBandit(reward_range=told.reward_range, random_state=told.seed)


def _paper(told: _Told) -> MonotoneBandit:
    range_, seed = told.reward_range, told.seed
    return MonotoneBandit(told.gap, told.margin, range_, told.horizon, random_state=seed, update="paper")


_PROMISE: Final = ("gap", "margin")
_ENTRIES: Final[dict[str, _Entry]] = {
    "monotone": _Entry(
        _monotone,
        "pairwise inverse-margin update, told gap and margin, and the horizon if there is one",
        ours=True,
        needs=_PROMISE,
    ),
    "monotone-unknown": _Entry(_monotone_unknown, "told nothing: experts, as MonotoneBandit()", ours=True),
    "paper": _Entry(
        _paper, "Algorithm 3 as printed, told gap, margin and horizon", ours=True, needs=(*_PROMISE, "horizon")
    ),
    "uniform": _Entry(_plain(policies.Uniform), "a random arm"),
    "epsilon-greedy-ridge": _Entry(
        _plain(policies.EpsilonGreedyRidge, epsilon=0.1), "the best arm of a ridge regression, or 1 time in 10 any arm"
    ),
    "action-centred-ridge": _Entry(
        _plain(policies.ActionCentredRidge, epsilon=0.1),
        "epsilon-greedy on a ridge regression of the arm less the round's expected arm (semiparametric)",
    ),
    "linucb": _Entry(_plain(policies.LinUCB, alpha=1.0), "the highest upper confidence bound of a ridge regression"),
    "thompson": _Entry(
        _plain(policies.LinearThompson, scale=0.5), "each arm as often as it is best under a Gaussian posterior"
    ),
    "squarecb": _Entry(_plain(policies.SquareCB, trust=1.0), "inverse-gap weighting on a ridge regression"),
    "epoch-greedy": _Entry(
        _plain(policies.EpochGreedy), "epochs of one random arm and ever more greedy ones, learning from the former"
    ),
}


def names(peers: bool = True) -> list[str]:
    """All names that `make` takes here; `peers` adds those of other people's packages that are installed.

    >>> names(peers=False)[:4]
    ['monotone', 'monotone-unknown', 'paper', 'uniform']
    """
    return [*_ENTRIES, *(_installed_peers() if peers else ())]


def _installed_peers() -> list[str]:
    return [name for name in peers.NAMES if peers.is_installed(name)]


def make(
    name: str,
    *,
    dimension: int,
    arms: int,
    reward_range: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    gap: float | None = None,
    margin: float | None = None,
    horizon: int | None = None,
) -> Policy:
    """A fresh policy for arms of `dimension` features, without intercept, rows taken as they come (norm at most 1).

    The rest is what the world declares; each policy uses what its description says and nothing more.

    >>> policy = make("linucb", dimension=20, arms=5)
    >>> policy.weights.shape
    (20,)
    >>> make("linusb", dimension=20, arms=5)
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: there is no policy 'linusb'; did you mean 'linucb'...
    """
    if name in peers.NAMES:
        peer: Policy = peers.make(name, dimension, arms, reward_range, seed)
        return peer
    entry = _find(name)
    told = _Told(dimension, arms, reward_range, seed, gap, margin, horizon)
    missing = [need for need in entry.needs if getattr(told, need) is None]
    if missing:
        raise InvalidParameterError(
            f"the policy {name!r} must be told {' and '.join(missing)}: give a number, or use "
            "'monotone-unknown', which is told nothing"
        )
    policy: Policy = entry.build(told)
    return policy


def describe(name: str) -> str:
    """One line on what a policy is.

    >>> describe("uniform")
    'a random arm'
    """
    return peers.describe(name) if name in peers.NAMES else _find(name).description


def is_ours(name: str) -> bool:
    """Whether a policy belongs to this package rather than to the comparison.

    >>> is_ours("monotone"), is_ours("linucb")
    (True, False)
    """
    return name not in peers.NAMES and _find(name).ours


def _find(name: str) -> _Entry:
    if name in _ENTRIES:
        return _ENTRIES[name]
    known = [*_ENTRIES, *peers.NAMES]
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"choose one of {', '.join(known)}"
    raise InvalidParameterError(f"there is no policy {name!r}; {hint}")
