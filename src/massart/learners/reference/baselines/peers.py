"""Learners of other people's packages in our protocol: what is there, what it is called, how to get it."""

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
_SKLEARN: Final = ("sklearn", f"{_HERE}.peer_sklearn")
_PEERS: Final[dict[str, _Peer]] = {
    "sklearn-log": _Peer(*_SKLEARN, "scikit-learn's SGDClassifier, logistic loss, its own settings"),
    "sklearn-hinge": _Peer(*_SKLEARN, "scikit-learn's SGDClassifier, hinge loss, its own settings"),
    "sklearn-perceptron": _Peer(*_SKLEARN, "scikit-learn's Perceptron"),
    "sklearn-pa": _Peer(*_SKLEARN, "scikit-learn's passive-aggressive learner, PA-I with C = 1"),
    "sklearn-log-averaged": _Peer(*_SKLEARN, "scikit-learn's SGDClassifier, logistic loss, averaged weights"),
    "river-log": _Peer("river", f"{_HERE}.peer_river", "river's LogisticRegression, its own settings"),
    "vw": _Peer("vowpalwabbit", f"{_HERE}.peer_vw", "Vowpal Wabbit, logistic loss, its own adaptive steps"),
}
NAMES: Final = tuple(_PEERS)
_INSTALL: Final = "pip install 'massart[bench]'"


@cache
def _importable(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def is_installed(name: str) -> bool:
    """Whether the package behind a peer is there.

    >>> is_installed("sklearn-log")
    True
    """
    return _importable(_PEERS[name].package)


def describe(name: str) -> str:
    """One line on what a peer is."""
    return _PEERS[name].description


def make(name: str, n_features: int, seed: int = 0) -> Any:
    """A fresh peer; its package is imported now.

    >>> make("sklearn-perceptron", 3).predict([0.1, 0.2, 0.3])
    1
    """
    peer = _PEERS[name]
    if not is_installed(name):
        raise InvalidParameterError(
            f"the learner {name!r} needs the package {peer.package!r}, which is not installed: {_INSTALL}"
        )
    return importlib.import_module(peer.module).build_learner(name, n_features, seed)
