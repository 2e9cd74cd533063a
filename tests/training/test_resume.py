"""A training that is stopped and goes on ends with the very bytes of one that was never stopped."""

from pathlib import Path

import numpy as np
import pytest
from fake_reader import FakeReader, halfspace_rows
from stopping import After

from massart import load
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.training import Every, Settings, Training
from massart.training import run as run_module
from massart.training.resume import open_trained

X, Y = halfspace_rows(500, 90, density=0.2)
TAGS = [f"t{number}" if number % 3 else "" for number in range(len(Y))]
FLAWS = [(3, "index 0"), (77, "label 'x'"), (300, "label 'y'")]
LEARNERS = [{"noise_rate": 0.1, "margin": 0.05}, {}, {"horizon": 20.0}]


def reader(size=30, **options):
    return FakeReader(X, Y, size=size, tags=TAGS, flaws=FLAWS, **options)


def trained(folder, settings, **options):
    folder.mkdir(exist_ok=True)
    training = Training(
        reader(**options), settings, model=folder / "m.massart", predictions=folder / "p.txt", as_scores=True
    )
    training.run()
    return (folder / "m.massart").read_bytes(), (folder / "p.txt").read_bytes()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("passes", "holdout"), [(1, None), (3, None), (2, 5)])
def test_stopped_again_and_again_it_ends_with_the_same_bytes(tmp_path, learner, passes, holdout):
    settings = Settings(**learner, passes=passes, holdout=holdout)
    whole = trained(tmp_path / "whole", settings)
    folder = tmp_path / "parts"
    folder.mkdir()
    model, stops = folder / "m.massart", 0
    for looks in [2, 5, 3, 7, 4, 6, 3, 9, 8, *[12] * 200]:
        training = Training(
            reader(size=30 if stops % 2 else 23),  # chunks need not be cut at the same places
            settings,
            model=model,
            predictions=folder / "p.txt",
            as_scores=True,
            stopped=After(looks),
        )
        if training.checkpoint.exists():
            training.resume(open_trained(training.checkpoint))
        summary = training.run()
        if summary.stopped is None:
            break
        stops += 1
        assert summary.stopped == 15
        assert not model.exists()
        if summary.checkpoint is not None:
            load(summary.checkpoint)  # is a classifier on its own
    assert stops >= 4
    assert (model.read_bytes(), (folder / "p.txt").read_bytes()) == whole
    assert sorted(path.name for path in folder.iterdir()) == ["m.massart", "p.txt"]


def let_go(file):
    """What the kernel does for a process that dies."""
    file._file.close()
    file._lock.release()


def test_a_process_that_dies_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch):
    settings = Settings(checkpoint=Every(rows=100))
    whole = trained(tmp_path / "whole", settings)

    class DeadError(BaseException):
        pass

    folder = tmp_path / "parts"
    folder.mkdir()
    training = Training(reader(), settings, model=folder / "m.massart", predictions=folder / "p.txt", as_scores=True)
    written = []
    write = training._write

    def dying(path, *, complete):
        write(path, complete=complete)
        written.append(path.read_bytes())
        if len(written) == 3:
            training._sink.write(b"lines that no checkpoint knows of\n" * 10)
            raise DeadError

    monkeypatch.setattr(training, "_write", dying)
    monkeypatch.setattr(run_module.PredictionFile, "abandon", let_go)
    with pytest.raises(DeadError):
        training.run()
    again = Training(reader(), settings, model=folder / "m.massart", predictions=folder / "p.txt", as_scores=True)
    again.resume(open_trained(again.checkpoint))
    assert again.progress.learned == 3 * 120  # chunks of 30 rows: a checkpoint is due after each fourth
    again.run()
    assert ((folder / "m.massart").read_bytes(), (folder / "p.txt").read_bytes()) == whole


@pytest.mark.parametrize("dies_before", ["model", "name of predictions", "removal of checkpoint"])
def test_death_at_the_very_end(tmp_path, monkeypatch, dies_before):
    settings = Settings(noise_rate=0.1, margin=0.05)
    whole = trained(tmp_path / "whole", settings)

    class DeadError(BaseException):
        pass

    def die(*_, **__):
        raise DeadError

    folder = tmp_path / "parts"
    folder.mkdir()
    places = {"model": folder / "m.massart", "predictions": folder / "p.txt", "as_scores": True}
    with monkeypatch.context() as patch:
        training = Training(reader(), settings, **places)
        patch.setattr(run_module.PredictionFile, "abandon", let_go)
        if dies_before == "model":
            write = training._write
            patch.setattr(training, "_write", lambda path, complete: die() if complete else write(path, complete=False))
        elif dies_before == "name of predictions":
            patch.setattr(run_module.PredictionFile, "finish", die)
        else:
            unlink = Path.unlink
            patch.setattr(
                Path,
                "unlink",
                lambda self, **how: die() if self.suffix == ".checkpoint" else unlink(self, **how),
            )
        with pytest.raises(DeadError):
            training.run()
    assert training.checkpoint.exists()
    again = Training(reader(), settings, **places)
    again.resume(open_trained(again.checkpoint))
    assert again.run().rows == len(Y)
    assert ((folder / "m.massart").read_bytes(), (folder / "p.txt").read_bytes()) == whole
    assert sorted(path.name for path in folder.iterdir()) == ["m.massart", "p.txt"]


def stopped_training(folder, settings, **options):
    training = Training(reader(), settings, model=folder / "m.massart", stopped=After(7), **options)
    assert training.run().checkpoint == str(folder / "m.massart.checkpoint")
    return open_trained(folder / "m.massart.checkpoint")


def test_another_training_is_refused_with_what_differs(tmp_path):
    settings = Settings(noise_rate=0.1, margin=0.05)
    saved = stopped_training(tmp_path, settings)
    before = saved.model.path.read_bytes()
    other = Training(reader(), Settings(noise_rate=0.1, margin=0.06), model=tmp_path / "m.massart")
    with pytest.raises(InvalidParameterError, match=r"is of another training: margin was 0.05 and is 0.06 now"):
        other.resume(saved)
    longer = reader()
    longer.sources[0].size = 501
    with pytest.raises(InvalidParameterError, match=r"rows.svm had 500 bytes and has 501 bytes now"):
        Training(longer, settings, model=tmp_path / "m.massart").resume(saved)
    renamed = reader()
    renamed.sources[0].name = "other.svm"
    with pytest.raises(InvalidParameterError, match=r"its data was rows.svm and is other.svm now"):
        Training(renamed, settings, model=tmp_path / "m.massart").resume(saved)
    with pytest.raises(InvalidParameterError, match=r"its predictions went to nowhere and go to p.txt now"):
        Training(reader(), settings, model=tmp_path / "m.massart", predictions=Path("p.txt")).resume(saved)
    assert saved.model.path.read_bytes() == before


def test_a_predictions_file_that_was_cut_is_refused(tmp_path):
    places = {"predictions": tmp_path / "p.txt"}
    saved = stopped_training(tmp_path, Settings(), **places)
    (tmp_path / "p.txt.partial").write_bytes(b"1\n")
    again = Training(reader(), Settings(), model=tmp_path / "m.massart", **places)
    again.resume(saved)
    with pytest.raises(InvalidDataError, match="is shorter than the checkpoint says"):
        again.run()


def test_a_checkpoint_that_is_not_whole_is_refused(tmp_path):
    saved = stopped_training(tmp_path, Settings())
    header = saved.model.header
    meta = {**header["meta"], "progress": {"passed": 1}}
    broken = saved.replace(model=saved.model.replace(header={**header, "meta": meta}))
    with pytest.raises(ModelFileError, match="is incomplete"):
        Training(reader(), Settings(), model=tmp_path / "m.massart").resume(broken)


def test_strict_leaves_the_checkpoint_and_its_predictions_as_they_were(tmp_path):
    places = {"model": tmp_path / "m.massart", "predictions": tmp_path / "p.txt"}
    training = Training(reader(), Settings(checkpoint=Every(rows=50), strict=True), **places)
    training.reader.flaws = [(400, "index 0")]
    with pytest.raises(InvalidDataError, match="line 801"):
        training.run()
    saved = open_trained(training.checkpoint)
    assert (tmp_path / "p.txt.partial").stat().st_size == saved.model.meta["progress"]["predictions"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.massart.checkpoint", "p.txt.partial"]


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(tmp_path, monkeypatch):
    notes = []
    training = Training(reader(), Settings(checkpoint=Every(rows=100)), model=tmp_path / "m.massart")
    training._callbacks.note = notes.append
    write = training._write

    def full(path, *, complete):
        if not complete:
            raise ModelFileError("the disk is full")
        write(path, complete=complete)

    monkeypatch.setattr(training, "_write", full)
    assert training.run().rows == len(Y)
    assert notes[0] == "no checkpoint was written: the disk is full"
    assert np.isfinite(load(tmp_path / "m.massart").coef_).all()
