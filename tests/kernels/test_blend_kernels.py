"""The default bandit's kernels follow the textbook; the price of its mixture is paid on no path twice."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle_blend import Prod, Regression, Shares

from massart import theory
from massart.kernels.learning import blend
from massart.kernels.learning import ranking as kernel
from massart.kernels.learning.blend import REST, Mixed
from massart.kernels.learning.column_groups import LEVELS, SHARES
from massart.learners.bandit import MonotoneBandit

D = 5
CLOSE = 1e-7  # the kernels add in another order, and update an inverse instead of solving


def predictions(choice):
    """The arm of the regression, and its predicted rewards, from what the choice carries."""
    k = len(choice.probabilities)
    rest = choice.memo["rest"][-(REST + 2 * k) :]
    return int(rest[0]), rest[REST : REST + k], rest[1:REST], rest[REST + k :]


def items(count, seed=0, scale=1.0, most=5, columns=D):
    """Rows whose reward rises with the first column within a round, and falls with its mean between rounds."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        level = rng.normal()
        X = rng.normal(size=(int(rng.integers(2, most + 1)), columns)) + level * np.eye(columns)[0]
        yield (
            X * scale,
            (rng.random(len(X)) < 0.5 - 0.3 * np.tanh(level) + 0.2 * np.tanh(X[:, 0] - level)).astype(float),
        )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize(("scale", "most", "columns"), [(1.0, 5, D), (1e-30, 5, D), (1e30, 5, D), (1.0, 9, 19)])
def test_items_follow_one_regression_with_the_mean_of_the_round(form, scale, most, columns):
    bandit, oracle = MonotoneBandit(random_state=1), Regression(columns)
    for number, (X, r) in enumerate(items(200, scale=scale, most=most, columns=columns)):
        choice = bandit.choose(form(X))
        arm, predicted, _, _ = predictions(choice)
        means, widths = oracle.predict(X) if number else (np.full(len(X), 0.5), np.zeros(len(X)))
        np.testing.assert_allclose(predicted, np.clip(means, 0, 1), atol=CLOSE, err_msg=f"round {number}")
        bonus = means + 0.3 * widths
        assert bonus[arm] >= bonus.max() - CLOSE
        bandit.learn(choice, r[choice.arm])
        oracle.learn(X, choice.arm, r[choice.arm])


@pytest.mark.parametrize(("arms", "entries", "few"), [(30, 20, 400), (4, 3, 12)], ids=["diagonal", "full"])
def test_where_columns_lie_changes_nothing(arms, entries, few):
    """Few columns, and the same ones far apart among many: every choice and what is learned are the same bits."""
    rng, far = np.random.default_rng(8), np.sort(np.random.default_rng(9).choice(1 << 18, few, replace=False))
    near_bandit, far_bandit = MonotoneBandit(random_state=1), MonotoneBandit(random_state=1)
    waiting = []
    for number in range(40):
        columns = np.sort(np.array([rng.choice(few, entries, replace=False) for _ in range(arms)]), axis=1).ravel()
        values, starts = rng.normal(size=columns.size), np.arange(0, columns.size + 1, entries)
        near = near_bandit.choose(sp.csr_matrix((values, columns, starts), shape=(arms, few)))
        wide = far_bandit.choose(sp.csr_matrix((values, far[columns], starts), shape=(arms, 1 << 18)))
        assert near.arm == wide.arm
        np.testing.assert_array_equal(near.probabilities, wide.probabilities, err_msg=f"round {number}")
        waiting.append((near, wide))
        while number % 3 == 0 and waiting:  # some rewards come late
            one, other = waiting.pop()
            reward = float(rng.random())
            near_bandit.learn(one, reward)
            far_bandit.learn(other, reward)
    for name, array in far_bandit.arrays().items():
        if name in ("weights", "fast_weights", "columns"):
            np.testing.assert_array_equal(array[far], near_bandit.arrays()[name])


def test_a_context_crossed_with_the_arm_has_a_regression_per_arm():
    """A row in a block of its own: every block has the context's statistics, the arm played has the lesson."""
    shares, rng = Shares(), np.random.default_rng(5)
    bandit, oracles = MonotoneBandit(random_state=1), [Regression(D, shares) for _ in range(3)]
    for number in range(150):
        x = rng.normal(size=D) * np.arange(1, D + 1)
        choice = bandit.choose(np.kron(np.eye(3), x))
        _, predicted, _, _ = predictions(choice)
        if number:
            means = np.array([oracle.predict(x[None])[0][0] for oracle in oracles])
            np.testing.assert_allclose(predicted, np.clip(means, 0, 1), atol=CLOSE, err_msg=f"round {number}")
        reward = float(rng.random() < 1 / (1 + np.exp(-x[choice.arm])))
        bandit.learn(choice, reward)
        for arm, oracle in enumerate(oracles):
            oracle.learn(x[None], 0 if arm == choice.arm else None, reward)
    assert max(oracle.paces.max() for oracle in oracles) > 8  # the paces have parted, so the test is about all of them
    found = bandit.arrays()["groups"][0, SHARES : SHARES + 4]
    np.testing.assert_allclose(found, shares.now, atol=CLOSE)
    np.testing.assert_allclose(bandit.arrays()["groups"][0, LEVELS : LEVELS + 4], shares.levels, atol=CLOSE)
    assert shares.levels.min() > 0.01  # so that the test is about them
    assert np.ptp(shares.now[1:]) > 1e-3


def test_a_level_that_moves_is_common_to_all_arms():
    """Arms with a block each. Rewards rise from .2 to .8, and one arm is played from then on.

    The weights of the other arm stay as they are, so that without a level its prediction would, too. A level alone
    would be at .8 - .6 (1 - .01 / 1.01)^200 = .72; the played arm's own weights take some of it.
    """
    bandit, arms = MonotoneBandit(random_state=1), np.kron(np.eye(2), [1.0, 0.5])
    for number in range(400):
        bandit.learn_logged(arms, number % 2, 0.5, 0.2)
    before = predictions(bandit.choose(arms))[1]
    np.testing.assert_allclose(before, 0.2, atol=0.02)  # the prior counts like a few lessons
    for _ in range(200):
        bandit.learn_logged(arms, 0, 0.5, 0.8)
    played, other = predictions(bandit.choose(arms))[1]
    assert played == pytest.approx(0.8, abs=0.05)
    assert before[1] + 0.05 < other < 0.72


def paths(seed):
    """Numbers with light and heavy tails, drifts of both signs, single blows, and those that undo what was gained."""
    rng = np.random.default_rng(seed)
    yield rng.normal(size=500)
    yield rng.standard_t(df=1.2, size=500)
    yield 0.3 + rng.normal(size=500)
    yield -0.3 + rng.standard_t(df=1.5, size=500)
    yield np.concatenate([np.full(200, 0.5), [-300.0], np.full(200, 0.5)])
    yield np.concatenate([[1e6], rng.normal(size=100)])
    yield np.concatenate([[-1e6], rng.normal(size=100)])
    yield rng.choice([-1.0, 1.0], size=500) * 10.0 ** rng.uniform(-3, 6, size=500)
    prod, found = Prod(), []
    for _ in range(400):  # the adversary takes the sign that hurts
        found.append(-1.0 if prod.share > 0.3 else 1.0)
        prod.add(found[-1])
    yield np.array(found)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("prior", blend.PRIORS)
def test_the_price_theorem_on_every_path(prior, seed):
    """Theorem 19(a), the kernel's sums against the textbook's, and its second claim; slack for rounding only."""
    for deltas in paths(seed):
        prod, mix = Prod(prior), np.zeros((len(Mixed), 2))
        bound = 0.0
        for delta in deltas:
            rate = prod.rate
            assert blend.portion(prior, mix[Mixed.LEAD, 0], mix[Mixed.SQUARES, 0]) == pytest.approx(
                prod.share, rel=1e-6
            )
            blend.note(mix, 0, prior, delta, prod.share, 0.1)
            prod.add(delta)
            bound += (rate - prod.rate) * prod.squares
        size = 1e-9 * (1 + np.abs(deltas).sum())
        sums = mix[[Mixed.LEAD, Mixed.SQUARES, Mixed.LOWERED, Mixed.TAIL], 0]
        np.testing.assert_allclose(sums, [prod.lead, prod.squares, prod.lowered, prod.tail], rtol=1e-6, atol=size)
        assert abs(mix[Mixed.LATE, 0]) <= size  # learned at once
        assert prod.lowered <= bound + size
        assert prod.gained >= prod.lead - theory.path_price(prior, *map(float, sums[1:])) - size
        assert prod.gained >= -np.log(1 / (1 - prior)) / prod.rate - sums[2] - sums[3] - size


@pytest.mark.parametrize(("prior", "lead", "paid"), [(0.05, 0.01, 0.97), (0.05, 0.001, 0.99), (0.1, 0.01, 0.96)])
def test_the_price_is_nearly_paid_where_the_lead_is_small_and_constant(prior, lead, paid):
    """Theorem 19(a) is sharp there: a price 4% lower would be too low, so no term of it may be lost."""
    mix, gained, most = np.zeros((len(Mixed), 2)), 0.0, 0.0
    for n in range(1, 20_000):
        sigma = blend.portion(prior, mix[Mixed.LEAD, 0], mix[Mixed.SQUARES, 0])
        gained += sigma * lead
        blend.note(mix, 0, prior, lead, sigma, 0.0)
        if n % 100 == 0:
            sums = map(float, mix[[Mixed.SQUARES, Mixed.LOWERED, Mixed.TAIL], 0])
            most = max(most, (mix[Mixed.LEAD, 0] - gained) / theory.path_price(prior, *sums))
    assert paid < most <= 1.0


def test_without_the_tail_the_price_is_too_low():
    """A gain that a blow undoes: the term is needed, so the theorem's test can fail."""
    prod = Prod()
    for delta in [1.0] * 60 + [-60.0]:
        prod.add(delta)
    price = theory.path_price(0.05, prod.squares, prod.lowered, prod.tail)
    assert prod.gained >= prod.lead - price
    assert prod.tail > 0
    assert prod.gained < -np.log(1 / 0.95) / prod.rate - prod.lowered


@pytest.mark.parametrize("delay", [1, 7, 100])
def test_the_accounts_of_the_mixture_from_public_numbers(delay):
    """D, V, LATE, FLOORS and BEHIND of U, recomputed from probabilities, memos and rewards, in any order."""
    bandit, rng, waiting = MonotoneBandit(random_state=3, exploration=0.05), np.random.default_rng(0), []
    prod, late, floors, behind, seen = Prod(), 0.0, 0.0, np.zeros(4), 0.0
    for X, r in items(150, seed=2):
        choice = bandit.choose(X)
        waiting.append((choice, r[choice.arm]))
        if len(waiting) < delay:
            continue
        for n in rng.permutation(len(waiting)):
            one, reward = waiting[n]
            k, p, memo = len(one.probabilities), one.probabilities, one.memo
            arm, q, (s1, f1, s2, f2), p_slow = predictions(one)
            fast = memo["rest"][: -(REST + 2 * k)]
            p_fast = fast[3 + 12 : 3 + 12 + k]
            estimated = q + (np.arange(k) == one.arm) * (reward - q) / p
            share = s1 + f1 * (1 - s1)
            default = (1 - share) * np.eye(k)[arm] + share * p_fast
            mixed = default + (s2 + f2 * (1 - s2)) * (p_slow - default)
            np.testing.assert_allclose(0.95 * mixed + 0.05 / k, p, atol=1e-12)
            delta = (p_slow - default) @ estimated
            late += (prod.share - s2) * delta
            floors += f2 * (1 - s2)
            prod.add(delta)
            seen += reward - estimated.mean()
            single = (np.arange(k) == one.arm) * (reward - memo["baseline"]) / p
            lifts = (1 - memo["rates"]) * (single[memo["arms"]] - single.mean())
            behind += lifts - memo["shares"] @ lifts
            bandit.learn(one, reward)
        waiting = []
    arrays = bandit.arrays()
    found = arrays["mix"][[Mixed.LEAD, Mixed.SQUARES, Mixed.LATE, Mixed.FLOORS], 1]
    np.testing.assert_allclose(found, [prod.lead, prod.squares, late, floors], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(arrays["behind"], behind, rtol=1e-7, atol=1e-7)
    assert arrays["totals"][kernel.Total.SEEN] == pytest.approx(seen, abs=1e-7)
    assert (abs(late) < 1e-9) == (delay == 1)
    slow = arrays["experts"][:, 2]  # gap and margin .1
    names = ("DELTA", "KEPT", "CAP", "SQUARES", "FIRST", "DRIFT")
    learned = theory.learned_lift(*(float(slow[kernel.Expert[name]]) for name in names))
    price = theory.path_price(0.05, prod.squares, prod.lowered, prod.tail)
    certificate = bandit.certificate()
    assert certificate.assumed == pytest.approx((0.1, 0.1))
    assert certificate.guaranteed_lift == pytest.approx(0.95 * (learned - behind[2] - price - late - floors), rel=1e-6)
