"""The random parts reward worlds are made of: the order of the arms, their scores, directions and rewards."""

import numpy as np
import numpy.typing as npt

from massart.worlds.base import Matrix
from massart.worlds.rewards.base import Contexts

__all__ = ["coin_rewards", "on_sphere", "shuffled_ranks", "shuffled_steps", "spaced_scores"]


def shuffled_ranks(rng: np.random.Generator, count: int, arms: int) -> npt.NDArray[np.intp]:
    """Give each round a random order of the ranks 0 (worst) to arms - 1 (best): position tells nothing.

    >>> shuffled_ranks(np.random.default_rng(0), count=3, arms=4).sum(axis=1).tolist()
    [6, 6, 6]
    """
    ranks = np.empty((count, arms), dtype=np.intp)
    ranks[:] = np.arange(arms)
    return rng.permuted(ranks, axis=1, out=ranks)


def shuffled_steps(rng: np.random.Generator, count: int, arms: int) -> Matrix:
    """Give the same order as steps from the middle rank, -(arms - 1)/2 to (arms - 1)/2.

    >>> sorted(shuffled_steps(np.random.default_rng(0), count=1, arms=4)[0].tolist())
    [-1.5, -0.5, 0.5, 1.5]
    """
    steps = shuffled_ranks(rng, count, arms).astype(np.float64)
    steps -= 0.5 * (arms - 1)
    return steps


def spaced_scores(rng: np.random.Generator, count: int, arms: int, apart: float, reach: float) -> Matrix:
    """Draw rising scores in [-reach, reach], uniform among those with neighbours at least `apart` apart.

    s_i = -reach + i apart + (2 reach - (k-1) apart) u_(i), where u_(i) are sorted uniform numbers.

    >>> scores = spaced_scores(np.random.default_rng(0), count=100, arms=4, apart=0.2, reach=0.9)
    >>> bool(np.diff(scores).min() >= 0.2), bool(abs(scores).max() <= 0.9)
    (True, True)
    """
    uniform = rng.random((count, arms))
    uniform.sort(axis=1)
    scores: Matrix = -reach + apart * np.arange(arms) + (2.0 * reach - (arms - 1) * apart) * uniform
    return scores


def coin_rewards(rng: np.random.Generator, means: Matrix) -> Matrix:
    """Draw a reward of 1 with the probability that is its mean, otherwise 0.

    >>> coin_rewards(np.random.default_rng(0), np.array([[0.0, 1.0]])).tolist()
    [[0.0, 1.0]]
    """
    return (rng.random(means.shape) < means).astype(np.float64)


def on_sphere(rng: np.random.Generator, scores: Matrix, dimension: int) -> Contexts:
    """Complete scores along e2 to unit vectors, each by its own uniformly random direction orthogonal to e2.

    >>> contexts = on_sphere(np.random.default_rng(0), np.array([[0.6, -0.3]]), dimension=5)
    >>> contexts[0, :, 1].tolist(), np.linalg.norm(contexts[0], axis=1).round(12).tolist()
    ([0.6, -0.3], [1.0, 1.0])
    """
    contexts = rng.standard_normal((*scores.shape, dimension))
    contexts[..., 1] = 0.0
    squares = np.einsum("nkd,nkd->nk", contexts, contexts)
    contexts *= np.sqrt((1.0 - scores * scores) / squares)[..., None]
    contexts[..., 1] = scores
    return contexts
