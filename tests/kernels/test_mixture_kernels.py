"""The mixture keeps the laws of AdaHedge and of Prod on every path: Theorem 7 of docs/theory.md, round by round."""

import numpy as np
import pytest
from oracle import Mixture, Prod, coin
from scipy.special import logsumexp
from scipy.stats import chi2

from massart import theory
from massart.kernels.learning import mixture as kernel
from massart.kernels.learning.simd import LANES

LAZY = 17 / 16
ROUNDING = 1e-9
SEED = np.uint64(3)
NAMES = ["ROUNDS", "MISTAKES", "WEIGHT", "WEIGHT2", "HEAVIEST", "WRONG", "EXPECTED", "DRAWN", "VOTED", "GAP", "RATE"]
NAMES += ["TOTAL_THEN", "DRAWN_THEN", "BEST_THEN", "NEXT", "HEARD", "SPLIT", "PRIOR", "FAVOUR", "CHANCE"]
NAMES += ["COINS", "FIRST", "POSITIVES"]
PLACES = [kernel.Total[name] for name in NAMES]


def fresh(experts):
    """(M, t) before the first round, as learners.experts makes them."""
    M, t = np.zeros((len(kernel.Member), experts)), np.zeros(len(kernel.Total))
    M[[kernel.Member.SHARE, kernel.Member.VOICE]] = 1.0
    t[[kernel.Total.TOTAL, kernel.Total.TOTAL_THEN]] = experts
    t[[kernel.Total.PRIOR, kernel.Total.CHANCE]] = 0.5
    t[kernel.Total.FAVOUR] = 1.0
    return M, t


def padded(array):
    """With zeros behind the experts, up to a multiple of LANES, as the kernel of a pool has it."""
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % LANES)])


def answer(M, t, scores, voting, seed):
    return kernel.answer(padded(M), t, padded(scores), scores.size, voting, seed)


def judge(M, t, scores, given, vote, y, c, voting):
    members = padded(M)
    kernel.judge(members, t, padded(scores), scores.size, given, vote, y, c, voting)
    M[:] = members[:, : scores.size]


def gap_of(M, t):
    return kernel.gap_of(M, t, M.shape[1])


def signs(scores):
    return 2.0 * np.greater_equal(scores, 0.0) - 1.0


def close(found, expected, rel=ROUNDING, least=0.0):
    """Whether two numbers or arrays agree: pytest.approx, without the time it takes to be called so often."""
    return bool(np.all(np.abs(np.subtract(found, expected)) <= rel * np.abs(expected) + least))


# The label of a round from its number, the scores, the shares, the vote, the chance of a draw and a generator.
LABELS = {
    "truth": lambda r, s, p, vote, chance, rng: 1.0 if rng.random() < 0.9 else -1.0,
    "coins": lambda r, s, p, vote, chance, rng: rng.choice([-1.0, 1.0]),
    "against the vote": lambda r, s, p, vote, chance, rng: -signs(vote),
    "against the draws": lambda r, s, p, vote, chance, rng: -signs(p @ signs(s)),
    "against the likelier answer": lambda r, s, p, vote, chance, rng: (
        -signs(chance * (p @ signs(s)) + (1 - chance) * signs(vote))
    ),
    "against the leader": lambda r, s, p, vote, chance, rng: -signs(s[np.argmax(p)]),
    "bursts": lambda r, s, p, vote, chance, rng: -signs(vote) if r // 40 % 2 else -signs(p @ signs(s)),
    "one side, then the other": lambda r, s, p, vote, chance, rng: 1.0 if r // 100 % 2 else -1.0,
}
WEIGHTS = {
    "equal": lambda r, rng: 1.0,
    "random": lambda r, rng: 10.0 ** rng.uniform(-2, 2),
    "forgetting": lambda r, rng: np.exp(r / 40),
    "light, then heavy": lambda r, rng: 1e-6 if r < 20 else 1.0,
    "heavy, then light": lambda r, rng: 1e6 if r < 20 else 1.0,
    "doubling": lambda r, rng: 2.0 ** (r // 3 % 30),
    "tenths": lambda r, rng: (0.1, 0.2, 0.3, 0.7)[r % 4],
}
every_label = pytest.mark.parametrize("labels", LABELS)
every_weight = pytest.mark.parametrize("weights", WEIGHTS)


def stream(labels, weights, rounds, experts, seed):
    """(scores, label from what is known, weight) of each round: experts of any skill, with scores of any size."""
    rng = np.random.default_rng(seed)
    skill, size = np.linspace(0.9, 0.3, experts), 10.0 ** rng.uniform(-3, 3, size=experts)
    for r in range(rounds):
        right = rng.random(experts) < skill
        if r % 7 == 0:
            right[:] = right[0]  # all agree
        scores = np.where(right, 1.0, -1.0) * size * rng.pareto(2.0, size=experts)
        weight = WEIGHTS[weights](r, rng)
        yield scores, lambda p, vote, chance, r=r, s=scores: float(LABELS[labels](r, s, p, vote, chance, rng)), weight


def play(labels, weights, rounds=300, experts=7, seed=0, voting=kernel.SAMPLE, classes=(1.0, 1.0)):
    """Play a stream; yield, round by round, what was known before the label, and M and t after it.

    The weight of a round is that of its row times that of its label, `classes` for -1 and +1.
    """
    M, t = fresh(experts)
    for scores, label, row in stream(labels, weights, rounds, experts, seed):
        kernel.weigh(t, row * max(classes))
        before = M.copy(), t.copy()
        given, vote = answer(M, t, scores, voting, SEED)
        y = label(M[kernel.Member.SHARE] / t[kernel.Total.TOTAL], vote, t[kernel.Total.CHANCE])
        c = row * classes[int(y > 0)]
        judge(M, t, scores, given, vote, y, c, voting)
        yield scores, y, c, given, vote, before, M, t


@every_weight
@every_label
def test_mixture_follows_the_oracle_round_by_round(labels, weights):
    """Shares, rates, gap and chance from the sums of losses, where the kernel multiplies; experts may vanish."""
    follow(labels, weights, (1.0, 1.0))


@pytest.mark.parametrize("classes", [(1.0, 5.0), (0.5, 0.125)])
@every_weight
@every_label
def test_mixture_follows_the_oracle_with_class_weights(labels, weights, classes):
    follow(labels, weights, classes)


def follow(labels, weights, classes):
    """The mixture and the oracle play the same rounds; all that they remember agrees after each of them."""
    oracle = Mixture(7, seed=int(SEED))
    for r, (scores, y, c, given, _, _, M, t) in enumerate(play(labels, weights, classes=classes)):
        heavy = c / classes[int(y > 0)] * max(classes)
        assert close(given, oracle.round(scores, y, c, heavy)), f"round {r}"
        expected = [getattr(oracle, name.lower()) for name in NAMES]
        assert close(t[PLACES], expected, least=1e-12), f"{dict(zip(NAMES, t[PLACES] - expected, strict=True))}, {r}"
        assert close(M[kernel.Member.LOSS], oracle.loss)
        assert close(M[kernel.Member.POWER], oracle.power)
        shares = oracle.shares()
        assert close(M[kernel.Member.SHARE] / t[kernel.Total.TOTAL], shares / shares.sum(), least=ROUNDING)


@every_weight
@every_label
def test_shares_and_gap_are_those_of_adahedge(labels, weights):
    """p_e ~ exp(-rate loss_e); the gap is the sum of h_t - mix_t; the rate never rises and is late by a sixteenth."""
    losses, gap, drawn, last, heaviest = np.zeros(7), 0.0, 0.0, np.inf, 0.0
    for scores, y, c, _, _, (M, t), after, then in play(labels, weights):
        rate = t[kernel.Total.RATE] if t[kernel.Total.GAP] > 0 else np.inf
        assert rate <= last
        assert gap <= LAZY * t[kernel.Total.GAP] * (1 + ROUNDING) + 1e-12 * heaviest
        last, heaviest = rate, max(heaviest, c)
        p = M[kernel.Member.SHARE] / t[kernel.Total.TOTAL]
        assert close(M[kernel.Member.SHARE].sum(), t[kernel.Total.TOTAL], 1e-12)
        lead = losses - losses.min()
        expected = np.exp(-rate * lead) if rate < np.inf else (lead <= 0).astype(float)
        assert close(p, expected / expected.sum(), least=1e-7)
        lost = c * (signs(scores) != y)
        drawn += p @ lost
        after_round = losses + lost
        if rate < np.inf:
            mix = (logsumexp(-rate * lead) - logsumexp(-rate * (after_round - losses.min()))) / rate
        else:
            mix = after_round.min() - losses.min()
        gap += max(0.0, p @ lost - mix)
        losses = after_round
        assert close(after[kernel.Member.LOSS], losses, 1e-12)
        assert close(then[kernel.Total.DRAWN], drawn)
        assert close(gap_of(after, then), gap, 1e-7, 1e-9 * heaviest)
        assert then[kernel.Total.GAP] >= 0.0
        assert gap <= (then[kernel.Total.GAP] + then[kernel.Total.DOUBT]) * (1 + ROUNDING) + 1e-9 * heaviest
        assert drawn <= losses.min() + 2 * gap + 1e-9 * heaviest  # Theorem 7(b), on the path
    weight = then[kernel.Total.WEIGHT] / heaviest
    price = heaviest * theory.adahedge_price(7, weight, min(weight, losses.min() / heaviest), LAZY)
    assert drawn <= losses.min() + price


def test_gap_is_kept_to_a_sixteenth_with_few_logarithms():
    """The rate is set for a gap that is at most a sixteenth behind, in far fewer rounds than there are."""
    last, changes = 0.0, 0
    for *_, t in play("coins", "equal", rounds=3000):
        changes += t[kernel.Total.GAP] != last
        last = t[kernel.Total.GAP]
    # from the first gap, at least 1/7, to the last, one change per factor 17/16, and those at which voices are set
    voices = np.log(3000) / np.log(LAZY) + 1 / 0.0625
    assert changes <= np.log(7 * last) / np.log(LAZY) + voices
    assert last > 5


@every_weight
@every_label
def test_expected_losses_and_the_prices_of_prod(labels, weights):
    """Drawn, voted and expected losses recomputed; Theorem 7(d) on the path, with the split that n has had so far."""
    drawn = voted = expected = split = coins = 0.0
    for scores, y, c, given, vote, (M, t), _, then in play(labels, weights):
        p, chance = M[kernel.Member.SHARE] / t[kernel.Total.TOTAL], t[kernel.Total.CHANCE]
        wrong, missed = p @ (signs(scores) != y), float(signs(vote) != y)
        assert close(vote, M[kernel.Member.VOICE] @ scores)
        drawn += c * wrong
        voted += c * missed
        q = chance * wrong + (1 - chance) * missed  # the probability of a mistake before the coin
        expected += c * q
        coins += c**2 * q * (1 - q)
        assert close(then[kernel.Total.COINS], coins, least=1e-12 * then[kernel.Total.WEIGHT2])
        assert close(then[kernel.Total.DRAWN], drawn)
        assert close(then[kernel.Total.VOTED], voted, 1e-12)
        assert close(then[kernel.Total.EXPECTED], expected)
        assert (then[kernel.Total.WRONG] > t[kernel.Total.WRONG]) == (signs(given) != y)
        heaviest, split = then[kernel.Total.HEAVIEST], max(split, then[kernel.Total.SPLIT])
        assert expected <= voted + heaviest * theory.prod_default_price(split) * (1 + ROUNDING)
        assert expected <= drawn + heaviest * theory.prod_price(split) * (1 + ROUNDING)
        assert then[kernel.Total.PRIOR] <= t[kernel.Total.PRIOR]
        assert 1 <= 4 * then[kernel.Total.PRIOR] ** 2 * (1 + split) * (1 + ROUNDING) <= LAZY * (1 + ROUNDING) ** 2
        odds = then[kernel.Total.FAVOUR] * then[kernel.Total.PRIOR] / (1 - then[kernel.Total.PRIOR])
        assert close(then[kernel.Total.CHANCE], odds / (1 + odds))


@every_label
def test_majority_is_the_vote_alone(labels):
    for _, y, _, given, vote, (_, t), _, then in play(labels, "random", voting=kernel.MAJORITY):
        assert close(given, vote / t[kernel.Total.TOTAL], 1e-12)
        assert then[kernel.Total.EXPECTED] == then[kernel.Total.VOTED] == then[kernel.Total.WRONG]
        assert then[kernel.Total.COINS] == 0.0
        assert (then[kernel.Total.WRONG] > t[kernel.Total.WRONG]) == (signs(vote) != y)


def test_voices_are_shares_in_units_of_the_scores_size():
    """The size is the root mean square of the scores in the rounds heard, as it was when voices were last set."""
    squares, heard, size, last = np.zeros(7), 0.0, np.ones(7), 0.0
    for r, (scores, _, c, _, _, _, M, t) in enumerate(play("truth", "random", rounds=400), start=1):
        if r < 64 or r % 8 == 0:
            squares, heard = squares + c * scores**2, heard + c
        assert close(M[kernel.Member.POWER], squares / heard)
        if t[kernel.Total.NEXT] == LAZY * r:  # set in this round
            size, last = np.sqrt(squares / heard), r
        assert r <= max(LAZY * last, last + 1)
        assert close(M[kernel.Member.VOICE] * size, M[kernel.Member.SHARE])


def test_a_mistake_that_all_experts_make_costs_nothing():
    """Whatever the weights: the gap is what rounding leaves, never negative, and the shares stay equal."""
    for weights in ((1.0,), (0.1, 0.2, 0.3, 0.7), (0.7, 0.1, 0.2)):
        M, t = fresh(3)
        for r in range(40):
            kernel.weigh(t, weights[r % len(weights)])
            given, vote = answer(M, t, np.ones(3), kernel.SAMPLE, SEED)
            judge(M, t, np.ones(3), given, vote, -1.0, weights[r % len(weights)], kernel.SAMPLE)
            assert 0.0 <= t[kernel.Total.GAP] <= 1e-14
            assert np.array_equal(M[kernel.Member.SHARE], np.full(3, M[kernel.Member.SHARE, 0]))
        assert t[kernel.Total.DRAWN] == pytest.approx(t[kernel.Total.WRONG])
        assert gap_of(M, t) <= 1e-14


def test_a_leader_that_errs_keeps_its_share_however_small_the_gap():
    """A gap of 1/17, so exp(-rate) = 1e-21: who trails by two does not lead when the others err once."""
    M, t = fresh(17)
    last = np.where(np.arange(17) == 16, -1.0, 1.0)
    for y in (1.0, 1.0, -1.0):  # the last expert is wrong twice, then all others once
        kernel.weigh(t, 1.0)
        given, vote = answer(M, t, last, kernel.SAMPLE, SEED)
        judge(M, t, last, given, vote, y, 1.0, kernel.SAMPLE)
    assert M[kernel.Member.SHARE, 16] / t[kernel.Total.TOTAL] < 1e-20
    assert gap_of(M, t) == pytest.approx(1 / 17, rel=1e-6)


def test_no_share_is_lost_when_a_heavy_row_comes_late():
    """Rate times weight beyond 745 makes all shares vanish at once: the gap has to come from the losses.

    The second expert falls 0.5101 behind while the gap is 1e-4 / 2. Then the first loses 1, and the mixture 0.5101.
    """
    M, t = fresh(2)
    scores = np.array([1.0, -1.0])
    for y, c in [(1.0, 1e-4)] * 101 + [(1.0, 0.5), (-1.0, 1.0)]:
        kernel.weigh(t, c)
        given, vote = answer(M, t, scores, kernel.SAMPLE, SEED)
        judge(M, t, scores, given, vote, y, c, kernel.SAMPLE)
    assert gap_of(M, t) == pytest.approx(1.0 - 0.5101, abs=5e-4)  # ln 2 / rate = 5e-5, a few times
    for _ in range(2000):
        kernel.weigh(t, 1.0)
        given, vote = answer(M, t, scores, kernel.SAMPLE, SEED)
        y = -1.0 if M[kernel.Member.SHARE, 0] >= M[kernel.Member.SHARE, 1] else 1.0  # the leader is always wrong
        judge(M, t, scores, given, vote, y, 1.0, kernel.SAMPLE)
        assert np.isfinite(M).all()
        assert t[kernel.Total.TOTAL] > 0
    assert t[kernel.Total.DRAWN] <= M[kernel.Member.LOSS].min() + theory.adahedge_price(2, 2002, 1001, LAZY)


def test_extreme_scores_leave_numbers():
    M, t = fresh(4)
    for scores in ([1e150, -1e150, 0.0, 1e-160], [-0.0, 0.0, 1e300, -1e-300], [1.0, 1.0, 1.0, 1.0]) * 20:
        kernel.weigh(t, 1.0)
        given, vote = answer(M, t, np.array(scores), kernel.SAMPLE, SEED)
        assert not np.isnan(given)
        judge(M, t, np.array(scores), given, vote, 1.0, 1.0, kernel.SAMPLE)
    assert np.isfinite(M).all()
    assert np.isfinite(t).all()


def test_the_mistakes_are_what_was_expected_against_who_knows_all_but_the_coin():
    """Hoeffding: |WRONG - EXPECTED| <= sqrt(sum c^2 ln(2 / delta) / 2), delta = 1e-6 for each of 24 games."""
    for seed in range(3):
        for labels in LABELS:
            *_, (*_, t) = play(labels, "random", seed=seed)
            allowed = np.sqrt(0.5 * t[kernel.Total.WEIGHT2] * np.log(2 / 1e-6))
            assert abs(t[kernel.Total.WRONG] - t[kernel.Total.EXPECTED]) <= allowed
            assert t[kernel.Total.EXPECTED] > 0


@pytest.mark.parametrize("classes", [(1.0, 1.0), (0.5, 3.0)])
def test_prod_over_a_pair_follows_the_oracle(classes):
    rng = np.random.default_rng(0)
    rounds = 500
    steady, recent, y = (rng.normal(size=rounds) for _ in range(3))
    labels = signs(y).astype(np.int8)
    steady[:250] = np.abs(steady[:250]) * y[:250]  # the default is right at first
    recent[250:] = np.abs(recent[250:]) * y[250:]
    for weight in (np.empty(0), 10.0 ** rng.uniform(-2, 2, size=rounds)):
        for order in (np.empty(0, np.uint64), rng.permutation(rounds).astype(np.uint64)):
            t, answers, prod = fresh(2)[1], np.empty(rounds), Prod()
            first, second = (steady[order], recent[order]) if order.size else (steady, recent)
            kernel.mix_pair(first, second, (rounds, order, labels, weight), np.array(classes), SEED, t, answers)
            lost = np.zeros(4)  # default, other, expected, answered
            coins = positives = total = 0.0
            for n in range(rounds):
                i = int(order[n]) if order.size else n
                c = weight[i] if weight.size else 1.0
                prod.weigh(c * max(classes))
                assert n > 0 or t[kernel.Total.FIRST] == c * max(classes)
                c *= classes[int(labels[i] > 0)]
                chance = prod.chance
                toss = coin(int(SEED), n)
                assert answers[n] == (recent[i] if toss < chance else steady[i]), f"round {n}"
                a, b = float(signs(steady[i]) != labels[i]), float(signs(recent[i]) != labels[i])
                q = chance * b + (1 - chance) * a
                lost += c * np.array([a, b, q, signs(answers[n]) != labels[i]])
                coins, positives, total = coins + c * c * q * (1 - q), positives + c * (labels[i] > 0), total + c
                prod.compare(a, b, c)
            found = t[[kernel.Total.VOTED, kernel.Total.DRAWN, kernel.Total.EXPECTED, kernel.Total.WRONG]]
            assert found == pytest.approx(lost, rel=ROUNDING)
            assert t[kernel.Total.CHANCE] == pytest.approx(prod.chance, rel=ROUNDING)
            assert t[kernel.Total.ROUNDS] == rounds
            assert t[[kernel.Total.WEIGHT, kernel.Total.COINS, kernel.Total.POSITIVES]] == pytest.approx(
                [total, coins, positives]
            )


def coins(seed, count=64_000, start=0):
    return np.array([kernel.coin(np.uint64(seed), float(n)) for n in range(start, start + count)])


def assert_chance(counts, expected):
    """Pearson's chi-square, at a level of 1e-6."""
    counts, expected = np.ravel(counts), np.ravel(expected)
    assert ((counts - expected) ** 2 / expected).sum() <= chi2.isf(1e-6, counts.size - 1)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_coins_are_uniform_and_independent_of_their_neighbours(seed):
    tosses = coins(seed)
    assert tosses.min() >= 0.0
    assert tosses.max() < 1.0
    assert tosses[:50].tolist() == [coin(seed, n) for n in range(50)]
    assert_chance(np.histogram(tosses, bins=64, range=(0, 1))[0], np.full(64, 1000.0))
    cells = (8 * tosses).astype(int)
    for lag in (1, 2, 4, 8):
        pairs = np.bincount(8 * cells[:-lag] + cells[lag:], minlength=64)
        assert_chance(pairs, np.full(64, pairs.sum() / 64))
    for other in (seed ^ 1, ~seed % 2**64, seed ^ 0x5851F42D4C957F2D):  # the seeds of a pair of pools and their prod
        pairs = np.bincount(8 * cells + (8 * coins(other)).astype(int), minlength=64)
        assert_chance(pairs, np.full(64, 1000.0))


def test_an_expert_is_drawn_as_often_as_its_share_says():
    """One state, many coins: the vote with probability 1 - chance, expert e with chance * share."""
    M, t = fresh(4)
    M[kernel.Member.SHARE], M[kernel.Member.POWER], M[kernel.Member.VOICE] = (
        [0.5, 2.0, 0.0, 1.5],
        4.0,
        [1.0, 1.0, 0.0, 1.0],
    )
    t[kernel.Total.TOTAL], t[kernel.Total.CHANCE] = 4.0, 0.4
    scores = np.array([2.0, 4.0, 6.0, -8.0])
    counts = {}
    for n in range(20_000):
        t[kernel.Total.ROUNDS] = n
        given, vote = answer(M, t, scores, kernel.SAMPLE, SEED)
        assert vote == -2.0
        counts[given] = counts.get(given, 0) + 1
    answers = {-0.5: 0.6, 1.0: 0.4 / 8, 2.0: 0.4 / 2, -4.0: 0.4 * 3 / 8}  # in units of the scores' size
    assert counts.keys() == answers.keys()
    assert_chance([counts[a] for a in answers], 20_000 * np.array(list(answers.values())))
