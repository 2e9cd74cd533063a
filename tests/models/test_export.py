"""Models for other programs predict what massart predicts."""

import builtins
import json

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier

from massart import MassartClassifier, MonotoneBandit, MonotoneRanker, save
from massart.data.schema import Schema
from massart.errors import InvalidParameterError, ModelFileError
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace
from massart.models.export import export_model
from massart.models.opening import is_model_file, open_model
from massart.training import Settings, open_training


def stream(rows=400, width=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    truth = rng.normal(size=(classes, width))
    return X, np.argmax(X @ truth.T, axis=1)


def trained(folder, labels, *, method="partial_fit", classes=2):
    """A classifier with these labels, and where it lies."""
    X, y = stream(classes=classes)
    named = np.array(labels)[y]
    clf = MassartClassifier(horizon=None if len(labels) == 2 else 100, random_state=0)
    clf = clf.fit(X, named) if method == "fit" else clf.partial_fit(X, named, classes=np.unique(labels))
    path = folder / "m.massart"
    save(clf, path)
    return clf, path, X


@pytest.mark.parametrize("name", ["m.npz", "m.json"])
def test_classes_that_were_learned_together_are_not_linear(tmp_path, name):
    X, y = stream(classes=3)
    save(MassartClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2]), tmp_path / "m.massart")
    with pytest.raises(InvalidParameterError, match="not one linear score each"):
        export_model(tmp_path / "m.massart", tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], ["no", "yes"], [False, True], [3, 7, 9], ["a", "b", "c", "d"]])
@pytest.mark.parametrize("method", ["partial_fit", "fit"])
def test_onnx_answers_alike(tmp_path, labels, method):
    clf, path, X = trained(tmp_path, labels, method=method, classes=len(labels))
    assert export_model(path, tmp_path / "m.onnx") == np.count_nonzero(clf.coef_)
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    label, score = session.run(["label", "score"], {"X": X.astype(np.float32)})
    own = clf.decision_function(X)
    assert score.shape == own.shape
    np.testing.assert_allclose(score, own, atol=1e-5 * np.abs(own).max())
    sizes = np.sort(own, axis=1) if own.ndim == 2 else np.stack([-own, own]).T
    sure = np.abs(sizes[:, -1] - sizes[:, -2]) > 1e-4 * np.abs(own).max()
    assert sure.mean() > 0.9
    wanted = clf.predict(X)[sure]
    assert (label[sure].astype(wanted.dtype) == wanted).all()


def test_onnx_of_other_labels_and_learners(tmp_path):
    trained(tmp_path, [0.5, 2.0])
    export_model(tmp_path / "m.massart", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert set(session.run(["label"], {"X": stream()[0].astype(np.float32)})[0]) == {"0.5", "2.0"}
    for learner in (Halfspace(3, 0.1, 0.05), Drifting(3, 100.0)):
        learner.learn_many(np.eye(3), [1, -1, 1])
        save(learner, tmp_path / "l.massart")
        export_model(tmp_path / "l.massart", tmp_path / "l.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "l.onnx")
        label, score = session.run(None, {"X": np.eye(3, dtype=np.float32)})
        assert label.tolist() == [learner.predict(x) for x in np.eye(3)]
        *weights, constant = learner.leaders()[0]
        np.testing.assert_allclose(score, np.array(weights) + constant, atol=1e-6)


def test_the_same_model_is_the_same_onnx(tmp_path):
    _, path, _ = trained(tmp_path, [0, 1])
    export_model(path, tmp_path / "a.onnx")
    export_model(path, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], ["a", "b", "c"]])
@pytest.mark.parametrize("estimator", [LogisticRegression, SGDClassifier])
def test_scikit_learn_answers_alike(tmp_path, labels, estimator):
    clf, path, X = trained(tmp_path, labels, classes=len(labels))
    export_model(path, tmp_path / "m.npz")
    other = estimator()
    with np.load(tmp_path / "m.npz", allow_pickle=False) as parts:
        assert sorted(parts) == ["classes_", "coef_", "intercept_"]
        assert parts["coef_"].shape == (1 if len(labels) == 2 else len(labels), X.shape[1])
        assert parts["intercept_"].shape == parts["coef_"].shape[:1]
        for name in parts:
            setattr(other, name, parts[name])
    assert np.array_equal(other.predict(X), clf.predict(X))
    # Sums of d + 1 products in two orders: each is off by at most (d + 1) roundings of the sum of their sizes.
    sizes = np.abs(X) @ np.abs(clf.coef_).T + np.abs(clf.intercept_)
    apart = np.abs(other.decision_function(X) - clf.decision_function(X)).reshape(sizes.shape)
    assert np.all(apart <= 2 * (X.shape[1] + 1) * np.finfo(float).eps * sizes)


def test_npz_of_labels_of_several_types(tmp_path):
    X, y = stream()
    clf = MassartClassifier(0.1, 0.05).partial_fit(X, np.array(["no", "yes"], object)[y], classes=["no", "yes"])
    save(clf, tmp_path / "m.massart")
    export_model(tmp_path / "m.massart", tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as parts:
        assert parts["classes_"].tolist() == ["no", "yes"]


def test_json_is_the_whole_model(tmp_path):
    clf, path, X = trained(tmp_path, ["no", "ja, gut"])
    export_model(path, tmp_path / "m.json.gz")
    assert (tmp_path / "m.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    export_model(path, tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["kind"] == "classifier"
    assert found["classes"] == clf.classes_.tolist()
    assert (found["rounds"], found["mistakes"]) == (clf.rounds_, clf.mistakes_)
    assert found["certificate"]["holds"] == clf.certificate().holds
    assert found["parameters"]["voting"] == "sample"
    assert found["weights_by"] == "the columns, from 0"
    (halfspace,) = found["halfspaces"]
    assert halfspace["class"] == clf.classes_[1]
    weights = np.zeros(X.shape[1])
    for column, weight in halfspace["weights"].items():
        weights[int(column)] = weight
    assert np.array_equal(weights, clf.coef_[0])
    assert halfspace["intercept"] == clf.intercept_[0]


def test_json_of_several_classes_and_named_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = stream(classes=3)
    names = [*"abcde", 'quo"te']
    clf = MassartClassifier(0.1, 0.05).partial_fit(pandas.DataFrame(X, columns=names), y, classes=[0, 1, 2])
    save(clf, tmp_path / "m.massart")
    export_model(tmp_path / "m.massart", tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["weights_by"] == "the names of columns"
    assert [halfspace["class"] for halfspace in found["halfspaces"]] == [0, 1, 2]
    for halfspace, own in zip(found["halfspaces"], clf.coef_, strict=True):
        assert halfspace["weights"] == dict(zip(names, own.tolist(), strict=True))


def test_json_of_an_endless_bound(tmp_path):
    """Infinity is no JSON."""
    save(Halfspace(2, 0.1, 0.05), tmp_path / "m.massart")
    export_model(tmp_path / "m.massart", tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["error"] is None
    assert found["halfspaces"] == [{"class": 1, "intercept": 0.0, "weights": {}}]


def learned_from(folder, name, text, **how):
    path = folder / name
    path.write_text(text)
    model = folder / "m.massart"
    open_training([str(path)], Settings(noise_rate=0.1, margin=0.05), Schema(**how), model=model).run()
    return model


def test_keys_are_those_of_the_data(tmp_path):
    def keys(model):
        export_model(model, tmp_path / "m.json")
        found = json.loads((tmp_path / "m.json").read_text())
        return found["weights_by"].split(",")[0], list(found["halfspaces"][0]["weights"])

    model = learned_from(tmp_path, "a.svm", "1 1:1 7:1\n-1 3:1\n")
    assert keys(model) == ("the indices of svmlight", ["1", "3", "7"])
    model = learned_from(tmp_path, "a.csv", "age,y,size\n1,1,1\n2,0,0\n")
    assert keys(model) == ("the names of columns", ["age", "size"])
    model = learned_from(tmp_path, "a.vw", "1 | 5 0\n-1 | 9\n")
    assert keys(model) == ("the columns that names are hashed to", ["0", "5", "9"])


def test_crossings_are_refused_in_onnx(tmp_path):
    model = learned_from(tmp_path, "a.vw", "1 |a x |b y\n-1 |a z |b y\n", bits=4, crossings=("ab",))
    with pytest.raises(
        InvalidParameterError, match=r"crosses namespaces .* convert the data with the same `crossings`"
    ):
        export_model(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    assert export_model(model, tmp_path / "m.npz") > 0


@pytest.mark.parametrize("made", [MonotoneBandit, MonotoneRanker, MassartClassifier])
def test_what_has_no_halfspace_is_refused(tmp_path, made):
    save(made(), tmp_path / "m.massart")
    for name in ("m.json", "m.npz", "m.onnx"):
        with pytest.raises(InvalidParameterError, match=r"only classifiers and rankers|learned nothing yet"):
            export_model(tmp_path / "m.massart", tmp_path / name)
        assert not (tmp_path / name).exists()


def test_what_is_no_model(tmp_path):
    for content in (b"", b"1 1:1\n", b"PK\x03\x04 and so on", b"PK\x03\x04" + b"header.json" * 9):
        (tmp_path / "m.massart").write_bytes(content)
        with pytest.raises(ModelFileError, match=r"m\.massart"):
            export_model(tmp_path / "m.massart", tmp_path / "m.json")
    with pytest.raises(ModelFileError, match="does not exist"):
        open_model(tmp_path / "none")
    for name in ("m.txt", "-"):
        with pytest.raises(InvalidParameterError, match="a model is written to a"):
            export_model(tmp_path / "m.massart", name)
    with pytest.raises(InvalidParameterError, match="a model is written as"):
        export_model(tmp_path / "m.massart", "-", "xml")


def test_model_files_are_told_by_their_content(tmp_path):
    save(Halfspace(2, 0.1, 0.05), tmp_path / "a.csv")
    assert is_model_file(tmp_path / "a.csv")
    (tmp_path / "b.massart").write_text("1 1:1\n")
    assert not is_model_file(tmp_path / "b.massart")
    assert not is_model_file("-")
    assert not is_model_file(tmp_path)


def test_without_onnx(tmp_path, monkeypatch):
    save(Halfspace(2, 0.1, 0.05), tmp_path / "m.massart")
    real = builtins.__import__
    for name in list(__import__("sys").modules):
        if name == "onnx" or name.startswith("onnx."):
            monkeypatch.delitem(__import__("sys").modules, name)
    monkeypatch.setattr("importlib.import_module", lambda name: real(name if name != "onnx" else "no_such_module_onnx"))
    with pytest.raises(ImportError, match=r"pip install \"massart\[onnx\]\""):
        export_model(tmp_path / "m.massart", tmp_path / "m.onnx")
