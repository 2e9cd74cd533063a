"""Worlds by name, and what is refused."""

import numpy as np
import processes
import pytest

from massart import worlds
from massart.errors import InvalidParameterError

LARGEST_MARGIN = {
    "masked-margin": 0.05,
    "sacrificed-minority": 0.08,
    "sacrificed-majority": 0.06,
    "kink": 0.05,
    "two-phases": 0.08,
    "worst-of-pool": 0.08,
    "near-miss": 0.43,
    "hunted-minority": 0.08,
    "hunted-majority": 0.06,
}

# Default noise_rate and margin, and the Bayes error: sum of mass times noise, None where the learner decides.
DECLARED = {
    "E0": (0.1, 0.1, 0.1),
    "E1": (0.1, 0.045, 0.04),
    "E2": (0.2, 0.04, 0.044),
    "E3": (0.3, 0.04, 0.039),
    "E4": (0.1, 0.05, 0.0),
    "E5": (0.2, 0.04, 0.048),
    "E6": (0.3, 0.3, 0.3),
    "A1": (0.1, 0.1, None),
    "A2": (0.2, 0.04, None),
    "A3": (0.1, 0.1, None),
    "A4/E2": (0.2, 0.04, None),
    "A4/E3": (0.3, 0.04, None),
}


@pytest.mark.parametrize("letter", DECLARED)
def test_a_letter_names_its_world(letter):
    world = worlds.make(letter)
    noise_rate, margin, bayes_error = DECLARED[letter]
    assert world.letter == letter
    assert (world.noise_rate, world.margin, world.dimension) == (noise_rate, margin, 20)
    assert world.bayes_error == (None if bayes_error is None else pytest.approx(bayes_error))


def test_every_name_makes_the_world_of_that_name():
    assert len(worlds.names()) == len(set(worlds.names())) == 14
    for name in worlds.names():
        assert worlds.make(name).name == name


def test_the_nearest_names_are_offered():
    with pytest.raises(InvalidParameterError, match="did you mean 'sacrificed-minority'"):
        worlds.make("sacrificed_minorities")
    with pytest.raises(InvalidParameterError, match="the worlds are random-noise, masked-margin"):
        worlds.make("0")


def test_a_parameter_no_world_has_is_refused():
    with pytest.raises(InvalidParameterError, match="no parameter 'nois_rate'; it has noise_rate, margin"):
        worlds.make("kink", nois_rate=0.1)
    with pytest.raises(InvalidParameterError, match=r"it has .*seed, base, angle_per_round"):
        worlds.make("turning-target", speed=0.1)


@pytest.mark.parametrize("name", worlds.names())
@pytest.mark.parametrize("noise_rate", [-0.01, 0.5, 0.9, float("nan"), "high", True])
def test_noise_outside_its_range_is_refused(name, noise_rate):
    with pytest.raises(InvalidParameterError, match=r"noise_rate in \[0, 0.5\), got"):
        worlds.make(name, noise_rate=noise_rate)


@pytest.mark.parametrize("name", worlds.names())
def test_margins_up_to_the_largest_are_kept_and_beyond_are_refused(name):
    largest = LARGEST_MARGIN.get(name, 1.0)
    assert worlds.make(name, margin=largest).margin == largest
    for margin in (0.0, -0.1, np.nextafter(largest, 2), float("nan")):
        with pytest.raises(InvalidParameterError, match=rf"margin in \(0, {largest:g}\], got"):
            worlds.make(name, margin=margin)


@pytest.mark.parametrize("name", worlds.names())
def test_at_the_largest_margin_rows_still_fit_the_ball(name):
    world = worlds.make(name, margin=LARGEST_MARGIN.get(name, 1.0), dimension=3)
    game = world.play(300)
    for t in range(300):
        one = game.next(np.array([1.0, 0.1, -0.5]))
        assert np.linalg.norm(one.x) <= 1 + 1e-12
        assert one.clean * (one.x @ world.target_at(t)) >= world.margin - 1e-12


@pytest.mark.parametrize("name", worlds.names())
@pytest.mark.parametrize("dimension", [1, 0, 2.5, "20", True])
def test_dimensions_below_two_are_refused(name, dimension):
    with pytest.raises(InvalidParameterError, match="dimension to be a whole number, at least 2"):
        worlds.make(name, dimension=dimension)


def test_seeds():
    root = np.random.SeedSequence(3)
    child = root.spawn(1)[0]
    of_child = worlds.make("kink", seed=child).take(50).X
    assert np.array_equal(of_child, worlds.make("kink", seed=np.random.SeedSequence(3, spawn_key=(0,))).take(50).X)
    assert not np.array_equal(of_child, worlds.make("kink", seed=3).take(50).X)
    fresh = worlds.make("kink", seed=None)
    assert np.array_equal(fresh.take(50).X, fresh.take(50).X)
    for bad in (-1, "x", 1.5):
        with pytest.raises(InvalidParameterError, match="seed must be"):
            worlds.make("kink", seed=bad)


@pytest.mark.parametrize(("rounds", "size"), [(0, 10), (10, 0), (1.5, 10), (10, "all")])
def test_rounds_and_sizes_that_are_no_counts_are_refused(rounds, size):
    with pytest.raises(InvalidParameterError, match="whole number, at least 1"):
        worlds.make("kink").chunks(rounds, size)


def test_importing_worlds_is_light():
    code = "import massart.worlds as w; [w.make(n) for n in w.names()]"
    assert processes.loaded_by(code, "numba", "sklearn", "scipy", "massart.learners") == []
