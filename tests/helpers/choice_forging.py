"""Forged choices of every kind, and what must become of each: refused with a MassartError, or learned and all finite.

A program as well, so that it can be run with bounds checking: `python choice_forging.py COUNT` prints how many choices
were refused and how many learned.
"""

import base64
import copy
import json
import sys

import numpy as np
import scipy.sparse as sp
from forged_choices import FIELDS, changed, resigned

from massart import Choice, MonotoneBandit
from massart.errors import MassartError

D = 4
SEED = 20240611
BANDITS = {
    "one expert": {"gap": 0.1, "margin": 0.2, "horizon": 1000},
    "default": {},
    "floor": {"gap": 1e48, "exploration": 0.4, "reward_range": (-1e50, 1e50)},
    "paper": {"gap": 0.5, "margin": 0.5, "horizon": 10**4, "update": "paper"},
    "expiring": {"expire_after": 3},
}
NUMBERS = (0, 1, -1, 7, 10**7, 2**63, -(2**63), 10**400, 0.5, -0.5, 1e-300, 5e-324, 1e16, 1e200, 1.8e308, -1e308, 1e-12)
ODD = (*NUMBERS, float("nan"), float("inf"), None, True, "", "x", "1", [], {}, [[]], [1.0], [[1.0, 2.0], [3.0]],
       {"f8": "AAAA"}, {"f8": ""}, {"b1": "Ag=="}, {"i8": "AAAAAAAA8D8=", "shape": [1]}, {"sha256": "0"})  # fmt: skip
OBJECTS = (*ODD, object(), b"bytes", 1j, np.float64("nan"), np.array(3.0), np.zeros((0, 3)), np.zeros(0),
           np.zeros((2, 2, 2)), np.array(["a", "b"]), np.array([1j, 2]), np.array([None, 1]), np.full((4, D), 1e200),
           np.full((4, D), np.nan), sp.csr_matrix((3, D)), sp.csr_matrix((0, 0)), sp.csc_matrix(np.eye(4)), range(4),
           {1, 2})  # fmt: skip


def contexts(rng):
    """Two to five arms in the unit ball, sometimes equal, tiny or sparse."""
    X = rng.normal(size=(int(rng.integers(2, 6)), D))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    if rng.random() < 0.2:
        X[0] = X[-1]
    if rng.random() < 0.1:
        X *= 10.0 ** -rng.integers(0, 300)
    return sp.csr_matrix(X * (rng.random(X.shape) < 0.6)) if rng.random() < 0.3 else X


def trained(name, rounds=40):
    bandit, rng = MonotoneBandit(random_state=0, **BANDITS[name]), np.random.default_rng(1)
    for _ in range(rounds):
        bandit.learn(bandit.choose(contexts(rng)), rng.random())
    return bandit


def _paths(tree, path=()):
    """The places of a JSON value."""
    yield path
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from _paths(child, (*path, key))


def _put(tree, path, value):
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


def _floats(text, rng):
    """An array in base64 with one number replaced, or of another length."""
    if not isinstance(text, str) or len(text) % 4:
        return text
    data = bytearray(base64.b64decode(text))
    if rng.random() < 0.2:
        return base64.b64encode(bytes(data[: int(rng.integers(0, len(data) + 1))])).decode()
    numbers = [*(min(max(value, -1.7e308), 1.7e308) for value in NUMBERS), np.nan, np.inf, -np.inf]
    place = int(rng.integers(max(1, len(data) // 8)))
    data[8 * place : 8 * place + 8] = np.float64(numbers[rng.integers(len(numbers))]).tobytes()
    return base64.b64encode(bytes(data)).decode()


def forged_line(choice, rng):
    """A line of JSON with something else in it."""
    line = choice.to_json(contexts=bool(rng.random() < 0.8))
    if rng.random() < 0.15:
        text = bytearray(line.encode())
        for _ in range(int(rng.integers(1, 4))):
            text[rng.integers(len(text))] = rng.integers(256)
        return text[: int(rng.integers(len(text)))].decode(errors="replace") if rng.random() < 0.3 else bytes(text)
    if rng.random() < 0.02:
        return rng.choice(["[" * 100_000, "9" * 5_000, '{"arm":' * 50_000, "NaN", "", "null", "[]", "{}", '"x"'])
    parts = json.loads(line)
    for _ in range(int(rng.integers(1, 4))):
        places = [path for path in _paths(parts) if path]
        if not places:
            break
        path = places[rng.integers(len(places))]
        if path[0] == "memo" and path[-1] in ("f8", "i8", "b1") and rng.random() < 0.8:
            array = parts
            for key in path:
                array = array[key]
            _put(parts, path, _floats(array, rng))
        elif rng.random() < 0.1:
            owner = parts
            for key in path[:-1]:
                owner = owner[key]
            del owner[path[-1]]
        else:
            _put(parts, path, copy.deepcopy(ODD[rng.integers(len(ODD))]))
    sys.set_int_max_str_digits(0)  # ours may write what others could not read
    try:
        return json.dumps(parts)
    finally:
        sys.set_int_max_str_digits(4300)


def forged_parts(choice, rng):
    """Fields for a Choice that nobody made."""
    fields = {name: getattr(choice, name) for name in FIELDS}
    for _ in range(int(rng.integers(1, 3))):
        name = FIELDS[rng.integers(len(FIELDS))]
        if name == "memo" and rng.random() < 0.9:
            memo = {key: np.array(value) for key, value in choice.memo.items()}
            key = list(memo)[rng.integers(len(memo))]
            if rng.random() < 0.7:
                with np.errstate(all="ignore"):
                    value = float(min(max(NUMBERS[rng.integers(len(NUMBERS))], -(10**300)), 10**300))
                    memo[key] = np.array(memo[key], dtype=np.float64)
                    memo[key].flat[rng.integers(memo[key].size)] = value
            else:
                memo[key] = OBJECTS[rng.integers(len(OBJECTS))]
            fields["memo"] = memo
        elif name in ("probabilities", "contexts") and rng.random() < 0.5 and not sp.issparse(choice.contexts):
            array = np.array(getattr(choice, name))
            array.flat[rng.integers(array.size)] = float(min(max(NUMBERS[rng.integers(len(NUMBERS))], -1e308), 1e308))
            fields[name] = array
        else:
            fields[name] = OBJECTS[rng.integers(len(OBJECTS))]
    return fields


def attempt(bandit, choice, rng):
    """Learn from a forgery of the choice."""
    signed = rng.random() < 0.4  # by somebody who has the key
    if rng.random() < 0.6:
        line = forged_line(choice, rng)
        handed = choice.contexts if rng.random() < 0.5 else contexts(rng)
        forged = Choice.from_json(line, contexts=handed)
        forged = resigned(bandit, forged) if signed else forged
    else:
        fields = forged_parts(choice, rng)
        forged = resigned(bandit, choice, **fields) if signed else changed(choice, **fields)
    bandit.learn(forged, rng.choice([0.0, 1.0, rng.random()]))


def all_finite(bandit):
    return all(np.isfinite(array).all() for array in bandit.arrays().values() if array.dtype.kind == "f")


def run(count, seed=SEED):
    """How many of so many forgeries were refused, and how many learned; an AssertionError tells of one that harmed."""
    rng, refused, learned = np.random.default_rng(seed), 0, 0
    bandits = {name: trained(name) for name in BANDITS}
    for n in range(count):
        name = list(bandits)[n % len(bandits)]
        bandit = bandits[name]
        choice = bandit.choose(contexts(rng))
        before = bandit.rounds
        try:
            attempt(bandit, choice, rng)
        except MassartError:
            refused += 1
            assert bandit.rounds == before, f"input {n} was refused and learned"
        except Exception as error:
            raise AssertionError(f"input {n} of seed {seed}, {name}: {type(error).__name__}: {error}") from error
        else:
            learned += 1
        assert all_finite(bandit), f"input {n} of seed {seed}, {name}: the state is not finite"
        bandit.forget_pending()
        if n % 500 == 0:
            MonotoneBandit.from_arrays(bandit.arrays())
            bandits[name] = trained(name, rounds=5) if rng.random() < 0.3 else bandit
    return refused, learned


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]))))
