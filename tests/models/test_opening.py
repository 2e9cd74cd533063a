"""`save` and `load`: whatever was learned comes back bit for bit, in this process or another; the rest is refused."""

import pickle
import sys

import numpy as np
import pandas as pd
import processes
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from massart import Halfspace, MassartClassifier, load, save
from massart.errors import ModelFileError
from massart.kernels.door import Rows
from massart.learners.drift import Drifting
from massart.learners.pool import Pool
from massart.models.model_file import read_model, write_model

KNOWN = {"noise_rate": 0.1, "margin": 0.05, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
WIDE = np.hstack([X, RNG.normal(size=(400, 90)) * (RNG.random((400, 90)) < 0.2)])  # too many for the full matrix
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
    "noise rate only": (lambda: MassartClassifier(0.1, random_state=3), False, Y),
    "margin only": (lambda: MassartClassifier(margin=0.05, random_state=3), False, Y),
    "majority": (lambda: MassartClassifier(voting="majority", random_state=3), False, Y),
    "many features": (lambda: MassartClassifier(random_state=3), False, Y),
    "many features, csr": (lambda: MassartClassifier(random_state=3), True, Y),
    "drifting": (lambda: MassartClassifier(horizon=5, random_state=3), False, Y),  # fades before and after the file
    "drifting, many features": (lambda: MassartClassifier(horizon=40, random_state=3), True, Y),
    "drifting, three classes": (lambda: MassartClassifier(horizon=30, random_state=3), False, THREE),
    "three classes, majority": (lambda: MassartClassifier(voting="majority", random_state=3), True, THREE),
    "pool": (lambda: MassartClassifier(random_state=3), False, Y),
    "pool, csr": (lambda: MassartClassifier(random_state=3), True, Y),
    "pool of large seed": (lambda: MassartClassifier(random_state=2**32 - 1), False, Y),
    "pool, generator": (lambda: MassartClassifier(random_state=np.random.RandomState(1)), False, Y),
    "three classes": (lambda: MassartClassifier(random_state=3), False, THREE),
    "three classes, known, csr": (lambda: MassartClassifier(**KNOWN), True, THREE),
    "words": (lambda: MassartClassifier(**KNOWN), False, np.array(["no", "yes"])[Y]),
    "no intercept": (lambda: MassartClassifier(fit_intercept=False, normalize=False, random_state=1), False, Y),
    "constant of 5": (lambda: MassartClassifier(**KNOWN, intercept_scaling=5.0), False, Y),
    "class weights": (lambda: MassartClassifier(class_weight={0: 1.0, 1: 3.0}, random_state=3), False, Y),
    "balanced": (lambda: MassartClassifier(class_weight="balanced", random_state=3), False, Y),
    "balanced, three": (lambda: MassartClassifier(**KNOWN, class_weight="balanced", missing="zero"), True, THREE),
    "class weights, three": (lambda: MassartClassifier(**KNOWN, class_weight={0: 0.5, 2: 3}), True, THREE),
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
        scores = model.decision_function(rows)
        results[number, start] = pickle.dumps((scores, model.partial_fit(rows, labels)._learner.arrays()))
(folder / "results.pickle").write_bytes(pickle.dumps(results))
"""


def learned(name, how):
    make, sparse, y = LEARNERS[name]
    rows = WIDE if "many features" in name else X
    rows = sp.csr_matrix(rows) if sparse else rows
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
    processes.run([sys.executable, "-W", "error", "-c", _GO_ON, str(folder)], check=True)
    return pickle.loads((folder / "results.pickle").read_bytes())  # noqa: S301


@pytest.mark.parametrize("how", ["online", "fitted"])
@pytest.mark.parametrize("name", LEARNERS)
def test_another_process_goes_on_as_if_nothing_had_happened(gone_on, name, how):
    scores, arrays = pickle.loads(gone_on[list(LEARNERS).index(name), how])  # noqa: S301
    model, rows, y = learned(name, how)
    assert scores.tobytes() == model.decision_function(rows[THEN]).tobytes()
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
    model, rows = (LEARNERS[name][0](), X) if how == "new" else learned(name, how)[:2]
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
        assert np.array_equal(back.decision_function(rows), model.decision_function(rows))
        assert np.array_equal(back.predict(rows), model.predict(rows))
        assert (back.noise_rate_, back.expert_weights_) == (model.noise_rate_, model.expert_weights_)
        assert back.summary().splitlines()[1:] == model.summary().splitlines()[1:]  # a generator has no name
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


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-5, 9]),
        np.array([0.5, 1.5]),
        np.array(["0", "1"]),
        np.array([3, 250], dtype=np.uint8),
        np.array(["ja", "nein"], dtype=object),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]}",
)
@pytest.mark.parametrize("scalars", ["NumPy", "Python"])
def test_class_weights_come_back_under_their_labels(labels, scalars, tmp_path):
    """Keys of NumPy become those of Python, which are equal to them; their type is kept, so is what was learned."""
    keys = list(labels) if scalars == "NumPy" else labels.tolist()
    weights = dict(zip(keys, (1, np.float64(2.5)), strict=True))
    model = MassartClassifier(**KNOWN, class_weight=weights)
    assert round_trip(model, tmp_path).class_weight == weights
    model.partial_fit(X, labels[Y], classes=labels)
    back = round_trip(model, tmp_path)
    assert back.class_weight == weights
    assert [type(key) for key in back.class_weight] == [type(key) for key in labels.tolist()]
    assert back._learner.class_weight == (1.0, 2.5)
    model.partial_fit(X, labels[Y])
    assert np.array_equal(back.partial_fit(X, labels[Y]).coef_, model.coef_)
    assert back.certificate() == model.certificate()
    fresh = [clone(each).partial_fit(X, labels[Y], classes=labels) for each in (back, model)]
    assert np.array_equal(fresh[0].coef_, fresh[1].coef_)


def test_balanced_comes_back(tmp_path):
    back = round_trip(MassartClassifier(**KNOWN, class_weight="balanced").fit(X, Y), tmp_path)
    assert back.class_weight == "balanced"
    assert not back.certificate().applies


@pytest.mark.parametrize("weights", [{(1, 2): 1.0}, {0: float("nan")}, {0: object()}, {None: 1.0}])
def test_class_weights_that_no_file_holds_are_refused(weights, tmp_path):
    with pytest.raises(ModelFileError, match="save"):
        save(MassartClassifier(class_weight=weights), tmp_path / "model.massart")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("weights", [{"labels": [0, 1]}, {"labels": [0, 1], "weights": [1.0]}, {"labels": 5}, {}])
def test_a_file_whose_class_weights_do_not_fit_together_is_refused(weights, tmp_path):
    path = tmp_path / "model.massart"
    save(MassartClassifier(class_weight={0: 1.0, 1: 2.0}), path)
    name, meta, arrays = read_model(path)
    write_model(path, name, {**meta, "parameters": {**meta["parameters"], "class_weight": weights}}, arrays)
    with pytest.raises(ModelFileError, match=r"model\.massart"):
        load(path)


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


KINDS = {
    "halfspace": lambda d: Halfspace(d, 0.1, 0.05),
    "experts": lambda d: Pool(d, seed=2**64 - 1),
    "majority": lambda d: Pool(d, voting="majority", fit_intercept=False, normalize=False),
    "one pair": lambda d: Pool(d, grid=[(0.1, 0.05, True)], seed=5),
    "class weights": lambda d: Pool(d, class_weight=(1.0, 3.0), intercept_scaling=2.0, seed=5),
    "class weights, told": lambda d: Halfspace(d, 0.1, 0.05, class_weight=(1.0, 3.0), intercept_scaling=0.5),
    "class weights, drifting": lambda d: Drifting(d, 7, class_weight=(0.5, 3.0), intercept_scaling=2.0),
    "unproved": lambda d: Halfspace(d, 0.4, 0.05, class_weight=(1.0, 100.0)),
    "drifting": lambda d: Drifting(d, 7, seed=2**63 + 9),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("data", [X, WIDE], ids=["few", "many"])
@pytest.mark.parametrize("kind", KINDS)
def test_learners_come_back_whole(kind, data, sparse, tmp_path):
    rows = Rows.of(sp.csr_matrix(data) if sparse else data)
    learner = KINDS[kind](rows.width)
    learner.learn_many(rows, 2 * Y - 1)
    back = round_trip(learner, tmp_path)
    assert type(back) is type(learner)
    scores = [each.learn_many(rows, 2 * Y - 1) for each in (learner, back)]
    assert scores[0].tobytes() == scores[1].tobytes()
    mine, yours = learner.arrays(), back.arrays()
    assert mine.keys() == yours.keys()
    assert all(mine[name].tobytes() == yours[name].tobytes() for name in mine)
    assert learner.certificate() == back.certificate()


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
    "no expert with a promise": ("experts", {"members": np.zeros((4, 9))}),
    "too many experts": ("experts", {"members": np.zeros((4, 18))}),
    "members of no table": ("experts", {"members": np.zeros(())}),
    "another number of features": ("experts", {"variances": np.zeros(8)}),
    "a matrix for more than a few": ("experts", {"full": np.zeros((67, 66)), "centred": np.zeros((5, 66))}),
    "two seeds": ("experts", {"seed": np.zeros(2, np.uint64)}),
    "seed of the wrong type": ("experts", {"seed": np.zeros(1)}),
    "no horizon": ("drifting", {"horizon": np.zeros(0)}),
    "horizon of a table": ("drifting", {"horizon": np.ones((1, 1))}),
    "pool of another width": ("drifting", {"recent.variances": np.zeros(8)}),
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
    "a reading that is text": {"reading": "svmlight"},
    "a training that is a list": {"training": []},
}


def whole(kind):
    if kind == "halfspace":
        return Halfspace(6, 0.1, 0.05)
    if kind in ("experts", "drifting"):
        return Pool(6) if kind == "experts" else Drifting(6, 100)
    return MassartClassifier(**KNOWN).fit(X, Y)


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


BROKEN = {
    "missing": lambda a: None,
    "of another shape": lambda a: np.zeros((*a.shape, 2), a.dtype),
    "longer": lambda a: np.concatenate([a, a]),
    "empty": lambda a: a[:0],
    "not a number": lambda a: np.full(a.shape, np.nan),
    "infinite": lambda a: np.full(a.shape, np.inf),
    "of single precision": lambda a: np.clip(a, -1e30, 1e30).astype(np.float32),
    "of whole numbers": lambda a: np.clip(a, -1e18, 1e18).astype(np.int64),
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
}
WHOLE = {
    "experts": lambda: Pool(6),
    "many features": lambda: Pool(96),
    "drifting": lambda: Drifting(6, 100),
    "classifier": lambda: MassartClassifier(random_state=0).fit(X, Y),
    "three classes": lambda: MassartClassifier(random_state=0).partial_fit(X, THREE, classes=[0, 1, 2]),
    "three classes, told": lambda: MassartClassifier(**KNOWN).partial_fit(X, THREE, classes=[0, 1, 2]),
    "three classes, drifting": lambda: MassartClassifier(horizon=9, random_state=0).fit(X, THREE),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_every_array_is_needed_whole(kind, tmp_path):
    """Each array in turn: missing, of another shape or type, or with numbers that no pool could hold."""
    path = tmp_path / "model.massart"
    save(WHOLE[kind](), path)
    name, meta, arrays = read_model(path)
    accepted, unnamed = [], 0
    for part, array in arrays.items():
        if part.startswith(("learner.0.", "learner.2.")):  # one of the three is enough
            continue
        for how, damage in BROKEN.items():
            if part in ("classes", "batch_weights") and how == "missing":  # only the parts of a pool are meant here
                continue
            if part == "classes" and how not in ("longer", "empty"):
                continue
            write_model(path, name, meta, changed(arrays, {part: damage(array)}))
            try:
                load(path)
                accepted.append((part, how))
            except ModelFileError as refusal:
                unnamed += "model.massart" not in str(refusal)
    assert (accepted, unnamed) == ([], 0)


@pytest.mark.parametrize("kind", ["three classes, told", "three classes, drifting"])
def test_a_class_too_few_or_too_many_is_refused(kind, tmp_path):
    path = tmp_path / "model.massart"
    save(WHOLE[kind](), path)
    name, meta, arrays = read_model(path)
    last = {part: array for part, array in arrays.items() if part.startswith("learner.2.")}
    fourth = {part.replace(".2.", ".3."): array for part, array in last.items()}
    for other in ({part: a for part, a in arrays.items() if part not in last}, arrays | fourth):
        write_model(path, name, meta, other)
        with pytest.raises(ModelFileError, match=r"model\.massart"):
            load(path)


def test_two_pools_of_different_width_are_refused(tmp_path):
    """Each pool is whole, but the narrow one would be given the rows of the wide one: outside of its arrays."""
    path = tmp_path / "model.massart"
    save(Drifting(6, 100), path)
    name, meta, arrays = read_model(path)
    wide = {f"recent.{part}": array for part, array in Pool(3).arrays().items()}
    write_model(path, name, meta, arrays | wide)
    with pytest.raises(ModelFileError, match=r"model\.massart"):
        load(path)


@pytest.mark.parametrize("horizon", [0.0, -5.0, 1e-300])
def test_a_horizon_out_of_range_is_refused(horizon, tmp_path):
    path = tmp_path / "model.massart"
    save(Drifting(6, 100), path)
    name, meta, arrays = read_model(path)
    write_model(path, name, meta, arrays | {"horizon": np.array([horizon])})
    with pytest.raises(ModelFileError, match=r"model\.massart"):
        load(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.massart"
    save(Pool(6), path)
    whole_file = path.read_bytes()
    for damaged in (b"", b"PK\x03\x04 not ours", whole_file[:-1], whole_file[: len(whole_file) // 2], whole_file[1:]):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"model\.massart"):
            load(path)
    flipped = bytearray(whole_file)
    flipped[len(flipped) // 2] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(ModelFileError, match=r"model\.massart"):
        load(path)
