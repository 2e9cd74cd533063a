"""Learners that are given more columns while they learn: the same bits as if they had had them from the start."""

import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels.door import Rows
from massart.kernels.learning import mixture
from massart.kernels.learning import pool as kernel
from massart.learners.drift import Drifting
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool

RNG = np.random.default_rng(66)
COUNT, WIDE = 600, 300
X = RNG.normal(size=(COUNT, WIDE)) * (RNG.random((COUNT, WIDE)) < 0.15)
Y = np.where(X[:, :40] @ RNG.normal(size=40) + 0.2 * RNG.normal(size=COUNT) >= 0, 1, -1)
# Rows come in stretches, each with more columns than the one before.
WIDTHS = (70, 71, 96, 97, 200, 300)
STRETCH = COUNT // len(WIDTHS)
for stretch, columns in enumerate(WIDTHS):
    X[stretch * STRETCH : (stretch + 1) * STRETCH, columns:] = 0.0

KINDS = {
    "ftrl": lambda d: Halfspace(d, 0.1, 0.05),
    "fixed": lambda d: Halfspace(d, 0.1, 0.05, horizon=COUNT),
    "adagrad": lambda d: Halfspace(d, 0.1, 0.05, optimizer="adagrad-norm"),
    "paper": lambda d: Halfspace(d, 0.1, 0.05, update="paper"),
    "no intercept": lambda d: Halfspace(d, 0.1, 0.05, fit_intercept=False, normalize=False),
    "pool": lambda d: Pool(d, seed=3),
    "majority": lambda d: Pool(d, voting="majority", fit_intercept=False),
    "drifting": lambda d: Drifting(d, 11, seed=3),  # fades a few times
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def bits(learner):
    return {name: (array.shape, array.tobytes()) for name, array in learner.arrays().items()}


def learned_in_stretches(learner, form, growth):
    """Learn stretch after stretch, in rows of the width that the learner has by then."""
    scores = []
    for number in range(len(WIDTHS)):
        own = slice(number * STRETCH, (number + 1) * STRETCH)
        if growth:
            learner.widen(growth[number])
        scores.append(learner.learn_many(form(X[own, : learner.n_features]), Y[own]))
    return np.concatenate(scores)


@every_kind
@pytest.mark.parametrize("form", [sp.csr_matrix, np.ascontiguousarray, np.asfortranarray], ids=["csr", "C", "F"])
def test_a_learner_that_grew_is_the_one_that_had_all_columns(kind, form):
    whole, grown = KINDS[kind](WIDE), KINDS[kind](WIDTHS[0])
    expected = learned_in_stretches(whole, form, ())
    assert learned_in_stretches(grown, form, WIDTHS).tobytes() == expected.tobytes()
    assert bits(grown) == bits(whole)
    assert whole.mistakes < 0.45 * COUNT, "something was learned"
    assert grown.leaders().tobytes() == whole.leaders().tobytes()
    assert grown.certificate() == whole.certificate()


@every_kind
def test_growth_by_doubling_and_trimming_leaves_no_trace(kind):
    """As when columns are counted: room for twice as many at a time, and at the end what is not used is dropped."""
    whole, grown = KINDS[kind](WIDE), KINDS[kind](80)
    doubled = [max(80, 1 << (columns - 1).bit_length()) for columns in WIDTHS]
    assert doubled[-1] > WIDE
    expected = learned_in_stretches(whole, sp.csr_matrix, ())
    rows = np.pad(X, ((0, 0), (0, doubled[-1] - WIDE)))
    for number, columns in enumerate(doubled):
        own = slice(number * STRETCH, (number + 1) * STRETCH)
        grown.widen(columns)
        scores = grown.learn_many(sp.csr_matrix(rows[own, :columns]), Y[own])
        assert scores.tobytes() == expected[own].tobytes()
    grown.narrow(WIDE)
    assert bits(grown) == bits(whole)
    assert all(array.flags.c_contiguous for array in grown.arrays().values())


@every_kind
def test_columns_at_the_end_change_no_bit_whatever_the_width(kind):
    """Sums must not depend on how many columns there are: odd, even, above and below every block of a loop."""
    data, labels = X[:200, :70], Y[:200]
    scores = {}
    for columns in (70, 71, 95, 96, 97, 128, 139, 140, 141, 300):
        learner = KINDS[kind](columns)
        wide = np.zeros((200, columns))
        wide[:, :70] = data
        for form in (wide, sp.csr_matrix(wide)):
            scores[columns, type(form).__name__] = learner.copy().learn_many(form, labels).tobytes()
    assert len(set(scores.values())) == 1


@every_kind
def test_a_narrow_beginning_needs_few_columns_only(kind):
    """Below 64 columns, too; a pool has other experts there, so it is compared with itself."""
    learner, same = KINDS[kind](3), KINDS[kind](3)
    data = X[:300, :3] + 0.1
    learner.widen(5)
    for part in (slice(0, 100), slice(100, 300)):
        wide = np.pad(data[part], ((0, 0), (0, learner.n_features - 3)))
        assert learner.learn_many(wide, Y[part]).tobytes() == same.learn_many(data[part], Y[part]).tobytes()
        learner.widen(90)
    learner.narrow(3)
    assert bits(learner) == bits(same)


def test_experts_for_few_features_stay_with_the_columns_they_know():
    """They are those of a pool that sees the first columns alone; the others see all of them."""
    pool, blind = Pool(4, seed=1), Pool(4, seed=1)
    data = X[:400, :100] + np.eye(400, 100)
    pool.learn_many(data[:100, :4], Y[:100])
    blind.learn_many(data[:100, :4], Y[:100])
    pool.widen(100)
    for form in (data, sp.csr_matrix(data)):
        grown, other = pool.copy(), blind.copy()
        grown.learn_many(form[100:], Y[100:400])
        other.learn_many(data[100:, :4], Y[100:400])
        assert grown._F.shape == (6, 5)
        assert grown._F.tobytes() == other._F.tobytes()
        assert grown._C.tobytes() == other._C.tobytes()
        assert grown._W[4:-1].any()
        few, alone = grown.columns()[0, -4:], other.columns()[0, -4:]
        assert few.shape == (4, 101)
        assert np.array_equal(few[:, [0, 1, 2, 3, 100]], alone)
        assert not few[:, 4:100].any()
    back = Pool.from_arrays({name: array.copy() for name, array in grown.arrays().items()})
    assert back.learn_many(data[:50], Y[:50]).tobytes() == grown.learn_many(data[:50], Y[:50]).tobytes()


@pytest.mark.parametrize("first", [4, 64, 65, 200])
def test_the_vote_is_that_of_the_columns(first):
    """`leaders` adds up in another order than voice @ columns: a few roundings of the largest term."""
    pool = Pool(first, seed=1)
    pool.widen(200)
    pool.learn_many(X[:, :200], Y)
    columns, voice = pool.columns()[0], pool._M[mixture.Member.VOICE]
    expected = voice @ columns / pool._t[mixture.Total.TOTAL]
    largest = np.abs(voice) @ np.abs(columns) / pool._t[mixture.Total.TOTAL]
    assert pool.leaders().shape == (1, 201)
    assert np.all(np.abs(pool.leaders()[0] - expected) <= 1e-15 * largest)


@every_kind
def test_nothing_that_was_learned_is_dropped(kind):
    learner = KINDS[kind](100)
    rows = np.zeros((4, 100))
    rows[:, 41] = 1.0
    learner.learn_many(rows, [-1, 1, -1, 1])
    before = bits(learner)
    for columns in (0, 41):
        with pytest.raises(InvalidParameterError, match="column 41"):
            learner.narrow(columns)
    for columns, what in ((-1, "0 or more"), (101, "the learner has 100 columns")):
        with pytest.raises(InvalidParameterError, match=f"n_features={columns}: .*{what}"):
            learner.narrow(columns)
    for columns in (99, 0, -1):
        with pytest.raises(InvalidParameterError, match=f"n_features={columns}"):
            learner.widen(columns)
    learner.widen(100)
    learner.narrow(100)
    assert bits(learner) == before
    learner.narrow(42)
    assert learner.n_features == 42
    assert learner.leaders().shape == (1, 43)
    assert learner.score(np.ones(42)) == pytest.approx(type(learner).from_arrays(learner.arrays()).score(np.ones(42)))


def test_a_pool_that_only_one_half_of_can_be_narrowed_stays_as_it_was():
    learner = Drifting(80, 50)
    learner.recent._V[70] = 1.0
    with pytest.raises(InvalidParameterError, match="column 70"):
        learner.narrow(10)
    assert learner.steady.n_features == learner.recent.n_features == 80


@pytest.mark.parametrize(
    "change",
    [
        {"full": np.zeros((67, 66)), "centred": np.zeros((kernel.CENTRED_SIZE, 66))},
        {"full": np.zeros((6, 5)), "centred": np.zeros((kernel.CENTRED_SIZE, 6))},
        {"full": np.zeros((5, 5))},
        {"full": np.zeros((1, 0)), "centred": np.zeros((kernel.CENTRED_SIZE, 0))},
    ],
    ids=["too many", "of two widths", "too short", "of no column"],
)
def test_experts_for_few_features_from_a_file_must_fit_together(change):
    with pytest.raises(ModelFileError):
        Pool.from_arrays(Pool(4).arrays() | change)


def test_what_training_asks_for_allocates_nothing_large():
    """With a million columns the weights are 100 MB: saving, certifying and voting must not copy them."""
    columns = 2**20
    pool = Pool(columns)
    rows = Rows.read((np.ones(2), np.array([5, columns - 1], np.uint32), np.array([0, 1, 2], np.uint32)), columns)
    pool.learn_rows(rows, np.array([1, -1], np.int8))
    vote = 8 * (columns + 1)
    for question, most in ((pool.arrays, 0), (pool.certificate, 0), (pool.shares, 0), (pool.leaders, vote)):
        tracemalloc.start()
        question()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= most + 500_000, question.__name__


@pytest.mark.parametrize("kind", ["ftrl", "pool"])
@pytest.mark.parametrize("form", [sp.csr_matrix, np.ascontiguousarray], ids=["csr", "dense"])
def test_another_thread_runs_while_a_kernel_learns(kind, form):
    """The kernels let go of the interpreter: a thread that counts gets on while one call takes a long time."""
    learner, counted, done = KINDS[kind](WIDE), [0], threading.Event()
    rows, labels = Rows.of(form(X)).check(), Y.astype(np.int8)
    order = np.tile(np.arange(COUNT, dtype=np.uint64), 20_000 if kind == "ftrl" else 5_000)
    learner.copy().learn_rows(rows, labels, order=order[:9])  # compiled

    def count():
        while not done.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    learner.learn_rows(rows, labels, order=order)
    during = counted[0] - before
    done.set()
    thread.join()
    assert during >= 5
