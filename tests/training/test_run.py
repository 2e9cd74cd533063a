"""The training against `MassartClassifier`: the same rows give the same learner, whatever is left out on the way."""

import numpy as np
import pytest
import scipy.sparse as sp
from fake_reader import FakeReader, halfspace_rows

from massart import MassartClassifier
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.door import Rows
from massart.training import Callbacks, Settings, Training

X, Y = halfspace_rows()
SPARSE = halfspace_rows(columns=100, density=0.1, seed=1)
KNOWN = {"noise_rate": 0.1, "margin": 0.05}


def classifier(settings, rows, labels, weight=None):
    model = MassartClassifier(
        settings.noise_rate, settings.margin, settings.horizon, update=settings.update, random_state=settings.seed
    )
    return model.partial_fit(rows, labels, classes=[-1, 1], sample_weight=weight)


def same_arrays(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize(
    "options",
    [KNOWN, {}, {"noise_rate": 0.1}, {"margin": 0.05}, {"horizon": 50}, {**KNOWN, "update": "paper"}, {"seed": 7}],
)
@pytest.mark.parametrize("dense", [True, False])
def test_the_learner_is_that_of_the_classifier(options, dense):
    settings = Settings(**options)
    training = Training(FakeReader(X, Y, dense=dense, size=77), settings)
    summary = training.run()
    expected = classifier(settings, X if dense else sp.csr_matrix(X), Y)
    same_arrays(training.trainer.first.arrays(), expected._learner.arrays())
    assert (summary.rows, summary.mistakes) == (expected.rounds_, expected.mistakes_)
    assert summary.certificate == expected.certificate()
    assert summary.noise_rate == expected.noise_rate_
    assert summary.features == np.count_nonzero(expected.coef_)


def test_columns_that_turn_up_later_are_as_if_known_from_the_start():
    rows, labels = SPARSE
    rows = rows.copy()
    rows[:200, 80:] = 0.0
    late = Training(FakeReader(rows, labels, size=50), Settings(**KNOWN))
    late.run()
    early = Training(FakeReader(rows, labels, size=50, schema=Schema("svmlight", features=100)), Settings(**KNOWN))
    early.run()
    late.trainer.trim(100)
    same_arrays(late.trainer.first.arrays(), early.trainer.first.arrays())


def test_rows_without_a_label_or_an_importance_are_left_out_and_counted():
    labels, weight = Y.copy(), np.ones(len(Y))
    labels[::7] = 0
    weight[::5] = 0.0
    weight[1::5] = 2.5
    summary = (training := Training(FakeReader(X, labels, weight=weight, dense=True), Settings(**KNOWN))).run()
    taken = (labels != 0) & (weight > 0)
    expected = classifier(training.settings, X[taken], labels[taken], weight[taken])
    same_arrays(training.trainer.first.arrays(), expected._learner.arrays())
    assert summary.rows == taken.sum()
    assert summary.unlabelled == (labels == 0).sum()
    assert summary.weightless == ((labels != 0) & (weight == 0)).sum()


def test_every_nth_row_is_kept_apart_and_measures():
    training = Training(FakeReader(X, Y, size=47), Settings(**KNOWN, holdout=10))
    summary = training.run()
    apart = np.arange(1, len(Y) + 1) % 10 == 0
    expected = classifier(training.settings, sp.csr_matrix(X[~apart]), Y[~apart])
    same_arrays(training.trainer.first.arrays(), expected._learner.arrays())
    wrong = int((expected.predict(sp.csr_matrix(X[apart])) != Y[apart]).sum())
    assert summary.holdout == ((60, wrong),)
    assert summary.held_out == 60
    assert summary.holdout_error == wrong / 60


def test_a_file_of_its_own_measures():
    other, labels = halfspace_rows(seed=5)
    training = Training(
        FakeReader(X, Y), Settings(**KNOWN, holdout="other.svm"), holdout=FakeReader(other, labels, dense=True)
    )
    summary = training.run()
    weights = training.trainer.weights()
    wrong = int(((other @ weights[:-1] + weights[-1] >= 0) != (labels > 0)).sum())
    assert summary.rows == len(Y)
    assert summary.holdout == ((len(labels), wrong),)


@pytest.mark.parametrize("options", [KNOWN, {}, {"horizon": 50}])
def test_later_passes_go_on_with_a_copy(options):
    settings = Settings(**options, passes=3)
    training = Training(FakeReader(X, Y, dense=True), settings)
    training.run()
    first = settings.learner(X.shape[1])
    rows = Rows.of(X)
    first.learn_rows(rows, Y)
    again = first.copy()
    again.learn_rows(rows, Y)
    again.learn_rows(rows, Y)
    same_arrays(training.trainer.first.arrays(), first.arrays())
    np.testing.assert_array_equal(training.trainer.kept, again.leaders()[0])


def test_the_weights_of_the_best_pass_are_kept():
    # With many passes over few noisy rows, the error on rows kept apart goes up and down.
    rows, labels = halfspace_rows(120, 20, noise=0.25, seed=3)
    settings = Settings(**KNOWN, passes=8, holdout=3)
    training = Training(FakeReader(rows, labels, dense=True), settings)
    summary = training.run()
    apart = np.arange(1, len(labels) + 1) % 3 == 0
    learner, errors, weights = settings.learner(20), [], []
    for _ in range(8):
        learner.learn_rows(Rows.of(rows), labels, order=np.flatnonzero(~apart).astype(np.uint64))
        weights.append(learner.leaders()[0].copy())
        errors.append(int(((rows[apart] @ weights[-1][:-1] + weights[-1][-1] >= 0) != (labels[apart] > 0)).sum()))
    best = int(np.argmin(errors))
    assert [wrong for _, wrong in summary.holdout] == errors
    assert 0 < best < 7  # otherwise nothing is tested
    assert summary.best_pass == best + 1
    np.testing.assert_array_equal(training.trainer.kept, weights[best])
    assert summary.holdout_error == errors[best] / apart.sum()


class Notes(Callbacks):
    def __init__(self):
        self.steps, self.errors, self.measures, self.begun = [], [], [], 0

    def begin(self, training):
        self.begun += 1

    def step(self, step):
        self.steps.append(step)

    def row_error(self, error):
        self.errors.append(error)

    def measured(self, passed, measured):
        self.measures.append((passed, *measured))


def test_callbacks_are_called_for_everything():
    notes = Notes()
    flaws = [(3, "index 0; svmlight counts from 1"), (70, "label 'x' is no number"), (71, "label 'y' is no number")]
    reader = FakeReader(X, Y, flaws=flaws, size=50)
    summary = Training(reader, Settings(**KNOWN, passes=2, holdout=4), callbacks=notes).run()
    assert [error.line for error in notes.errors] == [7, 141, 143]  # of the first pass only
    assert summary.row_errors == {"index 0": 1, "label ... is no number": 2}
    assert notes.begun == 2
    assert [(passed, rows) for passed, rows, _ in notes.measures] == [(1, 150), (2, 150)]
    first = notes.steps[: len(notes.steps) // 2]
    assert sum(step.size for step in first) == summary.rows == 450
    assert sum(int(step.wrong.sum()) for step in first) == summary.mistakes
    assert first[0].row(3) == 4  # the fourth row is kept apart
    assert first[0].features(3) == np.count_nonzero(X[4])


def test_strict_stops_at_the_first_error():
    reader = FakeReader(X, Y, flaws=[(100, "expected a number")])
    with pytest.raises(
        InvalidDataError, match=r"rows.svm, line 201, column 3: expected a number \(with `strict=False` the row"
    ):
        Training(reader, Settings(strict=True)).run()


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (FakeReader(np.zeros((0, 3)), []), "rows.svm holds no row"),
        (FakeReader(X[:5], np.zeros(5)), "0 have errors and 5 no label"),
        (FakeReader(X[:1], [0], flaws=[(0, "label 'x'; say")]), "1 have errors and 1 no label; the first error is of"),
    ],
)
def test_nothing_to_learn_is_an_error(reader, words, tmp_path):
    with pytest.raises(InvalidDataError, match=f"there is nothing to learn: .*{words}"):
        Training(reader, Settings(), model=tmp_path / "m.massart").run()
    assert list(tmp_path.iterdir()) == []


def test_a_holdout_without_rows_says_so_and_keeps_the_last_weights():
    training = Training(FakeReader(X, Y), Settings(**KNOWN, holdout=10_000, passes=2))
    summary = training.run()
    assert summary.holdout_error is None
    assert "no row was kept apart" in "\n".join(summary.lines())
    np.testing.assert_array_equal(training.trainer.kept, training.trainer.weights())
