"""A bandit that knows features by name: all forms of arms, columns as they occur, names, explanations, files."""

import json
import pickle
import re

import numpy as np
import pytest
from scipy import sparse

from massart import Choice, MonotoneBandit, load, save
from massart.data.hashing import FeatureHasher
from massart.data.offers import WIDTH, offer_of
from massart.data.schema import Schema
from massart.errors import InvalidDataError, ModelFileError
from massart.learners import features

TOWNS = ("Rome", "Oslo", "Lima")
IDS = ("news", "sport", "arts")


def context(rng):
    return {"age": float(rng.uniform(-1, 1)), "town": TOWNS[rng.integers(3)], "new": bool(rng.random() < 0.5)}


def items(rng, count=4):
    return [{"price": float(rng.uniform()), "kind": TOWNS[rng.integers(3)], "size": [1.0, float(rng.normal())]}
            for _ in range(count)]  # fmt: skip


def trained(rounds=30, **options):
    bandit, rng = MonotoneBandit(random_state=0, **options), np.random.default_rng(0)
    for _ in range(rounds):
        bandit.learn(bandit.choose(items(rng), context(rng)), float(rng.random() < 0.5))
    return bandit


def memory(bandit):
    return {name: array.tobytes() for name, array in bandit.arrays().items() if name != "identity"}


FORMS = {
    "mapping": {"news": {"a": 1.0, "b": "x"}, "sport": {"a": 2.0, "b": "y"}},
    "pairs": [("news", {"a": 1.0, "b": "x"}), ("sport", {"b": "y", "a": 2})],
    "lists": [["news", {"a": 1, "b": "x"}], ["sport", {"a": np.float64(2.0), "b": np.str_("y")}]],
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_ids_with_features_are_one(form):
    offer, same = offer_of(FORMS[form], {"age": 3}), offer_of(FORMS["mapping"], {"age": 3.0})
    assert offer.ids == ("news", "sport")
    assert (offer.matrix() != same.matrix()).nnz == 0
    choice = MonotoneBandit(random_state=0).choose(FORMS[form], {"age": 3})
    assert choice.arm_id == choice.ids[choice.arm]


def test_rows_with_a_context_have_places_for_names():
    rows, shared = np.array([[1.0, 2.0], [0.0, 3.0]]), [0.5, -1.0]
    assert set(offer_of(rows, shared).names().values()) == {
        *("[0]", "[1]", "[0] * [0]", "[0] * [1]", "[1] * [0]", "[1] * [1]"),
    }
    assert offer_of(rows, shared).matrix().nnz == 9  # (2 + 4) and (1 + 2)
    assert (offer_of(sparse.csr_matrix(rows), shared).matrix() != offer_of(rows, shared).matrix()).nnz == 0


def test_each_id_has_a_block_of_its_own():
    """No feature of the context shares a column with another id's: what one arm learned tells nothing of another."""
    rows = offer_of(list(range(40)), {f"f{i}": 1.0 for i in range(50)}).rows
    assert [len(row) for row in rows] == [51] * 40
    assert len({column for row in rows for column in row}) == 40 * 51


def test_it_learns_what_each_context_wants():
    """Reward .9 for the arm of the town, .1 otherwise: a random arm earns .367. The last 1,000 of 4,000 rounds.

    A learner that ignores the context earns .367 as well; three standard errors of a mean of 1,000 are .05.
    """
    bandit, rng, earned = MonotoneBandit(random_state=0), np.random.default_rng(1), []
    for _ in range(4000):
        shared = context(rng)
        choice = bandit.choose(IDS, shared)
        reward = float(rng.random() < (0.9 if IDS.index(choice.arm_id) == TOWNS.index(shared["town"]) else 0.1))
        bandit.learn(choice, reward)
        earned.append(reward)
    assert np.mean(earned[-1000:]) > 0.367 + 0.15


@pytest.mark.parametrize("given", [(IDS, {"age": 0.5, "town": "Rome"}), (["a", "b"], None), ("items", {"age": 0.5}),
                                   ("items", None), ({"a": {"x": 1.0}, "b": {"x": 0.5}}, [0.1, 0.2])])  # fmt: skip
def test_contributions_add_up_to_the_score(given):
    """Exactly by definition; and to the product of contexts and weights up to rounding, 1e-12 for scores below 10."""
    bandit, rng = MonotoneBandit(random_state=0), np.random.default_rng(2)
    for _ in range(50):
        arms = items(rng) if given[0] == "items" else given[0]
        choice = bandit.choose(arms, given[1])
        bandit.learn(choice, float(rng.random() < 0.3))
    found = bandit.explain(choice)
    assert found.score == sum(one.contribution for one in found.contributions)
    whole = np.zeros(WIDTH)
    whole[list(bandit._features.keys())] = bandit.weights
    assert found.score == pytest.approx(float((choice.contexts @ whole)[choice.arm]), abs=1e-12)
    assert found.arm_id == choice.arm_id
    assert {one.name for one in found.contributions} <= set(choice.offer.names().values())
    assert f"score {found.score:+.6g}" in str(found)


def test_rows_are_explained_by_place():
    bandit, rng = MonotoneBandit(random_state=0), np.random.default_rng(0)
    for form in (np.array, sparse.csr_matrix):
        X = rng.normal(size=(4, 3))
        choice = bandit.choose(form(X))
        bandit.learn(choice, 1.0)
        found = bandit.explain(choice)
        assert found.score == pytest.approx(float(X[choice.arm] @ bandit.weights), abs=1e-12)
        assert sorted(one.name for one in found.contributions) == ["[0]", "[1]", "[2]"]


def test_names_say_what_was_given():
    names = offer_of([{"user": {"age": 3, "tags": ["a", "b"]}, "v": [1.0, 0.5]}], {"town": "Rome"}).names()
    own = ["user.age", "user.tags=a", "user.tags=b", "v[0]", "v[1]"]
    assert sorted(names.values()) == sorted([*own, *(f"{name} * town=Rome" for name in own)])


def test_a_choice_that_was_json_teaches_the_same_bits_even_after_new_columns():
    for forms in (("direct", "json"), ("direct", "pickle")):
        memories = []
        for form in forms:
            bandit, rng = trained(), np.random.default_rng(5)
            choice = bandit.choose({"a": items(rng, 1)[0], "b": items(rng, 1)[0]}, context(rng))
            width = bandit.weights.size
            bandit.learn(bandit.choose([{"unheard": 1.0}, {"unheard": 0.5, "of": "it"}]), 1.0)
            assert bandit.weights.size > width
            if form == "json":
                line = choice.to_json()
                assert json.loads(line)["ids"] == ["a", "b"]
                choice = Choice.from_json(line)
            elif form == "pickle":
                choice = pickle.loads(pickle.dumps(choice))  # noqa: S301
            assert choice.arm_id in ("a", "b")
            bandit.learn(choice, 1.0)
            memories.append({name: part for name, part in memory(bandit).items() if "epochs" not in name})
        assert memories[0] == memories[1]


def test_a_choice_with_other_ids_is_refused():
    bandit = trained()
    parts = json.loads(bandit.choose(IDS, {"age": 1.0}).to_json())
    parts["ids"] = parts["ids"][::-1]
    with pytest.raises(InvalidDataError, match="digest"):
        bandit.learn(Choice.from_json(json.dumps(parts)), 1.0)
    for ids in ([1], "abc", [1.5, 2, 3], [None] * 3):
        with pytest.raises(InvalidDataError, match="ids"):
            Choice.from_json(json.dumps(parts | {"ids": ids}))


@pytest.mark.parametrize("expire_after", [None, 3])
def test_save_and_load_keep_columns_names_and_waiting_choices(tmp_path, expire_after):
    bandit, rng = trained(expire_after=expire_after), np.random.default_rng(6)
    waiting = bandit.choose(items(rng), context(rng))
    bandit.choose([{"later": 1.0}, {"later": 2.0}])
    save(bandit, tmp_path / "m")
    again = load(tmp_path / "m")
    again.reseed(3)
    bandit.reseed(3)
    assert memory(again) == memory(bandit)
    copies = [bandit, again, bandit.copy(), pickle.loads(pickle.dumps(bandit))]  # noqa: S301
    for one in copies:
        one.learn(Choice.from_json(waiting.to_json()), 1.0)
        own = np.random.default_rng(7)
        for _ in range(6):
            one.learn(one.choose(items(own), context(own)), float(own.random() < 0.5))
        assert str(one.explain(waiting)) == str(bandit.explain(waiting))
    assert len({one.weights.tobytes() for one in copies}) == 1


def test_probabilities_are_those_of_the_next_choice_and_change_nothing():
    bandit, rng = trained(), np.random.default_rng(8)
    for place in range(5):
        arms, shared = [{"price": 0.5, f"new{place}": 1.0}, *items(rng, 2)], context(rng)
        before = memory(bandit)
        p = bandit.probabilities(arms, shared)
        assert memory(bandit) == before
        choice = bandit.choose(arms, shared)
        np.testing.assert_array_equal(choice.probabilities, p)
        np.testing.assert_array_equal(bandit.probabilities(choice.contexts), bandit.probabilities(arms, shared))
        bandit.learn(choice, 1.0)


def test_features_beyond_the_last_column_share_columns(monkeypatch):
    monkeypatch.setattr(features, "MOST_COLUMNS", 16)
    bandit, rng = MonotoneBandit(random_state=0), np.random.default_rng(0)
    for number in range(60):
        choice = bandit.choose([{f"f{number}": 1.0, "x": 0.5}, {f"f{number + 1}": 2.0, f"g{number}": 1.0}])
        bandit.learn(choice, float(rng.random() < 0.5))
        found = bandit.explain(choice)
        assert found.score == sum(one.contribution for one in found.contributions)
    assert bandit.weights.shape == (16,)
    again = MonotoneBandit.from_arrays(bandit.arrays())
    np.testing.assert_array_equal(again.weights, bandit.weights)


def test_memory_of_names_is_bounded(monkeypatch):
    monkeypatch.setattr(features, "_MOST_TEXT", 500)
    bandit = MonotoneBandit(random_state=0)
    choice = bandit.choose([{f"{number}{'x' * 300}": 1.0 for number in range(20)}])
    names = [one.name for one in bandit.explain(choice).contributions]
    assert sum(len(name) == 100 for name in names) == 5
    assert sum(re.fullmatch(r"column \d+", name) is not None for name in names) == 15


BAD = {
    "nothing": ({}, None, "arms"),
    "nan": ([{"a": float("nan")}], None, r"arms\[0\].a"),
    "deep nan": ([{"a": {"b": [1.0, float("inf")]}}], None, r"arms\[0\].a"),
    "object": ([{"a": object()}], None, r"arms\[0\].a is a object"),
    "name": ([{1: 2.0}], None, "no name of a feature"),
    "id twice": (["a", "a"], None, "twice"),
    "id as number and text": ([1, "1"], None, "twice"),
    "id": (["a", None], None, "no id"),
    "id too long": (["a", 1 << 70], None, "no id"),
    "mixed": ([{"a": 1.0}, "b"], None, r"arms\[1\]"),
    "pair": ([("a", {"x": 1.0}), "b"], None, "pairs"),
    "context of text": (["a"], "Rome", "context"),
    "context nan": (["a"], [float("nan")], "context"),
    "mask": (np.eye(2), [True, False], "allowed="),
    "too many products": ([dict.fromkeys(map(str, range(2000)), 1.0)], [1.0] * 2000, "features in all"),
    "set": ({"a", "b"}, {"x": 1.0}, "set"),
    "ragged": ([[1.0], [1.0, 2.0]], {"x": 1.0}, "arms"),
    "too long": ([{"a": 1e60}, {"a": 1.0}], None, "longer"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_offer_is_refused_and_teaches_nothing(case):
    bandit = trained(5)
    before = bandit.weights.tobytes(), bandit.rounds, bandit.pending
    arms, shared, message = BAD[case]
    for ask in (bandit.choose, bandit.probabilities, MonotoneBandit().choose):
        with pytest.raises(InvalidDataError, match=message):
            ask(arms, shared)
    assert (bandit.weights.tobytes()[: len(before[0])], bandit.rounds, bandit.pending) == before


def test_arms_without_features_are_refused_until_something_has_one():
    bandit = MonotoneBandit(random_state=0)
    with pytest.raises(InvalidDataError, match="no features"):
        bandit.choose([{}, {"a": 0.0}])
    bandit.choose([{}, {"a": 1.0}])
    assert bandit.probabilities([{}, {"a": 0.0}]).sum() == pytest.approx(1.0, abs=1e-12)


def test_a_bandit_of_rows_stays_one():
    bandit = MonotoneBandit(random_state=0)
    bandit.learn(bandit.choose(np.eye(3)), 1.0)
    for arms, shared in ((IDS, None), ([{"a": 1.0}], None), (np.eye(3), [1.0])):
        with pytest.raises(InvalidDataError, match="rows of 3 features"):
            bandit.choose(arms, shared)
    assert not bandit.has_names
    assert "feature_keys" not in bandit.arrays()


FORGED = {
    "twice": lambda keys, names: (np.r_[keys[:1], keys[:-1]], names),
    "short": lambda keys, names: (keys[:-1], names),
    "large": lambda keys, names: (keys + np.uint32(WIDTH), names),
    "type": lambda keys, names: (keys.astype(np.int64), names),
    "no names": lambda keys, names: (keys, names[:0]),
    "no list": lambda keys, names: (keys, np.frombuffer(b'{"a": 1}', np.uint8)),
    "deep": lambda keys, names: (keys, np.frombuffer(b"[" * 100_000, np.uint8)),
    "numbers": lambda keys, names: (keys, np.frombuffer(json.dumps([1] * keys.size).encode(), np.uint8)),
    "long": lambda keys, names: (keys, np.frombuffer(json.dumps(["x" * 101] * keys.size).encode(), np.uint8)),
    "gone": lambda keys, names: (keys, None),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_columns_are_refused_with_a_sentence(case):
    arrays = trained().arrays()
    forged = dict(zip(("feature_keys", "feature_names"), FORGED[case](*(
        arrays[name] for name in ("feature_keys", "feature_names"))), strict=True))  # fmt: skip
    whole = {name: array for name, array in {**arrays, **forged}.items() if array is not None}
    with pytest.raises(ModelFileError, match="feature_"):
        MonotoneBandit.from_arrays(whole)


def test_columns_that_are_remembered_are_those_of_a_new_hasher():
    rows = [
        (("town", "Rome"), ("age", 2.5), ("town", "Rome"), ("age", 1.0)),  # twice: added up
        (("age", "2.5"), ("town", ""), ("age", 0.0), ("note", "x" * 100)),
        (("label", "Rome"), ("town", "Rome"), ("town", True), ("town", 1.0)),
    ]
    used = FeatureHasher(Schema("jsonl", bits=24))
    for _ in range(3):
        for pairs in rows:
            for other in (frozenset(), frozenset(("town",)), frozenset(("label",))):
                found = FeatureHasher(Schema("jsonl", bits=24)).row(pairs, other).values
                assert list(used.row(pairs, other).values.items()) == list(found.items())
