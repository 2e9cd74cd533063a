"""Each adaptive world against its definition, written a second time in NumPy."""

import numpy as np
import pytest

from massart import worlds
from massart.errors import InvalidDataError, InvalidParameterError

ADAPTIVE = [name for name in worlds.names() if worlds.make(name).adaptive]
every_adaptive_world = pytest.mark.parametrize("name", ADAPTIVE)


def random_weights(rng, dimension, near_target):
    weights = rng.standard_normal(dimension)
    weights[1] += near_target * np.sqrt(dimension)
    return weights * 10.0 ** rng.uniform(-3, 3)


def games(name, rounds=400, dimension=8, **parameters):
    """Pairs of weights, some near the target, and the round the world chose against them."""
    world = worlds.make(name, dimension=dimension, seed=3, **parameters)
    game = world.play(rounds)
    rng = np.random.default_rng(4)
    for t in range(rounds):
        weights = random_weights(rng, dimension, near_target=[0, 3, 30][t % 3])
        yield world, t, weights, game.next(weights)


def errs(weights, one):
    return (1 if weights @ one.x >= 0 else -1) != one.clean


def test_there_are_five():
    assert ADAPTIVE == ["worst-point", "worst-of-pool", "near-miss", "hunted-minority", "hunted-majority"]


def test_worst_point_has_the_least_score_at_its_margin():
    seen = set()
    for world, _, weights, one in games("worst-point", margin=0.3):
        across = np.delete(weights, 1)
        least = 0.3 * weights[1] - np.sqrt(1 - 0.3**2) * np.linalg.norm(across)
        assert one.clean * (weights @ one.x) == pytest.approx(least, rel=1e-9, abs=1e-9 * np.linalg.norm(weights))
        assert one.x[1] == one.clean * 0.3
        assert world.regions[one.region].name == ("wrong" if errs(weights, one) else "right")
        seen.add(one.region)
    assert seen == {0, 1}


def test_near_miss_is_wrong_by_a_hair_in_even_rounds():
    seen = set()
    for world, t, weights, one in games("near-miss"):
        across = np.linalg.norm(np.delete(weights, 1))
        reachable = world.margin * weights[1] / across < np.sqrt(1 - world.margin**2)
        hair = t % 2 == 0 and reachable
        assert world.regions[one.region].name == ("barely wrong" if hair else "noisy")
        assert one.x[1] == one.clean * world.margin
        if hair:
            assert errs(weights, one)
            assert abs(weights @ one.x) <= 1e-8 * np.linalg.norm(weights)
            assert np.linalg.norm(one.x) == pytest.approx(1.0, abs=1e-12)
        else:
            assert one.x[0] == one.clean * 0.9
        seen.add((hair, reachable))
    assert len(seen) == 3


def test_near_miss_shows_the_edge_of_the_sphere_to_weights_that_point_away():
    world = worlds.make("near-miss", dimension=5)
    weights = np.array([0.01, -1.0, 0.0, 0.0, 0.0])
    one = world.play(1).next(weights)
    assert one.region == 0
    assert errs(weights, one)
    assert abs(one.x[0]) == pytest.approx(np.sqrt(1 - world.margin**2))


@pytest.mark.parametrize("name", ["hunted-minority", "hunted-majority"])
def test_hunted_shows_the_short_row_exactly_while_it_is_wrong(name):
    base = worlds.make(name.replace("hunted", "sacrificed"))
    short = base.plane[2]
    room = np.sqrt(1 - short @ short)
    seen = set()
    for world, _, weights, one in games(name):
        padding = weights[2:]
        score = short @ weights[:2] - room * np.linalg.norm(padding)
        assert (one.region == 2) == (score < 0)
        assert one.clean * one.x[:2] == pytest.approx(base.plane[one.region])
        if one.region == 2:
            assert one.y == one.clean
            assert one.clean * one.x[2:] == pytest.approx(-room * padding / np.linalg.norm(padding))
        assert world.noise_rate == base.noise_rate
        seen.add(one.region)
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(("name", "share"), [("hunted-minority", 0.48), ("hunted-majority", 0.43)])
def test_a_learner_that_is_right_sees_the_noisy_row_with_its_share(name, share):
    world = worlds.make(name)
    game = world.play(10_000)
    regions = np.array([game.next(world.target).region for _ in range(10_000)])
    assert set(regions) == {0, 1}
    # z = 5 standard errors of a binomial with rate `share`.
    assert abs((regions == 0).mean() - share) <= 5 * np.sqrt(share * (1 - share) / 10_000)


def test_worst_of_pool_shows_the_least_certain_mistake():
    pool = {}
    chosen = []
    for _, _, weights, one in games("worst-of-pool", rounds=3000):
        row = one.clean * one.x
        pool[row.tobytes()] = row
        chosen.append((weights, row, one))
    rows = np.array(list(pool.values()))
    assert len(rows) <= 400
    assert len(rows) > 200
    for weights, row, one in chosen:
        scores = rows @ weights
        wrong = np.abs(scores[scores < 0])
        assert (one.region == 0) == (len(wrong) > 0)
        if one.region == 0:
            assert one.y == one.clean
            # A row of the pool that was never shown cannot be less certain than the one that was.
            assert -(row @ weights) == pytest.approx(wrong.min(), rel=1e-9)


@every_adaptive_world
def test_zero_weights_predict_plus_one_and_are_wrong_on_the_other_side(name):
    world = worlds.make(name)
    game = world.play(200)
    clean = world.regions.index(
        next(region for region in world.regions if region.name in ("wrong", "barely wrong", "N"))
    )
    for t in range(200):
        one = game.next(np.zeros(world.dimension))
        if name != "near-miss" or t % 2 == 0:
            assert (one.region == clean) == (one.clean == -1)


@every_adaptive_world
def test_the_norm_of_the_weights_does_not_matter(name):
    rng = np.random.default_rng(0)
    world = worlds.make(name, dimension=6)
    plain, huge, tiny = (world.play(300) for _ in range(3))
    for t in range(300):
        weights = random_weights(rng, 6, near_target=[0, 3, 30][t % 3])
        first = plain.next(weights)
        for game, factor in ((huge, 2.0**900), (tiny, 2.0**-900)):
            other = game.next(weights * factor)
            assert other[1:] == first[1:]
            assert other.x == pytest.approx(first.x, abs=1e-12)


@every_adaptive_world
def test_a_round_does_not_depend_on_what_was_shown_before(name):
    """The coins of a round are its own: other weights in the past change nothing."""
    world = worlds.make(name, dimension=5)
    rng = np.random.default_rng(2)
    one, other = world.play(1500), world.play(1500)
    now = np.array([0.3, 1.0, -0.2, 0.1, 0.0])
    for t in range(1500):
        if t % 100 == 99:
            first, second = one.next(now), other.next(now)
            assert first[1:] == second[1:]
            assert np.array_equal(first.x, second.x)
        else:
            one.next(now)
            other.next(rng.standard_normal(5))


@every_adaptive_world
def test_rows_already_shown_stay_what_they_were(name):
    world = worlds.make(name)
    game = world.play(3000)
    rng = np.random.default_rng(0)
    rows = [game.next(rng.standard_normal(20)).x for _ in range(10)]
    kept = [row.copy() for row in rows]
    for _ in range(2500):
        game.next(rng.standard_normal(20))
    assert np.array_equal(rows, kept)


@every_adaptive_world
def test_weights_are_copied_and_of_any_kind(name):
    world = worlds.make(name, dimension=4)
    weights = np.array([1.0, 0.5, -2.0, 0.25])
    frozen = weights.copy()
    frozen.setflags(write=False)
    kinds = [weights, frozen, weights.tolist(), weights.astype(np.float32), weights[None], np.repeat(weights, 2)[::2]]
    answers = [world.play(1).next(kind) for kind in kinds]
    assert np.array_equal(weights, frozen)
    for answer in answers[1:]:
        assert answer[1:] == answers[0][1:]
        assert np.array_equal(answer.x, answers[0].x)


@pytest.mark.parametrize("name", [*ADAPTIVE, "hunted-pairs"])
def test_weights_that_cannot_be_are_refused(name):
    game = worlds.make(name, dimension=4).play(5)
    for bad in (np.nan, np.inf, -np.inf):
        for weights in ([1.0, bad, 0.0, 0.0], [1.0, 0.0, 0.0, bad]):
            with pytest.raises(InvalidDataError, match="diverge"):
                game.next(weights)
    for shape in ((3,), (5,), (2, 4), ()):
        with pytest.raises(InvalidDataError, match=r"shape \(4,\), got"):
            game.next(np.zeros(shape))
    with pytest.raises(InvalidDataError, match="finite number"):
        game.next(["a", "b", "c", "d"])
    assert game.played == 0


@every_adaptive_world
def test_a_game_ends_and_chunks_are_refused(name):
    world = worlds.make(name)
    game = world.play(1024)
    for _ in range(1024):
        game.next(world.target)
    with pytest.raises(InvalidDataError, match="ended after 1,024 rounds"):
        game.next(world.target)
    with pytest.raises(InvalidParameterError, match=r"adaptive.*play"):
        world.chunks(10)
    with pytest.raises(InvalidParameterError, match="rounds"):
        world.play(0)


def test_hunted_minority_defeats_the_perceptron():
    """Its mistake rate is about .65 at 20 000 rounds; at 4000 it must be far above the noise rate .2."""
    world = worlds.make("hunted-minority")
    game = world.play(4000)
    weights = np.zeros(world.dimension)
    mistakes = 0
    for _ in range(4000):
        one = game.next(weights)
        if (1 if weights @ one.x >= 0 else -1) != one.y:
            mistakes += 1
            weights = weights + one.y * one.x
    assert mistakes / 4000 > 0.5
