"""Policies of other people's packages in our protocol: what is there, what it is called, how to get it."""

import importlib
import importlib.util
from functools import cache
from typing import Any, Final, NamedTuple

from massart.errors import InvalidParameterError

__all__ = ["NAMES", "describe", "is_installed", "make"]


class _Peer(NamedTuple):
    package: str  # what must be importable
    module: str  # of this package: where the adapter is
    description: str


_HERE: Final = "massart.learners.reference"
_VW: Final = ("vowpalwabbit", f"{_HERE}.peer_vw")
_PEERS: Final[dict[str, _Peer]] = {
    "vw-epsilon": _Peer(*_VW, "Vowpal Wabbit, --cb_explore_adf --epsilon 0.1"),
    "vw-squarecb": _Peer(*_VW, "Vowpal Wabbit, --cb_explore_adf --squarecb"),
    "vw-regcb": _Peer(*_VW, "Vowpal Wabbit, --cb_explore_adf --regcb"),
    "vw-cover": _Peer(*_VW, "Vowpal Wabbit, --cb_explore_adf --cover 3"),
    "vw-softmax": _Peer(*_VW, "Vowpal Wabbit, --cb_explore_adf --softmax --lambda 10"),
    "river-linucb": _Peer("river", f"{_HERE}.peer_river", "river's LinUCBDisjoint on the rows of all arms"),
}
NAMES: Final = tuple(_PEERS)
_INSTALL: Final = "pip install 'massart[bench]'"


@cache
def _importable(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def is_installed(name: str) -> bool:
    """Whether the package behind a peer is there.

    >>> isinstance(is_installed("vw-epsilon"), bool)
    True
    """
    return _importable(_PEERS[name].package)


def describe(name: str) -> str:
    """One line on what a peer is.

    >>> describe("vw-cover")
    'Vowpal Wabbit, --cb_explore_adf --cover 3'
    """
    return _PEERS[name].description


def make(name: str, dimension: int, arms: int, reward_range: tuple[float, float] = (0.0, 1.0), seed: int = 0) -> Any:
    """A fresh peer; its package is imported now.

    >>> if is_installed("vw-epsilon"):
    ...     assert make("vw-epsilon", dimension=2, arms=2).probabilities([[1.0, 0.0], [0.0, 1.0]]).sum() == 1.0
    """
    peer = _PEERS[name]
    if not is_installed(name):
        raise InvalidParameterError(
            f"the policy {name!r} needs the package {peer.package!r}, which is not installed: {_INSTALL}"
        )
    return importlib.import_module(peer.module).build_policy(name, dimension, arms, reward_range, seed)
