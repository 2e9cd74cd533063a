"""A pool of experts: rows in any form, its members as if alone, the vote, the coins, and what it says it believes."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import AdaHedge

from massart import Halfspace, MassartClassifier, theory
from massart.errors import InvalidParameterError, ModelFileError
from massart.kernels.door import Rows
from massart.kernels.learning import mixture
from massart.kernels.learning.pool import DIAGONAL, FEW
from massart.learners.pool import FINE_MARGINS, FINE_NOISE_RATES, MOST_EXPERTS, NOISE_RATES, Pool, expert_grid


def stream(n=600, d=8, noise=0.2, seed=0):
    """Rows in a ball; labels lie with probability `noise` on one side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X[:, 0] > 0, 1, -1) * np.where(rng.random(n) < noise * (X[:, 1] > 0), -1, 1)


def _wide(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMS = {
    "csr": sp.csr_matrix,
    "csr of 64-bit indices": lambda X: _wide(sp.csr_matrix(X)),
    "csc": sp.csc_matrix,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "float32, csr": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("width", [8, FEW, FEW + 1])
@pytest.mark.parametrize(
    "parameters", [{}, {"voting": "majority"}, {"horizon": 40}, {"fit_intercept": False, "normalize": False}]
)
def test_the_form_of_rows_does_not_matter(parameters, width, classes):
    """Bit for bit: dense or sparse, in one call or row by row. Values are those of single precision, some zero."""
    X, y = stream(d=width)
    X = np.where(np.abs(X) < 0.05, 0.0, X).astype(np.float32).astype(np.float64)
    y = (y > 0).astype(int) + (X[:, 1] > 0.1) * (classes == 3)
    parameters = {**parameters, "random_state": 1}
    whole = MassartClassifier(**parameters).partial_fit(X, y, classes=range(classes))
    others = {name: MassartClassifier(**parameters) for name in [*FORMS, "pieces", "row at a time"]}
    for name, form in FORMS.items():
        others[name].partial_fit(form(X), y, classes=range(classes))
    for at in np.split(np.arange(600), [1, 2, 333, 599]):
        others["pieces"].partial_fit(X[at], y[at], classes=range(classes))
    for i in range(600):
        others["row at a time"].partial_fit(X[i : i + 1], y[i : i + 1], classes=range(classes))
    for name, other in others.items():
        if hasattr(whole, "coef_"):
            assert np.array_equal(whole.coef_, other.coef_), name
            assert np.array_equal(whole.intercept_, other.intercept_), name
        assert np.array_equal(whole.predict_proba(X), other.predict_proba(X)), name
        assert (whole.rounds_, whole.mistakes_) == (other.rounds_, other.mistakes_), name
        assert whole.certificate() == other.certificate(), name


@pytest.mark.parametrize("width", [8, FEW + 1])
@pytest.mark.parametrize("parameters", [{}, {"voting": "majority"}, {"horizon": 100}])
def test_the_unit_of_rows_does_not_matter(parameters, width):
    """All experts scale for themselves: by a power of two, which is exact, weights change by its inverse alone.

    Mistakes may differ by those of the first few rounds, when the vote does not know the size of scores yet.
    """
    X, y = stream(1500, d=width)
    fits = [
        MassartClassifier(**parameters, fit_intercept=False, random_state=0).partial_fit(unit * X, y, classes=[-1, 1])
        for unit in (1.0, 2.0**-100, 2.0**100)
    ]
    for other, unit in zip(fits[1:], (2.0**-100, 2.0**100), strict=True):
        assert np.array_equal(fits[0].coef_, other.coef_ * unit)
        if parameters.get("voting") == "majority":  # with draws, the shares differ from then on
            assert abs(fits[0].mistakes_ - other.mistakes_) <= 3
        assert fits[0].noise_rate_ == other.noise_rate_


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"normalize": False}, {"intercept_scaling": 3.0}])
@pytest.mark.parametrize("width", [8, FEW + 1])
def test_experts_with_a_bound_are_halfspaces_that_learn_alone(width, options):
    """Their weights, and their mistakes, weighted or not, are those of `Halfspace` (40 rounds: rounding grows)."""
    X, y = stream(40, d=width)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=40)
    pool = Pool(width, **options)
    pool.learn_rows(Rows.of(X), y.astype(np.int8), weight)
    grid = expert_grid(fit_intercept=options.get("fit_intercept", True))
    assert len(grid) == 8
    for k, (noise_rate, margin, constant) in enumerate(grid):
        alone = Halfspace(width, noise_rate, margin, **{**options, "fit_intercept": constant})
        alone.learn_many(X, y, weight)
        np.testing.assert_allclose(pool.columns()[0, DIAGONAL + k], alone.columns()[0, 0], rtol=0, atol=1e-9)
        assert pool._M[mixture.Member.LOSS, DIAGONAL + k] == pytest.approx(alone.certificate().mistakes, rel=1e-12)


@pytest.mark.parametrize("width", [8, FEW + 1])
def test_averages_are_means_of_the_weights_before_each_round(width):
    X, y = stream(200, d=width)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=200)
    pool, alone = Pool(width), Pool(width)
    average = pool.new_average()
    pool.learn_rows(Rows.of(X), y.astype(np.int8), weight, average=average)
    count = DIAGONAL + len(expert_grid())
    total = np.zeros((count, width + 1))
    for i in range(200):
        before = alone.columns()[0, :count]
        one = Rows.of(X[i : i + 1])
        alone.learn_rows(one, y[i : i + 1].astype(np.int8), weight[i : i + 1])
        total += weight[i] * before
    summed, weights = pool.summed(average)
    assert weights == pytest.approx(weight.sum())
    # A row heavier than any before lowers a plain expert's scale before it answers: hence the second tolerance.
    np.testing.assert_allclose(summed[0, :DIAGONAL], total[:DIAGONAL], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(summed[0], total, rtol=0.05, atol=0.02 * np.abs(total).max())


@pytest.mark.parametrize("width", [8, FEW + 1])
def test_shares_are_those_of_adahedge(width):
    """AdaHedge of the oracle with every expert's losses: its draws lose what DRAWN says, up to a lazier rate."""
    X, y = stream(3000, d=width, noise=0.4)
    pool = Pool(width, seed=3)
    count = pool._M.shape[1]
    assert count == (MOST_EXPERTS if width <= FEW else MOST_EXPERTS - 4)
    hedge, drawn, before = AdaHedge(count), 0.0, np.zeros(count)
    for x, label in zip(X, y, strict=True):
        pool.learn(x, label)
        losses = pool._M[mixture.Member.LOSS] - before
        before = pool._M[mixture.Member.LOSS].copy()
        drawn += hedge.round(losses) @ losses
    best = before.min()
    assert pool._t[mixture.Total.DRAWN] - best <= theory.adahedge_price(count, 3000, best, laziness=17 / 16)
    assert pool._t[mixture.Total.DRAWN] == pytest.approx(drawn, abs=0.1 * (drawn - best) + 1)
    order = list(pool.shares().values())
    assert order == sorted(order, reverse=True)
    assert sum(order) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("width", [3, FEW + 1])
@pytest.mark.parametrize(
    "options",
    [{}, {"fit_intercept": False, "normalize": False}, {"intercept_scaling": 30.0}, {"class_weight": (1.0, 3.0)}],
)
def test_majority_answers_what_predict_says(width, options):
    """The vote is one halfspace: `predict` before a round is its answer in the round, and no coin changes it."""
    X, y = stream(500, d=width, noise=0.4)
    X = (X + np.arange(width)) * np.logspace(-2, 2, width)  # means and units for the centred experts to find out
    X /= 1.0 if options.get("normalize", True) else np.linalg.norm(X, axis=1).max()
    pools = [Pool(width, voting="majority", seed=seed, **options) for seed in (0, 1)]
    mistakes = 0
    for x, label in zip(X, y, strict=True):
        expected = [pool.score(x) for pool in pools]
        answers = [pool.predict(x) for pool in pools]
        given = [pool.learn(x, label) for pool in pools]
        assert given == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert [1 if score >= 0 else -1 for score in given] == answers
        mistakes += answers[0] != label
    for pool in pools:
        assert pool.mistakes == mistakes
        assert pool._t[mixture.Total.WRONG] == pool._t[mixture.Total.EXPECTED] == pool._t[mixture.Total.VOTED]
        assert (pool._t[mixture.Total.WRONG] == mistakes) == ("class_weight" not in options)
    assert np.array_equal(pools[0]._W, pools[1]._W)
    assert np.array_equal(pools[0].leaders(), pools[1].leaders())


def test_random_state_matters_for_coins_alone():
    """Online there is no chance in the experts; "majority" has none at all."""
    X = stream(2000)[0]
    y = np.random.default_rng(0).choice([-1, 1], size=2000)  # where nothing can be learned, coins are tossed most
    online = {
        (voting, seed): MassartClassifier(voting=voting, random_state=seed).partial_fit(X, y, classes=[-1, 1])
        for voting in ("sample", "majority")
        for seed in (0, 1)
    }
    assert online["majority", 0].mistakes_ == online["majority", 1].mistakes_
    assert online["sample", 0].mistakes_ != online["sample", 1].mistakes_
    again = MassartClassifier(random_state=1).partial_fit(X, y, classes=[-1, 1])
    assert again.mistakes_ == online["sample", 1].mistakes_
    for model in online.values():
        assert np.array_equal(model.coef_, online["majority", 0].coef_)


def test_coins_are_fair():
    """Mistakes over 100 seeds of one stream have the mean EXPECTED: it does not depend on the coins.

    The standard deviation of one run's mistakes is at most sqrt(T) / 2; z = 4 of the mean of 100.
    """
    X, y = stream(400, d=4, noise=0.5, seed=1)
    pools = [Pool(4, seed=seed) for seed in range(100)]
    for pool in pools:
        pool.learn_many(X, y)
    expected = {float(pool._t[mixture.Total.EXPECTED]) for pool in pools}
    assert len(expected) == 1
    mistakes = np.array([pool.mistakes for pool in pools])
    assert mistakes.std() > 0
    assert abs(mistakes.mean() - expected.pop()) <= 4 * np.sqrt(400) / 2 / np.sqrt(100)


def test_names_and_shares():
    """Few features bring seven more experts; every expert has a name, and all shares together are 1."""
    X, y = stream(500)
    for width, conventional in ((8, 12), (FEW + 1, 5)):
        pool = Pool(width)
        pool.learn_many(X if width == 8 else np.hstack([X, np.zeros((500, width - 8))]), y)
        shares = pool.shares()
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
        assert sum(name.startswith("bounded, noise ") for name in shares) == 8
        assert sum(name.endswith(", no constant") for name in shares) == 4
        assert len(shares) == 8 + conventional
        bare = Pool(width, fit_intercept=False).shares()
        assert len(bare) == len(shares)
        assert not any(name.endswith("constant") for name in bare), "where nobody has it, nobody is told apart by it"
    both = Pool(8, grid=[(0.1, 0.05, True), (0.1, 0.05, False)]).shares()
    assert set(both) >= {"AROW", "bounded, noise 0.1, margin 0.05", "bounded, noise 0.1, margin 0.05, no constant"}


def test_the_grid_tries_what_is_not_known_with_the_constant_and_without():
    """A target through the origin keeps its margin without the constant, however short rows are."""
    grid = expert_grid()
    assert [own for own in grid if own[2]] == [(rate, 1 / 16, True) for rate in NOISE_RATES]
    assert [own for own in grid if not own[2]] == [(rate, 1 / 128, False) for rate in NOISE_RATES]
    assert not any(constant for *_, constant in expert_grid(fit_intercept=False))
    for constant in (True, False):
        own = [pair for pair in expert_grid(0.13) if pair[2] == constant]
        assert [rate for rate, *_ in own] == [0.13] * 4
        assert [margin for _, margin, _ in own] == list(FINE_MARGINS[1::2])
        assert [pair for pair in expert_grid(margin=0.07) if pair[2] == constant] == [
            (rate, 0.07, constant) for rate in NOISE_RATES
        ]
    assert expert_grid(0.13, fit_intercept=False) == [(0.13, margin, False) for margin in FINE_MARGINS]
    assert expert_grid(margin=0.07, fit_intercept=False) == [(rate, 0.07, False) for rate in FINE_NOISE_RATES]


def test_experts_without_the_constant_do_not_care_for_it():
    """Short rows, 1/1000 long: with the constant hardly anything is left of the margin, without it nothing changes."""
    X, y = stream(3000)
    short = X / 1000.0
    pool = Pool(8, grid=[(0.2, 1 / 16, True), (0.2, 1 / 16, False)])
    pool.learn_many(short, y)
    long = Pool(8, grid=[(0.2, 1 / 16, False)], fit_intercept=False)
    long.learn_many(X, y)
    with_it, without = pool._M[mixture.Member.LOSS, DIAGONAL : DIAGONAL + 2]
    assert without == pytest.approx(long._M[mixture.Member.LOSS, DIAGONAL], abs=3)  # rounding
    assert with_it > 2 * without
    assert not pool.columns()[0, DIAGONAL + 1, -1]
    assert pool.columns()[0, DIAGONAL, -1]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"grid": ()}, "grid has 0 experts: a pool holds 1 to 8"),
        ({"grid": [(0.1, 0.1, True)] * 9}, "grid has 9 experts"),
        ({"grid": [(0.5, 0.1, True)]}, "noise_rate"),
        ({"grid": [(0.1, 0.0, True)]}, "margin"),
        ({"grid": [(0.1, 0.1, True), (0.1, 1.5, False)]}, "margin"),
        ({"intercept_scaling": 0.0}, "intercept_scaling=0.0: give the value of the constant coordinate"),
        ({"intercept_scaling": float("nan")}, "intercept_scaling=nan"),
        ({"intercept_scaling": float("inf")}, "intercept_scaling=inf"),
        ({"intercept_scaling": -1.0}, "intercept_scaling=-1.0"),
        ({"voting": "sampled"}, "voting='sampled': choose one of"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(options, refused):
    with pytest.raises(InvalidParameterError, match=refused):
        Pool(3, **options)


def test_a_row_that_is_not_sound_leaves_the_pool_as_it_was():
    X, y = stream(50)
    for bad in (np.nan, np.inf):
        pool = Pool(8)
        pool.learn_many(X, y)
        before = {name: array.copy() for name, array in pool.arrays().items()}
        broken = X.copy()
        broken[30, 2] = bad
        with pytest.raises(ValueError, match="row 30, column 2"):
            pool.learn_many(broken, y)
        assert all(np.array_equal(array, before[name]) for name, array in pool.arrays().items())


def test_a_copy_is_independent_and_the_same():
    X, y = stream()
    pool = Pool(8, seed=4)
    pool.learn_many(X[:300], y[:300])
    twin = pool.copy()
    assert np.array_equal(pool.learn_many(X[300:], y[300:]), twin.learn_many(X[300:], y[300:]))
    assert pool.rounds == twin.rounds == 600
    arrays = pool.arrays()
    with pytest.raises(ModelFileError, match="one per expert"):
        Pool.from_arrays({**arrays, "members": np.zeros((len(mixture.Member), 30))})
