"""Which learner of two classes belongs to what is known of the stream: noise rate, margin, horizon, or nothing."""

from typing import Any

from massart.errors import InvalidParameterError
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace
from massart.learners.pool import VOTINGS, Experts, expert_grid
from massart.learners.rules import is_proved, make_rule, weighted_noise_rate

__all__ = ["check_choice", "choose_learner"]


def choose_learner(
    n_features: int,
    noise_rate: float | None = None,
    margin: float | None = None,
    horizon: float | None = None,
    *,
    update: str = "inverse-margin",
    optimizer: str = "auto",
    voting: str = "sample",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    normalize: bool = True,
    class_weight: tuple[float, float] = (1.0, 1.0),
    seed: int = 0,
) -> Halfspace | Experts | Drifting:
    """One halfspace if noise rate and margin are known, else a pool of experts; two pools if it may forget.

    >>> type(choose_learner(5, noise_rate=0.1, margin=0.05)).__name__
    'Halfspace'
    >>> type(choose_learner(5, noise_rate=0.1)).__name__, type(choose_learner(5, horizon=1000)).__name__
    ('Experts', 'Drifting')
    """
    own: dict[str, Any] = {
        "fit_intercept": fit_intercept,
        "intercept_scaling": intercept_scaling,
        "normalize": normalize,
        "class_weight": class_weight,
    }
    if noise_rate is not None and margin is not None:
        return Halfspace(n_features, noise_rate, margin, horizon, update=update, optimizer=optimizer, **own)
    known = None if noise_rate is None else weighted_noise_rate(noise_rate, class_weight)
    options = {"voting": voting, "seed": seed, "grid": expert_grid(known, margin, fit_intercept=fit_intercept), **own}
    learner = Experts(n_features, **options) if horizon is None else Drifting(n_features, horizon, **options)
    if noise_rate is not None and not is_proved(noise_rate, class_weight):
        learner.mark_unproved()
    return learner


def check_choice(
    noise_rate: float | None,
    margin: float | None,
    horizon: float | None,
    *,
    update: str = "inverse-margin",
    optimizer: str = "auto",
    voting: str = "sample",
    intercept_scaling: float = 1.0,
) -> None:
    """Refuse, by name, what no learner could be made of.

    >>> check_choice(None, 0.1, None, update="paper")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: update='paper' is for a learner that knows noise_rate and margin: ...
    """
    make_rule(
        0.0 if noise_rate is None else noise_rate,
        1.0 if margin is None else margin,
        horizon,
        update=update,
        optimizer=optimizer,
        intercept_scaling=intercept_scaling,
    )
    if noise_rate is None or margin is None:
        for name, value, only in (("update", update, "inverse-margin"), ("optimizer", optimizer, "auto")):
            if value != only:
                raise InvalidParameterError(
                    f"{name}={value!r} is for a learner that knows noise_rate and margin: give both, "
                    f"or leave {name}={only!r}"
                )
    if voting not in VOTINGS:
        raise InvalidParameterError(f"voting={voting!r}: choose one of {', '.join(map(repr, VOTINGS))}")
