"""The trainer of chunks: growth, weights for another number of columns, and scores against NumPy."""

import numpy as np
import pytest
from fake_reader import FakeReader, halfspace_rows

from massart.errors import InvalidDataError
from massart.training.chunk_trainer import ChunkTrainer, with_columns
from massart.training.scoring import scores_of
from massart.training.settings import Settings

X, Y = halfspace_rows(200, 90, density=0.3)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("width", [90, 40, 120])
def test_scores_are_products_and_unknown_columns_count_for_nothing(dense, width):
    weights = np.random.default_rng(0).normal(size=width + 1)
    chunk = FakeReader(X, Y, dense=dense, size=200).chunk(0, 200)
    expected = X @ with_columns(weights, 90)[:-1] + weights[-1]
    np.testing.assert_allclose(scores_of(chunk, weights), expected, rtol=0, atol=1e-12)


def test_scores_of_float32_rows():
    chunk = FakeReader(X, Y, dense=True, size=200).chunk(0, 200)
    narrow = chunk.rows.astype(np.float32)
    weights = np.random.default_rng(0).normal(size=91)
    expected = narrow.astype(np.float64) @ weights[:-1] + weights[-1]
    np.testing.assert_allclose(scores_of(type(chunk)(**{**vars(chunk), "rows": narrow}), weights), expected, atol=1e-12)


def test_room_doubles_where_more_may_come_and_is_exact_where_the_number_is_known():
    trainer = ChunkTrainer(Settings(noise_rate=0.1, margin=0.1))
    trainer.make_room(5)
    assert trainer.width == 5
    trainer.make_room(4)
    assert trainer.width == 5
    trainer.make_room(33)
    assert trainer.width == 64
    trainer.trim(70)
    assert trainer.width == 70
    known = ChunkTrainer(Settings(), columns=69).restore(trainer.first)
    with pytest.raises(InvalidDataError, match="the rows have 69 columns, but the model was trained on 70"):
        known.make_room(69)


def test_trimmed_it_predicts_the_same():
    trainer = ChunkTrainer(Settings())
    trainer.make_room(90)
    trainer.make_room(91)
    trainer.learn_rows(FakeReader(X, Y, size=200).chunk(0, 200))
    trainer.begin_again()
    before = with_columns(trainer.weights(), 90)
    trainer.trim(90)
    assert trainer.width == 90
    np.testing.assert_array_equal(trainer.weights(), before)
    assert trainer.first.leaders().shape == (1, 91)


def test_labels_that_may_not_change_are_copied():
    chunk = FakeReader(X, Y, size=200).chunk(0, 200)
    chunk.y.flags.writeable = False
    trainer = ChunkTrainer(Settings())
    trainer.make_room(90)
    assert np.isfinite(trainer.learn_rows(chunk)).all()


def test_rows_too_long_for_a_learner_that_does_not_scale_them():
    chunk = FakeReader(X * 1e60, Y, size=200).chunk(0, 200)
    trainer = ChunkTrainer(Settings(normalize=False))
    trainer.make_room(90)
    with pytest.raises(InvalidDataError, match="too large to compute with"):
        trainer.learn_rows(chunk)


def test_who_has_learned_nothing_has_no_weights():
    with pytest.raises(InvalidDataError, match="nothing was learned"):
        ChunkTrainer(Settings()).weights()
