"""Finite input never makes the state of a learner infinite or NaN, whatever the update, over a billion rounds.

Rows, weights, margins and intercepts come from the ends of their ranges, in random turns; seeds are fixed. A billion
rounds are forged: the sums that a learner keeps are multiplied as if what it has seen had gone on for so long.
"""

from itertools import product

import numpy as np
import pytest

from massart import load, save
from massart.kernels.door import Rows
from massart.kernels.learning import halfspace, mixture, pool
from massart.learners import drift
from massart.learners.drift import Drifting
from massart.learners.group_columns import group_columns
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool, expert_grid
from massart.learners.products import Products

ROUNDS = 400
REPEATS = 6
BILLION = 1e9
LENGTHS = (0.0, 5e-324, 1e-200, 1e-160, 1e-75, 1e-50, 1e-3, 1.0, 1e3, 1e49)
LONG = (1e100, 1e145, 1e152)  # only rows that are scaled to norm 1 may be so long
WEIGHTS = (1e-50, 1.0, 1e50)
CLASS_WEIGHTS = ((1.0, 1.0), (1e-10, 1e10))
CONSTANTS = (1e-50, 1.0, 1e49)

TOLD = {
    "ftrl": {},
    "fixed": {"horizon": 1000},
    "fixed, long": {"optimizer": "fixed", "horizon": 2.0**53},
    "adagrad-norm": {"optimizer": "adagrad-norm"},
    "paper": {"update": "paper"},
    "paper, short": {"update": "paper", "horizon": 10},
    "paper, long": {"update": "paper", "horizon": 2.0**53},
}
# What adds up over the rounds, and by which power of their number.
TOLD_SUMS = {
    **dict.fromkeys(("STEPPED", "SLACK", "WEIGHT", "WEIGHT2", "WRONG", "SCALED", "LINEAR", "SPREAD", "INVERSE"), 1),
    **dict.fromkeys(("SQUARES", "ROUNDS", "MISTAKES", "POSITIVES"), 1),
}
COLUMN_SUMS = {**dict.fromkeys(("SQUARES", "LINEAR", "SPREAD", "INVERSE", "SCALED"), 1), "NORM2": 2}
TOTAL_SUMS = ("ROUNDS", "MISTAKES", "WEIGHT", "WEIGHT2", "WRONG", "EXPECTED", "DRAWN", "VOTED", "GAP", "DRAWN_THEN")
TOTAL_SUMS += ("BEST_THEN", "DOUBT", "NEXT", "HEARD", "SPLIT", "COINS", "POSITIVES")


def rows(rng, count, width, scaled):
    """Rows of all lengths; a third of them with columns of different size, a third with zeros, some sorted by size."""
    sizes = np.array(LENGTHS + LONG if scaled else LENGTHS)
    X = rng.choice([-1.0, 1.0], (count, width)) * rng.uniform(0.5, 1.0, (count, width)) / np.sqrt(width)
    lengths = rng.choice(sizes, (count, 1))
    mixed = rng.random(count) < 1 / 3
    X *= np.where(mixed[:, None], rng.choice(sizes, (count, width)), lengths)
    X[rng.random(X.shape) < rng.choice([0.0, 0.5], (count, 1))] = 0.0
    return X if rng.random() < 0.5 else X[np.argsort(np.abs(X).max(axis=1))[:: rng.choice([-1, 1])]]


def stream(rng, width, scaled):
    X = rows(rng, ROUNDS, width, scaled)
    y = np.where(X[:, 0] * rng.choice([-1.0, 1.0]) >= 0.0, 1, -1).astype(np.int8)
    y[rng.random(ROUNDS) < rng.choice([0.0, 0.3])] *= -1
    weight = rng.choice(WEIGHTS, ROUNDS) if rng.random() < 0.5 else np.full(ROUNDS, rng.choice(WEIGHTS))
    return X, y, weight


def options(rng, scaled):
    constant = rng.choice([0.0, *CONSTANTS])
    return {
        "normalize": scaled,
        "fit_intercept": bool(constant),
        "intercept_scaling": float(constant) or 1.0,
        "class_weight": CLASS_WEIGHTS[rng.integers(2)],
    }


def check(learner):
    for name, array in learner.arrays().items():
        assert array.dtype.kind == "U" or np.isfinite(array).all(), name
    kind = type(learner)
    back = kind.from_arrays({name: array.copy() for name, array in learner.arrays().items()})
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(learner.arrays().values(), back.arrays().values(), strict=True)
    )
    for own in (learner.plain, learner.crossed) if isinstance(learner, Products) else (learner,):
        assert np.isfinite(own.columns()).all()
        assert np.isfinite(own.leaders()).all()


def prolong_told(learner):
    """As if the rounds so far had been repeated until they are a billion."""
    factor = BILLION / learner.rounds
    for name in TOLD_SUMS:
        learner._s[halfspace.State[name]] *= factor
    if learner._rule[halfspace.Rule.KIND] in (halfspace.FTRL, halfspace.FIXED):
        learner._v *= factor
        learner._s[halfspace.State.NORM2] *= factor * factor


def prolong_pool(learner):
    factor = BILLION / learner.rounds
    for name in TOTAL_SUMS:
        learner._t[mixture.Total[name]] *= factor
    learner._t[mixture.Total.RATE] /= factor
    learner._M[mixture.Member.LOSS] *= factor
    plain = slice(pool.DIAGONAL, None)
    for name, power in COLUMN_SUMS.items():
        learner._S[pool.Column[name], plain] *= factor**power
    learner._W[:, plain] *= factor
    learner._V /= factor
    if learner._F.size:
        learner._C[pool.DEVIATION] = np.minimum(1e300, learner._C[pool.DEVIATION] * factor)


def prolong(learner):
    if isinstance(learner, Products):
        for own in (learner.plain, learner.crossed):
            prolong_pool(own)
        learner._t[mixture.Total.ROUNDS] = BILLION
    elif isinstance(learner, Drifting):
        prolong_pool(learner.steady)
        periods = BILLION // learner._period
        learner.recent._t[mixture.Total.ROUNDS] += periods * learner._period
        learner._t[mixture.Total.ROUNDS] = BILLION
    else:
        (prolong_told if isinstance(learner, Halfspace) else prolong_pool)(learner)


def live(learner, rng, scaled, width):
    """A stream of extremes, a billion rounds, and another one; row by row at the end."""
    for part in range(2):
        X, y, weight = stream(rng, width, scaled)
        taken = Rows.of(X, scaled=scaled).check()
        learner.learn_rows(taken, y, weight)
        check(learner)
        if part == 0:
            prolong(learner)
            check(learner)
    for x, label in zip(X[:20], y[:20], strict=True):
        assert np.isfinite(learner.learn(x, label))
    check(learner)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("update", TOLD)
def test_one_halfspace(update, scaled):
    rng = np.random.default_rng([list(TOLD).index(update), scaled])
    for noise_rate, margin in product((0.0, 1e-17, 0.1, 0.49), (1e-50, 0.01, 1.0)):
        for _ in range(REPEATS):
            live(Halfspace(6, noise_rate, margin, **TOLD[update], **options(rng, scaled)), rng, scaled, 6)


@pytest.mark.parametrize("width", [3, pool.FEW + 1])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("horizon", [None, 1.0, 7.5, 2.0**53])
def test_pools(horizon, scaled, width):
    rng = np.random.default_rng([int(horizon or 0) % 1000, scaled, width])
    for margin in (None, 1e-50, 1.0) * REPEATS:
        own = options(rng, scaled)
        own |= {"grid": expert_grid(None, margin, fit_intercept=own["fit_intercept"]), "seed": int(rng.integers(99))}
        learner = Pool(width, **own) if horizon is None else Drifting(width, horizon, **own)
        live(learner, rng, scaled, width)


@pytest.mark.parametrize("width", [2, 11])
@pytest.mark.parametrize("scaled", [True, False])
def test_products(scaled, width):
    rng = np.random.default_rng([scaled, width])
    for _ in range(REPEATS):
        live(Products(width, **options(rng, scaled), seed=int(rng.integers(99))), rng, scaled, width)


@pytest.mark.parametrize("width", [3, pool.FEW + 1])
@pytest.mark.parametrize("scaled", [True, False])
def test_groups(scaled, width):
    rng = np.random.default_rng([scaled, width])
    learner = Grouped(width, normalize=scaled, voting=str(rng.choice(["sample", "majority"])))
    for _ in range(2 * REPEATS):
        X, y, weight = stream(rng, width, scaled)
        told = group_columns(rng.integers(0, 3, size=(len(y), 2)), len(y))
        learner.learn_rows(Rows.of(X, scaled=scaled).check(), y, weight / weight.max(), groups=told)
        check(learner)
        for name in learner.names:
            assert learner.certificate(group=name).confident_mistake_bound >= 0.0  # infinite, perhaps, but a number


@pytest.mark.parametrize("width", [3, pool.FEW + 1])
def test_rows_of_zeros_for_a_thousand_periods(width):
    """Nothing is met, nothing is raised: what is forgotten must not be divided by."""
    learner = Drifting(width, 1.0, fit_intercept=False)
    X = np.random.default_rng(0).normal(size=(100, width))
    y = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    learner.learn_many(X, y)
    for _ in range(10):
        learner.learn_many(np.zeros((2000, width)), np.ones(2000))
        check(learner)
    scores = learner.learn_many(X, y)
    check(learner)
    assert np.isfinite(scores).all()


def turning(rare, count, turn, horizon):
    """A target that turns around every 25 horizons; a column that is absent between the first rows and the last."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 4))
    y = np.where(X[:, :3].sum(axis=1) > 0, 1, -1) * np.where((np.arange(count) - turn) // (25 * horizon) % 2, -1, 1)
    y[rng.random(count) < 0.05] *= -1
    X[:, 3] = np.where(np.arange(count) < 50, rare, 0.0)
    X[turn - 4 * horizon :, 3] = rare * np.sign(X[turn - 4 * horizon :, 1])
    return X, y


def test_a_column_not_met_for_35_periods_comes_back(tmp_path):
    """Mistakes after the last turn are those of a stream without the column, but for one row in a hundred and chance.

    If n rows are got wrong by one run alone, their difference has a standard error of sqrt(n) rows: three are allowed.
    """
    horizon = 100
    count, turn = 780 * horizon, 760 * horizon
    assert turn - 4 * horizon > 36 * drift._SPAN * horizon
    wrong = []
    for rare in (0.0, 1.0):
        X, y = turning(rare, count, turn, horizon)
        learner = Drifting(4, horizon)
        wrong.append(((learner.learn_many(X, y) >= 0.0) != (y > 0))[turn:])
    check(learner)
    save(learner, tmp_path / "model")
    assert load(tmp_path / "model").rounds == count
    without, with_column = wrong
    assert with_column.sum() <= without.sum() + 0.01 * without.size + 3.0 * np.sqrt((without != with_column).sum())


def test_ever_more_projections(tmp_path):
    """The paper's steps for a horizon of 10 go on for 300,000 rounds, and the scale shrinks by 1e-1300.

    It is folded into the weights again and again; the running average stays what it is, to 33 of 53 bits per fold.
    """
    rng = np.random.default_rng(0)
    count, summed = 300_000, 40_000
    X, y = rng.normal(size=(count, 3)), rng.choice([-1, 1], count).astype(np.int8)
    learner = Halfspace(3, 0.0, 1.0, **TOLD["paper, short"])
    taken, average, total, folded = Rows.of(X).check(), learner.new_average(), np.zeros(3), 0
    for n in range(summed):
        total += learner.weights
        before = learner._s[halfspace.State.SCALE]
        learner.learn_rows(taken, y, order=np.array([n], np.uint64), average=average)
        folded += learner._s[halfspace.State.SCALE] > before
    assert folded >= 2
    np.testing.assert_allclose(learner.summed(average)[0][0, 0, :3], total, rtol=1e-6, atol=1e-5)
    learner.learn_rows(taken, y, order=np.arange(summed, count, dtype=np.uint64), average=average)
    check(learner)
    assert np.isfinite(average).all()
    save(learner, tmp_path / "model")
    assert load(tmp_path / "model").rounds == count


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("make", [lambda **own: Halfspace(2, 0.1, 0.1, **own), lambda **own: Pool(2, **own)])
def test_what_the_door_lets_pass_no_kernel_refuses(make, normalize):
    """The longest rows there may be, with the largest constant: else a batch would end half way."""
    longest = 1e154 if normalize else 1e50
    X = np.array([[longest, 0.0], [longest * 0.6, longest * 0.8], [0.0, -longest]]) * (1.0 - 1e-9)
    learner = make(normalize=normalize, intercept_scaling=1e50)
    learner.learn_rows(Rows.of(X, scaled=normalize).check(), np.array([1, -1, 1], np.int8))
    assert learner.rounds == 3
    check(learner)
