"""A bound for every group at once: adversaries outside the group, late and tiny groups, the state of the learner."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import theory
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.door import Rows
from massart.kernels.learning.specialists import RATES, Count
from massart.learners.group_columns import LONGEST_NAME, MOST_GROUPS, group_columns, group_text, read_groups
from massart.learners.groups import Grouped
from massart.learners.pool import Pool

WIDTH = 6
GRID = [(0.05, 0.25, False), (0.45, 0.25, False)]


def rows(count, seed, margin=0.4):
    """Unit vectors at a distance of `margin` at least from the hyperplane of the first coordinate, and its side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * count, WIDTH))
    X /= np.linalg.norm(X, axis=1)[:, None]
    X = X[np.abs(X[:, 0]) >= margin][:count]
    assert len(X) == count
    return X, np.where(X[:, 0] > 0, 1, -1)


def groups_of(count, seed):
    """Two columns: one row in four is quiet; a few are tiny; the late ones come in the second half. Groups overlap."""
    rng = np.random.default_rng(seed)
    first = np.where(rng.random(count) < 0.25, "quiet", "noisy").astype(object)
    second = np.where(np.arange(count) < count // 2, None, "late").astype(object)
    second[rng.choice(count, 3, replace=False)] = "tiny"
    return np.column_stack([first, second])


def play(seed, count=4000, batch=50):
    """The quiet rows have 5% noise; an adversary labels all others against everybody's vote, or their own group's."""
    X, y = rows(count, seed)
    groups, rng = groups_of(count, seed), np.random.default_rng(seed)
    quiet = groups[:, 0] == "quiet"
    y = np.where(quiet & (rng.random(count) < 0.05), -y, y)
    learner = Grouped(WIDTH, grid=GRID, fit_intercept=False, seed=seed)
    held = True
    for start in range(0, count, batch):
        part = slice(start, start + batch)
        vote = learner.leaders_of(-1 if not learner.names or rng.random() < 0.5 else 0)[0]
        against = np.where(X[part] @ vote[:-1] >= 0, -1, 1)
        labels = np.where(quiet[part], y[part], against)
        learner.learn_many(X[part], labels, groups[part])
        if "0=quiet" in learner.names:
            certificate = learner.certificate(0.99, "0=quiet")
            held &= certificate.holds and certificate.mistakes <= certificate.confident_mistake_bound
    return learner, held


def test_a_group_keeps_its_bound_whatever_others_do():
    """Each run fails with a chance of at most 0.01; that 2 of 8 fail has one below 28 * 1e-4."""
    played = [play(seed) for seed in range(8)]
    assert sum(not held for _, held in played) <= 1
    mistakes = [learner.group_mistakes("0=quiet") for learner, _ in played]
    rounds = [learner.group_rounds("0=quiet") for learner, _ in played]
    pairs = [(p, g) for p, g, _ in GRID]
    bound = theory.group_mistake_bound(0.05, 0.25, max(rounds), pairs, experts=11, position=2)
    assert np.mean(mistakes) <= bound + 4 * np.std(mistakes) / np.sqrt(8)
    # And everybody's pool, for which 3 of 4 rows are labelled by an adversary, is no help to the group.
    shared = [learner._counted[1 + learner._of("0=quiet"), Count.COMMON] for learner, _ in played]
    assert np.mean(mistakes) < 0.7 * np.mean(shared)


def test_no_group_pays_more_than_the_price_on_any_path():
    """Theorem 21(a) with V <= min(T, H + L): deterministic, for the pool of the group and for that of everybody."""
    for seed in range(2):
        learner, _ = play(seed, 2000)
        for k, (pool, counts) in enumerate(zip(learner.pools, learner._counted[1:], strict=True), 1):
            expected, rounds = counts[Count.EXPECTED], counts[Count.ROUNDS]
            for loss in (pool.mistakes, counts[Count.COMMON]):
                price = theory.specialist_price(min(rounds, expected + loss), theory.group_prior(k))
                assert expected <= loss + price
        counts = learner._counted[0]
        price = theory.specialist_price(counts[Count.EXPECTED] + counts[Count.COMMON], theory.everybody_prior())
        assert counts[Count.EXPECTED] <= counts[Count.COMMON] + price
        assert learner.everybody.mistakes == counts[Count.COMMON]


def test_groups_join_when_they_are_met_and_count_their_own_rows():
    X, y = rows(1000, 0)
    groups = groups_of(1000, 0)
    learner = Grouped(WIDTH)
    scores = learner.learn_many(X, y, groups)
    wrong = (scores >= 0) != (y > 0)
    assert learner.rounds == 1000
    assert learner.mistakes == np.count_nonzero(wrong)
    assert set(learner.names) == {"0=quiet", "0=noisy", "1=late", "1=tiny"}
    for name in learner.names:
        column, value = name.split("=")
        inside = groups[:, int(column)] == value
        assert learner.group_rounds(name) == np.count_nonzero(inside)
        assert learner.group_mistakes(name) == np.count_nonzero(wrong & inside)
    assert learner.group_rounds("1=tiny") == 3


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_rows_at_once_one_by_one_and_in_pieces_give_the_same(kind):
    X, y = rows(120, 3)
    groups = groups_of(120, 3)
    whole = Grouped(WIDTH, seed=5)
    scores = whole.learn_many(kind(X), y, groups)
    for size in (1, 7):
        pieces = Grouped(WIDTH, seed=5)
        found = [
            pieces.learn_many(kind(X[i : i + size]), y[i : i + size], groups[i : i + size]) for i in range(0, 120, size)
        ]
        np.testing.assert_array_equal(np.concatenate(found), scores)
        assert_same(pieces, whole)


def assert_same(one, other):
    first, second = one.arrays(), other.arrays()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(np.asarray(first[name]), np.asarray(second[name]), err_msg=name)


def test_an_order_and_weights_reach_the_pools_of_groups():
    """A row of weight 0 that is left out by the order founds no group; others weigh in their group what they weigh."""
    X, y = rows(60, 4)
    groups = np.array(["a", "b", "c"] * 20)
    weight, order = np.full(60, 0.5), np.flatnonzero(groups != "c").astype(np.uint64)
    learner = Grouped(WIDTH)
    learner.learn_rows(Rows.of(X), y.astype(np.int8), weight, order, groups=group_columns(groups, 60))
    assert learner.names == ["a", "b"]
    alone = Pool(WIDTH, seed=int(learner.pools[0]._seed[0]))
    alone.learn_rows(Rows.of(X), y.astype(np.int8), weight, np.flatnonzero(groups == "a").astype(np.uint64))
    for name, array in alone.arrays().items():
        np.testing.assert_array_equal(array, learner.pools[0].arrays()[name], err_msg=name)


def test_without_groups_the_answers_are_those_of_the_pool_and_it_goes_on_from_one():
    X, y = rows(300, 5)
    pool, learner = Pool(WIDTH, seed=2), Grouped(WIDTH, seed=2)
    np.testing.assert_array_equal(pool.learn_many(X, y), learner.learn_many(X, y))
    later = Grouped.of(pool.copy())
    assert (later.rounds, later.mistakes) == (pool.rounds, pool.mistakes)
    assert later.certificate() == learner.certificate() == pool.certificate()
    later.learn_many(X, y, ["a", "b", "c"] * 100)
    assert later.group_rounds("a") == 100
    assert later.rounds == 600


def test_majority_draws_nothing():
    X, y = rows(400, 6)
    groups = ["a", "b"] * 200
    answers = [Grouped(WIDTH, voting="majority", seed=s).learn_many(X, y, groups) for s in (1, 2)]
    np.testing.assert_array_equal(*answers)
    learner = Grouped(WIDTH, voting="majority")
    learner.learn_many(X, y, groups)
    np.testing.assert_array_equal(learner._counted[:, Count.EXPECTED], learner._counted[:, Count.MISTAKES])


def test_the_followed_pool_is_the_one_with_the_largest_weight():
    learner = Grouped(2)
    learner.learn_many([[1.0, 0.0]] * 2, [1, -1], [["a", "b"]] * 2)
    learner._omega[:] = 1e-3
    learner._omega[1] = 0.5  # a group's own pool
    told = group_columns(np.array([["a", "b"], ["a", "z"], ["z", "b"], ["", ""]]), 4)
    assert learner.followed(told).tolist() == [0, 0, -1, -1]
    learner._omega[0] = 0.6  # everybody's
    assert learner.followed(told).tolist() == [-1, -1, -1, -1]


def test_columns_join_all_pools_and_leave_them():
    X, y = rows(100, 7)
    groups = ["a", "b"] * 50
    wide, grown = Grouped(WIDTH + 3, seed=1), Grouped(WIDTH, seed=1)
    scores = wide.learn_many(np.hstack([X, np.zeros((100, 3))]), y, groups)
    grown.learn_many(X[:50], y[:50], groups[:50])
    grown.widen(WIDTH + 3)
    assert [pool.n_features for pool in grown.pools] == [WIDTH + 3] * 2
    grown.narrow(WIDTH)
    grown.widen(WIDTH + 3)
    assert np.all(np.isfinite(grown.learn_many(np.hstack([X[50:], np.ones((50, 3))]), y[50:], groups[50:])))
    with pytest.raises(InvalidParameterError, match="has been learned and cannot be dropped"):
        grown.narrow(WIDTH)
    assert scores.size == 100


def test_an_invalid_row_changes_nothing():
    X, y = rows(50, 8)
    learner = Grouped(WIDTH)
    learner.learn_many(X, y, ["a"] * 50)
    before = learner.copy()
    X[20, 3] = np.nan
    with pytest.raises(InvalidDataError, match="NaN at row 20"):
        learner.learn_many(X, y, ["b"] * 50)
    with pytest.raises(InvalidDataError, match="weights may be 1 at most"):
        learner.learn_rows(Rows.of(X[:2]), np.array([1, -1], np.int8), np.array([1.0, 2.0]))
    assert_same(learner, before)


def test_too_many_groups_are_refused():
    X, y = rows(10, 9)
    many = np.arange(MOST_GROUPS + 1) % (MOST_GROUPS + 1)
    with pytest.raises(InvalidDataError, match="more than 1,000 different groups"):
        Grouped(WIDTH).learn_many(np.repeat(X[:1], many.size, axis=0), np.ones(many.size), many)
    learner = Grouped(WIDTH)
    learner.learn_many(X[:2], y[:2], ["a", "b"])
    with pytest.raises(InvalidParameterError, match="group='c' was not met; the groups are 'a', 'b'"):
        learner.certificate(group="c")


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda a: a | {"groups": np.array(["a", "a"])}, "holds a name twice"),
        (lambda a: a | {"groups": np.array([1, 2])}, "not a list"),
        (lambda a: a | {"groups": np.array(["a", ""])}, "without zero bytes"),
        (lambda a: a | {"groups": np.array(["a"])}, "'specialists' is float64 of shape"),
        (lambda a: a | {"specialists": a["specialists"] * 8.0}, "'specialists' holds"),
        (lambda a: a | {"specialists": np.zeros((5, RATES))}, "'specialists' holds 0"),
        (lambda a: a | {"counts": a["counts"] + 1.0}, "does not hold the rounds"),
        (lambda a: a | {"counts": a["counts"][:, ::-1].copy()}, "counts"),
        (lambda a: a | {"1.how": 1.0 - np.minimum(a["1.how"], 1.0)}, "how"),
        (lambda a: {name: array for name, array in a.items() if name != "1.seed"}, "seed"),
        (lambda a: {name: array for name, array in a.items() if not name.startswith("0.")}, "0."),
    ],
)
def test_forged_arrays_are_refused(forge, message):
    X, y = rows(40, 10)
    learner = Grouped(WIDTH)
    learner.learn_many(X, y, ["a", "b"] * 20)
    with pytest.raises((ModelFileError, InvalidDataError, KeyError), match=message):
        Grouped.from_arrays(forge(learner.arrays()))


def test_groups_of_all_kinds_of_columns():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"sex": ["f", "m", None], "age": [1, 2, 2], "flag": [True, False, True]})
    assert group_columns(table, 3).in_order() == ["sex=f", "age=1", "flag=True", "sex=m", "age=2", "flag=False"]
    assert group_columns(table["sex"], 3).in_order() == ["f", "m"]
    assert group_columns(table["age"].astype("Int64").mask([True, False, False]), 3).in_order() == ["2"]
    assert group_columns(pd.Series(["x", "y", None], dtype="category"), 3).in_order() == ["x", "y"]
    assert group_columns(np.array([1.0, np.nan, 2.5]), 3).in_order() == ["1", "2.5"]
    assert group_columns([True, 1, "1"], 3).in_order() == ["True", "1"]
    same = read_groups(["sex"], np.array([["f"], [None], ["m"]], object))
    assert same.numbered({"sex=f": 0, "sex=m": 4}).tolist() == [[0], [-1], [4]]
    assert group_text(np.float32(3)) == "3"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"], "X has 2 rows, but groups has 1"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([["a"], {"b": 1}], "dimensions|no name"),
        (["a", "b\0"], "zero bytes"),
        (["a", "b" * (LONGEST_NAME + 1)], "201 characters"),
    ],
)
def test_bad_groups_are_refused_by_a_sentence(groups, message):
    with pytest.raises(InvalidDataError, match=message):
        group_columns(groups, 2)
