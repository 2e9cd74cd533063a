"""river's contract, and what is learned: the same bits whenever somebody asks."""

import copy
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import processes
import pytest
from river import checks, compose, datasets, evaluate, feature_extraction, linear_model, metrics, preprocessing, stream

from massart import MassartClassifier as Estimator
from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.calibration import ScoreCalibration
from massart.learners.pool import Pool
from massart.learners.row_calls import PoolRow
from massart.river import MassartClassifier
from massart.river import feature_rows as module

PARAMETERS = list(MassartClassifier._unit_test_params())


def dicts(rows, width, seed=0, keep=1.0, classes=2):
    """Rows of which each feature is there with a probability, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < 0.9)
    y = np.argmax(X @ rng.normal(size=(width, classes)), axis=1)
    there = rng.random((rows, width)) < keep
    made = [{f"f{j}": float(X[i, j]) for j in range(width) if there[i, j]} for i in range(rows)]
    return made, [int(label) for label in y]


def learned(model, rows, labels, every=0):
    for n, (x, y) in enumerate(zip(rows, labels, strict=True)):
        if every and n % every == 0:
            model.predict_proba_one(x)
        model.learn_one(x, y)
    return model


def probabilities(model, rows):
    return [model.predict_proba_one(x) for x in rows]


def test_without_river_the_error_says_what_to_install():
    code = "import sys; sys.modules['river'] = None\nimport massart.river"
    ended = processes.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.endswith(
        'MissingPackageError: river is needed for massart.river: pip install "massart[river]"\n'
    )
    assert not processes.loaded_by("import massart; massart.MassartClassifier()", "river")


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_checks_of_river(parameters):
    model = MassartClassifier(**parameters)
    assert model._unit_test_skips() <= linear_model.LogisticRegression()._unit_test_skips()
    checks.check_estimator(model)


def test_phishing_is_predicted_as_well_as_by_a_scaled_logistic_regression():
    own = MassartClassifier(seed=0)
    other = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    found = [
        [evaluate.progressive_val_score(datasets.Phishing(), model.clone(), metric()).get() for model in (own, other)]
        for metric in (metrics.Accuracy, metrics.ROCAUC, metrics.LogLoss)
    ]
    assert found[0][0] >= found[0][1]
    assert found[1][0] >= found[1][1]
    assert found[2][0] <= found[2][1]


@pytest.mark.parametrize(("width", "classes"), [(8, 2), (30, 2), (80, 2), (8, 4), (30, 4), (80, 4)])
@pytest.mark.parametrize("keep", [1.0, 0.5])
def test_when_it_is_asked_has_no_part_in_what_is_learned(width, classes, keep):
    rows, labels = dicts(700, width, keep=keep, classes=classes)
    models = [learned(MassartClassifier(seed=0), rows, labels, every) for every in (0, 1, 7)]
    assert probabilities(models[0], rows[:50]) == probabilities(models[1], rows[:50])
    assert probabilities(models[0], rows[:50]) == probabilities(models[2], rows[:50])


@pytest.mark.parametrize("width", [8, 30])
def test_truth_values_whose_second_comes_first(width):
    """True is the second class, whichever comes first."""
    rows, labels = dicts(400, width)
    for first in (True, False):
        truths = [first, *(label == 1 for label in labels[1:])]
        models = [learned(MassartClassifier(seed=0), rows, truths, every) for every in (0, 1, 3)]
        assert probabilities(models[0], rows[:50]) == probabilities(models[1], rows[:50])
        assert probabilities(models[0], rows[:50]) == probabilities(models[2], rows[:50])
        found = probabilities(models[1], rows)
        assert [models[1].predict_one(x) for x in rows] == [p[True] >= p[False] for p in found]
        assert np.mean([(p[True] > 0.5) == truth for p, truth in zip(found, truths, strict=True)]) > 0.8


@pytest.mark.parametrize("width", [8, 30])
@pytest.mark.parametrize("classes", [2, 3])
def test_learn_many_is_a_loop_of_learn_one(width, classes):
    rows, labels = dicts(600, width, classes=classes)
    frame, weights = pd.DataFrame(rows), np.linspace(0.5, 2.0, 600)
    one, many, other = (MassartClassifier(seed=0) for _ in range(3))
    for x, y, w in zip(rows, labels, weights, strict=True):
        one.learn_one(x, y, w=w)
    for start in range(0, 600, 100):
        part = slice(start, start + 100)
        many.learn_many(frame[part], pd.Series(labels[part]), w=weights[part])
        other.learn_many(pl.DataFrame(rows)[part], pl.Series(labels[part]), w=weights[part])
    assert probabilities(one, rows[:60]) == probabilities(many, rows[:60]) == probabilities(other, rows[:60])
    found = many.predict_proba_many(frame[:60])
    assert found.to_dict("records") == probabilities(one, rows[:60])
    assert many.predict_many(frame[:60]).tolist() == [one.predict_one(x) for x in rows[:60]]
    assert found.index.equals(frame[:60].index)


def test_two_classes_learn_as_the_estimator_does():
    """More than 20 columns, all from the start: the pool of two classes, with the same draws."""
    rows, labels = dicts(500, 30)
    model = learned(MassartClassifier(voting="majority"), rows, labels)
    columns = sorted(rows[0])
    X = np.array([[row[name] for name in columns] for row in rows])
    clf = Estimator(voting="majority").partial_fit(X, labels, classes=[0, 1])
    first = labels[0]  # the classes are numbered as they come
    weights = np.array([model.weights[name] for name in columns]) * (1 if first == 0 else -1)
    np.testing.assert_allclose(weights, clf.coef_[0], rtol=1e-9, atol=1e-12)
    assert model.certificate().mistakes > 0


def test_classes_that_come_late():
    rows, labels = dicts(3000, 30, classes=3)
    two = [label if label < 2 else 0 for label in labels[:1500]]
    model = learned(MassartClassifier(seed=0), rows[:1500], two)
    assert set(model.predict_proba_one(rows[0])) == {0, 1}
    learned(model, rows[1500:], labels[1500:])
    assert set(model.predict_proba_one(rows[0])) == {0, 1, 2}
    assert np.mean([model.predict_one(x) == y for x, y in zip(rows[2500:], labels[2500:], strict=True)]) > 0.8


@pytest.mark.parametrize("classes", [2, 3])
def test_features_that_come_late(classes):
    rows, labels = dicts(2000, 100, classes=classes)
    few = [{name: x[name] for name in list(x)[:10]} for x in rows[:300]]
    more = [{name: x[name] for name in list(x)[:50]} for x in rows[300:600]]
    model = learned(MassartClassifier(seed=0), [*few, *more, *rows[600:]], labels)
    assert np.mean([model.predict_one(x) == y for x, y in zip(rows[1500:], labels[1500:], strict=True)]) > 0.7
    assert np.isfinite(list(model.predict_proba_one({"never seen": 1.0}).values())).all()


def test_the_order_of_features_has_no_part_in_it():
    rows, labels = dicts(300, 30)
    turned = [dict(reversed(list(x.items()))) for x in rows]
    one, other = (learned(MassartClassifier(seed=0), own, labels) for own in (rows, turned))
    assert probabilities(one, rows[:30]) == probabilities(other, turned[:30])


@pytest.mark.parametrize("width", [8, 30])
def test_copies(width):
    rows, labels = dicts(400, width)
    model = learned(MassartClassifier(seed=0), rows[:200], labels[:200], every=1)
    before = probabilities(model, rows[:50])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.clone(include_attributes=True)]
    for one in copies:
        learned(one, rows[200:], labels[200:], every=1)
    assert probabilities(model, rows[:50]) == before  # copies learn for themselves
    learned(model, rows[200:], labels[200:])
    for one in copies:
        assert probabilities(one, rows[:50]) == probabilities(model, rows[:50])
    assert model.clone().predict_one(rows[0]) is None


def test_texts_are_categories_and_none_is_absent():
    model = MassartClassifier(seed=0)
    for _ in range(50):
        model.learn_one({"town": "Rome", "age": None}, True)
        model.learn_one({"town": "Paris"}, False)
    assert model.predict_one({"town": "Rome"})
    assert not model.predict_one({"town": "Paris", "new": 3.0})
    assert set(model._own.rows.columns) == {"town=Rome", "town=Paris"}


@pytest.mark.parametrize(
    "first",
    [
        preprocessing.StandardScaler(),
        compose.SelectType(str) | preprocessing.OneHotEncoder(),
        preprocessing.FeatureHasher(n_features=64, seed=1),
    ],
)
def test_pipelines(first):
    rows = [({"town": t, "age": float(a)}, t == "Rome") for t in ("Rome", "Paris", "Oslo") for a in range(30)]
    if isinstance(first, preprocessing.StandardScaler):
        rows = [({"age": x["age"]}, x["age"] > 15) for x, _ in rows]
    model = first | MassartClassifier(seed=0)
    shuffled = stream.shuffle(iter(rows * 5), buffer_size=450, seed=0)
    assert evaluate.progressive_val_score(shuffled, model, metrics.Accuracy()).get() > 0.85


def test_bags_of_words():
    model = feature_extraction.BagOfWords() | MassartClassifier(seed=0)
    for n in range(400):
        word = "good" if n % 2 else "bad"
        model.learn_one(f"{word} text number w{n} about v{n % 7}", bool(n % 2))
    assert model.predict_one("good thing")
    assert not model.predict_one("bad thing")


def test_weights_of_rows():
    rows, labels = dicts(300, 30)
    weighted, left_out = MassartClassifier(seed=0), MassartClassifier(seed=0)
    for n, (x, y) in enumerate(zip(rows, labels, strict=True)):
        weighted.learn_one(x, y, w=float(n % 2))
        if n % 2:
            left_out.learn_one(x, y)
    assert probabilities(weighted, rows[:30]) == probabilities(left_out, rows[:30])


@pytest.mark.parametrize(
    ("x", "y", "w", "words"),
    [
        ({"a": float("nan")}, True, 1.0, "the feature 'a' is nan: leave it out"),
        ({"a": [1]}, True, 1.0, "the feature 'a' is .1.: give a number, a text"),
        ({"a": 10**400}, True, 1.0, "the feature 'a' is "),
        ({"a": 1e200}, True, 1.0, r"the feature 'a' is 1e\+200, too large"),
        ([1.0], True, 1.0, "x is a list: give a dict"),
        ({"a": 1.0}, None, 1.0, "the label is None"),
        ({"a": 1.0}, [1], 1.0, r"the label is \[1\]"),
        ({"a": 1.0}, float("nan"), 1.0, "the label is nan"),
        ({"a": 1.0}, True, -1.0, "w is -1.0"),
        ({"a": 1.0}, True, "heavy", "w is 'heavy'"),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_what_is_refused_changes_nothing(x, y, w, words, begun):
    model, other = MassartClassifier(seed=0), MassartClassifier(seed=0)
    for one in (model, other):
        if begun:
            learned(one, *dicts(20, 8))
    with pytest.raises(InvalidDataError, match=words):
        model.learn_one(x, y, w=w)
    for one in (model, other):
        learned(one, *dicts(30, 8))
    assert probabilities(model, dicts(20, 8)[0]) == probabilities(other, dicts(20, 8)[0])


def test_parameters_and_frames_that_are_refused():
    with pytest.raises(InvalidParameterError, match="noise_rate"):
        MassartClassifier(noise_rate=0.7)
    with pytest.raises(InvalidDataError, match="give a data frame"):
        MassartClassifier().learn_many([[1.0]], [True])
    with pytest.raises(InvalidDataError, match="give one each per row"):
        MassartClassifier().learn_many(pd.DataFrame({"a": [1.0]}), pd.Series([True, False]))


def test_names_beyond_the_last_column_share_columns(monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 50)
    model = MassartClassifier(seed=0)
    for n in range(300):
        model.learn_one({f"name {n}": 1.0, "sign": 1.0 if n % 2 else -1.0}, bool(n % 2))
    assert len(model._own.rows.columns) == 50
    assert model.predict_one({"sign": 1.0})
    assert not model.predict_one({"sign": -1.0, "name 299": 1.0})


def test_experts_for_few_features_keep_what_they_know_when_columns_join():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30)) + 0.5
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    pool = Pool(30)
    pool.learn_many(X, y)
    before = pool.columns()[0]
    pool.widen_few(41)
    after = pool.columns()[0]
    np.testing.assert_array_equal(after[:, :30], before[:, :30])
    np.testing.assert_array_equal(after[:, -1], before[:, -1])
    assert not after[:, 30:-1].any()
    wide = rng.normal(size=(2000, 41))
    pool.learn_many(wide, np.where(wide[:, 40] > 0, 1, -1))
    assert (np.abs(pool.columns()[0][-4:, 40]) > 0).all()  # those for few features, too
    row = PoolRow(pool, ScoreCalibration(), wide[0], np.arange(41, dtype=np.uint32))
    np.testing.assert_allclose(row.score(0, 41), pool.score(wide[0]), rtol=1e-9)
    Pool.from_arrays(pool.arrays())
