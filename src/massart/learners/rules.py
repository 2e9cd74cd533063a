"""From the words of the API to the numbers of a kernel: which update, with which parameters of the theory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels import halfspace as kernel
from massart.learners.rows import SMALLEST

UPDATES = ("inverse-margin", "paper")
OPTIMIZERS = ("auto", "ftrl", "fixed", "adagrad-norm")
_KINDS = {"ftrl": kernel.FTRL, "fixed": kernel.FIXED, "adagrad-norm": kernel.ADAGRAD}

_CHECKED = 1 << 16  # rows of an array that are looked at together


def make_rule(
    noise_rate: float,
    margin: float,
    horizon: float | None = None,
    *,
    update: str = "inverse-margin",
    optimizer: str = "auto",
    fit_intercept: bool = True,
    normalize: bool = True,
) -> NDArray[np.float64]:
    """The rule vector of one halfspace; every value outside its theorem's range is refused by name.

    >>> make_rule(0.1, 0.05).tolist()
    [0.0, 0.1, 0.05, 0.0, 1.0, 1.0]
    """
    theory.gradient_cap(noise_rate, margin)  # refuses a noise rate or a margin out of range
    if horizon is not None and not (np.isfinite(horizon) and horizon >= 1):
        raise InvalidParameterError(
            f"horizon={horizon!r}: give the number of rounds to come (1 or more), or None when it is not known"
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
    return np.array([kind, noise_rate, margin, pace, float(normalize), float(fit_intercept)])


def expert_name(noise_rate: float, margin: float) -> str:
    """How a learner with a promise is called among others.

    >>> expert_name(0.05, 1 / 16)
    'promise, noise 0.05, margin 0.062'
    """
    return f"promise, noise {noise_rate:g}, margin {margin:.2g}"


def initial_state(rule: NDArray[np.float64]) -> NDArray[np.float64]:
    """The state of a halfspace with w = 0 that has seen nothing."""
    s = np.zeros(kernel.STATE_SIZE)
    s[kernel.SCALE] = 1.0
    noise_rate, margin = float(rule[kernel.ETA]), float(rule[kernel.GAMMA])
    if rule[kernel.KIND] == kernel.PAPER:
        slack = theory.paper_slack(noise_rate, margin, max(1.0, float(rule[kernel.PACE])))
        s[kernel.CAP] = theory.paper_gradient_cap(noise_rate, slack, theory.paper_floor(slack, margin))
    else:
        s[kernel.CAP] = theory.gradient_cap(noise_rate, margin)
    if rule[kernel.KIND] == kernel.FTRL:
        s[kernel.SCALE] = 1.0 / np.sqrt(2.0 * s[kernel.CAP] ** 2)
    if rule[kernel.KIND] == kernel.FIXED:
        s[kernel.SCALE] = rule[kernel.PACE]
    return s


def regret_bound(rule: NDArray[np.float64], s: NDArray[np.float64]) -> float:
    """What the optimiser's regret on <g, .> is at most, from the gradients it has really seen."""
    kind, squares = rule[kernel.KIND], float(s[kernel.SQUARES])
    if kind == kernel.FTRL:
        return theory.ftrl_regret(float(s[kernel.CAP]), squares)
    if kind == kernel.FIXED:
        return theory.fixed_regret(float(rule[kernel.PACE]), squares)
    if kind == kernel.ADAGRAD:
        return theory.adagrad_regret(squares)
    # Gradient descent with steps that never grow, in a ball of diameter 2, plus the price of the slack.
    distance = 2.0 / float(s[kernel.STEP]) if s[kernel.STEP] > 0 else 0.0
    return distance + float(s[kernel.STEPPED]) / 2 + float(s[kernel.SLACK])


def deviation(rule: NDArray[np.float64], s: NDArray[np.float64], confidence: float) -> float:
    """How far chance may carry the mistakes above their expectation, at this confidence."""
    if s[kernel.ROUNDS] == 0:
        return 0.0
    margin = float(rule[kernel.GAMMA] if rule[kernel.KIND] != kernel.PAPER else s[kernel.FLOOR])
    return theory.deviation(
        float(rule[kernel.ETA]),
        margin / max(1.0, float(s[kernel.LONGEST2]) ** 0.5),
        confidence,
        float(s[kernel.ROUNDS]),
        squared_weights=float(s[kernel.WEIGHT2]),
        largest_weight=float(s[kernel.HEAVIEST]),
    )


def check_arrays(arrays: dict[str, NDArray[Any]], shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse arrays from a file that a kernel could not work on safely: wrong shape, wrong type, not finite."""
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous or not array.flags.aligned:
            raise ModelFileError(
                f"array {name!r} is {array.dtype} of shape {array.shape}, not float64 of shape {shape}"
            )
        blocks = (array[start : start + _CHECKED] for start in range(0, array.shape[0], _CHECKED))
        if array.size == 0 or not all(np.isfinite(block).all() for block in blocks):
            raise ModelFileError(f"array {name!r} is empty or holds numbers that are not finite")
