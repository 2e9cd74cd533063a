"""The race counts what happened: against independent loops, chunk by chunk or row by row, whoever falls on the way."""

import json
import math
import sys
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import processes
import pytest
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from massart import Halfspace, MassartClassifier, arena, theory, worlds
from massart.arena import lanes
from massart.arena.entries import ClassifierLearner, enter
from massart.arena.lanes import angle_between, checkpoints, mistake_bound
from massart.arena.registry import LEARNERS
from massart.errors import InvalidParameterError
from massart.learners.pool import Pool

COLUMNS = [
    *("world", "learner", "seed", "rounds", "mistakes", "clean_mistakes", "noise_rate", "margin", "dimension"),
    *("angle", "bound", "certified", "holds", "error"),
]
OBLIVIOUS = [name for name in worlds.names() if not worlds.make(name).adaptive]
ADAPTIVE = [name for name in worlds.names() if worlds.make(name).adaptive]


def halfspace(world, **options):
    return Halfspace(world.dimension, world.noise_rate, world.margin, fit_intercept=False, **options)


def replay(learner, world, rounds):
    """Yield (t, mistakes, clean mistakes, learner) after each round: a race in five lines, one row at a time."""
    game, mistakes, clean_mistakes = world.play(rounds), 0, 0
    for t in range(1, rounds + 1):
        shown = game.next(learner.direction)
        said = 1 if learner.learn(shown.x, shown.y) >= 0 else -1
        mistakes += said != shown.y
        clean_mistakes += said != shown.clean
        yield t, mistakes, clean_mistakes, learner


def assert_same_as_replay(rows, learner, world, rounds):
    recorded = {row["rounds"]: row for row in rows}
    assert list(recorded) == checkpoints(rounds)
    for t, mistakes, clean_mistakes, now in replay(learner, world, rounds):
        if t in recorded:
            row = recorded[t]
            assert (row["mistakes"], row["clean_mistakes"]) == (mistakes, clean_mistakes)
            assert row["angle"] == angle_between(now.weights, world.target_at(t - 1))
            certificate = now.certificate() if hasattr(now, "certificate") else None
            assert row["certified"] == (certificate.mistake_bound if certificate else None)
            assert row["holds"] == (certificate.holds if certificate else None)


class Fails:
    """Predicts +1 until the row of `at`, counted from 1, which it does not survive."""

    weights = direction = np.zeros(20)

    def __init__(self, at, error=None):
        self.at, self.error, self.seen = at, error or RuntimeError("out of breath"), 0

    def learn(self, x, y):
        self.seen += 1
        if self.seen == self.at:
            raise self.error
        return 1.0

    def learn_many(self, X, y):
        return np.array([self.learn(x, label) for x, label in zip(X, y, strict=True)])

    def copy(self):
        return Fails(self.at, self.error)


@pytest.mark.parametrize("rounds", [1, 2, 3, 99, 100, 101, 999, 1000, 20_000, 123_457, 10**7])
def test_checkpoints_are_log_spaced_and_nested(rounds):
    marks = checkpoints(rounds)
    assert marks == sorted(set(marks))
    assert marks[0] == 1
    assert marks[-1] == rounds
    assert all(type(mark) is int for mark in marks)
    plain = {digit * 10**k for k in range(8) for digit in (1, 2, 5)}
    assert {mark for mark in plain if mark <= rounds} <= set(marks)
    assert {mark for mark in marks if mark < min(100, rounds)} <= plain, "nothing else below 100"
    # 20 per decade are a factor 10^(1/20) = 1.122 apart; whole numbers near 100 round it to at most 1.13
    assert all(b / a <= 1.13 for a, b in pairwise(marks) if a >= 100)
    assert sum(1000 <= mark < 10_000 for mark in marks) <= 22
    assert set(marks[:-1]) <= set(checkpoints(3 * rounds))


def test_angle_is_exact_at_every_size():
    for degrees in (0.0, 1e-9, 1e-4, 30.0, 90.0, 179.999999, 180.0):
        radians = math.radians(degrees)
        turned = np.array([math.cos(radians), math.sin(radians), 0.0])
        for scale in (1e-300, 1.0, 1e300):
            assert angle_between(scale * turned, np.array([2.0, 0.0, 0.0])) == pytest.approx(degrees, rel=1e-9)
    assert angle_between(np.zeros(3), np.ones(3)) is None
    assert angle_between(np.array([np.nan, 1.0]), np.ones(2)) is None
    assert angle_between(np.array([np.inf, 1.0]), np.ones(2)) is None


@pytest.mark.parametrize("name", OBLIVIOUS)
def test_chunked_race_equals_a_row_by_row_loop(name):
    world = worlds.make(name, seed=3)
    rounds = 5000  # more than one block of 4096
    result = arena.race({"ours": halfspace(world), "pool": Pool(world.dimension, seed=5)}, world, rounds)
    by_learner = {key: [row for row in result if row["learner"] == key] for key in ("ours", "pool")}
    assert_same_as_replay(by_learner["ours"], halfspace(world), world, rounds)
    assert_same_as_replay(by_learner["pool"], Pool(world.dimension, seed=5), world, rounds)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_race_equals_a_hand_written_loop(name):
    world = worlds.make(name, seed=4)
    learners = {"ours": halfspace(world), "perceptron": "perceptron"}
    result = arena.race(learners, world, 1500)
    by_learner = {key: [row for row in result if row["learner"] == key] for key in learners}
    assert_same_as_replay(by_learner["ours"], halfspace(world), world, 1500)
    assert_same_as_replay(by_learner["perceptron"], LEARNERS.make("perceptron", dimension=20), world, 1500)


@pytest.mark.parametrize("name", ["sacrificed-minority", "hunted-minority"])
def test_every_contestant_gets_the_rows_it_gets_alone(name):
    names = [name for name in LEARNERS.names(peers=False) if name != "exponential-net"]
    together = arena.race(names, name, 300, seed=7)
    assert list(together.final) == names
    for learner in names:
        alone = arena.race(learner, name, 300, seed=7)
        assert alone.rows == [row for row in together if row["learner"] == learner]
        assert [list(row) for row in alone] == len(checkpoints(300)) * [COLUMNS]
    assert json.loads(json.dumps(together.rows, allow_nan=False, default=dict)) == together.rows


def test_chunk_size_changes_nothing(monkeypatch):
    names = [name for name in LEARNERS.names(peers=False) if name != "exponential-net"]
    expected = arena.race(names, "two-phases", 700)
    monkeypatch.setattr(lanes, "CHUNK", 13)
    assert arena.race(names, "two-phases", 700).rows == expected.rows


def test_seed_decides_world_and_learner():
    first, again, other = (arena.race("massart-unknown", "masked-margin", 500, seed=seed) for seed in (1, 1, 2))
    assert first.rows == again.rows
    assert [row["mistakes"] for row in first] != [row["mistakes"] for row in other]
    for_world, for_learners = np.random.SeedSequence(1).spawn(2)
    by_hand = LEARNERS.make("massart-unknown", dimension=20, seed=int(for_learners.generate_state(1)[0]))
    assert_same_as_replay(first.rows, by_hand, worlds.make("masked-margin", seed=for_world), 500)


def test_learners_given_stay_as_they_are_and_the_trained_ones_come_back():
    world = worlds.make("kink")
    given, classifier = halfspace(world), MassartClassifier(0.1, 0.05)
    result = arena.race([given, classifier], world, 400)
    assert given.rounds == 0
    assert not hasattr(classifier, "classes_")
    assert result.learners["Halfspace"].rounds == 400
    assert result.learners["MassartClassifier"].classifier.rounds_ == 400
    assert result.final["Halfspace"]["mistakes"] == result.learners["Halfspace"].mistakes


@pytest.mark.parametrize("world", ["sacrificed-minority", "hunted-minority"])
def test_a_learner_that_raises_is_marked_and_the_others_go_on(world):
    learners = {"first": "perceptron", "fails": Fails(at=301), "last": "massart"}
    result = arena.race(learners, world, 2000)
    failed = [row for row in result if row["learner"] == "fails"]
    assert [row["error"] for row in failed[:-1]] == (len(failed) - 1) * [None]
    assert failed[-1]["error"] == "RuntimeError: out of breath"
    # one row at a time the round is known; from a chunk, that nothing after its last checkpoint was finished
    finished = 300 if worlds.make(world).adaptive else max(mark for mark in checkpoints(2000) if mark <= 300)
    assert failed[-1]["rounds"] == finished
    assert [row["rounds"] for row in failed] == sorted({mark for mark in checkpoints(2000) if mark <= 300} | {finished})
    others = [row for row in result if row["learner"] != "fails"]
    assert others == arena.race({"first": "perceptron", "last": "massart"}, world, 2000).rows


@pytest.mark.parametrize("world", ["kink", "worst-point"])
def test_a_learner_that_raises_at_once_has_one_row(world):
    (row,) = arena.race({"fails": Fails(at=1)}, world, 100)
    assert (row["rounds"], row["mistakes"], row["bound"], row["angle"]) == (0, 0, None, None)
    assert row["error"] == "RuntimeError: out of breath"


def test_a_learner_that_cannot_be_made_is_marked():
    result = arena.race(["exponential-net", "massart"], "kink", 100)
    assert result.final["exponential-net"]["rounds"] == 0
    assert result.final["exponential-net"]["error"].startswith("InvalidParameterError: ")
    assert list(result.learners) == ["massart"]
    assert result.final["massart"]["rounds"] == 100


class Diverges(Fails):
    """Its scores, or weights, stop being numbers."""

    def __init__(self, shape=None):
        super().__init__(at=-1)
        self.shape = shape

    def learn(self, x, y):
        self.direction = np.full(20, np.nan)
        return math.nan

    def learn_many(self, X, y):
        return np.full(self.shape or len(y), math.nan if self.shape is None else 1.0)

    def copy(self):
        return Diverges(self.shape)


def test_a_learner_that_diverges_is_marked():
    (row,) = arena.race(Diverges(), "kink", 100)
    assert (row["rounds"], row["error"]) == (0, "InvalidDataError: a score is not a number: the learner has diverged")
    (row,) = arena.race(Diverges(), "worst-point", 100)
    assert row["rounds"] == 1
    assert "did the learner diverge?" in row["error"]
    assert "scores of shape (3,)" in arena.race(Diverges(shape=3), "kink", 100)[-1]["error"]


@pytest.mark.parametrize("classifier", [SGDClassifier(loss="log_loss"), Perceptron(), MLPClassifier((3,))])
def test_a_classifier_is_predicted_before_it_is_taught(classifier):
    world = worlds.make("fixed-pair", seed=2)
    rounds = 300  # more than the 256 rows of a slow learner's chunk
    result = arena.race(classifier, world, rounds, seed=9)
    by_hand = type(classifier)(**classifier.get_params())
    by_hand.set_params(random_state=int(np.random.SeedSequence(9).spawn(2)[1].generate_state(1)[0]))
    chunk = world.take(rounds)
    said = []
    for x, y in zip(chunk.X, chunk.y, strict=True):
        said.append(by_hand.predict([x])[0] if said else 1)
        by_hand.partial_fit([x], [y], classes=[-1, 1])
    mistakes = np.cumsum(np.array(said) != chunk.y)
    clean = np.cumsum(np.array(said) != chunk.clean)
    assert [row["mistakes"] for row in result] == [mistakes[row["rounds"] - 1] for row in result]
    assert [row["clean_mistakes"] for row in result] == [clean[row["rounds"] - 1] for row in result]
    linear = hasattr(by_hand, "coef_")
    assert result.rows[-1]["angle"] == (angle_between(by_hand.coef_[0], world.target) if linear else None)


@pytest.mark.parametrize("parameters", [(0.2, 0.04), (None, None)])
@pytest.mark.parametrize("before", ["new", "partial_fit", "fit"])
def test_massart_classifier_equals_its_own_partial_fit(parameters, before):
    world = worlds.make("sacrificed-minority", seed=1)
    chunk = world.take(600)
    labels = np.array(["no", "yes"])[(chunk.y + 1) // 2]
    classifier = MassartClassifier(*parameters, random_state=3, passes=1)
    if before == "fit":
        classifier.fit(chunk.X[:200], labels[:200])
    elif before == "partial_fit":
        classifier.partial_fit(chunk.X[:200], labels[:200], classes=["no", "yes"])
    learner = ClassifierLearner(classifier, 20, seed=0).copy()
    started = 0 if before == "new" else classifier.mistakes_
    told = chunk.y if before == "new" else labels
    scores = [*learner.learn_many(chunk.X[:1], chunk.y[:1]), *learner.learn_many(chunk.X[1:], chunk.y[1:])]
    for t in range(600):
        counted = classifier.mistakes_ if hasattr(classifier, "classes_") else 0
        classifier.partial_fit(chunk.X[t : t + 1], told[t : t + 1], classes=np.unique(told))
        assert (scores[t] >= 0) == ((chunk.y[t] > 0) == (classifier.mistakes_ == counted))
    assert learner.classifier.mistakes_ == classifier.mistakes_ > started
    np.testing.assert_array_equal(learner.weights, classifier.coef_[0])
    assert learner.certificate() == classifier.certificate()


def test_after_fit_the_weights_that_go_on_learning_are_the_ones_that_count():
    chunk = worlds.make("sacrificed-minority", seed=1).take(400)
    fitted = MassartClassifier(random_state=3, passes=1).fit(chunk.X[:200], chunk.y[:200])
    agrees = []
    for x, y in zip(chunk.X[200:, None, :], chunk.y[200:, None], strict=True):
        learner = ClassifierLearner(fitted, 20, seed=0).copy()
        right = learner.learn(x[0], y[0]) == y[0]
        assert learner.classifier.mistakes_ - fitted.mistakes_ == (0 if right else 1)
        agrees.append(right == (fitted.predict(x)[0] == y[0]))
    assert not all(agrees), "on some rows the fitted weights say something else"


def test_bounds_are_those_of_theory():
    world, t, T = worlds.make("masked-margin"), 3000, 20_000
    eta, gamma = world.noise_rate, world.margin
    assert mistake_bound("massart", world, T)(t) == theory.ftrl_mistake_bound(eta, gamma, t)
    assert mistake_bound("massart-adagrad", world, T)(t) == theory.adagrad_mistake_bound(eta, gamma, t)
    assert mistake_bound("massart-fixed", world, T)(t) == theory.fixed_mistake_bound(eta, gamma, t, horizon=T)
    assert mistake_bound("paper", world, T)(T) == pytest.approx(theory.paper_mistake_bound(eta, gamma, T), rel=1e-12)
    assert mistake_bound("massart-unknown", world, T)(t) > mistake_bound("massart", world, T)(t)
    for other in ("perceptron", None):
        assert mistake_bound(other, world, T)(t) == theory.fixed_mistake_bound(eta, gamma, t)


def test_no_bound_without_a_theorem():
    for name in ("massart", "massart-unknown", None):
        assert mistake_bound(name, worlds.make("turning-target"), 1000) is None
    assert mistake_bound("massart-unknown", worlds.make("random-noise", margin=0.001), 1000) is None
    overlapping = worlds.from_data([[1.0, 0.2], [-0.5, 1.0], [-1.0, -0.3]], [1, 0, 0], target=[0.0, 1.0])
    assert overlapping.margin is None
    result = arena.race(["massart", "massart-unknown"], overlapping, 100)
    assert "needs margin" in result.final["massart"]["error"]
    assert {row["bound"] for row in result} == {None}


@pytest.mark.parametrize(("world", "few", "many"), [("kink", 100_000, 1_000_000), ("worst-point", 10_000, 50_000)])
def test_memory_does_not_grow_with_the_rounds(world, few, many):
    learners = ["massart", "perceptron"] if world == "kink" else ["massart"]
    arena.race(learners, world, 5000)  # compiled, imported, cached

    def peak(rounds):
        tracemalloc.start()
        try:
            rows = len(arena.race(learners, world, rounds))
            return tracemalloc.get_traced_memory()[1], rows
        finally:
            tracemalloc.stop()

    (small, few_rows), (large, many_rows) = peak(few), peak(many)
    # A row has 14 values, below 2 kB; there are about 23 more of them per decade and learner.
    assert large - small < 2048 * (many_rows - few_rows) + 20_000
    assert many_rows - few_rows < 25 * len(learners)


@pytest.mark.parametrize("world", ["kink", "worst-point"])
def test_progress_comes_ten_times_a_second_and_at_the_end(world):
    events = []
    begin = time.monotonic()
    result = arena.race(["massart", "perceptron"], world, 60_000, progress=events.append)
    assert 1 <= len(events) <= 2 + 10 * (time.monotonic() - begin)
    done = [event.done for event in events]
    assert done == sorted(done)
    last = events[-1]
    assert (last.done, last.total, last.world, last.seed) == (120_000, 120_000, world, 0)
    final = [result.final[name] for name in ("massart", "perceptron")]
    assert last.standings == [(r["learner"], r["rounds"], r["mistakes"], r["bound"], r["error"]) for r in final]


@pytest.mark.parametrize("world", ["kink", "worst-point"])
def test_a_callback_that_raises_is_not_blamed_on_a_learner(world):
    def broken(event):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        arena.race("massart", world, 100, progress=broken)


@pytest.mark.parametrize("world", ["kink", "worst-point"])
def test_an_interrupted_race_keeps_its_rows(world):
    with pytest.raises(KeyboardInterrupt) as stop:
        arena.race({"ours": "massart", "stops": Fails(at=500, error=KeyboardInterrupt())}, world, 1000)
    assert isinstance(stop.value, arena.RaceInterrupted)
    kept = stop.value.result.rows
    assert [row["rounds"] for row in kept if row["learner"] == "stops"] == [m for m in checkpoints(1000) if m < 500]
    assert [row for row in kept if row["learner"] == "ours"] == arena.race({"ours": "massart"}, world, 1000).rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["masart"], "kink", 10), "'masart'; did you mean 'massart'"),
        ((["massart"], "kinck", 10), "no world 'kinck'; did you mean 'kink'"),
        ((["massart"], 3, 10), "a world or the name of one"),
        ((["massart"], "kink", 0), "rounds must be a whole number, at least 1, got 0"),
        ((["massart"], "kink", 1e3), "rounds must be a whole number"),
        (([], "kink", 10), "no learner was given"),
        ((["massart", "massart"], "kink", 10), "there twice"),
        ((object(), "kink", 10), "object cannot race"),
        ((Halfspace, "kink", 10), "Halfspace is a class"),
    ],
)
def test_mistakes_of_the_caller_are_refused(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        arena.race(*arguments)
    with pytest.raises(InvalidParameterError, match="seed must be"):
        arena.race("massart", "kink", 10, seed=-1)


def test_classifier_with_three_classes_is_marked():
    classifier = GaussianNB().fit(np.eye(20)[:3], [0, 1, 2])
    assert "fitted with 3 classes" in arena.race(classifier, "kink", 10).rows[-1]["error"]


def test_names_of_learners_brought_along():
    learners = [GaussianNB(), GaussianNB(), "massart", GaussianNB()]
    assert [entry.name for entry in enter(learners)] == ["GaussianNB", "GaussianNB-2", "massart", "GaussianNB-3"]
    mixed = enter([GaussianNB(), "massart", MassartClassifier(), "sklearn-log"])
    assert [entry.fast for entry in mixed] == [False, True, True, False]


def test_importing_the_arena_is_light():
    heavy = "[m for m in ('numba', 'scipy', 'sklearn', 'joblib', 'matplotlib') if m in sys.modules]"
    code = f"import sys, massart.arena; assert callable(massart.arena.race); print({heavy})"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_result_reads_like_a_list_of_rows():
    result = arena.race("massart", "kink", 10)
    assert list(result) == result[:] == result.rows
    assert result[-1] is result.final["massart"]
    assert repr(result) == "<RaceResult: 4 rows of massart>"
