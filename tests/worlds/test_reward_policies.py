"""What policies earn in the reward worlds: regression is misled, the inverse-margin learner is not.

The lift of a round is the expected reward of the chosen arm less the mean over the arms, so that the noise of
rewards enters only through what was learned from it.
"""

import numpy as np
import pytest

from massart import theory, worlds


def linucb(world, rounds, width=1.0):
    """Lift of each round of LinUCB (Li et al. 2010, one shared vector), with an intercept."""
    inverse, moment, lifts = np.eye(world.dimension + 1), np.zeros(world.dimension + 1), []
    game = world.play(rounds)
    for _ in range(rounds):
        weights = inverse @ moment
        contexts, means, rewards = game.next(weights[:-1])
        x = np.c_[contexts, np.ones(world.arms)]
        known = x @ inverse
        arm = int((x @ weights + width * np.sqrt((known * x).sum(axis=1))).argmax())
        lifts.append(means[arm] - means.mean())
        inverse -= np.outer(known[arm], known[arm]) / (1 + known[arm] @ x[arm])
        moment += rewards[arm] * x[arm]
    return np.array(lifts)


def full_information(world, rounds):
    """Lift of each round of Theorem 9(b) with dual averaging: all rewards are seen."""
    cap = theory.full_information_gradient_cap(world.arms, world.gap, world.margin, 1.0)
    pull, squares, lifts = np.zeros(world.dimension), cap * cap, []
    game = world.play(rounds)
    for _ in range(rounds):
        w = pull / np.sqrt(2 * squares)
        w /= max(1.0, np.sqrt(w @ w))
        contexts, means, rewards = game.next(w)
        scores = contexts @ w
        arm = int(scores.argmax())
        lifts.append(means[arm] - means.sum() / world.arms)
        share = 0.5 * (world.gap - rewards[arm] + rewards) / (scores[arm] - scores + world.margin)
        share[arm] = 0.0
        g = share.sum() * contexts[arm] - share @ contexts
        pull -= g
        squares += g @ g
    return np.array(lifts)


@pytest.mark.parametrize("options", [{}, {"arms": 10, "gap": 0.02}], ids=["five arms", "ten arms"])
def test_linucb_is_below_random_on_simpson(options):
    """In the long run it takes the worst arm: lift -(k-1)/2 gap. The second half must be most of the way there.

    Measured .92 (five arms) and .97 (ten) of the worst lift in the second half; stated slack: a tenth.
    """
    world = worlds.make("simpson", seed=1, **options)
    lifts = linucb(world, 10_000)
    assert lifts.mean() < -0.5 * world.best_lift
    assert lifts[5000:].mean() < -0.8 * world.best_lift


def test_linucb_is_fine_where_rewards_are_linear():
    world = worlds.make("linear", seed=1)
    assert linucb(world, 4000)[2000:].mean() > 0.9 * world.best_lift


def test_least_squares_learns_the_wrong_sign_on_simpson():
    """The slope of rewards on scores over all rounds is Cov / Var with Cov = -.8 (.16/3) + margin gap (k^2-1)/12."""
    for arms, gap in ((5, 0.05), (10, 0.02)):
        world = worlds.make("simpson", arms=arms, gap=gap)
        chunk = world.take(40_000)
        scores = chunk.contexts @ world.target
        covariance = -0.8 * 0.16 / 3 + world.margin * gap * (arms**2 - 1) / 12
        assert covariance < 0
        each = (scores * (chunk.rewards - 0.5)).mean(axis=1)  # rounds are independent, scores have mean zero; z = 5
        assert abs(each.mean() - covariance) <= 5 * each.std() / np.sqrt(len(each))


# Measured share of the best lift over 20 000 rounds, learning included (seed 2). Stated slack: a tenth of it.
LEARNED = {
    "linear": 1.00,
    "sorted": 1.00,
    "simpson": 0.86,
    "step-maps": 0.99,
    "hard-pairs": 0.91,
    "hard-pairs-simpson": 0.81,
}


@pytest.mark.parametrize("name", LEARNED)
def test_full_information_keeps_the_guarantee_and_nearly_finds_the_best_arm(name):
    world = worlds.make(name, seed=2)
    lift = full_information(world, 20_000).mean()
    assert lift > world.guaranteed_lift
    assert lift > 0.9 * LEARNED[name] * world.best_lift


def test_full_information_keeps_the_guarantee_against_the_hunter():
    """The guarantee is .15 in the limit; measured .234 over these rounds, learning included."""
    world = worlds.make("hunted-pairs", seed=2)
    assert full_information(world, 20_000).mean() > world.guaranteed_lift


def test_linucb_is_hunted_below_the_guarantee():
    """Measured .10 over the second half, where .15 is promised to the learner above."""
    world = worlds.make("hunted-pairs", seed=2)
    assert linucb(world, 10_000)[5000:].mean() < world.guaranteed_lift
