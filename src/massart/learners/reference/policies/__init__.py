"""The usual bandit policies, for comparison: in one protocol, compiled like the rest."""

from massart.learners.choice import Played
from massart.learners.reference.policies.base import Policy
from massart.learners.reference.policies.disjoint import LinUCBDisjoint
from massart.learners.reference.policies.linear import (
    ActionCentredRidge,
    EpochGreedy,
    EpsilonGreedyRidge,
    LinearThompson,
    LinUCB,
    SquareCB,
    Uniform,
)

__all__ = [
    "ActionCentredRidge",
    "EpochGreedy",
    "EpsilonGreedyRidge",
    "LinUCB",
    "LinUCBDisjoint",
    "LinearThompson",
    "Played",
    "Policy",
    "SquareCB",
    "Uniform",
]
