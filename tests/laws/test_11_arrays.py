"""Law 11, of arrays and parameters: only MassartError leaves learners of labels, which learn nothing from it."""

import warnings

import numpy as np
import pytest

from massart import MassartClassifier, MonotoneBandit
from massart.data import Decision, DecisionBatch
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation import evaluate
from massart.learners.drift import Drifting
from massart.learners.groups import Grouped
from massart.learners.halfspace import Halfspace
from massart.learners.pool import Pool
from massart.learners.products import Products

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
LEARNERS = {
    "halfspace": lambda: Halfspace(3, 0.1, 0.1),
    "pool": lambda: Pool(3),
    "drifting": lambda: Drifting(3, 20),
    "products": lambda: Products(3),
    "groups": lambda: Grouped(3),
}


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("rows", [[[1.0], [1.0, 2.0]] * 20, "rows", None, {}, [None] * 40, np.zeros(40, "f8,f8")])
def test_rows_that_are_no_table(kind, rows):
    learner = LEARNERS[kind]()
    with pytest.raises(InvalidDataError):
        learner.learn_many(rows, Y)
    assert learner.rounds == 0


@pytest.mark.parametrize("kind", LEARNERS)
def test_longer_floats_that_do_not_fit(kind):
    rows = np.full((40, 3), np.longdouble("1e4000"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidDataError, match="infinity"):
            LEARNERS[kind]().learn_many(rows, Y)


def masked(values):
    """With one value masked, below which anything may lie."""
    found = np.ma.masked_array(np.array(values), mask=np.zeros(np.shape(values), bool))
    found[3] = np.ma.masked
    return found


def test_masked_values_are_no_data():
    rows, labels, weights = masked(X), masked(Y), masked(np.ones(40))
    for learner in (make() for make in LEARNERS.values()):
        for given in ((rows, Y), (X, labels)):
            with pytest.raises(InvalidDataError, match="masked"):
                learner.learn_many(*given)
        with pytest.raises(InvalidDataError, match="masked"):
            learner.learn(rows[3], 1)
        assert learner.rounds == 0
    model = MassartClassifier(0.1, 0.1).partial_fit(X, Y, classes=[-1, 1])
    for given in ({"X": rows}, {"y": labels}, {"sample_weight": weights}):
        for use in (MassartClassifier(0.1, 0.1).fit, model.partial_fit):
            with pytest.raises(InvalidDataError, match="masked"):
                use(**{"X": X, "y": Y} | given)
    with pytest.raises(InvalidDataError, match="masked"):
        model.predict(rows)
    with pytest.raises(InvalidDataError, match="masked"):
        MonotoneBandit().choose(rows)
    whole = np.ma.masked_array(X)
    assert np.array_equal(model.predict(whole), model.predict(X))


@pytest.mark.parametrize("parameter", ["noise_rate", "margin", "horizon"])
def test_whole_numbers_that_no_float_holds(parameter):
    for value in (10**400, -(10**400)):
        with pytest.raises(InvalidParameterError, match=parameter):
            MassartClassifier(**{"noise_rate": 0.1, "margin": 0.1, parameter: value}).partial_fit(X, Y, classes=[-1, 1])


HALF = 0.5
NO_NUMBERS = ("x", None, [], {}, 1j, object(), np.array([1.0, 2.0]), float("nan"), 10**400, -1, HALF)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: str(value)[:10])
def test_columns_that_cannot_be_counted(value):
    learner = Halfspace(3, 0.1, 0.1)
    for use in (
        lambda: Halfspace(value, 0.1, 0.1),
        lambda: Pool(value),
        lambda: Drifting(value, 20),
        lambda: Products(value),
        lambda: Grouped(value),
        lambda: learner.widen(value),
        lambda: learner.narrow(value),
    ):
        with pytest.raises(InvalidParameterError, match="n_features"):
            use()


@pytest.mark.parametrize(
    "value", [None, 1.0, "ab", (1.0,), (1.0, "x"), (1.0, 10**400), object()], ids=lambda value: str(value)[:10]
)
def test_class_weights_that_are_not_two_numbers(value):
    with pytest.raises(InvalidParameterError, match="class_weight"):
        Halfspace(3, 0.1, 0.1, class_weight=value)


DECISIONS = DecisionBatch.of([Decision(np.eye(2), row % 2, 0.5, float(row % 3 == 0)) for row in range(20)])
MAY_BE_NONE = ("max_weight", "reward_range")
MAY_BE_HALF = ("max_weight", "switch_threshold", "confidence")


@pytest.mark.parametrize("parameter", ["confidence", "max_weight", "switch_threshold", "folds", "resamples", "seed",
                                       "reward_range", "estimators", "intervals"])  # fmt: skip
def test_parameters_of_an_evaluation(parameter):
    for value in NO_NUMBERS:
        if (value is None and parameter in MAY_BE_NONE) or (value is HALF and parameter in MAY_BE_HALF):
            continue
        with pytest.raises(InvalidParameterError, match=parameter.rstrip("s")):
            evaluate(DECISIONS, "uniform", **{parameter: value})


@pytest.mark.parametrize(
    "field", ["contexts", "arm", "probability", "reward", "probabilities", "target", "weight", "line"]
)
def test_fields_of_a_decision(field):
    for value in ("x", {}, 10**400, object(), np.ones((2, 2, 2))):
        fields = {"contexts": np.eye(2), "arm": 0, "probability": 0.5, "reward": 1.0, field: value}
        with pytest.raises(InvalidDataError):
            evaluate(DecisionBatch.of([Decision(**fields)] * 3), "uniform")
