"""Learners in files beyond `save` and `load`: notes of a training, names and arrays, maps, and changes of width."""

import sys

import numpy as np
import processes
import pytest
from sklearn.base import clone

from massart import Halfspace, MassartClassifier, load, save
from massart.errors import ModelFileError
from massart.learners.drift import Drifting
from massart.learners.pool import Pool
from massart.models.model_file import read_header, read_model, write_model
from massart.models.opening import learner_from
from massart.models.saving import learner_meta

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
WIDE = np.hstack([X, RNG.normal(size=(400, 90)) * (RNG.random((400, 90)) < 0.2)])
Y = (X[:, 0] > 0).astype(int)
FIRST, THEN = slice(0, 150), slice(150, 400)
KINDS = {
    "halfspace": lambda d: Halfspace(d, 0.1, 0.05),
    "experts": lambda d: Pool(d, seed=1),
    "drifting": lambda d: Drifting(d, 7, seed=1),
}


def round_trip(model, folder):
    save(model, folder / "model.massart")
    return load(folder / "model.massart")


NOTES = {"reading": {"format": "vw", "bits": 18}, "training": {"runs": [{"rows": 400, "sources": ["größe.vw"]}]}}


def test_what_a_classifier_knows_of_its_files_stays_with_it(tmp_path):
    """As `massart train` writes it: notes on the reading, and in a checkpoint progress and further arrays."""
    path, model = tmp_path / "model.massart", MassartClassifier(random_state=3).partial_fit(X, Y, classes=[0, 1])
    assert not hasattr(round_trip(model, tmp_path), "reading_")
    _, meta, arrays = read_model(path)
    further = {f"further.{name}": array for name, array in Pool(6).arrays().items()}
    write_model(
        path, "classifier", meta | NOTES | {"progress": {"pass": 2}}, arrays | further | {"kept": np.zeros((1, 7))}
    )
    back = load(path)
    assert (back.reading_, back.training_) == (NOTES["reading"], NOTES["training"])
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    again = round_trip(back.partial_fit(X, Y), tmp_path)
    assert (again.reading_, again.training_) == (NOTES["reading"], NOTES["training"])
    assert read_header(path)["meta"].keys() == (meta | NOTES).keys()
    assert clone(again).get_params() == model.get_params()


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_goes_through_name_and_arrays(kind):
    learner = KINDS[kind](6)
    learner.learn_many(X, 2 * Y - 1)
    name, arrays = learner_meta(learner)
    assert name == kind
    assert arrays.keys() == learner.arrays().keys()
    assert all(np.shares_memory(array, learner.arrays()[part]) for part, array in arrays.items())
    back = learner_from(name, arrays)
    assert type(back) is type(learner)
    assert back.certificate() == learner.certificate()
    arrays.pop(next(iter(arrays)))
    with pytest.raises(ModelFileError, match="missing"):
        learner_from(name, arrays)


def test_unknown_learners_are_refused_by_name():
    with pytest.raises(ModelFileError, match="'forest'"):
        learner_from("forest", {})
    with pytest.raises(ModelFileError, match="dict"):
        learner_meta({})


@pytest.mark.parametrize("mode", ["r", "c"])
def test_a_mapped_learner_predicts_and_a_copy_of_it_learns(mode, tmp_path):
    path = tmp_path / "model.massart"
    pool = Pool(96, seed=1)
    pool.learn_many(WIDE[FIRST], 2 * Y[FIRST] - 1)
    save(pool, path)
    before = path.read_bytes()
    name, _, arrays = read_model(path, mmap=True, mode=mode)
    mapped = learner_from(name, arrays)
    assert mapped.leaders().tobytes() == pool.leaders().tobytes()
    assert mapped.certificate() == pool.certificate()
    goes_on = mapped if mode == "c" else mapped.copy()
    scores = goes_on.learn_many(WIDE[THEN], 2 * Y[THEN] - 1)
    assert scores.tobytes() == pool.learn_many(WIDE[THEN], 2 * Y[THEN] - 1).tobytes()
    assert path.read_bytes() == before


@pytest.mark.parametrize("grown", [6, 64, 65, 300])
def test_a_pool_that_grew_comes_back_whole(grown, tmp_path):
    for make in KINDS.values():
        learner = make(6)
        learner.learn_many(X, 2 * Y - 1)
        learner.widen(grown)
        back = round_trip(learner, tmp_path)
        wide = np.hstack([X, np.ones((400, grown - 6))])
        assert back.learn_many(wide, 2 * Y - 1).tobytes() == learner.learn_many(wide, 2 * Y - 1).tobytes()
        assert back.leaders().tobytes() == learner.leaders().tobytes()


def test_a_pool_that_was_narrowed_comes_back_whole(tmp_path):
    """Below the width up to which a pool would have experts for few features; and below that of those it has."""
    for first, last in ((200, 10), (60, 10)):
        pool = Pool(first, seed=1)
        pool.learn_many(np.pad(X, ((0, 0), (0, first - 6))), 2 * Y - 1)
        pool.narrow(last)
        back = round_trip(pool, tmp_path)
        narrow = np.pad(X, ((0, 0), (0, last - 6)))
        assert back.columns().shape == (1, 17 if first == 60 else 13, last + 1)
        assert back.learn_many(narrow, 2 * Y - 1).tobytes() == pool.learn_many(narrow, 2 * Y - 1).tobytes()


def test_training_from_files_needs_no_scikit_learn(tmp_path):
    """Start-up counts there: neither it nor scipy's matrices and distributions, which take as long as all the rest."""
    script = (
        "import sys, numpy as np\n"
        "from massart.models import opening, saving\n"
        "from massart.learners.halfspace import Halfspace\n"
        "learner = Halfspace(2, 0.1, 0.05)\n"
        "learner.learn_many(np.eye(2), [1, -1])\n"
        "saving.save(learner, sys.argv[1]); opening.load(sys.argv[1])\n"
        "heavy = ('sklearn', 'pandas', 'scipy.sparse', 'scipy.stats', 'pyarrow', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "m")]
    done = processes.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
