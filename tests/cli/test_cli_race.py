"""`massart race`: what goes to stdout, to stderr and to files, what is refused, and what Ctrl-C keeps."""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import processes
import pytest
from typer.testing import CliRunner

from massart import arena, worlds
from massart.arena import report
from massart.arena.registry import LEARNERS
from massart.cli.app import app
from massart.cli.race import whole_number

SMALL = ["race", "kink", "-l", "massart,perceptron", "--rounds", "300", "--seeds", "2"]
SWEEP = sys.modules["massart.arena.sweep"]  # the module; the attribute of the package is the function
HEAVY = ("numpy", "numba", "sklearn", "matplotlib", "pyarrow", "scipy", "joblib")


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def example(command):
    """The first example of a command's help."""
    text = massart(command, "--help").stdout
    line, *_ = re.findall(rf"^\s*(massart {command} .*?)\s*$", text, flags=re.M)
    return shlex.split(line)[1:]


def never(*arguments, **options):
    raise AssertionError("the race was started")


def test_help_is_light():
    code = (
        "import sys; from massart.cli.app import app\n"
        "for words in (['--help'], ['race', '--help'], ['bound', '--help'], ['worlds', '--help']):\n"
        "    app(words, standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_example_of_the_help_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = massart(*example("race"))
    assert result.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["race.html"]
    assert "massart race hunted-minority kink --learner massart" in (tmp_path / "race.html").read_text()


def test_the_table_goes_to_stdout_and_the_talk_to_stderr(tmp_path):
    result = massart(*SMALL, "--report", tmp_path / "r.html", "--figure", tmp_path / "r.svg")
    assert result.exit_code == 0
    assert "perceptron" in result.stdout
    assert "wrote" not in result.stdout
    assert result.stderr.splitlines() == [f"wrote {tmp_path / 'r.html'}", f"wrote {tmp_path / 'r.svg'}"]


def test_quiet_leaves_only_the_results(tmp_path):
    result = massart(*SMALL, "--quiet", "--rows", tmp_path / "rows.jsonl")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "perceptron" in result.stdout


def test_json_is_the_rows_of_the_sweep(tmp_path):
    result = massart(*SMALL, "--json", "--rows", tmp_path / "rows.parquet")
    expected = arena.sweep(["kink"], ["massart", "perceptron"], rounds=300, seeds=2)
    assert json.loads(result.stdout) == expected
    assert report.read_rows(tmp_path / "rows.parquet") == expected


def test_jobs_change_nothing():
    assert massart(*SMALL, "--json", "--jobs", 2).stdout == massart(*SMALL, "--json").stdout


def test_the_page_holds_a_command_that_makes_it_again(tmp_path):
    path = tmp_path / "a race.html"
    massart(*SMALL, "--report", path)
    first = path.read_text()
    (command,) = re.findall(r'<code id="command">(.*?)</code>', first)
    path.unlink()
    again = shlex.split(command.replace("&#x27;", "'"))
    assert again[0] == "massart"
    assert massart(*again[1:]).exit_code == 0
    assert path.read_text() == first


def test_no_world_means_all_and_no_learner_the_default_field():
    rows = json.loads(massart("race", "--rounds", 5, "--seeds", 1, "--json").stdout)
    assert list(dict.fromkeys(row["world"] for row in rows)) == worlds.names()
    assert list(dict.fromkeys(row["learner"] for row in rows)) == list(LEARNERS.default)


def test_many_worlds_get_one_line_each():
    text = massart(
        "race", "kink", "E0", "E1", "E6", "-l", "massart", "-l", "arow", "--rounds", 2000, "--seeds", 1
    ).stdout
    for name in ("kink", "random-noise", "masked-margin", "fixed-pair"):
        assert name in text
    assert "By world" in text
    assert "By learner" in text
    assert max(map(len, text.splitlines())) <= 120


def test_a_learner_that_fails_is_marked_and_the_exit_code_tells():
    result = massart("race", "kink", "-l", "exponential-net,perceptron", "--rounds", 100, "--seeds", 1)
    assert result.exit_code == 1
    assert "failed at round 0" in result.stdout
    assert "n_features=20" in result.stdout
    assert "perceptron" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["race", "hunted-minorty"], "there is no world 'hunted-minorty'; did you mean 'hunted-minority'"),
        (["race", "kink", "-l", "perceptrom"], "there is no learner 'perceptrom'; did you mean 'perceptron'"),
        (["race", "kink", "kink"], "the world 'kink' is there twice"),
        (["race", "kink", "--rounds", "0"], "rounds must be a whole number, at least 1"),
        (["race", "kink", "--jobs", "0"], "at least 1"),
        (["race", "kink", "--report", "nowhere/race.html"], "there is no folder nowhere"),
        (["race", "kink", "--report", "race.txt"], "race.txt: a report is written to a file that ends in .html"),
        (["race", "kink", "--figure", "race.gif"], "ends in .png, .svg or .pdf"),
        (["race", "kink", "--rows", "rows.csv"], "ends in .json, .jsonl or .parquet"),
        (["race", "kink", "--report", "/proc/race.html"], "cannot be written to /proc/race.html"),
        (["race", "kink", "--resume", "nowhere/journal"], "nowhere/journal"),
    ],
)
def test_a_mistake_of_the_user_is_one_sentence_and_no_race(monkeypatch, tmp_path, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SWEEP, "run", never)
    result = massart(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr
    assert result.stderr.startswith("massart race: ")
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "path", "package"),
    [("--figure", "r.png", "matplotlib"), ("--rows", "r.parquet", "pyarrow")],
)
def test_a_missing_package_is_found_before_the_race(monkeypatch, tmp_path, option, path, package):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("massart.arena.sweep", never)
    result = massart(*SMALL, option, path)
    assert result.exit_code == 2
    assert f"{package} is needed" in result.stderr
    assert 'pip install "massart[report]"' in result.stderr


def test_a_disk_that_is_full_at_the_end_is_told_in_a_sentence(monkeypatch, tmp_path):
    def full(self, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("pathlib.Path.replace", full)
    result = massart(*SMALL, "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    said = f"massart race: {tmp_path / 'r.html'} could not be written (No space left on device)"
    assert result.stderr.startswith(said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("text", "number"), [("20000", 20_000), ("1e6", 10**6), ("2_000", 2000), ("5.0", 5)])
def test_counts_as_people_write_them(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["many", "1.5", "inf", "nan", ""])
def test_what_is_no_count(text):
    result = massart("race", "kink", "--rounds", text)
    assert result.exit_code == 2
    assert "is not a whole number" in re.sub(r"[\s│]+", " ", result.stderr)


def test_resume_only_does_what_is_missing(tmp_path, monkeypatch):
    journal = tmp_path / "journal.jsonl"
    first = massart(*SMALL, "--json", "--resume", journal)
    monkeypatch.setattr(SWEEP, "run", never)
    again = massart(*SMALL, "--json", "--resume", journal)
    assert again.exit_code == 0
    assert again.stdout == first.stdout
    other = massart(*SMALL[:-1], "3", "--resume", journal)
    assert other.exit_code == 2
    assert "belongs to a sweep with seeds" in other.stderr


@contextmanager
def _started(folder, **options):
    """A race that would take hours, ended at the latest with the test."""
    words = ["race", "kink", "hunted-minority", "-l", "massart,perceptron", "--rounds", "3000", "--seeds", "2000"]
    outputs = ["--report", "race.html", "--rows", "rows.json", "--resume", "journal.jsonl"]
    process = processes.start([sys.executable, "-m", "massart", *words, *outputs], cwd=folder, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


def _wait_for_units(folder, units):
    journal, end = folder / "journal.jsonl", time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 1 + units:
        assert time.monotonic() < end, "no unit was finished in two minutes"
        time.sleep(0.05)


def test_ctrl_c_keeps_what_was_done_and_writes_the_report(tmp_path):
    with _started(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_units(tmp_path, units=3)  # kink and both games of hunted-minority with the first seed
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert re.search(r"^stopped after \d+ of 6000 races$", err, flags=re.M)
    assert "hunted-minority" in out
    rows = report.read_rows(tmp_path / "rows.json")
    assert {(row["world"], row["learner"]) for row in rows if row["rounds"] == 3000} == {
        (world, learner) for world in ("kink", "hunted-minority") for learner in ("massart", "perceptron")
    }
    page = (tmp_path / "race.html").read_text()
    assert "This race was stopped after" in page
    assert "--rounds 3000 --seeds 2000" in page


def test_a_terminal_sees_the_race_while_it_runs(tmp_path):
    ours, theirs = pty.openpty()
    shown, end = b"", time.monotonic() + 120
    screen = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with _started(tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=screen) as process:
        os.close(theirs)
        while b"rounds per second" not in shown:
            assert time.monotonic() < end, "nothing was shown in two minutes"
            if select.select([ours], [], [], 0.5)[0]:
                shown += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # which is how Linux says that the other end is gone
            while chunk := os.read(ours, 65536):
                shown += chunk
        assert process.wait(timeout=60) == 130
    os.close(ours)
    text = shown.decode()
    assert re.search(r"of 24,000,000 rounds", text)
    assert "perceptron" in text
    assert "its bound" in text


def test_half_a_run_is_shown_where_there_is_no_whole_one(tmp_path, monkeypatch):
    rows = arena.sweep(["kink"], ["massart", "perceptron"], rounds=300, seeds=2)
    whole = [row for row in rows if row["seed"] == 0 and row["learner"] == "massart"]
    half = [row for row in rows if row["seed"] == 1 and row["rounds"] <= 100]

    def stopped(*arguments, **options):
        raise arena.SweepInterrupted(whole, half, 1, 4)

    monkeypatch.setattr("massart.arena.sweep", stopped)
    result = massart(*SMALL, "--json")
    assert result.exit_code == 130
    assert result.stderr == "stopped after 1 of 4 races\n"
    assert json.loads(result.stdout) == [*whole, *(row for row in half if row["learner"] == "perceptron")]


def test_ctrl_c_before_anything_was_done_says_so(tmp_path, monkeypatch):
    def stopped(*arguments, **options):
        raise arena.SweepInterrupted([], [], 0, 4)

    monkeypatch.setattr("massart.arena.sweep", stopped)
    result = massart(*SMALL, "--report", tmp_path / "r.html")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "nothing was finished" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_groups_of_learners_and_fewer_seeds_for_peers():
    found = massart(
        "race", "kink", "-l", "default,sklearn-log,massart", "--rounds", 40, "--seeds", 2, "--peer-seeds", 1, "--json"
    )
    rows = json.loads(found.stdout)
    assert [*dict.fromkeys(row["learner"] for row in rows)] == [*LEARNERS.default, "sklearn-log"]
    assert {row["seed"] for row in rows if row["learner"] == "sklearn-log"} == {0}
    assert {row["seed"] for row in rows if row["learner"] == "massart"} == {0, 1}
    page = massart("race", "kink", "-l", "massart,sklearn-log", "--rounds", 40, "--seeds", 2, "--peer-seeds", 1)
    assert "sklearn-log: 1 seed only." in page.stdout
