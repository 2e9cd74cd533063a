"""The rows of a made-up race, for the tests of the report."""

from massart import theory

CHECKPOINTS = (100, 1000, 10_000)
# In kink (noise rate .1, margin .05) the reference bound at 10,000 rounds is 1000 + 781 mistakes; these
# are the mistakes at the end with seeds 0 and 1.
KINK = {
    "massart": (900, 950),
    "perceptron": (3000, 3100),
    "hinge": (1600, 1900),  # mean 1750 below the bound, seed 1 above
    "arow": (1700, 2000),  # mean 1850 above the bound, seed 0 below
}
KINK_BOUND = theory.fixed_mistake_bound(0.1, 0.05, 10_000)


def row(learner, seed, rounds, mistakes, **changes):
    """One row of the contract, in kink by default."""
    facts = {"world": "kink", "noise_rate": 0.1, "margin": 0.05, "dimension": 20} | changes
    ours = {"massart": theory.ftrl_mistake_bound, "paper": theory.paper_mistake_bound}
    margin = facts["margin"]
    bound = ours.get(learner, theory.fixed_mistake_bound)
    return {
        "world": facts["world"],
        "learner": learner,
        "seed": seed,
        "rounds": rounds,
        "mistakes": mistakes,
        "clean_mistakes": mistakes // 2,
        "noise_rate": facts["noise_rate"],
        "margin": margin,
        "dimension": facts["dimension"],
        "angle": 10.0 + seed,
        "bound": None if margin is None or rounds == 0 else bound(facts["noise_rate"], margin, rounds),
        "certified": None,
        "holds": True if learner in ours else None,
        "error": None,
    } | changes


def run(learner, seed, mistakes, **changes):
    """The rows of one run that makes its mistakes evenly."""
    return [row(learner, seed, t, mistakes * t // CHECKPOINTS[-1], **changes) for t in CHECKPOINTS]


def made_up():
    """Kink as above, a learner that fails there, and a world without a bound."""
    rows = [r for name, ends in KINK.items() for seed, end in enumerate(ends) for r in run(name, seed, end)]
    for seed in (0, 1):
        rows += run("leaky-relu", seed, 2000)[:2]
        rows[-1] = rows[-1] | {"error": "ValueError: it fell over <here>"}
    turning = {"world": "turning-target", "margin": 0.1, "bound": None}
    for seed in (0, 1):
        rows += run("massart", seed, 1100, **turning) + run("perceptron", seed, 2100, **turning)
    return rows
