"""The door: odd input is learned as if it were plain, bad input is refused by row and reason, and changes nothing."""

import contextlib
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from massart import Halfspace, MassartClassifier
from massart.errors import InvalidDataError, InvalidParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4)).astype(np.float32).astype(np.float64)  # values that float32 holds exactly
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
W = np.ones(40)
KNOWN = {"noise_rate": 0.1, "margin": 0.05}


def put(array, place, value):
    changed = array.astype(np.result_type(array, type(value)))
    changed[place] = value
    return changed


def csr(*, data=None, indices=None, indptr=None):
    """A CSR matrix of X, damaged after it was built: scipy checks at construction only."""
    damaged = sp.csr_matrix(X)
    for name, change in (("data", data), ("indices", indices), ("indptr", indptr)):
        if change is not None:
            setattr(damaged, name, change(getattr(damaged, name).copy()))
    return damaged


# name: (X, y, sample_weight, what the message says)
REFUSED = {
    "nan": (put(X, (7, 2), np.nan), Y, None, r"NaN at row 7, column 2 .*drop the row or fill"),
    "infinity": (put(X, (39, 3), np.inf), Y, None, "infinity at row 39, column 3 "),
    "minus infinity": (put(X, (0, 0), -np.inf), Y, None, "infinity at row 0, column 0 "),
    "float32 nan": (put(X, (7, 2), np.nan).astype(np.float32), Y, None, "NaN at row 7, column 2 "),
    "fortran nan": (np.asfortranarray(put(X, (7, 2), np.nan)), Y, None, "NaN at row 7, column 2 "),
    "sparse nan": (sp.csr_matrix(put(X, (7, 2), np.nan)), Y, None, "NaN at row 7, column 2 "),
    "csc infinity": (sp.csc_array(put(X, (7, 2), np.inf)), Y, None, "infinity at row 7, column 2 "),
    "nan of weight 0": (put(X, (7, 2), np.nan), Y, put(W, 7, 0.0), "NaN at row 7, column 2 "),
    "huge": (put(X, (5, 1), 1e200), Y, None, r"row 5 .*StandardScaler"),
    "sparse huge": (sp.csr_matrix(put(X, (5, 1), 1e200)), Y, None, r"row 5 .*StandardScaler"),
    "huge together": (np.full((40, 4), 1e154), Y, None, "row 0 "),
    "complex": (X + 1j, Y, None, "Complex data not supported"),
    "words": (np.full((40, 4), "word", dtype=object), Y, None, "could not convert string to float"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "no columns": (X[:, :0], Y, None, "0 feature"),
    "sparse without rows": (sp.csr_matrix(X)[:0], Y[:0], None, "0 sample"),
    "one dimension": (X[0], Y[:1], None, "Expected 2D"),
    "three dimensions": (X[None], Y[:1], None, "dim 3|3 dim|<= 2"),
    "too few labels": (X, Y[:5], None, r"40 rows.*5 labels|inconsistent numbers of samples"),
    "no labels": (X, None, None, "y"),
    "nan label": (X, put(Y, 3, np.nan), None, r"y\[3\] is .*nan|y contains NaN"),
    "negative weight": (X, Y, put(W, 4, -1e-9), r"sample_weight\[4\] is -1e-09.*use 0"),
    "nan weight": (X, Y, put(W, 4, np.nan), r"sample_weight\[4\] is nan"),
    "infinite weight": (X, Y, put(W, 4, np.inf), r"sample_weight\[4\] is inf"),
    "too few weights": (X, Y, W[:5], r"sample_weight has shape \(5,\).*40 rows"),
    "weights in a column": (X, Y, W[:, None], r"sample_weight has shape \(40, 1\)"),
    "weights that are words": (X, Y, ["a"] * 40, "sample_weight must be real numbers"),
    "complex weights": (X, Y, W + 1j, "sample_weight must be"),
    "index too large": (csr(indices=lambda a: put(a, 9, 4)), Y, None, "Row 2 .*index outside its 4 columns"),
    "index far too large": (csr(indices=lambda a: put(a, 9, 2**31 - 1)), Y, None, "Row 2 "),
    "index negative": (csr(indices=lambda a: put(a, 9, -1)), Y, None, "Row 2 "),
    "int64 index negative": (csr(indices=lambda a: put(a.astype(np.int64), 9, -1)), Y, None, "Row 2 "),
    "pointers beyond the data": (csr(indptr=lambda a: put(a, 40, 10**6)), Y, None, "Row 39 .*row pointers"),
    "pointers that go back": (csr(indptr=lambda a: put(a, 20, 0)), Y, None, "Row 19 "),
    "pointers negative": (csr(indptr=lambda a: put(a, 20, -5)), Y, None, "Row "),
    "fewer values than pointers": (csr(data=lambda a: a[:100]), Y, None, "sparse matrix X"),
    "fewer indices than values": (csr(indices=lambda a: a[:100]), Y, None, "sparse matrix X"),
    "fewer pointers than rows": (csr(indptr=lambda a: a[:30]), Y, None, "sparse matrix X"),
    "more pointers than rows": (csr(indptr=lambda a: np.append(a, a[-1:])), Y, None, "sparse matrix X"),
}


def snapshot(*values):
    return pickle.dumps(values)


def contents(rows):
    return [rows.data, rows.indices, rows.indptr] if hasattr(rows, "indptr") else rows


@pytest.mark.parametrize("parameters", [{}, KNOWN], ids=["pool", "known"])
@pytest.mark.parametrize("history", ["new", "fitted", "online"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_reason_and_changes_nothing(name, history, parameters):
    rows, y, weight, message = REFUSED[name]
    clf = MassartClassifier(**parameters, random_state=np.random.RandomState(0))
    if history == "fitted":
        clf.fit(X, Y)
    if history == "online":
        clf.partial_fit(X, Y, classes=[0, 1])
    before, given = snapshot(clf), snapshot(contents(rows), y, weight)
    for learn in (clf.fit, partial(clf.partial_fit, classes=[0, 1])):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            learn(rows, y, sample_weight=weight)
        assert snapshot(clf) == before
    assert snapshot(contents(rows), y, weight) == given


ROWS_REFUSED = [
    name for name, (_, y, weight, _) in REFUSED.items() if y is not None and len(y) == 40 and weight is None
]


@pytest.mark.parametrize("name", [name for name in ROWS_REFUSED if name != "nan label"])
def test_predict_refuses_the_same_rows(name):
    rows, _, _, message = REFUSED[name]
    clf = MassartClassifier(**KNOWN, random_state=0).fit(X, Y)
    for ask in (clf.predict, clf.decision_function):
        with pytest.raises(ValueError, match=f"(?s){message}|expecting 4 features"):
            ask(rows)


def test_a_message_names_the_column():
    frame = pd.DataFrame(put(X, (7, 2), np.nan), columns=["a", "b", "income", "d"])
    clf = MassartClassifier(**KNOWN)
    with pytest.raises(InvalidDataError, match=r"NaN at row 7, column 2 \('income'\)"):
        clf.fit(frame, Y)
    assert not hasattr(clf, "feature_names_in_")
    clf.fit(frame.fillna(0.0), Y)
    with pytest.raises(InvalidDataError, match=r"column 2 \('income'\)"):
        clf.predict(frame)


def test_a_late_row_of_a_fortran_array_is_named():
    """Such arrays are checked block by block: the number must be the row's in the whole."""
    tall = np.zeros((20_000, 2), order="F")
    tall[17_321, 1] = np.nan
    with pytest.raises(InvalidDataError, match="row 17321, column 1 "):
        MassartClassifier(**KNOWN).partial_fit(tall, np.zeros(20_000), classes=[0, 1])


@pytest.mark.parametrize("history", ["new", "online"])
def test_wrong_classes_and_labels_are_refused(history):
    clf = MassartClassifier(**KNOWN)
    if history == "online":
        clf.partial_fit(X, Y, classes=[0, 1])
    before = snapshot(clf)
    cases = [
        (put(Y, 3, 2), [0, 1], r"y\[3\] is .*2.*not one of the classes \[0, 1\].*drop the row"),
        (Y.astype(str), [0, 1], r"y\[0\] is .*not one of the classes"),
        (Y, [0], "name at least two classes|not the same"),
        (Y, [], "name at least two classes|not the same"),
    ]
    cases += [(Y, None, r"classes must be passed.*classes=\[0, 1\]")] if history == "new" else []
    cases += [(Y, [0, 2], "not the same as on the first call")] if history == "online" else []
    for y, classes, message in cases:
        with pytest.raises(InvalidDataError, match=message):
            clf.partial_fit(X, y, classes=classes)
        assert snapshot(clf) == before


def test_wrong_width_is_refused():
    for clf in (MassartClassifier(**KNOWN).fit(X, Y), MassartClassifier().partial_fit(X, Y, classes=[0, 1])):
        before = snapshot(clf)
        for rows in (X[:, :3], sp.csr_matrix(X[:, :3]), np.hstack([X, X])):
            for ask in (clf.predict, lambda r, clf=clf: clf.partial_fit(r, Y)):
                with pytest.raises(ValueError, match="expecting 4 features"):
                    ask(rows)
        assert snapshot(clf) == before


def test_fit_says_when_there_is_nothing_to_learn():
    clf = MassartClassifier(**KNOWN)
    for y, weight, message in (
        (np.ones(40), None, r"two classes.*1\.0.*partial_fit"),
        (Y, np.where(Y, 1.0, 0.0), "two classes with positive weight"),
        (Y, np.zeros(40), "Every sample_weight is zero"),
    ):
        with pytest.raises(InvalidDataError, match=message):
            clf.fit(X, y, sample_weight=weight)
    assert vars(clf) == vars(MassartClassifier(**KNOWN))


PARAMETERS = [{"noise_rate": value} for value in (0.5, -0.1, np.nan, "much")]
PARAMETERS += [{"margin": value} for value in (0.0, 1.5, np.inf)] + [{"horizon": value} for value in (0, np.inf)]
PARAMETERS += [{"passes": value} for value in (0, 1.5)] + [{"optimizer": value} for value in ("adam", "fixed")]
PARAMETERS += [{"update": "sgd"}, {"update": "paper", "optimizer": "ftrl"}]


@pytest.mark.parametrize("wrong", PARAMETERS, ids=str)
@pytest.mark.parametrize("known", [{}, KNOWN], ids=["pool", "known"])
def test_wrong_parameters_are_refused_by_name_and_change_nothing(wrong, known):
    """Nothing: the generator that random_state may be is not advanced either."""
    clf = MassartClassifier(**{**known, **wrong}, random_state=np.random.RandomState(0))
    before = snapshot(clf)
    name = next(reversed(wrong))
    for learn in (clf.fit, partial(clf.partial_fit, classes=[0, 1])):
        with pytest.raises(InvalidParameterError, match=name):
            learn(X, Y)
        assert snapshot(clf) == before


@pytest.mark.parametrize("seed", [-1, 2**64])
@pytest.mark.parametrize("known", [{}, KNOWN], ids=["pool", "known"])
def test_seeds_out_of_range_are_refused_as_value_errors(seed, known):
    for learn in (MassartClassifier.fit, partial(MassartClassifier.partial_fit, classes=[0, 1])):
        with pytest.raises(ValueError, match=r"random_state|[Ss]eed"):
            learn(MassartClassifier(**known, random_state=seed), X, Y)


def finite(clf):
    return all(np.isfinite(array).all() for array in clf._learner.arrays().values()) and np.isfinite(clf.coef_).all()


EXTREME = {
    "weights 1e160": ({}, X, np.full(40, 1e160)),
    "weights 1e300": ({}, X, np.full(40, 1e300)),
    "one weight 1e300": ({}, X, put(W, 20, 1e300)),
    "weights 1e308": ({}, X, np.full(40, 1e308)),
    "weights 1e-320": ({}, X, np.full(40, 1e-320)),
    "rows 1e153": ({}, X * 1e153, None),
    "rows 1e153 not scaled": ({"normalize": False}, X * 1e153, None),
    "rows 1e-170 without intercept": ({"fit_intercept": False}, X * 1e-170, None),
    "denormal": ({"fit_intercept": False}, X * 1e-320, None),
    "all zero": ({"fit_intercept": False}, X * 0.0, None),
    "all zero with intercept": ({}, X * 0.0, None),
    "all zero not scaled": ({"normalize": False, "fit_intercept": False}, X * 0.0, None),
    "one zero row": ({"fit_intercept": False}, put(X, 0, 0.0), None),
    "margin 1e-200": ({"margin": 1e-200}, X, None),
    "margin 1e-300": ({"margin": 1e-300}, X, None),
    "largest noise rate": ({"noise_rate": np.nextafter(0.5, 0)}, X, None),
}
UPDATES = {
    "ftrl": {},
    "fixed": {"horizon": 40},
    "adagrad": {"optimizer": "adagrad-norm"},
    "paper": {"update": "paper"},
    "paper, horizon": {"update": "paper", "horizon": 40},
    "pool": {"noise_rate": None},
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", EXTREME)
def test_extremes_are_learned_or_refused_but_never_half_learned(name, update, form):
    parameters, rows, weight = EXTREME[name]
    for method in ("fit", "partial_fit"):
        clf = MassartClassifier(**{**KNOWN, **UPDATES[update], **parameters}, random_state=0)
        learn = clf.fit if method == "fit" else partial(clf.partial_fit, classes=[0, 1])
        before = snapshot(clf)
        try:
            learn(form(rows), Y, sample_weight=weight)
        except ValueError:
            assert snapshot(clf) == before
        else:
            assert finite(clf)
            assert np.isfinite(clf.certificate().mistakes)
            assert set(clf.predict(form(rows))) <= {0, 1}


def test_uniform_weights_mean_nothing_to_fit_or_are_refused():
    plain, tiny = (MassartClassifier(**KNOWN, random_state=0) for _ in range(2))
    with contextlib.suppress(InvalidDataError):
        tiny.fit(X, Y, sample_weight=np.full(40, 2.0**-1040))
        assert np.array_equal(plain.fit(X, Y).coef_, tiny.coef_)


def on_disk(folder, name, array):
    np.save(folder / name, array)
    return np.load(folder / name, mmap_mode="r")


def shuffled_within_rows(X):
    take = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)])
    return sp.csr_matrix((X.data[take], X.indices[take], X.indptr), shape=X.shape)


def doubled(X):
    return sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def mapped(X, folder):
    other = sp.csr_matrix(X.shape)
    for name in ("data", "indices", "indptr"):
        setattr(other, name, on_disk(folder, f"{name}.npy", getattr(X, name)))
    return other


def with_indices(X, indices, indptr):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indptr)
    return X


INTEGERS = RNG.integers(-3, 4, size=(40, 4)).astype(float)
SPARSE = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
# name: (given, the plain form that it must equal to the last bit)
EQUAL = {
    "fortran": (lambda _: np.asfortranarray(X), X),
    "every second column": (lambda _: np.repeat(X, 2, axis=1)[:, ::2], X),
    "backwards view": (lambda _: X[::-1].copy()[::-1], X),
    "transposed view": (lambda _: X.T.copy().T, X),
    "read-only": (lambda _: np.frombuffer(X.tobytes()).reshape(X.shape), X),
    "memory map": (lambda folder: on_disk(folder, "x.npy", X), X),
    "fortran memory map": (lambda folder: on_disk(folder, "x.npy", np.asfortranarray(X)), X),
    "lists": (lambda _: X.tolist(), X),
    "data frame": (lambda _: pd.DataFrame(X), X),
    "objects": (lambda _: X.astype(object), X),
    "big-endian": (lambda _: X.astype(">f8"), X),
    "long double": (lambda _: X.astype(np.longdouble), X),
    "integers": (lambda _: INTEGERS.astype(int), INTEGERS),
    "small integers": (lambda _: INTEGERS.astype(np.int8), INTEGERS),
    "half precision": (lambda _: INTEGERS.astype(np.float16), INTEGERS),
    "booleans": (lambda _: INTEGERS > 0, (INTEGERS > 0).astype(float)),
    "csr array": (lambda _: sp.csr_array(SPARSE), SPARSE),
    "csc": (lambda _: sp.csc_matrix(SPARSE), SPARSE),
    "coo array": (lambda _: sp.coo_array(SPARSE), SPARSE),
    "list of lists": (lambda _: sp.lil_matrix(SPARSE), SPARSE),
    "int64 indices": (lambda _: with_indices(SPARSE, np.int64, np.int64), SPARSE),
    "int64 pointers only": (lambda _: with_indices(SPARSE, np.int32, np.int64), SPARSE),
    "csr memory map": (lambda folder: mapped(SPARSE, folder), SPARSE),
    "unsorted indices": (lambda _: shuffled_within_rows(SPARSE), SPARSE),
    "duplicate indices": (lambda _: doubled(SPARSE), SPARSE),
    "both": (lambda _: doubled(shuffled_within_rows(SPARSE)), SPARSE),
    "sparse integers": (lambda _: sp.csr_matrix(INTEGERS.astype(int)), sp.csr_matrix(INTEGERS)),
    "sparse booleans": (lambda _: sp.csr_matrix(INTEGERS > 0), sp.csr_matrix((INTEGERS > 0).astype(float))),
}
# name: (given, plain): equal values, but sums may be taken in another order
NEAR = {
    "float32": (lambda _: X.astype(np.float32), X),
    "sparse float32": (lambda _: SPARSE.astype(np.float32), SPARSE),
    "sparse": (lambda _: SPARSE, SPARSE.toarray()),
    "empty rows": (lambda _: sp.csr_matrix(put(X, [0, 9, 39], 0.0)), put(X, [0, 9, 39], 0.0)),
    "explicit zeros": (lambda _: sp.csr_matrix((INTEGERS.ravel(), np.tile(range(4), 40), range(0, 161, 4))), INTEGERS),
}


@pytest.mark.parametrize("parameters", [{}, KNOWN], ids=["pool", "known"])
@pytest.mark.parametrize("name", [*EQUAL, *NEAR])
def test_odd_input_is_learned_as_plain_input_and_left_alone(name, parameters, tmp_path):
    make, plain = EQUAL[name] if name in EQUAL else NEAR[name]
    given = make(tmp_path)
    before = snapshot(contents(given))
    for method in ("fit", "partial_fit"):
        models = []
        for rows in (given, plain):
            clf = MassartClassifier(**parameters, random_state=0)
            models.append(clf.fit(rows, Y) if method == "fit" else clf.partial_fit(rows, Y, classes=[0, 1]))
        odd, even = models
        assert (odd.rounds_, odd.mistakes_) == (even.rounds_, even.mistakes_)
        np.testing.assert_allclose(odd.coef_, even.coef_, rtol=1e-9 if name in NEAR else 0, atol=1e-12 * (name in NEAR))
        np.testing.assert_allclose(odd.decision_function(given), even.decision_function(plain), rtol=1e-9, atol=1e-12)
    assert snapshot(contents(given)) == before


def test_halfspace_takes_what_it_can_and_refuses_the_rest():
    """The learner under the classifier has a door of its own: other sparse formats must not be mistaken for CSR."""
    labels, square = 2.0 * Y - 1, X[:4]
    expected = Halfspace(4, 0.1, 0.1).learn_many(square, labels[:4])
    for form in (sp.csr_matrix, sp.csc_matrix, sp.bsr_array, sp.coo_array):
        learner = Halfspace(4, 0.1, 0.1)
        try:
            scores = learner.learn_many(form(square), labels[:4])
        except InvalidDataError:
            assert learner.rounds == 0
        else:
            np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


BATCHES = {
    "1-d": (X[0], [1]),
    "complex": (X + 1j, 2 * Y - 1),
    "labels 0 and 1": (X, Y),
    "words": (X, ["a"] * 40),
    "nan labels": (X, np.full(40, np.nan)),
    "width": (X[:, :2], 2 * Y - 1),
    "nan": (put(X, (3, 1), np.nan), 2 * Y - 1),
    "few labels": (X, (2 * Y - 1)[:3]),
}
SINGLES = {
    "nan": (X[0] * np.nan, 1),
    "huge": (X[0] * 1e200, 1),
    "complex": (X[0] + 1j, 1),
    "2-d": (X[:1], 1),
    "width": (X[0, :3], 1),
    "label 0": (X[0], 0),
    "label nan": (X[0], np.nan),
    "weight -1": (X[0], 1, -1.0),
    "weight nan": (X[0], 1, np.nan),
    "weight inf": (X[0], 1, np.inf),
}


@pytest.mark.parametrize(("method", "name"), [("learn_many", n) for n in BATCHES] + [("learn", n) for n in SINGLES])
def test_halfspace_refuses_bad_rows_and_stays_what_it_was(method, name):
    learner = Halfspace(4, 0.1, 0.1)
    learner.learn_many(X, 2 * Y - 1)
    before = snapshot(learner.arrays())
    with pytest.raises(InvalidDataError):
        getattr(learner, method)(*(BATCHES if method == "learn_many" else SINGLES)[name])
    assert snapshot(learner.arrays()) == before
