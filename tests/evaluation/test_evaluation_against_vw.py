"""A log that Vowpal Wabbit reads has the same ips value there and here."""

import re

import numpy as np
import pytest

from massart.data import Decision, DecisionLog, write_decisions
from massart.evaluation import evaluate

vw = pytest.importorskip("vowpalwabbit")

COUNT = 400


def _decisions():
    random = np.random.default_rng(0)
    for row in range(COUNT):
        k = int(random.integers(2, 6))
        p = 0.5 * random.dirichlet(np.ones(k)) + 0.5 / k
        arm = int(random.choice(k, p=p))
        reward = float(random.random() < 0.3 + 0.3 * (arm == 0))
        yield Decision(random.random((k, 3)).round(3), arm, float(p[arm]), reward, probabilities=p, event_id=f"e{row}")


def _average_loss(arguments):
    workspace = vw.Workspace(f"{arguments} --quiet")
    loss, count = workspace.get_sum_loss() / workspace.get_weighted_examples(), workspace.get_weighted_examples()
    workspace.finish()
    assert count == COUNT
    return loss


@pytest.mark.parametrize("log_format", ["vw", "dsjson"])
@pytest.mark.parametrize(
    ("explores", "policy"),
    # Without weights VW scores every arm 0 and takes the first; with epsilon 1 it plays all alike.
    [("--cb_adf", "first"), ("--cb_explore_adf --epsilon 1", "uniform")],
)
def test_vw_and_we_agree_on_ips(tmp_path, log_format, explores, policy):
    path = tmp_path / f"log.{log_format}"
    write_decisions(_decisions(), path)
    reading = "--dsjson" if log_format == "dsjson" else ""
    theirs = _average_loss(f"{explores} --cb_type ips -t {reading} -d {path}")
    ours = evaluate(path, policy, estimators=["ips"], intervals=["normal"])
    assert DecisionLog(path).format == log_format
    # VW averages costs, in single precision: a sum of 400 terms up to 20 is right to about 1e-6 of itself.
    assert ours["ips"].value == pytest.approx(-theirs, rel=1e-5)


def test_a_policy_that_vw_learned_is_worth_the_same_here(tmp_path):
    """VW's own predictions for the log, written into the log's target column, earn what VW says they cost."""
    path, model, answers = (tmp_path / name for name in ("log.vw", "model", "answers"))
    decisions = list(_decisions())
    write_decisions(decisions, path)
    _average_loss(f"--cb_adf --cb_type ips -d {path} -f {model}")
    theirs = _average_loss(f"--cb_adf --cb_type ips -t -i {model} -d {path} -p {answers}")
    best = [int(re.match(r"\d+", line)[0]) for line in answers.read_text().split("\n") if line]
    with_target = [
        Decision(d.contexts, d.arm, d.probability, d.reward, target=np.eye(d.arms)[arm])
        for d, arm in zip(decisions, best, strict=True)
    ]
    write_decisions(with_target, tmp_path / "target.jsonl")
    ours = evaluate(tmp_path / "target.jsonl", "target", estimators=["ips"], intervals=["normal"])
    assert ours["ips"].value == pytest.approx(-theirs, rel=1e-5)
    assert len(set(best)) > 1
