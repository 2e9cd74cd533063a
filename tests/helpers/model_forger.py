"""Forged models: the parts of honest ones with shapes, types, numbers and settings changed, in memory or as files.

A program of its own, so that a crash is an answer like any other: `python model_forger.py --count 1000 --seed 0`.
It prints, for each kind, how many models were refused and how many were opened and used; anything but a refusal by
`MassartError`, or arrays that are not finite in a model that was saved again, ends it.
"""

import argparse
import copy
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from grouped import grouped
from scipy import sparse

from massart import MassartClassifier, load, save
from massart.errors import MassartError
from massart.learners.drift import Drifting
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool
from massart.learners.products import Products
from massart.models import opening, saving
from massart.models.model_file import read_model, write_model

WIDTH = 6
VALUES = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    1e-320,
    1e-300,
    1e-50,
    1e50,
    1e150,
    1e300,
    -1e300,
    np.nan,
    np.inf,
    -np.inf,
)
SETTINGS = (None, True, 0, 1, -1, 2**31, 2**70, 10**400, 0.5, -1e308, "", "x", "experts", [], [1], [[1]], {}, {"a": 1})


def honest() -> dict[str, object]:
    """One model of every kind, each of which has learned something."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, size=(60, WIDTH)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] >= 0, 1, -1)
    many = np.array(["a", "b", "c"])[np.abs(X[:, 0]).astype(int) % 3]
    learners: dict[str, object] = {
        "ftrl": Halfspace(WIDTH, 0.1, 0.1),
        "fixed": Halfspace(WIDTH, 0.1, 0.1, 100, optimizer="fixed"),
        "adagrad": Halfspace(WIDTH, 0.1, 0.1, optimizer="adagrad-norm", normalize=False),
        "paper": Halfspace(WIDTH, 0.1, 0.1, update="paper", class_weight=(1.0, 1.5)),
        "pool": Pool(WIDTH),
        "wide pool": Pool(80, voting="majority"),
        "drifting": Drifting(WIDTH, 20),
        "products": Products(WIDTH),
        "groups": grouped(WIDTH),
    }
    for learner in learners.values():
        width = learner.n_features
        learner.learn_many(np.tile(X, (1, width // WIDTH + 1))[:, :width], y)
    fit = {"passes": 2, "random_state": 0}
    return learners | {
        "partial_fit": MassartClassifier(random_state=0).partial_fit(X, y, classes=[-1, 1]),
        "fit": MassartClassifier(0.1, 0.1, class_weight={-1: 1.0, 1: 2.0}, **fit).fit(X, y),
        "fit with products": MassartClassifier(products=True, **fit).fit(X, y),
        "many classes": MassartClassifier(**fit).fit(X, many),
        "data frame": MassartClassifier(class_weight="balanced", hash_bits=4, random_state=0).partial_fit(
            pd.DataFrame({"size": X[:, 0], "word": many}), y, classes=[-1, 1]
        ),
    }


def forged_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The array with one thing changed: its shape, its type, some numbers, or its layout."""
    shaped, is_number = np.atleast_1d(array), array.dtype.kind in "fiu"
    changes = (
        lambda: shaped[:0],
        lambda: shaped.reshape(-1)[: rng.integers(array.size + 1)],
        lambda: shaped[..., :0],
        lambda: array.astype(
            rng.choice(["f4", "i8", "u1", "?", ">f8", "c16", "S4", "U3"] if is_number else ["S1", "U2"])
        ),
        lambda: np.concatenate([shaped] * int(rng.integers(2, 4))),
        lambda: array.T.copy() if array.ndim > 1 else shaped[:, None],
        lambda: np.array(shaped.reshape(-1)[0] if array.size else 0),
        lambda: shaped[::-1] if rng.random() < 0.5 else np.asfortranarray(array),
    )
    if rng.random() < 2 / 3:
        return changes[rng.integers(len(changes))]()
    changed = array.copy()
    flat = changed.reshape(-1)
    for place in rng.integers(max(1, flat.size), size=rng.integers(1, 4)):
        if flat.size and flat.dtype.kind in "fi":
            with np.errstate(all="ignore"):
                value = rng.choice(VALUES) * (rng.random() if rng.random() < 0.3 else 1.0)
                flat[place] = value if flat.dtype.kind == "f" or (np.isfinite(value) and abs(value) < 2**62) else 7
    return changed


def forged_settings(meta: object, rng: np.random.Generator) -> object:
    """The settings with one leaf or branch replaced, removed or renamed."""
    if isinstance(meta, dict) and meta and rng.random() < 0.8:
        key = sorted(meta)[rng.integers(len(meta))]
        if rng.random() < 0.1:
            return {name: value for name, value in meta.items() if name != key}
        return meta | {key: forged_settings(meta[key], rng)}
    if isinstance(meta, list) and meta and rng.random() < 0.6:
        place = int(rng.integers(len(meta)))
        return [*meta[:place], forged_settings(meta[place], rng), *meta[place + 1 :]]
    return copy.deepcopy(SETTINGS[rng.integers(len(SETTINGS))])


def forged(kind: str, meta: dict, arrays: dict, rng: np.random.Generator) -> tuple[str, object, dict]:
    """One, two or three changes."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(rng.integers(1, 4)):
        name = sorted(arrays)[rng.integers(len(arrays))] if arrays else ""
        how = rng.random()
        if how < 0.04 and name:
            del arrays[name]
        elif how < 0.08 and name:
            arrays[name + "x"] = arrays[name]
        elif how < 0.12 and name:
            other = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name], arrays[other] = arrays[other], arrays[name]
        elif how < 0.3 and meta:
            changed = forged_settings(meta, rng)
            meta = changed if isinstance(changed, dict) else {"parameters": changed}
        elif name:
            arrays[name] = forged_array(arrays[name], rng)
    if rng.random() < 0.03:
        kind = str(
            rng.choice(["classifier", "halfspace", "experts", "drifting", "products", "groups", "bandit", "ranker"])
        )
    return kind, meta, arrays


def use(model: object, folder: Path) -> None:
    """Whatever anybody does with a model: predict, learn, certify, save."""
    X = np.arange(4 * WIDTH, dtype=float).reshape(4, WIDTH) - 10.0
    if isinstance(model, MassartClassifier):
        if not hasattr(model, "classes_"):
            return
        width = (
            model._learner.members[0].n_features if hasattr(model._learner, "members") else model._learner.n_features
        )
        X = np.tile(X, (1, width // WIDTH + 1))[:, :width] if width < 10_000 else sparse.csr_matrix((4, width))
        if width:
            model.predict(X)
            model.partial_fit(X, model.classes_[[0, 1, 0, 1]])
            model.predict(sparse.csr_matrix(X))
        model.summary()
    elif isinstance(model, (Halfspace, Pool, Drifting, Products, Grouped)):
        X = np.tile(X, (1, model.n_features // WIDTH + 1))[:, : model.n_features]
        model.score(X[0])
        model.learn_many(X, [1, -1, 1, -1])
        model.learn(X[1], 1)
        model.learn_many(sparse.csr_matrix(X), [1, -1, 1, -1])
        if isinstance(model, Grouped):
            model.learn_many(X, [1, -1, 1, -1], ["0", "new", *(model.names * 2)[:2]][:4] if len(model.names) else None)
            model.facts()
        if not isinstance(model, Products):  # which takes no more columns
            model.widen(model.n_features + 3)
        model.certificate()
        model.lower_noise_rate()
    else:
        return  # a bandit or a ranker: choices are forged elsewhere
    save(model, folder / "again")
    again = read_model(folder / "again")[2]
    assert all(np.isfinite(array).all() for array in again.values() if array.dtype.kind == "f")
    load(folder / "again")


def attack(kind: str, parts: tuple, count: int, seed: int, folder: Path, every: int) -> Counter:
    """Open and use so many forgeries of one honest model; every so-manieth goes through a real file."""
    rng, found = np.random.default_rng(seed), Counter()
    for number in range(count):
        name, meta, arrays = forged(*parts, rng)
        try:
            try:
                if number % every == 0:
                    write_model(folder / "forged", name, meta, arrays)
                    model = load(folder / "forged")
                else:  # what `load` does with the parts of a file
                    model = opening.model_of("forged", name, json.loads(json.dumps(meta)), arrays)
            except MassartError:
                found["refused"] += 1
                continue
            try:
                use(model, folder)
                found["used"] += 1
            except MassartError:
                found["refused later"] += 1
        except BaseException:
            print(f"{kind}, forgery {number} of seed {seed}", file=sys.stderr)
            raise
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="forgeries of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=20, help="one in so many goes through a file")
    given = parser.parse_args()
    report = {}
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for kind, model in honest().items():
            parts = saving.model_parts(model)
            report[kind] = attack(kind, parts, given.count, given.seed, Path(folder), given.every)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
