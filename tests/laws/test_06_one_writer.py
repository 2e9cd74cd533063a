"""Law 6: an output has one writer at a time, and the error of a second one names its owner."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from command_cases import COMMAND, massart, run, trained, wait_for, write_svmlight

from massart import files, load
from massart.errors import InvalidParameterError
from massart.files import OutputInUseError, OutputLock
from massart.training import open_training

KNOWN = ["--noise-rate", ".1", "--margin", ".1"]
PIPED = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.fixture
def rows(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", rows=3000)


def start(*arguments):
    return processes.start([*COMMAND, *map(str, arguments)], **PIPED)


def held(path):
    """Whether somebody has the lock, and has said who."""
    lock = path.with_name(f".{path.name}.lock")
    return lambda: lock.exists() and lock.stat().st_size > 0


def refused(found, path, process, command):
    assert found.returncode == 2, (found.stdout, found.stderr)
    last = found.stderr.splitlines()[-1]
    assert re.search(
        rf"{re.escape(str(path))} is being written by process {process.pid} \(massart {command} .*, since "
        r"2[0-9-]+ [0-9:]+ UTC\): wait for it or give another name$",
        last,
    ), last
    assert "Traceback" not in found.stderr


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_two_trainings_to_one_model(rows, tmp_path):
    """The second is refused; the first goes on as if nothing had been, its live checkpoint included."""
    model, text = tmp_path / "m.massart", rows.read_text()
    with start("train", "-", "-f", model, *KNOWN, "--checkpoint-every", "1") as first:
        first.stdin.write(text * 100)
        first.stdin.flush()
        wait_for((tmp_path / "m.massart.checkpoint").exists, first)
        for arguments in ([rows, "-f", model], [rows, "-f", model, "--resume"], [rows, "-f", model, "-i", model]):
            if "-i" in arguments:
                trained(rows, tmp_path / "other.massart")
                arguments[-1] = tmp_path / "other.massart"
            refused(run("train", *arguments), model, first, "train")
        refused(run("train", rows, "-f", tmp_path / "m.massart.checkpoint"), f"{model}.checkpoint", first, "train")
        assert (tmp_path / "m.massart.checkpoint").exists()
        out, err = first.communicate(timeout=60)
        assert first.returncode == 0, err
    assert "300,000 rows" in out
    assert load(model).rounds_ == 300_000
    assert names(tmp_path) == ["m.massart", "other.massart", "rows.svm"]


def test_two_predictions_to_one_file(rows, tmp_path):
    """By two trainings, by a training and `predict`: the file is that of the first, whole."""
    out, model = tmp_path / "p.txt", trained(rows, tmp_path / "m.massart")
    expected = run("predict", model, rows).stdout
    with start("predict", model, "-", "-o", out) as first:
        wait_for(held(out), first)
        refused(run("predict", model, rows, "-o", out), out, first, "predict")
        refused(run("train", rows, "-f", tmp_path / "other", "-p", out), out, first, "predict")
        first.communicate(rows.read_text(), timeout=60)
        assert first.returncode == 0
    assert out.read_text() == expected
    assert names(tmp_path) == ["m.massart", "p.txt", "rows.svm"]


def test_two_conversions_to_one_file(rows, tmp_path):
    out, model = tmp_path / "out.json", trained(rows, tmp_path / "m.massart")
    with start("convert", "-", out, "--from", "svmlight", "--to", "jsonl") as first:
        first.stdin.write(rows.read_text() * 100)
        first.stdin.flush()
        wait_for(held(out), first)
        refused(run("convert", rows, out, "--to", "jsonl"), out, first, "convert")
        refused(run("convert", model, out), out, first, "convert")
        assert not out.exists()
        first.communicate(timeout=60)
        assert first.returncode == 0
    assert len(out.read_text().splitlines()) == 300_000
    assert names(tmp_path) == ["m.massart", "out.json", "rows.svm"]


def test_two_races_to_one_report(tmp_path):
    outputs = [tmp_path / name for name in ("race.html", "race.png", "rows.jsonl", "journal.jsonl")]
    options = ["--report", "--figure", "--rows", "--resume"]
    long = ["race", "kink", "-l", "default", "--seeds", "50", "--rounds", "1e7", "--quiet"]
    short = ["race", "kink", "-l", "default", "--seeds", "1", "--rounds", "50", "--quiet"]
    with start(*long, *(word for pair in zip(options, outputs, strict=True) for word in pair)) as first:
        for path in outputs:
            wait_for(held(path), first)
        for option, path in zip(options, outputs, strict=True):
            refused(run(*short, option, path), path, first, "race")
        first.kill()
        first.wait(30)
    journal = tmp_path / "journal.jsonl"
    journal.unlink()  # of another race
    for option, path in zip(options, outputs, strict=True):
        found = run(*short, option, path)
        assert found.returncode == 0, found.stderr
        assert path.exists()
    assert names(tmp_path) == sorted(path.name for path in outputs)


def test_the_lock_of_a_killed_process_is_nobodys(rows, tmp_path):
    model = tmp_path / "m.massart"
    with start("train", "-", "-f", model, "-p", tmp_path / "p.txt", *KNOWN) as first:
        first.stdin.write(rows.read_text() * 100)
        first.stdin.flush()
        wait_for(held(tmp_path / "p.txt"), first)
        refused(run("train", rows, "-f", model), model, first, "train")
        first.send_signal(signal.SIGKILL)
        first.wait(30)
    assert ".m.massart.lock" in names(tmp_path)  # what a killed process leaves
    found = run("train", rows, "-f", model, "-p", tmp_path / "p.txt", *KNOWN)
    assert found.returncode == 0, found.stderr
    assert names(tmp_path) == ["m.massart", "p.txt", "rows.svm"]


def test_a_normal_end_leaves_no_lock(rows, tmp_path):
    model = tmp_path / "m.massart"
    for arguments in (
        ["train", rows, "-f", model],
        ["train", rows, "-f", model, "--resume"],
        ["train", rows, "-f", model, "--resume", "--margin", "7"],
        ["train", tmp_path / "none.svm", "-f", model],
        ["predict", model, rows, "-o", tmp_path / "p.txt"],
        ["convert", rows, tmp_path / "r.csv"],
        ["convert", model, tmp_path / "m.npz"],
    ):
        massart(*arguments)
        assert not [name for name in names(tmp_path) if name.endswith((".lock", ".partial"))], arguments
    training = open_training([str(rows)], model=model)
    assert held(model)()
    training.release()
    assert not held(model)()


_COUNTING = """
import sys, time
from pathlib import Path
from massart.files import OutputInUseError, OutputLock
count, path = Path(sys.argv[1], "count"), Path(sys.argv[1], "out")
done = 0
while done < 100:
    try:
        with OutputLock(path):
            number = int(count.read_text())
            time.sleep(0.0005)
            count.write_text(str(number + 1))
            done += 1
    except OutputInUseError:
        pass
"""


def test_nobody_has_it_twice(tmp_path):
    """Four processes take it in turns, each a hundred times; the file of the lock is removed each time."""
    (tmp_path / "count").write_text("0")
    every = [processes.start([sys.executable, "-c", _COUNTING, str(tmp_path)], **PIPED) for _ in range(4)]
    for process in every:
        with process:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
    assert (tmp_path / "count").read_text() == "400"
    assert names(tmp_path) == ["count"]


def test_who_has_it_is_printed_as_text(tmp_path):
    """The file of a lock may hold anything: it is somebody else's."""
    path = tmp_path / "out"
    with OutputLock(path):
        lock = tmp_path / ".out.lock"
        mine = json.loads(lock.read_text())
        assert mine["pid"] == os.getpid()
        for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"7", b'{"pid": 1}', b"0" * 100_000):
            lock.write_bytes(text)
            with pytest.raises(OutputInUseError, match=r"is being written by another process: wait"):
                OutputLock(path).acquire()
        lock.write_text(json.dumps({**mine, "pid": [1], "host": "far\x1b[31m", "command": "x\n" * 999, "since": None}))
        with pytest.raises(OutputInUseError) as caught:
            OutputLock(path).acquire()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 2000
    assert names(tmp_path) == []


def test_a_link_planted_in_its_place_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".out.lock").symlink_to(victim)
    with pytest.raises(InvalidParameterError, match=r"its lock .* cannot be made"):
        OutputLock(tmp_path / "out").acquire()
    assert victim.read_text() == "precious"


def test_devices_are_nobodys():
    with OutputLock("/dev/null"), OutputLock("/dev/null"):
        assert not Path("/dev/.null.lock").exists()


def test_one_that_is_forgotten_is_given_back(tmp_path):
    OutputLock(tmp_path / "out").acquire()
    assert names(tmp_path) == []
    again = OutputLock(tmp_path / "out").acquire()
    assert again.acquire() is again  # twice is once
    again.release()
    again.release()
    assert names(tmp_path) == []
    assert files.is_special(Path("/dev/null"))
