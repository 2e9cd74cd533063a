"""Who learns: growth, weights for another number of columns, and scores against NumPy."""

import numpy as np
import pytest
from fake_reader import FakeReader, halfspace_rows

from massart.errors import InvalidDataError
from massart.training.pupil import Pupil, fitted, scores_of
from massart.training.settings import Settings

X, Y = halfspace_rows(200, 90, density=0.3)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("width", [90, 40, 120])
def test_scores_are_products_and_unknown_columns_count_for_nothing(dense, width):
    weights = np.random.default_rng(0).normal(size=width + 1)
    chunk = FakeReader(X, Y, dense=dense, size=200).chunk(0, 200)
    expected = X @ fitted(weights, 90)[:-1] + weights[-1]
    np.testing.assert_allclose(scores_of(chunk, weights), expected, rtol=0, atol=1e-12)


def test_scores_of_float32_rows():
    chunk = FakeReader(X, Y, dense=True, size=200).chunk(0, 200)
    narrow = chunk.rows.astype(np.float32)
    weights = np.random.default_rng(0).normal(size=91)
    expected = narrow.astype(np.float64) @ weights[:-1] + weights[-1]
    np.testing.assert_allclose(scores_of(type(chunk)(**{**vars(chunk), "rows": narrow}), weights), expected, atol=1e-12)


def test_room_doubles_where_more_may_come_and_is_exact_where_the_number_is_known():
    pupil = Pupil(Settings(noise_rate=0.1, margin=0.1))
    pupil.make_room(5, grows=True)
    assert pupil.width == 5
    pupil.make_room(4, grows=True)
    assert pupil.width == 5
    pupil.make_room(33, grows=True)
    assert pupil.width == 64
    pupil.trim(70)
    assert pupil.width == 70
    with pytest.raises(InvalidDataError, match="the rows have 69 columns, but the model was trained on 70"):
        pupil.make_room(69, grows=False)


def test_trimmed_it_predicts_the_same():
    pupil = Pupil(Settings())
    pupil.make_room(90, grows=True)
    pupil.make_room(91, grows=True)
    pupil.learn(FakeReader(X, Y, size=200).chunk(0, 200), None)
    pupil.begin_again()
    before = fitted(pupil.weights(), 90)
    pupil.trim(90)
    assert pupil.width == 90
    np.testing.assert_array_equal(pupil.weights(), before)
    assert pupil.first.leaders().shape == (1, 91)


def test_labels_that_may_not_change_are_copied():
    chunk = FakeReader(X, Y, size=200).chunk(0, 200)
    chunk.y.flags.writeable = False
    pupil = Pupil(Settings())
    pupil.make_room(90, grows=True)
    assert np.isfinite(pupil.learn(chunk, None)).all()


def test_rows_too_long_for_a_learner_that_does_not_scale_them():
    chunk = FakeReader(X * 1e60, Y, size=200).chunk(0, 200)
    pupil = Pupil(Settings(normalize=False))
    pupil.make_room(90, grows=True)
    with pytest.raises(InvalidDataError, match="too large to compute with"):
        pupil.learn(chunk, None)


def test_who_has_learned_nothing_has_no_weights():
    with pytest.raises(InvalidDataError, match="nothing was learned"):
        Pupil(Settings()).weights()
