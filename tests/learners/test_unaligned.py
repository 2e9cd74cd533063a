"""Arrays whose entries lie at odd addresses, as those of messages and files do: nothing differs."""

import numpy as np
import pytest
import scipy.sparse as sp

from massart import Halfspace, MassartClassifier, MonotoneBandit, MonotoneRanker

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] > 0).astype(np.int64)
REWARDS = RNG.random((60, 3))
CONTEXTS = 0.1 * RNG.normal(size=(60, 3, 4))


def odd(array):
    moved = np.frombuffer(b"0" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    assert not moved.flags.aligned
    return moved


def as_it_is(array):
    return array


def sparse(form):
    rows = sp.csr_matrix(X)
    for name in ("data", "indices", "indptr"):
        setattr(rows, name, form(getattr(rows, name)))
    return rows


def classified(form, rows=None, **options):
    rows = form(X) if rows is None else rows
    learner = MassartClassifier(random_state=0, **options).partial_fit(
        rows, form(Y), classes=[0, 1], sample_weight=form(np.ones(60))
    )
    return learner.predict_proba(rows)


def one_by_one(form):
    learner = Halfspace(4, 0.1, 0.1)
    for row, label in zip(X, 2 * Y - 1, strict=True):
        learner.learn(form(row), label)
    return learner.weights


def played(form):
    return MonotoneBandit(random_state=0).play(form(CONTEXTS), form(REWARDS)).arms


def chosen(form):
    return MonotoneBandit(random_state=0).choose(form(X[:5])).probabilities


def ranked(form):
    ranker = MonotoneRanker(reward_range=(0, 1), random_state=0)
    ranker.learn(form(X), form(Y.astype(float)))
    return ranker.predict_ranking(form(X))


WAYS = {
    "dense": classified,
    "single precision": lambda form: classified(form, form(X.astype(np.float32))),
    "sparse": lambda form: classified(form, sparse(form)),
    "products": lambda form: classified(form, products=True),
    "one by one": one_by_one,
    "played": played,
    "chosen": chosen,
    "ranked": ranked,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_addresses_do_not_matter(way):
    assert np.array_equal(way(as_it_is), way(odd))
