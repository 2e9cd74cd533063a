"""Bandit policies that people would use instead: for comparison, in one protocol and compiled like the rest."""

from massart.learners.policies.epoch_greedy import EpochGreedy
from massart.learners.policies.linucb import LinUCB
from massart.learners.policies.protocol import Played, Policy
from massart.learners.policies.ridge import ActionCentredRidge, EpsilonGreedyRidge
from massart.learners.policies.squarecb import SquareCB
from massart.learners.policies.thompson import LinearThompson
from massart.learners.policies.uniform import Uniform

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
