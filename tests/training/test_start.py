"""Before the first row: files become a training, and what could not end well is refused."""

import os

import numpy as np
import pytest
from fake_reader import halfspace_rows, write_svmlight
from stopping import After

from massart import MassartClassifier, load, save
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.training import Callbacks, Settings, is_complete, open_training, predict_file

X, Y = halfspace_rows(400, 6)
KNOWN = {"noise_rate": 0.1, "margin": 0.05}


@pytest.fixture
def rows(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", X, Y)


class Lines:
    def __init__(self):
        self.text = b""

    def write(self, text):
        self.text += text


def test_a_file_gives_the_model_that_arrays_give(rows, tmp_path):
    open_training([str(rows)], Settings(seed=4), model=tmp_path / "m.massart").run()
    model = load(tmp_path / "m.massart")
    expected = MassartClassifier(random_state=4).partial_fit(X, Y, classes=[-1, 1])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-12)
    assert (model.rounds_, model.mistakes_) == (expected.rounds_, expected.mistakes_)
    assert model.classes_.tolist() == [-1, 1]
    assert model.reading_["format"] == "svmlight"
    assert model.training_["complete"]


def test_the_model_file_has_no_clock_in_it(rows, tmp_path):
    for name in ("a", "b"):
        open_training([str(rows)], Settings(passes=2, holdout=9), model=tmp_path / name).run()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_going_on_from_a_model_adds_up(tmp_path):
    half = [write_svmlight(tmp_path / f"{k}.svm", X[k::2], Y[k::2]) for k in (0, 1)]
    both = open_training([str(path) for path in half], Settings(**KNOWN), model=tmp_path / "both")
    both.run()
    open_training([str(half[0])], Settings(**KNOWN), model=tmp_path / "m").run()
    second = open_training([str(half[1])], model=tmp_path / "m", initial=tmp_path / "m")
    assert second.run().rows == 200
    model, expected = load(tmp_path / "m"), load(tmp_path / "both")
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.rounds_ == 400
    assert [run["sources"][0][0] for run in model.training_["runs"]] == [str(path) for path in half]
    assert [run["learned"] for run in model.training_["runs"]] == [200, 200]


def test_going_on_from_a_model_that_learned_from_arrays(tmp_path):
    words = np.array(["no", "yes"])[(Y > 0).astype(int)]
    save(MassartClassifier(**KNOWN).partial_fit(X, words, classes=["no", "yes"]), tmp_path / "m")
    save(MassartClassifier(**KNOWN).partial_fit(X, (Y > 0).astype(int), classes=[0, 1]), tmp_path / "numbers")
    path = write_svmlight(tmp_path / "rows.svm", X, Y)
    open_training([str(path)], model=tmp_path / "next", initial=tmp_path / "numbers").run()
    assert load(tmp_path / "next").rounds_ == 800
    assert load(tmp_path / "next").classes_.tolist() == [0, 1]
    with pytest.raises(InvalidParameterError, match="labels are numbers in svmlight text"):
        open_training([str(path)], initial=tmp_path / "m")


@pytest.mark.parametrize(
    ("settings", "reading", "words"),
    [
        (Settings(noise_rate=0.2), Schema(), "noise_rate=0.2, but .* was begun with noise_rate=0.1"),
        (Settings(), Schema(bits=12), "bits=12, but .* was begun with bits=None"),
        (Settings(), Schema(labels=("1", "2")), "labels="),
    ],
)
def test_options_that_contradict_the_model_are_refused(rows, tmp_path, settings, reading, words):
    open_training([str(rows)], Settings(**KNOWN), model=tmp_path / "m").run()
    with pytest.raises(InvalidParameterError, match=words):
        open_training([str(rows)], settings, reading, initial=tmp_path / "m")


def test_complete_or_not(rows, tmp_path):
    model = tmp_path / "m"

    def opened(**options):
        return open_training([str(rows)], Settings(**KNOWN, **options), model=model, resume=True)

    assert not is_complete(opened())
    opened().run()
    before = model.read_bytes()
    assert is_complete(opened())
    assert not is_complete(opened(passes=2))
    rows.write_text(rows.read_text() + "1 1:1\n")
    assert not is_complete(opened())
    assert model.read_bytes() == before
    # A model that began with itself has changed, but its training is over all the same.
    open_training([str(rows)], model=model, initial=model).run()
    assert is_complete(open_training([str(rows)], model=model, initial=model), model)


def test_a_new_training_does_not_leave_another_ones_checkpoint(rows, tmp_path):
    notes = []

    class Notes(Callbacks):
        def note(self, words):
            notes.append(words)

    model = tmp_path / "m"
    stopped = open_training([str(rows)], Settings(**KNOWN), model=model, stopped=After(1, signal=2))
    assert stopped.run().checkpoint
    open_training([str(rows)], Settings(**KNOWN), model=model, callbacks=Notes())
    assert stopped.checkpoint.exists()  # it is of the very same training
    open_training([str(rows)], Settings(noise_rate=0.2, margin=0.1), model=model, callbacks=Notes())
    assert not stopped.checkpoint.exists()
    assert len(notes) == 1
    assert "this one begins again" in notes[0]


def test_what_a_killed_process_left_is_removed(rows, tmp_path):
    for name in (".m.0123abcd.partial", ".m.checkpoint.0123abcd.partial", ".other.0123abcd.partial", ".m.partial"):
        (tmp_path / name).touch()
    open_training([str(rows)], model=tmp_path / "m").run()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".m.partial",
        ".other.0123abcd.partial",
        "m",
        "rows.svm",
    ]


@pytest.mark.parametrize("settings", [Settings(passes=2), Settings(holdout=10)])
def test_a_pipe_cannot_be_read_twice(settings, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(writer, b"1 1:1\n" * 20)
    try:
        with pytest.raises(InvalidParameterError, match=r"can be read only once, but .*: write it to a file first"):
            open_training([str(tmp_path / "pipe")], settings, Schema("svmlight"))
    finally:
        os.close(writer)


def test_places_that_make_no_sense(rows, tmp_path):
    with pytest.raises(InvalidParameterError, match="`resume=True` needs a model"):
        open_training([str(rows)], resume=True)
    with pytest.raises(InvalidParameterError, match=r"rows.svm is what is to be read: give another name for the model"):
        open_training([str(rows)], model=rows)
    with pytest.raises(InvalidParameterError, match="give another name for the predictions"):
        open_training([str(rows)], predictions=rows)
    with pytest.raises(InvalidParameterError, match="cannot hold both"):
        open_training([str(rows)], model=tmp_path / "m", predictions=tmp_path / "m")
    with pytest.raises(ModelFileError, match="does not exist"):
        open_training([str(rows)], initial=tmp_path / "none")


def test_models_that_cannot_be_gone_on_from(rows, tmp_path):
    save(MassartClassifier(), tmp_path / "empty")
    save(MassartClassifier(**KNOWN).partial_fit(X, np.arange(400) % 3, classes=[0, 1, 2]), tmp_path / "three")
    save(MassartClassifier(**KNOWN).partial_fit(X, Y, classes=[-1, 1])._learner, tmp_path / "learner")
    for name, words in (("empty", "has learned nothing"), ("three", "3 classes"), ("learner", "not a classifier")):
        with pytest.raises(ModelFileError, match=words):
            open_training([str(rows)], initial=tmp_path / name)


@pytest.mark.parametrize("options", [{}, {"passes": 3}, {"passes": 3, "holdout": 7}])
def test_predictions_are_those_of_the_loaded_model(rows, tmp_path, options):
    open_training([str(rows)], Settings(**options), model=tmp_path / "m").run()
    model = load(tmp_path / "m")
    scores, labels = Lines(), Lines()
    found = predict_file(tmp_path / "m", [str(rows)], scores, scores=True)
    assert (found.rows, found.labelled, found.rows_with_errors) == (400, 400, 0)
    np.testing.assert_allclose(np.array(scores.text.split(), float), model.decision_function(X), rtol=0, atol=1e-12)
    predict_file(tmp_path / "m", [str(rows)], labels)
    np.testing.assert_array_equal(np.array(labels.text.split(), int), model.predict(X))
    assert found.mistakes == int((model.predict(X) != Y).sum())
    assert found.error == found.mistakes / 400


def test_predictions_of_rows_that_are_new_in_every_way(rows, tmp_path):
    text = "\n".join(line.replace("-1 ", "0 ", 1) for line in rows.read_text().splitlines())
    rows.write_text(text + "\n")
    open_training([str(rows)], Settings(**KNOWN), Schema(labels=("0", "1")), model=tmp_path / "m").run()
    new = tmp_path / "new.svm"
    new.write_text("1:0.5 99:3\n5 2:1\nx 1:1\n0 1:-2\n")
    found = predict_file(tmp_path / "m", [str(new)], tmp_path / "out.txt")
    lines = (tmp_path / "out.txt").read_text().split("\n")
    assert len(lines) == 5
    assert lines[2] == ""
    assert {lines[0], lines[1], lines[3]} <= {"0", "1"}
    assert (found.rows, found.labelled, found.rows_with_errors) == (3, 1, 1)
    with pytest.raises(InvalidDataError, match=r"new.svm, line 3, column 1"):
        predict_file(tmp_path / "m", [str(new)], tmp_path / "other.txt", strict=True)
    assert not list(tmp_path.glob("other*"))


def test_a_model_of_hashed_rows_predicts_other_formats(tmp_path):
    svm = write_svmlight(tmp_path / "rows.svm", X, Y)
    open_training([str(svm)], Settings(**KNOWN), Schema(bits=12), model=tmp_path / "m").run()
    vw = tmp_path / "rows.txt"
    vw.write_text("".join(f"| {line.partition(' ')[2]}\n" for line in svm.read_text().splitlines()))
    lines = []
    for path, data_format in ((svm, None), (vw, "vw")):
        predict_file(tmp_path / "m", [str(path)], out := Lines(), scores=True, data_format=data_format)
        lines.append(out.text)
    assert lines[0] == lines[1]
