"""A log in several files, read by workers: every number and every sentence is that of one process."""

import json
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from shard_cases import Backwards
from typer.testing import CliRunner

from massart import MonotoneBandit, save
from massart.cli.app import app
from massart.data import Decision, DecisionLog, write_decisions
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import EvaluationOptions, compare
from massart.scale import evaluate_parts, local_cluster, local_processes

QUICK = EvaluationOptions(resamples=20)


def decisions(count, seed, *, names=True, slates=False):
    """Decisions among three arms, with an effect; some in lists of two that begin in one file and end in the next."""
    rng = np.random.default_rng(seed)
    made = []
    for row in range(count):
        contexts, chances = rng.normal(size=(3, 4)).round(3), rng.dirichlet(np.ones(3))
        arm = int(rng.choice(3, p=chances))
        number = seed * count + row + 1
        made.append(
            Decision(
                contexts,
                arm,
                float(chances[arm]),
                float(rng.random() < 0.3 + 0.2 * arm),
                probabilities=chances,
                event_id=f"e{number}" if names else None,
                time=f"2026-01-01T00:{row % 60:02d}:00",
                position=1 + number % 2 if slates else None,
                slate=str(number // 2) if slates else None,
            )
        )
    return made


def write(folder, suffix=".jsonl", files=3, count=101, propensities=True, **how):
    for k in range(files):
        path = folder / f"{k}{suffix}"
        write_decisions(decisions(count, k, **how), path)
        if not propensities:
            lines = map(json.loads, path.read_text().splitlines())
            kept = [{name: value for name, value in one.items() if "probabilit" not in name} for one in lines]
            path.write_text("".join(f"{json.dumps(one)}\n" for one in kept))
    return str(folder / f"*{suffix}")


def text(found):
    return json.dumps(found.as_dict())


def one(pattern, policies=("uniform", "first"), options=QUICK, **how):
    return compare(DecisionLog(pattern, propensities_may_miss=True, **how), list(policies), options)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".dsjson", ".csv", ".parquet", ".vw"])
def test_every_format_in_any_order(tmp_path, suffix):
    pattern = write(tmp_path, suffix)
    backwards = Backwards()
    found = evaluate_parts(pattern, ["uniform", "first"], backwards, QUICK)
    assert backwards.done == 3
    assert text(found) == text(one(pattern))
    assert len(found["uniform"].lines) == 5


@pytest.mark.parametrize("how", [{"slates": True}, {"names": False}, {"propensities": False}, {"count": 1}])
def test_lists_names_and_propensities(tmp_path, how):
    """Lists go over the ends of files; propensities are estimated from all of them."""
    pattern = write(tmp_path, **how)
    (tmp_path / "1-empty.jsonl").touch()  # in the midst
    with ThreadPoolExecutor(2) as pool:
        assert text(evaluate_parts(pattern, ["uniform"], pool, QUICK)) == text(one(pattern, ["uniform"]))


def test_on_processes_of_all_kinds(tmp_path):
    pattern, bandit = write(tmp_path), MonotoneBandit()
    policies = {"uniform": "uniform", "logged": "logged", "bandit": bandit}
    expected = text(compare(DecisionLog(pattern), policies, QUICK))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert text(evaluate_parts(pattern, policies, pool, QUICK)) == expected
    with local_processes(2) as engine:
        assert text(evaluate_parts(pattern, policies, engine, QUICK)) == expected
    with local_cluster(2) as engine:
        assert text(evaluate_parts(pattern, policies, engine._client, QUICK)) == expected
        before = set(engine._client.run(os.getpid).values())
        policy = KillsItself(tmp_path / "asked")
        found = evaluate_parts(pattern, {"own": policy}, engine, QUICK)
        assert text(found) == text(compare(DecisionLog(pattern), {"own": policy}, QUICK))
        assert len(before - set(engine._client.run(os.getpid).values())) == 1


class KillsItself:
    """A policy whose first question ends the process that asks it; later ones get an answer."""

    def __init__(self, path):
        self.path = path

    def probabilities(self, contexts):
        if not self.path.exists():
            self.path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.full(contexts.shape[0], 1.0 / contexts.shape[0])


def test_a_worker_that_is_lost_while_it_reads(tmp_path):
    pattern = write(tmp_path)
    policy = KillsItself(tmp_path / "asked")
    with local_processes(2) as engine:
        found = evaluate_parts(pattern, {"own": policy}, engine, QUICK)
    assert policy.path.exists()
    assert text(found) == text(compare(DecisionLog(pattern), {"own": policy}, QUICK))


def records(first, count, paid=True):
    for number in range(first, first + count):
        record = {"event_id": f"e{number}", "arm": number % 2, "arms": 2, "probability": 0.5}
        yield json.dumps(record | ({"reward": int(number % 3 == 0)} if paid else {}))


def reward(number):
    return json.dumps({"event_id": f"e{number}", "reward": 1})


def log_of(folder, *files):
    for k, lines in enumerate(files):
        (folder / f"{k}.jsonl").write_text("\n".join(lines) + "\n")
    return str(folder / "*.jsonl")


def test_rewards_are_joined_within_a_file(tmp_path):
    """What never comes, and what comes too late, is counted as in one process."""
    first = [*records(0, 60), *records(200, 3, paid=False), reward(200), reward(200), reward(777)]
    second = [*records(60, 60), reward(200), reward(778)]
    pattern = log_of(tmp_path, first, second)
    with ThreadPoolExecutor(2) as pool:
        found = evaluate_parts(pattern, ["uniform"], pool, QUICK)
    assert text(found) == text(one(pattern, ["uniform"]))
    assert found["uniform"].skipped == {
        "decisions that never got a reward": 2,
        "rewards without a decision that waits for one": 4,
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([*records(100, 3, paid=False)], [reward(101)]),
        ([*records(100, 1, paid=False)], [*records(100, 1, paid=False), reward(100)]),
        ([*records(7, 1)], [*records(7, 1)]),
        ([*records(7, 1)], [*records(7, 1, paid=False), reward(7)]),
    ],
)
def test_what_belongs_together_must_be_in_one_file(tmp_path, first, second):
    pattern = log_of(tmp_path, [*records(200, 20), *first], [*records(300, 20)], [*second, *records(400, 20)])
    one(pattern)
    with ThreadPoolExecutor(2) as pool, pytest.raises(InvalidDataError, match=r"2\.jsonl has the event id .*one file"):
        evaluate_parts(pattern, ["uniform"], pool, QUICK)


def test_bad_lines_are_those_of_all_files(tmp_path):
    """A file may be bad for the most part, if the log is not."""
    bad, impossible = ["{", '{"arm": 0}'], json.dumps({"arm": 0, "arms": 2, "probability": 7, "reward": 1})
    pattern = log_of(tmp_path, [bad[0], *records(0, 40)], [*bad, impossible, *records(40, 1)], [impossible])
    with ThreadPoolExecutor(2) as pool:
        found = evaluate_parts(
            DecisionLog(pattern, max_bad_lines=5, propensities_may_miss=True), ["uniform"], pool, QUICK
        )
        expected = one(pattern, ["uniform"], max_bad_lines=5)
        assert found.evaluations[0].bad_lines == 5
        assert found == expected
        for limit in (0, 2, 4):
            with pytest.raises(InvalidDataError) as own:
                one(pattern, max_bad_lines=limit)
            log = DecisionLog(pattern, max_bad_lines=limit, propensities_may_miss=True)
            with pytest.raises(InvalidDataError) as other:
                evaluate_parts(log, ["uniform"], pool, QUICK)
            assert str(own.value) == str(other.value)


def test_repeats_and_times_are_looked_at_over_all_files(tmp_path):
    """Without event ids, repeats are found by counting; times go back from one file to the next."""
    same = [Decision(np.full((2, 1), float(k)), 0, 0.5, 1.0, time=f"2026-01-0{1 + k % 3}") for k in range(60)]
    for k in range(2):
        write_decisions(same, tmp_path / f"{k}.jsonl")
    pattern = str(tmp_path / "*.jsonl")
    with ThreadPoolExecutor(2) as pool:
        found = evaluate_parts(pattern, ["uniform"], pool, QUICK)
    assert text(found) == text(one(pattern, ["uniform"]))
    assert "60 decisions repeat an earlier one" in " ".join(found["uniform"].warnings)
    assert "times go back in 78 of 120" in " ".join(found["uniform"].warnings)


def test_what_workers_cannot_read_is_refused(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("arm,reward,p\n1,0,.5\n2,1,.5\n")
    runner = CliRunner()
    done = runner.invoke(
        app,
        ["evaluate", str(table), "--action", "arm", "--reward", "reward", "--probability", "p", "--workers", "2"],
    )
    assert done.exit_code == 2
    assert "evaluate it without workers" in done.output
    done = runner.invoke(app, ["evaluate", "-", "--format", "jsonl", "--workers", "2"], input="{}\n")
    assert done.exit_code == 2
    assert "write it to files first" in done.output
    for k, width in enumerate((2, 3)):
        write_decisions([Decision(np.ones((2, width)), 0, 0.5, 1.0)], tmp_path / f"{k}.jsonl")
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(InvalidDataError, match=r"1\.jsonl has 3 dense features .* 2 dense"):
            evaluate_parts(str(tmp_path / "*.jsonl"), ["uniform"], pool)
        with pytest.raises(InvalidParameterError, match="no policy"):
            evaluate_parts(str(tmp_path / "*.jsonl"), [], pool)


def test_the_command_prints_the_same(tmp_path):
    pattern, runner = write(tmp_path), CliRunner()
    save(MonotoneBandit(), tmp_path / "bandit.massart")
    command = ["evaluate", pattern, "--policy", "uniform", "--policy", str(tmp_path / "bandit.massart")]
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    here = runner.invoke(app, [*command, "--json", "--report", str(pages[0])])
    there = runner.invoke(app, [*command, "--json", "--report", str(pages[1]), "--workers", "2"])
    assert here.exit_code == there.exit_code == 0, there.output
    assert here.output == there.output
    assert pages[0].read_text().replace("one.html", "two.html") == pages[1].read_text()


def test_actions_are_those_of_all_files(tmp_path):
    for k, line in enumerate(("1:0:0.5 | a:1\n2:1:0.5 | b:1\n", "3:0:0.25 | a:2\n1:1:0.5 | c:1\n")):
        (tmp_path / f"{k}.vw").write_text(line * 20)
    pattern = str(tmp_path / "*.vw")
    with ThreadPoolExecutor(2) as pool:
        found = evaluate_parts(DecisionLog(pattern, "vw-cb"), ["uniform"], pool, QUICK)
    assert text(found) == text(compare(DecisionLog(pattern, "vw-cb"), ["uniform"], QUICK))
