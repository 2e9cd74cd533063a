"""Online linear classification with a mistake bound when labels are wrong unevenly.

    E[mistakes] <= noise_rate * T + O(sqrt(T) / margin)

for labels flipped by an adversary with probability at most `noise_rate` at each point, if noise rate and margin are
known (Theorem 1 of docs/theory.md); what holds otherwise is in docs/guarantees.md.
Importing this package costs nothing: every public name is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from massart import arena as arena
    from massart import client as client
    from massart import data as data
    from massart import evaluation as evaluation
    from massart import log as log
    from massart import plot as plot
    from massart import river as river
    from massart import scale as scale
    from massart import theory as theory
    from massart import worlds as worlds
    from massart.label_errors import diagnose as diagnose
    from massart.learners.bandit import MonotoneBandit as MonotoneBandit
    from massart.learners.certificate import Certificate as Certificate
    from massart.learners.choice import Choice as Choice
    from massart.learners.classifier import MassartClassifier as MassartClassifier
    from massart.learners.halfspace import Halfspace as Halfspace
    from massart.learners.ranker import MonotoneRanker as MonotoneRanker
    from massart.models.opening import load as load
    from massart.models.saving import save as save

__version__ = "0.1.0"

_HOME = {
    "Certificate": "massart.learners.certificate",
    "Choice": "massart.learners.choice",
    "Halfspace": "massart.learners.halfspace",
    "MassartClassifier": "massart.learners.classifier",
    "MonotoneBandit": "massart.learners.bandit",
    "MonotoneRanker": "massart.learners.ranker",
    "diagnose": "massart.label_errors",
    "load": "massart.models.opening",
    "save": "massart.models.saving",
}
_ROOMS = ("arena", "client", "data", "evaluation", "log", "plot", "river", "scale", "theory", "worlds")

__all__ = [
    "Certificate",
    "Choice",
    "Halfspace",
    "MassartClassifier",
    "MonotoneBandit",
    "MonotoneRanker",
    "arena",
    "client",
    "data",
    "diagnose",
    "evaluation",
    "load",
    "log",
    "plot",
    "river",
    "save",
    "scale",
    "theory",
    "worlds",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"massart.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'massart' has no attribute {name!r}; its public names are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "errors"])
