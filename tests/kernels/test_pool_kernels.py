"""The pool's kernel follows the oracle round by round, and gives the same bits for the same rows in every form."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Pool as OraclePool

from massart.errors import InvalidDataError
from massart.kernels.door import Rows
from massart.kernels.learning import halfspace, mixture
from massart.kernels.learning import pool as kernel
from massart.learners.halfspace import Halfspace, initial_state
from massart.learners.pool import Pool

RATES, MARGINS = (0.05, 0.3), (1 / 2, 1 / 8)  # large margins: rounding grows slowly
GRID = [(rate, margin, constant) for constant in (True, False) for rate in RATES for margin in MARGINS]
CONSTANT, HOMOGENEOUS = [own for own in GRID if own[2]], [own for own in GRID if not own[2]]
PLAIN = slice(kernel.DIAGONAL, kernel.DIAGONAL + len(GRID))
DRIFT = 1e-9  # NumPy adds in another order than the kernel; a few hundred rounds amplify that by about 1e5
TOTALS = ["ROUNDS", "MISTAKES", "WEIGHT", "WEIGHT2", "HEAVIEST", "WRONG", "EXPECTED", "DRAWN", "VOTED", "GAP", "RATE"]
TOTALS += ["TOTAL_THEN", "DRAWN_THEN", "BEST_THEN", "NEXT", "HEARD", "SPLIT", "PRIOR", "FAVOUR", "CHANCE"]
TOTALS += ["COINS", "FIRST", "POSITIVES"]


def stream(seed, rows, width, density=0.6, weighted=True):
    """Rows with zeros and columns of different size, noisy labels of a halfspace in bursts, weights often 1.

    No score of it comes within rounding of 0 unless it is exactly 0.
    """
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, width)) + 0.3) * (rng.random((rows, width)) < density)
    w = rng.normal(size=width)
    y = np.where(X @ w + 0.4 >= 0, 1.0, -1.0)
    X += 0.3 * np.outer(y, np.sign(w)) * (X != 0)
    y[rng.random(rows) < 0.15] *= -1
    y[rows // 2 : rows // 2 + 40] = -1.0
    X *= 10.0 ** rng.uniform(-1, 1, size=width)
    c = np.where(rng.random(rows) < 0.6, 1.0, 10.0 ** rng.uniform(-1, 1, size=rows))
    return X, y, c if weighted else np.ones(rows)


def learn(pool, X, y, c, average=None):
    """The scores of the answers."""
    scores = np.empty(len(y))
    rows = X if isinstance(X, Rows) else Rows.of(X, scaled=bool(pool._how[kernel.Setting.UNIT]))
    kept = {} if average is None else {"average": average}
    pool.learn_rows(rows, np.asarray(y).astype(np.int8), np.asarray(c, float), scores=scores, **kept)
    return scores


def relative(a, b):
    return np.max(np.abs(np.asarray(a) - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1e-300)


def compare(pool, oracle):
    """Names of all that differs between a pool and the oracle."""
    m, plain = oracle.mixture, oracle.plain
    pairs = {
        "diagonal": (pool._W[:, : kernel.DIAGONAL], oracle.diagonal),
        "plain": (pool._W[:, PLAIN], np.array([e.theta for e in plain]).T),
        "V": (pool._V, oracle.V),
        "CAP": (pool._S[kernel.Column.CAP, PLAIN], [e.G for e in plain]),
        "SQUARES": (pool._S[kernel.Column.SQUARES, PLAIN], [e.S for e in plain]),
        "NORM2": (pool._S[kernel.Column.NORM2, PLAIN], [e.theta @ e.theta for e in plain]),
        "SCALE": (pool._S[kernel.Column.SCALE, PLAIN], [oracle.scale(e) for e in plain]),
        "SCALED": (pool._S[kernel.Column.SCALED, : PLAIN.stop], oracle.scaled),
        "regret": (
            pool._S[kernel.Column.LINEAR, PLAIN] + np.sqrt(pool._S[kernel.Column.NORM2, PLAIN]),
            [e.path.regret for e in plain],
        ),
        "LOSS": (pool._M[mixture.Member.LOSS], m.loss),
        "SHARE": (pool._M[mixture.Member.SHARE], m.shares()),
        "VOICE": (pool._M[mixture.Member.VOICE], m.shares() / m.size),
        "POWER": (pool._M[mixture.Member.POWER], m.power),
        "TOTAL": (pool._t[mixture.Total.TOTAL], m.shares().sum()),
        "KEEP": (pool._t[mixture.Total.KEEP], np.exp(-m.rate) if m.gap > 0 else 0.0),
        "LONGEST2": (pool._t[mixture.Total.LONGEST2], oracle.longest2),
        "DOUBT": (pool._t[mixture.Total.GAP] + pool._t[mixture.Total.DOUBT], m.gap + m.doubt),  # their difference
        "TREND": (pool._t[mixture.Total.TREND], oracle.trend),
        "TIGHT": (pool._t[mixture.Total.TIGHT], oracle.tight),
    }
    pairs |= {name: (pool._t[mixture.Total[name]], getattr(m, name.lower())) for name in TOTALS}
    eta, gamma = pool._S[kernel.Column.ETA, PLAIN], pool._S[kernel.Column.GAMMA, PLAIN]
    for name, factor in (("LINEAR", 1.0), ("SPREAD", eta * (1.0 - eta)), ("INVERSE", gamma)):
        pairs[name] = (factor * pool._S[kernel.Column[name], PLAIN], [getattr(e.path, name.lower()) for e in plain])
    if oracle.few:
        pairs |= {
            "F": (pool._F, np.vstack([oracle.F, oracle.full])),
            "MEAN": (pool._C[kernel.MEAN, :-1], oracle.mean),
            "DEVIATION": (pool._C[kernel.DEVIATION, :-1], oracle.spread),
            "centred": (pool._C[2:], oracle.centred),
        }
    return [name for name, (found, expected) in pairs.items() if not relative(found, expected) <= DRIFT]


@pytest.mark.parametrize("voting", ["sample", "majority"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("width", "rows"), [(5, 150), (70, 200)])
@pytest.mark.parametrize("weighted", [True, False])
def test_kernel_follows_the_oracle_round_by_round(width, rows, intercept, normalize, voting, weighted):
    X, y, c = stream(8 if width == 5 else 70, rows, width, density=0.6 if width < 10 else 0.1, weighted=weighted)
    told = {"fit_intercept": intercept, "normalize": normalize, "voting": voting, "seed": 7}
    follow(X, y, c, told)


@pytest.mark.parametrize("voting", ["sample", "majority"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("classes", [(1.0, 4.0), (2.0, 0.25)])
@pytest.mark.parametrize(("scaling", "size"), [(0.25, 1.0), (4.0, 16.0)])
@pytest.mark.parametrize(("width", "rows"), [(5, 150), (70, 200)])
def test_kernel_follows_the_oracle_with_class_weights_and_another_constant(
    width, rows, scaling, size, classes, normalize, voting
):
    X, y, c = stream(8 if width == 5 else 70, rows, width, density=0.6 if width < 10 else 0.1)
    X *= size
    told = {"intercept_scaling": scaling, "class_weight": classes, "normalize": normalize, "voting": voting, "seed": 7}
    follow(X, y, c, told)


def follow(X, y, c, told):
    """A pool and the oracle learn the same rows; all that they remember agrees after each of them."""
    rows, width = X.shape
    pool = Pool(width, grid=GRID, **told)
    oracle = OraclePool(
        width,
        GRID,
        normalize=told["normalize"],
        intercept=told.get("intercept_scaling", 1.0) * told.get("fit_intercept", True),
        sample=told["voting"] == "sample",
        seed=7,
        few=width <= 64,
        classes=told.get("class_weight", (1.0, 1.0)),
    )
    average = pool.new_average()
    for t in range(rows):
        score = learn(pool, X[t : t + 1], y[t : t + 1], c[t : t + 1], average)[0]
        expected = oracle.round(X[t], y[t], c[t])
        assert abs(score - expected) <= DRIFT * max(1.0, abs(expected)), f"round {t}"
        assert compare(pool, oracle) == [], f"round {t}"
    summed = oracle.summed.copy()
    summed[-1] *= oracle.bias  # an intercept is the weight of the constant times its value
    assert relative(pool.summed(average)[0][0].T, summed) <= DRIFT
    assert pool.mistakes < 0.48 * rows  # something was learned, so the comparison means something
    assert oracle.mixture.gap > 0


def test_full_matrix_is_updated_every_sixteenth_time_after_two_thousand():
    """Labels by chance, so that nearly every row has a margin below 1."""
    rng = np.random.default_rng(1)
    rows, checks = 2400, {1, 1999, 2000, 2001, 2015, 2016, 2017, 2032, 2400}
    X, y = rng.normal(size=(rows, 2)), rng.choice([-1.0, 1.0], size=rows)
    pool, oracle = Pool(2, grid=GRID), OraclePool(2, GRID)
    updates = 0
    for t in range(rows):
        before = pool._F.copy()
        learn(pool, X[t : t + 1], y[t : t + 1], np.ones(1))
        oracle.round(X[t], y[t])
        updates += not np.array_equal(before, pool._F)
        assert pool._t[mixture.Total.TIGHT] == oracle.tight
        if oracle.tight in checks:
            assert relative(pool._F, np.vstack([oracle.F, oracle.full])) <= 1e-6, f"round {t}"
    assert oracle.tight > 2050
    assert updates == 2000 + oracle.tight // 16 - 2000 // 16


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("grid", ["constant", "homogeneous", "both"])
@pytest.mark.parametrize("told", [{}, {"intercept_scaling": 0.25}, {"class_weight": (1.0, 4.0)}], ids=str)
@pytest.mark.parametrize("width", [1, 2, 6, 90])
def test_plain_columns_are_halfspaces(width, told, grid, normalize, weighted):
    """The same FTRL, the same sums for the certificate: with the constant or without, weights of rows and of labels."""
    grid = {"constant": CONSTANT, "homogeneous": HOMOGENEOUS, "both": GRID}[grid]
    X, y, c = stream(11, 100, width, weighted=weighted)
    pool = Pool(width, grid=grid, normalize=normalize, **told)
    average = pool.new_average()
    learn(pool, X, y, c, average)
    summed, weight = pool.summed(average)
    classes = told.get("class_weight", (1.0, 1.0))
    for k, (rate, margin, constant) in enumerate(grid, start=kernel.DIAGONAL):
        single = Halfspace(width, rate, margin, normalize=normalize, fit_intercept=constant, **told)
        single._rule[halfspace.Rule.ETA] = rate  # that of weighted mistakes, as in the pool
        single._s[: len(halfspace.State)] = initial_state(single._rule)
        own, scores = single.new_average(), np.empty(len(y))
        single.learn_rows(Rows.of(X), y.astype(np.int8), c, None, own, scores)
        assert relative(pool._W[:, k], single._v) <= DRIFT
        assert relative(pool.columns()[0, k], single.columns()[0, 0]) <= DRIFT
        assert relative(summed[0, k] / weight, single.summed(own)[0][0, 0] / weight) <= DRIFT
        cost = c * np.where(y > 0, classes[1], classes[0])
        assert pool._M[mixture.Member.LOSS, k] == pytest.approx(cost @ ((scores >= 0) != (y > 0)), rel=1e-12)
        for name in ("LINEAR", "INVERSE", "NORM2", "SQUARES", "CAP"):
            found, expected = pool._S[kernel.Column[name], k], single._s[halfspace.State[name]]
            found *= margin if name == "INVERSE" else 1.0
            assert found == pytest.approx(expected, rel=DRIFT, abs=DRIFT), name
        empty = normalize and not constant and not (X != 0).any(axis=1).all()  # a row of zeros has no length
        found, expected = rate * (1 - rate) * pool._S[kernel.Column.SPREAD, k], single._s[halfspace.State.SPREAD]
        assert found <= expected * (1 + DRIFT)
        assert empty or found == pytest.approx(expected, rel=DRIFT)


def bits(pool):
    """All that a pool remembers."""
    return {name: array.tobytes() for name, array in pool.arrays().items()}


def forms(X):
    """The same rows in every form a user may have them in; CSR also with its zeros spelled out, and int64."""
    wide, spelled = sp.csr_matrix(X), sp.csr_matrix(np.ones_like(X))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    spelled.data[:] = X.ravel()
    strided = np.zeros((X.shape[0], 2 * X.shape[1]))
    strided[:, ::2] = X
    return {
        "C": X,
        "Fortran": np.asfortranarray(X),
        "strided": strided[:, ::2],
        "csr": sp.csr_matrix(X),
        "csr int64": wide,
        "csr_array": sp.csr_array(X),
        "csr with zeros": spelled,
        "float32": X.astype(np.float32),
        "csr float32": sp.csr_matrix(X.astype(np.float32)),
    }


@st.composite
def batches(draw):
    """Few rows of few features, many zeros, all of them numbers that float32 holds; all-zero rows among them."""
    width = draw(st.sampled_from([1, 2, 3, 9, 64, 65, 80]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, density = draw(st.integers(1, 40)), draw(st.sampled_from([0.03, 0.3, 1.0]))
    X = rng.normal(size=(rows, width)).astype(np.float32).astype(np.float64) * (rng.random((rows, width)) < density)
    X[rng.random(rows) < 0.1] = 0.0
    return X, rng.choice([-1.0, 1.0], size=rows), rng.choice([0.5, 1.0, 2.7], size=rows)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(batches(), st.booleans(), st.booleans(), st.booleans())
def test_the_same_rows_in_any_form_give_the_same_bits(batch, intercept, normalize, weighted):
    X, y, c = batch
    c = c if weighted else np.ones_like(c)
    told = {"grid": GRID, "fit_intercept": intercept, "normalize": normalize}
    one = Pool(X.shape[1], **told)
    average = one.new_average()
    scores = np.concatenate([learn(one, X[t : t + 1], y[t : t + 1], c[t : t + 1], average) for t in range(len(y))])
    for name, form in forms(X).items():
        many = Pool(X.shape[1], **told)
        own = many.new_average()
        assert np.array_equal(learn(many, form, y, c, own), scores), name
        assert bits(many) == bits(one), name
        assert np.array_equal(own, average), name
    if not weighted:
        many = Pool(X.shape[1], **told)
        many.learn_many(X, y)
        assert bits(many) == bits(one)


@pytest.mark.parametrize("width", [9, 70])
def test_rows_of_any_number_of_non_zeros(width):
    """Features are taken four at a time, then the rest; a row of n non-zeros, n = 0 to 9, in a row of zeros."""
    rng = np.random.default_rng(5)
    X = np.zeros((300, width))
    for t in range(300):
        X[t, rng.choice(width, size=t % 10, replace=False)] = rng.normal(size=t % 10)
    y = rng.choice([-1.0, 1.0], size=300)
    dense, sparse, oracle = Pool(width), Pool(width), Pool(width)
    assert np.array_equal(learn(dense, X, y, np.ones(300)), learn(sparse, sp.csr_matrix(X), y, np.ones(300)))
    assert bits(dense) == bits(sparse)
    order = np.arange(300, dtype=np.uint64)[::-1].copy()
    oracle.learn_rows(Rows.of(X), y.astype(np.int8), order=order)
    for form in (sp.csr_matrix(X), np.asfortranarray(X)):
        other = Pool(width)
        other.learn_rows(Rows.of(form), y.astype(np.int8), order=order)
        assert bits(other) == bits(oracle)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("width", [4, 70])
def test_a_row_that_is_not_sound_changes_nothing(bad, width):
    X, y, c = stream(3, 60, width)
    for form in (np.ascontiguousarray, np.asfortranarray):
        pool = Pool(width)
        learn(pool, form(X[:50]), y[:50], c[:50])
        before, average = bits(pool), pool.new_average()
        spoiled = X[50:].copy()
        spoiled[6, 2] = bad
        every = np.arange(width, dtype=np.uint32)
        batch = (4, np.arange(6, 10, dtype=np.uint64), y[50:].astype(np.int8), c[50:])
        rows = (np.ascontiguousarray(spoiled).reshape(-1), every, every[:0])
        answers = np.full(10, 7.0)
        assert pool._learn_part(rows, batch, average, answers) == 0
        assert bits(pool) == before
        assert not average.any()
        assert (answers == 7.0).all()
        with pytest.raises(InvalidDataError, match="row 6"):
            learn(pool, form(spoiled), y[50:], c[50:], average)
        assert bits(pool) == before
        assert not average.any()
        learn(pool, form(X[50:]), y[50:], c[50:])
        untroubled = Pool(width)
        learn(untroubled, X, y, c)
        assert bits(pool) == bits(untroubled)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("normalize", "place"), [(True, 22), (False, 5)])
def test_the_kernel_returns_the_place_of_the_first_row_that_is_not_sound(normalize, place, sparse):
    """Rows 7 and 3 never are; row 24 is too long to be learned as it is. They come from the last to the first."""
    X, y, c = stream(4, 30, 5)
    X[7, 1], X[3, 1], X[24, 1] = np.nan, np.inf, 1e60
    csr, every = sp.csr_matrix(X), np.arange(5, dtype=np.uint32)
    rows = (X.reshape(-1), every, every[:0])
    if sparse:
        rows = (csr.data, csr.indices.astype(np.uint32), csr.indptr.astype(np.uint32))
    pool, answers = Pool(5, normalize=normalize), np.empty(30)
    batch = (30, np.arange(29, -1, -1, dtype=np.uint64), y.astype(np.int8), c)
    assert pool._learn_part(rows, batch, np.empty((0, 0)), answers) == place
    assert pool.rounds == place, "the rounds before it have been learned"


@pytest.mark.parametrize(("intercept", "scaling"), [(True, 1.0), (False, 1.0), (True, 2.0**-9), (True, 2.0**9)])
@pytest.mark.parametrize("width", [6, 70])
def test_experts_that_scale_features_do_not_care_for_their_scale(width, intercept, scaling):
    """Columns and the constant times powers of two: every product is exact, so these experts' weights are the same
    bits, divided."""
    X, y, c = stream(8, 400, width)
    factor = 2.0 ** np.random.default_rng(9).integers(-40, 41, size=width)
    plain = Pool(width, fit_intercept=intercept)
    scaled = Pool(width, fit_intercept=intercept, intercept_scaling=scaling)
    learn(plain, X, y, c)
    learn(scaled, X * factor, y, c)
    back = np.append(factor, scaling)
    own = np.r_[: kernel.DIAGONAL, plain._M.shape[1] - (4 if width <= kernel.FEW else 0) : plain._M.shape[1]]
    assert np.array_equal(scaled._W[:, : kernel.DIAGONAL] * back[:, None], plain._W[:, : kernel.DIAGONAL])
    assert np.array_equal(scaled._V * back**2, plain._V)
    for name in (mixture.Member.LOSS, mixture.Member.POWER):  # of scores, so all scores were the same
        assert np.array_equal(scaled._M[name, own], plain._M[name, own])
    assert not np.array_equal(scaled._M[mixture.Member.POWER, PLAIN], plain._M[mixture.Member.POWER, PLAIN])
    if width <= kernel.FEW:
        unscaled = scaled._F * back
        unscaled[:-1] *= back[:, None]
        assert np.array_equal(unscaled, plain._F)
        assert np.array_equal(scaled._C[kernel.MEAN] / back, plain._C[kernel.MEAN])
        assert np.array_equal(scaled._C[kernel.DEVIATION] / back**2, plain._C[kernel.DEVIATION])
        assert np.array_equal(scaled._C[2:], plain._C[2:])


@pytest.mark.parametrize("size", [1e-160, 1e-100, 1e-9, 1e9, 1e100, 1e150])
def test_features_that_change_their_size_leave_numbers(size):
    """Most values of a feature are `size` times the others: nothing overflows, and no matrix loses its precision."""
    for width in (5, 70):
        X, y, c = stream(10, 1000, 5)
        rows = np.zeros((1000, width))
        rows[:, :5] = X
        rows[:, 2] *= size
        rows[::3, 2] /= size
        pool = Pool(width)
        assert np.isfinite(learn(pool, rows, y, c)).all()
        assert all(np.isfinite(array).all() for array in pool.arrays().values())
        assert np.isfinite(pool.leaders()).all()
        assert pool.mistakes < 450
