"""A data set as a world: where the noise goes, and what is refused."""

import numpy as np
import pytest

from massart import worlds
from massart.errors import InvalidDataError, InvalidParameterError

RNG = np.random.default_rng(8)
ROWS = RNG.standard_normal((400, 5)) * 7
DIRECTION = np.array([1.0, 2.0, 0.0, -1.0, 0.5])
LABELS = np.where(ROWS @ DIRECTION > 0, "good", "bad")
GROUP = ROWS[:, 2] > 1.0


def flips_by_row(world, passes):
    """How often each row's label was flipped; rows are recognised by their first coordinate."""
    scaled = ROWS / np.linalg.norm(ROWS, axis=1).max()
    chunk = world.take(passes * len(ROWS))
    index = np.searchsorted(np.sort(scaled[:, 0]), chunk.X[:, 0])
    row = np.argsort(scaled[:, 0])[index]
    assert np.array_equal(chunk.X, scaled[row])
    assert (np.bincount(row, minlength=len(ROWS)) == passes).all()  # every pass shows every row once
    return np.bincount(row, weights=chunk.y != chunk.clean, minlength=len(ROWS)), chunk, row


@pytest.mark.parametrize("noise", ["uniform", "near-boundary", "far-from-boundary", "group", "outside-group"])
def test_each_row_is_flipped_at_its_own_rate(noise):
    group = GROUP if "group" in noise else None
    world = worlds.from_data(ROWS, LABELS, noise=noise, noise_rate=0.3, group=group, target=DIRECTION)
    distance = np.abs(ROWS @ DIRECTION)
    relative = distance / distance.max()
    rates = {
        "uniform": np.full(400, 0.3),
        "near-boundary": 0.3 * (1 - relative),
        "far-from-boundary": 0.3 * relative,
        "group": 0.3 * GROUP,
        "outside-group": 0.3 * ~GROUP,
    }[noise]
    flips, chunk, row = flips_by_row(world, passes=100)
    assert (flips[rates == 0] == 0).all()
    # Sum of squared standardised deviations: chi-square with n degrees, mean n, deviation sqrt(2n) to first order
    # and at most sqrt(2n + n/(100 min p(1-p))) with the kurtosis of the binomial; rows with p >= .01, z = 5.
    busy = rates >= 0.01
    variance = 100 * rates[busy] * (1 - rates[busy])
    statistic = ((flips[busy] - 100 * rates[busy]) ** 2 / variance).sum()
    spread = np.sqrt(2 * busy.sum() + (1 / variance).sum())
    assert abs(statistic - busy.sum()) <= 5 * spread
    assert world.bayes_error == pytest.approx(rates.mean())
    assert np.array_equal(chunk.clean == 1, LABELS[row] == "good")


def test_the_target_and_margin_of_separable_data():
    world = worlds.from_data(ROWS, LABELS, target=DIRECTION)
    unit = DIRECTION / np.linalg.norm(DIRECTION)
    scale = np.linalg.norm(ROWS, axis=1).max()
    assert world.target == pytest.approx(unit)
    assert world.margin == pytest.approx(np.abs(ROWS @ unit).min() / scale)
    assert world.classes == ["bad", "good"]
    assert not world.adaptive


def test_a_target_is_fitted_when_none_is_given():
    world = worlds.from_data(ROWS, LABELS)
    assert world.target @ DIRECTION / np.linalg.norm(DIRECTION) > 0.98


def test_data_no_halfspace_explains_has_no_margin():
    crossed = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    assert worlds.from_data(crossed, [1, 1, 0, 0], target=[1.0, 0.3]).margin is None


def test_order_is_kept_when_asked_for():
    world = worlds.from_data(ROWS, LABELS, target=DIRECTION, shuffle=False)
    scaled = ROWS / np.linalg.norm(ROWS, axis=1).max()
    assert np.array_equal(world.take(1000).X, np.r_[scaled, scaled, scaled][:1000])


def test_each_pass_is_shuffled_anew_with_new_noise():
    chunk = worlds.from_data(ROWS, LABELS, target=DIRECTION, noise_rate=0.3).take(800)
    assert not np.array_equal(chunk.X[:400], chunk.X[400:])
    assert not np.array_equal(
        np.sort(chunk.X[:400][chunk.y[:400] != chunk.clean[:400], 0]),
        np.sort(chunk.X[400:][chunk.y[400:] != chunk.clean[400:], 0]),
    )


def test_the_data_given_is_not_touched():
    before = ROWS.copy()
    worlds.from_data(ROWS, LABELS, target=DIRECTION).take(10).X[:] = 0.0
    assert np.array_equal(ROWS, before)


class Sparse:
    def toarray(self):
        return ROWS


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (Sparse(), LABELS, "toarray"),
        ([["a", "b"]], [1], "numbers only"),
        (np.zeros(3), [1, 0, 1], "rows and columns"),
        (np.zeros((0, 2)), [], "rows and columns"),
        ([[1.0, np.nan], [1.0, 2.0]], [0, 1], "NaN or infinity"),
        (np.zeros((2, 2)), [0, 1], "every row of X is zero"),
        (np.eye(2), [0, 1, 1], "one label per row"),
        (np.eye(2), [1, 1], "two classes, got 1"),
        (np.eye(3), [1, 2, 3], "two classes, got 3"),
    ],
)
def test_data_that_is_none_is_refused(X, y, message):
    with pytest.raises(InvalidDataError, match=message):
        worlds.from_data(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"noise": "everywhere"}, "noise must be one of uniform, near-boundary"),
        ({"noise_rate": 0.5}, r"noise_rate in \[0, 0.5\)"),
        ({"noise": "outside-group"}, "needs group"),
        ({"noise": "group", "group": np.ones(400, dtype=bool)}, "both of them present"),
        ({"noise": "group", "group": np.ones(400)}, "one True or False per row"),
        ({"noise": "group", "group": [True, False]}, "400 in all"),
        ({"group": GROUP}, "group is not used by noise='uniform'"),
        ({"target": [1.0, 2.0]}, r"target must have shape \(5,\)"),
        ({"target": np.zeros(5)}, "finite and not zero"),
        ({"target": np.full(5, np.nan)}, "finite and not zero"),
    ],
)
def test_noise_that_cannot_be_is_refused(parameters, message):
    with pytest.raises((InvalidDataError, InvalidParameterError), match=message):
        worlds.from_data(ROWS, LABELS, **{"target": DIRECTION, **parameters})


def test_rows_all_on_the_boundary_have_no_distance():
    with pytest.raises(InvalidDataError, match="on the boundary"):
        worlds.from_data([[1.0, 0.0], [2.0, 0.0]], [0, 1], noise="near-boundary", target=[0.0, 1.0])
