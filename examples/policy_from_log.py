"""What would another policy have earned? From the log of one that explores, against the truth of a simulation.

The log is that of a bandit with `exploration=0.2`. Run: python examples/policy_from_log.py
"""

import tempfile

import numpy as np
from tables import show

from massart import MonotoneBandit
from massart.data import DecisionLog
from massart.evaluation import evaluate
from massart.log import JsonlLog

ROUNDS, ARTICLES = 4_000, ["news", "sport", "arts"]
LIKES = {"Rome": "arts", "Oslo": "sport", "Lima": "news"}


def chance(town: str, article: str) -> float:
    return 0.7 if LIKES[town] == article else 0.2


def play(bandit: MonotoneBandit, seed: int, log: JsonlLog | None = None) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        town = str(rng.choice(list(LIKES)))
        choice = bandit.choose(ARTICLES, {"town": town})
        reward = float(rng.random() < chance(town, str(choice.arm_id)))
        bandit.learn(choice, reward)
        if log is not None:
            log.write(choice, reward)


def truth(bandit: MonotoneBandit) -> float:
    """What a bandit that learns no more earns per round."""
    earned = [
        float(np.dot(bandit.probabilities(ARTICLES, {"town": town}), [chance(town, article) for article in ARTICLES]))
        for town in LIKES
    ]
    return float(np.mean(earned))


with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/log.jsonl"
    with JsonlLog(path) as log:
        play(MonotoneBandit(exploration=0.2, random_state=0), seed=0, log=log)
    other = MonotoneBandit(random_state=1)
    play(other, seed=1)
    rows = []
    for name, policy, value in [
        ("uniform", "uniform", (0.7 + 2 * 0.2) / 3),
        ("another bandit, trained elsewhere", other, truth(other)),
    ]:
        found = evaluate(DecisionLog(path), policy)
        estimator, kind = found.recommended or ("ips", None)
        line = found[estimator]
        low, high = next(((one.low, one.high) for one in line.intervals if one.kind == kind), (float("nan"),) * 2)
        rows.append(
            [
                name,
                value,
                line.value,
                f"{low:.3f} to {high:.3f}",
                f"{estimator}, {kind}",
                round(found.effective_sample_size),
            ]
        )
show(
    f"Reward per round, from a log of {ROUNDS:,} decisions",
    ["policy", "truth", "estimate", "interval (95%)", "recommended", "effective decisions"],
    rows,
)
