"""Counts of answers: precision, recall, the area under the curve, and classes that join."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, log_loss, precision_score, recall_score, roc_auc_score

from massart.errors import ModelFileError
from massart.training.answers import MOST_IN_TABLE, Answers


@pytest.mark.parametrize("known", [2, 5, MOST_IN_TABLE, MOST_IN_TABLE + 1])
def test_precision_and_recall_are_those_of_scikit_learn(known):
    rng = np.random.default_rng(known)
    classes, guesses = rng.integers(0, known, 500), rng.integers(0, known, 500)
    answers = Answers()
    for part in (slice(0, 100), slice(100, 500)):
        answers.count(classes[part], guesses[part], known)
    names = list(range(known))
    assert [answers.recall(k) for k in names] == pytest.approx(recall_score(classes, guesses, average=None))
    assert [answers.precision(k) for k in names] == pytest.approx(precision_score(classes, guesses, average=None))
    assert answers.rows == np.bincount(classes).tolist()
    expected = confusion_matrix(classes, guesses).tolist() if known <= MOST_IN_TABLE else []
    assert answers.table == expected


def test_the_area_is_that_of_scikit_learn_but_for_ties_within_a_bin():
    rng = np.random.default_rng(0)
    positive = rng.random(4000) < 0.3
    for scale in (1e-6, 1.0, 50.0):
        scores = scale * (rng.normal(size=4000) + positive)
        answers = Answers()
        answers.count_scores(positive[:1500], scores[:1500])
        answers.count_scores(positive[1500:], scores[1500:])
        # A pair of scores in one bin counts half, whichever is higher; these bins are twice as wide as the real ones.
        keys = np.floor((np.frexp(scores)[1] + np.abs(np.frexp(scores)[0])) * 8) * np.sign(scores)
        same = sum(
            np.count_nonzero(positive & (keys == key)) * np.count_nonzero(~positive & (keys == key))
            for key in np.unique(keys)
        )
        slack = 0.5 * same / (np.count_nonzero(positive) * np.count_nonzero(~positive))
        assert answers.auc == pytest.approx(roc_auc_score(positive, scores), abs=slack)
        assert slack < 0.02


def test_nothing_is_said_of_one_class():
    answers = Answers()
    assert (answers.auc, answers.log_loss) == (None, None)
    answers.count_scores(np.ones(3, bool), np.zeros(3))
    assert answers.auc is None
    answers.count(np.zeros(3, np.int64), np.zeros(3, np.int64), 2)
    assert (answers.recall(0), answers.recall(1), answers.precision(1)) == (1.0, None, None)


def test_extreme_scores_are_in_the_last_bins():
    answers = Answers()
    answers.count_scores(
        np.array([True, False] * 3), np.array([np.finfo(float).max, -1e300, 5e-324, 0.0, -0.0, 1e-200])
    )
    assert sum(map(sum, answers.bins)) == 6
    assert (answers.bins[1][-1], answers.bins[0][0]) == (1, 1)


def test_log_loss():
    rng = np.random.default_rng(1)
    chances = rng.random(50)
    answers = Answers()
    answers.count_probabilities(chances[:20])
    answers.count_probabilities(chances[20:])
    assert answers.log_loss == pytest.approx(log_loss(np.ones(50), np.c_[1 - chances, chances], labels=[0, 1]))
    answers.count_probabilities(np.zeros(1))
    assert np.isfinite(answers.log_loss)


def test_classes_that_join_move_the_others():
    answers = Answers()
    answers.count(np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    answers.move(np.array([0, 2]), 3)
    answers.count(np.array([1]), np.array([2]), 3)
    assert answers.table == [[1, 0, 0], [0, 0, 1], [1, 0, 1]]
    assert (answers.rows, answers.answered, answers.right) == ([1, 1, 2], [2, 0, 2], [1, 0, 1])
    answers.move(np.arange(3), MOST_IN_TABLE + 1)
    assert answers.table == []


def test_what_a_file_says_is_checked():
    answers = Answers()
    answers.count(np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    answers.count_scores(np.array([True]), np.array([1.0]))
    assert Answers.from_dict(answers.asdict()) == answers
    for wrong in ({"right": [1]}, {"table": [[1, 2]]}, {"bins": [[1], [2]]}):
        with pytest.raises(ModelFileError, match="counts of answers"):
            Answers.from_dict(answers.asdict() | wrong)
