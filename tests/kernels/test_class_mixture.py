"""The mixture of several classes by hand: blends, calibrations, and Bayes' rule with its shared part."""

import numpy as np
import pytest

from massart.kernels.learning import class_mixture as kernel
from massart.kernels.learning.mixture import Member


@pytest.mark.jit
def test_one_round_by_hand():
    rng = np.random.default_rng(0)
    k, experts, label, rounds = 4, 3, 2, 9.0
    P, M = rng.dirichlet(np.ones(k), experts), np.zeros((len(Member), 8))
    M[Member.SHARE, :experts] = rng.random(experts)
    mixed, trust = rng.dirichlet(np.ones(experts), 1), rng.dirichlet(np.ones(kernel.CALIBRATIONS), 1)
    R, B, p = np.zeros((kernel.BLENDS * len(kernel.POWERS), k)), np.zeros((kernel.BLENDS, k)), np.zeros((1, k))
    kernel.mix(P, M, mixed, trust, experts, k, R, B, p)
    shares = M[Member.SHARE, :experts] / M[Member.SHARE, :experts].sum()
    blends = [mixed[0] @ P, shares @ P]
    powers = [blend**s / (blend**s).sum() for blend in blends for s in kernel.POWERS]
    calibrated = np.array([(1.0 - e) * q + e / k for q in powers for e in kernel.NOISE_RATES])
    np.testing.assert_allclose(p[0], trust[0] @ calibrated, rtol=1e-12)
    after = mixed[0] * P[:, label], trust[0] * calibrated[:, label]
    kernel.learn_mixture(P, mixed, trust, experts, k, label, 1.0, rounds, R)
    for found, own in zip((mixed[0], trust[0]), after, strict=True):
        expected = own / own.sum() * rounds / (rounds + 1.0) + 1.0 / (rounds + 1.0) / own.size
        np.testing.assert_allclose(found, expected, rtol=1e-12)
