"""What a bandit's certificate says: the guarantee with late rewards, equal contexts, contexts of any length; verdicts.

The guarantee bounds an expectation by an expectation: E[lift - guarantee] >= 0, so the mean over independent seeds is
above -4 standard errors but for 3 times in 1e5.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from bandit_cases import KINDS, D, hunted, make, simpson, state, trained

from massart import theory
from massart.errors import InvalidDataError
from massart.kernels.learning import ranking as kernel
from massart.learners.bandit import MonotoneBandit
from massart.learners.choice import Choice
from massart.learners.lift import CONTRADICTS, NOTHING, WITHIN
from massart.learners.ranker import MonotoneRanker

GAP, MARGIN = 0.8, 0.5


def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


def without_delays(bandit):
    """What was guaranteed before late rewards and lagging caps were paid for."""
    s = bandit.arrays()["experts"][:, 0]
    return GAP * s[kernel.Expert.KEPT] - theory.ftrl_regret(s[kernel.Expert.CAP], s[kernel.Expert.SQUARES])


# -------------------------------------------------------------------------------------------------------- late rewards


def hunt(delay, count, seed):
    """An honest world that shows the pair which the weights have in the wrong order; rewards in batches of `delay`."""
    rng, bandit = np.random.default_rng(seed), MonotoneBandit(GAP, MARGIN, random_state=seed)
    weights, waiting, lift = np.zeros(D), [], 0.0
    for t in range(count):
        contexts, means = hunted(weights, rng, GAP, MARGIN)
        choice = bandit.choose(contexts)
        waiting.append((choice, float(rng.random() < means[choice.arm])))
        lift += choice.probabilities @ means - means.mean()
        if len(waiting) >= delay or t == count - 1:
            for one in waiting:
                bandit.learn(*one)
            weights, waiting = bandit.weights, []
    return lift, bandit


@pytest.mark.parametrize("delay", [1, 10, 100, 1000, 2000], ids=["at once", "10", "100", "1000", "all at the end"])
def test_the_guarantee_holds_with_late_rewards(delay):
    """Theorem 17(b). From 100 on the bound without DRIFT is false by more than 4 standard errors."""
    runs = [hunt(delay, 2000, seed) for seed in range(6)]
    ahead = np.array([lift - bandit.certificate().guaranteed_lift for lift, bandit in runs])
    assert ahead.mean() >= -4 * standard_error(ahead)
    claimed = np.array([without_delays(bandit) - lift for lift, bandit in runs])
    if delay >= 100:
        assert claimed.mean() >= 4 * standard_error(claimed)
        assert claimed.mean() >= 200
    if delay <= 10:
        assert min(bandit.certificate().guaranteed_lift for _, bandit in runs) > 250  # of at most 0.4 * 2000
    if delay == 1:
        assert max(abs(bandit.arrays()["experts"][kernel.Expert.DRIFT, 0]) for _, bandit in runs) < 1e-9
    assert all(bandit.certificate().holds for _, bandit in runs)


DELAYED = 120  # choices that wait; with 40 the weights of the default, whose steps are small, hardly move meanwhile


@pytest.mark.parametrize("kind", ["one expert", "default", "floor"])
def test_drift_is_what_the_weights_moved_between_choice_and_lesson(kind):
    """<g, w of the choice - w of the lesson> from the public arrays, through JSON too; 0 without delay."""
    bandit = trained(kind)
    np.testing.assert_allclose(bandit.arrays()["experts"][kernel.Expert.DRIFT], 0, atol=1e-9)
    rng, waiting, expected = np.random.default_rng(2), [], 0.0
    for _ in range(DELAYED):
        contexts = rng.normal(size=(3, D)) / 5
        waiting.append((bandit.choose(contexts), weights_of(bandit)))
    elsewhere = bandit.copy()
    before = bandit.arrays()["experts"][kernel.Expert.DRIFT].copy()
    for n in rng.permutation(DELAYED):
        choice, w = waiting[n]
        then, theta = weights_of(bandit), bandit.arrays()["weights"].copy()
        bandit.learn(choice, float(n % 2))
        elsewhere.learn(Choice.from_json(choice.to_json()), float(n % 2))
        g = theta - bandit.arrays()["weights"]
        expected = expected + np.sum(g * (w - then), axis=0)
    found = bandit.arrays()["experts"][kernel.Expert.DRIFT] - before
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert abs(expected).max() > 0.1  # eight digits above what the comparison lets pass
    assert np.array_equal(elsewhere.arrays()["experts"], bandit.arrays()["experts"])


def weights_of(bandit):
    arrays = bandit.arrays()
    return arrays["weights"] * arrays["experts"][kernel.Expert.SCALE]


def test_pending_choices_are_named_and_the_guarantee_counts_what_was_learned():
    bandit = trained("one expert")
    settled = bandit.certificate()
    assert settled.pending == 0
    assert "wait" not in str(settled)
    waiting = [bandit.choose(np.eye(D)) for _ in range(3)]
    certificate = bandit.certificate()
    assert (certificate.rounds, certificate.pending, certificate.guaranteed_lift) == (60, 3, settled.guaranteed_lift)
    assert "3 choices wait: valid only if which rewards have come depends neither" in str(certificate)
    for choice in waiting:
        bandit.expire(choice)
    assert (bandit.certificate().rounds, bandit.certificate().pending) == (63, 0)


# ------------------------------------------------------------------------------------------------------ equal contexts


def with_copies(rng, count, form):
    """Two arms of `simpson`, each there twice, in random order: equal contexts have equal expected rewards."""
    contexts, means, _ = simpson(rng, count, 2, GAP, MARGIN)
    for X, mean in zip(contexts, means, strict=True):
        order = rng.permutation(4) // 2
        yield form(X[order]), mean[order], (rng.random(4) < mean[order]).astype(float)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_the_guarantee_holds_with_equal_contexts(form):
    """Two of three pairs are pairs; counting the third as well would guarantee half as much again."""
    ahead, count = [], 1200
    for seed in range(5):
        rng, bandit, lift, kept = np.random.default_rng(seed), MonotoneBandit(GAP, MARGIN, random_state=seed), 0.0, 0.0
        for X, means, rewards in with_copies(rng, count, form):
            choice = bandit.choose(X)
            kept += (1 - choice.memo["rates"][0]) * 2 / 4
            lift += choice.probabilities @ means - means.mean()
            bandit.learn(choice, rewards[choice.arm])
        s = bandit.arrays()["experts"][:, 0]
        assert s[kernel.Expert.KEPT] == pytest.approx(kept)
        assert bandit.certificate().guaranteed_lift > 0
        ahead.append(lift - bandit.certificate().guaranteed_lift)
    assert np.mean(ahead) >= -4 * standard_error(ahead)


@pytest.mark.parametrize("update", ["inverse-margin", "paper"])
def test_equal_contexts_with_unequal_rewards_are_guaranteed_nothing(update):
    """Rewards .25 and .75, the worse arm first: the arm is random, the lift 0; nothing is guaranteed for it."""
    contexts = np.tile(np.array([[0.6, 0.8], [0.6, 0.8]]), (5000, 1, 1))
    rewards = np.tile([0.25, 0.75], (5000, 1))
    horizon = 5000 if update == "paper" else None
    bandit = MonotoneBandit(0.5, 0.5, horizon=horizon, random_state=0, update=update)
    arms = bandit.play(contexts, rewards).arms
    certificate = bandit.certificate()
    assert certificate.guaranteed_lift <= 0
    assert certificate.verdict == NOTHING
    if update == "inverse-margin":
        assert bandit.probabilities(contexts[0]).tolist() == [0.5, 0.5]
        assert abs(arms.mean() - 0.5) <= 4 * 0.5 / np.sqrt(5000)
        assert certificate.observed_lift == 0


def test_a_ranker_counts_pairs_of_different_contexts_only():
    """Unequal rewards of equal contexts: 0 guaranteed. With a third arm that differs, one or two pairs of three."""
    ranker = MonotoneRanker(0.5, 0.5)
    for _ in range(200):
        ranker.learn([[0.6, 0.8], [0.6, 0.8]], [0.25, 0.75])
    assert ranker.arrays()["experts"][kernel.Expert.KEPT, 0] == 0
    assert ranker.guaranteed_lift <= 0
    ranker = MonotoneRanker(0.5, 0.5)
    X = np.array([[0.6, 0.8], [0.6, 0.8], [-0.6, 0.8]])
    pairs = 0
    for _ in range(50):
        pairs += 2 if ranker.choose(X) == 2 else 1
        ranker.learn(X, [1.0, 1.0, 0.0])
    assert ranker.arrays()["experts"][kernel.Expert.KEPT, 0] == pytest.approx(pairs / 3)


ODD = np.array([0.1, 0.2, 0.3, 0.7])  # |x|^2 + |x|^2 - 2 x.x need not be 0 in floating point
NEARLY = ODD + np.array([0.0, 0.0, 1e-16, 0.0])
TINY = np.array([1e-200, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [(ODD, ODD, True), (ODD, NEARLY, False), (TINY, 2 * TINY, False), (TINY, 0 * TINY, False),
     (-0.0 * ODD, 0.0 * ODD, True), (np.array([0.6, 1e-9, 0, 0]), np.array([0.6, 0, 0, 0]), False)],
    ids=["equal", "last digit", "squares below the smallest number", "an entry less", "zeros", "a small entry less"],
)  # fmt: skip
def test_contexts_are_compared_entry_by_entry(form, one, two, equal):
    for X in (np.array([one, two]), np.array([two, one])):
        bandit = MonotoneBandit(GAP, MARGIN, random_state=0)
        choice = bandit.choose(form(X))
        assert bool(np.max(choice.memo["distances"]) == 0) is equal
        bandit.learn(choice, 1.0)
        assert bool(bandit.arrays()["experts"][kernel.Expert.KEPT, 0] == 0) is equal


# --------------------------------------------------------------------------------------------------- length of contexts


@pytest.mark.parametrize("kind", ["one expert", "paper"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_contexts_longer_than_1_are_refused_where_the_margin_is_known(kind, form):
    """By number, norm and what to do; nothing changes. Rounding is allowed."""
    X = np.eye(3, D)
    X[1] *= 10
    for bandit in (make(kind), trained(kind)):
        before = state(bandit)
        for call in (bandit.choose, bandit.probabilities):
            with pytest.raises(InvalidDataError, match=r"contexts\[1\] has norm 10, but margin=0.\d is .*margin=None"):
                call(form(X))
        with pytest.raises(InvalidDataError, match=r"contexts\[4, 1\] has norm 10, .*divide all contexts"):
            bandit.play(np.stack([np.eye(3, D)] * 4 + [X]), np.ones((5, 3)))
        assert all(np.array_equal(before[name], array) for name, array in state(bandit).items())
        assert bandit.choose(np.eye(3, D) * (1 + 1e-12)).arm in range(3)
    ranker = MonotoneRanker(margin=0.05)
    with pytest.raises(InvalidDataError, match=r"contexts\[1\] has norm 10, but margin=0.05"):
        ranker.learn(form(X), [0.0, 1.0, 0.0])
    assert ranker.rounds == 0
    assert ranker.predict_ranking(form(X)).tolist() == [0, 1, 2]  # scores need no margin


@pytest.mark.parametrize("length", [0.01, 0.1, 1.0])
def test_the_guarantee_holds_for_contexts_of_any_length_up_to_1(length):
    """The margin shrinks with the contexts. The steps are the same: g does not change if z and gamma are scaled."""
    ahead = []
    for seed in range(5):
        contexts, means, rewards = simpson(np.random.default_rng(seed), 3000, 2, GAP, MARGIN)
        bandit = MonotoneBandit(GAP, MARGIN * length, random_state=seed)
        arms = bandit.play(contexts * length, rewards).arms
        lift = np.sum(means[np.arange(3000), arms] - means.mean(axis=1))
        ahead.append(lift - bandit.certificate().guaranteed_lift)
    assert np.mean(ahead) >= -4 * standard_error(ahead)


@pytest.mark.parametrize("power", [-7, 7], ids=["norm 1/128", "norm 128"])
def test_the_default_bandit_does_not_mind_the_length_of_contexts(power):
    """Its margins are in units of the longest context: scaled by a power of two, every choice is the same."""
    contexts, _, rewards = simpson(np.random.default_rng(3), 1000, 3, 0.4, 0.4)
    plain, scaled = (MonotoneBandit(random_state=0) for _ in range(2))
    one, two = plain.play(contexts, rewards), scaled.play(contexts * 2.0**power, rewards)
    assert np.array_equal(one.arms, two.arms)
    assert np.array_equal(one.probabilities, two.probabilities)


def test_the_default_bandit_learns_from_contexts_of_all_lengths_at_once():
    """Norms from 0.01 to 100 in one stream: it does not end up playing at random."""
    rng = np.random.default_rng(4)
    contexts, means, rewards = simpson(rng, 6000, 2, GAP, MARGIN)
    contexts *= 10.0 ** rng.uniform(-2, 2, (6000, 1, 1))
    arms, chances = MonotoneBandit(random_state=0).play(contexts, rewards)
    late = np.arange(3000, 6000)
    assert np.mean(means[late, arms[late]] - means[late].mean(axis=1)) > 0.6 * GAP / 2
    assert chances[late].mean() > 0.9


# ------------------------------------------------------------------------------------------------------------ verdicts


def test_a_true_declaration_is_contradicted_no_more_often_than_the_confidence_allows():
    """400 runs, looked at after every 50 rounds: at most binomial(400, 0.2) contradictions, 80 + 4 sqrt(64)."""
    contradicted = 0
    for seed in range(400):
        contexts, _, rewards = simpson(np.random.default_rng(seed), 500, 2, GAP, MARGIN)
        bandit = MonotoneBandit(GAP, MARGIN, random_state=seed)
        holds = True
        for start in range(0, 500, 50):
            bandit.play(contexts[start : start + 50], rewards[start : start + 50])
            holds &= bandit.certificate(0.8).holds
        contradicted += not holds
    assert contradicted <= 112


def coins(gap, count=20_000):
    """A bandit whose arms all pay one half, whatever it was told."""
    rng = np.random.default_rng(0)
    contexts, _, _ = simpson(rng, count, 2, 0.5, 1.0)
    bandit = MonotoneBandit(gap, 1.0, random_state=0)
    bandit.play(contexts, (rng.random((count, 2)) < 0.5).astype(float))
    return bandit


def test_a_false_declaration_is_found_out_and_the_text_prints_no_guarantee():
    certificate = coins(1.0).certificate(0.99)
    assert certificate.verdict == CONTRADICTS
    assert not certificate.holds
    assert certificate.evidence >= 100
    assert str(certificate).endswith(certificate.sentence)
    assert certificate.sentence.startswith(f"{CONTRADICTS}: the lift seen, ")
    assert f"{certificate.guaranteed_lift:,.0f}" not in str(certificate)


def test_no_verdict_on_the_declaration_while_an_older_choice_waits():
    """Theorem 17(c) is for the first choices: learned, they contradict again."""
    bandit = coins(1.0)
    one, two = bandit.choose(np.eye(D)), bandit.choose(np.eye(D))
    assert bandit.certificate().verdict == CONTRADICTS  # both wait: what was learned came first
    bandit.learn(two, 0.5)
    held = bandit.certificate()
    assert (held.evidence, held.verdict) == (1.0, WITHIN)
    assert held.sentence.endswith("the difference may be chance")
    bandit.learn(one, 0.5)
    assert bandit.certificate().verdict == CONTRADICTS


def test_a_guarantee_of_nothing_is_never_printed_as_a_number():
    certificate = coins(0.01).certificate()
    assert certificate.guaranteed_lift < 0
    assert certificate.verdict == NOTHING
    assert certificate.sentence == (
        "guarantees nothing yet: after 20,000 rounds learning may still have cost more than the gap brings"
    )
    assert f"{certificate.guaranteed_lift:,.0f}" not in str(certificate)


def test_within_the_guarantee_says_both_numbers():
    contexts, _, rewards = simpson(np.random.default_rng(0), 5000, 2, GAP, MARGIN)
    bandit = MonotoneBandit(GAP, MARGIN, random_state=0)
    bandit.play(contexts, rewards)
    certificate = bandit.certificate()
    least, seen = round(certificate.guaranteed_lift), round(certificate.observed_lift)
    assert certificate.sentence.startswith(
        f"{WITHIN}: an expected lift of at least {least:,}, {seen:,} seen",
    )
    assert ("chance" in certificate.sentence) == (seen < least)
    assert str(certificate).splitlines()[0] == "5,000 rounds learned, gap 0.8, margin 0.5"


def test_a_bandit_that_knows_one_of_gap_and_margin_has_no_guarantee():
    kind = "floor"
    certificate = trained(kind).certificate()
    assert certificate.guaranteed_lift is None
    assert certificate.gap == KINDS[kind].get("gap")
    assert certificate.margin is None
    assert (certificate.verdict, certificate.holds, certificate.evidence) == (NOTHING, True, 1.0)
    assert certificate.sentence == f"{NOTHING}: there is no theorem for a bandit that knows one of gap and margin"


def test_algorithm_3_as_printed_guarantees_nothing_once_a_reward_came_late():
    contexts, _, rewards = simpson(np.random.default_rng(0), 3, 2, 0.9, 1.0)
    for late in (False, True):
        bandit = MonotoneBandit(0.9, 1.0, horizon=10**6, random_state=0, update="paper")
        first = bandit.choose(contexts[0])
        if not late:
            bandit.learn(first, 1.0)
        second = bandit.choose(contexts[1])
        if late:
            bandit.learn(first, 1.0)
        bandit.learn(second, 1.0)
        bandit.play(contexts[2:], rewards[2:])
        certificate = bandit.certificate()
        assert (certificate.guaranteed_lift is None) is late
        assert certificate.verdict == NOTHING
        assert ("rewards that come late" in certificate.sentence) is late
