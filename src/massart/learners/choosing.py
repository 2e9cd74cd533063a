"""Which learner of two classes belongs to what is known of the stream: noise rate, margin, horizon, or nothing."""

from typing import Any

from massart.errors import InvalidParameterError
from massart.learners.drift import Drifting
from massart.learners.experts import FINE_MARGINS, FINE_NOISE_RATES, MARGINS, NOISE_RATES, VOTINGS, Experts
from massart.learners.halfspace import Halfspace
from massart.learners.rules import make_rule

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
    normalize: bool = True,
    seed: int = 0,
) -> Halfspace | Experts | Drifting:
    """One halfspace if noise rate and margin are known, else a pool of experts; two pools if it may forget.

    >>> type(choose_learner(5, noise_rate=0.1, margin=0.05)).__name__
    'Halfspace'
    >>> type(choose_learner(5, noise_rate=0.1)).__name__, type(choose_learner(5, horizon=1000)).__name__
    ('Experts', 'Drifting')
    """
    own: dict[str, Any] = {"fit_intercept": fit_intercept, "normalize": normalize}
    if noise_rate is not None and margin is not None:
        return Halfspace(n_features, noise_rate, margin, horizon, update=update, optimizer=optimizer, **own)
    grid: dict[str, Any] = {"noise_rates": NOISE_RATES, "margins": MARGINS}
    if noise_rate is not None:
        grid = {"noise_rates": (noise_rate,), "margins": FINE_MARGINS}
    if margin is not None:
        grid = {"noise_rates": FINE_NOISE_RATES, "margins": (margin,)}
    options = {"voting": voting, "seed": seed, **grid, **own}
    return Experts(n_features, **options) if horizon is None else Drifting(n_features, horizon, **options)


def check_choice(
    noise_rate: float | None,
    margin: float | None,
    horizon: float | None,
    *,
    update: str = "inverse-margin",
    optimizer: str = "auto",
    voting: str = "sample",
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
