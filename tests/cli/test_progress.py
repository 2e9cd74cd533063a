"""`massart predict` and `massart convert` show on a terminal how far they are, and nowhere else."""

import contextlib
import os
import pty
import re
import subprocess
import sys
import tempfile

import processes
import pytest

MASSART = [sys.executable, "-m", "massart"]
ROWS = 60_000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    data, model = folder / "rows.svm", folder / "m.massart"
    data.write_text("1 1:1 2:0.5 3:0.25\n-1 1:-1 2:0.5 x\n-1 1:-1 4:2\n" * (ROWS // 3))
    command = [*MASSART, "train", str(data), "-f", str(model), "--noise-rate", "0.1", "--margin", "0.1", "--quiet"]
    processes.run(command, check=True)
    return folder, data, model


def on_a_terminal(*arguments):
    """What a terminal on standard error shows, without its codes, and what went to standard output."""
    leader, follower = pty.openpty()
    shown = b""
    # A file takes all of standard output: a full pipe, or a full terminal, would make the process wait for us.
    with (
        tempfile.TemporaryFile() as written,
        processes.start(
            [*MASSART, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=follower,
            env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
        ) as process,
    ):
        os.close(follower)
        with contextlib.suppress(OSError):  # that is how a terminal says that its other end is closed
            while piece := os.read(leader, 1 << 16):
                shown += piece
        process.wait(60)
        written.seek(0)
        out = written.read().decode()
    os.close(leader)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()), out


def commands(files):
    folder, data, model = files
    return [
        ("predict", model, data),
        ("predict", model, data, "-o", folder / "out"),
        ("convert", data, folder / "a.vw"),
    ]


@pytest.mark.parametrize("number", range(3))
def test_a_terminal_sees_rows_and_their_share(files, number):
    text, _ = on_a_terminal(*commands(files)[number])
    assert f"{ROWS * 2 // 3:,} rows" in text
    assert "100%" in text
    assert "rows.svm, line 2, column 15" in text
    assert "further rows that are left out are only counted" in text


@pytest.mark.parametrize("number", range(3))
def test_quiet_and_pipes_see_no_bar(files, number):
    asked = commands(files)[number]
    assert on_a_terminal(*asked, "--quiet")[0] == ""
    piped = processes.run([*MASSART, *map(str, asked)], capture_output=True, text=True, check=True)
    assert "100%" not in piped.stderr
    assert "\x1b" not in piped.stderr
