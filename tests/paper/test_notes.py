"""Three facts the paper does not state and an implementation needs."""

import numpy as np
import pytest
from paper_formulas import fake_rewards, point_with_margin, to_ball, unit


def test_note_fake_rewards_are_inverse_propensity_scores_with_baseline_m_over_k():
    """r~_a - r~_j = k (r_b - M/k)(1{b=a} - 1{b=j}): any baseline known before the round would be unbiased too."""
    rng = np.random.default_rng(1)
    for k in (2, 3, 6):
        r, M = rng.uniform(0, 2, k), 2.0
        for b in range(k):
            fake, hit = fake_rewards(r, b, M), np.eye(k)[b]
            ips = k * (r[b] - M / k) * np.subtract.outer(hit, hit)
            np.testing.assert_allclose(np.subtract.outer(fake, fake), ips, atol=1e-12)
        for baseline in (0.0, M / k, M / 2):
            hits = [np.eye(k)[b] * k * (r[b] - baseline) for b in range(k)]
            mean = np.mean([np.subtract.outer(h, h) for h in hits], axis=0)
            np.testing.assert_allclose(mean, np.subtract.outer(r, r), atol=1e-12)


def test_note_adaptive_steps_divide_by_zero_on_a_correct_first_round_without_noise():
    """eta = 0 and a correct round give g = 0: sqrt(2)/sqrt(sum |g|^2) needs a guard, and then does nothing."""
    eta, gamma = 0.0, 0.1
    w, x, y = np.array([1.0, 0.0]), np.array([0.6, 0.8]), 1.0
    s = 1.0 if w @ x >= 0 else -1.0
    g = ((1 - 2 * eta) * s - y) / 2 * x / (abs(w @ x) + gamma)
    assert g @ g == 0
    with np.errstate(all="ignore"):
        assert np.isnan(np.sqrt(2) / np.sqrt(g @ g) * g).all()
    guarded = to_ball(w - np.sqrt(2) / np.sqrt(g @ g) * g) if g @ g > 0 else w
    assert np.array_equal(guarded, w)


def test_note_normalising_the_rows_keeps_the_labels_and_never_shrinks_the_margin():
    rng = np.random.default_rng(3)
    for _ in range(300):
        x = rng.uniform(0.05, 1) * point_with_margin(rng, 4, 0.1, side=rng.choice([-1, 1]))
        target = np.eye(4)[1]
        normal = x / np.linalg.norm(x)
        assert np.sign(target @ normal) == np.sign(target @ x)
        assert abs(target @ normal) >= abs(target @ x)
        w = unit(rng, 4)
        assert np.sign(w @ normal) == np.sign(w @ x)
    assert abs(target @ normal) == pytest.approx(abs(target @ x) / np.linalg.norm(x))
