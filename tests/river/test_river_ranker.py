"""The ranker in river's contract."""

import copy
import pickle
import random

import pytest
from river import checks

from massart.errors import InvalidDataError, InvalidParameterError
from massart.river import MonotoneRanker

LIKED = {"Tom": {"music", "politics"}, "Anna": {"politics", "sports"}}
ITEMS = {"politics", "sports", "music", "food", "finance", "health", "camping"}


def learned(ranker, rounds=400, seed=0):
    rng = random.Random(seed)
    for _ in range(rounds):
        user, item = rng.choice(["Tom", "Anna"]), rng.choice(sorted(ITEMS))
        ranker.learn_one(user, item, item in LIKED[user])
    return ranker


def test_checks_of_river():
    checks.check_estimator(MonotoneRanker())


def test_what_users_like_comes_first():
    ranker = learned(MonotoneRanker(seed=0))
    for user, liked in LIKED.items():
        assert set(ranker.rank(user, ITEMS)[:2]) == liked
        scores = {item: ranker.predict_one(user, item) for item in ITEMS}
        assert ranker.rank(user, ITEMS) == sorted(ITEMS, key=lambda item, own=scores: (-own[item], item))


def test_features_of_items_count():
    ranker, rng = MonotoneRanker(seed=0), random.Random(0)
    for n in range(300):
        price = {f"item {n} {k}": {"price": rng.random(), "kind": rng.choice("ab")} for k in range(3)}
        ranker.learn_round("Tom", {item: 1.0 - x["price"] for item, x in price.items()}, price)
    assert ranker.predict_one("Tom", "new", {"price": 0.1}) > ranker.predict_one("Tom", "newer", {"price": 0.9})


@pytest.mark.parametrize("way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_rank_alike(way):
    ranker = learned(MonotoneRanker(seed=0), 100)
    other = way(ranker)
    for one in (ranker, other):
        learned(one, 100, seed=1)
    assert [ranker.predict_one("Tom", item) for item in ITEMS] == [other.predict_one("Tom", item) for item in ITEMS]
    assert ranker.clone().ranker.rounds == 0


def test_what_is_refused():
    ranker = MonotoneRanker()
    with pytest.raises(InvalidParameterError, match="hash_bits=99"):
        MonotoneRanker(hash_bits=99)
    with pytest.raises(InvalidDataError, match="y is 'good'"):
        ranker.learn_one("Tom", "food", "good")
    with pytest.raises(InvalidDataError, match="the feature 'price' is nan"):
        ranker.learn_one("Tom", "food", 1.0, {"price": float("nan")})
    with pytest.raises(InvalidDataError, match="rewards has 1 items"):
        ranker.learn_round("Tom", {"food": 1.0})
    assert ranker.rank("Tom", {"b", "a"}) == ["a", "b"]
    assert ranker.predict_one("Tom", "a") == 0.0
