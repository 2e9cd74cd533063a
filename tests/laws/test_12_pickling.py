"""Everything pickles and deep-copies, also to another process: the copy goes on exactly like the original."""

import copy
import importlib
import inspect
import pickle
from dataclasses import asdict, is_dataclass
from functools import partial

import joblib
import numpy as np
import pytest
from grouped import grouped

from massart import Halfspace, MassartClassifier, MonotoneBandit, MonotoneRanker, arena, errors, worlds
from massart.arena.registry import LEARNERS, POLICIES
from massart.kernels.door import Rows
from massart.learners.drift import Drifting
from massart.learners.multiclass import OneVsRest
from massart.learners.pool import Pool
from massart.learners.products import Products
from massart.values import Record

D, ARMS = 4, 3
WIDTH = 12  # of worlds


def rows(count=60, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, D))
    y = (X[:, 0] > 0).astype(int) + ((X[:, 1] > 0.5).astype(int) if classes == 3 else 0)
    return X, y


def bytes_of(value):
    """Anything as bytes to compare: arrays to the bit."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tolist() if value.dtype.hasobject else value.tobytes())
    if is_dataclass(value) and not isinstance(value, type):
        return bytes_of(asdict(value))
    if isinstance(value, Record):
        return bytes_of(value.asdict())
    if isinstance(value, dict):
        return {name: bytes_of(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [bytes_of(part) for part in value]
    return repr(value)


# ------------------------------------------------------------------------------------- how each of them goes on


def go_on_learner(learner):
    X, y = rows(40, seed=9)
    learned = learner.learn_predict(X, 2.0 * y - 1) if hasattr(learner, "learn_predict") else None
    return learned, learner.arrays()


def go_on_several(learner):
    X, y = rows(40, seed=9, classes=3)
    return learner.learn_rows(Rows.of(X), y), learner.arrays()


def go_on_classifier(model):
    X, y = rows(40, seed=9)
    classes = getattr(model, "classes_", np.unique(y))
    model.partial_fit(X, classes[y], classes=classes)
    return model.decision_function(X), model.predict(X), model.certificate()


def go_on_baseline(learner):
    X, y = rows(40, seed=9)
    found = []
    for x, label in zip(X, 2 * y - 1, strict=True):
        found.append(learner.predict(x))
        learner.learn(x, int(label))
    return found


def go_on_policy(policy):
    rng, found = np.random.default_rng(3), []
    for _ in range(20):
        choice = policy.choose(rng.normal(size=(ARMS, D)) / 8)
        policy.learn(choice, rng.random())
        found.append((choice.arm, choice.probabilities))
    kept = {name: array for name, array in policy.arrays().items() if not name.startswith("pending")}
    return found, kept


def go_on_bandit(bandit):
    return go_on_policy(bandit), bandit.pending, bandit.certificate()


def go_on_ranker(ranker):
    rng = np.random.default_rng(3)
    for _ in range(10):
        ranker.learn(rng.normal(size=(ARMS, D)) / 8, rng.random(ARMS))
    return ranker.arrays()


def go_on_choice(choice):
    return choice.to_json(), choice.identity, choice.memo.keys()


def go_on_world(world):
    return go_on_game(world.play(20))


def go_on_game(game):
    return [game.next(np.zeros(WIDTH)) for _ in range(game.rounds - game.played)]


def go_on_value(value):
    return value


def go_on_error(error):
    return type(error), str(error)


# ------------------------------------------------------------------------------------------------------ who they are


def classifier(classes=2, fitted=True, **options):
    model = MassartClassifier(random_state=0, **options)
    X, y = rows(classes=classes)
    return model.partial_fit(X, y, classes=np.unique(y)) if fitted else model


def learned(learner):
    X, y = rows()
    learner.learn_many(X, 2.0 * y - 1)
    return learner


def several():
    learner = OneVsRest([Halfspace(D, 0.1, 0.05) for _ in range(3)])
    go_on_several(learner)
    return learner


def baseline(name):
    made = LEARNERS.make(name, dimension=D, noise_rate=0.1, margin=0.1, horizon=1000, seed=0)
    go_on_baseline(made)
    return made


def policy(name):
    made = POLICIES.make(name, dimension=D, arms=ARMS, seed=5, gap=0.2, margin=0.1, horizon=1000)
    rng = np.random.default_rng(0)
    for _ in range(20):
        made.learn(made.choose(rng.normal(size=(ARMS, D)) / 8), rng.random())
    made.choose(np.eye(ARMS, D) / 2)
    return made


def bandit(**options):
    made, rng = MonotoneBandit(random_state=0, **options), np.random.default_rng(0)
    for _ in range(20):
        made.learn(made.choose(rng.normal(size=(ARMS, D)) / 8), rng.random())
    made.choose(np.eye(ARMS, D))
    return made


def ranker():
    made = MonotoneRanker()
    go_on_ranker(made)
    return made


def game(name):
    """Five rounds of twenty have been played."""
    played = worlds.make(name, seed=0, dimension=WIDTH).play(20)
    for _ in range(5):
        played.next(np.zeros(WIDTH))
    return played


def data_set():
    X = np.random.default_rng(0).normal(size=(30, WIDTH))
    return worlds.DataSet("rows", X, np.where(X[:, 0] > 0, "up", "down").tolist(), "noisy")


def go_on_data_set(made):
    return go_on_world(made.make(seed=0))


def certificate():
    return classifier(noise_rate=0.1, margin=0.05).certificate()


CASES = {
    "classifier": (classifier, go_on_classifier),
    "classifier, three classes": (lambda: classifier(classes=3), lambda model: model.decision_function(rows()[0])),
    "classifier, known noise": (lambda: classifier(noise_rate=0.1, margin=0.05), go_on_classifier),
    "classifier, horizon": (lambda: classifier(horizon=1000), go_on_classifier),
    "classifier, not fitted": (lambda: classifier(fitted=False), go_on_classifier),
    "classifier, fitted": (lambda: classifier(fitted=False).fit(*rows()), go_on_classifier),
    "halfspace": (lambda: learned(Halfspace(D, 0.1, 0.05)), go_on_learner),
    "halfspace, paper": (lambda: learned(Halfspace(D, 0.1, 0.05, 1000, update="paper")), go_on_learner),
    "experts": (lambda: learned(Pool(D)), go_on_learner),
    "drifting": (lambda: learned(Drifting(D, 500)), go_on_learner),
    "products": (lambda: learned(Products(D)), go_on_learner),
    "groups": (lambda: learned(grouped(D)), go_on_learner),
    "one against the rest": (several, go_on_several),
    "ranker": (ranker, go_on_ranker),
    "bandit": (bandit, go_on_bandit),
    "bandit, known": (lambda: bandit(gap=0.1, margin=0.2), go_on_bandit),
    "bandit, paper": (lambda: bandit(gap=0.5, margin=0.5, horizon=1000, update="paper"), go_on_bandit),
    "bandit, expiring": (lambda: bandit(expire_after=3), go_on_bandit),
    "choice": (lambda: bandit().choose(np.eye(ARMS, D)), go_on_choice),
    "certificate": (certificate, go_on_value),
    "lift certificate": (lambda: bandit(gap=0.1, margin=0.2).certificate(), go_on_value),
    "race": (lambda: arena.race(["perceptron"], "kink", 50), lambda result: result.rows),
    "race interrupted": (lambda: arena.RaceInterrupted(arena.race("perceptron", "kink", 9)), lambda e: e.result.rows),
    "sweep interrupted": (lambda: arena.SweepInterrupted([{"a": 1}], [], 1, 2), lambda e: (e.rows, e.done, str(e))),
    "race of policies": (lambda: arena.race(["linucb"], "simpson", 50), lambda result: result.rows),
    "progress of policies": (
        lambda: arena.Progress(1, 2, "simpson", 0, [arena.RewardStanding("x", 1, 0.0, None, None)]),
        go_on_value,
    ),
    "progress": (lambda: arena.Progress(1, 2, "kink", 0, [arena.Standing("x", 1, 0, None, None)]), go_on_value),
}  # fmt: skip
# VW's own file lacks some of what --cover goes on learning with, and its workspace is not ours.
for NAME in POLICIES.names():
    if NAME != "vw-cover":
        CASES[f"policy {NAME}"] = (partial(policy, NAME), go_on_policy)
for NAME in LEARNERS.names():
    if NAME in LEARNERS.default:
        CASES[f"learner {NAME}"] = (partial(baseline, NAME), go_on_baseline)
CASES["data set"] = (data_set, go_on_data_set)
for NAME in (*worlds.names(), *worlds.reward_names()):
    CASES[f"world {NAME}"] = (partial(worlds.make, NAME, seed=0, dimension=WIDTH), go_on_world)
    CASES[f"game {NAME}"] = (partial(game, NAME), go_on_game)
for NAME in (name for name in errors.__all__ if inspect.isclass(getattr(errors, name))):
    CASES[f"error {NAME}"] = (partial(getattr(errors, NAME), "what happened"), go_on_error)


# -------------------------------------------------------------------------------------------------------------- the law


def unpickled(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))  # noqa: S301 - our own


WAYS = {"deepcopy": copy.deepcopy, "pickle": unpickled, "oldest pickle": partial(unpickled, protocol=2)}


@pytest.mark.parametrize("name", CASES)
def test_copies_go_on_like_the_original(name):
    make, go_on = CASES[name]
    original = make()
    copies = [way(original) for way in WAYS.values()]
    copies.append(unpickled(copies[0]))  # a copy of a copy
    assert all(type(one) is type(original) for one in copies)
    expected = bytes_of(go_on(original))
    for one in copies:
        assert bytes_of(go_on(one)) == expected


@pytest.mark.parametrize("name", CASES)
def test_a_pickle_holds_no_kernel(name):
    """Kernels are compiled when a wheel is built, or by Numba: a pickle from one such place opens in the other."""
    pickled = pickle.dumps(CASES[name][0]())
    assert b"massart.kernels.built" not in pickled
    assert b"numba" not in pickled


def in_another_process(name, value):
    """What it does there, and itself when it comes back."""
    CASES[name][1](copy.deepcopy(value))
    return bytes_of(CASES[name][1](copy.deepcopy(value))), value


def test_copies_go_on_in_another_process_and_come_back():
    """By joblib's processes, all in one run: each is pickled twice on its way."""
    originals = {name: make() for name, (make, _) in CASES.items()}
    work = joblib.Parallel(n_jobs=2, backend="loky")
    found = work(joblib.delayed(in_another_process)(name, value) for name, value in originals.items())
    for (name, original), (there, back) in zip(originals.items(), found, strict=True):
        expected = bytes_of(CASES[name][1](original))
        assert there == expected, name
        assert bytes_of(CASES[name][1](back)) == expected, name


PUBLIC = ("massart", "massart.arena", "massart.errors", "massart.worlds", "massart.learners.reference.policies")


def test_no_public_class_is_forgotten():
    """Every class that is not a protocol or abstract is that of a case, or a part of one."""
    found = set()

    def look(value):
        found.add(type(value).__name__)
        for part in (
            value if isinstance(value, (list, tuple)) else vars(value).values() if hasattr(value, "__dict__") else ()
        ):
            if type(part).__module__.startswith("massart") or isinstance(part, (list, tuple)):
                look(part)

    for make, _ in CASES.values():
        look(make())
    parts = {"Played", "Round", "RewardRound", "Chunk", "RewardChunk", "Region"}  # named tuples of plain values
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and not inspect.isabstract(kind) and not getattr(kind, "_is_protocol", False):
                assert name in found | parts, f"{module.__name__}.{name}"


def test_a_pickled_bandit_is_a_bandit_of_its_own():
    """It learns what waits, hands out other identities, and shares neither memory nor lock with the original."""
    original = bandit()
    waiting = original.choose(np.eye(ARMS, D))
    for way in WAYS.values():
        one = way(original)
        assert one.choose(np.eye(ARMS, D)).identity != original.copy().choose(np.eye(ARMS, D)).identity
        one.learn(way(waiting), 1.0)
        assert original.rounds == 20
        assert one._lock is not original._lock
    original.learn(waiting, 1.0)


def test_a_pickled_choice_does_not_hold_the_key():
    made = bandit()
    choice = made.choose(np.eye(ARMS, D))
    assert made.key not in pickle.dumps(choice)
    assert unpickled(choice).digest == choice.digest
