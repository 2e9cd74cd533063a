"""The learners that people would use instead: for comparison, in the same protocol and compiled like the rest."""

from massart.learners.reference.baselines.linear import (
    CoinBetting,
    HingeDescent,
    LeakyReluDescent,
    LogisticDescent,
    PassiveAggressive,
    Perceptron,
)
from massart.learners.reference.baselines.net import ExponentialNet
from massart.learners.reference.baselines.paired import AdaptiveLogistic, AveragedPerceptron
from massart.learners.reference.baselines.second_order import Arow, OnlineRidge

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
