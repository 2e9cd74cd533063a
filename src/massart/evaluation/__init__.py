"""What a policy would have earned, from a log of what another one did: estimators and their intervals."""

from massart.evaluation.differences import difference_from_log, difference_interval
from massart.evaluation.estimators import (
    Estimate,
    difference,
    direct_method,
    doubly_robust,
    ips,
    snips,
    switch_doubly_robust,
)
from massart.evaluation.intervals import (
    Interval,
    bootstrap_intervals,
    confidence_sequence,
    empirical_bernstein_interval,
    normal_interval,
)
from massart.evaluation.likelihood import clopper_pearson_interval, cressie_read_interval
from massart.evaluation.log import POLICIES, Policy, WeightedLog, weigh, weigh_all
from massart.evaluation.off_policy import compare, evaluate
from massart.evaluation.options import ESTIMATORS, INTERVALS, EvaluationOptions
from massart.evaluation.propensities import estimated_propensities
from massart.evaluation.results import Comparison, Difference, Evaluation, Line, PositionLine
from massart.evaluation.reward_model import REWARD_MODELS, RidgeRewards, cross_fitted_rewards, regressor

__all__ = [
    "ESTIMATORS",
    "INTERVALS",
    "POLICIES",
    "REWARD_MODELS",
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "EvaluationOptions",
    "Interval",
    "Line",
    "Policy",
    "PositionLine",
    "RidgeRewards",
    "WeightedLog",
    "bootstrap_intervals",
    "clopper_pearson_interval",
    "compare",
    "confidence_sequence",
    "cressie_read_interval",
    "cross_fitted_rewards",
    "difference",
    "difference_from_log",
    "difference_interval",
    "direct_method",
    "doubly_robust",
    "empirical_bernstein_interval",
    "estimated_propensities",
    "evaluate",
    "ips",
    "normal_interval",
    "regressor",
    "snips",
    "switch_doubly_robust",
    "weigh",
    "weigh_all",
]
