"""Vowpal Wabbit through its Python package: logistic loss, adaptive normalised steps as it comes."""

import importlib
import tempfile
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from massart.learners.reference.baselines.peer_base import Peer

_OPTIONS: Final = "--quiet --loss_function logistic --noconstant"
_SPACE: Final = "x"
_DEFAULT_BITS: Final = 18


class VowpalPeer(Peer):
    """`vw --loss_function logistic --noconstant`: column j of a row is the feature of hash j.

    Numbers are single precision inside. What it remembers is a VW model file, byte for byte.
    Needs the package `vowpalwabbit`, which is imported when the learner is made.
    """

    def __init__(self, n_features: int, model: bytes | None = None) -> None:
        super().__init__(n_features)
        self._package = importlib.import_module("vowpalwabbit")
        bits = max(_DEFAULT_BITS, n_features.bit_length())
        options = f"{_OPTIONS} --bit_precision {bits}"
        if model is None:
            self._workspace = self._package.Workspace(options)
        else:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model"
                path.write_bytes(model)
                # Given as a list, so that a space in the path does not matter.
                more = ["--preserve_performance_counters", "--initial_regressor", str(path)]
                self._workspace = self._package.Workspace(arg_list=[*options.split(), *more])

    def _example(self, x: NDArray[np.float64]) -> Any:
        return self._package.Example(self._workspace, {_SPACE: list(enumerate(x.tolist()))})

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
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._workspace.save(str(path))
            model = np.frombuffer(path.read_bytes(), np.uint8)
        return {"counts": self._counts, "features": np.array(self._shape), "model": model}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The learner whose `arrays()` these are."""
        learner = cls(int(arrays["features"][0]), arrays["model"].tobytes())
        learner._counts = arrays["counts"]
        return learner


def build(name: str, n_features: int, seed: int) -> VowpalPeer:
    """The only peer here; nothing in it is random."""
    del name, seed
    return VowpalPeer(n_features)
