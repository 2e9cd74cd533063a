"""`massart.log.JsonlLog`: whole lines whatever happens, one writer, rotation; read and learned by the commands."""

import json
import logging
import os
import signal
import sys
import threading

import numpy as np
import processes
import pytest
from scipy import sparse

from massart import Choice, MonotoneBandit, load
from massart.data import DecisionLog
from massart.errors import InvalidDataError, InvalidParameterError, MassartError
from massart.files import OutputInUseError
from massart.log import JsonlLog

WRITER = """
import sys
import numpy as np
from massart import MonotoneBandit, save
from massart.log import JsonlLog

towns, ids = ("Rome", "Oslo", "Lima"), ("news", "sport", "arts")
bandit, rng, late = MonotoneBandit(random_state=0), np.random.default_rng(0), []
with JsonlLog(sys.argv[1], max_bytes=100_000) as log:
    for number in range(1500):
        town = towns[rng.integers(3)]
        choice = bandit.choose(ids, {"town": town, "age": float(rng.normal())})
        reward = float(rng.random() < (0.9 if ids.index(choice.arm_id) == towns.index(town) else 0.1))
        if number % 3:
            log.write(choice, reward)
            bandit.learn(choice, reward)
        else:
            log.write(choice)
            late.append((choice, reward))
        if len(late) > 5:
            log.reward(late[0][0], late[0][1])
            bandit.learn(*late.pop(0))
save(bandit, sys.argv[2])
"""


def massart(*arguments, **options):
    command = [sys.executable, "-m", "massart", *map(str, arguments)]
    return processes.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the log of a bandit that chose and learned in another process, and that bandit."""
    folder = tmp_path_factory.mktemp("log")
    files = [str(folder / "log.jsonl"), str(folder / "own.massart")]
    done = processes.run([sys.executable, "-c", WRITER, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_what_one_process_writes_others_evaluate_and_learn_without_conversion(written):
    """IPS and SNIPS of the commands are the sums of Open Bandit Pipeline's formulas over the joined lines of the log.

    Of 1,500 choices, 500 wait for a reward in a later line, and the last 5 of these never get one. The true value of
    the policy of the matching town is .9, of a random one .367; the standard error of SNIPS is below .05.
    """
    pattern = str(written / "log*.jsonl")
    assert len(list(written.glob("log.0*.jsonl"))) >= 3  # rotated
    found = json.loads(massart("evaluate", pattern, "--policy", "uniform", "--estimator", "ips,snips", "--json").stdout)
    lines = [json.loads(line) for path in sorted(written.glob("log*.jsonl")) for line in path.read_text().splitlines()]
    rewards = {line["event_id"]: line["reward"] for line in lines if "reward" in line}
    made = [line for line in lines if line.get("event_id") in rewards and "arm" in line]
    assert len(made) == 1495
    weights = np.array([(1 / 3) / line["probabilities"][line["arm"]] for line in made])
    earned = np.array([rewards[line["event_id"]] for line in made])
    values = {line["estimator"]: line["value"] for line in found["lines"]}
    assert values["ips"] == pytest.approx((weights * earned).mean(), rel=1e-12)
    assert values["snips"] == pytest.approx((weights * earned).sum() / weights.sum(), rel=1e-12)

    done = massart("bandit", pattern, "-f", written / "new.massart", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    learned = json.loads(done.stdout)
    assert (learned["rounds"], learned["bad"]) == (1495, 0)
    assert learned["skipped"] == {"decisions that never got a reward": 5}
    for model in ("new.massart", "own.massart"):
        found = massart("evaluate", pattern, "--policy", written / model, "--estimator", "snips", "--json")
        assert json.loads(found.stdout)["lines"][0]["value"] > 0.7, model
    bandit = load(written / "new.massart")
    choice = bandit.choose(("news", "sport", "arts"), {"town": "Oslo", "age": 0.0})
    best = max(("news", "sport", "arts"), key=lambda one: float(dict(zip(choice.ids, choice.probabilities,
               strict=True))[one]))  # fmt: skip
    assert best == "sport"
    assert any(one.name.endswith("* town=Oslo") for one in bandit.explain(choice).contributions)


def test_rows_and_choices_from_json_are_logged_too(tmp_path):
    for number, arms in enumerate((np.eye(3), sparse.csr_matrix(np.eye(3)), [{"a": 1.0}, {"a": 2.0}, {"b": "x"}])):
        bandit, path = MonotoneBandit(random_state=0), tmp_path / f"{number}.jsonl"
        with JsonlLog(path, times=False) as log:
            choices = [bandit.choose(arms), Choice.from_json(bandit.choose(arms).to_json())]
            for choice in choices:
                log.write(choice, 0.5)
        for decision, choice in zip(DecisionLog(path).decisions(), choices, strict=True):
            assert (decision.event_id, decision.arm, decision.reward) == (choice.identity, choice.arm, 0.5)
            np.testing.assert_array_equal(decision.probabilities, choice.probabilities)
            assert (sparse.csr_array(decision.contexts) != sparse.csr_array(choice.contexts)).nnz == 0
        assert MonotoneBandit().learn_log(path).rounds == 2


def choice_of(bandit=None):
    return (bandit or MonotoneBandit(random_state=0)).choose(["a", "b"])


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_half_a_line_at_the_end_is_cut_off_and_reported(tmp_path, caplog, cut):
    path, bandit = tmp_path / "log.jsonl", MonotoneBandit(random_state=0)
    with JsonlLog(path) as log:
        for _ in range(3):
            log.write(choice_of(bandit), 1.0)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with caplog.at_level(logging.WARNING, "massart.log"), JsonlLog(path) as log:
        lost = cut > 1  # of the last line only its end was missing
        assert bool(log.torn) == lost
        log.write(choice_of(bandit), 0.0)
    assert ("not whole" in caplog.text) == lost
    assert [decision.reward for decision in DecisionLog(path).decisions()] == [1.0, 1.0, 1.0, 0.0][lost:]
    assert path.read_bytes().startswith(whole[: whole[:-1].rfind(b"\n") + 1])


def test_a_line_longer_than_what_is_looked_at_first_is_found(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"reward":1}\n' + b"x" * 1_000_000)
    with JsonlLog(path) as log:
        assert len(log.torn) == 1_000_000
    assert path.read_bytes() == b'{"reward":1}\n'


@pytest.mark.parametrize("sync", [False, True])
def test_a_process_that_is_killed_leaves_whole_lines(tmp_path, sync):
    program = """
import sys
from massart import MonotoneBandit
from massart.log import JsonlLog
bandit, log = MonotoneBandit(random_state=0), JsonlLog(sys.argv[1], sync=sys.argv[2] == "True")
while True:
    log.write(bandit.choose(["a", "b"], {"x": 1.0}), 1.0)
    print("written", flush=True)
"""
    path = tmp_path / "log.jsonl"
    command = [sys.executable, "-c", program, str(path), str(sync)]
    with processes.start(command, stdout=-1, text=True) as process:
        for _ in range(50):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    with JsonlLog(path):  # the lock went with the process
        pass
    assert sum(1 for _ in DecisionLog(path).decisions()) >= 50


def test_one_process_writes_and_its_threads_share_it(tmp_path):
    path, bandit = tmp_path / "log.jsonl", MonotoneBandit(random_state=0)
    with JsonlLog(path, max_bytes=2_000) as log:
        with pytest.raises(OutputInUseError, match="being written"):
            JsonlLog(path)
        threads = [threading.Thread(target=lambda: [log.write(choice_of(bandit), 1.0) for _ in range(40)])
                   for _ in range(4)]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log.flush()
    with pytest.raises(MassartError, match="closed"):
        log.write(choice_of(bandit), 1.0)
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names[0] == "log.000001.jsonl"
    assert names[-1] == "log.jsonl"
    assert max(one.stat().st_size for one in tmp_path.iterdir()) <= 2_000
    assert sum(1 for _ in DecisionLog(str(tmp_path / "log*.jsonl")).decisions()) == 160


def test_a_full_disk_is_a_sentence_and_leaves_whole_lines(tmp_path):
    program = """
import resource, signal, sys
from massart import MonotoneBandit
from massart.errors import MassartError
from massart.log import JsonlLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
bandit, log = MonotoneBandit(random_state=0), JsonlLog(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
try:
    while True:
        log.write(bandit.choose(["a", "b"]), 1.0)
except MassartError as error:
    print(error)
"""
    path = tmp_path / "log.jsonl"
    done = processes.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert "could not be written" in done.stdout
    assert path.read_bytes().endswith(b"\n")
    assert 5 < sum(1 for _ in DecisionLog(path).decisions()) < 20


def test_what_cannot_be_logged_is_refused(tmp_path):
    with JsonlLog(tmp_path / "log.jsonl") as log:
        for reward in (float("nan"), float("inf"), "much", 1e40):
            with pytest.raises(InvalidDataError, match="reward"):
                log.write(choice_of(), reward)
            with pytest.raises(InvalidDataError, match="reward"):
                log.reward("e", reward)
    assert (tmp_path / "log.jsonl").read_bytes() == b""
    with pytest.raises(InvalidParameterError, match="max_bytes"):
        JsonlLog(tmp_path / "log.jsonl", max_bytes=0)
    for place in (tmp_path, tmp_path / "no" / "log.jsonl", os.devnull):
        with pytest.raises(InvalidParameterError):
            JsonlLog(place)


def test_rewards_find_their_decisions(tmp_path):
    """In any later line, of another file too; the first reward counts, and what fits nothing is counted."""
    decision = {"arm": 0, "probability": 0.5, "arms": 2}
    first = [{"event_id": "a", **decision}, {"event_id": "b", **decision}, {"event_id": "x", "reward": 1}]
    second = [{"event_id": "b", "cost": -0.5, "time": "2026-01-01"}, {"event_id": "b", "reward": 1},
              {"event_id": "c", **decision, "reward": 0.25}]  # fmt: skip
    for name, lines in (("1.jsonl", first), ("2.jsonl", second)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = DecisionLog(str(tmp_path / "*.jsonl"))
    assert [(one.event_id, one.reward, one.time) for one in log.decisions()] == [
        ("b", 0.5, "2026-01-01"),
        ("c", 0.25, None),
    ]
    assert log.skipped == {"rewards without a decision that waits for one": 2, "decisions that never got a reward": 1}
