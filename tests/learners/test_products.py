"""Products of columns for two classes: what is learned, what it costs, and what is proved."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from massart import MassartClassifier, load, save, theory
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.door import Rows
from massart.kernels.learning.mixture import Total
from massart.learners.multiclass import make_learner
from massart.learners.pool import Pool
from massart.learners.products import MOST_COLUMNS, Products, count_products
from massart.models.export import export_model
from massart.options import LearnerOptions

WIDTH, ROWS = 5, 1500


def stream(rows=ROWS, width=WIDTH, seed=0, noise=0.0, crossed=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < 0.7)
    score = X[:, 0] * X[:, 1] + 0.2 * X[:, 2] if crossed else X[:, 0] + X[:, 1]
    return X, np.where((score > 0.0) != (rng.random(rows) < noise), 1, -1).astype(np.int8)


def same(a, b):
    assert a.arrays().keys() == b.arrays().keys()
    for name, array in a.arrays().items():
        assert array.tobytes() == b.arrays()[name].tobytes(), name


def expected_row(x, before):
    """The textbook: columns less their mean in units of their deviation, and products; of squares, less 1."""
    deviation = before.std(axis=0) if len(before) else np.zeros(x.size)
    mean = before.mean(axis=0) if len(before) else np.zeros(x.size)
    z = np.clip(np.divide(x - mean, deviation, out=np.zeros(x.size), where=deviation > 0), -10, 10)
    pairs = [z[i] * z[j] - (i == j) for i in range(x.size) for j in range(i, x.size)]
    return np.concatenate([z, pairs])


def test_rows_with_products_are_those_of_the_rows_before():
    X, y = stream(40)
    learner = Products(WIDTH)
    for n in range(len(X)):
        block = Rows.of(X[n : n + 1]).check().as_dense(np.zeros(1, np.uint64))
        made = np.asarray(learner._with_products(block, np.empty(0), learning=False).dense)[0]
        np.testing.assert_allclose(made, expected_row(X[n], X[:n]), rtol=1e-9, atol=1e-9)
        assert made.size == count_products(WIDTH) == learner.crossed.n_features
        learner.learn(X[n], y[n])


def test_forms_of_rows_and_batches_learn_the_same_bits():
    X, y = stream()
    weight = np.random.default_rng(1).integers(1, 9, ROWS) / 8.0
    learners = [Products(WIDTH, seed=3) for _ in range(5)]
    scores = np.empty((5, ROWS))
    shuffled = sparse.csr_matrix(X)
    for start, stop in zip(shuffled.indptr[:-1], shuffled.indptr[1:], strict=True):  # columns fall
        for part in (shuffled.indices, shuffled.data):
            part[start:stop] = part[start:stop][::-1].copy()
    forms = (X, np.asfortranarray(X), sparse.csr_matrix(X), shuffled)
    for learner, form, own in zip(learners, forms, scores, strict=False):
        learner.learn_rows(Rows.of(form), y, weight, scores=own)
    for n in range(ROWS):
        row, own = Rows.of(X[n : n + 1]), scores[4, n : n + 1]
        learners[4].learn_rows(row, y[n : n + 1], weight[n : n + 1], scores=own)
    for learner, form, own in zip(learners[1:], (*forms[1:], X), scores[1:], strict=True):
        assert own.tobytes() == scores[0].tobytes()
        same(learner, learners[0])
        assert learner.scores(Rows.of(form)).tobytes() == learners[0].scores(Rows.of(X)).tobytes()
    assert [learners[0].score(x) for x in X] == learners[0].scores(Rows.of(X)).tolist()


def test_an_order_is_the_rows_in_that_order():
    X, y = stream(300)
    order = np.random.default_rng(2).integers(0, 300, 400).astype(np.uint64)
    first, second, third = Products(WIDTH), Products(WIDTH), Products(WIDTH)
    first.learn_rows(Rows.of(X), y, order=order)
    second.learn_rows(Rows.of(X[order.astype(int)]), y[order.astype(int)])
    third.learn_rows(Rows.of(sparse.csr_matrix(X)), y, order=order)
    same(first, second)
    same(first, third)


def test_the_pool_without_products_is_the_default_one():
    X, y = stream(noise=0.1)
    learner, alone = Products(WIDTH, seed=4), Pool(WIDTH, seed=4)
    learner.learn_many(X, y)
    alone.learn_many(X, y)
    same(learner.plain, alone)


@pytest.mark.parametrize("crossed", [True, False])
def test_answers_are_hardly_worse_than_those_of_the_better_pool(crossed):
    """Theorem 7(e) with two experts: what Prod and AdaHedge may cost is computed from the path."""
    for seed in range(4):
        X, y = stream(3000, seed=seed, noise=0.1, crossed=crossed)
        learner = Products(WIDTH, seed=seed)
        wrong = (learner.learn_many(X, y) >= 0) != (y > 0)
        assert learner.mistakes == np.count_nonzero(wrong)
        best = min(learner.plain.mistakes, learner.crossed.mistakes)
        t = learner._t
        assert t[Total.VOTED] + theory.prod_default_price(t[Total.SPLIT]) >= t[Total.EXPECTED]
        price = theory.adahedge_price(best, 3000, 2) + theory.prod_price(t[Total.SPLIT])
        assert t[Total.EXPECTED] <= best + price
        assert learner.mistakes <= best + 60  # measured: at most 21 above the better one
        if crossed:
            assert learner.mistakes < 0.75 * learner.plain.mistakes
        assert learner.certificate().mistakes == learner.mistakes


def test_the_certificate_is_that_of_the_pool_without_products_and_the_price():
    X, y = stream(2000, crossed=False)
    learner = Products(WIDTH, margin=0.05, noise_rate=None)
    learner.learn_many(X, y)
    own, alone = learner.certificate(), learner.plain.certificate()
    assert (own.noise_rate, own.margin) == (alone.noise_rate, alone.margin)
    moved = learner._t[Total.EXPECTED] - learner.plain._t[Total.WRONG]
    assert own.mistake_bound >= alone.mistake_bound + min(0.0, moved)
    learner.mark_unproved()
    assert not learner.certificate().applies
    assert learner.certificate().mistake_bound == 2000


def test_majority_draws_nothing():
    X, y = stream(600, noise=0.2)
    found = [Products(WIDTH, voting="majority", seed=seed).learn_many(X, y).tobytes() for seed in (1, 2)]
    assert found[0] == found[1]


def test_copies_arrays_and_refused_rows():
    X, y = stream()
    learner = Products(WIDTH)
    learner.learn_many(X[:700], y[:700])
    copy, back = learner.copy(), Products.from_arrays({k: a.copy() for k, a in learner.arrays().items()})
    bad = X[700:].copy()
    bad[100, 2] = np.nan
    with pytest.raises(InvalidDataError, match="row 100"):
        learner.learn_many(bad, y[700:])
    for other in (copy, back):
        same(learner, other)
        other.learn_many(X[700:], y[700:])
    assert learner.rounds == 700
    learner.learn_many(X[700:], y[700:])
    same(learner, copy)
    same(learner, back)


def test_pools_that_do_not_belong_together_are_refused():
    arrays = Products(WIDTH).arrays()
    other = Products(WIDTH + 1).arrays()
    for name in ("plain.", "products."):
        with pytest.raises(ModelFileError):
            Products.from_arrays(arrays | {key: array for key, array in other.items() if key.startswith(name)})
    for change in ({"members": -arrays["members"]}, {"spreads": other["spreads"]}, {"seen": np.array([-1.0])}):
        with pytest.raises(ModelFileError):
            Products.from_arrays(arrays | change)
    plain = Products(WIDTH, class_weight=(1.0, 2.0)).arrays()
    with pytest.raises(ModelFileError, match="alike"):
        Products.from_arrays(arrays | {key: array for key, array in plain.items() if key.startswith("plain.")})


@pytest.mark.parametrize("width", [0, MOST_COLUMNS + 1])
def test_columns_are_few(width):
    with pytest.raises(InvalidParameterError, match="1 to 64 columns"):
        Products(width)


def test_columns_are_neither_added_nor_dropped():
    learner = Products(3)
    learner.widen(3)
    learner.narrow(3)
    for change, width in ((learner.widen, 4), (learner.narrow, 2)):
        with pytest.raises(InvalidParameterError, match="products of 3 columns"):
            change(width)


REFUSED = {
    "known": ({"noise_rate": 0.1, "margin": 0.1}, {}, "mix experts"),
    "horizon": ({"horizon": 50.0}, {}, "keep all rounds"),
    "groups": ({}, {"groups": np.arange(200) % 2}, "leave products=True out"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_products_do_not_go_with_is_refused(why):
    options, given, words = REFUSED[why]
    X, y = stream(200)
    with pytest.raises(InvalidParameterError, match=words):
        MassartClassifier(products=True, **options).fit(X, y, **given)


def test_other_refusals():
    X, y = stream(200)
    with pytest.raises(InvalidParameterError, match="give True or False"):
        MassartClassifier(products="yes").fit(X, y)
    for labels in (y[:100], np.arange(100) % 3):
        with pytest.raises(InvalidParameterError, match="1 to 64 columns, and these are 65"):
            MassartClassifier(products=True).fit(np.ones((100, 65)), labels)
    clf = MassartClassifier(products=True).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(InvalidParameterError, match="groups come too late"):
        clf.partial_fit(X, y, groups=y)
    for name in ("coef_", "intercept_"):
        assert not hasattr(clf, name)
    assert isinstance(make_learner(3, LearnerOptions(products=True, margin=0.1)), Products)


def test_fit_and_partial_fit_predict_what_files_predict(tmp_path):
    X, y = stream(800)
    weight = np.random.default_rng(3).integers(0, 4, 800) / 2.0
    made = [
        MassartClassifier(products=True, random_state=0, passes=3).fit(X, y, sample_weight=weight),
        MassartClassifier(products=True, random_state=0, class_weight={-1: 2.0, 1: 1.0}).partial_fit(X, y, [-1, 1]),
        MassartClassifier(products=True, random_state=0, class_weight="balanced").partial_fit(X, y, [-1, 1]),
    ]
    for n, clf in enumerate(made):
        assert clf.score(X, y) > 0.85 > MassartClassifier(random_state=0).fit(X, y).score(X, y)
        save(clf, tmp_path / f"{n}.massart")
        again = load(tmp_path / f"{n}.massart")
        for _ in range(2):
            for ask in ("decision_function", "predict_proba", "predict"):
                assert getattr(clf, ask)(X).tobytes() == getattr(again, ask)(sparse.csr_matrix(X)).tobytes()
            for one in (clf, again):
                one.partial_fit(X, y, sample_weight=weight + 1.0)
        same(clf._learner, again._learner)
        most = clf.classes_[clf.predict_proba(X).argmax(axis=1)]
        assert np.array_equal(most, clf.predict(X))
        for suffix in ("json", "npz", "onnx"):
            with pytest.raises(InvalidParameterError, match="products of columns"):
                export_model(tmp_path / f"{n}.massart", tmp_path / f"model.{suffix}")
    assert clone(made[0]).products is True
    assert made[0].expert_weights_.keys() >= {"AROW", "products: AROW"}


def test_fit_does_not_depend_on_the_order_of_rows():
    X, y = stream(400)
    order = np.random.default_rng(5).permutation(400)
    first, second = (MassartClassifier(products=True, random_state=0) for _ in range(2))
    first.fit(X, y)
    second.fit(X[order], y[order])
    assert first.decision_function(X).tobytes() == second.decision_function(X).tobytes()


def test_more_classes_learn_the_same_with_products_or_without():
    X, y = stream(300)
    y = y + (X[:, 3] > 0)
    found = [MassartClassifier(products=own, random_state=0).fit(X, y).predict_proba(X) for own in (True, False)]
    assert found[0].tobytes() == found[1].tobytes()


def test_probabilities_are_calibrated_along_the_way():
    """30% of the labels are false: of the rows with probability p, about p have the label."""
    X, y = stream(6000, noise=0.3)
    clf = MassartClassifier(products=True, random_state=0)
    p = np.empty(5000)
    clf.partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    for start in range(1000, 6000, 100):
        part = slice(start, start + 100)
        p[start - 1000 : start - 900] = clf.predict_proba(X[part])[:, 1]
        clf.partial_fit(X[part], y[part])
    right = y[1000:] > 0
    bins = np.minimum((p * 10).astype(int), 9)
    error = sum(abs((right[bins == b] - p[bins == b]).sum()) for b in range(10)) / 5000
    assert error < 0.04  # 0.010 by chance
