"""Law 2: what `save` writes, `load` opens; otherwise `save` refuses, and the file that was there stays."""

import os
import socket

import numpy as np
import pytest
from grouped import grouped

from massart import MassartClassifier, load, save
from massart.errors import MassartError, ModelFileError
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool
from massart.learners.products import Products

X = np.random.default_rng(0).normal(size=(80, 3))
Y = np.where(X[:, 0] > 0, 1, -1)


def learned(model):
    if isinstance(model, MassartClassifier):
        return model.partial_fit(X, Y, classes=[-1, 1])
    model.learn_many(X, Y)
    return model


MODELS = {
    "halfspace": lambda: Halfspace(3, 0.1, 0.1),
    "pool": lambda: Pool(3),
    "drifting": lambda: Drifting(3, 20),
    "products": lambda: Products(3),
    "groups": lambda: grouped(3),
    "known": lambda: MassartClassifier(0.1, 0.1),
    "default": lambda: MassartClassifier(random_state=0),
    "forgetting": lambda: MassartClassifier(horizon=20, random_state=0),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_state_that_is_not_finite_is_not_written(kind, value, tmp_path):
    path = tmp_path / "m.massart"
    model = learned(MODELS[kind]())
    save(model, path)
    before = path.read_bytes()
    learner = getattr(model, "_learner", model)
    for array in learner.arrays().values():
        if array.dtype == np.float64:
            good = array.flat[0]
            array.flat[0] = value
            with pytest.raises(ModelFileError, match="not written"):
                save(model, path)
            array.flat[0] = good
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m.massart"]
    save(model, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", MODELS)
def test_a_count_that_cannot_be_is_not_written(kind, tmp_path):
    model = learned(MODELS[kind]())
    learner = getattr(model, "_learner", model)
    totals = next(array for name, array in learner.arrays().items() if name in ("state", "totals", "counts"))
    totals[0] = -1.0  # of a scale, or of rounds
    with pytest.raises(ModelFileError, match="not written"):
        save(model, tmp_path / "m.massart")
    assert not list(tmp_path.iterdir())


class WithParameter(MassartClassifier):
    """A subclass as scikit-learn's users write them."""

    def __init__(self, noise_rate=None, margin=None, smoothing=1.0):
        super().__init__(noise_rate, margin)
        self.smoothing = smoothing


class WithoutParameter(MassartClassifier):
    """One that changes nothing which is saved."""


def test_a_subclass_with_a_parameter_of_its_own_is_refused(tmp_path):
    path = tmp_path / "m.massart"
    save(learned(MassartClassifier(0.1, 0.1)), path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="smoothing"):
        save(learned(WithParameter(0.1, 0.1)), path)
    assert path.read_bytes() == before


def test_a_subclass_without_one_comes_back_as_a_classifier(tmp_path):
    model = learned(WithoutParameter(0.1, 0.1))
    save(model, tmp_path / "m.massart")
    assert np.array_equal(load(tmp_path / "m.massart").coef_, model.coef_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"noise_rate": float("nan")},
        {"margin": float("inf")},
        {"passes": 10**400},
        {"class_weight": {-1: float("nan"), 1: 1.0}},
        {"class_weight": {(1, 2): 1.0}},
        {"horizon": object()},
    ],
)
def test_parameters_that_no_file_holds(parameters, tmp_path):
    with pytest.raises(ModelFileError):
        save(MassartClassifier(**parameters), tmp_path / "m.massart")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("labels", [["a", "b"], [0, 1], [False, True], [0.5, 1.5], [10**30, -(10**30)], ["", "\0x"]])
def test_labels_of_every_kind_come_back(labels, tmp_path):
    kind = object if isinstance(labels[0], int) and labels[0] > 2**63 else None
    y = np.array(labels, dtype=kind)[(Y > 0).astype(int)]
    model = MassartClassifier(0.1, 0.1)
    try:
        model.partial_fit(X, y, classes=labels)
        save(model, tmp_path / "m.massart")
    except MassartError:
        assert not (tmp_path / "m.massart").exists()
        return
    assert load(tmp_path / "m.massart").classes_.tolist() == model.classes_.tolist()


def test_what_is_told_of_a_training_must_fit_in_a_file(tmp_path):
    model = learned(MassartClassifier(0.1, 0.1))
    for notes in ([1], {"loss": float("nan")}, {"loss": object()}, "text"):
        model.training_ = notes
        with pytest.raises(ModelFileError):
            save(model, tmp_path / "m.massart")
    assert not list(tmp_path.iterdir())


def test_a_device_or_pipe_is_not_replaced_by_a_model(tmp_path):
    """`save` moves a whole file to its place: what stood there would be gone, for all programs of the machine."""
    model, pipe = learned(MassartClassifier(0.1, 0.1)), tmp_path / "pipe"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for place in (pipe, tmp_path / "socket", tmp_path):
            before = place.lstat()
            with pytest.raises(ModelFileError):
                save(model, place)
            assert os.path.samestat(place.lstat(), before)
            with pytest.raises(ModelFileError):
                load(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "socket"]


@pytest.mark.parametrize("path", ["", "a\0b", b"a\0b", None, 3, 0.5, ["m"]])
def test_what_is_no_path(path):
    for use in (lambda: save(learned(MassartClassifier(0.1, 0.1)), path), lambda: load(path)):
        with pytest.raises(MassartError):
            use()
