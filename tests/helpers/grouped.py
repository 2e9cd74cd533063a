"""A learner of groups that has met some."""

import numpy as np

from massart.learners.groups import Grouped


def grouped(width: int, **options: object) -> Grouped:
    """A learner of rows of this width that has learned eight of them, in two overlapping divisions into groups."""
    learner = Grouped(width, **options)
    X = np.random.default_rng(0).normal(size=(8, width))
    learner.learn_many(X, np.where(X.sum(axis=1) > 0, 1, -1), np.column_stack([np.arange(8) % 2, np.arange(8) // 4]))
    return learner
