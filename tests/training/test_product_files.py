"""`massart train --products`: files to models with products of columns, stopped, resumed and predicted with."""

import json
import re

import numpy as np
import pytest
import typer.testing
from stopping import After

from massart import MassartClassifier, load
from massart.cli.app import app
from massart.errors import InvalidParameterError
from massart.learners.products import Products
from massart.training import Settings, open_training

ROWS = 1200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("products")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(ROWS, 4)), 3) * (rng.random((ROWS, 4)) < 0.8)
    y = X[:, 0] * X[:, 1] + 0.2 * X[:, 2] > 0
    np.savez(made / "rows.npz", X=X, y=y)
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        lines.append(f"{1 if label else -1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) + "\n")
    (made / "rows.svm").write_text("".join(lines))
    (made / "more.svm").write_text("".join(line.replace("\n", " 9:3\n") for line in lines))
    (made / "three.svm").write_text("".join(f"{n % 3} 1:{n}\n" for n in range(60)))
    (made / "wide.svm").write_text("1 65:1\n-1 1:1\n")
    (made / "text.csv").write_text("label,town\n" + "yes,Rome\nno,Oslo\n" * 10)
    return made


def run(*arguments):
    return typer.testing.CliRunner().invoke(app, [str(one) for one in arguments])


def test_a_file_is_learned_as_its_array_is(folder, tmp_path):
    model = tmp_path / "m.massart"
    found = run("train", folder / "rows.svm", "--products", "-f", model, "--seed", "5", "--json")
    assert found.exit_code == 0, found.output
    with np.load(folder / "rows.npz") as parts:
        X, y = parts["X"], parts["y"]
    learner = Products(4, seed=5)
    learner.learn_many(X, np.where(y, 1, -1))
    loaded = load(model)
    assert isinstance(loaded, MassartClassifier)
    assert loaded.products is True
    for name, array in learner.arrays().items():
        assert array.tobytes() == loaded._learner.arrays()[name].tobytes(), name
    assert json.loads(re.search(r"\{.*\}", found.stdout, re.DOTALL)[0])["mistakes"] == learner.mistakes
    labels, chances = run("predict", model, folder / "rows.svm"), run("predict", model, folder / "rows.svm", "--proba")
    assert [float(line) for line in labels.stdout.split()] == loaded.predict(X).tolist()
    first = [float(one.rpartition(":")[2]) for one in chances.stdout.splitlines()[0].split()]
    np.testing.assert_allclose(first, loaded.predict_proba(X[:1])[0], rtol=1e-5)
    scores = run("predict", model, folder / "rows.svm", "--scores")
    assert [float(line) for line in scores.stdout.split()] == loaded.decision_function(X).tolist()
    assert "above 4, the number of columns" in run("predict", model, folder / "more.svm").stderr
    page = run("inspect", model)
    assert "products: " in page.stdout
    assert "products=True" in page.stdout


def test_a_stopped_training_ends_with_the_same_bytes(folder, tmp_path):
    data, settings = [str(folder / "rows.svm")], Settings(products=True, holdout=7)
    whole, parts = tmp_path / "whole.massart", tmp_path / "parts.massart"
    open_training(data, settings, model=whole).run()
    stops = 0
    for looks in (1, 1, 1, 1000):
        training = open_training(data, settings, model=parts, resume=stops > 0, stopped=After(looks))
        summary = training.run()
        stops += 1
        if summary.stopped is None:
            break
    assert stops > 1
    assert parts.read_bytes() == whole.read_bytes()


def test_a_model_goes_on_with_products(folder, tmp_path):
    data, once, twice = [str(folder / "rows.svm")], tmp_path / "once", tmp_path / "twice"
    open_training(data, Settings(products=True), model=once).run()
    open_training(data, Settings(), model=twice, initial=once).run()
    assert load(twice).products is True
    assert load(twice).rounds_ == 2 * ROWS
    open_training(data, Settings(), model=once).run()
    with pytest.raises(InvalidParameterError, match=r"products=True, but .* was begun with products=False"):
        open_training(data, Settings(products=True), model=twice, initial=once)


def test_more_classes_have_products_anyway(folder, tmp_path):
    models = []
    for name, options in (("plain", {}), ("products", {"products": True})):
        open_training([str(folder / "three.svm")], Settings(**options), model=tmp_path / name).run()
        models.append(load(tmp_path / name)._learner.arrays())
    assert all(array.tobytes() == models[1][name].tobytes() for name, array in models[0].items())


REFUSED = {
    "passes": (["rows.svm", "--passes", "2"], "one pass"),
    "horizon": (["rows.svm", "--horizon", "9"], "keep all rounds"),
    "known": (["rows.svm", "--noise-rate", ".1", "--margin", ".1"], "mix experts"),
    "groups": (["rows.svm", "--groups", "1"], "groups are for learners"),
    "shards": (["rows.svm", "--workers", "1"], "no mixture of shards"),
    "columns": (["wide.svm"], "1 to 64 columns, and these are 65"),
    "text": (["text.csv", "--label", "label"], "hashed to many"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_does_not_go_with_products_is_refused(folder, tmp_path, why):
    (name, *options), words = REFUSED[why]
    found = run("train", folder / name, "--products", "-f", tmp_path / "m.massart", *options)
    assert found.exit_code == 2
    assert words in " ".join(found.stderr.split())
    assert not (tmp_path / "m.massart").exists()
