"""`massart inspect`: a page about every kind of model file."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from massart import MassartClassifier, MonotoneBandit, MonotoneRanker, load, save
from massart.cli import inspect as command
from massart.cli.app import app
from massart.cli.inspect_page import inspect_model, shown
from massart.data.feature_names import find_names
from massart.data.hashing import name_hash
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace


def run(*arguments, command="inspect"):
    return CliRunner().invoke(app, [command, *map(str, arguments)])


def trained(folder, name, text, *options):
    (folder / name).write_text(text)
    result = run(folder / name, "-f", folder / "m.massart", "--quiet", *options, command="train")
    assert result.exit_code == 0, result.output
    return folder / "m.massart"


def names(model, *options):
    result = run(model, "--json", *options)
    assert result.exit_code == 0, result.output
    return [feature["name"] for feature in json.loads(result.stdout)["features"]]


def test_page_of_a_trained_model(tmp_path):
    rows = "age,town size,y\n1,2,1\n-3,-1,0\n2,1,1\nx,1,1\n-1,-1,0\n,0.5,5\n"
    model = trained(tmp_path, "a.csv", rows, "--noise-rate", "0.1", "--margin", "0.05", "--label", "y")
    result = run(model)
    assert result.exit_code == 0, result.output
    lines = dict(
        line.split("  ", 1) for line in result.stdout.splitlines() if not line.startswith(" ") and "  " in line
    )
    facts = {name: words.strip() for name, words in lines.items()}
    assert facts["model"].startswith("classifier of -1 and 1; schema 2, written by massart ")
    assert "noise_rate=0.1, margin=0.05" in facts["parameters"]
    assert "several are tried" not in facts["parameters"]
    assert facts["trained on"] == f"{tmp_path / 'a.csv'} ({len(rows)} bytes)"
    assert facts["rows"].startswith("5 learned; 1 left out: label")
    assert facts["rounds"].startswith("5, ")
    assert facts["bound"] == load(model).certificate().sentence
    assert facts["bound"].startswith("says nothing yet: ")
    assert facts["noise rate"] == "no lower limit yet"
    assert "label y" in facts["reading"]


def test_numbers_are_those_of_the_model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    rows = "".join(
        f"{1 if x[0] > 0 else -1} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x)) + "\n" for x in X
    )
    model = trained(tmp_path, "a.svm", rows)
    found = json.loads(run(model, "--json", "--top", "3").stdout)
    loaded = load(model)
    assert (found["rounds"], found["mistakes"]) == (loaded.rounds_, loaded.mistakes_) == (300, found["mistakes"])
    assert found["error"] == found["mistakes"] / 300
    assert found["noise_rate"] == loaded.noise_rate_
    assert found["intercept"] == pytest.approx(loaded.intercept_[0], rel=1e-12)
    assert found["experts"] == pytest.approx(dict(list(loaded.expert_weights_.items())[:5]), rel=1e-12)
    deviations = np.round(X, 3).std(axis=0)
    order = np.argsort(-np.abs(loaded.coef_[0] * deviations))[:3]
    assert [feature["deviation"] for feature in found["features"]] == pytest.approx(deviations[order].tolist())
    assert [feature["name"] for feature in found["features"]] == [f"index {j + 1}" for j in order]
    assert [feature["weight"] for feature in found["features"]] == pytest.approx(loaded.coef_[0][order].tolist())
    assert found["certificate"]["confident_mistake_bound"] == loaded.certificate().confident_mistake_bound


def test_the_unit_of_a_column_does_not_decide_which_is_heaviest(tmp_path):
    rng = np.random.default_rng(0)
    large, small = rng.normal(size=300) * 1000.0, rng.normal(size=300)
    label = np.where(large / 1000.0 + 0.2 * small > 0, 1, 0)
    rows = "".join(f"{a:.3f},{b:.5f},{y}\n" for a, b, y in zip(large, small, label, strict=True))
    model = trained(tmp_path, "a.csv", "large,small,y\n" + rows)
    first, second = json.loads(run(model, "--json").stdout)["features"]
    assert (first["name"], second["name"]) == ("large", "small")
    assert abs(first["weight"]) < abs(second["weight"])  # raw, the other one would be first
    assert first["effect"] == pytest.approx(first["weight"] * large.std(), rel=1e-3)
    assert "weight x deviation" in run(model).stdout
    known = trained(tmp_path, "b.csv", "large,small,y\n" + rows, "--noise-rate", "0.1", "--margin", "0.1")
    assert {feature["effect"] for feature in json.loads(run(known, "--json").stdout)["features"]} == {None}
    assert "raw weight" in run(known).stdout


def test_top(tmp_path):
    model = trained(tmp_path, "a.svm", "1 1:1 2:2\n-1 5:1\n" * 9, "--noise-rate", "0.1", "--margin", "0.1")
    assert "heaviest" not in run(model, "--top", "0").stdout
    assert names(model, "--top", "1") == ["index 2"]
    assert set(names(model, "--top", "99")) == {"index 1", "index 2", "index 5"}  # those of weight 0 are not named


def test_names_of_columns(tmp_path):
    model = trained(tmp_path, "a.csv", "age,town,y\n" + "1,Ulm,1\n2,Bonn,0\n" * 5)
    assert "age" in names(model)  # a column of numbers is known by itself
    assert sorted(names(model, "--names", tmp_path / "a.csv")) == ["age", "town=Bonn", "town=Ulm"]
    model = trained(tmp_path, "b.csv", "1,Ulm,3\n0,Bonn,4\n" * 5)
    assert sorted(names(model, "--names", tmp_path / "b.csv")) == ["1=Bonn", "1=Ulm", "2"]
    model = trained(tmp_path, "c.csv", "age,size,y\n" + "1,3,1\n2,4,0\n" * 5)
    assert sorted(names(model)) == ["age", "size"]
    result = run(model, "--names", tmp_path / "c.csv")
    assert result.exit_code == 2
    assert "knows its columns without help" in result.stderr


def test_names_in_vw_text(tmp_path):
    text = "1 'tag |user age:0.5 town:Rome |it x y:2 |:2 7 :3\n-1 |it z:-1 :5\n"
    model = trained(tmp_path, "a.vw", text * 5)
    columns = names(model, "--top", "99")
    assert all(name.startswith("#") for name in columns)
    expected = ["user^age", "user^town=Rome", "it^x", "it^y", "7", "[0]", "it^z", "it^[0]"]
    assert sorted(names(model, "--top", "99", "--names", tmp_path / "a.vw")) == sorted(expected)


def test_names_of_products(tmp_path):
    text = "1 |a x:0.5 y |b z:2 w\n-1 |a x:-1 |b z\n"
    model = trained(tmp_path, "a.vw", text * 5, "-q", "ab", "-q", "aa", "--cubic", "abb", "-b", "24")
    found = names(model, "--top", "99", "--names", tmp_path / "a.vw")
    singles = ["a^x", "a^y", "b^w", "b^z"]
    pairs = [f"{a}*{b}" for a in ("a^x", "a^y") for b in ("b^z", "b^w")] + ["a^x*a^x", "a^x*a^y", "a^y*a^y"]
    triples = [f"{a}*{b}" for a in ("a^x", "a^y") for b in ("b^z*b^z", "b^z*b^w", "b^w*b^w")]
    assert sorted(found) == sorted(singles + pairs + triples)


def test_a_namespace_twice_gives_each_pair_once(tmp_path):
    """x*y is there, y*x is not, although its column is asked for."""
    (tmp_path / "a.vw").write_text("1 |a x y |b z\n")
    x, y = (name_hash(name, name_hash("a")) for name in "xy")
    there, not_there = ((first * 16777619 ^ second) % 2**24 for first, second in ((x, y), (y, x)))
    reading = Schema("vw", bits=24, crossings=("aa",))
    assert find_names([str(tmp_path / "a.vw")], reading, [there, not_there]) == {there: ["a^x*a^y"]}


def test_collisions_are_joined(tmp_path):
    model = trained(tmp_path, "a.vw", "1 | 1 5\n-1 | 2\n" * 5, "-b", "2")
    assert "1 | 5" in names(model, "--names", tmp_path / "a.vw")


def test_names_in_json(tmp_path):
    row = {"y": 1, "age": 2, "new": True, "old": False, "town": "Rome", "user": {"age": 3, "home": {"zip": "9"}}}
    row |= {"v": [1, 2], "tags": ["a", "b"], "items": [{"p": 1}], "m": [[4]]}
    lines = [row, {"y": 0, "age": -1}]
    model = trained(tmp_path, "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines * 5))
    expected = ["age", "new", "town=Rome", "user^age", "user.home^zip=9", "v^[0]", "v^[1]", "tags=a", "tags=b"]
    expected += ["items^p", "m[0]^[0]"]
    assert sorted(names(model, "--top", "99", "--names", tmp_path / "a.jsonl")) == sorted(expected)


def test_names_in_other_formats(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"y": [0, 1] * 5, "age": [3, 4] * 5, "town": ["Ulm", "Bonn"] * 5, "v": [[1.0, 2.0]] * 10})
    parquet.write_table(table, tmp_path / "a.parquet")
    model = tmp_path / "m.massart"
    assert run(tmp_path / "a.parquet", "-f", model, "--quiet", command="train").exit_code == 0
    assert sorted(names(model, "--names", tmp_path / "a.parquet")) == ["age", "town=Bonn", "town=Ulm", "v[0]", "v[1]"]
    model = trained(tmp_path, "a.svm", "1 3:1 40:2\n-1 5:1\n" * 5, "-b", "5")
    assert set(names(model)) == {"#3", "#8", "#5"}
    assert set(names(model, "--names", tmp_path / "a.svm")) == {"index 3", "index 40", "index 5"}


def test_a_search_for_names_ends_early(tmp_path, monkeypatch):
    model = trained(tmp_path, "a.vw", "1 | x\n-1 | y\n" * 5)
    (tmp_path / "long.vw").write_text("1 | x\n-1 | y\n" + "1 | z\n" * 100)
    seen = []
    from massart.data import feature_names

    real = feature_names._hits
    monkeypatch.setattr(feature_names, "_hits", lambda *arguments: seen.append(1) or real(*arguments))
    assert sorted(names(model, "--names", tmp_path / "long.vw")) == ["x", "y"]
    assert len(seen) == 2
    monkeypatch.setattr(feature_names, "MOST_ROWS", 1)
    assert sorted(names(model, "--names", tmp_path / "long.vw")) == [f"#{name_hash('y') % 2**18}", "x"]


def test_a_checkpoint_says_how_far_it_got(tmp_path):
    import shutil

    from massart.training import Callbacks, Settings, open_training
    from massart.training.settings import Every

    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:-1\n" * 500)
    kept = tmp_path / "kept"

    class Copier(Callbacks):
        def measured(self, passed, measured):
            if passed == 1:
                shutil.copy(tmp_path / "m.massart.checkpoint", kept)

    settings = Settings(passes=2, holdout=10, checkpoint=Every(rows=1))
    open_training([str(tmp_path / "a.svm")], settings, model=tmp_path / "m.massart", callbacks=Copier()).run()
    result = run(kept)
    assert result.exit_code == 0, result.output
    assert "a checkpoint: " in result.stdout
    assert "in pass 1" in result.stdout
    assert json.loads(run(kept, "--json").stdout)["progress"]["passed"] == 1


def test_bandit_and_ranker(tmp_path):
    rng = np.random.default_rng(0)
    bandit, ranker = MonotoneBandit(margin=0.1, random_state=0), MonotoneRanker(gap=0.2)
    for _ in range(50):
        contexts = rng.normal(size=(3, 4)) / 8
        bandit.learn(bandit.choose(contexts), 1.0)
        ranker.learn(contexts, [0.0, 1.0, 0.0])
    bandit.choose(contexts)
    save(bandit, tmp_path / "b")
    save(ranker, tmp_path / "r")
    found = json.loads(run(tmp_path / "b", "--json").stdout)
    assert (found["kind"], found["rounds"], found["pending"], found["columns"]) == ("bandit", 50, 1, 4)
    assert found["parameters"]["margin"] == [0.1]
    found = json.loads(run(tmp_path / "r", "--json").stdout)
    assert (found["kind"], found["rounds"], found["parameters"]["gap"]) == ("ranker", 50, [0.2])
    assert found["guaranteed_lift"] == pytest.approx(ranker.guaranteed_lift)
    page = run(tmp_path / "b").stdout
    assert "1 choices wait for their reward" in page
    assert "guarantees nothing yet: there is no theorem for a bandit that knows one of" in " ".join(page.split())
    assert "nothing yet" in run(tmp_path / "r").stdout
    assert "promised" not in page + run(tmp_path / "r").stdout


def test_other_kinds(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 3))
    clf = MassartClassifier(random_state=0).partial_fit(X, np.argmax(X, axis=1), classes=[0, 1, 2])
    save(clf, tmp_path / "together")
    found = inspect_model(tmp_path / "together", top=2)
    assert found["features"] == []
    assert next(iter(found["experts"])) == next(iter(clf.expert_weights_))
    assert "of 3 classes" in run(tmp_path / "together").stdout
    clf = MassartClassifier(0.1, 0.05).partial_fit(X, np.argmax(X, axis=1), classes=[0, 1, 2])
    save(clf, tmp_path / "three")
    found = inspect_model(tmp_path / "three", top=2)
    assert [len(own) for own in found["features"].values()] == [2, 2, 2]
    assert found["intercept"]["1"] == pytest.approx(clf.intercept_[1])
    assert "of 3 classes" in run(tmp_path / "three").stdout
    save(MassartClassifier(), tmp_path / "none")
    assert "has learned nothing yet" in run(tmp_path / "none").stdout
    for learner in (Halfspace(2, 0.1, 0.1), Drifting(2, 50.0)):
        save(learner, tmp_path / "alone")
        assert run(tmp_path / "alone").exit_code == 0
        assert json.loads(run(tmp_path / "alone", "--json").stdout)["error"] is None


def test_what_is_no_model(tmp_path):
    for content in (b"", b"1 1:1\n", b"\x89PNG and so on", b"PK\x03\x04" * 30):
        (tmp_path / "m").write_bytes(content)
        result = run(tmp_path / "m")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"massart inspect: {tmp_path / 'm'}")
        assert len(result.stderr.splitlines()) == 1
    for path in (tmp_path, tmp_path / "missing"):
        result = run(path)
        assert result.exit_code == 2
        assert str(path) in result.stderr
    save(Halfspace(500, 0.1, 0.1), tmp_path / "m")
    data = bytearray((tmp_path / "m").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "m").write_bytes(data)
    assert run(tmp_path / "m").exit_code == 2


def test_on_a_terminal(tmp_path, monkeypatch, capsys):
    model = trained(tmp_path, "a.svm", "1 1:1\n-1 2:1\n" * 5)
    command._draw(inspect_model(model))
    printed = capsys.readouterr().out
    assert "heaviest feature" in printed
    assert "index 1" in printed
    X = np.random.default_rng(0).normal(size=(30, 3))
    save(MassartClassifier(0.1, 0.1).partial_fit(X, np.argmax(X, axis=1), classes=[0, 1, 2]), tmp_path / "three")
    command._draw(inspect_model(tmp_path / "three"))
    assert "class" in capsys.readouterr().out


def test_names_cannot_steer_a_terminal(tmp_path):
    assert shown("x" * 99) == "x" * 57 + "..."
    model = trained(tmp_path, "a.csv", "a\x1b[31mb,y\n1,1\n2,0\n")
    page = run(model).stdout
    assert "\x1b" not in page
    assert "a\\x1b[31mb" in page


def test_names_with_blanks_after_separators(tmp_path):
    (tmp_path / "a.csv").write_text("age, town, label\n" + "1, Ulm, 1\n2, Bonn, 0\n" * 20)
    schema = Reader(find_sources(tmp_path / "a.csv"), Schema(label="label")).schema
    wanted = [name_hash(town, name_hash("town")) % 2**18 for town in ("Ulm", "Bonn")]
    assert find_names([str(tmp_path / "a.csv")], schema, wanted) == {
        wanted[0]: ["town=Ulm"],
        wanted[1]: ["town=Bonn"],
    }
