"""`save` and `load`: whatever was learned comes back bit for bit, in this process or another; the rest is refused."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from massart import Halfspace, MassartClassifier, load, save
from massart.errors import ModelFileError
from massart.learners.experts import Experts
from massart.learners.rows import Rows
from massart.store.model_file import read_model, write_model

KNOWN = {"noise_rate": 0.1, "margin": 0.05, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
Y = (X[:, 0] > 0).astype(int)
THREE = Y + (X[:, 1] > 0.4)
FIRST, THEN = slice(0, 150), slice(150, 400)

# name: (a new learner, whether rows are CSR, its labels)
LEARNERS = {
    "known": (lambda: MassartClassifier(**KNOWN), False, Y),
    "known, csr": (lambda: MassartClassifier(**KNOWN), True, Y),
    "horizon": (lambda: MassartClassifier(**KNOWN, horizon=400), False, Y),
    "adagrad": (lambda: MassartClassifier(**KNOWN, optimizer="adagrad-norm"), False, Y),
    "adagrad, csr": (lambda: MassartClassifier(**KNOWN, optimizer="adagrad-norm"), True, Y),
    "paper": (lambda: MassartClassifier(**KNOWN, update="paper"), False, Y),
    "paper pool": (lambda: MassartClassifier(update="paper", random_state=3), False, Y),
    "pool": (lambda: MassartClassifier(random_state=3), False, Y),
    "pool, csr": (lambda: MassartClassifier(random_state=3), True, Y),
    "pool of large seed": (lambda: MassartClassifier(random_state=2**32 - 1), False, Y),
    "pool, generator": (lambda: MassartClassifier(random_state=np.random.RandomState(1)), False, Y),
    "three classes": (lambda: MassartClassifier(random_state=3), False, THREE),
    "three classes, known, csr": (lambda: MassartClassifier(**KNOWN), True, THREE),
    "words": (lambda: MassartClassifier(**KNOWN), False, np.array(["no", "yes"])[Y]),
    "no intercept": (lambda: MassartClassifier(fit_intercept=False, normalize=False, random_state=1), False, Y),
}
_GO_ON = """
import pickle, sys
from pathlib import Path
import numpy as np
import scipy.sparse as sp
from massart import load
folder = Path(sys.argv[1])
tasks = pickle.loads((folder / "tasks.pickle").read_bytes())
results = {}
for number, (rows, labels) in enumerate(tasks):
    for start in ("online", "fitted"):
        model = load(folder / f"{number}.{start}.massart")
        results[number, start] = pickle.dumps((model.predict(rows), model.partial_fit(rows, labels)._learner.arrays()))
(folder / "results.pickle").write_bytes(pickle.dumps(results))
"""


def learned(name, how):
    make, sparse, y = LEARNERS[name]
    rows = sp.csr_matrix(X) if sparse else X
    model = make()
    model = (
        model.fit(rows[FIRST], y[FIRST]) if how == "fitted" else model.partial_fit(rows[FIRST], y[FIRST], np.unique(y))
    )
    return model, rows, y


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory):
    """Every model is saved here and goes on in one other process."""
    folder, tasks = tmp_path_factory.mktemp("models"), []
    for number, name in enumerate(LEARNERS):
        for how in ("online", "fitted"):
            model, rows, y = learned(name, how)
            save(model, folder / f"{number}.{how}.massart")
        tasks.append((rows[THEN], y[THEN]))
    (folder / "tasks.pickle").write_bytes(pickle.dumps(tasks))
    subprocess.run([sys.executable, "-W", "error", "-c", _GO_ON, str(folder)], check=True)
    return pickle.loads((folder / "results.pickle").read_bytes())  # noqa: S301


@pytest.mark.parametrize("how", ["online", "fitted"])
@pytest.mark.parametrize("name", LEARNERS)
def test_another_process_goes_on_as_if_nothing_had_happened(gone_on, name, how):
    predicted, arrays = pickle.loads(gone_on[list(LEARNERS).index(name), how])  # noqa: S301
    model, rows, y = learned(name, how)
    assert np.array_equal(predicted, model.predict(rows[THEN]))
    expected = model.partial_fit(rows[THEN], y[THEN])._learner.arrays()
    assert arrays.keys() == expected.keys()
    for key, array in arrays.items():
        assert array.tobytes() == expected[key].tobytes(), key
        assert array.dtype == expected[key].dtype


def round_trip(model, folder):
    save(model, folder / "model.massart")
    return load(folder / "model.massart")


@pytest.mark.parametrize("how", ["new", "online", "fitted"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_classifier_comes_back_whole(name, how, tmp_path):
    model = LEARNERS[name][0]() if how == "new" else learned(name, how)[0]
    back = round_trip(model, tmp_path)
    mine, yours = dict(vars(model)), dict(vars(back))
    if name == "pool, generator":  # its seed was drawn when learning began
        assert how == "new" or yours.pop("random_state") is None
        assert how == "new" or mine.pop("random_state")
    if not (name == "pool, generator" and how == "new"):
        assert {k: v for k, v in mine.items() if k[0] != "_" and k != "classes_"} == {
            k: v for k, v in yours.items() if k[0] != "_" and k != "classes_"
        }
    assert mine.keys() == yours.keys()
    if how != "new":
        assert back.classes_.dtype == model.classes_.dtype
        assert np.array_equal(back.decision_function(X), model.decision_function(X))
        assert np.array_equal(back.predict(X), model.predict(X))
        assert back.certificate() == model.certificate()
        assert (back.rounds_, back.mistakes_, back.n_iter_) == (model.rounds_, model.mistakes_, model.n_iter_)
        assert clone(back).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["ja, natürlich", "no"], dtype=object),
        np.array([False, True]),
        np.array([False, True], dtype=object),
        np.array([-5, 9]),
        np.array([-5, 9], dtype=object),
        np.array([0.5, 1.5], dtype=object),
        np.array([3, 250], dtype=np.uint8),
        np.array([b"no", b"yes"]),
        np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[D]"),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]}",
)
def test_labels_keep_their_type(labels, tmp_path):
    model = MassartClassifier(**KNOWN).partial_fit(X, labels[Y], classes=labels)
    back = round_trip(model, tmp_path)
    assert back.classes_.dtype == labels.dtype
    assert back.classes_.tolist() == labels.tolist()
    assert [type(label) for label in back.classes_] == [type(label) for label in model.classes_]
    assert back.partial_fit(X, labels[Y]).rounds_ == 800


def test_labels_that_no_file_holds_are_refused_before_anything_is_written(tmp_path):
    labels = np.array([(0, 1), (2, 3), None], dtype=object)[:2]
    model = MassartClassifier(**KNOWN).partial_fit(X, Y, classes=[0, 1])
    model.classes_ = labels
    with pytest.raises(ModelFileError, match="labels"):
        save(model, tmp_path / "model.massart")
    assert list(tmp_path.iterdir()) == []


def test_feature_names_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=[f"größe {i}" for i in range(6)])
    back = round_trip(MassartClassifier(**KNOWN).fit(frame, Y), tmp_path)
    assert back.feature_names_in_.tolist() == list(frame.columns)
    assert back.feature_names_in_.dtype == object
    assert back.predict(frame).shape == (400,)
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(frame[frame.columns[::-1]])


def test_numpy_parameters_come_back_as_numbers(tmp_path):
    model = MassartClassifier(
        np.float64(0.1), np.float32(0.25), np.int64(500), passes=np.int64(2), random_state=np.int64(3)
    )
    assert round_trip(model.fit(X, Y), tmp_path).get_params() == model.get_params()


@pytest.mark.parametrize("sparse", [False, True])
def test_learners_come_back_whole(sparse, tmp_path):
    rows = Rows.of(sp.csr_matrix(X) if sparse else X)
    halfspace = Halfspace(6, 0.1, 0.05)
    halfspace.learn_many(rows, 2 * Y - 1)
    pool = Experts(6, classes=3, seed=2**64 - 1)
    pool.learn_rows(rows, THREE, np.ones(400), np.arange(400, dtype=np.uint64))
    for learner, targets in ((halfspace, 2.0 * Y - 1), (pool, THREE)):
        back = round_trip(learner, tmp_path)
        assert type(back) is type(learner)
        for each in (learner, back):
            each.learn_rows(rows, targets, np.ones(400), np.arange(400, dtype=np.uint64))
        assert pickle.dumps(back.arrays()) == pickle.dumps(learner.arrays())


def test_other_things_are_not_saved(tmp_path):
    for thing in (None, {}, "model", clone, MassartClassifier):
        with pytest.raises(ModelFileError, match="save"):
            save(thing, tmp_path / "model.massart")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("noise_rate", [float("nan"), object()])
def test_parameters_that_no_header_holds_are_refused(noise_rate, tmp_path):
    path = tmp_path / "model.massart"
    save(MassartClassifier(), path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="noise_rate"):
        save(MassartClassifier(noise_rate=noise_rate), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# A file may be whole and yet no model: a kernel given such arrays would read and write outside of them.
DAMAGE = {
    "rule too short": ("halfspace", {"rule": np.zeros(2)}),
    "state too short": ("halfspace", {"state": np.zeros(3)}),
    "weights of integers": ("halfspace", {"weights": np.zeros(7, np.int64)}),
    "weights of single precision": ("halfspace", {"weights": np.zeros(7, np.float32)}),
    "weights big-endian": ("halfspace", {"weights": np.zeros(7, ">f8")}),
    "weights in a table": ("halfspace", {"weights": np.zeros((7, 2))}),
    "no weights": ("halfspace", {"weights": np.zeros(0)}),
    "no rule": ("halfspace", {"rule": None}),
    "too few rules": ("experts", {"rules": np.zeros((1, 6))}),
    "rules too short": ("experts", {"rules": np.zeros((84, 2))}),
    "too few states": ("experts", {"states": np.zeros((1, 16))}),
    "too few columns": ("experts", {"weights": np.zeros((7, 2))}),
    "too many losses": ("experts", {"losses": np.zeros((3, 1000))}),
    "no gaps": ("experts", {"gaps": np.zeros(0)}),
    "totals too short": ("experts", {"totals": np.zeros(1)}),
    "no seed": ("experts", {"seed": np.zeros(0, np.uint64)}),
    "seed of the wrong type": ("experts", {"seed": np.zeros(1)}),
    "losses missing": ("experts", {"losses": None}),
    "classifier's rule too short": ("classifier", {"learner.rule": np.zeros(2)}),
    "classifier's rule missing": ("classifier", {"learner.rule": None}),
    "weights of another width": ("classifier", {"learner.weights": np.zeros(3)}),
    "predictor of another width": ("classifier", {"batch_weights": np.zeros((1, 3))}),
    "predictor of two rows": ("classifier", {"batch_weights": np.zeros((2, 7))}),
    "one class": ("classifier", {"classes": np.array([0])}),
    "three classes for one halfspace": ("classifier", {"classes": np.array([0, 1, 2])}),
    "classes missing": ("classifier", {"classes": None}),
}
META = {
    "no parameters": {"parameters": None},
    "parameters that are a number": {"parameters": 5},
    "a strange parameter": {"parameters": {"eta": 0.1}},
    "a strange learner": {"learner": "forest"},
    "a learner that is a list": {"learner": []},
    "no width": {"n_features_in": None},
    "names for other columns": {"feature_names_in": ["a"]},
}


def whole(kind):
    if kind == "halfspace":
        return Halfspace(6, 0.1, 0.05)
    return Experts(6, classes=3) if kind == "experts" else MassartClassifier(**KNOWN).fit(X, Y)


def changed(original, changes):
    return {k: v for k, v in {**original, **changes}.items() if v is not None}


@pytest.mark.parametrize("name", [*DAMAGE, *META])
def test_a_whole_file_that_is_no_model_is_refused(name, tmp_path):
    path = tmp_path / "model.massart"
    kind, change = DAMAGE.get(name, ("classifier", {}))
    save(whole(kind), path)
    _, meta, arrays = read_model(path)
    write_model(path, kind, changed(meta, META.get(name, {})), changed(arrays, change))
    with pytest.raises(ModelFileError, match=r"model\.massart"):
        load(path)


def test_a_kind_from_the_future_is_refused(tmp_path):
    write_model(tmp_path / "m.massart", "forest", {}, {})
    with pytest.raises(ModelFileError, match=r"m\.massart holds a 'forest'"):
        load(tmp_path / "m.massart")
