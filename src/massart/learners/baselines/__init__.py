"""The learners that people would use instead: for comparison, in the same protocol and compiled like the rest."""

from massart.learners.baselines.linear import (
    CoinBetting,
    HingeDescent,
    LeakyReluDescent,
    LogisticDescent,
    PassiveAggressive,
    Perceptron,
)
from massart.learners.baselines.net import ExponentialNet
from massart.learners.baselines.paired import AdaptiveLogistic, AveragedPerceptron
from massart.learners.baselines.second_order import Arow, OnlineRidge

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
