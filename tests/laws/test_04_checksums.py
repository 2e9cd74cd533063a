"""Law 4: every command verifies checksums before it answers."""

import json
import shutil
import struct
import zipfile

import numpy as np
import pytest
import tiers
from command_cases import massart, run, save_kinds, stopped_training, trained, write_svmlight

from massart import load
from massart.data import Decision, write_decisions

FLIPS = max(40, tiers.FUZZ // 100)  # of each file; they go to its commands in turn


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    files, data = save_kinds(folder)
    log = [Decision(np.eye(2), number % 2, 0.5, float(number % 3 == 0)) for number in range(40)]
    write_decisions(log, folder / "log.jsonl")
    return files, data, folder


def commands(kind, model, data, out):
    """What takes a file of that kind, as the arguments of `massart`."""
    rows = data["csv" if kind in ("known", "checkpoint") else "svm"]
    every = [["inspect", model], ["inspect", model, "--json"]]
    if kind in ("pool", "known", "horizon", "checkpoint"):
        every += [["predict", model, rows], ["predict", model, rows, "-o", out / "p.txt"]]
        every += [["train", rows, "-i", model, "-f", out / "new.massart"]]
    if kind not in ("bandit", "ranker", "three"):  # classes that were learned together are not linear
        every += [["convert", model, out / "m.json"], ["convert", model, out / "m.npz"]]
    if kind == "bandit":
        every += [["evaluate", out.parent / "log.jsonl", "--policy", model]]
    return every


def regions(path):
    """Where each part of the file lies: its beginning, every member, and the directory at the end."""
    with zipfile.ZipFile(path) as archive:
        starts = [info.header_offset for info in archive.infolist()]
        end = archive.start_dir
    size = path.stat().st_size
    return list(zip([*starts, end], [*starts[1:], end, size], strict=True))


def refused(found, model):
    assert found.exit_code == 2, (found.stdout, found.stderr)
    assert found.stdout == ""
    assert str(model) in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", ["pool", "known", "horizon", "checkpoint", "three", "bandit", "ranker"])
def test_a_bit_that_flipped_anywhere_is_found_by_every_command(kinds, tmp_path, kind):
    files, data, folder = kinds
    content = files[kind].read_bytes()
    rng = np.random.default_rng(4)
    shutil.copy(folder / "log.jsonl", tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    model = tmp_path / "m.massart"
    parts = regions(files[kind])
    for number in range(FLIPS):
        first, last = parts[number % len(parts)]
        place, bit = int(rng.integers(first, last)), int(rng.integers(8))
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        model.write_bytes(damaged)
        every = commands(kind, model, data, out)
        refused(massart(*every[number // len(parts) % len(every)]), model)
        assert list(out.iterdir()) == []
    for command in commands(kind, files[kind], data, out):  # what is whole is answered
        assert massart(*command).exit_code == 0, command


def test_flipped_signs_are_no_answer(tmp_path):
    """The sign bit of every weight: the file opens, and would err where it was right."""
    rows = write_svmlight(tmp_path / "rows.svm", rows=200)
    model = trained(rows, tmp_path / "m.massart", noise_rate=0.1, margin=0.1)
    assert run("predict", model, rows).returncode == 0
    content = bytearray(model.read_bytes())
    weights = load(model)._learner.arrays()["weights"]
    start = bytes(content).index(weights.tobytes())
    for number in range(weights.size):
        content[start + 8 * number + 7] ^= 0x80
    assert struct.unpack_from("<d", content, start)[0] == -weights.ravel()[0]
    model.write_bytes(content)
    for command in (["predict", model, rows], ["predict", model, rows, "-o", tmp_path / "p"], ["inspect", model]):
        found = run(*command)
        assert found.returncode == 2
        assert found.stdout == ""
        assert "SHA-256" in found.stderr
        assert "Traceback" not in found.stderr
    assert not (tmp_path / "p").exists()


def test_a_damaged_model_is_not_complete(tmp_path):
    """`train --resume` must not say that a model is there, when it is not whole: it is made again."""
    rows = write_svmlight(tmp_path / "rows.svm")
    model = trained(rows, tmp_path / "m.massart")
    whole = model.read_bytes()
    assert "is complete" in massart("train", rows, "-f", model, "--resume").stderr
    content = bytearray(whole)
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    found = massart("train", rows, "-f", model, "--resume")
    assert "is complete" not in found.stderr
    assert found.exit_code == 0
    assert model.read_bytes() == whole


def test_a_damaged_checkpoint_is_not_gone_on_from(tmp_path):
    rows = write_svmlight(tmp_path / "rows.svm")
    checkpoint = stopped_training(rows, tmp_path / "m.massart")
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 2] ^= 1
    checkpoint.write_bytes(content)
    refused(massart("train", rows, "-f", tmp_path / "m.massart", "--resume"), checkpoint)
    assert checkpoint.read_bytes() == content
    assert not (tmp_path / "m.massart").exists()


def test_json_tells_the_version_only_of_a_whole_file(kinds):
    files, _, _ = kinds
    for path in files.values():
        assert json.loads(massart("inspect", path, "--json").stdout)["massart"]
