"""`massart train` as a process: pipes that break, signals, death at any moment, full disks; the bytes stay the same."""

import contextlib
import gzip
import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import processes
import pytest
from stopping import finished_or_killed

from massart import load

COMMAND = [sys.executable, "-m", "massart", "train"]
KNOWN = ["--noise-rate", "0.1", "--margin", "0.02"]


def write_rows(path, megabytes, columns=400):
    """A block of distinct rows of svmlight, again and again, with a few flaws and rows without a label."""
    rng = np.random.default_rng(0)
    truth, lines = rng.normal(size=columns), []
    for row in range(4000):
        places = np.sort(rng.choice(columns, 20, replace=False))
        values = np.round(rng.normal(size=20), 4)
        label = 1 if (truth[places] @ values > 0) != (rng.random() < 0.1) else -1
        features = " ".join(f"{j + 1}:{v}" for j, v in zip(places.tolist(), values.tolist(), strict=True))
        lines.append(f"{label} {features}\n" if row % 1000 else "1 0:1\n")
    block = "".join(lines).encode()
    path.write_bytes(block * (1 + (megabytes << 20) // len(block)))
    return path


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.svm", 6)


def run(*arguments, **options):
    return processes.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, **options
    )


def shell(command):
    return processes.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)


def train_of(*arguments):
    return " ".join([*COMMAND, *map(str, arguments)])


@pytest.mark.parametrize("how", ["zcat {gz} |", "cat {gz} |", "cat {plain} |"])
def test_a_pipe_gives_the_model_of_the_file(rows, tmp_path, how):
    packed = tmp_path / "rows.svm.gz"
    packed.write_bytes(gzip.compress(rows.read_bytes(), 1))
    source = how.format(gz=packed, plain=rows)
    found = shell(f"{source} {train_of('-', '-f', tmp_path / 'm', *KNOWN)} | head -1")
    assert found.stdout.startswith("learned  ")
    assert len(found.stdout.splitlines()) == 1
    assert "Traceback" not in found.stderr
    assert run(rows, "-f", tmp_path / "whole", *KNOWN).returncode == 0
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, load(tmp_path / "whole").coef_)


def test_nothing_named_takes_what_is_piped_in(rows, tmp_path):
    found = shell(f"cat {rows} | {train_of('-f', tmp_path / 'm', '--quiet')}")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    assert load(tmp_path / "m").rounds_ > 0


@pytest.mark.parametrize("streams", ["2>/dev/null | head -1", "2>&1 >/dev/null | head -1", "2>&1 | head -1"])
def test_a_broken_pipe_is_no_traceback_and_the_model_is_written(rows, tmp_path, streams):
    train = train_of(rows, "-f", tmp_path / "m", "-P", "1", "-p", "-", *KNOWN)
    found = shell(f"({train}; echo code $? >{tmp_path / 'code'}) {streams}")
    assert len(found.stdout.splitlines()) == 1
    assert "Traceback" not in found.stdout + found.stderr
    assert (tmp_path / "code").read_text() == "code 0\n"
    assert load(tmp_path / "m").rounds_ > 0


def test_standard_output_that_is_full_is_a_sentence(rows, tmp_path):
    found = shell(f"{train_of(rows, '-f', tmp_path / 'm', '-p', '-', '--quiet')} >/dev/full")
    assert found.returncode == 2
    assert found.stderr == "massart train: standard output could not be written: No space left on device\n"


def start(*arguments, **options):
    return processes.start([*COMMAND, *map(str, arguments)], stderr=subprocess.PIPE, text=True, **options)


def wait_for(condition, process, seconds=60):
    begun = time.monotonic()
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() - begun < seconds
        time.sleep(0.005)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_the_middle_of_a_pipe(rows, tmp_path, number, code):
    """Half of the rows come through the pipe, then nothing: the signal must be heard all the same.

    Nobody knows whether a pipe brings the same rows again: what was learned is a model, and cannot be resumed from.
    """
    model, text = tmp_path / "m", rows.read_bytes()
    options = ["-", "-f", model, "-p", tmp_path / "p", "--checkpoint-every", "1000"]
    with start(*options, stdin=subprocess.PIPE) as process:
        process.stdin.buffer.write(text[: len(text) // 2])
        process.stdin.buffer.flush()
        wait_for((tmp_path / "m.checkpoint").exists, process)
        process.send_signal(number)
        words = process.stderr.read()
        assert process.wait(30) == code
    assert re.search(r"stopped after [0-9,]+ rows; .*m.checkpoint is what was learned from the pipe so far", words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.checkpoint", "p.partial"]
    learned = load(tmp_path / "m.checkpoint").rounds_
    assert learned > 0
    resumed = run(*options, "--resume", input=rows.read_text())
    assert resumed.returncode == 2
    assert "standard input is a pipe, which may bring other rows each time" in resumed.stderr
    assert run("-", "-i", tmp_path / "m.checkpoint", "-f", model, input=rows.read_text()).returncode == 0
    assert load(model).rounds_ > learned


def ignoring():
    """As nohup, and a shell that starts a job in the background, leave it to what they start."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def test_signals_that_it_was_told_to_ignore_do_not_stop_it(rows, tmp_path):
    """Ctrl-C and a closed terminal are not for a job in the background: it learns to the end."""
    text = rows.read_bytes()
    options = ["-", "-f", tmp_path / "m", "--checkpoint-every", "1000", *KNOWN]
    with start(*options, stdin=subprocess.PIPE, preexec_fn=ignoring) as process:
        process.stdin.buffer.write(text[: len(text) // 2])
        process.stdin.buffer.flush()
        wait_for((tmp_path / "m.checkpoint").exists, process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        process.stdin.buffer.write(text[len(text) // 2 :])
        process.stdin.close()
        words = process.stderr.read()
        assert process.wait(30) == 0, words
    assert run(rows, "-f", tmp_path / "whole", *KNOWN).returncode == 0
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, load(tmp_path / "whole").coef_)


def test_a_second_signal_ends_at_once(tmp_path):
    with start("-", "-f", tmp_path / "m", stdin=subprocess.PIPE) as process:
        process.stdin.buffer.write(b"1 1:1\n-1 2:1\n" * 200_000)
        process.stdin.buffer.flush()
        process.stderr.readline()
        process.send_signal(signal.SIGSTOP)  # both are waiting when it goes on
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        assert process.wait(30) in (130, 143)
    assert not (tmp_path / "m").exists()


def test_stopped_before_the_first_row(tmp_path):
    with start("-", "-f", tmp_path / "m", stdin=subprocess.PIPE) as process:
        # By the time it loads kernels, or their compiler, it listens to signals, and then it waits for the pipe.
        maps = Path(f"/proc/{process.pid}/maps")
        wait_for(lambda: re.search("llvmlite|kernels/built", maps.read_text()), process)
        process.send_signal(signal.SIGINT)
        words = process.stderr.read()
    assert process.returncode == 130
    assert words == "massart train: stopped before anything was learned\n"
    assert list(tmp_path.iterdir()) == []


def test_killed_at_20_random_moments_it_ends_with_the_same_bytes(tmp_path):
    rows = write_rows(tmp_path / "rows.svm", 24)
    options = ["--passes", "2", "--holdout", "50", "--quiet"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    assert run(rows, "-f", whole / "m", "-p", whole / "p", *options).returncode == 0
    rng, kills = random.Random(20), 0  # noqa: S311
    often = [rows, "-f", parts / "m", "-p", parts / "p", *options, "--checkpoint-every", "1000", "--resume"]
    while kills < 20:
        with processes.start([*COMMAND, *map(str, often)]) as process:
            finished = finished_or_killed(process, parts / "m.checkpoint", rng)
        kills += not finished
        if finished:  # it was too quick for the remaining kills: once more from the start
            assert process.returncode == 0
            assert (parts / "m").read_bytes() == (whole / "m").read_bytes()
            (parts / "m").unlink()
    assert run(*often).returncode == 0
    assert (parts / "m").read_bytes() == (whole / "m").read_bytes()
    assert (parts / "p").read_bytes() == (whole / "p").read_bytes()
    assert not (parts / "m.checkpoint").exists()
    assert not (parts / "p.partial").exists()


def test_resume_with_other_data_or_options_is_refused(rows, tmp_path):
    model = tmp_path / "m"
    with start(rows, "-f", model, "--checkpoint-every", "1000", "--passes", "50", "--quiet", *KNOWN) as process:
        wait_for((tmp_path / "m.checkpoint").exists, process)
        process.kill()
    before = (tmp_path / "m.checkpoint").read_bytes()
    more = tmp_path / "more.svm"
    more.write_bytes(rows.read_bytes())
    for options, words in (
        ([rows, *KNOWN, "--passes", "3"], "passes was 50 and is 3 now"),
        ([rows, "--passes", "50"], "noise_rate was 0.1 and is not given now"),
        ([rows, more, *KNOWN, "--passes", "50"], "its data was"),
        ([rows, *KNOWN, "--passes", "50", "-b", "12"], "bits was not given and is 12 now"),
    ):
        found = run(*options, "-f", model, "--resume")
        assert found.returncode == 2
        assert "m.checkpoint is of another training" in found.stderr
        assert words in found.stderr
        assert (tmp_path / "m.checkpoint").read_bytes() == before


def small_disk():
    """Files of this process may not grow beyond 20 kB, which is to it as a full disk is."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@pytest.mark.parametrize("options", [[], ["-p", "p"], ["--checkpoint-every", "1000"]])
def test_a_full_disk_leaves_nothing_half_written(rows, tmp_path, options):
    (tmp_path / "m").write_bytes(b"the old model")
    found = run(rows, "-f", "m", *options, cwd=tmp_path, preexec_fn=small_disk)
    assert found.returncode == 2
    assert "massart train: " in found.stderr.splitlines()[-1]
    assert "File too large" in found.stderr
    assert "Traceback" not in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == b"the old model"


def test_on_a_terminal_progress_is_redrawn_in_place(tmp_path):
    rows = write_rows(tmp_path / "rows.svm", 150)  # learned for longer than it takes to draw
    leader, follower = pty.openpty()
    shown = b""
    with processes.start(
        [*COMMAND, str(rows), "-f", str(tmp_path / "m")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
    ) as process:
        os.close(follower)
        with contextlib.suppress(OSError):  # that is how a terminal says that its other end is closed
            while piece := os.read(leader, 1 << 16):
                shown += piece
        out = process.stdout.read().decode()
    os.close(leader)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    shows = ("rows/s", "MB/s", "error", "recent", "best constant", "bound", "left", "rows with errors", "rows.svm")
    for words in shows:
        assert words in text, words
    assert "average  since" not in text
    assert out.startswith("learned  ")


def test_nothing_heavy_is_imported(rows):
    script = (
        "import sys; sys.argv = ['massart', 'train', sys.argv[1], '--quiet']\n"
        "from massart.cli.app import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "heavy = ('sklearn', 'pandas', 'pyarrow', 'scipy.sparse', 'scipy.linalg')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    found = processes.run([sys.executable, "-c", script, str(rows)], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_a_folder_that_is_not_writable(rows):
    found = run(rows, "-f", Path("/proc/m.massart"))
    assert found.returncode == 2
    assert "the model cannot be written to /proc/m.massart" in found.stderr
    assert "average" not in found.stderr  # it was refused before anything was learned


@pytest.mark.parametrize("last", ["/no/such/status", None])
def test_commands_run_where_there_is_no_module_resource(tmp_path, last):
    """As on Windows, which has neither it nor /proc."""
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:-1\n" * 20)
    script = (
        "import sys\n"
        "sys.modules['resource'] = None\n"
        "from massart.training import summary\n"
        f"summary.STATUS = {last!r} or summary.STATUS\n"
        "from massart.cli.app import app\n"
        "for words in ('train a.svm -f m', 'predict m a.svm', 'convert a.svm b.csv'):\n"
        "    app(words.split(), standalone_mode=False)\n"
    )
    done = processes.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("MB of memory" in done.stdout) == (last is None and Path("/proc/self/status").exists())
    assert (tmp_path / "b.csv").exists()
