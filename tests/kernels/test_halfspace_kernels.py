"""The kernels follow the oracle round by round, in every form of rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import InverseMargin, PaperAlgorithm1, unit

from massart import theory
from massart.kernels.door import Rows
from massart.kernels.learning import halfspace as kernel
from massart.learners.certify import path_regret
from massart.learners.halfspace import Halfspace

ETA, GAMMA, T, D = 0.15, 0.08, 400, 12
DRIFT = 1e-8  # NumPy adds in another order than the kernels, and 400 rounds amplify the rounding by up to 1e6


def stream(seed=0, rows=T, width=D, density=0.5):
    """Rows with zeros, labels of a halfspace flipped by chance, weights that are often 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < density)
    y = np.where(X @ rng.normal(size=width) + 0.3 >= 0, 1.0, -1.0)
    y[rng.random(rows) < ETA] *= -1
    c = np.where(rng.random(rows) < 0.7, 1.0, rng.uniform(0.1, 3.0, size=rows))
    return X, y, c


# name: (options of the learner, the oracle of a width and, with class weights, of the noise rate they make)
CASES = {
    "ftrl": ({"optimizer": "ftrl"}, lambda d, eta=ETA, **told: InverseMargin(d, eta, GAMMA, **told)),
    "fixed": (
        {"optimizer": "fixed", "horizon": T},
        lambda d, eta=ETA, **told: InverseMargin(d, eta, GAMMA, "fixed", theory.fixed_step(eta, GAMMA, T), **told),
    ),
    "adagrad-norm": (
        {"optimizer": "adagrad-norm"},
        lambda d, eta=ETA, **told: InverseMargin(d, eta, GAMMA, "adagrad-norm", **told),
    ),
    "paper": (
        {"update": "paper", "horizon": T},
        lambda d, eta=ETA, **told: PaperAlgorithm1(d, eta, GAMMA, T, **told),
    ),
    "paper-anytime": ({"update": "paper"}, lambda d, eta=ETA, **told: PaperAlgorithm1(d, eta, GAMMA, **told)),
}
every_case = pytest.mark.parametrize("case", CASES)


def relative(a, b):
    return np.max(np.abs(np.asarray(a) - b)) / max(np.max(np.abs(b)), 1e-300)


def same_path(learner, oracle):
    """The sums that feed a certificate are those of the oracle, from their definitions."""
    s, path = learner._s, oracle.path
    for name in ("LINEAR", "SPREAD", "INVERSE"):
        found, expected = s[kernel.State[name]], getattr(path, name.lower())
        assert found == pytest.approx(expected, rel=DRIFT, abs=DRIFT), name
    if learner._rule[kernel.Rule.KIND] in (kernel.FTRL, kernel.FIXED):
        assert path_regret(learner._rule, s) == pytest.approx(path.regret, rel=DRIFT)


@every_case
@pytest.mark.parametrize(("intercept", "size"), [(0.0, 1.0), (1.0, 1.0), (0.2, 1.0), (8.0, 16.0)])
@pytest.mark.parametrize("classes", [(1.0, 1.0), (1.0, 2.5), (0.3, 0.2)])
def test_kernel_follows_the_oracle_round_by_round(case, intercept, size, classes):
    options, make = CASES[case]
    X, y, c = stream()
    X *= size
    constant = {"fit_intercept": intercept > 0, "intercept_scaling": intercept or 1.0}
    learner = Halfspace(D, ETA, GAMMA, class_weight=classes, **constant, **options)
    eta = theory.class_weight_noise_rate(ETA, classes[0] / classes[1])
    assert learner._rule[kernel.Rule.ETA] == pytest.approx(eta)
    oracle = make(D + 1, eta=learner._rule[kernel.Rule.ETA], class_weight=classes, length=1.0)
    costs = c * np.where(y > 0, classes[1], classes[0])
    wrong = 0.0
    for t in range(T):
        x = unit(X[t], intercept)
        score = learner.learn(X[t], y[t], c[t])
        assert abs(score - oracle.round(x, y[t], c[t])) <= DRIFT, f"round {t}"
        assert relative(learner._s[kernel.State.SCALE] * learner._v, oracle.w) <= DRIFT, f"round {t}"
        wrong += costs[t] * ((score >= 0) != (y[t] > 0))
        same_path(learner, oracle)
    assert learner.intercept == pytest.approx(intercept * oracle.w[-1], rel=DRIFT, abs=DRIFT)
    assert learner.mistakes == oracle.mistakes
    counted = learner._s[
        [
            kernel.State.WEIGHT,
            kernel.State.WEIGHT2,
            kernel.State.WRONG,
            kernel.State.POSITIVES,
            kernel.State.FIRST,
            kernel.State.HEAVIEST,
        ]
    ]
    heavy = c * max(classes)
    assert counted == pytest.approx(
        [costs.sum(), (costs**2).sum(), wrong, costs[y > 0].sum(), heavy[0], heavy.max()], rel=1e-12
    )
    assert learner.mistakes < 0.45 * T  # something was learned, so the comparison means something


@every_case
def test_rows_as_they_are(case):
    options, make = CASES[case]
    X, y, c = stream(1)
    X /= 2.0  # norms on both sides of 1: the cap has to grow with the longest row
    learner = Halfspace(D, ETA, GAMMA, fit_intercept=False, normalize=False, **options)
    oracle = make(D)
    scores = learner.learn_many(X, y, c)
    expected = [oracle.round(X[t], y[t], c[t]) for t in range(T)]
    assert np.max(np.abs(scores - expected)) <= DRIFT
    assert relative(learner.weights, oracle.w) <= DRIFT
    same_path(learner, oracle)


def forms(X):
    """The same rows in every form a user may have them in."""
    csr = sp.csr_matrix(X)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    frozen = X.copy()
    frozen.flags.writeable = False
    strided = np.zeros((X.shape[0], 2 * X.shape[1]))
    strided[:, ::2] = X
    return {
        "C": X,
        "Fortran": np.asfortranarray(X),
        "read-only": frozen,
        "strided": strided[:, ::2],
        "csr int32": csr,
        "csr int64": wide,
        "csr_array": sp.csr_array(X),
    }


@every_case
def test_dense_csr_and_single_rows_agree(case):
    options, _ = CASES[case]
    X, y, c = stream(2, rows=9000, width=60, density=0.2)
    one = Halfspace(60, ETA, GAMMA, **options)
    scores = np.array([one.learn(X[t], y[t], c[t]) for t in range(len(y))])
    for name, form in forms(X).items():
        many = Halfspace(60, ETA, GAMMA, **options)
        assert np.array_equal(many.learn_many(form, y, c), scores), name
        assert many.mistakes == one.mistakes
        assert np.array_equal(many.weights, one.weights), name
        assert np.array_equal(many._s, one._s), name


def test_float32_rows_count_as_the_numbers_they_are():
    X, y, _ = stream(3)
    X = X.astype(np.float32)
    exact = Halfspace(D, ETA, GAMMA)
    exact.learn_many(X.astype(np.float64), y)
    for form in (X, sp.csr_matrix(X)):
        learner = Halfspace(D, ETA, GAMMA)
        learner.learn_many(form, y)
        assert np.array_equal(learner.weights, exact.weights)
    one = Halfspace(D, ETA, GAMMA)
    for t in range(T):
        one.learn(X[t], y[t])
    assert np.array_equal(one.weights, exact.weights)


def test_batches_of_any_size_are_the_same_bit_for_bit():
    X, y, c = stream(4)
    whole, parts = Halfspace(D, ETA, GAMMA), Halfspace(D, ETA, GAMMA)
    whole.learn_many(X, y, c)
    for start in range(0, T, 17):
        parts.learn_many(X[start : start + 17], y[start : start + 17], c[start : start + 17])
    assert parts._v.tobytes() == whole._v.tobytes()
    assert parts._s.tobytes() == whole._s.tobytes()


@pytest.mark.parametrize("case", ["adagrad-norm", "paper-anytime"])
def test_scale_is_folded_in_before_it_underflows(case):
    options, make = CASES[case]
    X, y, c = stream(5)
    learner, oracle = Halfspace(D, ETA, GAMMA, **options), make(D + 1)
    average = learner.new_average()
    total = np.zeros(D + 1)
    for t in range(T):
        if t == T // 2:  # as if many projections had shrunk the scale below its limit
            factor = 0.5 * kernel._SMALLEST_SCALE / learner._s[kernel.State.SCALE]
            learner._s[[kernel.State.SCALE, kernel.State.SCALED]] *= factor
            learner._v /= factor
        total += c[t] * oracle.w
        oracle.round(unit(X[t], 1.0), y[t], c[t])
        learner.learn_rows(Rows.of(X[t : t + 1]), y[t : t + 1].astype(np.int8), c[t : t + 1], None, average)
    assert learner._s[kernel.State.SCALE] > 1e-3, "folded"
    assert relative(np.append(learner.weights, learner.intercept), oracle.w) <= DRIFT
    assert relative(learner.summed(average)[0][0, 0], total) <= DRIFT


@every_case
def test_running_sum_of_weights(case):
    options, make = CASES[case]
    X, y, c = stream(6)
    learner, oracle = Halfspace(D, ETA, GAMMA, **options), make(D + 1)
    average = learner.new_average()
    learner.learn_rows(Rows.of(sp.csr_matrix(X)), y.astype(np.int8), c, None, average)
    total = np.zeros(D + 1)
    for t in range(T):
        x = unit(X[t], 1.0)
        if case == "ftrl":  # w as it is once the row's weight is known
            oracle.G = max(oracle.G, c[t] * np.linalg.norm(x) * (1 - ETA) / GAMMA)
            oracle.w = oracle.theta / max(np.sqrt(2 * (oracle.G**2 + oracle.S)), np.linalg.norm(oracle.theta))
        total += c[t] * oracle.w
        oracle.round(x, y[t], c[t])
    found, weight = learner.summed(average)
    assert weight == pytest.approx(c.sum(), rel=1e-12)
    assert relative(found[0, 0], total) <= DRIFT


def test_parameters_of_the_paper_in_the_kernel_are_those_of_theory():
    learner = Halfspace(1, 0.1, 0.3, horizon=5000, update="paper", fit_intercept=False)
    learner.learn(np.ones(1), 1)
    slack = theory.paper_slack(0.1, 0.3, 5000)
    floor = theory.paper_floor(slack, 0.3)
    cap = theory.paper_gradient_cap(0.1, slack, floor)
    s = learner._s
    assert s[kernel.State.SLACK] == pytest.approx(slack / 2, rel=1e-14)
    assert s[kernel.State.FLOOR] == pytest.approx(floor, rel=1e-14)
    assert s[kernel.State.CAP] == pytest.approx(cap, rel=1e-14)
    assert s[kernel.State.STEP] == pytest.approx(theory.paper_step(cap, 5000), rel=1e-14)


def test_ftrl_is_projected_when_gradients_agree():
    rng = np.random.default_rng(9)
    X = np.column_stack([np.ones(300), 0.1 * rng.normal(size=300)])
    learner, oracle = Halfspace(2, 0.4, 0.2, fit_intercept=False), InverseMargin(3, 0.4, 0.2)
    for t, x in enumerate(X):
        learner.learn(x, 1)
        oracle.round(unit(x, 0.0), 1.0)
        assert relative(np.append(learner.weights, 0.0), oracle.w) <= DRIFT, f"round {t}"
    assert np.linalg.norm(learner.weights) == pytest.approx(1.0, abs=1e-12), "the projection was active"
