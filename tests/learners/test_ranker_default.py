"""MonotoneRanker() with default settings: its members, how they are mixed, and what is guaranteed (Theorem 20)."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import MonotoneRanker, load, save, theory
from massart.errors import ModelFileError
from massart.kernels.learning import mixture, within_queries
from massart.kernels.learning.mixture import Member, Total
from massart.kernels.learning.query_mixture import EXPERTS
from massart.kernels.learning.ranking import Expert
from massart.kernels.learning.within_queries import Column
from massart.learners.lift import learned_lift

D, RIDGE, KAPPA = 4, 5.0, 1 / 16


def queries(count, seed=0, columns=D, most=9):
    """Rows with levels of their own, columns of other sizes, some zeros; grades 0, 1 and 2 by a noisy linear score."""
    rng = np.random.default_rng(seed)
    weights, units = rng.normal(size=columns), 10.0 ** rng.uniform(-2, 2, size=columns)
    for _ in range(count):
        k = int(rng.integers(1, most))
        X = rng.normal(size=(k, columns)) * (rng.random((k, columns)) < 0.8)
        score = X @ weights + rng.normal(size=k)
        yield (X + rng.normal()) * units, np.digitize(score, [0.0, 1.5]).astype(float)


def trained(count=60, form=np.asarray, **more):
    ranker = MonotoneRanker(reward_range=(0, 2), random_state=0)
    for X, r in queries(count, **more):
        ranker.learn(form(X), r)
    return ranker


def pairs(r):
    return [(i, j) for i in range(len(r)) for j in range(len(r)) if r[i] > r[j]]


class Members:
    """The four members in plain NumPy, all pairs of a query."""

    def __init__(self):
        self.spread, self.squares, self.count = np.zeros(D), np.zeros(D), np.zeros(D)
        self.A, self.b, self.w = np.zeros((D, D)), np.zeros(D), np.zeros((4, D))

    def learn(self, X, rewards):
        r, k, z = rewards / 2.0, len(rewards), X - X.mean(axis=0)
        if not pairs(r):
            return
        own, y = (z * z).sum(axis=0), r - r.mean()
        self.spread += own / (k - 1)
        self.count += own > 1e-20 * k * X.mean(axis=0) ** 2  # what is less is rounding
        self.squares += own
        self.A += z.T @ z
        self.b += z.T @ y
        ridge = RIDGE * self.spread / np.maximum(self.count, 1)
        self.w[0] += self.step(z, y - z @ self.w[0], np.eye(k), np.diag(self.squares + ridge))
        for e, D_ in ((1, np.diag(self.squares + ridge)), (3, self.A + np.diag(ridge))):
            pull, bend = np.zeros(k), np.zeros((k, k))
            for i, j in pairs(r):
                wrong = 1 / (1 + np.exp((z[i] - z[j]) @ self.w[e]))
                pull[i] += (r[i] - r[j]) * wrong / k
                pull[j] -= (r[i] - r[j]) * wrong / k
                apart = np.eye(k)[i] - np.eye(k)[j]
                bend += (r[i] - r[j]) * wrong * (1 - wrong) / k * np.outer(apart, apart)
            self.w[e] += self.step(z, pull, bend, KAPPA * D_)
        self.w[2] = np.linalg.solve(self.A + np.diag(ridge), self.b)

    @staticmethod
    def step(z, pull, bend, D_):
        g = z.T @ pull
        p = np.linalg.solve(D_, g)
        return p * (g @ p) / (p @ z.T @ bend @ z @ p + g @ p)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_members_follow_their_formulas_round_by_round(form):
    """Sums in another order: 1e-16 of each sum, times conditions of at most about 1e4 (RIDGE), over 60 queries."""
    ranker, members = MonotoneRanker(reward_range=(0, 2), random_state=0), Members()
    for X, r in queries(60):
        ranker.learn(form(X), r)
        members.learn(X, r)
        found = ranker.arrays()["columns"][:, Column.LEAST_SQUARES :].T
        unit = np.sqrt(members.spread / np.maximum(members.count, 1))
        np.testing.assert_allclose(found * unit, members.w * unit, atol=1e-9)
    assert np.abs(members.w * unit).max(axis=1).min() > 0.1


def test_dense_and_sparse_contexts_give_the_same_bits():
    one, two = trained().arrays(), trained(form=sp.csr_matrix).arrays()
    for name in one:
        assert np.array_equal(one[name], two[name]), name


def test_members_do_not_depend_on_the_units_of_columns():
    factor = 2.0 ** np.array([-30, 7, 0, 41])
    one, two = trained(), MonotoneRanker(reward_range=(0, 2), random_state=0)
    for X, r in queries(60):
        two.learn(X * factor, r)
    weights = [ranker.arrays()["columns"][:, Column.LEAST_SQUARES :] for ranker in (one, two)]
    assert np.array_equal(weights[0], weights[1] * factor[:, None])


def test_levels_of_queries_and_queries_without_a_difference_teach_members_nothing():
    one, two = trained(), MonotoneRanker(reward_range=(0, 2), random_state=0)
    for X, r in queries(60):
        two.learn(X + 1000.0, r)
        two.learn(X[:1], r[:1])
        two.learn(X, np.ones(len(r)))
    weights = [ranker.arrays()["columns"][:, Column.LEAST_SQUARES :] for ranker in (one, two)]
    # x + 1000 is rounded to 1e-13, next to spreads of 1e-2 at least: 1e-11, amplified as in the test of formulas
    unit = np.sqrt(one.arrays()["columns"][:, Column.SPREAD] / one.arrays()["columns"][:, Column.COUNT])
    np.testing.assert_allclose(weights[0] * unit[:, None], weights[1] * unit[:, None], atol=1e-6)


@pytest.mark.parametrize("documents", [1, 2, 3, 64, 65, 66, 200, 1001])
def test_pairs_are_all_of_up_to_65_documents_and_at_most_32_of_each_beyond(documents):
    most = documents * min(documents // 2, within_queries.SHIFTS)
    better, worse = np.empty(most, np.int64), np.empty(most, np.int64)
    rewards = np.random.default_rng(0).permutation(documents).astype(float)
    count = within_queries.list_pairs(rewards, better, worse)
    found = {(int(i), int(j)) for i, j in zip(better[:count], worse[:count], strict=True)}
    assert len(found) == count
    assert all(rewards[i] > rewards[j] for i, j in found)
    assert count == (documents * (documents - 1) // 2 if documents <= 65 else 32 * documents)


def test_choose_is_what_learn_counts_and_draws_happen():
    """The lift is that of `choose` just before; a draw follows one expert's first choice."""
    ranker, lift, drawn = MonotoneRanker(reward_range=(0, 2), random_state=0), 0.0, 0
    for X, r in queries(300):
        arm = ranker.choose(X)
        drawn += arm != int(ranker.score(X).argmax())
        lift += r[arm] - r.mean()
        ranker.learn(X, r)
        assert ranker.lift == pytest.approx(lift)
    assert drawn > 0
    other = MonotoneRanker(reward_range=(0, 2), random_state=1)
    for X, r in queries(300):
        other.learn(X, r)
    assert other.lift != ranker.lift
    assert np.array_equal(other.weights, ranker.weights)  # the coins decide nothing else


def test_the_score_is_linear_and_the_vote_of_all_experts():
    ranker = trained()
    state, X = ranker.arrays(), next(queries(1, seed=7, most=30))[0]
    np.testing.assert_allclose(ranker.score(X), X @ ranker.weights, rtol=1e-9, atol=1e-9)
    own = np.vstack(
        [(state["weights"] * state["experts"][Expert.SCALE]).T, state["columns"][:, Column.LEAST_SQUARES :].T]
    )
    voice = state["members"][Member.VOICE] / state["mixed"][Total.TOTAL]
    np.testing.assert_allclose(ranker.weights, voice @ own, rtol=1e-9, atol=1e-12)


def test_the_guaranteed_lift_is_that_of_one_expert_less_what_the_mixture_lost_to_it():
    """Theorem 20: B_e - M (X - L_e), for the expert of the largest gap and margin, with losses counted here."""
    ranker, lost, expected = MonotoneRanker(reward_range=(0, 2), random_state=0), 0.0, 0.0
    e = 2  # gap .1 and margin .1
    for X, r in queries(100):
        before = ranker.arrays()
        scores = (
            X @ (before["weights"] * before["experts"][Expert.SCALE])
            if len(before["weights"])
            else np.zeros((len(X), 4))
        )
        own = X @ before["columns"][:, Column.LEAST_SQUARES :] if len(before["weights"]) else np.zeros((len(X), 4))
        first = np.concatenate([scores, own], axis=1).argmax(axis=0)
        losses, started = (r.max() - r[first]) / 2.0, ranker.rounds > 0
        share = before["members"][Member.SHARE] if started else np.ones(8)
        chance = before["mixed"][Total.CHANCE] if started else 0.5
        voted = (r.max() - r[int(ranker.score(X).argmax())]) / 2.0
        expected += chance * (share @ losses) / share.sum() + (1 - chance) * voted
        lost += losses[e]
        ranker.learn(X, r)
    experts = ranker.arrays()["experts"]
    assert experts[[Expert.DELTA, Expert.GAMMA], e].tolist() == [0.2, 0.1]
    assert ranker.guaranteed_lift == pytest.approx(learned_lift(experts[:, e]) - 2.0 * (expected - lost))


@pytest.mark.parametrize("arms", [2, 4])
def test_the_expected_lift_is_at_least_the_guaranteed_one(arms):
    """Theorem 20, on a world with gap and margin .1 at least: over 6 seeds the mean is above -4 standard errors.

    Contexts have norm 3: the margin is meant in units of the longest one.
    """
    step, count, ahead = 0.9 / (arms - 1), 600, []
    for seed in range(6):
        rng, lift = np.random.default_rng(seed), 0.0
        ranker = MonotoneRanker(random_state=seed)
        for _ in range(count):
            steps = rng.permutation(arms) - (arms - 1) / 2
            X = rng.normal(size=(arms, D))
            X[:, 0] = 0
            X *= np.sqrt(1 - (step * steps) ** 2)[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
            X[:, 0] = step * steps
            means = 0.5 + step * steps
            lift += means[ranker.choose(3 * X)] - 0.5
            ranker.learn(3 * X, (rng.random(arms) < means).astype(float))
        ahead.append(lift - ranker.guaranteed_lift)
        cap = theory.full_information_gradient_cap(arms, gap=0.1, margin=0.1, reward_width=1.0) * 2 / arms
        assert ranker.arrays()["experts"][Expert.CAP, 2] == pytest.approx(cap)
    assert np.mean(ahead) >= -4 * np.std(ahead, ddof=1) / np.sqrt(len(ahead))


@pytest.mark.parametrize("kind", ["random", "against the vote", "against the leader", "one is good"])
def test_the_price_of_the_mixture_is_that_of_theorem_7_for_losses_in_0_1(kind):
    """On every path: X <= min L + adahedge_price + prod_price, and X <= V + prod_default_price, up to rounding."""
    experts, count, rng = 8, 3000, np.random.default_rng(0)
    M, t = np.zeros((len(Member), experts)), np.zeros(len(Total))
    mixture.begin(M, t, experts)
    for n in range(count):
        losses, voted = rng.random(experts), rng.random()
        if kind == "against the vote":
            losses, voted = losses / 2, 1.0
        elif kind == "against the leader":
            losses = np.where(M[Member.SHARE] == M[Member.SHARE].max(), 1.0, 0.25)
        elif kind == "one is good":
            losses[3] /= 10
        mixture.judge_losses(M, t, losses, np.ones(experts), experts, voted, voted)
        assert t[Total.ROUNDS] == n + 1
    expected, split = t[Total.EXPECTED], t[Total.SPLIT]
    best = M[Member.LOSS].min()
    price = theory.adahedge_price(experts, count, best, 17 / 16) + theory.prod_price(split)
    assert expected <= best + price + 1e-6
    assert expected <= t[Total.VOTED] + theory.prod_default_price(split) + 1e-6
    if kind == "against the vote":
        assert t[Total.CHANCE] > 0.99
        assert expected < 0.6 * t[Total.VOTED]
    if kind == "one is good":
        assert M[Member.SHARE, 3] / t[Total.TOTAL] > 0.99


def test_it_ranks_as_least_squares_within_queries_does():
    """Of new pairs, at most 1 of 100 more are mistaken than by the exact solution on the same queries."""
    world = list(queries(700, seed=3, columns=12, most=30))
    train, test = world[:400], world[400:]
    ranker = MonotoneRanker(reward_range=(0, 2), random_state=0)
    for X, r in train:
        ranker.learn(X, r)
    Z = np.vstack([X - X.mean(axis=0) for X, _ in train])
    y = np.concatenate([r - r.mean() for _, r in train])
    exact = np.linalg.lstsq(Z, y, rcond=None)[0]
    mistaken = {}
    for name, w in {"ours": ranker.weights, "exact": exact}.items():
        mistaken[name] = np.mean([X[i] @ w <= X[j] @ w for X, r in test for i, j in pairs(r)])
    assert mistaken["ours"] <= mistaken["exact"] + 0.01 < 0.4


def test_many_columns_have_no_full_matrix(tmp_path):
    """256 have, 257 do not; both are saved and go on bit for bit."""
    for columns, experts in ((256, 8), (257, 6)):
        ranker = trained(8, columns=columns)
        save(ranker, tmp_path / "ranker.massart")
        again = load(tmp_path / "ranker.massart")
        for X, r in queries(4, seed=9, columns=columns):
            ranker.learn(X, r)
            again.learn(sp.csr_matrix(X), r)
        one, two = ranker.arrays(), again.arrays()
        assert all(np.array_equal(one[name], two[name]) for name in one)
        assert (one["products"].size > 0) == (columns == 256)
        assert np.count_nonzero(one["members"][Member.SHARE]) <= experts
        assert (one["columns"][:, Column.FULL_LEAST_SQUARES].any()) == (columns == 256)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-160, 1e-50, 1e49, "mixed", "growing"])
def test_contexts_of_any_size_keep_the_state_finite_and_what_is_saved_opens(size, tmp_path):
    rng, ranker = np.random.default_rng(0), MonotoneRanker(random_state=0)
    for n in range(60):
        X = rng.normal(size=(5, D))
        if size == "mixed":
            X *= 10.0 ** rng.uniform(-160, 48, size=(5, D))
        else:
            X *= 10.0 ** (3.5 * n - 160) if size == "growing" else size
        ranker.learn(X, rng.random(5))
        assert np.isfinite(ranker.score(X)).all()
    assert all(np.isfinite(array).all() for array in ranker.arrays().values())
    save(ranker, tmp_path / "ranker.massart")
    again = load(tmp_path / "ranker.massart")
    assert again.choose(X) == ranker.choose(X)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("mixed", Total.ROUNDS, 7.0), ("mixed", Total.CHANCE, 1.5), ("mixed", Total.EXPECTED, 1e9),
     ("mixed", Total.TOTAL, 0.0), ("mixed", Total.PRIOR, 0.0), ("mixed", Total.GAP, -1.0),
     ("members", (Member.SHARE, 0), -1.0), ("members", (Member.VOICE, 7), np.nan),
     ("columns", (0, Column.SQUARES), -1.0), ("columns", (1, Column.LOGISTIC), 1e200), ("products", (1, 1), -1.0),
     ("products", (4, 0), np.inf)],
    ids=str,
)  # fmt: skip
def test_numbers_that_no_ranker_has_are_refused(name, place, value):
    arrays = trained().arrays()
    MonotoneRanker.from_arrays(arrays)
    arrays[name][place] = value
    with pytest.raises(ModelFileError, match=name):
        MonotoneRanker.from_arrays(arrays)


def test_its_experts_are_those_of_the_guarantee_and_four_members():
    state = trained().arrays()
    assert state["experts"][[Expert.DELTA, Expert.GAMMA]].T.tolist() == [
        [0.04, 0.1],
        [0.04, 0.02],
        [0.2, 0.1],
        [0.2, 0.02],
    ]
    assert state["members"].shape[1] == EXPERTS + within_queries.MEMBERS == 8
