"""From the words of the API to the numbers of a kernel: which update, with which parameters of the theory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.errors import InvalidParameterError
from massart.kernels.door import LARGEST, SMALLEST
from massart.kernels.learning import halfspace as kernel

UPDATES = ("inverse-margin", "paper")
OPTIMIZERS = ("auto", "ftrl", "fixed", "adagrad-norm")
_KINDS = {"ftrl": kernel.FTRL, "fixed": kernel.FIXED, "adagrad-norm": kernel.ADAGRAD}

_MOST_WEIGHTED = 0.49  # the largest noise rate that class weights may make
LONGEST_HORIZON = 2.0**53  # rounds, the most that can be counted


def make_rule(
    noise_rate: float,
    margin: float,
    horizon: float | None = None,
    *,
    update: str = "inverse-margin",
    optimizer: str = "auto",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    normalize: bool = True,
    class_weight: tuple[float, float] = (1.0, 1.0),
) -> NDArray[np.float64]:
    """The rule vector of one halfspace; every value outside its theorem's range is refused by name.

    `class_weight` are the weights of the labels -1 and +1; the noise rate is raised accordingly (Theorem 13).

    >>> make_rule(0.1, 0.05).tolist()
    [0.0, 0.1, 0.05, 0.0, 1.0, 1.0, 1.0, 1.0]
    >>> make_rule(0.2, 0.05, class_weight=(1.0, 2.0)).round(3).tolist()
    [0.0, 0.333, 0.05, 0.0, 1.0, 1.0, 1.0, 2.0]
    """
    theory.gradient_cap(noise_rate, margin)  # refuses a noise rate or a margin out of range
    check_intercept_scaling(intercept_scaling)
    noise_rate = weighted_noise_rate(noise_rate, class_weight)
    if horizon is not None and not 1 <= horizon <= LONGEST_HORIZON:
        raise InvalidParameterError(
            f"horizon={horizon!r}: give the number of rounds to come (1 to 2**53), or None when it is not known"
        )
    if margin < SMALLEST:
        raise InvalidParameterError(
            f"margin={margin!r}: the gradients, of order 1 / margin, must stay finite; take a larger one"
        )
    if update not in UPDATES:
        raise InvalidParameterError(f"update={update!r}: choose one of {', '.join(map(repr, UPDATES))}")
    if optimizer not in OPTIMIZERS:
        raise InvalidParameterError(f"optimizer={optimizer!r}: choose one of {', '.join(map(repr, OPTIMIZERS))}")
    if update == "paper":
        if optimizer != "auto":
            raise InvalidParameterError(
                f"optimizer={optimizer!r}: update='paper' brings its own gradient descent; leave optimizer='auto'"
            )
        kind, pace = kernel.PAPER, float(horizon or 0.0)
    else:
        if optimizer == "auto":
            optimizer = "ftrl" if horizon is None else "fixed"
        kind, pace = _KINDS[optimizer], 0.0
        if optimizer == "fixed":
            if horizon is None:
                raise InvalidParameterError(
                    "optimizer='fixed' needs horizon, the number of rounds to come: its step depends on it. "
                    "When it is not known, use optimizer='ftrl'"
                )
            pace = theory.fixed_step(noise_rate, margin, horizon)
    constant = float(intercept_scaling) if fit_intercept else 0.0
    return np.array([kind, noise_rate, margin, pace, float(normalize), constant, *class_weight])


def weighted_noise_rate(noise_rate: float, class_weight: tuple[float, float]) -> float:
    """The noise rate of mistakes that weigh what their label does, of the weights of -1 and +1 (Theorem 13).

    From one half on nothing is proved, as `is_proved` tells; the step then uses a rate just below it.

    >>> weighted_noise_rate(0.2, (1.0, 2.0)), weighted_noise_rate(0.2, (1.0, 100.0))
    (0.3333333333333333, 0.49)
    """
    negative, positive = class_weight
    if not (SMALLEST <= negative <= LARGEST and SMALLEST <= positive <= LARGEST):
        raise InvalidParameterError(
            f"class_weight={class_weight!r}: give two weights between {SMALLEST:g} and {LARGEST:g}, of -1 and of +1"
        )
    if negative == positive:
        return noise_rate
    return max(noise_rate, min(_MOST_WEIGHTED, theory.class_weight_noise_rate(noise_rate, positive / negative)))


def is_proved(noise_rate: float, class_weight: tuple[float, float]) -> bool:
    """Whether weighted mistakes have a noise rate for which Theorem 13 says something."""
    negative, positive = class_weight
    return negative == positive or theory.class_weight_noise_rate(noise_rate, positive / negative) <= _MOST_WEIGHTED


def check_intercept_scaling(intercept_scaling: float) -> float:
    """A value of the constant coordinate that squares neither overflow nor vanish with."""
    if not SMALLEST <= intercept_scaling <= LARGEST:
        raise InvalidParameterError(
            f"intercept_scaling={intercept_scaling!r}: give the value of the constant coordinate, a number between "
            f"{SMALLEST:g} and {LARGEST:g}; 1 is usual"
        )
    return float(intercept_scaling)


def expert_name(noise_rate: float, margin: float, constant: bool = True) -> str:
    """How a learner with a mistake bound is called among others.

    >>> expert_name(0.05, 1 / 16), expert_name(0.05, 1 / 128, constant=False)
    ('bounded, noise 0.05, margin 0.062', 'bounded, noise 0.05, margin 0.0078, no constant')
    """
    return f"bounded, noise {noise_rate:g}, margin {margin:.2g}{'' if constant else ', no constant'}"


def initial_state(rule: NDArray[np.float64]) -> NDArray[np.float64]:
    """The state of a halfspace with w = 0 that has seen nothing."""
    s = np.zeros(len(kernel.State))
    s[kernel.State.SCALE] = 1.0
    noise_rate, margin = float(rule[kernel.Rule.ETA]), float(rule[kernel.Rule.GAMMA])
    if rule[kernel.Rule.KIND] == kernel.PAPER:
        slack = theory.paper_slack(noise_rate, margin, max(1.0, float(rule[kernel.Rule.PACE])))
        s[kernel.State.CAP] = theory.paper_gradient_cap(noise_rate, slack, theory.paper_floor(slack, margin))
    else:
        s[kernel.State.CAP] = theory.gradient_cap(noise_rate, margin)
    if rule[kernel.Rule.KIND] == kernel.FTRL:
        s[kernel.State.SCALE] = 1.0 / np.sqrt(2.0 * (s[kernel.State.CAP] * s[kernel.State.CAP]))
    if rule[kernel.Rule.KIND] == kernel.FIXED:
        s[kernel.State.SCALE] = rule[kernel.Rule.PACE]
    return s


def regret_bound(rule: NDArray[np.float64], s: NDArray[np.float64]) -> float:
    """What the optimiser's regret on <g, .> is at most, from the gradients it has really seen."""
    kind, squares = rule[kernel.Rule.KIND], float(s[kernel.State.SQUARES])
    if kind == kernel.FTRL:
        return theory.ftrl_regret(float(s[kernel.State.CAP]), squares)
    if kind == kernel.FIXED:
        return theory.fixed_regret(float(rule[kernel.Rule.PACE]), squares)
    if kind == kernel.ADAGRAD:
        return theory.adagrad_regret(squares)
    # Gradient descent with steps that never grow, in a ball of diameter 2, plus the price of the slack.
    distance = 2.0 / float(s[kernel.State.STEP]) if s[kernel.State.STEP] > 0 else 0.0
    return distance + float(s[kernel.State.STEPPED]) / 2 + float(s[kernel.State.SLACK])


def padded(array: NDArray[Any], size: int, values: Any) -> NDArray[Any]:
    """An array of a file written before its first axis grew to `size`: `values` are what the new entries become."""
    if array.shape[0] != size - len(values):
        return array
    new = np.asarray(values, dtype=np.float64).reshape(len(values), *array.shape[1:])
    return np.concatenate([array, new])
