"""The usual online learners, for comparison: in the same protocol, compiled like the rest."""

from massart.learners.reference.baselines.linear import (
    AdaptiveLogistic,
    Arow,
    AveragedPerceptron,
    CoinBetting,
    HingeDescent,
    LeakyReluDescent,
    LogisticDescent,
    OnlineRidge,
    PassiveAggressive,
    Perceptron,
)
from massart.learners.reference.baselines.net import ExponentialNet

__all__ = [
    "AdaptiveLogistic",
    "Arow",
    "AveragedPerceptron",
    "CoinBetting",
    "ExponentialNet",
    "HingeDescent",
    "LeakyReluDescent",
    "LogisticDescent",
    "OnlineRidge",
    "PassiveAggressive",
    "Perceptron",
]
