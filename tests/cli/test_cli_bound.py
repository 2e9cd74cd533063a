"""`massart bound`: the numbers of the theory, and from when on they are worth something."""

import json
import re
import shlex

import pytest
from typer.testing import CliRunner

from massart import theory
from massart.cli.bound import _promises
from massart.cli.main import app
from massart.learners.experts import MARGINS, MOST_EXPERTS, NOISE_RATES


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def bounds(noise_rate, margin, rounds, *more):
    """The lines of `massart bound --json` by the result they quote."""
    result = massart("bound", "--noise-rate", noise_rate, "--margin", margin, "--rounds", rounds, "--json", *more)
    assert result.exit_code == 0
    return {line["result"]: line for line in json.loads(result.stdout)}


def test_every_line_is_the_bound_of_its_theorem():
    lines = bounds(0.1, 0.05, "1e6", "--confidence", "0.9")
    mistakes = {result: line["mistakes"] for result, line in lines.items()}
    assert mistakes["Theorem 1(a)"] == theory.fixed_mistake_bound(0.1, 0.05, 1e6)
    assert mistakes["Theorem 1(b)"] == theory.ftrl_mistake_bound(0.1, 0.05, 1e6)
    assert mistakes["Theorem 1(c)"] == theory.adagrad_mistake_bound(0.1, 0.05, 1e6)
    assert mistakes["Theorem 4"] == theory.high_probability_mistake_bound(0.1, 0.05, 1e6, 0.9)
    assert mistakes["Theorem 8(a)"] == theory.paper_mistake_bound(0.1, 0.05, 1e6)
    assert mistakes["Theorem 8(b)"] == theory.paper_anytime_mistake_bound(0.1, 0.05, 1e6)
    assert mistakes["paper, Theorem 1.8"] == pytest.approx(1e5 + theory.paper_theorem_excess(0.05, 1e6))
    tuned = theory.tuned_slack(0.1, 0.05, 1e6)
    assert mistakes["Theorem 2"] <= theory.slack_mistake_bound(0.1, 0.05, 1e6, tuned)
    # the constant of AdaGrad-norm's regret: regret = c sqrt(squared gradients)
    c = theory.adagrad_regret(1.0)
    slack = theory.black_box_slack(0.1, 0.05, 1e6, c)
    assert mistakes["Theorem 3"] == pytest.approx(theory.black_box_mistake_bound(0.1, 0.05, 1e6, slack, c))
    for line in lines.values():
        assert line["excess"] == pytest.approx(line["mistakes"] - 1e5)
        assert line["per_round"] == pytest.approx(line["mistakes"] / 1e6)
    assert [line["proved"] for line in lines.values()] == [True] * (len(lines) - 1) + [False]


@pytest.mark.parametrize(("noise_rate", "margin"), [(0.1, 0.05), (0.0, 0.3), (0.3, 0.02)])
def test_rounds_until_it_is_worth_something_are_the_first(noise_rate, margin):
    lines = bounds(noise_rate, margin, "1e6", "--within", "0.03")
    for promise in _promises(0.99):
        line = lines[promise.result]
        for key, tolerance in (("rounds_to_beat_a_coin", 0.5 - noise_rate), ("rounds_to_come_within", 0.03)):
            first = line[key]
            if first is None:  # the pool's grid holds no noise rate that is near enough
                assert promise.bound(noise_rate, margin, 10**18) > (noise_rate + tolerance) * 10**18
                continue
            assert promise.bound(noise_rate, margin, first) <= (noise_rate + tolerance) * first * (1 + 1e-9)
            if first > 1:
                assert promise.bound(noise_rate, margin, first - 1) > (noise_rate + tolerance) * (first - 1)


def test_the_pool_never_comes_near_a_noise_rate_between_those_of_its_grid():
    between = str((NOISE_RATES[0] + NOISE_RATES[1]) / 2)
    lines = bounds(between, 0.07, "1e6", "--within", "0.02")
    assert lines.pop("Theorem 7(e)")["rounds_to_come_within"] is None
    assert all(line["rounds_to_come_within"] is not None for line in lines.values())
    shown = massart("bound", "--noise-rate", between, "--margin", ".07", "--within", "0.02").stdout
    assert "never" in shown


def test_the_pool_pays_for_all_its_experts_and_for_its_council():
    noise_rate, margin = NOISE_RATES[1], MARGINS[0]
    line = bounds(noise_rate, margin, "1e6")["Theorem 7(e)"]
    one = theory.ftrl_mistake_bound(noise_rate, margin, 1e6)
    mixing = theory.adahedge_price(MOST_EXPERTS, 1e6, one, laziness=17 / 16)
    assert line["mistakes"] == pytest.approx(one + mixing + theory.council_price(1e6))
    assert line["rounds_to_come_within"] is not None


def test_where_the_pool_has_no_expert_it_says_so_and_the_rest_is_there():
    lines = bounds(0.1, 0.001, "1e6")
    assert lines["Theorem 7(e)"]["mistakes"] is None
    assert "no pair with" in lines["Theorem 7(e)"]["why"]
    assert lines["Theorem 1(b)"]["mistakes"] == theory.ftrl_mistake_bound(0.1, 0.001, 1e6)
    assert "no promise" in massart("bound", "--noise-rate", ".1", "--margin", ".001").stdout


def test_the_table():
    result = massart("bound", "--noise-rate", ".1", "--margin", ".05", "--rounds", "1e6")
    assert (result.exit_code, result.stderr) == (0, "")
    (line,) = [line for line in result.stdout.splitlines() if "Theorem 1(a)" in line]
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells[2:] == ["106,162", "+6,162", "0.1062", "1,025", "20,800"]
    (line,) = [line for line in result.stdout.splitlines() if "Theorem 8(b)" in line]
    assert "all of them" in line
    assert max(map(len, result.stdout.splitlines())) <= 120
    assert "…" not in result.stdout
    error = theory.online_to_batch_error(0.1, 0.05, 1e6)
    assert f"errs on at most {error:.4f} of new rows (Theorem 6)" in result.stdout
    assert f"at most {theory.corruption_penalty(0.1, 0.05, 1):,.1f} mistakes" in result.stdout


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--noise-rate", "0.5", "noise_rate must satisfy 0 <= noise_rate < 1/2; got 0.5"),
        ("--margin", "0", "margin must satisfy 0 < margin <= 1"),
        ("--rounds", "0", "rounds"),
        ("--rounds", "nan", "rounds"),
        ("--within", "0", "within"),
        ("--confidence", "1", "confidence"),
    ],
)
def test_numbers_out_of_range_are_refused_in_a_sentence(option, value, sentence):
    given = {"--noise-rate": "0.1", "--margin": "0.05"} | {option: value}
    result = massart("bound", *(word for pair in given.items() for word in pair))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("massart bound: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_example_of_the_help_runs():
    (line,) = re.findall(r"^\s*(massart bound .*?)\s*$", massart("bound", "--help").stdout, flags=re.M)
    assert massart(*shlex.split(line)[1:]).exit_code == 0
