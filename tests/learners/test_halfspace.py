"""Halfspace: what it refuses, what it remembers, and that stopping changes nothing."""

import sys

import numpy as np
import processes
import pytest
import scipy.sparse as sp

from massart import Halfspace, load, save
from massart.errors import InvalidDataError, InvalidParameterError

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 8))
Y = np.where(X[:, 0] + 0.2 >= 0, 1, -1)


def learned(**options):
    learner = Halfspace(8, 0.1, 0.05, **options)
    learner.learn_many(X[:200], Y[:200])
    return learner


def fingerprint(learner):
    return {name: array.tobytes() for name, array in learner.arrays().items()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_rate": 0.5}, "noise_rate"),
        ({"noise_rate": -0.1}, "noise_rate"),
        ({"noise_rate": float("nan")}, "noise_rate"),
        ({"margin": 0.0}, "margin"),
        ({"margin": 1.5}, "margin"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": float("inf")}, "horizon"),
        ({"update": "sgd"}, "'inverse-margin', 'paper'"),
        ({"optimizer": "adam"}, "'ftrl'"),
        ({"optimizer": "fixed"}, "needs horizon"),
        ({"update": "paper", "optimizer": "ftrl"}, "brings its own"),
        ({"n_features": -1}, "n_features"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        Halfspace(**({"n_features": 3, "noise_rate": 0.1, "margin": 0.1} | options))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: h.learn(np.zeros(7), 1), "takes 8 features"),
        (lambda h: h.predict(np.zeros(9)), "takes 8 features"),
        (lambda h: h.learn(np.array([np.nan] * 8), 1), "NaN at row 0, column 0"),
        (lambda h: h.score(np.array([1.0] * 7 + [np.inf])), "infinity at row 0, column 7"),
        (lambda h: h.learn(np.full(8, 1e200), 1), "too large"),
        (lambda h: h.learn(np.zeros(8), 0), "label is 0"),
        (lambda h: h.learn(np.zeros(8), 1, -1.0), "weight is -1"),
        (lambda h: h.learn(np.zeros(8), 1, float("nan")), "weight is nan"),
        (lambda h: h.learn_many(X[:, :5], Y), "X has 5 columns"),
        (lambda h: h.learn_many(X, Y[:5]), "300 labels"),
        (lambda h: h.learn_many(X, np.zeros(300)), "each -1 or \\+1"),
        (lambda h: h.learn_many(X, Y, np.full(300, -1.0)), "sample_weight\\[0\\]"),
        (lambda h: h.learn_many(sp.csr_matrix(np.where(X > 2, np.nan, X)), Y), "NaN at row"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(call, message):
    learner = learned()
    before = fingerprint(learner)
    with pytest.raises(InvalidDataError, match=message):
        call(learner)
    assert fingerprint(learner) == before


def test_predict_changes_nothing_and_tells_what_learn_will_count():
    learner = learned()
    for t in range(200, 300):
        before, mistakes = fingerprint(learner), learner.mistakes
        predicted, score = learner.predict(X[t]), learner.score(X[t])
        assert fingerprint(learner) == before
        assert learner.learn(X[t], Y[t]) == score
        assert learner.mistakes - mistakes == (predicted != Y[t])


def test_weight_zero_is_absence():
    learner = learned()
    before = fingerprint(learner)
    learner.learn(X[0], Y[0], 0.0)
    learner.learn_many(X, Y, np.zeros(300))
    assert fingerprint(learner) == before


def test_all_zero_row_is_a_round_that_teaches_nothing():
    learner = learned(fit_intercept=False)
    weights = learner.weights
    learner.learn(np.zeros(8), -1)
    assert learner.rounds == 201
    assert np.array_equal(learner.weights, weights)
    paper = Halfspace(8, 0.1, 0.05, update="paper", fit_intercept=False)
    paper.learn(np.zeros(8), -1)  # even as the first
    assert np.all(paper.weights == 0)
    assert np.all(np.isfinite(paper._s))


def test_lists_integers_and_strided_rows_are_rows():
    a, b = learned(), learned()
    a.learn([1, 2, 3, 4, 5, 6, 7, 8], 1)
    b.learn(np.arange(1.0, 17.0).repeat(2)[::2][:8], 1)
    b_row = np.zeros(16)
    b_row[::2] = np.arange(1.0, 9.0)
    assert a.predict(b_row[::2]) == b.predict(np.arange(1.0, 9.0))
    assert fingerprint(a) == fingerprint(b)


@pytest.mark.parametrize("options", [{}, {"optimizer": "adagrad-norm"}, {"update": "paper"}, {"horizon": 300}])
def test_saved_loaded_elsewhere_and_gone_on_is_never_stopped(options, tmp_path):
    whole = learned(**options)
    save(whole, tmp_path / "half.massart")
    whole.learn_many(X[200:], Y[200:])
    np.savez(tmp_path / "rest.npz", X=X[200:], y=Y[200:])
    code = (
        "import sys, numpy as np, massart\n"
        "learner = massart.load(sys.argv[1] + '/half.massart')\n"
        "rest = np.load(sys.argv[1] + '/rest.npz')\n"
        "learner.learn_many(rest['X'], rest['y'])\n"
        "massart.save(learner, sys.argv[1] + '/whole.massart')\n"
    )
    processes.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert fingerprint(load(tmp_path / "whole.massart")) == fingerprint(whole)


def test_copies_are_independent():
    learner = learned()
    other = learner.copy()
    other.learn_many(X[200:], Y[200:])
    assert learner.rounds == 200
    assert fingerprint(learner) == fingerprint(learned())
    assert fingerprint(learner) != fingerprint(other)
    assert learner.direction @ X[0] * learner.score(X[0]) >= 0 or learner.intercept != 0
