"""Line searches on the number of mistakes: the best step is found, and none that chance would have found."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from massart.kernels.learning import coordinate_search as kernel


def mistakes(s, y, c):
    return c @ ((s >= 0) != (y > 0))


def brute_force(x, s, y, c, doubt):
    """The first of the best steps, from 0 to the right and then to the left, counting mistakes at every one of them."""
    turns = np.unique(-s[x != 0] / x[x != 0])
    right, left = turns[turns > 0], turns[turns < 0][::-1]
    if np.any((s == 0) & (x < 0)):  # such a row changes sides as soon as the step is not 0
        right = np.append(0.0, right)
    if np.any((s == 0) & (x > 0)):
        left = np.append(0.0, left)
    best, step, now = 0.0, 0.0, mistakes(s, y, c)
    for side in (right, left):
        for a, b in pairwise(side):
            there = s + 0.5 * (a + b) * x
            gain, changed = now - mistakes(there, y, c), c[(there >= 0) != (s >= 0)]
            if gain > best and gain > doubt * np.sqrt(changed @ changed):
                best, step = gain, 0.5 * (a + b)
    return step


def problem(rng, ties=False):
    """(x, s, y, c) of a few rows; with ties, many turn at the same place, have a score of 0 or an x of 0."""
    n = rng.integers(2, 40)
    y, c = rng.choice([-1.0, 1.0], size=n), rng.choice([1.0, 1.0, 2.0, 0.25], size=n)
    if ties:
        return rng.choice([-2.0, -1.0, 0.0, 1.0], size=n), rng.integers(-3, 4, size=n).astype(float), y, c
    return rng.normal(size=n), rng.normal(size=n), y, c


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("doubt", [0.0, 1.0, 2.0])
def test_the_step_is_the_best_of_all_that_are_no_chance(doubt, ties):
    rng = np.random.default_rng(int(10 * doubt) + ties)
    found = 0
    for _ in range(600):
        x, s, y, c = problem(rng, ties)
        step, expected = kernel._best_step(x, s, y, c, c, doubt), brute_force(x, s, y, c, doubt)
        assert step == pytest.approx(expected, rel=1e-12, abs=1e-290)
        gain = mistakes(s, y, c) - mistakes(s + step * x, y, c)
        changed = c[(s + step * x >= 0) != (s >= 0)]
        assert gain > doubt * np.sqrt(changed @ changed) or step == 0.0
        found += step != 0.0
    assert 10 < found < 600  # there were steps to find, and doubts


def columns(X):
    """CSC as `polish` takes it; the zeros of a sparse X stay if they are spelled out."""
    X = sp.csc_matrix(X)
    return X.data.astype(float), X.indices.astype(np.int64), X.indptr.astype(np.int64)


def data(seed, rows=80, width=4, density=0.6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < density)
    X[:, -1] = 1.0
    y = np.where(X @ rng.normal(size=width) >= 0, 1.0, -1.0)
    y[rng.random(rows) < 0.1] *= -1
    w = rng.normal(size=width) * (rng.random(width) < 0.7)  # some weights and so some scores are 0
    return X, y, w, rng.choice([1.0, 2.0, 3.0], size=rows)


@pytest.mark.parametrize("doubt", [0.0, 1.5])
def test_polish_is_one_search_after_the_other(doubt):
    changed = 0
    for seed in range(40):
        X, y, w, c = data(seed)
        expected, s = w.copy(), X @ w
        steps = 0
        for _ in range(2):
            for j in range(w.size):
                rows = np.flatnonzero(X[:, j])
                step = brute_force(X[rows, j], s[rows], y[rows], c[rows], doubt)
                steps += step != 0.0
                expected[j] += step
                s[rows] += step * X[rows, j]
        found, scores = w.copy(), X @ w
        assert kernel.polish(columns(X), y, c, c, scores, found, doubt, 2) == steps
        assert found == pytest.approx(expected, rel=1e-9)
        assert scores == pytest.approx(X @ found, abs=1e-9)
        changed += steps
    assert changed > 40


def test_mistakes_never_rise_and_fall_with_every_change():
    for seed in range(100):
        X, y, w, c = data(seed, width=6)
        scores = X @ w
        before = mistakes(scores, y, c)
        for _ in range(4):
            changes = kernel.polish(columns(X), y, c, c, scores, w, 0.0, 1)
            after = mistakes(scores, y, c)
            assert after <= before - 1.0 * changes  # each gains at least the lightest row
            before = after


def test_zeros_that_are_spelled_out_change_nothing():
    for seed in range(60):
        X, y, w, c = data(seed, rows=20, density=0.4)
        spelled = sp.csc_matrix(np.ones_like(X))
        spelled.data[:] = X.T.ravel()
        results = []
        for form in (X, spelled):
            found, scores = w.copy(), X @ w
            kernel.polish(columns(form), y, c, c, scores, found, 0.0, 2)
            assert np.isfinite(found).all()
            results.append((found, scores))
        assert np.array_equal(results[0][0], results[1][0])
        assert np.array_equal(results[0][1], results[1][1])


def test_no_step_leaves_the_data():
    """Along a direction in which all labels agree the mistakes fall for ever: the step stays between two turns."""
    x, s = np.ones(5), np.array([-1.0, -2.0, -3.0, -4.0, -5.0])
    step = kernel._best_step(x, s, np.ones(5), np.ones(5), np.ones(5), 0.0)
    assert step == 4.5
    assert kernel._best_step(x, s, -np.ones(5), np.ones(5), np.ones(5), 0.0) == 0.0
    assert (
        kernel._best_step(np.full(5, 1e-310), s, np.ones(5), np.ones(5), np.ones(5), 0.0) == 0.0
    )  # beyond all numbers


def test_a_weight_is_a_repetition():
    """Of the row in the mistakes; and all weights doubled change nothing, doubts included."""
    for seed in range(40):
        X, y, w, c = data(seed)
        again = np.repeat(np.arange(y.size), c.astype(int))
        found, repeated = w.copy(), w.copy()
        kernel.polish(columns(X), y, c, c, X @ w, found, 0.0, 2)
        kernel.polish(
            columns(X[again]), y[again], np.ones(again.size), np.ones(again.size), X[again] @ w, repeated, 0.0, 2
        )
        assert found == pytest.approx(repeated, rel=1e-12)
        doubtful, doubled = w.copy(), w.copy()
        kernel.polish(columns(X), y, c, c, X @ w, doubtful, 1.5, 2)
        kernel.polish(columns(X), y, 2 * c, 2 * c, X @ w, doubled, 1.5, 2)
        assert np.array_equal(doubtful, doubled)


def crossing(steps, doubt):
    """Probability that a walk of fair coins is above doubt * sqrt(k) after some k of its steps, by recursion."""
    alive, crossed = {0: 1.0}, 0.0
    for k in range(1, steps + 1):
        after = {}
        for at, chance in alive.items():
            for to in (at - 1, at + 1):
                if to > doubt * np.sqrt(k):
                    crossed += 0.5 * chance
                else:
                    after[to] = after.get(to, 0.0) + 0.5 * chance
        alive = after
    return crossed


@pytest.mark.parametrize(("rows", "doubt"), [(30, 1.5), (100, 2.0), (100, 3.0)])
def test_labels_without_a_pattern_are_changed_as_rarely_as_walks_of_coins_go_astray(rows, doubt):
    """A change needs a walk, to the right or to the left, above doubt * sqrt(k); one place alone: exp(-doubt^2 / 2).

    2000 draws of all labels; the frequency is within 4.5 standard errors of the exact probability.
    """
    rng = np.random.default_rng(rows)
    x, s = rng.normal(size=rows), rng.normal(size=rows)
    ahead = np.count_nonzero(-s / x > 0)  # the last of either side is no place to stop
    chance = 1 - (1 - crossing(ahead - 1, doubt)) * (1 - crossing(rows - ahead - 1, doubt))
    draws = 2000
    labels = rng.choice([-1.0, 1.0], size=(draws, rows))
    changes = sum(kernel._best_step(x, s, y, np.ones(rows), np.ones(rows), doubt) != 0.0 for y in labels)
    assert abs(changes / draws - chance) <= 4.5 * np.sqrt(chance * (1 - chance) / draws)
    assert np.exp(-(doubt**2) / 2) / 20 < chance < 2 * rows * np.exp(-(doubt**2) / 2)
