"""Laws of every world: what it declares is what it does.

Statistical thresholds are z = 5 standard errors of the binomial whose rate is declared: a correct world fails one
such check with probability about 6e-7, and seeds are fixed, so a failure is a defect.
"""

import pickle

import numpy as np
import pytest

from massart import worlds
from massart.worlds.base import ObliviousWorld

ROUNDS = 12_000
Z = 5.0


def data_set(size=300, dimension=6):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((size, dimension))
    direction = np.array([2.0, -1.0, 0.5, 0.0, 1.0, 0.0])
    return rows, rows @ direction > 0, rows[:, 3] > 0, direction


def data_world(noise, seed=0):
    rows, labels, group, direction = data_set()
    mask = group if "group" in noise else None
    return worlds.from_data(rows, labels, noise=noise, noise_rate=0.3, group=mask, target=direction, seed=seed)


MAKERS = {name: (lambda seed=0, name=name: worlds.make(name, seed=seed)) for name in worlds.names()}
MAKERS["turning sacrificed-minority"] = lambda seed=0: worlds.make(
    "turning-target", base="sacrificed-minority", angle_per_round=0.01, seed=seed
)
for kind in ("uniform", "near-boundary", "far-from-boundary", "group", "outside-group"):
    MAKERS[f"data {kind}"] = lambda seed=0, kind=kind: data_world(kind, seed)
for name in worlds.names():
    MAKERS[f"{name} in the plane"] = lambda seed=0, name=name: worlds.make(name, dimension=2, seed=seed)

every_world = pytest.mark.parametrize("build", MAKERS.values(), ids=MAKERS.keys())
oblivious = {name: build for name, build in MAKERS.items() if not build().adaptive}
every_oblivious_world = pytest.mark.parametrize("build", oblivious.values(), ids=oblivious.keys())


def over(makers, *, but):
    """The worlds a law speaks about: all but those whose own definition excludes them."""
    chosen = {name: build for name, build in makers.items() if build().name != but}
    return pytest.mark.parametrize("build", chosen.values(), ids=chosen.keys())


def rounds_of(world, rounds=ROUNDS):
    """All rounds as one chunk; an adaptive world plays against a perceptron that restarts now and then."""
    if not world.adaptive:
        return next(world.chunks(rounds, rounds))
    game = world.play(rounds)
    rng = np.random.default_rng(1)
    weights = np.zeros(world.dimension)
    played = []
    for t in range(rounds):
        if t % 500 == 0:  # visits weights no perceptron would reach: zero, random, and the target itself
            weights = [np.zeros(world.dimension), rng.standard_normal(world.dimension), world.target][t // 500 % 3]
        one = game.next(weights)
        played.append(one)
        if (1 if weights @ one.x >= 0 else -1) != one.y:
            weights = weights + one.y * one.x
    columns = list(zip(*played, strict=True))
    return worlds.Chunk(np.array(columns[0]), *(np.array(column, dtype=np.int8) for column in columns[1:]))


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@every_world
def test_declares_itself(build):
    world = build()
    assert world.name
    assert world.description.endswith(".")
    assert 0 <= world.noise_rate < 0.5
    assert world.target.shape == (world.dimension,)
    assert np.linalg.norm(world.target) == pytest.approx(1.0, abs=1e-12)
    assert all(region.flip_rate <= world.noise_rate for region in world.regions)
    assert (world.bayes_error is None) == world.adaptive
    assert world.name in repr(world)


@every_world
def test_rows_and_labels_have_their_types(build):
    chunk = rounds_of(build(), 1500)
    assert chunk.X.dtype == np.float64
    assert chunk.X.flags.c_contiguous
    assert chunk.X.shape == (1500, build().dimension)
    for labels in (chunk.y, chunk.clean):
        assert labels.dtype == np.int8
        assert set(labels.tolist()) == {-1, 1}
    assert chunk.region.dtype == np.int8
    assert set(chunk.region.tolist()) <= set(range(len(build().regions)))


@every_world
def test_rows_lie_in_the_unit_ball(build):
    assert np.linalg.norm(rounds_of(build()).X, axis=1).max() <= 1 + 1e-12


@every_world
def test_the_clean_label_is_the_side_of_the_target_by_at_least_the_margin(build):
    world = build()
    chunk = rounds_of(world)
    targets = np.array([world.target_at(t) for t in range(ROUNDS)])
    signed = np.einsum("ij,ij->i", chunk.X, targets) * chunk.clean
    assert signed.min() >= world.margin - 1e-12
    assert signed.min() <= world.margin + 0.01  # the declared margin is not a modest one


@every_world
def test_each_region_flips_at_its_declared_rate(build):
    world = build()
    chunk = rounds_of(world)
    flipped = chunk.y != chunk.clean
    for index, region in enumerate(world.regions):
        here = flipped[chunk.region == index]
        # In rows with unequal rates the variance of the mean is at most that of equal rates (concavity of p(1-p)).
        error = np.sqrt(region.flip_rate * (1 - region.flip_rate) / len(here))
        assert len(here) >= 100, region
        assert abs(here.mean() - region.flip_rate) <= Z * error, region


@every_oblivious_world
def test_each_region_has_its_declared_mass(build):
    world = build()
    chunk = rounds_of(world)
    assert sum(region.mass for region in world.regions) == pytest.approx(1.0)
    for index, region in enumerate(world.regions):
        error = np.sqrt(region.mass * (1 - region.mass) / ROUNDS)
        assert abs((chunk.region == index).mean() - region.mass) <= Z * error + 1e-12


@every_oblivious_world
def test_bayes_error_is_the_mistake_rate_of_the_target(build):
    world = build()
    chunk = rounds_of(world)
    error = np.sqrt(world.bayes_error * (1 - world.bayes_error) / ROUNDS)
    assert abs((chunk.y != chunk.clean).mean() - world.bayes_error) <= Z * error


@over(MAKERS, but="data")  # a data set has the class balance it has
def test_neither_sign_is_favoured(build):
    # A learner with an intercept must not profit: clean labels are fair coins, standard error 1/sqrt(T).
    assert abs(rounds_of(build()).clean.mean()) <= Z / np.sqrt(ROUNDS)


@every_world
def test_a_seed_reproduces_the_stream(build):
    world = build(7)
    first = rounds_of(world, 3000)
    assert same(first, rounds_of(world, 3000))
    assert same(first, rounds_of(build(7), 3000))
    assert same(first, rounds_of(pickle.loads(pickle.dumps(world)), 3000))  # noqa: S301 - our own bytes


@every_world
def test_another_seed_gives_another_stream(build):
    first, second = rounds_of(build(0), 500), rounds_of(build(1), 500)
    assert not np.array_equal(first.clean, second.clean)
    assert not np.array_equal(first.y, second.y)


@every_oblivious_world
@pytest.mark.parametrize("size", [613, 4096, 5000])
def test_the_chunk_size_does_not_change_the_stream(build, size):
    rounds = 9001
    parts = list(build().chunks(rounds, size))
    assert [len(part.y) for part in parts] == [size] * (rounds // size) + [rounds % size]
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    assert same(joined, rounds_of(build(), rounds))


@every_oblivious_world
def test_one_at_a_time_is_the_same_stream(build):
    world = build()
    game = world.play(700)
    chunk = rounds_of(world, 700)
    for t in range(700):
        one = game.next(np.zeros(world.dimension))
        assert (one.y, one.clean, one.region) == (chunk.y[t], chunk.clean[t], chunk.region[t])
        assert np.array_equal(one.x, chunk.X[t])
    assert game.played == game.rounds == 700
    with pytest.raises(worlds_error(), match="ended after 700 rounds"):
        game.next(np.zeros(world.dimension))


@over(oblivious, but="two-phases")  # whose number of rounds says where its middle is
def test_a_shorter_stream_is_the_beginning_of_a_longer_one(build):
    longer = rounds_of(build(), 6000)
    assert same(rounds_of(build(), 1000), [column[:1000] for column in longer])


def test_the_blocks_of_a_stream_are_different():
    for name in worlds.names():
        world = worlds.make(name)
        if isinstance(world, ObliviousWorld):
            chunk = world.take(8192)
            assert not np.array_equal(chunk.y[:4096], chunk.y[4096:]), name


def worlds_error():
    from massart.errors import MassartError

    return MassartError
