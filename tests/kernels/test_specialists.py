"""Specialists against a plain transcription, and Theorem 21(a) on every path: adversaries, late and tiny groups."""

import numpy as np
import pytest

from massart import theory
from massart.kernels.learning.elementary import coin
from massart.kernels.learning.mixture import MAJORITY, SAMPLE
from massart.kernels.learning.specialists import LEAST, RATES, Count, mix_specialists, shares_of

LAMBDA = 0.5 ** np.arange(1, RATES + 1)
SEED = np.uint64(7)


def priors(groups):
    """Of everybody, and of the two specialists of each group."""
    own = [theory.group_prior(k) for k in range(1, groups + 1) for _ in range(2)]
    return np.array([theory.everybody_prior(), *own])


def fresh(groups):
    omega = np.repeat(priors(groups)[:, None] / RATES, RATES, axis=1)
    return omega, np.zeros((1 + groups, len(Count)))


def mixed(common, own, starts, numbers, y, omega, counts, weight=(), classes=(1.0, 1.0), voting=SAMPLE):
    answers, order = np.empty(len(y)), np.arange(len(y), dtype=np.uint64)
    batch = len(y), order, y.astype(np.int8), np.array(weight, dtype=np.float64)
    members = starts.astype(np.uint32), numbers.astype(np.uint32)
    how = voting, SEED
    mix_specialists(common, own, members, batch, np.array(classes), how, omega, counts, answers)
    return answers


def transcribed(common, own, starts, numbers, y, omega, weight, voting):
    """Theorem 21's algorithm, as it is written there; h of every round."""
    answers, expected = [], []
    for t in range(len(y)):
        places = range(starts[t], starts[t + 1])
        awake = [0, *(i for m in places for i in (1 + 2 * numbers[m], 2 + 2 * numbers[m]))]
        said = [common[t], *(s for m in places for s in (own[m], common[t]))]
        p = omega[awake] @ LAMBDA
        wrong = np.array([(s >= 0) != (y[t] > 0) for s in said])
        h = p[wrong].sum() / p.sum()
        by_common = p[[i == 0 or i % 2 == 0 for i in awake]].sum()
        others = [(p[1 + 2 * n], own[m]) for n, m in enumerate(places)]
        if voting == MAJORITY:
            best, answer = by_common, common[t]
            for share, score in others:
                if share > best:
                    best, answer = share, score
        else:
            left, answer = coin(SEED, float(t)) * p.sum() - by_common, common[t]
            for share, score in others:
                answer = score if left >= 0 else answer
                left -= share
        omega[awake] *= 1 + LAMBDA * weight[t] * (h - wrong[:, None])
        answers.append(answer)
        expected.append(h)
    return np.array(answers), np.array(expected)


def members_of(inside):
    """(starts, numbers) of a matrix that says which round is in which group."""
    return np.concatenate(([0], np.cumsum(inside.sum(axis=1)))), np.nonzero(inside)[1]


@pytest.mark.parametrize("voting", [SAMPLE, MAJORITY])
def test_it_is_the_algorithm_of_the_theorem(voting):
    rng = np.random.default_rng(0)
    inside = rng.random((300, 3)) < 0.5
    starts, numbers = members_of(inside)
    common, own, y = rng.normal(size=300), rng.normal(size=numbers.size), np.where(rng.random(300) < 0.5, 1, -1)
    weight = rng.random(300)
    omega, counts = fresh(3)
    expected, h = transcribed(common, own, starts, numbers, y, omega.copy(), weight, voting)
    answers = mixed(common, own, starts, numbers, y, omega, counts, weight, voting=voting)
    np.testing.assert_array_equal(answers, expected)
    wrong = (answers >= 0) != (y > 0)
    h = h if voting == SAMPLE else wrong
    for row, rounds in enumerate([np.ones(300, bool), *inside.T]):
        known = [rounds.sum(), (wrong & rounds).sum(), weight[wrong & rounds].sum(), (weight * h)[rounds].sum()]
        known += [(weight**2 * h * (1 - h))[rounds].sum(), weight[((common >= 0) != (y > 0)) & rounds].sum()]
        np.testing.assert_allclose(counts[row], known, rtol=1e-12)


def play(rounds, groups, inside, adversary, seed):
    """Theorem 21(a) round by round, with labels that an adversary picks after a look at the weights."""
    rng = np.random.default_rng(seed)
    omega, counts = fresh(groups)
    squares, losses, expected = (np.zeros(1 + 2 * groups) for _ in range(3))
    for t in range(rounds):
        numbers = np.flatnonzero(inside[t])
        common, own = rng.normal(size=1), rng.normal(size=numbers.size)
        shares = np.empty(1 + 2 * groups)
        shares_of(omega, shares)
        plus = shares[0] * (common[0] >= 0) + sum(
            shares[1 + 2 * g] * (s >= 0) + shares[2 + 2 * g] * (common[0] >= 0)
            for g, s in zip(numbers, own, strict=True)
        )
        total = shares[0] + sum(shares[1 + 2 * g] + shares[2 + 2 * g] for g in numbers)
        if adversary == "against the draw":
            y = -1 if 2 * plus >= total else 1
        elif adversary == "one group is right" and numbers.size:
            y = 1 if own[0] >= 0 else -1
        else:
            y = 1 if rng.random() < 0.5 else -1
        h = (total - plus if y > 0 else plus) / total
        before = counts[0, Count.EXPECTED]
        mixed(common, own, np.array([0, numbers.size]), numbers, np.array([y]), omega, counts)
        assert counts[0, Count.EXPECTED] - before == pytest.approx(h, abs=1e-9)
        for i, said in [(0, common[0]), *((1 + 2 * g, s) for g, s in zip(numbers, own, strict=True))] + [
            (2 + 2 * g, common[0]) for g in numbers
        ]:
            loss = float((said >= 0) != (y > 0))
            losses[i] += loss
            expected[i] += h
            squares[i] += (h - loss) ** 2
    return omega, squares, losses, expected


@pytest.mark.parametrize("adversary", ["against the draw", "one group is right", "coins"])
def test_every_specialist_keeps_its_bound_on_every_path(adversary):
    """No statistics: the inequality holds on each path. Groups overlap, one comes late, one has three rounds."""
    rounds, groups = 1500, 4
    inside = np.random.default_rng(1).random((rounds, groups)) < [0.5, 0.2, 0.9, 0.0]
    inside[:1000, 1] = False
    inside[[5, 700, 1400], 3] = True
    for seed in range(2):
        omega, squares, losses, expected = play(rounds, groups, inside, adversary, seed)
        assert omega.sum() <= priors(groups).sum() + 1e-9
        for i, prior in enumerate(priors(groups)):
            assert expected[i] <= losses[i] + theory.specialist_price(squares[i], prior) + 1e-6


def test_the_weights_always_add_up_to_what_they_did_and_stay_positive():
    rng = np.random.default_rng(3)
    inside = np.ones((20_000, 1), bool)
    starts, numbers = members_of(inside)
    common, y = np.ones(20_000), -np.ones(20_000)  # everybody's learner always errs, the group's is always right
    omega, counts = fresh(1)
    mixed(common, -rng.random(20_000), starts, numbers, y, omega, counts)
    assert omega.sum() == pytest.approx(priors(1).sum(), abs=1e-9)
    assert omega.min() >= LEAST
    assert counts[1, Count.MISTAKES] <= theory.specialist_price(counts[1, Count.EXPECTED], 0.125) + 60


def test_class_weights_count_in_units_of_the_heavier_one():
    rng = np.random.default_rng(4)
    inside = rng.random((400, 2)) < 0.6
    starts, numbers = members_of(inside)
    common, own, y = rng.normal(size=400), rng.normal(size=numbers.size), np.where(rng.random(400) < 0.5, 1, -1)
    (one, _), (two, counts) = fresh(2), fresh(2)
    mixed(common, own, starts, numbers, y, one, counts.copy(), weight=np.where(y > 0, 1.0, 0.2))
    mixed(common, own, starts, numbers, y, two, counts, classes=(2.0, 10.0))
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_mistakes_of_draws_are_what_was_expected():
    """|M - H| stays below 4 standard deviations, of which COINS is the square: a chance of 1e-4 for each group."""
    rng = np.random.default_rng(5)
    inside = rng.random((20_000, 3)) < [0.5, 0.1, 0.02]
    starts, numbers = members_of(inside)
    y = np.where(rng.random(20_000) < 0.5, 1, -1)
    common = y * np.where(rng.random(20_000) < 0.3, -1.0, 1.0)
    own = np.repeat(y, inside.sum(axis=1)) * np.where(rng.random(numbers.size) < 0.3, -1.0, 1.0)
    omega, counts = fresh(3)
    mixed(common, own, starts, numbers, y, omega, counts)
    off = np.abs(counts[:, Count.MISTAKES] - counts[:, Count.EXPECTED])
    assert np.all(off <= 4 * np.sqrt(counts[:, Count.COINS]))
    assert np.all(counts[:, Count.COINS] > 1)
