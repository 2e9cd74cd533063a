"""A pool of many columns keeps those that occurred: the same numbers, bit for bit, in less memory.

Reason: the map from columns to slots is of use only if nobody can tell that it is there, but by memory and time.
"""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import massart
from massart import MassartClassifier
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.door import FiniteRows, Rows
from massart.learners import columns as columns_module
from massart.learners import pool_arrays
from massart.learners.class_pool import ClassPool
from massart.learners.columns import ColumnMap
from massart.learners.drift import Drifting
from massart.learners.multiclass import OneVsRest
from massart.learners.pool import Pool
from massart.learners.sparse_rows import SparseRows
from massart.models.model_file import read_header

WIDTH = 3000
MAKE = {
    "pool": lambda width: Pool(width, seed=3),
    "without an intercept": lambda width: Pool(width, fit_intercept=False, normalize=False),
    "drifting": lambda width: Drifting(width, 7, seed=5),
    "drifting slowly": lambda width: Drifting(width, 10_000, voting="majority"),
}


@pytest.fixture
def layouts(monkeypatch):
    """Make a learner twice: without a map, and with one."""

    def make(name, width=WIDTH):
        made = []
        for many in (1 << 40, 64):
            monkeypatch.setattr(columns_module, "MANY_COLUMNS", many)
            made.append(MAKE[name](width))
        return made

    return make


def sparse_rows(
    count, width=WIDTH, seed=0, *, entries=40, value=np.float64, index=np.uint32, columns=None
) -> FiniteRows:
    """Rows whose columns stand in any order, some rows without any, and columns that are not all equally frequent."""
    rng = np.random.default_rng(seed)
    columns = width if columns is None else columns
    kept = [
        rng.permutation(np.unique((columns * rng.random(rng.integers(0, entries)) ** 3).astype(index)))
        for _ in range(count)
    ]
    indptr = np.cumsum([0, *map(len, kept)]).astype(index)
    data = rng.normal(size=int(indptr[-1])).astype(value)
    return Rows.read((data, np.concatenate(kept).astype(index), indptr), width, scaled=False)


def labels(count, seed=0):
    return np.random.default_rng(seed).choice(np.array([-1, 1], np.int8), count)


def whole(learner):
    return {name: np.asarray(array) for name, array in learner.arrays().items()}


def assert_same(one, other):
    left, right = whole(one), whole(other)
    assert list(left) == list(right)
    for name, array in left.items():
        assert array.shape == right[name].shape, name
        assert array.tobytes() == right[name].tobytes(), name
    assert one.leaders().tobytes() == other.leaders().tobytes()
    assert one.columns().tobytes() == other.columns().tobytes()
    assert one.n_features == other.n_features
    assert one.certificate() == other.certificate()


def mapped(learner) -> bool:
    pools = [learner] if isinstance(learner, Pool) else [learner.steady, learner.recent]
    return all(pool._map is not None for pool in pools)


# The same numbers


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize(("value", "index"), [(np.float64, np.uint32), (np.float32, np.uint64)])
def test_with_a_map_and_without_all_numbers_are_the_same(layouts, name, value, index):
    plain, compact = layouts(name)
    assert mapped(compact)
    assert not mapped(plain)
    rng = np.random.default_rng(1)
    for seed in range(4):
        rows = sparse_rows(300, seed=seed, value=value, index=index)
        y, weight = labels(300, seed), rng.random(300) + 0.1
        order = rng.integers(0, 300, 200).astype(np.uint64)
        for batch in ((), (weight,), (weight, order)):
            scores = [np.empty(order.size if len(batch) == 2 else 300) for _ in range(2)]
            for learner, own in zip((plain, compact), scores, strict=True):
                learner.learn_rows(rows, y, *batch, scores=own)
            assert scores[0].tobytes() == scores[1].tobytes()
        assert_same(plain, compact)
    assert mapped(compact)


def test_tables_grow_and_rows_come_in_blocks(layouts, monkeypatch):
    monkeypatch.setattr(columns_module, "_ENTRIES", 1 << 14)
    plain, compact = layouts("pool", 50_000)
    before = len(compact._W)
    for seed in range(2):
        rows = sparse_rows(4000, 50_000, seed)
        assert rows.csr[0].size > 2**16  # entries, four blocks at least
        for learner in (plain, compact):
            learner.learn_rows(rows, labels(4000))
        assert_same(plain, compact)
    assert before < len(compact._W) <= 50_001
    assert compact._W.ctypes.data % 64 == 0  # a vector of four weights lies on one cache line


def test_a_row_may_be_longer_than_the_table(layouts):
    # The kernel's scratch is as long as the table; a row that repeats a column is longer than its columns are many.
    plain, compact = layouts("pool", 20_000)
    indices = np.repeat(np.arange(3, dtype=np.uint32), 5000)
    rows = Rows.read((np.ones(15_000), indices, np.array([0, 15_000], np.uint32)), 20_000)
    for learner in (plain, compact):
        learner.learn_rows(rows, labels(1))
    assert len(compact._W) > 15_000
    assert_same(plain, compact)


@pytest.mark.parametrize("name", MAKE)
def test_dense_rows_end_the_map(layouts, name):
    plain, compact = layouts(name, 200)
    dense = np.random.default_rng(0).normal(size=(20, 200))
    averages = [learner.new_average() for learner in (plain, compact)]
    for learner, average in zip((plain, compact), averages, strict=True):
        learner.learn_rows(sparse_rows(50, 200), labels(50), average=average)
        learner.learn_rows(Rows.of(dense), labels(20), average=average)
        learner.learn(dense[0], 1.0)
    assert averages[0].tobytes() == np.asarray(averages[1]).tobytes()
    sums = [learner.summed(average)[0] for learner, average in zip((plain, compact), averages, strict=True)]
    assert sums[0].tobytes() == sums[1].tobytes()
    assert_same(plain, compact)
    assert plain.score(dense[1]) == compact.score(dense[1])


@pytest.mark.parametrize("name", MAKE)
def test_averages_are_the_same_and_grow_with_the_table(layouts, name):
    plain, compact = layouts(name, 50_000)
    averages = [learner.new_average() for learner in (plain, compact)]
    for seed in range(2):
        rows = sparse_rows(2000, 50_000, seed)
        for learner, average in zip((plain, compact), averages, strict=True):
            learner.learn_rows(rows, labels(2000), average=average)
        plain, compact = plain.copy(), compact.copy()  # as `fit` goes on after its first pass
    assert mapped(compact)
    sums = [learner.summed(average) for learner, average in zip((plain, compact), averages, strict=True)]
    assert sums[0][0].tobytes() == sums[1][0].tobytes()
    some = np.array([0, 7, 1000, 49_999, 50_000])
    assert averages[0][some].tobytes() == averages[1][some].tobytes()
    assert averages[0].tobytes() == np.asarray(averages[1]).tobytes()
    assert_same(plain, compact)


def test_averages_of_another_pool_are_refused(layouts):
    _, compact = layouts("pool")
    _, other = layouts("pool")
    other.learn_rows(sparse_rows(5), labels(5))
    before = whole(compact)
    with pytest.raises(InvalidDataError, match="average must be one that this pool"):
        compact.learn_rows(sparse_rows(50), labels(50), average=other.new_average())
    assert all(array.tobytes() == whole(compact)[key].tobytes() for key, array in before.items())


def test_an_array_as_average_ends_the_map(layouts):
    plain, compact = layouts("pool")
    averages = [plain.new_average(), plain.new_average()]
    for learner, average in zip((plain, compact), averages, strict=True):
        learner.learn_rows(sparse_rows(50), labels(50))
        learner.learn_rows(sparse_rows(50), labels(50), average=average)
    sums = [learner.summed(average)[0] for learner, average in zip((plain, compact), averages, strict=True)]
    assert sums[0].tobytes() == sums[1].tobytes()
    assert not mapped(compact)


@pytest.mark.parametrize("horizon", [None, 50])
def test_more_than_two_classes(monkeypatch, tmp_path, horizon):
    rows = sparse_rows(400)
    X = sparse.csr_matrix(tuple(part.astype(kind) for part, kind in zip(rows.csr, "dii", strict=True)), (400, WIDTH))
    y = np.random.default_rng(0).integers(0, 3, 400)
    files = []
    for many in (1 << 40, 64):
        monkeypatch.setattr(columns_module, "MANY_COLUMNS", many)
        clf = MassartClassifier(horizon=horizon, random_state=0).partial_fit(X[:200], y[:200], classes=[0, 1, 2])
        assert isinstance(clf._learner, ClassPool if horizon is None else OneVsRest)
        if horizon is None:
            assert (clf._learner._map is not None) == (many == 64)
        else:
            assert [mapped(member) for member in clf._learner.members] == [many == 64] * 3
        massart.save(clf, tmp_path / "m")
        clf = massart.load(tmp_path / "m").partial_fit(X[200:], y[200:])
        massart.save(clf, tmp_path / "m")
        files.append(((tmp_path / "m").read_bytes(), clf.decision_function(X).tobytes()))
    assert files[0] == files[1]


def test_fit_gives_the_same_weights(monkeypatch):
    rows = sparse_rows(200)
    X = sparse.csr_matrix(tuple(part.astype(kind) for part, kind in zip(rows.csr, "dii", strict=True)), (200, WIDTH))
    found = []
    for many in (1 << 40, 64):
        monkeypatch.setattr(columns_module, "MANY_COLUMNS", many)
        for horizon in (None, 50):
            clf = MassartClassifier(horizon=horizon, passes=2, random_state=0).fit(X, labels(200))
            found.append((clf.coef_.tobytes(), clf.partial_fit(X, labels(200)).coef_.tobytes()))
    assert found[:2] == found[2:]


# Other numbers of columns


@pytest.mark.parametrize("name", MAKE)
def test_columns_are_added_and_dropped(layouts, name):
    plain, compact = layouts(name)
    for learner in (plain, compact):
        learner.learn_rows(sparse_rows(50), labels(50))
        learner.widen(2 * WIDTH)
        learner.learn_rows(sparse_rows(50, 2 * WIDTH, 1, columns=WIDTH + 200), labels(50))
        learner.narrow(WIDTH + 500)
    assert_same(plain, compact)
    last = int(np.flatnonzero(compact.columns()[0, :, :-1].any(axis=0))[-1])
    with pytest.raises(InvalidParameterError, match=f"column {last} .* has been learned"):
        compact.narrow(last)
    assert_same(plain, compact)
    with pytest.raises(InvalidParameterError, match="at most as many"):
        compact.narrow(WIDTH + 501)


def test_a_pool_that_becomes_wide_gets_a_map(monkeypatch):
    monkeypatch.setattr(columns_module, "MANY_COLUMNS", 1000)
    grown, ready = Pool(900, seed=1), Pool(5000, seed=1)
    assert not mapped(grown)
    grown.learn_rows(sparse_rows(50, 900), labels(50))
    ready.learn_rows(sparse_rows(50, 5000, columns=900), labels(50))
    grown.widen(5000)
    assert mapped(grown)
    for pool in (grown, ready):
        pool.learn_rows(sparse_rows(50, 5000, 1), labels(50, 1))
    assert_same(grown, ready)


def test_a_pool_with_experts_for_few_columns_has_no_map(layouts):
    # They know columns by their number.
    plain, compact = layouts("pool", 10)
    for learner in (plain, compact):
        learner.learn_rows(sparse_rows(50, 10), labels(50))
        learner.widen(WIDTH)
        learner.learn_rows(sparse_rows(50), labels(50))
    assert not mapped(compact)
    assert_same(plain, compact)


# Copies and files


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("way", ["copy", "pickle", "arrays"])
def test_copies_are_independent_and_go_on_alike(layouts, name, way):
    plain, compact = layouts(name)
    ways = {
        "copy": lambda learner: learner.copy(),
        "pickle": lambda learner: pickle.loads(pickle.dumps(learner)),  # noqa: S301
        "arrays": lambda learner: type(learner).from_arrays({k: a.copy() for k, a in learner.arrays().items()}),
    }
    for learner in (plain, compact):
        learner.learn_rows(sparse_rows(50), labels(50))
    twin = ways[way](compact)
    assert mapped(twin)
    twin.learn_rows(sparse_rows(50, seed=1), labels(50, 1))
    assert_same(plain, compact)  # the twin's round left it alone
    plain.learn_rows(sparse_rows(50, seed=1), labels(50, 1))
    assert_same(plain, twin)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("rows", [0, 3, 800])
def test_files_are_the_same_byte_for_byte(layouts, tmp_path, name, rows):
    # 3 rows leave most columns unseen, which a file does not store; of 800 rows it has more than half of all columns.
    plain, compact = layouts(name, 6000)
    for learner, path in ((plain, tmp_path / "plain"), (compact, tmp_path / "compact")):
        if rows:
            learner.learn_rows(sparse_rows(rows, 6000, entries=90), labels(rows))
        massart.save(learner, path)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "compact").read_bytes()
    described = read_header(tmp_path / "compact")["arrays"].items()
    assert {"folded" in facts for key, facts in described if key.endswith("weights")} == {rows < 800}
    back = massart.load(tmp_path / "compact")
    assert mapped(back) == (rows < 800)
    for learner in (plain, back):
        learner.learn_rows(sparse_rows(50, 6000, 1), labels(50))
    assert_same(plain, back)


def test_a_refused_batch_leaves_no_trace_in_a_file(layouts, tmp_path):
    _, compact = layouts("pool")
    compact.learn_rows(sparse_rows(5), labels(5))
    massart.save(compact, tmp_path / "before")
    with pytest.raises(InvalidDataError, match="other than"):
        compact.learn_rows(sparse_rows(50, seed=1), np.zeros(50, np.int8))
    with pytest.raises(InvalidDataError, match="average must be"):
        compact.learn_rows(sparse_rows(50, seed=1), labels(50), average=np.zeros((3, 3)))
    massart.save(compact, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_without_memory_for_more_columns_nothing_is_learned(layouts, monkeypatch):
    # Slots have been given by then. The next call must not take them for rows that there are.
    plain, compact = layouts("pool", 50_000)
    rows, grow = sparse_rows(2000, 50_000), pool_arrays.grown

    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(pool_arrays, "grown", fails)
    wide = Rows.read((np.ones(9000), np.arange(9000, dtype=np.uint32), np.array([0, 9000], np.uint32)), 50_000)
    with pytest.raises(MemoryError):
        compact.learn_rows(wide, labels(1))
    assert_same(plain, Pool.from_arrays(whole(compact)))
    monkeypatch.setattr(pool_arrays, "grown", grow)
    for learner in (plain, compact):
        learner.learn_rows(rows, labels(2000))
    assert_same(plain, compact)


def test_four_million_columns_take_the_memory_of_those_that_occur(tmp_path):
    # Weights of all columns would be 400 MB. What remains are the map, 16 MB, and the weights of a vote, 32 MB.
    rows = sparse_rows(300, 1 << 22)
    tracemalloc.start()
    try:
        pool = Pool(1 << 22)
        pool.learn_rows(rows, labels(300))
        twin = pool.copy()
        massart.save(pool, tmp_path / "m")
        learned = tracemalloc.get_traced_memory()[1]
        back = massart.load(tmp_path / "m")
        back.leaders()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert learned < 60e6
    assert peak < 140e6
    for name in ("weights", "variances"):
        assert np.array_equal(back.arrays()[name][:1000], twin.arrays()[name][:1000])


def test_arrays_of_different_lengths_are_refused(layouts):
    _, compact = layouts("pool", 5000)
    compact.learn_rows(sparse_rows(5, 5000), labels(5))
    arrays = compact.arrays()
    longer = SparseRows(arrays["variances"].numbers, arrays["variances"].stored(), 5002)
    with pytest.raises(ModelFileError, match="shape"):
        Pool.from_arrays(arrays | {"variances": longer})


def test_a_map_counts_slots():
    columns = ColumnMap(20_000)
    assert columns.room == 0
    columns.slots(np.arange(0, 20_000, 8, dtype=np.uint32))
    assert columns.room == 2500
    assert columns.room_after(5000, 4000) == 5000
    assert columns.room_after(5000, 5001) == 10_000
    assert columns.room_after(5000, 12_000) == 12_000
    assert columns.room_after(15_000, 15_001) == 20_000  # never more than all columns
    with pytest.raises(MemoryError, match="do not fit"):
        columns.room_after(0, 1 << 33)
