"""What a policy would have earned, from a log of what another one did: estimators and their intervals."""

from massart.evaluation.estimators import (
    Estimate,
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
from massart.evaluation.log import POLICIES, Policy, WeightedLog, weigh
from massart.evaluation.off_policy import ESTIMATORS, INTERVALS, Evaluation, Line, evaluate
from massart.evaluation.reward_model import RidgeRewards, cross_fitted_rewards

__all__ = [
    "ESTIMATORS",
    "INTERVALS",
    "POLICIES",
    "Estimate",
    "Evaluation",
    "Interval",
    "Line",
    "Policy",
    "RidgeRewards",
    "WeightedLog",
    "bootstrap_intervals",
    "clopper_pearson_interval",
    "confidence_sequence",
    "cressie_read_interval",
    "cross_fitted_rewards",
    "direct_method",
    "doubly_robust",
    "empirical_bernstein_interval",
    "evaluate",
    "ips",
    "normal_interval",
    "snips",
    "switch_doubly_robust",
    "weigh",
]
