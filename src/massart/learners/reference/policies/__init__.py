"""Bandit policies that people would use instead: for comparison, in one protocol and compiled like the rest."""

from massart.learners.choice import Played
from massart.learners.reference.policies.epoch_greedy import EpochGreedy
from massart.learners.reference.policies.linucb import LinUCB
from massart.learners.reference.policies.protocol import Policy
from massart.learners.reference.policies.ridge import ActionCentredRidge, EpsilonGreedyRidge
from massart.learners.reference.policies.squarecb import SquareCB
from massart.learners.reference.policies.thompson import LinearThompson
from massart.learners.reference.policies.uniform import Uniform

__all__ = [
    "ActionCentredRidge",
    "EpochGreedy",
    "EpsilonGreedyRidge",
    "LinUCB",
    "LinearThompson",
    "Played",
    "Policy",
    "SquareCB",
    "Uniform",
]
