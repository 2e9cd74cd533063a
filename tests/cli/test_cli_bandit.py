"""`massart bandit`: a log to a model, what it says, and what is left when it is stopped."""

import contextlib
import json
import signal
import sys
import threading

import numpy as np
import processes
import pytest
from typer.testing import CliRunner

from massart import Halfspace, MonotoneBandit, load, save
from massart.cli.app import app
from massart.data import Decision, write_decisions

D, ARMS, ROUNDS = 4, 3, 1500


def bandit(*arguments):
    return CliRunner().invoke(app, ["bandit", *map(str, arguments)])


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Random choices; the reward of an arm is 1 with probability 1/2 + its first feature."""
    rng, rows = np.random.default_rng(0), []
    for number in range(ROUNDS):
        X = rng.uniform(-0.4, 0.4, size=(ARMS, D))
        arm = int(rng.integers(ARMS))
        rows.append(Decision(X, arm, 1 / 3, float(rng.random() < 0.5 + X[arm, 0]), event_id=str(number)))
    path = tmp_path_factory.mktemp("bandit") / "log.jsonl"
    write_decisions(rows, path)
    return path


def test_a_log_becomes_the_model_that_python_learns(log, tmp_path):
    done = bandit(log, "-f", tmp_path / "m", "--seed", "3")
    assert done.exit_code == 0, done.output
    assert "1,500 rounds learned" in done.stdout
    assert "4 features; written to" in done.stdout
    assert "1,024 rounds" in done.stderr
    direct = MonotoneBandit(random_state=3)
    direct.learn_log(log)
    found = load(tmp_path / "m")
    np.testing.assert_array_equal(found.weights, direct.weights)
    again = bandit(log, "-i", tmp_path / "m", "-f", tmp_path / "more", "--quiet")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "")
    assert load(tmp_path / "more").rounds == 2 * ROUNDS


def test_the_summary_for_machines(log, tmp_path):
    found = json.loads(bandit(log, "-f", tmp_path / "m", "--json", "--quiet").stdout)
    assert (found["rounds"], found["bad"], found["complete"], found["features"]) == (ROUNDS, 0, True, D)


def test_bad_lines_are_reported_and_make_the_exit_code_1(log, tmp_path):
    lines = log.read_text().splitlines()[:50]
    lines[6] = "{"
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    done = bandit(tmp_path / "log.jsonl", "-f", tmp_path / "m")
    assert done.exit_code == 1
    assert "bad line: " in done.stderr
    assert "log.jsonl, line 7" in done.stderr
    assert "49 rounds learned" in done.stdout
    done = bandit(tmp_path / "log.jsonl", "-f", tmp_path / "other", "--max-bad-lines", "0")
    assert done.exit_code == 2
    assert not (tmp_path / "other").exists()


def test_tables_by_column(tmp_path):
    (tmp_path / "log.csv").write_text("offer,bought,p,town\nred,1,.5,Rome\nblue,0,.5,Oslo\n" * 1)
    options = ["--action", "offer", "--reward", "bought", "--probability", "p", "--context", "town"]
    done = bandit(tmp_path / "log.csv", "-f", tmp_path / "m", *options)
    assert done.exit_code == 0, done.output
    choice = load(tmp_path / "m").choose(["red", "blue"], {"town": "Rome"})
    assert "arm=red * town=Rome" in choice.offer.names().values()
    assert load(tmp_path / "m").weights.size == 6


MISTAKES = {
    "no model": ([], "-f MODEL"),
    "no folder": (["-f", "no/such/folder/m"], "no folder"),
    "no log": (["-f", "m", "nothing.jsonl"], "nothing.jsonl"),
    "another kind": (["-f", "m", "-i", "halfspace"], "give a bandit"),
    "range twice": (["-f", "m", "-i", "bandit", "--reward-range", "0", "2"], "leave --reward-range"),
    "format": (["-f", "m", "--format", "odd"], "vw-cb"),
    "column": (["-f", "m", "--reward", "bought"], "--action"),
    "range": (["-f", "m", "--reward-range", "5", "6"], "outside reward_range"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_a_sentence_and_leave_no_model(log, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    save(Halfspace(4, 0.1, 0.1), "halfspace")
    save(MonotoneBandit(), "bandit")
    arguments, message = MISTAKES[case]
    done = bandit(*([] if case == "no log" else [log]), *arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("massart bandit: ")
    assert message in done.stderr
    assert not (tmp_path / "m").exists()


def test_what_was_learned_is_saved_when_it_is_stopped(log, tmp_path):
    """A log that does not end, on a pipe."""
    lines = b"".join(line.partition(b', "event_id"')[0] + b"}\n" for line in log.read_bytes().splitlines())
    command = [sys.executable, "-m", "massart", "bandit", "-", "-f", str(tmp_path / "m"), "--format", "jsonl"]
    with processes.start(command, stdin=-1, stdout=-1, stderr=-1) as process:

        def feed():
            with contextlib.suppress(OSError):
                while process.poll() is None:
                    process.stdin.write(lines)

        threading.Thread(target=feed, daemon=True).start()
        assert b"1,024 rounds" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        told = process.stderr.read()
        assert process.wait() == 128 + signal.SIGTERM, told
        with contextlib.suppress(OSError):
            process.stdin.close()
    assert b"what was learned so far" in told
    assert load(tmp_path / "m").rounds >= 1024
