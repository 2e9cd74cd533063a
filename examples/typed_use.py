"""The public interface with types: `mypy --strict` checks this file. Run: python examples/typed_use.py."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from massart import Certificate, Choice, MassartClassifier, MonotoneBandit, MonotoneRanker, load, save, theory


def train(X: npt.NDArray[np.float64], y: npt.NDArray[np.bool_]) -> MassartClassifier:
    """A classifier of two classes, learned in one pass."""
    return MassartClassifier(random_state=0).partial_fit(X, y, classes=[False, True])


def proved(clf: MassartClassifier) -> str:
    """What is proved of its mistakes so far."""
    certificate: Certificate = clf.certificate(confidence=0.95)
    return certificate.sentence


def earn(bandit: MonotoneBandit, rounds: int, rng: np.random.Generator) -> float:
    """Reward per round where the second arm is the best one."""
    earned = 0.0
    for _ in range(rounds):
        choice: Choice = bandit.choose(["red", "green"], {"age": float(rng.random())})
        reward = float(rng.random() < (0.3, 0.6)[choice.arm])
        bandit.learn(choice, reward)
        earned += reward
    return earned / rounds


def main() -> None:
    """Run all of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 4))
    clf = train(X, X[:, 0] > 0)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.massart")
        save(clf, path)
        same = load(path)
    print(bool((same.predict(X) == clf.predict(X)).all()), proved(clf))
    print(f"{earn(MonotoneBandit(random_state=0), 500, rng):.2f} per round")
    ranker = MonotoneRanker(random_state=0)
    ranker.learn(X[:5], [1.0, 0.0, 0.0, 1.0, 0.0])
    print(ranker.predict_ranking(X[:5]).tolist())
    print(f"{theory.ftrl_mistake_bound(noise_rate=0.1, margin=0.1, rounds=10_000):.0f} mistakes at most, expected")


if __name__ == "__main__":
    main()
