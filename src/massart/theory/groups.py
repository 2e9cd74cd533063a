"""Specialists and groups: what following several learners costs, in every group of rounds at once.  Theorem 21."""

import math
from collections.abc import Iterable

from massart.errors import InvalidParameterError
from massart.theory.conditions import check_nonnegative, check_rounds
from massart.theory.experts import pool_mistake_bound

__all__ = ["everybody_prior", "group_mistake_bound", "group_prior", "specialist_price"]

_RATES = 32


def everybody_prior() -> float:
    """Theorem 20 of docs/theory.md: what the learner of everybody weighs at first among the specialists.

    >>> everybody_prior()
    0.5
    """
    return 0.5


def group_prior(position: int) -> float:
    """Theorem 20 of docs/theory.md: what each of the two specialists of the k-th group to join weighs at first.

    1 / (4 k (k + 1)), so that all of them and that of everybody add up to 1.

    >>> group_prior(1), 0.5 + 2 * sum(group_prior(k) for k in range(1, 10_000)) < 1
    (0.125, True)
    """
    if not isinstance(position, int) or position < 1:
        raise InvalidParameterError(
            f"position must be a whole number with position >= 1; got {position!r}. The first group is 1."
        )
    return 0.25 / (position * (position + 1.0))


def specialist_price(squares: float, prior: float) -> float:
    """Theorem 21(a) of docs/theory.md: how many more mistakes draws are expected to make than a specialist.

    min over lambda = 1/2, 1/4, ..., 2^-32 of L / lambda + lambda V,  L = ln(32 / prior), where V is the
    sum of (h - l)^2 over its rounds, at most their number. Below 3 sqrt(V L) + 4 L for V <= 2^60.

    >>> round(specialist_price(squares=10_000, prior=0.125), 1)
    489.9
    """
    square = check_nonnegative("squares", squares)
    if not 0.0 < prior < 1.0:
        raise InvalidParameterError(f"prior must satisfy 0 < prior < 1; got {prior!r}. All priors add up to 1 at most.")
    log = math.log(_RATES / prior)
    return min(log * 2.0**j + square * 2.0**-j for j in range(1, _RATES + 1))


def group_mistake_bound(
    noise_rate: float,
    margin: float,
    rounds: float,
    grid: Iterable[tuple[float, float]],
    experts: int | None = None,
    position: int = 1,
) -> float:
    """Theorem 21(b) of docs/theory.md: E[M_g] of a group whose labels are flipped at `noise_rate` at most.

    pool_mistake_bound(noise_rate, margin, n, grid, experts) + specialist_price(n, group_prior(position)) for
    a group of at most n rounds, the `position`-th to join. Others may have any noise at all.

    >>> grid = [(p, g) for p in (0.05, 0.15, 0.3, 0.45) for g in (1 / 16, 1 / 128)]
    >>> round(group_mistake_bound(0.05, 0.1, 10**6, grid, experts=17, position=3) / 10**6, 3)
    0.078
    """
    count = check_rounds(rounds)
    return pool_mistake_bound(noise_rate, margin, count, grid, experts) + specialist_price(count, group_prior(position))
