"""Vowpal Wabbit through its Python package: logistic regression, and `--cb_explore_adf` with its ways to explore."""

import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import needs
from massart.learners.choice import Choice
from massart.learners.reference.peers import PeerLearner, PeerPolicy

_SPACE: Final = "x"
_DEFAULT_BITS: Final = 18


class _How(NamedTuple):
    options: str
    models: int = 1  # that lie side by side in VW's table of weights


EXPLORERS: Final[dict[str, _How]] = {
    "vw-epsilon": _How("--epsilon 0.1"),
    "vw-squarecb": _How("--squarecb"),
    "vw-regcb": _How("--regcb"),
    "vw-regcbopt": _How("--regcbopt"),
    "vw-regcbopt-small": _How("--regcbopt --mellowness 0.01"),
    "vw-cover": _How("--cover 3", models=8),
    "vw-softmax": _How("--softmax --lambda 10"),
}


class VowpalLearner(PeerLearner):
    """`vw --loss_function logistic --noconstant`: column j of a row is the feature of hash j.

    Numbers are single precision inside. Its state is a VW model file, byte for byte.
    Needs the package `vowpalwabbit`, which is imported when the learner is made.
    """

    def __init__(self, n_features: int, model: bytes | None = None) -> None:
        super().__init__(n_features)
        bits = max(_DEFAULT_BITS, n_features.bit_length())
        self._workspace = _workspace(f"--loss_function logistic --noconstant --bit_precision {bits}", model)

    def _example(self, x: NDArray[np.float64]) -> Any:
        return _package().Example(self._workspace, {_SPACE: list(enumerate(x.tolist()))})

    def _learn_row(self, x: NDArray[np.float64], y: float) -> float:
        example = self._example(x)
        example.set_label_string("1" if y > 0.0 else "-1")
        self._workspace.learn(example)
        score = float(example.get_simplelabel_prediction())  # from before the update
        self._workspace.finish_example(example)
        return score

    def _score_row(self, x: NDArray[np.float64]) -> float:
        # Never "finished" with the workspace: that would count the row in VW's statistics, which are in its model file.
        example = self._example(x)
        example.setup_example()
        return float(self._workspace.predict(example))

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) VW's weights, read back."""
        get = self._workspace.get_weight
        return np.array([get(j) for j in range(self._shape[0])])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The bytes of VW's model file, and our counts."""
        return {"counts": self._counts, "features": np.array(self._shape), "model": _model(self._workspace)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        learner = cls(int(arrays["features"][0]), arrays["model"].tobytes())
        learner._counts = arrays["counts"]
        return learner


class VowpalPolicy(PeerPolicy):
    """`vw --cb_explore_adf`, with one of EXPLORERS; everything else by VW's defaults (regression by `mtr`, a constant).

    Column j of an arm is the feature of hash j. The cost is (highest reward - reward) / width, which lies in [0, 1] as
    VW's bounds expect. Numbers are single precision inside; VW's probabilities are divided by their sum, which is
    1 to seven digits. Its state is a VW model file, byte for byte.
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
        options = f"--cb_explore_adf {EXPLORERS[explorer].options} --bit_precision {bits}"
        self._workspace = _workspace(options, model)

    @staticmethod
    def _lines(X: NDArray[np.float64], arms: NDArray[np.intp]) -> list[str]:
        """One line of VW text per arm, without zeros; the nameless namespace leaves a number as its own hash."""
        rows = X[arms].tolist()
        return ["| " + " ".join([f"{j}:{value!r}" for j, value in enumerate(row) if value]) for row in rows]

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
        return {
            "dimension": np.array([self._dimension]),
            "explorer": np.frombuffer(self._explorer.encode(), np.uint8),
            "model": _model(self._workspace),
        }

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        policy: Self = cls.__new__(cls)
        policy._begin(int(arrays["dimension"][0]), reward_range, identity)
        policy._open_workspace(arrays["explorer"].tobytes().decode(), arrays["model"].tobytes())
        return policy._count_on(arrays)


def _package() -> Any:
    return needs("vowpalwabbit", "bench", "by this learner")


def _workspace(options: str, model: bytes | None) -> Any:
    """A workspace with these options, of this model file if there is one."""
    arguments = ["--quiet", *options.split()]
    if model is None:
        return _package().Workspace(arg_list=arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(model)
        more = ["--preserve_performance_counters", "--initial_regressor", str(path)]
        return _package().Workspace(arg_list=[*arguments, *more])


def _model(workspace: Any) -> NDArray[np.uint8]:
    """The bytes of VW's model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        workspace.save(str(path))
        return np.frombuffer(path.read_bytes(), np.uint8)


def build_learner(name: str, n_features: int) -> VowpalLearner:
    """The only learner here."""
    del name
    return VowpalLearner(n_features)


def build_policy(name: str, dimension: int, arms: int, reward_range: tuple[float, float], seed: int) -> VowpalPolicy:
    """One of EXPLORERS; VW needs no fixed number of arms."""
    del arms
    return VowpalPolicy(dimension, name, reward_range=reward_range, seed=seed)
