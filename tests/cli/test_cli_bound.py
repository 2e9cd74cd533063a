"""`massart bound`: the numbers of the theory, and from when on they are worth something."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from massart import theory
from massart.cli.app import app
from massart.cli.bound import Question
from massart.cli.bound import bounds as bounds_of
from massart.learners.pool import MARGINS, MOST_EXPERTS, NOISE_RATES


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def words(result):
    """What was printed, on one line."""
    assert (result.exit_code, result.stderr) == (0, "")
    return " ".join(result.stdout.split())


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
    assert mistakes["Theorem 18(a)"] == theory.lower_mistake_bound_at(0.1, 0.05, 1e6)
    assert mistakes["paper, 1.8"] == pytest.approx(1e5 + theory.paper_theorem_excess(0.05, 1e6))
    tuned = theory.tuned_slack(0.1, 0.05, 1e6)
    assert mistakes["Theorem 2"] <= theory.slack_mistake_bound(0.1, 0.05, 1e6, tuned)
    # the constant of AdaGrad-norm's regret: regret = c sqrt(squared gradients)
    c = theory.adagrad_regret(1.0)
    slack = theory.black_box_slack(0.1, 0.05, 1e6, c)
    assert mistakes["Theorem 3"] == pytest.approx(theory.black_box_mistake_bound(0.1, 0.05, 1e6, slack, c))
    for line in lines.values():
        assert line["excess"] == pytest.approx(line["mistakes"] - 1e5)
        assert line["per_round"] == pytest.approx(line["mistakes"] / 1e6)
    assert [result for result, line in lines.items() if not line["proved"]] == ["paper, 1.8"]
    assert [result for result, line in lines.items() if line["lower"]] == ["Theorem 18(a)"]
    assert {line["margin"] for line in lines.values()} == {0.05}


@pytest.mark.parametrize(("noise_rate", "margin"), [(0.1, 0.05), (0.0, 0.3), (0.3, 0.02)])
def test_rounds_until_it_is_worth_something_are_the_first(noise_rate, margin):
    lines = bounds(noise_rate, margin, "1e6", "--within", "0.03")
    for one in bounds_of(Question(noise_rate, margin))[:-1]:  # the last is the lower bound
        line = lines[one.result]
        for key, tolerance in (("rounds_to_beat_a_coin", 0.5 - noise_rate), ("rounds_to_come_within", 0.03)):
            first = line[key]
            if first is None:  # the pool's grid holds no noise rate that is near enough
                assert one.value(noise_rate, margin, 10**18) > (noise_rate + tolerance) * 10**18
                continue
            assert one.value(noise_rate, margin, first) <= (noise_rate + tolerance) * first * (1 + 1e-9)
            if first > 1:
                assert one.value(noise_rate, margin, first - 1) > (noise_rate + tolerance) * (first - 1)


def test_the_pool_never_comes_near_a_noise_rate_between_those_of_its_grid():
    between = str((NOISE_RATES[0] + NOISE_RATES[1]) / 2)
    lines = bounds(between, 0.07, "1e6", "--within", "0.02")
    pool = lines.pop("Theorem 7(e)")
    del lines["Theorem 18(a)"]
    assert pool["rounds_to_come_within"] is None
    assert all(line["rounds_to_come_within"] is not None for line in lines.values())
    shown = words(massart("bound", "--noise-rate", between, "--margin", ".07", "--within", "0.02"))
    assert "never *" in shown
    assert (
        f"* The default learner's bound starts from the next noise rate of its grid, {NOISE_RATES[1]:g}, and so it "
        f"never comes within 0.02 of {between}. It says something (less than half of the rounds) from "
        f"{pool['rounds_to_beat_a_coin']:,} rounds on."
    ) in shown


def test_on_the_grid_there_is_nothing_to_explain():
    shown = words(massart("bound", "--noise-rate", NOISE_RATES[1], "--margin", ".07"))
    assert "*" not in shown
    assert f"starts from the noise rate {NOISE_RATES[1]:g}, which its grid holds. It says something" in shown


def test_the_pool_pays_for_all_its_experts_and_for_its_prod():
    noise_rate, margin = NOISE_RATES[1], MARGINS[0]
    line = bounds(noise_rate, margin, "1e6")["Theorem 7(e)"]
    one = theory.ftrl_mistake_bound(noise_rate, margin, 1e6)
    mixing = theory.adahedge_price(MOST_EXPERTS, 1e6, one, laziness=17 / 16)
    assert line["mistakes"] == pytest.approx(one + mixing + theory.prod_price(1e6))
    assert line["rounds_to_come_within"] is not None


@pytest.mark.parametrize(
    ("noise_rate", "margin", "why"),
    [
        (0.1, 0.001, "its grid of margins ends at 1/128 = 0.007812"),
        (0.47, 0.05, "its grid of noise rates ends at 0.45"),
        (0.47, 0.001, "its grid of noise rates ends at 0.45"),
    ],
)
def test_where_the_default_learner_has_no_bound_it_says_why_and_from_when_on_another_has(noise_rate, margin, why):
    lines = bounds(noise_rate, margin, "1e6")
    assert lines["Theorem 7(e)"]["mistakes"] is None
    assert "no pair with" in lines["Theorem 7(e)"]["why"]
    assert lines["Theorem 1(b)"]["mistakes"] == theory.ftrl_mistake_bound(noise_rate, margin, 1e6)
    shown = words(massart("bound", "--noise-rate", noise_rate, "--margin", margin))
    assert "no bound *" in shown
    assert f"* The default learner has no bound here: {why}. A learner to which" in shown
    first = lines["Theorem 1(b)"]["rounds_to_beat_a_coin"]
    assert f"Theorem 1(b), which says something (less than half of the rounds) from {count(first)} rounds on." in shown


def count(rounds):
    return f"{rounds:,}" if rounds < 10**8 else f"{rounds:.2e}"


@pytest.mark.parametrize(("row_length", "scaling"), [(1.0, 1.0), (0.1, 1.0), (30.0, 1.0), (30.0, 30.0)])
def test_with_an_intercept_the_margin_that_counts_is_used(row_length, scaling):
    margin = 0.08
    lines = bounds(0.1, margin, "1e6", "--row-length", row_length, "--intercept-scaling", scaling)
    counts = theory.scaled_margin(margin, row_length, scaling)
    assert lines["Theorem 1(b)"]["margin"] == counts
    assert lines["Theorem 1(b)"]["mistakes"] == theory.ftrl_mistake_bound(0.1, counts, 1e6)
    assert lines["Theorem 18(a)"]["mistakes"] == theory.lower_mistake_bound_at(0.1, margin, 1e6)
    # The default learner's experts with the smallest margin work on x, those with the largest on (x, 1).
    best = max(MARGINS) if counts >= max(MARGINS) else min(MARGINS)
    expected = theory.pool_mistake_bound(0.1, best, 1e6, [(NOISE_RATES[1], best)], MOST_EXPERTS)
    assert lines["Theorem 7(e)"]["mistakes"] == expected
    shown = words(massart("bound", "--noise-rate", 0.1, "--margin", margin, "--row-length", row_length))
    assert f"the margin that counts is {theory.scaled_margin(margin, row_length):.4g}: that of the rows" in shown


def test_short_rows_leave_the_default_learner_the_experts_without_the_constant():
    """Rows of length 0.001: the margin 0.5 of x is 0.0005 for (x, 1), of which no expert knows anything."""
    line = bounds(0.1, 0.5, "1e8", "--row-length", "0.001")["Theorem 7(e)"]
    grid = [(NOISE_RATES[1], min(MARGINS))]
    assert line["mistakes"] == theory.pool_mistake_bound(0.1, 0.5, 1e8, grid, MOST_EXPERTS)
    assert line["rounds_to_beat_a_coin"] is not None


def test_the_lower_bound_at_the_hardest_noise_rate_is_a_sentence():
    shown = words(massart("bound", "--noise-rate", ".1", "--margin", ".05"))
    hardest, lower = theory.hardest_noise_rate(0.05, 1e6), theory.lower_mistake_bound(0.05, 1e6)
    assert f"At noise rate {hardest:.4f}, the hardest" in shown
    assert f"fewer than {lower:,.0f} mistakes, {lower - hardest * 1e6:,.0f} over the noise (Theorem 18(b))" in shown
    few = words(massart("bound", "--noise-rate", ".1", "--margin", ".05", "--rounds", "1000"))
    assert "Theorem 18(b), the lower bound at the hardest noise rate, needs at least 5 / margin^2 rounds." in few


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_table_fits_the_terminal(monkeypatch, width):
    """No cell is cut short, whatever the width; Rich takes the size of a terminal from these variables."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    result = massart("bound", "--noise-rate", ".3", "--margin", ".0079", "--row-length", ".3", "--rounds", "1e10")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)
    assert max(map(len, plain.splitlines())) <= width
    assert "…" not in plain
    for words_of_the_table in ("FTRL, probability 0.99", "default learner", "any learner: at least", "18(a)"):
        assert words_of_the_table in plain


def test_the_table():
    result = massart("bound", "--noise-rate", ".1", "--margin", ".05", "--rounds", "1e6")
    assert (result.exit_code, result.stderr) == (0, "")
    (line,) = [line for line in result.stdout.splitlines() if "│ Theorem 1(a)" in line]
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells[2:] == ["106,162", "+6,162", "0.1062", "1,025", "20,800"]
    (line,) = [line for line in result.stdout.splitlines() if "│ Theorem 8(b)" in line]
    assert [cell.strip() for cell in line.strip("│").split("│")][2] == "all"
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
        ("--row-length", "0", "row_length must satisfy row_length > 0"),
        ("--intercept-scaling", "2", "--intercept-scaling counts with --row-length: pass the length"),
    ],
)
def test_numbers_out_of_range_are_refused_in_a_sentence(option, value, sentence):
    given = {"--noise-rate": "0.1", "--margin": "0.05"} | {option: value}
    result = massart("bound", *(word for pair in given.items() for word in pair))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("massart bound: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


GUARANTEES = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text(encoding="utf-8")
WAITS = re.findall(r"^\| (\.\d+), (\.\d+) \| ([\d,]+) \| ([\d,]+|no bound) \|$", GUARANTEES, flags=re.M)


@pytest.mark.parametrize(("noise_rate", "margin", "known", "default"), WAITS)
def test_the_rounds_that_the_documentation_names(noise_rate, margin, known, default):
    lines = bounds(noise_rate, margin, "1e6")
    assert f"{lines['Theorem 1(b)']['rounds_to_beat_a_coin']:,}" == known
    first = lines["Theorem 7(e)"].get("rounds_to_beat_a_coin")
    assert ("no bound" if first is None else f"{first:,}") == default


def test_the_documentation_names_some():
    assert len(WAITS) == 5


def test_the_example_of_the_help_runs():
    (line,) = re.findall(r"^\s*(massart bound .*?)\s*$", massart("bound", "--help").stdout, flags=re.M)
    assert massart(*shlex.split(line)[1:]).exit_code == 0
