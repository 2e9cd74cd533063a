"""Every argument out of range is refused, with the condition and the value in the message."""

import math
from functools import partial

import pytest

from massart import theory
from massart.errors import InvalidParameterError

GOOD = {
    "noise_rate": 0.1,
    "margin": 0.1,
    "rounds": 1000,
    "horizon": 1000,
    "samples": 1000,
    "mistakes": 10,
    "slack": 0.2,
    "floor": 0.01,
    "cap": 3.0,
    "step": 0.1,
    "constant": 1.0,
    "squared_gradients": 5.0,
    "squared_weights": 5.0,
    "largest_weight": 1.0,
    "regret": 5.0,
    "confidence": 0.9,
    "tolerance": 0.1,
    "excess": 0.1,
    "penalty": 1.0,
    "corrupted": 3,
    "distance": 0.5,
    "flip_rate": 0.2,
    "experts": 4,
    "best_loss": 10,
    "laziness": 1.1,
    "split": 100.0,
    "diameter": 2.0,
    "arms": 4,
    "gap": 0.3,
    "reward_width": 1.0,
    "exploration": 0.2,
    "zero_weight": 2.0,
    "scale": 1.0,
    "variance": 1.0,
    "drift": 0.5,
    "path": 2.0,
    "gradient_cap": 3.0,
    "first_cap": 2.0,
    "kept": 100.0,
    "delay_cost": 1.0,
    "shortfall": 10.0,
    "reach": 1.0,
    "learner_distance": 0.3,
    "target_distance": 0.3,
    "denominator": 0.4,
    "agrees": True,
    "offset": 1.0,
    "row_length": 1.0,
    "intercept_scaling": 1.0,
    "surplus": 10.0,
    "prior": 0.05,
    "position": 2,
    "squares": 100.0,
    "lowered": 1.0,
    "tail": 1.0,
    "learned": 900.0,
    "behind": 20.0,
    "price": 300.0,
    "late": 0.0,
    "floors": 80.0,
    "mixed": 0.9,
    "spreads": [(100.0, 1.0)],
    "ratio": 2.0,
    "norm": 3.0,
    "total": 100.0,
    "leak": 0.5,
    "heaviest": 1.0,
    "longest": 1.0,
    "grid": [(0.1, 0.1), (0.2, 0.05)],
    "mistake_bound": theory.ftrl_mistake_bound,
}
BAD = {
    "prior": (0.0, 1.0, -0.1, math.nan),
    "squares": (-1.0, math.nan),
    "position": (0, -1, 1.5),
    "tail": (-1.0,),
    "floors": (-1.0,),
    "mixed": (-0.1, 1.1),
    "noise_rate": (-0.01, 0.5, 0.7, math.nan, math.inf, "much", None),
    "rounds": (-1, math.nan, math.inf),
    "horizon": (-1, math.nan),
    "samples": (0, -1),
    "mistakes": (-1, 1001),
    "best_loss": (-1, 1001),
    "laziness": (0.5, -1.0, math.nan),
    "split": (-1.0, math.nan),
    "path": (-1.0, math.nan),
    "slack": (-0.1, 1.01, math.nan),
    "floor": (0.0, -1.0),
    "step": (0.0, -1.0),
    "constant": (0.0, -1.0),
    "squared_gradients": (-1.0, math.nan),
    "squared_weights": (-1.0,),
    "largest_weight": (-1.0,),
    "regret": (-1.0, math.nan),
    "confidence": (0.0, 1.0, 99, math.nan),
    "tolerance": (0.0, -0.1),
    "excess": (0.0, -0.1),
    "penalty": (-1.0,),
    "corrupted": (-1,),
    "distance": (-0.1,),
    "flip_rate": (-0.1, 1.1),
    "experts": (0, 2.5),
    "diameter": (0.0,),
    "arms": (1, 0, 2.5, math.nan),
    "gap": (0.0, -0.1, math.nan),
    "reward_width": (0.0, -1.0),
    "exploration": (0.0, 1.1, -0.1),
    "zero_weight": (0.0,),
    "scale": (-1.0,),
    "variance": (-1.0,),
    "drift": (-1.0,),
    "gradient_cap": (-1.0,),
    "first_cap": (-1.0, math.nan),
    "kept": (-1.0,),
    "reach": (-1.0,),
    "learner_distance": (-0.1,),
    "target_distance": (-0.1,),
    "denominator": (0.0,),
    "cap": (-1.0,),
    "offset": (-1.0, math.nan),
    "row_length": (-1.0, math.inf),
    "intercept_scaling": (0.0, -1.0, math.nan),
    "ratio": (0.0, -1.0, math.nan),
    "norm": (-1.0, math.nan),
    "total": (-1.0,),
    "leak": (-0.1, 1.1),
    "heaviest": (0.0, -1.0),
    "longest": (0.0, math.inf),
    "margin": (0.0, -0.1, math.nan, math.inf),
}


def _arguments(function):
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


FORMULAS = [getattr(theory, name) for name in theory.__all__ if not name.startswith("check_")]
CASES = [
    pytest.param(function, name, value, id=f"{function.__name__}-{name}={value!r}")
    for function in FORMULAS
    for name in _arguments(function)
    for value in BAD.get(name, ())
]


@pytest.mark.parametrize(("function", "name", "value"), CASES)
def test_out_of_range_is_refused_by_name_and_value(function, name, value):
    arguments = {key: GOOD[key] for key in _arguments(function)} | {name: value}
    with pytest.raises(InvalidParameterError) as refused:
        function(**arguments)
    assert repr(value) in str(refused.value)
    assert name.replace("best_loss", "mistakes") in str(refused.value)


@pytest.mark.parametrize("function", FORMULAS, ids=lambda f: f.__name__)
def test_the_middle_of_the_range_is_accepted(function):
    value = function(**{key: GOOD[key] for key in _arguments(function)})
    assert math.isfinite(value)


BETWEEN_ARMS = (theory.arm_floor, theory.paper_shift, theory.lift_evidence)  # a difference of two scores reaches 2
OF_POINTS = [f for f in FORMULAS if "margin" in _arguments(f) and "arms" not in _arguments(f) and f not in BETWEEN_ARMS]


@pytest.mark.parametrize("function", OF_POINTS, ids=lambda f: f.__name__)
def test_the_margin_of_a_point_stops_at_one(function):
    with pytest.raises(InvalidParameterError, match=r"0 < margin <= 1; got 1\.5"):
        function(**{key: GOOD[key] for key in _arguments(function)} | {"margin": 1.5})


BANDIT = [f for f in FORMULAS if {"arms", "gap", "margin", "reward_width"} <= set(_arguments(f))]


@pytest.mark.parametrize("function", BANDIT, ids=lambda f: f.__name__)
def test_a_chain_of_arms_has_to_fit(function):
    call = partial(function, **{key: GOOD[key] for key in _arguments(function)})
    call(gap=1 / 3, margin=2 / 3)  # exactly full: three gaps in 1, three margins in 2
    with pytest.raises(InvalidParameterError, match=r"\(arms - 1\) \* gap <= reward_width .* 0\.34 > 1\.0"):
        call(gap=0.34)
    with pytest.raises(InvalidParameterError, match=r"\(arms - 1\) \* margin <= 2 .* 0\.67 > 2"):
        call(margin=0.67)


def test_slack_is_bounded_by_the_noise_and_by_the_gap():
    with pytest.raises(InvalidParameterError, match=r"slack <= 1 - 2 noise_rate = 0\.2; got 0\.3"):
        theory.sharp_floor(noise_rate=0.4, slack=0.3, margin=0.1)
    with pytest.raises(InvalidParameterError, match=r"0 <= slack <= gap = 0\.1; got 0\.2"):
        theory.arm_floor(gap=0.1, slack=0.2, margin=0.1)


def test_a_pool_needs_a_safe_expert_and_an_honest_count():
    with pytest.raises(InvalidParameterError, match=r"no pair with noise_rate >= 0\.3 and margin <= 0\.1"):
        theory.pool_mistake_bound(0.3, 0.1, 1000, [(0.1, 0.1), (0.4, 0.2)])
    with pytest.raises(InvalidParameterError, match="at least the 2"):
        theory.pool_mistake_bound(0.1, 0.1, 1000, [(0.1, 0.1), (0.4, 0.2)], experts=1)


AT_LEAST_ONE = [
    theory.tuned_slack,
    theory.black_box_slack,
    theory.paper_slack,
    theory.paper_step,
    theory.paper_mistake_bound,
    theory.paper_anytime_mistake_bound,
    theory.exploration_rate,
    theory.paper_zero_weight,
    theory.online_to_batch_error,
]


@pytest.mark.parametrize("function", AT_LEAST_ONE, ids=lambda f: f.__name__)
def test_a_tuning_needs_one_round(function):
    name = "samples" if "samples" in _arguments(function) else "rounds"
    call = partial(function, **{key: GOOD[key] for key in _arguments(function)})
    assert math.isfinite(call(**{name: 1}))
    with pytest.raises(InvalidParameterError, match=f"{name} >= 1; got 0.5"):
        call(**{name: 0.5})


def test_refusals_are_value_errors_too():
    with pytest.raises(ValueError, match="noise_rate"):
        theory.gradient_cap(0.5, 0.1)
