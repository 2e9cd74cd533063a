"""Law 9: a learner used from several threads loses nothing and never crashes."""

import threading

import numpy as np
import pytest
from scipy import sparse
from threads import at_once, eager_switching

from massart import MassartClassifier, load, save
from massart.learners import halfspace
from massart.learners.drift import Drifting
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.pair import PoolPair
from massart.learners.pool import Pool
from massart.learners.products import Products

WIDTH, ROWS = 20, 2000
X = np.random.default_rng(0).normal(size=(ROWS, WIDTH))
Y = np.where(X[:, 0] > 0, 1, -1)
THREADS, TIMES = 4, 25

LEARNERS = {
    "halfspace": lambda: Halfspace(WIDTH, 0.1, 0.1),
    "paper": lambda: Halfspace(WIDTH, 0.1, 0.1, update="paper"),
    "pool": lambda: Pool(WIDTH),
    "drifting": lambda: Drifting(WIDTH, 100),
    "products": lambda: Products(WIDTH),
    "groups": lambda: Grouped(WIDTH),
}


@pytest.fixture(autouse=True)
def _eager_switching():
    with eager_switching():
        yield


@pytest.mark.parametrize("kind", LEARNERS)
def test_batches_and_single_rows_from_many_threads(kind):
    """All rows are counted, and the sum of their weights is exact: no update was overwritten by another."""
    learner, form = LEARNERS[kind](), [X, sparse.csr_matrix(X)]

    def batches(number):
        for _ in range(TIMES):
            learner.learn_many(form[number % 2], Y)

    def single():
        for n in range(ROWS):
            learner.learn(X[n], int(Y[n]))
            learner.predict(X[n])

    at_once(*[lambda n=n: batches(n) for n in range(THREADS)], single, single)
    assert learner.rounds == THREADS * TIMES * ROWS + 2 * ROWS
    own = learner._first if isinstance(learner, PoolPair) else learner
    assert own.positive_weight == (THREADS * TIMES + 2) * np.count_nonzero(Y > 0)
    assert all(np.isfinite(array).all() for array in learner.arrays().values() if array.dtype.kind == "f")


def test_batches_are_learned_one_after_the_other():
    """Two threads that learn the same batch leave what one thread leaves that learns it twice, bit for bit."""
    for make in LEARNERS.values():
        expected, learner = make(), make()
        for _ in range(2 * TIMES):
            expected.learn_many(X, Y)

        def task(learner=learner):
            for _ in range(TIMES):
                learner.learn_many(X, Y)

        at_once(task, task)
        for name, array in expected.arrays().items():
            assert array.tobytes() == learner.arrays()[name].tobytes(), name


@pytest.mark.parametrize("kind", [kind for kind in LEARNERS if kind != "products"])  # which takes no more columns
def test_columns_are_added_while_others_learn(kind):
    """A learner that is replaced by a wider one under somebody's hands keeps what he learned."""
    learner, ended = LEARNERS[kind](), threading.Event()

    def widen():
        try:
            for columns in range(WIDTH + 1, WIDTH + 60):
                learner.widen(columns)
                learner.narrow(WIDTH)
        finally:
            ended.set()

    def single():
        for n in range(ROWS):
            while True:
                final = ended.is_set()
                try:
                    learner.learn(X[n], int(Y[n]))
                    break
                except ValueError:  # it had more columns just then
                    if final:
                        raise

    at_once(widen, single, single)
    assert learner.rounds == 2 * ROWS
    own = learner._first if isinstance(learner, PoolPair) else learner
    assert own.positive_weight == 2 * np.count_nonzero(Y > 0)


@pytest.mark.parametrize("ask", [lambda learner, row: learner.learn(row, 1), Halfspace.score], ids=["learn", "score"])
@pytest.mark.parametrize("columns", [WIDTH - 5, WIDTH + 5])
def test_columns_come_and_go_between_the_check_of_a_row_and_its_use(columns, ask, monkeypatch):
    """A row that was checked against arrays that are replaced by then is checked again, and refused."""
    learner, plain = Halfspace(WIDTH - 5, 0.1, 0.1), halfspace.regular
    learner.learn(X[0, :-5], 1)
    learner.widen(WIDTH)
    resize = Halfspace.widen if columns > WIDTH else Halfspace.narrow
    expected = learner.copy()
    resize(expected, columns)

    def slowly(x):
        monkeypatch.setattr(halfspace, "regular", plain)
        resize(learner, columns)
        return plain(x)

    monkeypatch.setattr(halfspace, "regular", slowly)
    with pytest.raises(ValueError, match=f"{columns}"):
        ask(learner, X[1])
    assert learner.n_features == columns
    for name, array in expected.arrays().items():
        assert array.tobytes() == learner.arrays()[name].tobytes(), name


@pytest.mark.parametrize("options", [{"noise_rate": 0.1, "margin": 0.1}, {}, {"horizon": 100.0}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_partial_fit_from_many_threads(options, classes, tmp_path):
    labels = np.arange(ROWS) % classes
    model = MassartClassifier(random_state=0, **options)

    def learn():
        for _ in range(10):
            model.partial_fit(X, labels, classes=range(classes))

    def ask():
        for n in range(20):
            if hasattr(model, "_learner"):
                assert model.predict(X).shape == (ROWS,)
                save(model, tmp_path / f"{threading.get_ident()}")
                assert load(tmp_path / f"{threading.get_ident()}").rounds_ % ROWS == 0, n

    at_once(learn, learn, learn, ask)
    assert model.rounds_ == 3 * 10 * ROWS


def test_a_refused_batch_leaves_others_alone():
    model = MassartClassifier(0.1, 0.1)
    bad = X.copy()
    bad[-1, 3] = np.nan

    def good():
        for _ in range(20):
            model.partial_fit(X, Y, classes=[-1, 1])

    def refused():
        for _ in range(20):
            with pytest.raises(ValueError, match="NaN"):
                model.partial_fit(bad, Y, classes=[-1, 1])

    at_once(good, refused, good)
    assert model.rounds_ == 40 * ROWS
