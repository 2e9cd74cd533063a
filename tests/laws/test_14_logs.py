"""Law 14: off-policy evaluation says what is wrong with a log, with counts and the first lines."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from massart.cli.app import app
from massart.data import Decision, DecisionBatch, DecisionLog, write_decisions
from massart.data.row_errors import LARGEST_IN_LOG, SMALLEST_IN_LOG
from massart.errors import InvalidDataError
from massart.evaluation import evaluate


def decisions(count, seed=0, *, ids=False, discrete=False):
    """An honest log of two arms."""
    random = np.random.default_rng(seed)
    for row in range(count):
        contexts = np.eye(2) if discrete else random.normal(size=(2, 3))
        arm = int(random.random() < 0.4)
        reward = float(random.random() < (0.3, 0.7)[arm])
        name = f"event {row}" if ids else None
        yield Decision(contexts, arm, (0.6, 0.4)[arm], reward, event_id=name, line=row + 1)


def written(folder, rows, name="log.jsonl"):
    write_decisions(rows, folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["log.jsonl", "log.dsjson", "log.parquet", "log.vw"])
def test_a_log_that_is_in_it_twice_counts_once(tmp_path, name):
    once = list(decisions(300, ids=True))
    path = written(tmp_path, [*once, *once], name)
    found = evaluate(path, "uniform")
    assert found.decisions == 300
    assert found.skipped == {"decisions that repeat an earlier one with the same event id": 300}
    first = 301 if name in ("log.jsonl", "log.parquet", "log.dsjson") else 901
    assert any(
        words.startswith(f"300 decisions repeat an earlier one with the same event id (line {first} repeats line 1, ")
        and words.count("repeats line") == 3
        for words in found.warnings
    ), found.warnings
    alone = evaluate(written(tmp_path, once, f"alone.{name}"), "uniform")
    assert found.effective_sample_size == alone.effective_sample_size
    assert found["ips"] == alone["ips"]


def test_batches_in_memory_count_once_as_well():
    once = list(decisions(300, ids=True))
    found = evaluate(DecisionBatch.of([*once, *once]), "uniform", estimators=["ips"])
    assert found.decisions == 300
    assert any("300 decisions repeat" in words for words in found.warnings)


def test_another_decision_under_the_same_event_id_is_kept_and_told(tmp_path):
    rows = list(decisions(200, ids=True))
    rows[7] = Decision(rows[7].contexts, rows[7].arm, rows[7].probability, 5.0, event_id="event 3")
    found = evaluate(written(tmp_path, rows), "uniform")
    assert found.decisions == 200
    assert any(
        "1 decision has the event id of an earlier one but differ from it (line 8 repeats line 4)" in words
        for words in found.warnings
    ), found.warnings


@pytest.mark.parametrize("discrete", [False, True])
def test_a_log_without_event_ids_that_is_in_it_twice_is_told(tmp_path, discrete):
    once = list(decisions(400, discrete=discrete))
    found = evaluate(written(tmp_path, [*once, *once]), "uniform", estimators=["ips"])
    # Contexts that come again and again are no repeats: of those, only a log of other contexts can tell.
    warned = any("repeat an earlier one in every number (line 401 repeats line 1, " in w for w in found.warnings)
    assert warned != discrete


def test_honest_logs_are_not_suspected():
    """The chance of a suspicion is below 1e-3 for each log (decisions/survey.py): for 60 logs, one at the most.

    More than one has a chance below 60^2 / 2 * 1e-6 < 0.002.
    """
    suspected = 0
    for seed in range(60):
        rows = list(decisions(300, seed, discrete=seed % 2 == 0))
        found = evaluate(DecisionBatch.of(rows), "uniform", estimators=["ips"], intervals=["normal"])
        suspected += any("repeat" in words for words in found.warnings)
    assert suspected <= 1


@pytest.mark.parametrize("change", [{"weight": 1e308}, {"reward": 1e308}, {"probability": 1e-300}])
def test_numbers_that_would_overflow_are_refused(tmp_path, change):
    lines = [json.dumps({"arms": 2, "arm": 0, "probability": 0.5, "reward": 1.0} | one) for one in ({}, change)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    with pytest.raises(InvalidDataError, match="line 2"):
        evaluate(tmp_path / "log.jsonl")


def test_the_largest_and_smallest_numbers_give_finite_answers():
    random = np.random.default_rng(0)
    large, small = LARGEST_IN_LOG, SMALLEST_IN_LOG
    for wide in (2, 1500):  # 1500 columns take the other solver
        rows = []
        for row in range(60):
            contexts = random.choice([-large, 0.0, 1.0, large], size=(2, wide))
            reward, weight = float(random.choice([-large, 0.0, large])), float(random.choice([small, 1.0, large]))
            rows.append(Decision(contexts, row % 2, small if row % 3 else 1.0, reward, weight=weight))
        found = evaluate(DecisionBatch.of(rows), "uniform", resamples=50)
        assert found.warnings
        numbers = [found.effective_sample_size, found.largest_weight, found.largest_share, found.mean_weight]
        for line in found.lines:
            numbers += [line.value, line.standard_error]
            numbers += [end for interval in line.intervals for end in (interval.low, interval.high)]
        assert all(map(math.isfinite, numbers)), found
        json.dumps(found.as_dict(), allow_nan=False)


def test_a_policy_that_the_log_never_followed_is_told(tmp_path):
    rows = [Decision(np.eye(2), 1, 0.5, float(i % 2)) for i in range(50)]
    found = evaluate(written(tmp_path, rows), "first")
    assert any("probability 0 to the arm taken in all 50 decisions" in words for words in found.warnings)
    assert found.effective_sample_size == 0.0


def test_rewards_that_are_all_alike_are_told(tmp_path):
    rows = [Decision(d.contexts, d.arm, d.probability, 1.0) for d in decisions(200)]
    found = evaluate(written(tmp_path, rows), "uniform")
    assert any("all 200 rewards are 1" in words for words in found.warnings)


def test_times_that_go_back_are_told(tmp_path):
    rows = list(decisions(150))
    times = [f"2026-01-01T{i // 60:02}:{i % 60:02}:00Z" for i in range(150)]
    times[70], times[99] = "2025-12-31T23:59:59Z", "2026-01-01T00:00:00+01:00"
    dated = [Decision(d.contexts, d.arm, d.probability, d.reward, time=t) for d, t in zip(rows, times, strict=True)]
    found = evaluate(written(tmp_path, dated), "uniform")
    assert any("times go back in 2 of 150 decisions (line 71, line 100)" in words for words in found.warnings)
    dated = [Decision(d.contexts, d.arm, d.probability, d.reward, time="at noon") for d in rows]
    assert not any("times" in words for words in evaluate(written(tmp_path, dated), "uniform").warnings)


def test_the_decision_that_carries_the_weight_is_named(tmp_path):
    rows = list(decisions(150))
    rows[41] = Decision(rows[41].contexts, 0, 1e-9, 1.0)
    found = evaluate(written(tmp_path, rows), "uniform")
    assert any("one decision, in line 42, carries 100% of the weight" in words for words in found.warnings)


def test_what_a_log_lacks_is_counted_with_its_first_lines(tmp_path):
    lines = [{"arms": 2, "arm": 0, "probability": 0.5, "reward": 1.0} for _ in range(20)]
    del lines[4]["probability"]
    lines[9]["probability"] = 7.0
    lines[12]["probabilities"] = [0.5, 0.9]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InvalidDataError, match=r"3 of 20 decisions.*line 5 \(probability missing\), line 10 .*line 13"):
        evaluate(tmp_path / "log.jsonl")


def test_the_command_says_it_too(tmp_path):
    once = list(decisions(200, ids=True))
    path = written(tmp_path, [*once, *once[:50]])
    result = CliRunner().invoke(app, ["evaluate", str(path), "--quiet"])
    assert result.exit_code == 0
    assert "from 200 logged decisions" in result.stdout
    assert "warning: 50 decisions repeat an earlier one with the same event id (line 201 rep" in result.stderr
    log = DecisionLog(path)
    assert len(log.read()) == 200
    assert sum(log.skipped.values()) == 50
