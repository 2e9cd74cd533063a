"""Algorithm 1 as boxed in the paper, with the choices of errata 8 and 11, against the library's update="paper"."""

import math

import numpy as np
import pytest
from paper_formulas import c_loss, sign, to_ball

from massart import theory
from massart.learners.halfspace import Halfspace


def _numerical_gradient(loss, w, h=1e-7):
    return np.array([(loss(w + h * e) - loss(w - h * e)) / (2 * h) for e in np.eye(w.size)])


def test_algorithm_1_is_followed_round_by_round():
    """Lines 1 to 3(e); the gradient is taken numerically from the printed loss, not from a formula of ours."""
    rng = np.random.default_rng(1)
    eta, gamma, T, d = 0.15, 0.2, 40, 4
    eps = theory.paper_slack(eta, gamma, T)
    dt, tau = 1 - 2 * eta - eps, eps * gamma / 4  # line 1
    G = (1 + dt) / (2 * tau)
    w = np.zeros(d)  # line 2, erratum 8
    learner = Halfspace(d, eta, gamma, T, update="paper", fit_intercept=False, normalize=False)
    for t in range(T):
        x = rng.standard_normal(d)
        x /= np.linalg.norm(x)
        y = float(rng.choice([-1, 1]))
        assert learner.predict(x) == sign(w @ x)  # line 3(b)
        learner.learn(x, y)
        m = max(abs(w @ x), tau)
        if t == 0:  # at the kink w.x = 0 the subgradient with the predicted sign, +1
            g = (dt - y) / 2 * x / m
        else:  # line 3(d)
            g = _numerical_gradient(lambda u, x=x, y=y, m=m: c_loss(dt, u @ x, y) / m, w)
        w = to_ball(w - 2 / (G * math.sqrt(T)) * g)  # line 3(e) with Fact 2.4 in the unit ball, erratum 11
        np.testing.assert_allclose(learner.weights, w, atol=1e-5)
    assert learner.rounds == T


def test_algorithm_1_parameters_are_those_of_its_first_line():
    eta, gamma, T = 0.1, 0.1, 10**6
    eps = theory.paper_slack(eta, gamma, T)
    assert theory.paper_floor(eps, gamma) == pytest.approx(eps * gamma / 4)
    cap = theory.paper_gradient_cap(eta, eps, theory.paper_floor(eps, gamma))
    assert cap == pytest.approx((2 - 2 * eta - eps) * 2 / (eps * gamma))
    # Erratum 9: the printed lemma is void at this floor, the sharp floor is above it.
    assert theory.paper_lemma_excess(T, 0.0, eps, theory.paper_floor(eps, gamma), gamma) > 2 * T
    assert theory.paper_floor(eps, gamma) <= theory.sharp_floor(eta, eps, gamma)
