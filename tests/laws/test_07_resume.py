"""Law 7: a training goes on with the same content, and from a checkpoint that this version can read."""

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from command_cases import flipped_labels, massart, run, stopped_training, trained, write_csv, write_svmlight
from forged_headers import header_of, parts_of, write_forged

import massart as package
from massart.training import Settings, open_training
from massart.training.resume import _blocks, content_digest

SHARE = 1 << 22  # bytes that are looked at, of one file


@pytest.fixture
def rows(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", rows=400)


def go_on(rows, model, *options):
    return massart("train", rows, "-f", model, "--resume", *options)


def refused(found, checkpoint, words):
    assert found.exit_code == 2, found.stderr
    assert re.search(words, found.stderr), found.stderr
    assert found.stderr.count("\n") == 1
    assert checkpoint.exists()


def test_other_data_of_the_same_name_and_size(rows, tmp_path):
    whole = trained(rows, tmp_path / "whole.massart").read_bytes()
    checkpoint = stopped_training(rows, tmp_path / "m.massart")
    before, size = checkpoint.read_bytes(), rows.stat().st_size
    flipped_labels(rows)
    assert rows.stat().st_size == size
    found = run("train", rows, "-f", tmp_path / "m.massart", "--resume")
    assert found.returncode == 2
    assert f"{checkpoint} is of another training: {rows} holds other data now; go on with the same" in found.stderr
    assert checkpoint.read_bytes() == before
    flipped_labels(rows)  # and back: another time, the same content
    os.utime(rows, (0, 0))
    assert go_on(rows, tmp_path / "m.massart").exit_code == 0
    assert (tmp_path / "m.massart").read_bytes() == whole
    assert not checkpoint.exists()


def test_a_model_of_other_data_is_not_complete(rows, tmp_path):
    model = trained(rows, tmp_path / "m.massart")
    before = model.read_bytes()
    assert "is complete" in go_on(rows, model).stderr
    flipped_labels(rows)
    found = go_on(rows, model)
    assert "is complete" not in found.stderr
    assert found.exit_code == 0
    assert model.read_bytes() != before


def test_any_byte_of_a_small_file_counts(tmp_path):
    rows = write_svmlight(tmp_path / "rows.svm", rows=30)
    checkpoint, content = stopped_training(rows, tmp_path / "m.massart"), rows.read_bytes()
    rng = np.random.default_rng(7)
    for place in rng.integers(len(content), size=20).tolist():
        rows.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        refused(go_on(rows, tmp_path / "m.massart"), checkpoint, "other data now|labels was|separator")


def large(path):
    """More than is looked at: 1.5 times as much."""
    block = write_svmlight(path, rows=2000).read_bytes()
    path.write_bytes(block * (1 + 3 * SHARE // 2 // len(block)))
    return path


def flip(path, place):
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))


def test_of_a_large_file_blocks_are_compared_and_with_strict_resume_all(tmp_path):
    rows, model = large(tmp_path / "rows.svm"), tmp_path / "m.massart"
    blocks = list(_blocks(rows.stat().st_size, SHARE))
    assert sum(length for _, length in blocks) == SHARE
    assert blocks[0][0] == 0
    assert sum(blocks[-1]) == rows.stat().st_size
    assert len(blocks) == 64
    covered = np.zeros(rows.stat().st_size, bool)
    for place, length in blocks:
        covered[place : place + length] = True
    known = {"noise_rate": 0.1, "margin": 0.1}
    options = ["--noise-rate", ".1", "--margin", ".1"]
    checkpoint = stopped_training(rows, model, **known)
    for place, length in blocks[:: len(blocks) // 7]:
        flip(rows, place + length // 2)
        refused(go_on(rows, model, *options), checkpoint, "holds other data now")
        flip(rows, place + length // 2)
    refused(go_on(rows, model, *options, "--strict-resume"), checkpoint, "it was begun without `--strict-resume`")
    unseen = int(np.flatnonzero(~covered)[1000])
    flip(rows, unseen)
    assert go_on(rows, model, *options).exit_code == 0  # as documented: it is not looked at
    flip(rows, unseen)
    checkpoint = stopped_training(rows, model, strict_resume=True, **known)
    refused(go_on(rows, model, *options), checkpoint, "it was begun with `--strict-resume`")
    flip(rows, unseen)
    refused(go_on(rows, model, *options, "--strict-resume"), checkpoint, "holds other data now")
    flip(rows, unseen)
    assert go_on(rows, model, *options, "--strict-resume").exit_code == 0


@pytest.mark.parametrize("number", [1, 3, 16, 100, 1000, 5000])
def test_the_places_depend_on_sizes_only_and_lie_in_the_file(number):
    rng = np.random.default_rng(number)
    share = max(1 << 13, SHARE // number)
    for size in (*rng.integers(share, 1 << 40, size=50).tolist(), share, share + 1, 2 * share):
        blocks = list(_blocks(size, share))
        assert blocks == list(_blocks(size, share))
        assert blocks[0][0] == 0
        assert sum(blocks[-1]) == size
        assert sum(length for _, length in blocks) <= share
        assert all(place >= 0 and place + length <= size for place, length in blocks)


def stamped(checkpoint, change):
    parts, header = parts_of(checkpoint), header_of(checkpoint)
    change(header)
    write_forged(checkpoint, parts, header)


@pytest.mark.parametrize("version", ["9.9.9", "0.1.1", "1.0", "99", "soon", "", "9.9.9.dev1"])
def test_a_checkpoint_of_a_newer_version_is_refused_by_both_names(rows, tmp_path, version):
    checkpoint = stopped_training(rows, tmp_path / "m.massart")
    stamped(checkpoint, lambda header: header.update(massart=version))
    found = go_on(rows, tmp_path / "m.massart")
    refused(found, checkpoint, f"was written by massart {re.escape(version)}, and this is {package.__version__}, ")


@pytest.mark.parametrize("version", ["0.0.9", "0.1.0", "0.0.1.post1"])
def test_a_checkpoint_of_an_older_version_is_gone_on_from(rows, tmp_path, version):
    checkpoint = stopped_training(rows, tmp_path / "m.massart")
    stamped(checkpoint, lambda header: header.update(massart=version))
    assert go_on(rows, tmp_path / "m.massart").exit_code == 0


def test_a_model_of_a_newer_version_and_the_same_format_opens(rows, tmp_path):
    model = trained(rows, tmp_path / "m.massart")
    stamped(model, lambda header: header.update(massart="9.9.9"))
    assert massart("train", rows, "-i", model).exit_code == 0


def test_another_layout_is_refused(rows, tmp_path):
    for layout in (None, 2, 0):
        checkpoint = stopped_training(rows, tmp_path / "m.massart")
        stamped(
            checkpoint,
            lambda header, layout=layout: (
                header["meta"].pop("layout") if layout is None else header["meta"].update(layout=layout)
            ),
        )
        refused(go_on(rows, tmp_path / "m.massart"), checkpoint, "does not know its checkpoints")


def test_a_checkpoint_that_does_not_say_what_its_data_held_is_refused(rows, tmp_path):
    checkpoint = stopped_training(rows, tmp_path / "m.massart")
    stamped(checkpoint, lambda header: header["meta"]["training"]["runs"][-1].pop("content"))
    refused(go_on(rows, tmp_path / "m.massart"), checkpoint, "it does not say what its data held")


def test_compressed_files_and_folders(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in ("a", "b"):
        text = write_svmlight(tmp_path / "rows.svm", rows=400, seed=ord(name)).read_bytes()
        (folder / f"{name}.svm.gz").write_bytes(gzip.compress(text, mtime=0))
    checkpoint = stopped_training(folder, tmp_path / "m.massart")
    flip(folder / "b.svm.gz", 100)
    refused(go_on(folder, tmp_path / "m.massart"), checkpoint, "b.svm.gz holds other data now")
    flip(folder / "b.svm.gz", 100)
    assert go_on(folder, tmp_path / "m.massart").exit_code == 0


def test_a_holdout_and_labels_in_files_of_their_own(rows, tmp_path):
    holdout = write_svmlight(tmp_path / "holdout.svm", seed=3)
    checkpoint = stopped_training(rows, tmp_path / "m.massart", holdout=str(holdout))
    flipped_labels(holdout)
    refused(go_on(rows, tmp_path / "m.massart", "--holdout", holdout), checkpoint, "holdout.svm holds other data now")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)), rng.integers(2, size=400)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    options = ["--label", tmp_path / "y.npy"]
    reading = package.data.Schema(label=str(tmp_path / "y.npy"))
    training = open_training([str(tmp_path / "x.npy")], Settings(), reading, model=tmp_path / "n.massart")
    training._stopped = iter([None, 15, 15, 15]).__next__
    checkpoint = Path(training.run().checkpoint)
    np.save(tmp_path / "y.npy", 1 - y)
    refused(go_on(tmp_path / "x.npy", tmp_path / "n.massart", *options), checkpoint, "y.npy holds other data now")
    np.save(tmp_path / "y.npy", y)
    assert go_on(tmp_path / "x.npy", tmp_path / "n.massart", *options).exit_code == 0


def test_a_pipe_cannot_be_gone_on_from(rows, tmp_path):
    checkpoint = stopped_training(rows, tmp_path / "m.massart")
    stamped(checkpoint, lambda header: None)
    found = massart("train", "-", "-f", tmp_path / "m.massart", "--resume", input=rows.read_text())
    refused(found, checkpoint, "standard input is a pipe, which may bring other rows each time; name the file")


def test_the_same_content_is_the_same_model_wherever_and_whenever(tmp_path, monkeypatch):
    found = set()
    for number, name in enumerate(("here", "there")):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        write_csv(Path("rows.csv"))
        os.utime("rows.csv", (number, number))
        found.add(trained("rows.csv", Path("m.massart")).read_bytes())
    assert len(found) == 1


def test_the_digest_is_in_what_inspect_prints(rows, tmp_path):
    model = trained(rows, tmp_path / "m.massart")
    (run,) = json.loads(massart("inspect", model, "--json").stdout)["training"]["runs"]
    assert run["content"] == [content_digest(rows)]
