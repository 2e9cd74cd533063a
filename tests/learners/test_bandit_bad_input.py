"""What MonotoneBandit refuses: the field is named, and all that it remembers is as before."""

import numpy as np
import pytest
import scipy.sparse as sp
from bandit_cases import KINDS, D, assert_same, make, state, trained
from forged_choices import changed, resigned

from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.bandit import MonotoneBandit

every_kind = pytest.mark.parametrize("kind", KINDS)

NAN = np.array([[0.0, 1.0, 0.0, 0.0], [np.nan, 0.0, 0.0, 0.0]])
BAD_CONTEXTS = {
    "no arms": (np.empty((0, D)), "contexts have no rows"),
    "ragged": ([[1.0, 2.0, 3.0, 4.0], [1.0]], "contexts must be real numbers"),
    "words": ([["a"] * D], "contexts must be real numbers"),
    "one dimension": (np.ones(D), "contexts have 1 dimension"),
    "NaN": (NAN, r"contexts\[1\]"),
    "infinite": (np.full((1, D), np.inf), r"contexts\[0\]"),
    "too long": (np.full((2, D), 1e60), r"contexts\[0\]"),
    "another width": (np.ones((3, D + 1)), "contexts have 5 features"),
    "sparse NaN": (sp.csr_matrix(NAN), "NaN"),
    "sparse, too long": (sp.csr_matrix(np.full((2, D), 1e60)), r"contexts\[0\]"),
}


def refused(bandit, call, match):
    before = state(bandit)
    with pytest.raises(InvalidDataError, match=match):
        call()
    assert_same(before, state(bandit))


@every_kind
@pytest.mark.parametrize("bad", BAD_CONTEXTS)
def test_bad_contexts_are_refused_and_nothing_changes(kind, bad):
    contexts, match = BAD_CONTEXTS[bad]
    bandits = [trained(kind, count=5)] + ([make(kind)] if bad != "another width" else [])
    for bandit in bandits:
        refused(bandit, lambda bandit=bandit: bandit.choose(contexts), match)
        refused(bandit, lambda bandit=bandit: bandit.probabilities(contexts), match)


@pytest.mark.parametrize("allowed", [[False, False], [True], [1, 0], [0.5, 0.5], [[True, False]], "no"])
def test_bad_masks_are_refused(allowed):
    for bandit in (make("one expert"), trained("one expert")):
        refused(bandit, lambda bandit=bandit: bandit.choose(np.ones((2, D)), allowed=allowed), "allowed")


@pytest.mark.parametrize(
    ("reward", "match"),
    [(np.nan, "reward is NaN"), (1.5, "reward=1.5 is outside"), (-0.1, "outside"), ("x", "reward="), (None, "reward="),
     ([1.0, 2.0], "reward=")],
)  # fmt: skip
def test_bad_rewards_are_refused_and_the_choice_still_waits(reward, match):
    bandit = trained("one expert")
    choice = bandit.choose(np.eye(D))
    refused(bandit, lambda: bandit.learn(choice, reward), match)
    bandit.learn(choice, 1.0)
    refused(bandit, lambda: bandit.learn(choice, 1.0), "choice.number")
    refused(bandit, lambda: bandit.expire(choice), "choice.number")


def test_choices_of_others_are_refused():
    bandit, other = trained("one expert"), trained("one expert")
    refused(bandit, lambda: bandit.learn(other.choose(np.eye(D)), 1.0), "choice.policy")
    refused(bandit, lambda: bandit.learn("arm 1", 1.0), "choice is a str")
    never = changed(bandit.choose(np.eye(D)), number=10**6)
    refused(bandit, lambda: bandit.learn(never, 1.0), "choice.number")


TAMPERED = {
    "another arm": lambda c: {"arm": (c.arm + 1) % 4},
    "no margins": lambda c: {"memo": {key: c.memo[key] for key in c.memo if key != "margins"}},
    "no memo": lambda c: {"memo": {}},
    "margins of 0": lambda c: {"memo": c.memo | {"margins": np.zeros((4, 1)).tolist()}},
    "NaN": lambda c: {"memo": c.memo | {"distances": [[np.nan]] * 4}},
    "an arm too many": lambda c: {"memo": c.memo | {"arms": [4]}},
    "an arm below 0": lambda c: {"memo": c.memo | {"arms": [-1]}},
    "two experts": lambda c: {"memo": c.memo | {"rates": [0.1, 0.1]}},
    "words": lambda c: {"memo": c.memo | {"baseline": "high"}},
    "endless baseline": lambda c: {"memo": c.memo | {"baseline": np.inf}},
    "forbidden all": lambda c: {"memo": c.memo | {"allowed": [False] * 4}},
    "arm out of range": lambda c: {"arm": 9},
    "probability 0": lambda c: {"probabilities": np.zeros(4)},
    "fewer probabilities": lambda c: {"probabilities": c.probabilities[:2], "arm": 0},
    "fewer contexts": lambda c: {"contexts": np.eye(D)[:2]},
    "wider contexts": lambda c: {"contexts": np.eye(4, D + 1)},
    "NaN contexts": lambda c: {"contexts": np.full((4, D), np.nan)},
}


@pytest.mark.parametrize("how", TAMPERED)
def test_tampered_choices_are_refused(how):
    bandit = trained("one expert")
    choice = bandit.choose(np.eye(D))
    parts = TAMPERED[how](choice)
    refused(bandit, lambda: bandit.learn(changed(choice, **parts), 1.0), "choice|contexts|allowed")
    if how != "another arm":  # whoever has the key may have played another one
        refused(bandit, lambda: bandit.learn(resigned(bandit, choice, **parts), 1.0), "choice|contexts|allowed")
    bandit.learn(choice, 1.0)


def test_bad_simulations_are_refused_before_the_first_round():
    contexts, rewards = np.full((10, 3, D), 0.4), np.ones((10, 3))
    bad = contexts.copy()
    bad[7, 1, 2] = np.nan
    long = contexts.copy()
    long[7, 1, 2] = 1e80
    for bandit in (make("one expert"), trained("one expert")):
        for X, r, match in (
            (contexts, rewards[:5], "contexts"),
            (contexts[0], rewards[0], "contexts"),
            (np.ones((10, 0, D)), np.ones((10, 0)), "contexts"),
            (bad, rewards, "contexts"),
            (long, rewards, "contexts"),
            (contexts, 2 * rewards, "rewards"),
            (contexts, rewards * np.nan, "rewards"),
        ):
            refused(bandit, lambda bandit=bandit, X=X, r=r: bandit.play(X, r), match)
    refused(bandit, lambda: bandit.play(np.ones((10, 3, D + 1)), rewards), "features")


@pytest.mark.parametrize(
    "parameters",
    [{"gap": 0}, {"gap": -0.1}, {"gap": 1.5}, {"gap": np.nan}, {"margin": 0}, {"margin": 2.5}, {"margin": np.nan},
     {"horizon": 0}, {"horizon": np.inf}, {"horizon": np.nan}, {"exploration": -0.1}, {"exploration": 1.1},
     {"exploration": np.nan}, {"reward_range": (1, 0)}, {"reward_range": (0, np.inf)}, {"reward_range": 3},
     {"default_reward": 2}, {"update": "newest"}],
    ids=str,
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(parameters):
    with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
        MonotoneBandit(**parameters)


@pytest.mark.parametrize("missing", ["gap", "margin", "horizon"])
def test_the_paper_s_update_needs_its_parameters(missing):
    told = {"gap": 0.1, "margin": 0.1, "horizon": 1000, "update": "paper"}
    MonotoneBandit(**told)
    with pytest.raises(InvalidParameterError, match="gap, margin and horizon"):
        MonotoneBandit(**{name: value for name, value in told.items() if name != missing})
