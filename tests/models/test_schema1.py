"""Files that massart 0.1.0 wrote keep loading: the same predictions, counts and way on as when they were new.

Their certificates are upper bounds: what they did not count yet is taken for the most that it can have been.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from massart import Halfspace, load, save
from massart.kernels.door import Rows
from massart.kernels.learning import halfspace, mixture
from massart.kernels.learning import pool as pool_kernel
from massart.learners.drift import Drifting
from massart.learners.multiclass import OneVsRest
from massart.learners.pool import MARGINS, NOISE_RATES, Experts
from massart.models.model_file import read_header, read_model

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
    found, then = asdict(model.certificate()), expected["certificate"]
    assert {name: found[name] for name in then} == pytest.approx(then, **NEAR)
    assert not found["applies"], "the file does not tell whether rows were learned twice"
    assert found["constant_mistakes"] == np.inf, "nor how often each label came"


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
    model.reseed(1)  # a loaded bandit draws anew
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


GRID = [(rate, margin, True) for rate in NOISE_RATES for margin in MARGINS]  # as in 0.1.0: all with the constant
LEARNERS = {
    "ftrl": lambda **own: Halfspace(6, 0.1, 0.2, **own),
    "fixed": lambda **own: Halfspace(6, 0.1, 0.2, 600, **own),
    "adagrad-norm": lambda **own: Halfspace(6, 0.1, 0.2, optimizer="adagrad-norm", **own),
    "paper": lambda **own: Halfspace(6, 0.1, 0.2, update="paper", **own),
    "paper, horizon": lambda **own: Halfspace(6, 0.1, 0.2, 600, update="paper", **own),
    "experts": lambda **own: Experts(6, grid=GRID, **own),
    "majority": lambda **own: Experts(6, grid=GRID, voting="majority", **own),
    "many features": lambda **own: Experts(70, grid=GRID, **own),
    "one pair": lambda **own: Experts(6, grid=[(0.1, 0.5, True)], **own),
    "drifting": lambda **own: Drifting(6, 30, grid=GRID, **own),
}
SIZES = {  # what 0.1.0 knew of each array
    "rule": halfspace.Rule.NEGATIVE,
    "state": halfspace.State.LINEAR,
    "how": pool_kernel.Setting.NEGATIVE,
    "columns": pool_kernel.Column.CONSTANT,
    "totals": mixture.Total.COINS,
}


def as_written_then(learner):
    """The arrays of a learner as 0.1.0 wrote them: without what has been counted since."""
    return {
        name: array[: SIZES[name.rpartition(".")[2]]].copy() if name.rpartition(".")[2] in SIZES else array.copy()
        for name, array in learner.arrays().items()
    }


def data(rounds, width, noise=0.15):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rounds, width))
    return X, np.where((X[:, 0] > 0.2) ^ (rng.random(rounds) < noise), 1, -1)


@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("own", [{}, {"normalize": False}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("kind", LEARNERS)
def test_an_old_file_promises_no_more_than_a_new_learner_of_the_same_rows(kind, own, noise):
    """Bounds are higher, evidence and the limit of the noise rate lower; also when both have gone on to learn."""
    new = LEARNERS[kind](**own)
    X, y = data(600, new.n_features, noise)
    new.learn_many(X[:400], y[:400])
    old = type(new).from_arrays(as_written_then(new))
    assert all(a.shape == b.shape for a, b in zip(old.arrays().values(), new.arrays().values(), strict=True))
    assert old.certificate().constant_mistakes == np.inf, "how often each label came is not known"
    for _ in range(2):
        assert np.array_equal(old.leaders(), new.leaders())
        assert (old.rounds, old.mistakes) == (new.rounds, new.mistakes)
        assert list(old.shares()) == list(new.shares())
        mine, yours = old.certificate(), new.certificate()
        assert (mine.rounds, mine.mistakes) == (yours.rounds, yours.mistakes)
        assert mine.confident_mistake_bound >= yours.confident_mistake_bound * (1 - 1e-12)
        assert mine.mistake_bound >= yours.mistake_bound * (1 - 1e-12)
        assert mine.evidence <= yours.evidence * (1 + 1e-12)
        assert old.lower_noise_rate() <= new.lower_noise_rate()
        assert not mine.applies, "rows may have been learned twice: the file does not say"
        for each in (old, new):
            each.learn_many(X[400:], y[400:])


def sums(learner):
    """Of each halfspace: the regret, and the sums that bounds rise with; the sum of inverses, with which they fall."""
    if isinstance(learner, Halfspace):
        s, own = learner._s, halfspace
        norm2 = s[own.NORM2] if learner._rule[own.KIND] in (own.FTRL, own.FIXED) else 0.0
        more = [s[own.LINEAR] + norm2**0.5, s[own.SPREAD], s[own.HEAVIEST]]
        return np.array(more), np.array([s[own.INVERSE]])
    S, own, t = learner._S, pool_kernel, learner._t
    S = S[:, own.DIAGONAL : own.DIAGONAL + learner._plain]
    more = [*(S[own.LINEAR] + np.sqrt(S[own.NORM2])), *S[own.SPREAD], t[mixture.Total.COINS]]
    return np.array(more), S[own.INVERSE]


@pytest.mark.parametrize("kind", [kind for kind in LEARNERS if kind not in ("adagrad-norm", "drifting")])
def test_what_an_old_file_did_not_count_is_bounded_whatever_the_weights(kind):
    new = LEARNERS[kind](normalize=False)
    X, y = data(300, new.n_features)
    weight = np.random.default_rng(5).uniform(0.2, 5.0, size=300)
    new.learn_rows(Rows.of(X), y.astype(np.int8), weight)
    old = type(new).from_arrays(as_written_then(new))
    (more, fewer), (least, most) = sums(old), sums(new)
    assert np.all(more >= least * (1 - 1e-12))
    assert np.all(fewer <= most)
    assert not old.certificate().applies, "weights differ, as the old file knew"
    assert old.certificate().holds


def test_three_classes_of_an_old_file_know_their_rounds():
    X, _ = data(200, 6)
    labels = np.random.default_rng(5).integers(0, 3, size=200)
    new = OneVsRest([Halfspace(6, 0.1, 0.2) for _ in range(3)])
    new.learn_rows(Rows.of(X), labels, np.full(200, 0.5))
    members = {f"{k}.{name}": a for k, one in enumerate(new.members) for name, a in as_written_then(one).items()}
    old = OneVsRest.from_arrays(members | {"totals": new.arrays()["totals"][:3]}, Halfspace)
    mine, yours = old.certificate(), new.certificate()
    assert (mine.rounds, mine.mistakes) == (yours.rounds, yours.mistakes) == (100, new.mistakes / 2)
    assert mine.confident_mistake_bound >= yours.confident_mistake_bound
    assert mine.evidence <= yours.evidence
