"""The mixture of several classes by hand: blends, calibrations, and Bayes' rule with its shared part."""

import numpy as np
import pytest

from massart.kernels.learning import class_mixture as kernel
from massart.kernels.learning.mixture import Member


@pytest.mark.jit
def test_one_round_by_hand():
    rng = np.random.default_rng(0)
    k, experts, label, rounds = 4, 3, 2, 9.0
    P, M = np.zeros((k, 8)), np.zeros((len(Member), 8))
    P[:, :experts] = rng.dirichlet(np.ones(k), experts).T
    M[Member.SHARE, :experts] = rng.random(experts)
    mixed, trust = np.zeros(8), rng.dirichlet(np.ones(kernel.CALIBRATIONS))
    mixed[:experts] = rng.dirichlet(np.ones(experts))
    R, B, p, scales, answers = np.zeros((k, 8)), np.zeros((kernel.BLENDS, k)), np.zeros(k), np.zeros(8), np.zeros(8)
    kernel.mix(P, M, mixed, trust, np.uint64(k), R, B, scales, p, answers)
    shares = M[Member.SHARE] / M[Member.SHARE].sum()
    blends = [P @ mixed, P @ shares]
    powers = [blend**s / (blend**s).sum() for blend in blends for s in kernel.POWERS]
    calibrated = np.array([(1.0 - e) * q + e / k for e in kernel.NOISE_RATES for q in powers])
    np.testing.assert_allclose(p, trust @ calibrated, rtol=1e-12)
    assert answers[:experts].tolist() == P[:, :experts].argmax(axis=0).tolist()
    after = (mixed * P[label])[:experts], trust * calibrated[:, label]
    evens = np.where(np.arange(8) < experts, 1.0 / experts, 0.0), np.full(trust.size, 1.0 / trust.size)
    likelihoods = np.zeros(8), np.zeros(trust.size)
    kernel.learn_mixture(P, mixed, trust, evens, np.uint64(k), np.uint64(label), 1.0, rounds, R, scales, likelihoods)
    assert not mixed[experts:].any()
    for found, own in zip((mixed[:experts], trust), after, strict=True):
        expected = own / own.sum() * rounds / (rounds + 1.0) + 1.0 / (rounds + 1.0) / own.size
        np.testing.assert_allclose(found, expected, rtol=1e-12)
