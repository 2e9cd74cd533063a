"""Data sets for sweeps: the worlds of `from_data`, `from_supervised` and `from_items`, by name, in any process."""

import pickle

import numpy as np
import pytest

from massart import arena, worlds
from massart.arena.report.kinds import describe_world
from massart.errors import InvalidDataError, InvalidParameterError
from massart.worlds.data_sets import REWARD_CONVERSIONS

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((120, 3))
THREE = np.array(["low", "middle", "top"])[(ROWS[:, 0] > -0.4).astype(int) + (ROWS[:, 0] > 0.4)]
TWO = ROWS[:, 0] + 0.3 * RNG.standard_normal(120) > 0


def same(one, other, rounds=300):
    return all(np.array_equal(a, b) for a, b in zip(one.take(rounds), other.take(rounds), strict=True))


@pytest.mark.parametrize("conversion", REWARD_CONVERSIONS)
def test_worlds_are_those_of_the_functions(conversion):
    made = worlds.DataSet("three", ROWS, THREE, conversion, arms=4).make(7)
    if "items" in conversion:
        other = worlds.from_items(ROWS, THREE, arms=4, simpson=conversion == "simpson-items", seed=7)
    else:
        other = worlds.from_supervised(ROWS, THREE, conversion=conversion, standardise=True, seed=7)
    assert same(made, other)
    assert made.name == f"three:{conversion}"
    assert describe_world(made.name)[0] != "A world of your own."
    sent = pickle.dumps(worlds.DataSet("three", ROWS, THREE, conversion, arms=4))
    assert same(pickle.loads(sent).make(7), made)  # noqa: S301 - as it was just made


def test_raw_columns_have_no_constant():
    raw = worlds.DataSet("three", ROWS, THREE, "clean", raw=True).make(0)
    assert same(raw, worlds.from_supervised(ROWS, THREE, seed=0))
    assert raw.dimension == 9
    with pytest.raises(InvalidParameterError, match="standardised always"):
        worlds.DataSet("three", ROWS, THREE, "items", raw=True)


def test_labels_are_flipped_as_often_as_asked_and_the_boundary_is_fitted_once():
    given = worlds.DataSet("two", ROWS, TWO, noise_rate=0.2)
    one, other = given.make(0), given.make(1)
    assert np.array_equal(one.target, other.target)
    assert (one.noise_rate, one.margin, one.dimension) == (0.2, None, 4)
    chunk = one.take(20_000)
    # The share of flips has a standard deviation of sqrt(.16 / 20000) = .0028; four of them.
    assert abs(float((chunk.y != chunk.clean).mean()) - 0.2) < 0.0114


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((ROWS, THREE), "three has 3 classes, and these learners know two"),
        ((ROWS, np.zeros(120), "clean"), "all 120 rows have the same label"),
        ((RNG.standard_normal((300, 800)), RNG.integers(5, size=300), "clean"), "arms of 4,005 features"),
        ((ROWS, THREE, "dirty"), "conversion must be one of"),
        ((ROWS, THREE[:5], "clean"), "one label per row"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises((InvalidDataError, InvalidParameterError), match=words):
        worlds.DataSet("three", *arguments)


def test_sweeps_of_data_sets_have_the_same_rows_with_any_jobs_and_resume(tmp_path):
    sets = [worlds.DataSet("three", ROWS, THREE, name) for name in ("noisy", "simpson-items")]
    how = {"rounds": 150, "seeds": 2}
    journal = tmp_path / "journal"
    rows = arena.sweep(sets, ["monotone-unknown", "linucb"], **how, resume=journal)
    assert list(map(dict, rows)) == list(map(dict, arena.sweep(sets, ["monotone-unknown", "linucb"], jobs=2, **how)))
    assert list(map(dict, rows)) == list(
        map(dict, arena.sweep(sets, ["monotone-unknown", "linucb"], **how, resume=journal))
    )
    moved = [worlds.DataSet("three", ROWS + 1e-9, THREE, name) for name in ("noisy", "simpson-items")]
    with pytest.raises(InvalidParameterError, match="belongs to a sweep with worlds"):
        arena.sweep(moved, ["monotone-unknown", "linucb"], **how, resume=journal)
    with pytest.raises(InvalidParameterError, match="two data sets are called"):
        arena.sweep([sets[0], sets[0]], ["uniform"], rounds=10)
    with pytest.raises(InvalidParameterError, match="not of one kind"):
        arena.sweep([sets[0], worlds.DataSet("two", ROWS, TWO)], ["uniform"], rounds=10)


def test_label_rows_are_the_same_with_any_jobs():
    given = worlds.DataSet("two", ROWS, TWO, noise="near-boundary", noise_rate=0.1)
    how = {"rounds": 200, "seeds": 2}
    learners = ["massart-unknown", "arow", "sklearn-log"]
    one, two = (arena.sweep(given, learners, jobs=jobs, **how) for jobs in (1, 2))
    assert list(map(dict, one)) == list(map(dict, two))
    assert all(row.error is None and row.angle is not None for row in one if row.rounds == 200)


def test_without_a_noise_rate_labels_are_as_they_are():
    chunk = worlds.DataSet("two", ROWS, TWO).make(0).take(240)
    assert np.array_equal(chunk.y, chunk.clean)
    assert int((chunk.y > 0).sum()) == 2 * int(TWO.sum())
