"""Route each request to one of five language models, by the verdicts of a judge that errs.

Everything is simulated, so that the truth is known. Each request has a topic and a difficulty. Each model has skills,
a price, and a router's estimate of how well it fits the request. Within a request the model that fits better is the
better answer, at every difficulty. Across requests it is the other way round: the router's estimates are high for hard
requests, and the judge approves of hard requests less often, whatever the answer. The judge also errs: it turns its
verdict around for one answer in ten where answers are short, and for up to three in ten where they are long.

A policy sees the estimates, plays one model, and learns the judge's verdict on that answer alone. A regression of the
verdict on the features can mistake "hard requests have high estimates" for "high estimates are bad". One on the
features less their mean within the request (action-centred) cannot.

    python examples/route_language_models.py
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from massart import MonotoneBandit
from massart.arena.registry import POLICIES

MODELS = ("small", "medium", "large", "code", "reasoning")
PRICES = np.array([0.05, 0.2, 0.9, 0.4, 1.0])
TOPICS = 4
Array = NDArray[np.float64]


def requests(count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """(count, 5, 6) features of the models, (count, 5) chances of approval, and (count, 5) verdicts of the judge."""
    skills = rng.uniform(-0.5, 0.5, (len(MODELS), TOPICS))
    topics = rng.dirichlet(np.full(TOPICS, 0.4), count)
    difficulty = rng.uniform(-1.0, 1.0, (count, 1))
    fit = topics @ skills.T + 0.3 * rng.normal(size=(count, len(MODELS)))  # what matters within a request
    estimate = fit + 1.2 * difficulty  # the router's: it asks for more where more is needed
    right = np.clip(0.5 + 0.3 * fit - 0.45 * difficulty, 0.02, 0.98)  # answers that the user would approve of
    wrong = rng.uniform(0.1, 0.3, (count, 1))  # verdicts that are turned around: more of them for long answers
    chances = right * (1.0 - wrong) + (1.0 - right) * wrong
    others = rng.normal(size=(count, len(MODELS), 4))  # features that mean nothing
    features = np.concatenate(
        [estimate[..., None], np.broadcast_to(PRICES, estimate.shape)[..., None], 0.3 * others], axis=2
    )
    features /= max(1.0, float(np.sqrt(np.square(features).sum(axis=2)).max()))
    return features, chances, (rng.random(chances.shape) < chances).astype(np.float64)


def main() -> None:
    """Print what each policy gains over a random model, and the certificate of ours."""
    parser = argparse.ArgumentParser(description="Route requests between simulated language models.")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    features, chances, verdicts = requests(given.requests, np.random.default_rng(given.seed))
    random_model = chances.mean(axis=1)
    known = {"dimension": features.shape[2], "arms": len(MODELS), "seed": given.seed}
    bandit = MonotoneBandit(random_state=given.seed)
    policies = {"MonotoneBandit()": bandit}
    for name in ("linucb", "thompson", "squarecb", "vw-squarecb", "action-centred-ridge"):
        if name in POLICIES.names():
            policies[name] = POLICIES.make(name, **known)
    print(f"{given.requests:,} requests, {len(MODELS)} models. Share of answers that the judge approves of:")
    print(f"  {'a random model':22s} {random_model.mean():.3f}")
    for number, model in enumerate(MODELS):
        print(f"  {'always ' + model:22s} {chances[:, number].mean():.3f}")
    print(f"  {'the best of each':22s} {chances.max(axis=1).mean():.3f}")
    for name, policy in policies.items():
        arms = policy.play(features, verdicts).arms
        earned = chances[np.arange(given.requests), arms]
        print(f"  {name:22s} {earned.mean():.3f}  ({(earned - random_model).mean():+.3f} over a random model)")
    print(bandit.certificate())


if __name__ == "__main__":
    main()
