"""Vowpal Wabbit through its Python package: `--cb_explore_adf` with each of its ways to explore."""

import importlib
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from massart.learners.choice import Choice
from massart.learners.reference.policies.peer_base import PeerPolicy


class _How(NamedTuple):
    options: str
    models: int = 1  # that lie side by side in VW's table of weights


EXPLORERS: Final[dict[str, _How]] = {
    "vw-epsilon": _How("--epsilon 0.1"),
    "vw-squarecb": _How("--squarecb"),
    "vw-regcb": _How("--regcb"),
    "vw-cover": _How("--cover 3", models=8),
    "vw-softmax": _How("--softmax --lambda 10"),
}
_OPTIONS: Final = "--quiet --cb_explore_adf"
_DEFAULT_BITS: Final = 18


class VowpalPolicy(PeerPolicy):
    """`vw --cb_explore_adf`, with one of EXPLORERS; everything else as VW has it (regression by `mtr`, a constant).

    Column j of an arm is the feature of hash j. The cost is (highest reward - reward) / width, which lies in [0, 1] as
    VW's bounds expect. Numbers are single precision inside; VW's probabilities are divided by their sum, which is
    1 to seven digits. What it remembers is a VW model file, byte for byte.
    Needs the package `vowpalwabbit`, which is imported when the policy is made.
    """

    def __init__(
        self,
        dimension: int,
        explorer: str = "vw-epsilon",
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self._begin(dimension, reward_range)
        self._count(seed)
        self._open_workspace(explorer, None)

    def _open_workspace(self, explorer: str, model: bytes | None) -> None:
        self._explorer, self._models = explorer, EXPLORERS[explorer].models
        bits = max(_DEFAULT_BITS, (self._models * self._dimension).bit_length())
        options = f"{_OPTIONS} {EXPLORERS[explorer].options} --bit_precision {bits}".split()
        workspace = importlib.import_module("vowpalwabbit").Workspace
        if model is None:
            self._workspace = workspace(arg_list=options)
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(model)
            more = ["--preserve_performance_counters", "--initial_regressor", str(path)]
            self._workspace = workspace(arg_list=[*options, *more])

    @staticmethod
    def _lines(X: NDArray[np.float64], arms: NDArray[np.intp]) -> list[str]:
        """One line of VW text per arm; the nameless namespace leaves a number as its own hash."""
        return ["| " + " ".join([f"{j}:{value!r}" for j, value in enumerate(row)]) for row in X[arms].tolist()]

    def _package_probabilities(self, X: NDArray[np.float64], arms: NDArray[np.intp]) -> NDArray[np.float64]:
        p = np.array(self._workspace.predict(self._lines(X, arms)))
        return np.asarray(p / p.sum())

    def _package_learn(self, X: NDArray[np.float64], arms: NDArray[np.intp], choice: Choice, reward: float) -> None:
        lines = self._lines(X, arms)
        chosen = int(np.searchsorted(arms, choice.arm))
        lines[chosen] = f"0:{1.0 - reward!r}:{choice.probability!r} {lines[chosen]}"
        self._workspace.learn(lines)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) VW's weights, read back; they predict a cost, so the score is their negative."""
        get = self._workspace.get_weight
        return -np.array([get(j * self._models) for j in range(self._dimension)])

    def _package_arrays(self) -> dict[str, NDArray[Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._workspace.save(str(path))
            model = np.frombuffer(path.read_bytes(), np.uint8)
        return {
            "dimension": np.array([self._dimension]),
            "explorer": np.frombuffer(self._explorer.encode(), np.uint8),
            "model": model,
        }

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        policy: Self = cls.__new__(cls)
        policy._begin(int(arrays["dimension"][0]), reward_range, identity)
        policy._counts = np.require(arrays["counts"], requirements="W")
        policy._seed = np.uint64(arrays["seed"][0])
        policy._open_workspace(arrays["explorer"].tobytes().decode(), arrays["model"].tobytes())
        return policy


def build(name: str, dimension: int, arms: int, reward_range: tuple[float, float], seed: int) -> VowpalPolicy:
    """One of EXPLORERS; VW needs no fixed number of arms."""
    del arms
    return VowpalPolicy(dimension, name, reward_range=reward_range, seed=seed)
