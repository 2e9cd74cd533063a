"""Learners that went on from one state become one: what adds up, what one alone keeps, what no order changes."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from massart import Halfspace
from massart.errors import InvalidParameterError
from massart.kernels.learning.halfspace import State
from massart.kernels.learning.mixture import Member, Total
from massart.kernels.learning.pool import Column
from massart.kernels.learning.recent_vote import Lead, Recent
from massart.learners import merging
from massart.learners.calibration import ScoreCalibration
from massart.learners.merging import Sample, added, check_mergeable, mixed, sums_of
from massart.learners.packed import changed, pack, unpack, updated
from massart.learners.pool import Pool
from massart.models.saving import learner_meta
from massart.options import LearnerOptions

COLUMNS, ROWS = 12, 3000


def rows(seed=0, columns=COLUMNS, count=ROWS):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, columns)) * (rng.random((count, columns)) < 0.5)
    y = np.where((X[:, 0] + X[:, 1] > 0) ^ (rng.random(count) < 0.1), 1, -1).astype(np.int8)
    return X, y


def make(kind, columns=COLUMNS):
    return Pool(columns) if kind == "experts" else Halfspace(columns, 0.2, 0.05)


def sample(X):
    X = np.asarray(X.todense()) if hasattr(X, "todense") else X
    return Sample(
        len(X), np.arange(X.shape[1], dtype=np.uint32), np.stack([X.sum(axis=0), (X * X).sum(axis=0)], axis=1)
    )


def learned(base, X, y, kind):
    """A learner that goes on from a state, packed."""
    learner = type(make(kind)).from_arrays(unpack(base))
    if len(y):
        learner.learn_many(X, y)
    return pack(learner.arrays())


def same(first, second):
    assert first.width == second.width
    assert first.numbers.tolist() == second.numbers.tolist()
    for name, table in first.tables.items():
        assert table.tobytes() == second.tables[name].tobytes(), name
    for name, array in first.small.items():
        assert array.tobytes() == second.small[name].tobytes(), name


@pytest.mark.parametrize("columns", [3, 100, (1 << 18) + 5])
@pytest.mark.parametrize("kind", ["experts", "halfspace"])
def test_a_packed_state_is_the_state(kind, columns):
    X = csr_matrix(rows(columns=3)[0])
    X.resize((ROWS, columns))
    y = rows(columns=3)[1]
    learner, whole = make(kind, columns), make(kind, columns)
    for part in (slice(0, 1000), slice(1000, ROWS)):
        learner.learn_many(X[part], y[part])
        learner = type(learner).from_arrays(unpack(pack(learner.arrays())))
    whole.learn_many(X, y)
    same(pack(learner.arrays()), pack(whole.arrays()))


@pytest.mark.parametrize("kind", ["experts", "halfspace"])
def test_a_change_leads_to_the_state(kind):
    X, y = rows()
    base = learned(pack(make(kind).arrays()), X[:500], y[:500], kind)
    after = learned(base, X[500:], y[500:], kind)
    same(updated(base, changed(base, after)), after)
    assert changed(base, base).numbers.size == 0


@pytest.mark.parametrize("kind", ["experts", "halfspace"])
def test_one_learner_is_its_own_mixture(kind):
    X, y = rows()
    base = learned(pack(make(kind).arrays()), X[:500], y[:500], kind)
    after = learned(base, X[500:], y[500:], kind)
    same(mixed(kind, base, sums_of(kind, base, changed(base, after), sample(X[500:]))), after)


@pytest.mark.parametrize("kind", ["experts", "halfspace"])
def test_counts_add_up(kind):
    X, y = rows()
    base = learned(pack(make(kind).arrays()), X[:500], y[:500], kind)
    parts = [learned(base, X[500 + k :: 3], y[500 + k :: 3], kind) for k in range(3)]
    sums = [sums_of(kind, base, changed(base, part), sample(X)) for part in parts]
    whole = mixed(kind, base, added(added(sums[0], sums[1]), sums[2]))
    learner = type(make(kind)).from_arrays(unpack(whole))
    assert learner.rounds == ROWS
    single = [type(learner).from_arrays(unpack(part)) for part in parts]
    own = type(learner).from_arrays(unpack(base))
    assert learner.mistakes == own.mistakes + sum(one.mistakes - own.mistakes for one in single)
    if kind == "experts":
        losses = own._M[Member.LOSS] + sum(one._M[Member.LOSS] - own._M[Member.LOSS] for one in single)
        np.testing.assert_allclose(learner._M[Member.LOSS], losses)
        information = 1 / own._V + sum(1 / one._V - 1 / own._V for one in single)
        np.testing.assert_allclose(1 / learner._V, information)
        np.testing.assert_allclose(learner._C[0, :-1], X.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(learner._C[1, :-1], ((X - X.mean(axis=0)) ** 2).sum(axis=0))
    assert not learner.certificate().applies


def test_the_full_matrix_is_that_of_all_rows():
    """AROW is a Kalman filter on rows with a margin below 1: with all of them its information is a sum."""
    X, y = rows(count=400)
    X = np.where(X == 0.0, 0.1, X) * 1e-3  # every column in every row; margins stay below 1
    base = learned(pack(make("experts").arrays()), X[:100], y[:100], "experts")
    parts = [learned(base, X[k::2], y[k::2], "experts") for k in (100, 101)]
    sums = [sums_of("experts", base, changed(base, part), sample(X)) for part in parts]
    both = mixed("experts", base, added(*sums)).small["full"]
    inverses = [np.linalg.inv(part.small["full"][:-1]) for part in (base, *parts)]
    np.testing.assert_allclose(np.linalg.inv(both[:-1]), inverses[1] + inverses[2] - inverses[0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["experts", "halfspace"])
def test_groups_of_shards_may_be_any(kind):
    """Sums of sums are the same up to rounding, and exactly the same in the same tree."""
    X, y = rows()
    base = learned(pack(make(kind).arrays()), X[:500], y[:500], kind)
    parts = [learned(base, X[500 + k :: 4], y[500 + k :: 4], kind) for k in range(4)]
    sums = [sums_of(kind, base, changed(base, part), sample(X)) for part in parts]
    tree = mixed(kind, base, added(added(sums[0], sums[1]), added(sums[2], sums[3])))
    chain = mixed(kind, base, added(added(added(sums[0], sums[1]), sums[2]), sums[3]))
    np.testing.assert_allclose(tree.tables["weights"], chain.tables["weights"], rtol=1e-9, atol=1e-12)
    same(tree, mixed(kind, base, added(added(sums[0], sums[1]), added(sums[2], sums[3]))))


def test_columns_that_one_shard_alone_has_keep_its_weights():
    """Of the learners with a mistake bound; the others' common direction is moved back a little."""
    X, y = rows()
    base = learned(
        pack(Halfspace(COLUMNS, 0.2, 0.05).arrays()), X[:500] * (np.arange(COLUMNS) < 6), y[:500], "halfspace"
    )
    left, right = X * (np.arange(COLUMNS) < 9), X * ((np.arange(COLUMNS) < 6) | (np.arange(COLUMNS) >= 9))
    parts = [learned(base, left, y, "halfspace"), learned(base, right, y, "halfspace")]
    sums = [sums_of("halfspace", base, changed(base, part), sample(X)) for part in parts]
    found = mixed("halfspace", base, added(*sums)).tables["weights"]
    assert found[6:9].tolist() == parts[0].tables["weights"][6:9].tolist()
    assert found[9:12].tolist() == parts[1].tables["weights"][6:9].tolist()
    np.testing.assert_allclose(found[:6], (parts[0].tables["weights"][:6] + parts[1].tables["weights"][:6]) / 2)


def test_every_number_of_a_state_has_a_rule():
    """Whoever adds one to a state must say how it is mixed."""
    derived = {Total.GAP, Total.RATE, Total.KEEP, Total.TOTAL, Total.TOTAL_THEN, Total.DRAWN_THEN, Total.BEST_THEN}
    derived |= {Total.DOUBT, Total.NEXT, Total.SPLIT, Total.PRIOR, Total.FAVOUR, Total.CHANCE, Total.TREND, Total.FIRST}
    assert {*merging._TOTAL_SUMS, *merging._TOTAL_MAXIMA} | derived == set(Total)
    given = {Column.ETA, Column.GAMMA, Column.CONSTANT}
    assert {*merging._COLUMN_SUMS, Column.CAP, Column.NORM2, Column.SCALE, Column.SQUARES} | given == set(Column)
    other = {State.SCALE, State.NORM2, State.SQUARES, State.FIRST, State.STEP, State.FLOOR}
    assert {*merging._STATE_SUMS, *merging._STATE_MAXIMA} | other == set(State)
    names = {*pack(Pool(3).arrays()).small, *pack(Pool(3).arrays()).tables}
    few = {"full", "centred", *merging._RECENT}
    assert names == {"how", "weights", "variances", "columns", "members", "totals", "seed"} | few
    assert {Recent.VOICE, Recent.LOSS, Recent.THEN, Recent.SUM, Recent.POWER} == set(Recent)
    assert {Lead.FOLLOWED, Lead.AHEAD, Lead.SPLIT, Lead.WEIGHT, Lead.WEIGHT_THEN, Lead.TOTAL} == set(Lead)


def test_finite_rows_of_any_size_keep_the_mixture_finite():
    X, y = rows(count=600)
    X = X * np.logspace(-60, 60, COLUMNS)
    base = learned(pack(make("experts").arrays()), X[:200], y[:200], "experts")
    parts = [learned(base, X[k::2], y[k::2], "experts") for k in (200, 201)]
    sums = [sums_of("experts", base, changed(base, part), sample(X)) for part in parts]
    Pool.from_arrays(unpack(mixed("experts", base, added(*sums))))  # which refuses what is not finite


@pytest.mark.parametrize(
    ("options", "words"), [({"update": "paper"}, "update='paper'"), ({"optimizer": "adagrad-norm"}, "adagrad-norm")]
)
def test_halfspaces_without_a_sum_of_gradients_are_refused(options, words):
    learner = Halfspace(3, 0.2, 0.05, **options)
    with pytest.raises(InvalidParameterError, match=words):
        check_mergeable(*learner_meta(learner))


@pytest.mark.parametrize(
    ("kind", "words"),
    [("drifting", "horizon"), ("products", "products"), ("groups", "groups"), ("classes", "two classes")],
)
def test_other_kinds_are_refused(kind, words):
    with pytest.raises(InvalidParameterError, match=words):
        check_mergeable(kind, {})


def test_without_a_constant_there_is_none_after_mixing():
    X, y = rows()
    options = LearnerOptions(fit_intercept=False)
    base = pack(Pool(COLUMNS, options).arrays())
    parts = [learned(base, X[k::2], y[k::2], "experts") for k in range(2)]
    sums = [sums_of("experts", base, changed(base, part), sample(X)) for part in parts]
    assert not mixed("experts", base, added(*sums)).tables["weights"][-1].any()


def test_calibrations_of_two_halves_are_as_good_as_one():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    labels = np.where(rng.random(4000) < 0.05 + 0.9 / (1 + np.exp(-3 * scores)), 1, -1).astype(np.int8)
    whole, base, halves = ScoreCalibration(), ScoreCalibration(), []
    whole.learn(scores, labels)
    base.learn(scores[:400], labels[:400])
    for k in (400, 401):
        half = ScoreCalibration.from_arrays({name: array.copy() for name, array in base.arrays().items()})
        half.learn(scores[k::2], labels[k::2])
        halves.append(half.change_since(base))
    found = base.with_change(halves[0].added(halves[1])).probabilities(scores)[:, 1]
    truth = 0.05 + 0.9 / (1 + np.exp(-3 * scores))
    alone = np.abs(whole.probabilities(scores)[:, 1] - truth).mean()
    assert np.abs(found - truth).mean() < 2 * alone + 0.01
    nothing = base.with_change(base.change_since(base))
    assert all(array.tobytes() == nothing.arrays()[name].tobytes() for name, array in base.arrays().items())
