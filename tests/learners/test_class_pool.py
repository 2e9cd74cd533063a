"""Several classes learned together: the same from every form of the rows, whenever a class becomes known."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import massart
from massart import MassartClassifier, theory
from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.door import Rows
from massart.kernels.learning import class_mixture, mixture
from massart.learners.class_pool import ClassPool
from massart.options import LearnerOptions

WORDS = np.array(["d", "a", "c", "b"])
WIDTHS = {"surfaces": 5, "few": 30, "dense": 100, "sparse": 300, "many": 300_000}


def stream(kind, n=250, seed=0):
    """Rows of which a tenth is 0, or all but a tenth, and words for labels."""
    rng = np.random.default_rng(seed)
    width = min(WIDTHS[kind], 300)
    kept = 0.1 if kind in ("sparse", "many") else 0.9
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < kept)
    X[:, :4] += 2.0 * np.eye(4)[rng.integers(0, 4, n)]
    y = WORDS[np.argmax(X[:, :4] + 0.3 * rng.normal(size=(n, 4)), axis=1)]
    rows = sp.csr_matrix(X)
    rows.resize(n, WIDTHS[kind])
    return rows, y


def bits(clf):
    return {name: np.asarray(array).tobytes() for name, array in clf._learner.arrays().items()}


@pytest.mark.parametrize("kind", WIDTHS)
def test_every_form_of_the_rows_and_every_time_of_joining_is_the_same_to_the_bit(kind):
    X, y = stream(kind)
    forms = [X, X.astype(np.float64).tocoo()] + (
        [X.toarray(), np.asfortranarray(X.toarray())] if kind != "many" else []
    )
    plain = MassartClassifier(random_state=0).partial_fit(X, y, classes=WORDS)
    for form in forms:
        whole = MassartClassifier(random_state=0).partial_fit(form, y, classes=WORDS)
        assert bits(whole) == bits(plain)
        assert whole.predict_proba(form).tobytes() == plain.predict_proba(X).tobytes()
    late, answers = MassartClassifier(random_state=0), []
    for i in range(len(y)):
        answers += late.learn_predict(X[i : i + 1], y[i : i + 1]).tolist()
    assert bits(late) == bits(plain)
    assert late.classes_.tolist() == sorted(WORDS)
    assert np.array_equal(late.predict_proba(X), plain.predict_proba(X))
    assert np.count_nonzero(np.array(answers[1:]) != y[1:]) + 1 == late.mistakes_ == plain.mistakes_
    assert plain.mistakes_ < 0.7 * len(y)


@pytest.mark.parametrize("kind", WIDTHS)
def test_files_copies_and_pickles_go_on_bit_for_bit(kind, tmp_path):
    X, y = stream(kind)
    clf = MassartClassifier(random_state=0).partial_fit(X[:100], y[:100])
    massart.save(clf, tmp_path / "m")
    twins = [massart.load(tmp_path / "m"), copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))]  # noqa: S301
    for one in (clf, *twins):
        one.partial_fit(X[100:], y[100:])
    for twin in twins:
        assert bits(twin) == bits(clf)
        assert np.array_equal(twin.predict_proba(X), clf.predict_proba(X))
    fitted = MassartClassifier(random_state=0, passes=2).fit(X, y)
    massart.save(fitted, tmp_path / "m")
    assert np.array_equal(massart.load(tmp_path / "m").predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("kind", ["few", "sparse"])
def test_a_class_that_has_not_come_has_a_small_probability_and_no_answer(kind):
    X, y = stream(kind)
    here = np.isin(y, ["a", "b"])
    clf = MassartClassifier(random_state=0).partial_fit(X[here], y[here], classes=WORDS)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(p[:, 2:], 0.5 / (np.count_nonzero(here) + 2), rtol=1e-12)
    assert set(clf.predict(X)) == {"a", "b"}
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), p, rtol=1e-12)


def test_one_class_is_known_at_first():
    clf = MassartClassifier(random_state=0).partial_fit([[1.0, 2.0]], ["b"])
    assert (clf.mistakes_, clf.classes_.tolist(), clf.predict([[0.0, 0.0]]).tolist()) == (1, ["b"], ["b"])
    clf.partial_fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.decision_function([[0.0, 1.0]]).shape == (1,)


def test_classes_do_not_join_where_they_were_named():
    X, y = stream("few")
    clf = MassartClassifier(random_state=0).partial_fit(X[:50], y[:50], classes=WORDS)
    with pytest.raises(InvalidDataError, match="not one of the classes"):
        clf.partial_fit(X[:1], ["e"])
    for given in ({"noise_rate": 0.1, "margin": 0.05}, {"horizon": 50}):
        with pytest.raises(InvalidDataError, match="classes must be passed on the first call"):
            MassartClassifier(**given).partial_fit(X, y)


@pytest.mark.parametrize("kind", ["surfaces", "few", "dense", "sparse"])
@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e40, 1.0])
def test_finite_rows_keep_the_state_finite(kind, scale):
    X, y = stream(kind, 120)
    X = X * scale
    X[7] = X[7] * 1e-3
    weight = np.where(np.arange(120) % 7 == 0, 1e40, 1e-40)
    for given in (None, weight):
        clf = MassartClassifier(random_state=0).partial_fit(X, y, classes=WORDS, sample_weight=given)
        for name, array in clf._learner.arrays().items():
            assert np.isfinite(np.asarray(array)).all(), name
        p = clf.predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
        type(clf._learner).from_arrays(clf._learner.arrays())


@pytest.mark.parametrize("kind", ["surfaces", "few", "dense"])
def test_the_scale_of_columns_does_not_matter(kind):
    """Powers of two change no rounding; the halfspaces alone see rows as they are, so draws are left out."""
    X, y = stream(kind)
    scales = 2.0 ** np.random.default_rng(0).integers(-20, 20, X.shape[1])
    pools = [ClassPool(X.shape[1], np.ones(4), LearnerOptions(voting="majority")) for _ in range(2)]
    labels = np.searchsorted(np.sort(WORDS), y)
    for pool, rows in zip(pools, (X, sp.csr_matrix(X.multiply(scales))), strict=True):
        pool.learn_rows(Rows.of(rows), labels)
    for name in ("centred", "newton", "crossed", "surfaces"):
        assert np.array_equal(pools[0]._arrays[name], pools[1]._arrays[name])


def progressive(pool, X, labels):
    """The probabilities of the labels as they came, of the pool and of each of its experts and calibrations."""
    rows, found = Rows.of(X), []
    for i in range(len(labels)):
        row = Rows.of(X[i : i + 1])
        p = pool.probabilities(row)[0, labels[i]] if pool.rounds else 1.0
        before = pool._arrays["mixed"].copy(), pool._arrays["trust"].copy()
        pool.learn_rows(row, labels[i : i + 1])
        found.append((p, *before))
    assert rows.count == len(found)
    return found


@pytest.mark.parametrize("kind", ["few", "sparse"])
def test_the_log_loss_is_within_its_price_of_every_calibration(kind):
    """Theorem 22: on the path, from the weights before and after each round.

    If an expert gave the label probability q, its weight before the sharing is w q / p, so
    w' = (1 - a) w q / p + a / N and ln q = ln(p (w' - a / N) / ((1 - a) w)).
    """
    X, y = stream(kind, 200)
    labels = np.unique(y, return_inverse=True)[1]
    pool = ClassPool(X.shape[1], np.ones(4))
    pool.learn_rows(Rows.of(X[:20]), labels[:20])  # all classes have come
    assert pool.seen == 4
    found = progressive(pool, X[20:], labels[20:])
    n = class_mixture.CALIBRATIONS
    loss = -np.log([p for p, _, _ in found]).sum()
    others = np.zeros(n)
    after = [trust for _, _, trust in found[1:]] + [pool._arrays["trust"]]
    for t, ((p, _, trust), then) in enumerate(zip(found, after, strict=True), start=21):
        share = 1.0 / (t + 1.0)
        q = p * (then - share / n) / ((1.0 - share) * trust)
        others -= np.log(np.maximum(q, 1e-300))
    first = np.log(1.0 / found[0][2])  # Bayes' weights when the count begins
    price = first + np.log(len(labels) / 21.0)
    assert (loss <= others + price + 1e-6).all()
    assert theory.log_loss_price(n, len(labels)) == pytest.approx(np.log(n) + np.log(len(labels)))


def test_mistakes_are_within_the_price_of_the_best_expert():
    """Theorem 7(e), whose losses may be those of any answers: measured as expectations on the path."""
    X, y = stream("few", 600)
    labels = np.unique(y, return_inverse=True)[1]
    pool = ClassPool(X.shape[1], np.ones(4))
    pool.learn_rows(Rows.of(X), labels)
    t, members = pool._arrays["totals"], pool._arrays["members"]
    best = members[mixture.Member.LOSS].min()
    drawn = t[mixture.Total.DRAWN]
    assert drawn <= best + theory.adahedge_price(members.shape[1], 600, best)
    assert t[mixture.Total.EXPECTED] <= t[mixture.Total.VOTED] + theory.prod_default_price(600)


def test_never_far_above_the_best_constant():
    """Labels that rows do not explain: the frequencies are experts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 12)), rng.choice(3, p=[0.6, 0.3, 0.1], size=4000)
    clf = MassartClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert clf.mistakes_ / 4000 <= np.mean(y != 0) + 0.02


def test_a_certificate_comes_from_the_halfspaces_and_the_price():
    rng = np.random.default_rng(0)
    angles = rng.integers(0, 3, 60_000)
    X = np.column_stack([np.cos(2.0944 * angles), np.sin(2.0944 * angles)]) + 0.02 * rng.normal(size=(60_000, 2))
    clf = MassartClassifier(random_state=0).partial_fit(X, angles, classes=[0, 1, 2])
    certificate = clf.certificate()
    assert certificate.classes == 3
    assert certificate.mistakes == clf.mistakes_ <= certificate.confident_mistake_bound < 30_000
    assert certificate.verdict == "within the bound"
    assert clf.noise_rate_ == 0.0
    clf._learner.mark_unproved()
    assert clf.certificate().confident_mistake_bound == 60_000


def test_labels_that_contradict_the_declaration_are_found():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30_000, 3)), rng.integers(0, 3, 30_000)
    clf = MassartClassifier(noise_rate=0.01, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert not clf.certificate().holds
    assert clf.noise_rate_ >= 0.01


def test_arrays_of_a_class_pool_only():
    X, y = stream("surfaces")
    labels = np.unique(y, return_inverse=True)[1]
    pool = ClassPool(5, np.ones(4))
    pool.learn_rows(Rows.of(X), labels)
    good = pool.arrays()
    ClassPool.from_arrays(good)
    for name, array in good.items():
        wrong = [{k: a for k, a in good.items() if k != name}, good | {name: np.full(array.shape, np.nan)}]
        wrong.append(good | {name: np.zeros((*array.shape, 2))})
        for arrays in wrong:
            with pytest.raises((ModelFileError, KeyError)):
                ClassPool.from_arrays(arrays)


def test_a_row_that_is_not_valid_teaches_nothing():
    X, y = stream("few")
    clf = MassartClassifier(random_state=0).partial_fit(X, y)
    before = bits(clf)
    broken = X.toarray()[:5]
    broken[3, 1] = np.inf
    with pytest.raises(InvalidDataError, match="row 3, column 1"):
        clf.partial_fit(broken, ["a", "b", "new", "a", "b"])
    assert bits(clf) == before
    assert clf.classes_.tolist() == sorted(WORDS)


def test_class_weights_count():
    """A class of weight 20 is answered more often."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 4)), rng.choice(3, p=[0.5, 0.4, 0.1], size=3000)
    plain, heavy = (
        MassartClassifier(random_state=0, class_weight=weight).partial_fit(X, y, classes=[0, 1, 2])
        for weight in (None, {2: 20.0})
    )
    assert np.mean(heavy.predict(X) == 2) > 0.5 > np.mean(plain.predict(X) == 2)


def test_a_thousand_classes_and_a_million_columns():
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 1 << 20, (2000, 8)).astype(np.int32)
    y = rng.permutation(2000) % 1000
    indices[:, 0] = y * 7  # a column that says it
    X = sp.csr_matrix((np.ones(16_000), indices.ravel(), np.arange(0, 16_001, 8)), shape=(2000, 1 << 20))
    clf = MassartClassifier(random_state=0).partial_fit(X, y, classes=range(1000))
    assert clf.predict_proba(X[:5]).shape == (5, 1000)
    assert np.mean(clf.predict(X) == y) > 0.9
