"""Law 1: no file and no array, whatever its bytes, makes the process read or write outside its memory."""

import ast
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import processes
import pytest
from grouped import grouped
from scipy import sparse

import massart
from massart import MassartClassifier, MonotoneBandit, MonotoneRanker
from massart.arena.registry import POLICIES
from massart.data import Decision, DecisionBatch
from massart.data.schema import Schema
from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.door import FiniteRows, Rows
from massart.learners.drift import Drifting
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool
from massart.learners.products import Products
from massart.models.model_file import read_model, write_model
from massart.models.opening import learner_from, model_of, open_model
from massart.training.predict import predict_file
from massart.training.start import open_training

LEARNERS = {
    "halfspace": lambda: Halfspace(4, 0.1, 0.1),
    "pool": lambda: Pool(4),
    "drifting": lambda: Drifting(4, 50),
    "products": lambda: Products(4),
    "groups": lambda: Grouped(4),
}
ROWS = np.arange(20.0).reshape(5, 4) - 9.0
LABELS = np.array([1, -1, 1, -1, 1], np.int8)


def massart_command(*words) -> subprocess.CompletedProcess:
    return processes.run([sys.executable, "-m", "massart", *map(str, words)], capture_output=True, text=True)


def assert_refused(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 2, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
    assert "Traceback" not in done.stderr


@pytest.fixture
def trained(tmp_path):
    """A model of a table of three columns, and the table."""
    table = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    lines = [f"{int(x[0] > 0)},{x[0]:.3f},{x[1]:.3f},{x[2]:.3f}" for x in rng.normal(size=(200, 3))]
    table.write_text("\n".join(["label,a,b,c", *lines]) + "\n")
    model = tmp_path / "m.massart"
    open_training([str(table)], schema=Schema(label="label"), model=model).run()
    return model, table


def test_a_header_that_lists_more_columns_than_there_are_weights(trained, tmp_path):
    model, table = trained
    kind, meta, arrays = read_model(model)
    names = [f"c{k}" for k in range(50_000)]
    meta["reading"] |= {"columns": names}
    write_model(model, kind, meta, arrays)
    wide = tmp_path / "wide.csv"
    wide.write_text(
        ",".join(["label", *names]) + "\n" + "1" + ",1" * len(names) + "\n" + "0" + ",2" * len(names) + "\n"
    )
    for data in (wide, table):
        for words in (("train", data, "-i", model, "-f", tmp_path / "n.massart"), ("predict", data, "-m", model)):
            assert_refused(massart_command(*words))


@pytest.mark.parametrize("shape", [(1, 0), (0, 4), (1, 1), (1, 40), (2, 4)])
def test_weights_of_another_shape(trained, tmp_path, shape):
    model, table = trained
    kind, meta, arrays = read_model(model)
    write_model(model, kind, meta, arrays | {"batch_weights": np.zeros(shape)})
    for opened in (
        lambda: predict_file(model, [str(table)], tmp_path / "answers", scores=True),
        lambda: open_model(model),
    ):
        with pytest.raises(ModelFileError):
            opened()
    with pytest.raises(ModelFileError):
        massart.load(model)


@pytest.mark.parametrize("kind", LEARNERS)
def test_rows_labels_orders_and_outputs_that_do_not_fit(kind):
    learner = LEARNERS[kind]()
    rows, order = Rows.of(ROWS), np.arange(5, dtype=np.uint64)
    before = {name: array.tobytes() for name, array in learner.arrays().items()}
    average = learner.new_average()
    wrong = {
        "narrow rows": (Rows.of(ROWS[:, :3]), LABELS),
        "wide rows": (Rows.of(np.tile(ROWS, 100)), LABELS),
        "wide sparse rows": (Rows.of(sparse.csr_matrix(np.tile(ROWS, 100))), LABELS),
        "few labels": (rows, LABELS[:3]),
        "labels of another type": (rows, LABELS.astype(np.int64)),
        "labels 0": (rows, 0 * LABELS),
        "many weights": (rows, LABELS, np.ones(9)),
        "few weights": (rows, LABELS, np.ones(3)),
        "an order beyond": (rows, LABELS, np.ones(5), order + np.uint64(1)),
        "an order far beyond": (rows, LABELS, np.ones(5), order + np.uint64(2**63)),
        "an order of another type": (rows, LABELS, np.ones(5), order.astype(np.int32)),
        "few scores": (rows, LABELS, np.ones(5), order, average, np.empty(2)),
        "scores of another type": (rows, LABELS, np.ones(5), order, average, np.empty(5, np.float32)),
        "a short average": (rows, LABELS, np.ones(5), order, average[:1], np.empty(5)),
        "strided labels": (rows, np.repeat(LABELS, 2)[::2]),
    }
    for name, given in wrong.items():
        with pytest.raises(InvalidDataError):
            learner.learn_rows(*given)
        assert {key: array.tobytes() for key, array in learner.arrays().items()} == before, name


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("row", [np.ones(3), np.ones(5000), np.ones((1, 4)), 3.0, "abcd", [1, 2, [3], 4], [None] * 4])
def test_one_row_of_another_kind(kind, row):
    learner = LEARNERS[kind]()
    for ask in (lambda: learner.learn(row, 1), lambda: learner.score(row), lambda: learner.predict(row)):
        with pytest.raises(InvalidDataError):
            ask()
    assert learner.rounds == 0


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("label", [0, 2, 127, 300, 0.5, float("nan"), "1", None, [1, 1], np.ones(2)])
def test_a_label_of_another_kind(kind, label):
    learner = LEARNERS[kind]()
    with pytest.raises(InvalidDataError):
        learner.learn(ROWS[0], label)
    with pytest.raises(InvalidDataError):
        learner.learn_many(ROWS[:1], [label])
    assert learner.rounds == 0


def forged_sparse(form: str) -> sparse.spmatrix:
    """A sparse matrix with an index far outside, of each of SciPy's forms that hold indices."""
    X = sparse.random(6, 5, density=0.6, format=form, random_state=0)
    places = {"csr": "indices", "csc": "indices", "bsr": "indices", "coo": "col"}[form]
    getattr(X, places)[0] = 2**30
    return X


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_a_sparse_matrix_with_an_index_outside(form):
    y = [0, 1, 0, 1, 0, 1]
    for use in ("fit", "partial_fit"):
        with pytest.raises(InvalidDataError):
            getattr(MassartClassifier(), use)(forged_sparse(form), y, **({"classes": [0, 1]} if "_" in use else {}))
    classifier = MassartClassifier(random_state=0).partial_fit(np.eye(6)[:, :5], y, classes=[0, 1])
    with pytest.raises(InvalidDataError):
        classifier.predict(forged_sparse(form))


def put_together(form: str, **parts: object) -> sparse.spmatrix:
    """A sparse matrix with parts that SciPy does not look at again."""
    X = sparse.csr_matrix(np.eye(6, 5)).asformat(form)
    for name, part in parts.items():
        setattr(X, name, part)
    return X


def lists(*rows: object) -> np.ndarray:
    found = np.empty(len(rows), dtype=object)
    found[:] = rows
    return found


ONE = [[1.0]] * 6
PUT_TOGETHER = {
    "lil, more values than columns": lambda: put_together("lil", data=lists([1.0] * 100_000, *ONE[1:])),
    "lil, fewer values than columns": lambda: put_together("lil", data=lists([], *ONE[1:])),
    "lil, few rows": lambda: put_together("lil", rows=lists([0]), data=lists([1.0])),
    "lil, an index outside": lambda: put_together("lil", rows=lists([10**6], *[[0]] * 5)),
    "lil, words": lambda: put_together("lil", rows=lists(["a"], *[[0]] * 5)),
    "lil, no lists": lambda: put_together("lil", rows=lists(None, *[[0]] * 5)),
    "dia, few offsets": lambda: put_together("dia", data=np.ones((50, 5)), offsets=np.zeros(1, np.int32)),
    "dia, no table": lambda: put_together("dia", data=np.ones(5)),
    "csr, indices with fractions": lambda: put_together("csr", indices=np.arange(5.0), indptr=np.arange(7.0)),
    "csr, objects for indices": lambda: put_together("csr", indices=np.arange(5).astype(object)),
    "csr, no sign": lambda: put_together("csr", indices=np.full(5, 2**64 - 1, np.uint64)),
    "csr, lists": lambda: put_together("csr", indices=[0] * 5, data=[1.0] * 5),
    "csr, nothing": lambda: put_together("csr", data=None),
    "csc, few indices": lambda: put_together("csc", indices=np.zeros(1, np.int32)),
    "coo, few rows": lambda: put_together("coo", coords=(np.zeros(1, np.int32), np.arange(5))),
    "coo, fractions": lambda: put_together("coo", coords=(np.arange(5), np.arange(5) + 0.5)),
}


@pytest.mark.parametrize("name", PUT_TOGETHER)
def test_sparse_matrices_of_parts_that_do_not_fit_together(name):
    """SciPy reads and writes outside of its memory where it turns the first ones into CSR or dense arrays."""
    X, y = PUT_TOGETHER[name](), [0, 1, 0, 1, 0, 1]
    classifier = MassartClassifier(random_state=0).partial_fit(np.eye(6)[:, :5], y, classes=[0, 1])
    ranker, policy = MonotoneRanker(), POLICIES.make("linucb", dimension=5, arms=6)
    for use in (
        lambda: MassartClassifier().fit(X, y),
        lambda: MassartClassifier().partial_fit(X, y, classes=[0, 1]),
        lambda: classifier.predict(X),
        lambda: Pool(5).learn_many(X, [1] * 6),
        lambda: MonotoneBandit().choose(X),
        lambda: ranker.learn(X, np.ones(6)),
        lambda: ranker.fit(X, np.ones(6), np.zeros(6)),
        lambda: policy.choose(X),
        lambda: DecisionBatch.of([Decision(X, 0, 0.5, 1.0)]),
    ):
        with pytest.raises(InvalidDataError):
            use()


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_every_form_of_a_sparse_matrix_is_the_same_matrix(form):
    X, y = sparse.random(60, 5, density=0.4, random_state=0, format="csr"), np.arange(60) % 2
    first, other = (MassartClassifier(0.1, 0.1, random_state=0).fit(rows, y) for rows in (X, X.asformat(form)))
    assert np.array_equal(first.coef_, other.coef_)
    assert np.array_equal(first.decision_function(X), first.decision_function(X.asformat(form)))


@pytest.mark.parametrize("change", ["descending", "beyond", "negative"])
def test_row_pointers_that_do_not_fit(change):
    X = sparse.csr_matrix(ROWS)
    X.indptr[1:3] = {"descending": [9, 2], "beyond": [4, 2**30], "negative": [-5, 2**30]}[change]
    for learner in LEARNERS.values():
        with pytest.raises(InvalidDataError):
            learner().learn_many(X, LABELS)


def test_rows_of_a_file_are_checked_for_the_model_that_takes_them():
    data, columns, pointers = np.ones(3), np.array([0, 2, 3], np.uint32), np.array([0, 1, 3], np.uint32)
    assert isinstance(Rows.read((data, columns, pointers), 4), FiniteRows)
    wrong = [
        ((data, columns, pointers), 3),
        ((data[:2], columns, pointers), 4),
        ((data, columns, pointers + np.uint32(1)), 4),
        ((data, columns, pointers[::-1].copy()), 4),
        ((data, columns.astype(np.int64), pointers), 4),
        ((data, columns[:, None], pointers), 4),
        ((data * np.nan, columns, pointers), 4),
        (np.ones((2, 3)), 4),
    ]
    for rows, width in wrong:
        with pytest.raises(InvalidDataError):
            Rows.read(rows, width)
    for weights in (np.empty(0), np.ones(3, np.float32), np.ones((1, 3))):
        with pytest.raises(InvalidDataError):
            Rows.read((data, columns, pointers)).score(weights)


@pytest.mark.parametrize("kind", [Rows, FiniteRows])
def test_only_the_door_makes_checked_rows(kind):
    with pytest.raises(TypeError, match="checked"):
        kind(np.ones((2, 2)), None, 2, 900)


# The compiled loops that check no index, and who may call them: the door, and owners of states that it has checked.
UNCHECKED = {
    "learn_dense": {"learners/halfspace.py"},
    "learn_csr": {"learners/halfspace.py"},
    "learn_row": {"learners/halfspace.py"},
    "score_row": {"learners/halfspace.py"},
    "learn_pool": {"learners/pool.py", "learners/row_calls.py"},
    "read_rows": {"learners/pool.py", "learners/class_pool.py"},
    "mix_pair": {"learners/drift.py"},
    "mix_two": {"learners/products.py"},
    "product_rows": {"learners/products.py"},
    "mix_specialists": {"learners/groups.py"},
    "shares_of": {"learners/groups.py"},
    "score_csr": {"kernels/door.py"},
    "score_dense": {"kernels/door.py"},
}


def test_nobody_else_calls_a_loop_that_checks_nothing():
    source = Path(massart.__file__).parent
    for path in source.rglob("*.py"):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for name in names & UNCHECKED.keys():
            assert path.relative_to(source).as_posix() in UNCHECKED[name], (path, name)


@pytest.mark.parametrize("kind", ["halfspace", "experts", "drifting", "products", "groups"])
def test_models_of_arrays_that_do_not_fit_are_refused(kind):
    arrays = (grouped(4) if kind == "groups" else LEARNERS["pool" if kind == "experts" else kind]()).arrays()
    for name, array in arrays.items():
        narrow = array.astype(np.float32 if array.dtype.kind != "U" else object)
        for change in (array[:0], array[None], narrow):
            with pytest.raises(ModelFileError):
                learner_from(kind, arrays | {name: change})


def test_a_header_of_many_features_takes_no_memory(trained):
    """Law 5, too: a number in a header is compared with the weights before anything is made of it."""
    model, _ = trained
    kind, meta, arrays = read_model(model)
    for features in (2**31, 2**39, 10**400):
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            model_of("forged", kind, meta | {"n_features_in": features}, arrays)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_000_000
