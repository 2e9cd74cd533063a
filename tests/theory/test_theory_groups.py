"""Theorem 21: priors that add up to 1 at most, and a price that is as small as the theorem says."""

import itertools
import math

import numpy as np
import pytest

from massart import theory
from massart.errors import InvalidParameterError


def test_priors_add_up_to_one():
    assert theory.everybody_prior() + 2 * sum(theory.group_prior(k) for k in range(1, 10**6)) <= 1.0
    assert theory.everybody_prior() + 2 * sum(theory.group_prior(k) for k in range(1, 10**6)) > 0.999


@pytest.mark.parametrize("prior", [0.5, 0.125, 1e-6])
def test_the_price_is_below_the_closed_form(prior):
    log = math.log(32 / prior)
    for squares in [0.0, *np.logspace(-3, 18, 200)]:
        price = theory.specialist_price(squares, prior)
        assert price <= 3 * math.sqrt(squares * log) + 4 * log
        assert price >= 2 * math.sqrt(squares * log) * (1 - 1e-12)  # the best rate of all
        assert price >= 2 * log


def test_the_price_rises_with_the_squares_and_falls_with_the_prior():
    prices = [theory.specialist_price(v, 0.1) for v in np.linspace(0, 10**5, 500)]
    assert all(a <= b for a, b in itertools.pairwise(prices))
    assert theory.specialist_price(100, 0.2) < theory.specialist_price(100, 0.1)


def test_a_group_of_little_noise_has_a_bound_below_that_of_all():
    grid = [(p, g) for p in (0.05, 0.15, 0.3, 0.45) for g in (1 / 16, 1 / 128)]
    own = theory.group_mistake_bound(0.05, 0.1, 10**6, grid, experts=17)
    assert own < 0.5 * theory.pool_mistake_bound(0.3, 0.1, 10**6, grid, experts=17)
    assert own - theory.pool_mistake_bound(0.05, 0.1, 10**6, grid, experts=17) == pytest.approx(
        theory.specialist_price(10**6, 0.125)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.group_prior(0), "position >= 1"),
        (lambda: theory.specialist_price(-1.0, 0.5), "squares"),
        (lambda: theory.specialist_price(1.0, 0.0), "0 < prior < 1"),
        (lambda: theory.group_mistake_bound(0.05, 0.001, 100, [(0.1, 0.1)]), "grid holds no pair"),
    ],
)
def test_what_has_no_meaning_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()
