"""`fit`: one predictor from a data set, that depends on the rows, their weights and the seed, and on nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import MassartClassifier
from massart.kernels.door import Rows
from massart.learners.fit import canonical_order
from massart.learners.halfspace import Halfspace

KNOWN = {"noise_rate": 0.1, "margin": 0.05}
PARAMETERS = [{}, KNOWN, {**KNOWN, "update": "paper"}, {**KNOWN, "optimizer": "adagrad-norm"}]
FORMS = [np.asarray, np.asfortranarray, sp.csr_matrix]


def data(n=300, d=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5) * (classes == 3)
    return X, np.where(rng.random(n) < 0.1, rng.integers(classes, size=n), y)


def fitted(X, y, weight=None, **parameters):
    return MassartClassifier(**{"random_state": 0, **parameters}).fit(X, y, sample_weight=weight)


def assert_same_model(a, b):
    """To the last bit: the predictor, the online learner under it, and all it has counted."""
    assert np.array_equal(a.classes_, b.classes_)
    pairs = [(a._learner, b._learner)]
    if a._batch_learner is None:
        assert np.array_equal(a.coef_, b.coef_)
        assert np.array_equal(a.intercept_, b.intercept_)
        if a._batch_weights is not None and b._batch_weights is not None:
            pairs.append((a._calibration, b._calibration))
    else:
        pairs.append((a._batch_learner, b._batch_learner))
    for one, other in pairs:
        mine, yours = one.arrays(), other.arrays()
        assert mine.keys() == yours.keys()
        for name, array in mine.items():
            assert np.array_equal(array, yours[name]), name


def copies_of(order, count):
    return np.bincount(order.astype(int), minlength=count)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_order_of_rows_does_not_matter(parameters, form, classes):
    X, y = data(classes=classes)
    plain = fitted(form(X), y, **parameters)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(y.size)
        assert_same_model(fitted(form(X[shuffled]), y[shuffled], **parameters), plain)


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_rows_does_not_matter_where_columns_are_of_different_size(form):
    """They are learned in units of their own size, which is a sum over the rows."""
    X, y = data()
    X *= [1.0, 3.7, 100.0, 1e-3, 55.0]
    plain = fitted(form(X), y)
    for seed in range(6):
        shuffled = np.random.default_rng(seed).permutation(y.size)
        assert_same_model(fitted(form(X[shuffled]), y[shuffled]), plain)


def test_the_order_of_repeated_rows_with_unequal_weights_does_not_matter():
    X, y = data(40)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    weight = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 2.5, 3.0], size=200)
    plain = fitted(X, y, weight)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(200)
        assert_same_model(fitted(X[shuffled], y[shuffled], weight[shuffled]), plain)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_whole_weights_are_repetitions_and_zero_is_absence(parameters, form, classes):
    """Up to four copies per row on average, weights below 4 are copies and nothing else."""
    X, y = data(classes=classes)
    weight = np.random.default_rng(1).integers(0, 4, size=y.size)
    weighted = fitted(form(X), y, weight, **parameters)
    repeated = fitted(form(np.repeat(X, weight, axis=0)), np.repeat(y, weight), **parameters)
    assert not weighted.certificate().applies, "rows were learned more than once, which no theorem allows"
    assert repeated.certificate().applies
    repeated._learner.mark_unproved()
    assert_same_model(weighted, repeated)
    assert weighted.rounds_ == weight.sum()


def test_weights_of_one_are_no_weights():
    X, y = data()
    assert_same_model(fitted(X, y), fitted(X, y, np.ones(y.size)))
    assert_same_model(fitted(X, y), fitted(X, y, 1.0))
    assert_same_model(fitted(X, y), fitted(X, y, np.full(y.size, 0.5)))


def test_large_weights_cost_a_few_copies_per_row():
    X, y = data()
    weight = np.where(np.arange(y.size) % 10 == 0, 1e6, 1.0)
    model = fitted(X, y, weight, **KNOWN)
    assert model.rounds_ <= 6 * y.size
    heavy = weight > 1
    assert model.score(X[heavy], y[heavy]) >= 0.8


def test_a_class_that_has_only_absent_rows_is_absent():
    X, y = data(classes=3)
    weight = (y < 2).astype(float)
    assert_same_model(fitted(X, y, weight), fitted(X[y < 2], y[y < 2]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_weight_zero_is_absence_online(form, parameters):
    X, y = data()
    keep = np.random.default_rng(1).random(y.size) < 0.6
    weighted = MassartClassifier(**parameters, random_state=0)
    weighted.partial_fit(form(X), y, classes=[0, 1], sample_weight=keep.astype(float))
    absent = MassartClassifier(**parameters, random_state=0).partial_fit(form(X[keep]), y[keep], classes=[0, 1])
    assert_same_model(weighted, absent)
    assert_same_model(weighted.partial_fit(form(X), y, sample_weight=np.zeros(y.size)), absent)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_only_the_first_pass_counts(classes, parameters):
    """In later passes the labels are no news: rounds, mistakes and certificate are those of one pass."""
    X, y = data(classes=classes)
    models = [fitted(X, y, passes=passes, **parameters) for passes in (1, 2, 7)]
    assert [m.n_iter_ for m in models] == [1, 2, 7]
    for model in models:
        assert (model.rounds_, model.mistakes_) == (y.size, models[0].mistakes_)
        assert model.certificate() == models[0].certificate()
    for model in models[1:]:
        for name, array in model._learner.arrays().items():
            assert np.array_equal(array, models[0]._learner.arrays()[name]), name


@pytest.mark.parametrize("passes", [1, 4])
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_partial_fit_goes_on_from_the_first_pass(passes, parameters):
    """fit, then partial_fit, is partial_fit on the rows in fit's order, then on the new ones."""
    X, y = data()
    new_X, new_y = data(seed=1)
    went_on = fitted(X, y, passes=passes, **parameters).partial_fit(new_X, new_y)
    order, _ = canonical_order(Rows.of(X), y, np.ones(y.size), seed=0)
    online = MassartClassifier(**parameters, random_state=0)
    online.partial_fit(X[order.astype(int)], y[order.astype(int)], classes=[0, 1]).partial_fit(new_X, new_y)
    assert_same_model(went_on, online)
    assert went_on.rounds_ == 2 * y.size


def test_fit_forgets_what_was_learned_before():
    X, y = data()
    model = MassartClassifier(random_state=0).fit(X[:, :2], ["a", "b"] * 150)
    assert_same_model(model.fit(X, y), fitted(X, y))


def test_the_seed_decides_and_only_the_seed():
    X, y = data()
    assert_same_model(fitted(X, y, random_state=1), fitted(X, y, random_state=np.int64(1)))
    rs = np.random.RandomState
    assert_same_model(fitted(X, y, random_state=rs(3)), fitted(X, y, random_state=rs(3)))
    assert not np.array_equal(fitted(X, y, random_state=1).coef_, fitted(X, y, random_state=2).coef_)


def test_canonical_order_is_a_fair_shuffle():
    """Over 2,000 seeds the first of ten rows is each row about equally often: 200 +- 6 * sqrt(180) = 81."""
    rows, labels = Rows.of(np.arange(1.0, 11.0)[:, None]), np.zeros(10, np.int64)
    first = np.zeros(10, int)
    for seed in range(2000):
        order, weight = canonical_order(rows, labels, np.ones(10), seed)
        assert np.array_equal(np.sort(order), np.arange(10))
        assert np.all(weight == 1.0)
        first[int(order[0])] += 1
    assert np.all(np.abs(first - 200) < 81)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_copies_carry_the_whole_weight(scale):
    """copies * weight per copy is proportional to the weights given, and the heaviest copy weighs 1."""
    rng = np.random.default_rng(2)
    rows = Rows.of(rng.normal(size=(100, 2)))
    given = rng.lognormal(sigma=2.0, size=100) * (rng.random(100) < 0.8) * scale
    order, per_copy = canonical_order(rows, np.zeros(100, np.int64), given, 0)
    copies = copies_of(order, 100)
    carried = copies * per_copy
    np.testing.assert_allclose(carried / carried.sum(), given / given.sum(), rtol=1e-9)
    assert per_copy.max() == 1.0
    assert np.array_equal(copies > 0, given > 0)
    assert copies.sum() <= 5 * np.count_nonzero(given)


def test_the_predictor_is_no_worse_on_its_rows_than_the_last_weights():
    for seed in range(5):
        X, y = data(seed=seed)
        batch = fitted(X, y, passes=1, **KNOWN)
        last = Halfspace.from_arrays(batch._learner.arrays())
        wrong = np.mean((X @ last.weights + last.intercept >= 0) != y)
        assert 1 - batch.score(X, y) <= wrong


def test_a_fitted_model_keeps_its_own_weights_only():
    """Not a view that keeps every candidate alive: with hashed features that would be hundreds of times more."""
    X, y = data()
    weights = fitted(X, y)._batch_weights
    assert weights.base is None or weights.base.nbytes == weights.nbytes
