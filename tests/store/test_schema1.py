"""Files that massart 0.1.0 wrote keep loading: the same predictions, certificates and way on as when they were new."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from massart import load, save
from massart.store.model_file import read_header, read_model

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FOLDER / "schema1-expected.json").read_text())
NEAR = {"rel": 1e-10, "abs": 1e-12}  # sums may be taken in another order than then


def of_kind(kind):
    return pytest.mark.parametrize("name", [name for name, about in EXPECTED.items() if about["kind"] == kind])


@pytest.fixture(params=["as it is", "written again"])
def opened(request, tmp_path):
    """The model of a name: from its file, or from a new file that was written with it."""

    def read(name):
        model = load(FOLDER / f"schema1-{name}.massart")
        if request.param == "as it is":
            return model
        save(model, tmp_path / "m.massart")
        assert read_header(tmp_path / "m.massart")["format"] == 2
        return load(tmp_path / "m.massart")

    return read


def test_the_files_are_what_they_are_called():
    files = sorted(FOLDER.glob("schema1-*.massart"))
    assert {file.stem.removeprefix("schema1-") for file in files} == EXPECTED.keys()
    for file in files:
        header = read_header(file)
        assert (header["format"], header["massart"]) == (1, "0.1.0")
        assert header["kind"] == read_model(file)[0] == EXPECTED[file.stem.removeprefix("schema1-")]["kind"]


def certified(model, expected):
    assert asdict(model.certificate()) == pytest.approx(expected["certificate"], **NEAR)


@of_kind("classifier")
def test_a_classifier_goes_on_as_it_did(name, opened):
    model, expected = opened(name), EXPECTED[name]
    rows, labels = np.array(expected["rows"]), np.array(expected["labels"])
    assert model.decision_function(rows) == pytest.approx(np.array(expected["scores"]), **NEAR)
    assert model.predict(rows).tolist() == expected["predictions"]
    certified(model, expected)
    assert (model.rounds_, model.mistakes_, model.noise_rate_) == (
        expected["rounds"],
        expected["mistakes"],
        expected["noise_rate"],
    )
    then = expected["then"]
    model.partial_fit(rows, labels)
    assert model.decision_function(rows) == pytest.approx(np.array(then["scores"]), **NEAR)
    assert (model.rounds_, model.mistakes_) == (then["rounds"], then["mistakes"])


@of_kind("halfspace")
def test_a_halfspace_scores_as_it_did(name, opened):
    model, expected = opened(name), EXPECTED[name]
    assert [model.score(row) for row in np.array(expected["rows"])] == pytest.approx(expected["scores"], **NEAR)
    assert (model.rounds, model.mistakes) == (expected["rounds"], expected["mistakes"])
    certified(model, expected)


@of_kind("bandit")
def test_a_bandit_chooses_as_it_did(name, opened):
    model, expected = opened(name), EXPECTED[name]
    contexts = np.array(expected["contexts"])
    assert np.array([model.probabilities(c) for c in contexts]) == pytest.approx(
        np.array(expected["probabilities"]), **NEAR
    )
    assert model.rounds == expected["rounds"]
    # What 0.1.0 wrote as guaranteed had no theorem: this bandit does not know its gap and margin.
    found, then = asdict(model.certificate()), expected["certificate"]
    for key in ("rounds", "observed_lift", "low", "high", "confidence", "holds"):
        assert found[key] == pytest.approx(then[key], **NEAR), key
    assert found["guaranteed_lift"] is None
    assert [model.choose(c).arm for c in contexts] == expected["arms"]


@of_kind("ranker")
def test_a_ranker_ranks_as_it_did(name, opened):
    model, expected = opened(name), EXPECTED[name]
    assert [model.predict_ranking(c).tolist() for c in np.array(expected["contexts"])] == expected["rankings"]
    assert model.guaranteed_lift < 0  # equal contexts may have been counted as pairs: its rounds guarantee nothing


@pytest.mark.parametrize("mode", ["r", "c"])
def test_an_old_file_cannot_be_mapped_but_is_read_all_the_same(mode):
    file = FOLDER / "schema1-pool.massart"
    for name, array in read_model(file, mmap=True, mode=mode)[2].items():
        assert array.tobytes() == read_model(file)[2][name].tobytes()
        assert array.flags.writeable == (mode == "c")
