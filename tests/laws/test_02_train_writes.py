"""Law 2, of training: what it writes can be opened; what could not be is refused, and the old file stays."""

import contextlib

import numpy as np
import pytest
from command_cases import KNOWN, massart, trained, write_svmlight

from massart import load
from massart.errors import ModelFileError
from massart.training import Callbacks, Every, Settings, open_training

LEARNERS = [KNOWN, {}, {"horizon": 50.0}]
POISONS = [np.inf, -np.inf, np.nan]


class Poison(Callbacks):
    """Puts a number that is not finite among the weights, once so many rows were learned."""

    def __init__(self, value, after=0):
        self.value, self.after, self.training, self.notes = value, after, None, []

    def begin(self, training):
        self.training = training

    def step(self, step):
        if self.training.progress.learned > self.after:
            for name, array in self.training.trainer.first.arrays().items():
                if name.rpartition(".")[2] == "weights":
                    array[0] = self.value

    def note(self, words):
        self.notes.append(words)


@pytest.fixture
def rows(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", rows=100)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("value", POISONS)
def test_a_state_that_is_not_finite_is_not_written(rows, tmp_path, learner, value):
    model = trained(rows, tmp_path / "m.massart", **learner)
    before = model.read_bytes()
    training = open_training([str(rows)], Settings(**learner), model=model, callbacks=Poison(value))
    with pytest.raises(ModelFileError, match="is not written, as it could not be opened again"):
        training.run()
    assert model.read_bytes() == before
    assert names(tmp_path) == ["m.massart", "rows.svm"]
    load(model)


def test_the_command_ends_with_a_sentence_and_without_a_model(rows, tmp_path, monkeypatch):
    model = trained(rows, tmp_path / "m.massart", **KNOWN)
    before = model.read_bytes()
    monkeypatch.setattr("massart.cli.train._callbacks", lambda plan, err: (Poison(np.inf), contextlib.nullcontext()))
    found = massart("train", rows, "-f", model, "-p", tmp_path / "p.txt", "--noise-rate", ".1", "--margin", ".1")
    assert found.exit_code == 2
    assert found.stderr.startswith(f"massart train: {model} is not written, as it could not be opened again")
    assert found.stderr.count("\n") == 1
    assert model.read_bytes() == before
    assert names(tmp_path) == ["m.massart", "rows.svm"]


def test_a_checkpoint_stays_as_it_was_too(tmp_path):
    rows = write_svmlight(tmp_path / "rows.svm", rows=5000)
    rows.write_text(rows.read_text() * 30)  # several chunks
    model, poison = tmp_path / "m.massart", Poison(np.inf, after=100_000)
    settings = Settings(**KNOWN, checkpoint=Every(rows=1))
    training = open_training([str(rows)], settings, model=model, callbacks=poison)
    with pytest.raises(ModelFileError, match="is not written"):
        training.run()
    assert any("no checkpoint was written" in words and "could not be opened again" in words for words in poison.notes)
    assert not model.exists()
    assert load(training.checkpoint).rounds_ <= 100_000
    again = open_training([str(rows)], settings, model=model, resume=True)
    assert again.run().rows == 150_000
    assert load(model).rounds_ == 150_000
