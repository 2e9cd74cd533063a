"""`massart.diagnose`: what it counts is what a loop counts, forms of data agree, and its limits hold."""

import csv
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest
from scipy.sparse import csr_matrix

import massart
from massart import MassartClassifier, theory
from massart.errors import InvalidDataError, InvalidParameterError
from massart.label_errors.suspects import Scored, Suspects


def planted(rows=4000, rate=0.2, seed=0, classes=2):
    """Rows, true labels, and which of them are changed: one in five where column 1 is positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    truth = (X[:, 0] > 0).astype(int) if classes == 2 else np.argmax(X[:, :classes] + 2 * (X[:, :classes] > 1), axis=1)
    changed = (X[:, 1] > 0) & (rng.random(rows) < rate)
    given = np.where(changed, (truth + rng.integers(1, classes, rows)) % classes, truth)
    return X, given, changed


def test_it_finds_planted_errors_and_where_they_are():
    X, given, changed = planted()
    found = massart.diagnose(X, given, top=int(changed.sum()))
    rows = [one.row for one in found.suspects]
    assert np.mean(changed[rows]) > 0.9
    more = [one.name for one in found.places if one.verdict == "more"]
    assert more[0].startswith("column 1 >")
    assert all("column 1" in name for name in more)
    assert found.limits[1] >= found.rate >= found.limits[0] > 0.05
    assert all(one.suggested != one.label for one in found.suspects[:100])
    chances = [one.probability for one in found.suspects]
    assert chances == sorted(chances)


def test_several_classes():
    X, given, changed = planted(classes=3)
    found = massart.diagnose(X, given, top=int(changed.sum()))
    assert np.mean(changed[[one.row for one in found.suspects]]) > 0.6
    assert list(found.labels) == [0, 1, 2]
    assert sum(found.pairs.values()) == found.suspected


def test_counts_are_those_of_a_loop():
    """Blocks of at most a quarter of the rows learned: predicted, counted, then learned."""
    X, given, _ = planted(1000)
    found = massart.diagnose(X, given, delay=0, top=1000)
    learner, begin, wrong, seen = MassartClassifier(random_state=0), 0, 0, {}
    while begin < 1000:
        own = slice(begin, begin + max(1, begin // 4))
        if begin:
            chances = learner.predict_proba(X[own])
            wrong += int((chances.argmax(axis=1) != given[own]).sum())
            seen |= dict(enumerate(chances[np.arange(len(chances)), given[own]].tolist(), begin))
        learner.partial_fit(X[own], given[own], classes=[0, 1])
        begin = min(1000, own.stop)
    assert (found.compared, found.disagreements) == (999, wrong)
    assert {one.row: one.probability for one in found.suspects if one.row} == seen
    assert found.limits[0] == theory.lower_disagreement_limit(wrong, 999, 0.99)
    assert found.limits[1] == theory.upper_disagreement_limit(wrong, 999, 0.99)
    last = massart.diagnose(X, given, top=1000)
    assert {one.row: one.probability for one in last.suspects} == dict(
        enumerate(learner.predict_proba(X)[np.arange(1000), given].tolist())
    )


def test_a_delay_scores_rows_once_so_many_others_were_learned():
    X, given, _ = planted(3000)
    found = massart.diagnose(X, given, delay=100, top=3000)
    early = MassartClassifier(random_state=0).partial_fit(X[:1], given[:1], classes=[0, 1])
    last = massart.diagnose(X, given, top=3000).classifier
    chances = {one.row: one.probability for one in found.suspects}
    assert chances[2999] == last.predict_proba(X[2999:])[0, given[2999]]
    assert chances[0] != last.predict_proba(X[:1])[0, given[0]]
    assert chances[0] != early.predict_proba(X[:1])[0, given[0]]


def test_dense_sparse_and_frames_agree():
    X, given, _ = planted(2000)
    X[np.abs(X) < 0.5] = 0.0
    dense = massart.diagnose(X, given)
    sparse = massart.diagnose(csr_matrix(X), given)
    frame = massart.diagnose(pd.DataFrame(X, columns=[f"column {k}" for k in range(5)]), given)
    for other in (sparse, frame):
        assert other.suspects == dense.suspects
        assert other.places == dense.places
        assert other.disagreements == dense.disagreements


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_categories_of_frames_are_places(make):
    X, given, changed = planted(4000)
    frame = make({"size": X[:, 0], "town": np.where(X[:, 1] > 0, "Ulm", "Rome").tolist()})
    found = massart.diagnose(frame, given, top=int(changed.sum()))
    assert next(one for one in found.places if one.verdict == "more").name == "town=Ulm"
    counted = {one.name: one.rows for one in found.places}
    assert counted["town=Ulm"] + counted["town=Rome"] == sum(
        rows for name, rows in counted.items() if name.startswith("size") or "size" in name
    )


def test_a_category_that_is_a_group_is_listed_once(tmp_path):
    X, given, _ = planted(2000)
    rows = [f"{label},{a},{'Ulm' if b > 0 else 'Rome'}" for label, (a, b) in zip(given, X[:, :2], strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["label,size,town", *rows]) + "\n")
    found = massart.diagnose(str(tmp_path / "rows.csv"), groups=["town"], label="label")
    names = [one.name for one in found.places]
    assert names.count("town=Ulm") == names.count("town=Rome") == 1


def test_groups_are_places_and_counted_as_a_loop_counts():
    X, given, _ = planted(3000)
    groups = np.where(np.arange(3000) % 3 == 0, "third", "others")
    found = massart.diagnose(X[:, :1], given, groups=groups, delay=0, top=0)
    place = next(one for one in found.places if one.name == "third")
    rest = next(one for one in found.places if one.name == "others")
    columns = [one for one in found.places if "column" in one.name]
    assert place.rows + rest.rows == sum(one.rows for one in columns)
    assert place.disagreements + rest.disagreements == sum(one.disagreements for one in columns)
    assert (place.rest_low, place.rest_high) == (rest.low, rest.high)
    assert not place.verdict


def test_the_limits_hold_at_once_on_streams_without_structure():
    """Labels are coins: the chance of a disagreement is 1/2 in every place; each run may fail with 1%, so 40 do not."""
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, size=(800, 12)).astype(float)
        found = massart.diagnose(X, rng.integers(0, 2, 800), top=0)
        missed += any(not one.low <= 0.5 <= one.high for one in found.places)
        assert not [one for one in found.places if one.verdict]
    assert missed <= 3  # P(more than 3 of 40 at 1% each) < 1e-3


def test_files_are_read_as_by_train(tmp_path):
    X, given, changed = planted(3000)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["click", "price", "side", "town"])
        for row, label in zip(X, given, strict=True):
            writer.writerow(["yes" if label else "no", row[0], row[2], "Ulm" if row[1] > 0 else "Rome"])
    found = massart.diagnose(path, label="click", groups=["town"], top=int(changed.sum()))
    assert np.mean(changed[[one.row for one in found.suspects]]) > 0.8
    assert all(one.line == one.row + 2 and one.source == str(path) for one in found.suspects)
    assert {one.label for one in found.suspects} == {"yes", "no"}
    assert "town=Ulm" in [one.name for one in found.places if one.verdict == "more"]


def test_files_of_several_classes_and_rows_without_a_label(tmp_path):
    X, given, _ = planted(900, classes=3)
    lines = [
        f"{'abc'[label] if n % 10 else ''},{row[0]},{row[1]},{row[2]}"
        for n, (row, label) in enumerate(zip(X, given, strict=True))
    ]
    path = tmp_path / "rows.csv"
    path.write_text("label,p,q,r\n" + "\n".join(lines) + "\n")
    found = massart.diagnose(str(path), label="label", delay=0)
    assert found.left_out == {"malformed": 90}
    assert found.rows == 810
    assert set(found.labels) == {"a", "b", "c"}


def test_blocks_do_not_depend_on_how_a_file_is_cut(tmp_path):
    X, given, _ = planted(2000)
    lines = [f"{label} " + " ".join(f"{k + 1}:{value!r}" for k, value in enumerate(row)) for row, label in
             zip(X.tolist(), given, strict=True)]  # fmt: skip
    whole, first, second = (tmp_path / name for name in ("whole.svm", "a.svm", "b.svm"))
    whole.write_text("\n".join(lines) + "\n")
    first.write_text("\n".join(lines[:777]) + "\n")
    second.write_text("\n".join(lines[777:]) + "\n")
    one, two = massart.diagnose(whole), massart.diagnose([first, second])
    memory = massart.diagnose(X, given)
    assert [s.row for s in one.suspects] == [s.row for s in two.suspects] == [s.row for s in memory.suspects]
    assert [s.probability for s in one.suspects] == [s.probability for s in memory.suspects]
    assert [p[1:] for p in one.places] == [p[1:] for p in two.places] == [p[1:] for p in memory.places]


def test_out_and_scores(tmp_path):
    X, given, _ = planted(1500)
    found = massart.diagnose(X, given, top=7, scores=tmp_path / "all.parquet")
    every = pyarrow.parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert [row["row"] for row in every] == list(range(1500))
    least = sorted(every, key=lambda row: (row["probability"], row["row"]))[:7]
    assert [row["row"] for row in least] == [one.row for one in found.suspects]
    found.write(tmp_path / "again.csv")
    with (tmp_path / "again.csv").open() as file:
        again = list(csv.DictReader(file))
    assert [int(row["row"]) for row in again] == [one.row for one in found.suspects]
    assert [float(row["probability"]) for row in again] == [one.probability for one in found.suspects]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.csv", "all.parquet"]


def test_a_table_is_whole_or_not_there(tmp_path):
    X, given, _ = planted(1500)
    X[1400, 0] = np.nan
    with pytest.raises(InvalidDataError, match="row 1400"):
        massart.diagnose(X, given, scores=tmp_path / "all.csv")
    assert list(tmp_path.iterdir()) == []
    assert massart.diagnose(X, given, missing="zero").rows == 1500


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"top": -1}, "top=-1: give a whole number"),
        ({"delay": 0.5}, "delay=0.5: give a whole number"),
        ({"confidence": 1.0}, "confidence"),
        ({"missing": "drop"}, "missing"),
        ({"scores": "rows.txt"}, "ends in .csv or .parquet"),
        ({"label": "click"}, "label says how files are read"),
    ],
)
def test_what_is_refused(arguments, words):
    X, given, _ = planted(50)
    with pytest.raises(InvalidParameterError, match=words):
        massart.diagnose(X, given, **arguments)


def test_data_that_is_refused(tmp_path):
    X, given, _ = planted(50)
    with pytest.raises(InvalidDataError, match="only one, 1"):
        massart.diagnose(X, np.ones(50, int))
    with pytest.raises(InvalidDataError, match="50 rows, but y has 49"):
        massart.diagnose(X, given[1:])
    with pytest.raises(InvalidParameterError, match="y is missing"):
        massart.diagnose(X)
    with pytest.raises(InvalidParameterError, match="leave `y`"):
        massart.diagnose("rows.csv", given)
    with pytest.raises(InvalidParameterError, match="is not an option of reading"):
        massart.diagnose("rows.csv", labl="click")
    (tmp_path / "one.csv").write_text("label,p\n1,2\n1,3\n")
    with pytest.raises(InvalidDataError, match="only one"):
        massart.diagnose(tmp_path / "one.csv")


def test_rows_of_weight_0_are_left_out():
    X, given, _ = planted(600)
    weight = np.ones(600)
    weight[::2] = 0.0
    found = massart.diagnose(X, given, sample_weight=weight, top=600)
    assert {one.row for one in found.suspects} == set(range(1, 600, 2))
    assert found.left_out == {"of weight 0": 300}
    plain = massart.diagnose(X[1::2], given[1::2], top=600)
    assert [one.probability for one in found.suspects] == [one.probability for one in plain.suspects]


def test_the_first_of_any_number_of_rows_are_kept():
    rng, kept, every = np.random.default_rng(0), Suspects(50), []
    for begin in range(0, 20_000, 500):
        chances = rng.integers(0, 300, 500) / 300.0
        n = np.arange(begin, begin + 500)
        kept.add(Scored(n, [""] * 500, n, n, n, chances, chances))
        every += zip(chances.tolist(), n.tolist(), strict=True)
    assert [(one.probability, one.row) for one in kept.rows()] == sorted(every)[:50]


def test_words():
    X, given, _ = planted()
    found = massart.diagnose(X, given, groups=np.where(X[:, 1] > 0, "<b>", "c"))
    assert f"{found.suspected:,} rows" in str(found)
    assert "place          <b>: " in str(found) or "<b>" in str(found)
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert found.noise_rate == found.classifier.noise_rate_


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Beyond what is read at a time, which both files fill, rows take no memory once they are scored."""
    rng, peaks = np.random.default_rng(0), []
    rows = rng.integers(-9, 10, (50_000, 5)).tolist()
    text = "".join(
        f"{int(row[0] > 0)} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row) if v) + "\n" for row in rows
    )
    for times in (6, 12):
        path = tmp_path / f"{times}.svm"
        path.write_text(text * times)
        tracemalloc.start()
        massart.diagnose(path, delay=1000, features=5, workers=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
