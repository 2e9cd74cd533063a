"""What is said at the end: every fact, and no nonsense where there is none."""

import json
from types import SimpleNamespace

from massart.learners.certificate import Certificate
from massart.training.answers import Answers
from massart.training.progress import Measured
from massart.training.resume import difference
from massart.training.summary import Summary, peak_memory

BOUND = Certificate(1000.0, 123.0, 0.1, 0.05, 100.0, 200.0, 234.5, 0.99, True, 1.5, 400.0)


def summary(**changes):
    facts = {
        "rows": 1000,
        "mistakes": 123,
        "positive": 400,
        "labels": ("no", "yes"),
        "answers": ("no", "yes"),
        "passes": 1,
        "certificate": BOUND,
        "noise_rate": 0.1,
        "features": 7,
        "columns": 8,
        "row_errors": {},
        "unlabelled": 0,
        "weightless": 0,
        "held_out": 0,
        "holdout": (),
        "best_pass": None,
        "seconds": 0.5,
        "rows_per_second": 2000.0,
        "megabytes_per_second": 1.25,
        "peak_memory": 99.6,
    }
    facts |= changes
    counts = [facts["rows"] - facts["positive"], facts["positive"]]
    facts.setdefault("counts", Answers(rows=counts, answered=[0, 0], right=[0, 0], table=[[0, 0], [0, 0]]))
    bound, rate, features = facts.pop("certificate"), facts.pop("noise_rate"), facts.pop("features")
    learner = SimpleNamespace(certificate=lambda: bound, lower_noise_rate=lambda: rate)
    trainer = SimpleNamespace(
        first=None if bound is None else learner, features=lambda: features, width=facts.pop("columns")
    )
    return Summary(**facts, trainer=trainer)


def said(**changes):
    return {line[:10].strip(): line[12:] for line in summary(**changes).lines()}


def test_the_facts():
    assert said() == {
        "learned": "1,000 rows, one pass",
        "labels": "negative no (600 rows), positive yes (400 rows)",
        "error": ("12.30%: 123 mistakes, each row predicted before it was learned; 40.00% by always answering no"),
        "bound": BOUND.sentence,
        "noise rate": "above 0.1 (lower confidence limit, 99%)",
        "features": "7 with a weight, in 8 columns",
        "speed": "0.50 s, 2,000 rows/s, 1.2 MB/s, at most 100 MB of memory",
        "model": "not saved",
    }


def test_what_was_left_out_and_why():
    errors = {"index 0": 2, "label ... is no number": 1500}
    assert said(row_errors=errors, unlabelled=3, weightless=4)["left out"] == (
        "3 without a label; 4 of importance 0; 1,500: label ... is no number; 2: index 0"
    )


def test_the_bound_is_the_sentence_of_the_certificate_in_each_of_its_three_forms():
    assert said()["bound"].startswith("within the bound: 123 mistakes in 1,000 rounds")
    broken = BOUND.replace(mistakes=400.0, holds=False)
    assert said(certificate=broken)["bound"] == broken.sentence
    assert broken.sentence.startswith("contradicts the declaration: 400 mistakes")
    empty = BOUND.replace(confident_mistake_bound=600.0)
    assert said(certificate=empty)["bound"] == empty.sentence
    assert empty.sentence.startswith("says nothing yet: ")


def test_a_limit_for_the_noise_rate():
    assert said(noise_rate=0.0)["noise rate"] == "no lower limit yet"
    assert said(noise_rate=0.4999)["noise rate"] == "no noise rate below one half is compatible (99%)"


def test_the_best_constant():
    always_no = summary(rows=5000, mistakes=190, positive=190)
    assert (always_no.constant, always_no.constant_error, always_no.error) == ("no", 0.038, 0.038)
    assert "; 3.80% by always answering no" in "\n".join(always_no.lines())
    assert summary(positive=900).constant == "yes"
    assert summary(positive=900).constant_error == 0.1


def test_rows_kept_apart():
    assert said(holdout=(Measured(50, 5),), best_pass=1)["holdout"] == "10.00% of 50 rows kept apart"
    several = said(holdout=(Measured(50, 5), Measured(50, 4), Measured(50, 6)), best_pass=2, passes=3)["holdout"]
    assert several == (
        "8.00% of 50 rows kept apart; after each pass 10.00%, 8.00%, 12.00%; the model has the weights of pass 2"
    )


def test_as_json():
    found = json.loads(
        json.dumps(summary(holdout=(Measured(50, 5),), best_pass=1, row_errors={"index 0": 2}).as_dict())
    )
    assert (found["error"], found["holdout_error"], found["rows_with_errors"]) == (0.123, 0.1, 2)
    assert found["certificate"]["verdict"] == "within the bound"
    assert found["certificate"]["sentence"] == BOUND.sentence
    assert (found["constant"], found["constant_error"]) == ("no", 0.4)
    assert found["complete"] is True
    assert json.loads(json.dumps(summary(stopped=2).as_dict()))["complete"] is False


def test_nothing_learned_is_no_division_by_zero():
    nothing = summary(rows=0, mistakes=0, positive=0, certificate=None, noise_rate=None, stopped=2)
    assert nothing.error is None
    assert "nothing was learned" in "\n".join(nothing.lines())


def test_memory_is_counted_in_megabytes():
    assert 10 < peak_memory() < 100_000


def test_how_two_trainings_differ():
    known = {"options": {"passes": 1}, "reading": {"bits": 18}, "initial": None}
    one = {"sources": [["a", 1]], "content": ["blocks:0"], **known}
    assert difference(one, one) is None
    assert difference(one, {**one, "content": ["blocks:1"]}) == "a holds other data now"
    assert difference(one, {**one, "reading": {}}) == "bits was 18 and is not given now"
    assert difference(one, {**one, "reading": {"bits": 18, "labels": ["no", "yes"]}}) == (
        "labels was not given and is no,yes now"
    )
    assert difference(one, {**one, "initial": "abc"}) == "it began with another model"
    assert difference(one, {**one, "sources": [["a", None]]}) == "a had 1 bytes and has no size now"
    many = {**one, "sources": [[name, 1] for name in "abcde"]}
    assert difference(one, many) == "its data was a and is a, b, c and 2 more now"


def test_compiling_is_counted_apart():
    assert said(seconds=5.0, compiling_seconds=4.5)["speed"].startswith("0.50 s and 4.50 s of compiling, 2,000 rows/s")
    assert "compiling" not in said()["speed"]
