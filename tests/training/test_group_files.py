"""Groups from files: every format with columns, the same model as from arrays, checkpoints, predictions, refusals."""

import json

import numpy as np
import pytest

from massart import MassartClassifier, data, load
from massart.cli.inspect_page import fact_lines, inspect_model
from massart.data.formats import csv
from massart.data.formats.text import parse_block
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.groups import Grouped
from massart.models.export import export_model
from massart.training import Settings, open_training, predict_file
from massart.training.scoring import Scorer

COUNT = 400


def table(seed=0):
    """Age, town and label of rows; in the second town labels are turned around."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(size=COUNT), 3)
    town = np.where(rng.random(COUNT) < 0.5, "Ulm", "Bonn")
    return age, town, np.where((age > 0) ^ (town == "Bonn"), 1, 0)


def write(folder, name):
    age, town, y = table()
    path = folder / f"rows.{name}"
    if name == "csv":
        path.write_text("age,town,y\n" + "".join(f'{a},"{t}",{k}\n' for a, t, k in zip(age, town, y, strict=True)))
    elif name == "jsonl":
        rows = ({"age": a, "town": t, "y": int(k)} for a, t, k in zip(age, town, y, strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name == "parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"age": age, "town": town.tolist(), "y": y}), path)
    elif name == "npy":
        np.save(path, np.column_stack([y, age, town == "Bonn"]).astype(float))
    else:
        path.write_text("".join(f"{k} 1:{a} 2:{int(t == 'Bonn')}\n" for a, t, k in zip(age, town, y, strict=True)))
    return path


@pytest.mark.parametrize(
    ("name", "groups"), [("csv", "town"), ("jsonl", "town"), ("parquet", "town"), ("npy", "3"), ("svm", "2")]
)
def test_every_format_with_columns_learns_and_predicts_its_groups(tmp_path, name, groups):
    path, model = write(tmp_path, name), tmp_path / "m.massart"
    named = {"label": "y"} if name in ("csv", "jsonl", "parquet") else {}
    schema = Schema(groups=(groups,), **named)
    summary = open_training([str(path)], Settings(), schema, model=model).run()
    values = ("Ulm", "Bonn") if named else ("0", "1")
    assert set(summary.groups) == {f"{groups}={value}" for value in values}
    assert sum(one["rows"] for one in summary.groups.values()) == COUNT
    assert sum(one["mistakes"] for one in summary.groups.values()) == summary.mistakes
    lines = [line for line in summary.lines() if line.startswith("group")]
    assert len(lines) == 2
    found = predict_file(model, [str(path)], tmp_path / "p.txt")
    assert found.rows == COUNT
    assert found.mistakes < 0.1 * COUNT
    # The same as from arrays.
    clf = MassartClassifier(random_state=0)
    (chunk,) = data.read(path, **(schema.as_dict() | {"format": summary_format(name)}))
    own = np.array([f"{value:g}" if isinstance(value, float) else str(value) for value in chunk.groups[:, 0]], object)
    clf.partial_fit(chunk.X, chunk.y, classes=[-1, 1], groups=own)
    assert list(clf.group_mistakes_.values()) == [one["mistakes"] for one in summary.groups.values()]
    answers = (tmp_path / "p.txt").read_text().split()
    positive = max(answers)
    assert [answer == positive for answer in answers] == (clf.predict(chunk.X, own) > 0).tolist()


def summary_format(name):
    return {"svm": "svmlight"}.get(name, name)


def test_a_checkpoint_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    path, schema = write(tmp_path, "csv"), Schema(label="y", groups=("town",))
    monkeypatch.setitem(csv._whole_records.__kwdefaults__, "size", 512)
    whole, parts = tmp_path / "whole.massart", tmp_path / "parts.massart"
    open_training([str(path)], Settings(), schema, model=whole).run()
    calls = iter(range(10**6))
    stopping = open_training(
        [str(path)], Settings(), schema, model=parts, stopped=lambda: 2 if next(calls) > 6 else None
    )
    assert stopping.run().stopped == 2
    resumed = open_training([str(path)], Settings(), schema, model=parts, resume=True)
    assert 0 < resumed.progress.learned < COUNT
    resumed.run()
    assert parts.read_bytes() == whole.read_bytes()
    assert isinstance(load(parts)._learner, Grouped)
    with pytest.raises(InvalidParameterError, match="groups=\\('age',\\), but"):
        open_training([str(path)], Settings(), Schema(label="y", groups=("age",)), model=parts, initial=whole)


def test_a_holdout_is_predicted_by_group(tmp_path):
    path = write(tmp_path, "csv")
    schema = Schema(label="y", groups=("town",))
    summary = open_training([str(path)], Settings(holdout=4), schema, model=tmp_path / "m.massart").run()
    assert summary.holdout_error < 0.15  # everybody's pool alone errs on half of them


def test_inspect_shows_groups_and_a_halfspace_is_not_exported(tmp_path):
    path, model = write(tmp_path, "csv"), tmp_path / "m.massart"
    summary = open_training([str(path)], Settings(), Schema(label="y", groups=("town",)), model=model).run()
    found = inspect_model(model)
    assert found["groups"] == json.loads(json.dumps(summary.as_dict()["groups"]))
    lines = dict(fact_lines(found))
    for name, facts in summary.groups.items():
        assert lines[f"group {name}"].startswith(f"{facts['mistakes']} mistakes in {facts['rows']} rows")
    assert "groups by town" in lines["reading"]
    with pytest.raises(InvalidParameterError, match="has learned groups"):
        export_model(model, tmp_path / "m.json")


def test_a_column_of_groups_need_not_be_a_feature(tmp_path):
    path = write(tmp_path, "csv")
    (chunk,) = data.read(path, label="y", groups=("town",), ignore=("town",))
    assert chunk.X.shape[1] == 1
    assert chunk.groups[:, 0].tolist() == table()[1].tolist()


def test_quotes_blank_lines_and_bad_rows_do_not_shift_groups(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('age,town,y\n1,"a\nb",1\n\n2,,0\nx,c,1\n3,"d ""e""",0\n4,f\n5,g,1\n')
    (chunk,) = data.read(path, strict=False, label="y", groups=("town",), categorical=("town",), numbers=("age",))
    assert chunk.groups[:, 0].tolist() == ["a\nb", None, 'd "e"', "g"]
    assert [error.line for error in chunk.errors] == [6, 8]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.vw", "1 |a b\n0 |a c\n", {"groups": ("a",)}, "hashed text does not have"),
        ("a.svm", "1 1:1\n-1 2:1\n", {"groups": ("x",)}, "numbers from 1"),
        ("a.svm", "1 1:1\n-1 2:1\n", {"groups": ("1",), "bits": 8}, "hashed text does not have"),
        ("a.csv", "y,town\n1,a\n0,b\n", {"groups": ("twn",)}, "did you mean 'town'"),
        ("a.csv", "1,5\n0,6\n", {"groups": ("7",)}, "no column '7'"),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidDataError, match=message):
        list(data.read(tmp_path / name, **options))


def test_what_groups_do_not_go_with_is_refused_before_anything_is_read(tmp_path):
    path = write(tmp_path, "csv")
    for settings, message in ((Settings(passes=2), "one pass"), (Settings(horizon=5), "leave horizon=5 out")):
        with pytest.raises(InvalidParameterError, match=message):
            open_training([str(path)], settings, Schema(label="y", groups=("town",)))
    with pytest.raises(InvalidParameterError, match="name each column once"):
        Schema(groups=("a", "a"))


def test_scores_without_groups_are_those_of_everybody():
    chunk = parse_block(b"1 1:2\n-1 2:1\n", Schema("svmlight"))
    assert Scorer(np.array([1.0, -1.0, 0.5])).scores(chunk).tolist() == [2.5, -0.5]
