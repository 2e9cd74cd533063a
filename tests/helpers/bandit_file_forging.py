"""Forged arrays of bandits and rankers, as a file by somebody else may hold them: refused, or used and all finite.

A program as well, so that it can be run with bounds checking: `python bandit_file_forging.py KIND COUNT`.
"""

import json
import sys
import warnings

import choice_forging as choices
import numpy as np

from massart import MonotoneBandit, MonotoneRanker
from massart.errors import MassartError

SEED = 20240612
NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, 7.0, 1e-12, 1e-160, 5e-324, 1e15, 2.0**48, 1e16, 1e50, 1e100, 1e150, 1e200,
           1.7e308, -1e308, np.nan, np.inf, -np.inf)  # fmt: skip


def originals(kind):
    """The arrays of several policies of a kind."""
    if kind == "ranker":
        found = []
        for ranker in (MonotoneRanker(0.2, 0.1), MonotoneRanker(random_state=0)):
            found.append(ranker.arrays())
            rng = np.random.default_rng(3)
            for _ in range(20):
                X = choices.contexts(rng)
                ranker.learn(X, rng.random(X.shape[0]))
            found.append(ranker.arrays())
        return found
    found = []
    for name in choices.BANDITS:
        bandit, rng = choices.trained(name), np.random.default_rng(4)
        for _ in range(3):
            bandit.choose(choices.contexts(rng))
        found += [MonotoneBandit(**choices.BANDITS[name]).arrays(), bandit.arrays()]
    for expire_after in (None, 4):
        named = MonotoneBandit(random_state=0, expire_after=expire_after)
        for number in range(8):
            named.learn(named.choose(["a", "b"], {f"f{number}": 0.5, "x": "y"}), 1.0)
            named.learn_logged([{"z": 1.0}, {"z": 2.0}], 1, 0.25, 1.0)
        named.choose([{"late": 1.0}, {"late": 2.0}])
        found.append(named.arrays())
    return found


def forged(arrays, rng):
    """The arrays with one to three changes of value, shape, type or name."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that another type does not have
        _change(arrays, rng)
    return arrays


def _change(arrays, rng):
    for _ in range(int(rng.integers(1, 4))):
        name = list(arrays)[rng.integers(len(arrays))]
        array, change = arrays[name], rng.integers(12)
        if change < 5:  # a number
            if array.size:
                value = NUMBERS[rng.integers(len(NUMBERS))]
                array.flat[rng.integers(array.size)] = np.array(value).astype(array.dtype)
        elif change == 5:
            arrays[name] = np.zeros([int(n) for n in rng.integers(0, 5, size=rng.integers(0, 4))], array.dtype)
        elif change == 6:  # as in files that made earlier versions write out of bounds
            d, k = (*array.shape, 1, 1)[:2]
            arrays[name] = np.zeros([(d, 0), (0, k), (d + 1, k), (d, k + 1), (0, 0)][rng.integers(5)], array.dtype)
        elif change == 7 and array.dtype.kind in "fiub":
            kinds = [np.float32, np.int64, np.uint64, np.bool_, "U3", np.complex128]
            arrays[name] = array.astype(kinds[rng.integers(len(kinds))])
        elif change == 8:
            arrays[name] = (
                np.concatenate([array, array])[: int(rng.integers(0, 2 * len(array) + 1))] if array.ndim else array
            )
        elif change == 9:
            arrays[name] = np.atleast_1d(array).T[..., ::-1]
        elif change == 10:
            arrays[name] = arrays[list(arrays)[rng.integers(len(arrays))]].copy()
        else:
            del arrays[name]


def use(policy, kind, rng):
    """Some rounds with whatever width it says that it has."""
    width = policy.arrays()["weights"].shape[0] or 3
    for _ in range(3):
        X = rng.normal(size=(int(rng.integers(1, 5)), min(width, 50)))
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)) * (1 + 1e-15)
        if kind == "ranker":
            policy.learn(X, rng.uniform(policy._state.lowest, policy._state.highest, len(X)))
            policy.predict_ranking(X)
            policy.choose(X)
        else:
            policy.learn(policy.choose(X), rng.choice([policy._state.lowest, policy._state.highest]))
            policy.certificate()
    assert all(np.isfinite(array).all() for array in policy.arrays().values() if array.dtype.kind == "f")


def run(kind, count, seed=SEED):
    """How many of so many forgeries were refused, and how many used."""
    rng, refused, used = np.random.default_rng(seed), 0, 0
    sources, maker = originals(kind), {"bandit": MonotoneBandit, "ranker": MonotoneRanker}[kind]
    for n in range(count):
        arrays = forged(sources[n % len(sources)], rng)
        try:
            policy = maker.from_arrays(arrays)
        except MassartError:
            refused += 1
            continue
        except Exception as error:
            raise AssertionError(f"input {n} of seed {seed}: {type(error).__name__}: {error}") from error
        try:
            use(policy, kind, rng)
        except MassartError:  # it has made as many choices as it can
            pass
        except Exception as error:
            raise AssertionError(f"input {n} of seed {seed}, used: {type(error).__name__}: {error}") from error
        used += 1
    return refused, used


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]))))
