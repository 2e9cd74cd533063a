"""Only MassartError leaves bandits, rankers, policies and choices for bad input, and nothing is learned from it."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from forged_choices import FIELDS, changed

from massart import Choice, MonotoneBandit, MonotoneRanker
from massart.arena.registry import POLICIES
from massart.errors import InvalidDataError, InvalidParameterError, MassartError, ModelFileError
from massart.learners.reference.policies import LinUCB, SquareCB

D, ARMS = 3, 4


class Evil:
    """An object that answers every question with an error of its own."""

    def _raise(self, *_, **__):
        raise RuntimeError("no")

    __float__ = __int__ = __index__ = __array__ = __len__ = __iter__ = __bool__ = __eq__ = __repr__ = __str__ = _raise
    __hash__ = None


HUGE = 10**5000  # more digits than Python prints
NO_NUMBERS = {
    "text": "1", "bytes": b"1", "none": None, "object": object(), "evil": Evil(), "list": [1.0, 2.0], "complex": 1j,
    "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "huge": HUGE, "-huge": -HUGE, "array": np.zeros(2),
    "empty": np.zeros(0), "dict": {}, "type": float, "date": np.datetime64("2020-01-01"), "function": len,
}  # fmt: skip
CONTEXTS = {
    **{name: value for name, value in NO_NUMBERS.items() if name not in ("array",)},
    "no arms": np.zeros((0, D)), "no features": np.zeros((ARMS, 0)), "nothing": np.zeros((0, 0)), "flat": np.zeros(D),
    "3-d": np.zeros((2, 2, 2)), "ragged": [[1.0], [1.0, 2.0]], "words": [["a"] * D] * ARMS, "mixed": [[1, "a", 2]],
    "objects": np.array([[object()] * D]), "evil inside": [[Evil()] * D], "complex": np.eye(D) * 1j,
    "dates": np.zeros((ARMS, D), "M8[s]"), "records": np.zeros((ARMS,), "f8,f8"), "huge inside": [[HUGE] * D],
    "long": np.full((ARMS, D), 1e200), "nan inside": np.full((ARMS, D), np.nan), "inf inside": [[np.inf] * D],
    "longdouble": np.full((ARMS, D), np.longdouble("1e4000")), "sparse, none": sp.csr_matrix((0, D)),
    "sparse, nan": sp.csr_matrix(np.full((ARMS, D), np.nan)), "sparse, complex": sp.csr_matrix(np.eye(D) * 1j),
    "sparse, long": sp.csr_matrix(np.full((ARMS, D), 1e200)), "sparse, wide": sp.csr_matrix((2, 2**62)),
    "another width": np.zeros((ARMS, D + 1)),
}  # fmt: skip
MASKS = {
    "short": [True], "none allowed": [False] * ARMS, "numbers": [1] * ARMS, "floats": np.ones(ARMS), "true": True,
    "2-d": [[True] * ARMS], "text": "yes", "ragged": [[True], [True, False]], "evil": Evil(), "object": object(),
    "dict": {}, "number": 1, "words": ["a"] * ARMS, "huge": [HUGE] * ARMS,
}  # fmt: skip
KINDS = {
    "bandit": lambda: MonotoneBandit(random_state=0),
    "known": lambda: MonotoneBandit(0.1, 0.1, random_state=0),
    "paper": lambda: MonotoneBandit(0.1, 0.1, horizon=100, update="paper"),
    "linucb": lambda: LinUCB(D),
    "squarecb": lambda: SquareCB(D),
}


def made(kind):
    policy = KINDS[kind]()
    policy.learn(policy.choose(np.eye(ARMS, D)), 1.0)
    return policy


def refused(policy, call):
    before = {name: array.tobytes() for name, array in policy.arrays().items()}
    with pytest.raises(MassartError) as caught:
        call()
    assert str(caught.value)
    assert {name: array.tobytes() for name, array in policy.arrays().items()} == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts(kind, name):
    policy = made(kind)
    refused(policy, lambda: policy.choose(CONTEXTS[name]))
    refused(policy, lambda: policy.probabilities(CONTEXTS[name]))
    refused(policy, lambda: policy.play(CONTEXTS[name], np.ones((1, ARMS))))


@pytest.mark.parametrize("made", [MonotoneBandit, MonotoneRanker])
def test_more_features_than_memory(made):
    """2^39 columns: weights of several terabytes."""
    with pytest.raises(InvalidDataError, match="do not fit into memory"):
        made().choose(sp.csr_matrix((2, 2**39)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MASKS)
def test_masks(kind, name):
    policy = made(kind)
    refused(policy, lambda: policy.choose(np.eye(ARMS, D), allowed=MASKS[name]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_rewards(kind, name):
    policy = made(kind)
    choice = policy.choose(np.eye(ARMS, D))
    refused(policy, lambda: policy.learn(choice, NO_NUMBERS[name]))
    refused(policy, lambda: policy.play(np.eye(ARMS, D)[None], NO_NUMBERS[name]))
    policy.learn(choice, 1.0)


@pytest.mark.parametrize("kind", ["bandit", "linucb"])
@pytest.mark.parametrize("reward", [0.5, 1, True, np.float32(0.5), np.array(0.5), Decimal("0.5"), Fraction(1, 2)])
def test_what_is_a_number_is_taken(kind, reward):
    policy = made(kind)
    policy.learn(policy.choose(np.eye(ARMS, D)), reward)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", [*NO_NUMBERS, "nan inside", "3-d", "words"])
def test_forged_choices(kind, field, name):
    """Wrong types in every field: refused where the choice is put together, or where it is learned."""
    policy, value = made(kind), (NO_NUMBERS | CONTEXTS)[name]
    choice = policy.choose(np.eye(ARMS, D))
    if field == "memo" and not choice.memo and name in ("none", "dict"):
        return  # these policies remember nothing
    refused(policy, lambda: policy.learn(changed(choice, **{field: value}), 1.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_choice(kind, name):
    policy = made(kind)
    refused(policy, lambda: policy.learn(NO_NUMBERS[name], 1.0))
    refused(policy, lambda: policy.learn(object.__new__(Choice), 1.0))


LINES = {
    "empty": "", "null": "null", "list": "[]", "object": "{}", "text": '"x"', "number": "7", "NaN": "NaN",
    "words": "arm", "deep": "[" * 200_000, "deep object": '{"arm":' * 100_000, "digits": '{"arm":' + "9" * 5_000 + "}",
    "bytes": b"\xff\xfe", "none": None, "object of Python": object(), "evil": Evil(), "cut": '{"arm": 1, "probab',
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_no_choice(name):
    with pytest.raises(InvalidDataError):
        Choice.from_json(LINES[name])


VALUES = (None, True, -1, 0.5, 10**400, "x", [], {}, [[[1]]], [["a"]], {"f8": "!"}, {"shape": [1]}, {"sha256": 1},
          {"shape": [2, 2], "data": [1], "indices": [9], "indptr": [0, 1, 1]},
          {"shape": ["a", {}], "data": 1, "indices": None, "indptr": "x"})  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_lines_with_another_value(field, value):
    bandit = made("bandit")
    parts = json.loads(bandit.choose(np.eye(ARMS, D)).to_json()) | {field: value}
    refused(bandit, lambda: bandit.learn(Choice.from_json(json.dumps(parts)), 1.0))
    del parts[field]
    refused(bandit, lambda: bandit.learn(Choice.from_json(json.dumps(parts)), 1.0))


VALID = {("reward_range", "list"), ("random_state", "huge")}  # among what is no number
PARAMETERS = ("gap", "margin", "horizon", "exploration", "random_state", "default_reward", "reward_range", "update",
              "clip_rewards", "expire_after")  # fmt: skip


@pytest.mark.parametrize("parameter", PARAMETERS)
@pytest.mark.parametrize("name", [name for name in NO_NUMBERS if name != "none"])
def test_parameters_of_a_bandit(parameter, name):
    if (parameter, name) in VALID:
        return
    with pytest.raises(InvalidParameterError, match=parameter):
        MonotoneBandit(**{parameter: NO_NUMBERS[name]})


@pytest.mark.parametrize("value", [1e308, 1e16, 0, -1, 0.5, 10**400])
def test_horizons(value):
    with pytest.raises(InvalidParameterError, match="horizon"):
        MonotoneBandit(horizon=value)


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_other_calls_of_a_bandit(name):
    bandit, value = made("bandit"), NO_NUMBERS[name]
    calls = {"certificate": bandit.certificate, "from_arrays": MonotoneBandit.from_arrays,
             "how": lambda v: MonotoneBandit.from_arrays(bandit.arrays() | {"how": v})}  # fmt: skip
    if name != "none":
        calls["sign_with"] = bandit.sign_with
    if name not in ("none", "huge"):
        calls["reseed"] = bandit.reseed
    for call in calls.values():
        refused(bandit, lambda call=call: call(value))


@pytest.mark.parametrize("name", {**CONTEXTS, **NO_NUMBERS})
def test_a_ranker(name):
    ranker, value = MonotoneRanker(), (NO_NUMBERS | CONTEXTS)[name]
    good, rewards = np.eye(ARMS, D), np.ones(ARMS)
    ranker.learn(good, rewards)
    refused(ranker, lambda: ranker.learn(value, rewards))
    refused(ranker, lambda: ranker.learn(good, value))
    for call in (ranker.score, ranker.choose, ranker.predict_ranking, ranker.predict):
        refused(ranker, lambda call=call: call(value))
    refused(ranker, lambda: ranker.fit(value, rewards, np.zeros(ARMS)))
    refused(ranker, lambda: ranker.fit(good, value, np.zeros(ARMS)))
    if name != "records":  # queries may have any name
        refused(ranker, lambda: ranker.fit(good, rewards, value))
    with pytest.raises(ModelFileError):
        MonotoneRanker.from_arrays(value)
    valid = {parameter for parameter, kind in VALID if kind == name} | ({"gap", "margin"} if value is None else set())
    for parameter in {"gap", "margin", "reward_range"} - valid:
        with pytest.raises(InvalidParameterError, match=parameter):
            MonotoneRanker(**{parameter: value})


@pytest.mark.parametrize("policy", [name for name in POLICIES.names(peers=False) if not POLICIES.is_ours(name)])
@pytest.mark.parametrize("parameter", ["dimension", "reward_range"])
@pytest.mark.parametrize("name", [name for name in NO_NUMBERS if name != "huge"])
def test_parameters_of_a_policy(policy, parameter, name):
    if (parameter, name) in VALID:
        return
    with pytest.raises(InvalidParameterError, match=parameter):
        POLICIES.make(policy, **{"dimension": D, "arms": ARMS, parameter: NO_NUMBERS[name]})


def test_arrays_of_another_policy():
    for arrays in (LinUCB(D).arrays(), {}, SquareCB(D).arrays() | {"inverse": np.eye(2)}):
        with pytest.raises(ModelFileError, match="SquareCB"):
            SquareCB.from_arrays(arrays)
