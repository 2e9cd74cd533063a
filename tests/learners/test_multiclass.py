"""One learner per class: each learns its own question, the highest score answers, and all of them go together."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import Halfspace
from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.door import Rows
from massart.learners.drift import Drifting
from massart.learners.multiclass import OneVsRest
from massart.learners.pool import Pool

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 5))
LABELS = np.argmax(X[:, :3] + 0.3 * RNG.normal(size=(500, 3)), axis=1)
MEMBERS = {
    "halfspace": (Halfspace, lambda seed: Halfspace(5, 0.1, 0.05)),
    "experts": (Pool, lambda seed: Pool(5, seed=seed)),
    "majority": (Pool, lambda seed: Pool(5, voting="majority")),
    "drifting": (Drifting, lambda seed: Drifting(5, 30, seed=seed)),
}


def learner_of(kind):
    return OneVsRest([MEMBERS[kind][1](seed) for seed in range(3)])


@pytest.mark.parametrize("kind", MEMBERS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_members_learn_alone_and_the_highest_score_answers(kind, form):
    rows = Rows.of(form(X))
    together = learner_of(kind)
    answers = together.learn_rows(rows, LABELS)
    alone = [MEMBERS[kind][1](seed) for seed in range(3)]
    scores = np.stack([one.learn_many(rows, np.where(k == LABELS, 1, -1)) for k, one in enumerate(alone)])
    assert together.rounds == 500
    assert np.array_equal(answers, scores.argmax(axis=0))
    assert together.mistakes == np.count_nonzero(answers != LABELS)
    assert 20 < together.mistakes < 250
    for member, one in zip(together.members, alone, strict=True):
        for name, array in member.arrays().items():
            assert np.array_equal(array, one.arrays()[name]), name
    assert np.array_equal(together.leaders(), np.concatenate([one.leaders() for one in alone]))
    assert np.array_equal(together.columns(), np.concatenate([one.columns() for one in alone]))
    assert together.lower_noise_rate() == max(one.lower_noise_rate(1 - 0.01 / 3) for one in alone)


def test_of_equal_scores_the_first_class_answers():
    for label, mistakes in ((0, 0), (1, 1), (2, 1)):
        learner = learner_of("halfspace")
        assert learner.learn_rows(Rows.of(X[:1]), np.array([label])).tolist() == [0]
        assert learner.mistakes == mistakes


@pytest.mark.parametrize("kind", MEMBERS)
def test_weights_and_order(kind):
    """Rows taken in an order, with weights; mistakes are counted, and their weights are added up."""
    rng = np.random.default_rng(1)
    order, weight = rng.permutation(500)[:200].astype(np.uint64), rng.uniform(0.5, 2.0, size=500)
    taken = order.astype(int)
    ordered, plain = learner_of(kind), learner_of(kind)
    answers = ordered.learn_rows(Rows.of(X), LABELS, weight, order)
    wrong, given = 0.0, []
    for i in taken:
        before = plain.mistakes
        given += plain.learn_rows(Rows.of(X[i : i + 1]), LABELS[i : i + 1], weight[i : i + 1]).tolist()
        wrong += weight[i] * (plain.mistakes - before)
    assert answers.tolist() == given
    assert (ordered.rounds, ordered.mistakes) == (200, plain.mistakes)
    assert np.array_equal(ordered.leaders(), plain.leaders())
    assert ordered.certificate().mistakes == pytest.approx(wrong)
    assert ordered.certificate().rounds == pytest.approx(weight[taken].sum())


@pytest.mark.parametrize("kind", MEMBERS)
def test_averages_are_those_of_the_members(kind):
    together, one = learner_of(kind), MEMBERS[kind][1](1)
    average, own = together.new_average(), one.new_average()
    together.learn_rows(Rows.of(X), LABELS, average=average)
    one.learn_rows(Rows.of(X), np.where(LABELS == 1, 1, -1).astype(np.int8), average=own)
    total, weight = together.summed(average)
    assert weight == one.summed(own)[1] == 500
    assert np.array_equal(total[1], one.summed(own)[0][0])
    assert total.shape == (3, *one.summed(own)[0].shape[1:])


@pytest.mark.parametrize("kind", MEMBERS)
def test_copies_and_arrays_go_on_bit_for_bit(kind):
    learner = learner_of(kind)
    learner.learn_rows(Rows.of(X[:200]), LABELS[:200])
    again = OneVsRest.from_arrays({k: a.copy() for k, a in learner.arrays().items()}, MEMBERS[kind][0])
    twins = [learner.copy(), again]
    for each in (learner, *twins):
        each.learn_rows(Rows.of(X[200:]), LABELS[200:])
    for twin in twins:
        assert twin.mistakes == learner.mistakes
        for name, array in learner.arrays().items():
            assert np.array_equal(array, twin.arrays()[name]), name


def test_a_row_that_is_not_sound_teaches_nobody():
    learner = learner_of("experts")
    learner.learn_rows(Rows.of(X), LABELS)
    before = {name: array.copy() for name, array in learner.arrays().items()}
    broken = X.copy()
    broken[3, 1] = np.inf
    with pytest.raises(InvalidDataError, match="row 3, column 1"):
        learner.learn_rows(Rows.of(broken), LABELS)
    assert all(np.array_equal(array, before[name]) for name, array in learner.arrays().items())


def test_arrays_of_one_learner_per_class_only():
    arrays = learner_of("halfspace").arrays()
    for wrong in (
        {name: a for name, a in arrays.items() if not name.startswith("1.")},
        {name: a for name, a in arrays.items() if name.startswith("0.") or name == "totals"},
        arrays | {"totals": np.zeros(2)},
        arrays | {"totals": np.full(3, np.nan)},
        arrays | {"totals": np.full(4, np.nan)},
        arrays | {"totals": np.zeros(5)},
    ):
        with pytest.raises(ModelFileError):
            OneVsRest.from_arrays(wrong, Halfspace)
