"""What predicts several classes that were learned together, as an ONNX graph: all of it, in float64.

The graph is kernels/learning/class_pool.py and class_mixture.py at prediction time: standardised columns and their
products by pairs, the probabilities of each expert, their two blends, and the calibrations of these. Sums come in
another order than there, so probabilities differ in their last digits.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.kernels.learning import class_mixture, mixture
from massart.kernels.learning import class_pool as kernel
from massart.kernels.learning.class_pool import Class, Heat, Setting
from massart.kernels.learning.class_states import HALFSPACES, LEAST_WEIGHT, MEANS
from massart.kernels.learning.softmax import RAW_SUMS
from massart.learners.class_pool import ClassPool

__all__ = ["ClassGraph"]

_FURTHEST: Final = 10.0  # these are as in the kernels
_MEAN_PRIOR: Final = 2.0
_MOST_HEAT: Final = 1e6
_LEAST: Final = 1e-100
_HALF: Final = 0.5


class ClassGraph:
    """Nodes and constants of a graph from "X", (rows, columns) of float64, to "probability", (rows, classes)."""

    def __init__(self, pool: ClassPool, helper: Any, numpy_helper: Any) -> None:
        self.nodes: list[Any] = []
        self.initial: list[Any] = []
        self._helper, self._numpy = helper, numpy_helper
        own = {name: np.asarray(array) for name, array in pool.arrays().items()}
        self._k = pool.seen
        self._experts: list[str] = []
        known = own["classes"][Class.NUMBER, : self._k].astype(np.int64)
        if self._k == 0:
            even = np.full((1, pool.n_classes), 1.0 / pool.n_classes)
            zero = self._node("ReduceSum", "X", self._constant([1], np.int64), keepdims=1)
            zero = self._node("Mul", zero, self._constant([[0.0]]))
            self.nodes.append(helper.make_node("Add", [zero, self._constant(even)], ["probability"]))
            return
        self._add_experts(pool, own)
        mixed = self._mixture(own)
        self._all_classes(mixed, known, pool)

    def _constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = f"c{len(self.initial)}"
        self.initial.append(self._numpy.from_array(np.array(value, dtype), name))
        return name

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def _affine(self, x: str, weights: NDArray[np.float64], constants: NDArray[np.float64]) -> str:
        """(rows, len(constants)): x.weights + constants."""
        products = self._node("MatMul", x, self._constant(weights))
        return self._node("Add", products, self._constant(constants))

    def _softmax(self, scores: str) -> None:
        self._experts.append(self._node("Softmax", scores, axis=1))

    def _heated(self, scores: str, heat: float) -> str:
        """A softmax of heat times scores."""
        times = self._node("Mul", scores, self._constant(heat))
        ends = self._constant(-_MOST_HEAT), self._constant(_MOST_HEAT)
        return self._node("Softmax", self._node("Clip", times, *ends), axis=1)

    def _add_experts(self, pool: ClassPool, own: dict[str, Any]) -> None:
        """Their probabilities, (rows, classes) each, in their order."""
        k, how, classes, totals = self._k, own["how"], own["classes"], own["totals"]
        constant = 1.0 if how[Setting.BIAS] else 0.0
        weights, first = own["weights"], own["weights"].shape[1] - classes.shape[1]
        frequent, recent = _frequencies(classes, k, totals)
        if pool.is_raw:
            for pace in range(kernel.PACES):
                paced = weights[:, RAW_SUMS + pace : RAW_SUMS + pace + kernel.PACES * k : kernel.PACES]
                self._softmax(self._affine("X", paced[:-1], constant * paced[-1]))
        else:
            self._add_centred(own, constant, frequent)
        every = self._node("Mul", self._node("MatMul", "X", self._constant(np.zeros((pool.n_features, k)))),
                           self._constant(0.0))  # fmt: skip
        for share in (frequent, recent):
            self._experts.append(self._node("Add", every, self._constant(share[None, :])))
        halfspaces = weights[:, first : first + k] * classes[Class.SCALE, :k]
        scores = self._affine("X", halfspaces[:-1], how[Setting.BIAS] * halfspaces[-1])
        if how[Setting.UNIT]:
            squares = self._node("ReduceSum", self._node("Mul", "X", "X"), self._constant([1], np.int64), keepdims=1)
            square = self._node("Add", squares, self._constant(how[Setting.BIAS] ** 2))
            length = self._node("Sqrt", self._node("Max", square, self._constant(1e-300)))
            scores = self._node("Div", scores, length)
        self._experts.append(self._heated(scores, own["heat"][HALFSPACES, Heat.HEAT]))

    def _add_centred(self, own: dict[str, Any], constant: float, frequent: NDArray[np.float64]) -> None:
        k, (mean, spread), totals = self._k, own["spreads"], own["totals"]
        d, weight = mean.size, totals[mixture.Total.WEIGHT]
        deviation = np.sqrt(spread / weight) if weight > 0.0 else np.zeros(d)
        units = np.divide(1.0, deviation, out=np.zeros(d), where=deviation > 0.0)
        away = self._node("Mul", self._node("Sub", "X", self._constant(mean)), self._constant(units))
        z = self._node("Clip", away, self._constant(-_FURTHEST), self._constant(_FURTHEST))
        features, wide = z, z
        if "crossed" in own:
            left, right = np.triu_indices(d)
            pairs = self._node("Mul", self._node("Gather", z, self._constant(left, np.int64), axis=1),
                               self._node("Gather", z, self._constant(right, np.int64), axis=1))  # fmt: skip
            pairs = self._node("Sub", pairs, self._constant((left == right).astype(np.float64)))
            wide = self._node("Concat", z, pairs, axis=1)
        for name, inputs in (("centred", features), ("crossed", wide)):
            for pace in range(kernel.PACES) if name in own else ():
                paced = own[name][:, pace : pace + kernel.PACES * k : kernel.PACES]
                self._softmax(self._affine(inputs, paced[1:], constant * paced[0]))
        for name, inputs in (("newton", features), ("surfaces", wide)):
            for table in own.get(name, ()):
                self._softmax(self._affine(inputs, table[1:, :k], constant * table[0, :k]))
        counts = own["classes"][Class.SUM, :k]
        prior = _MEAN_PRIOR * max(totals[mixture.Total.HEAVIEST], LEAST_WEIGHT)
        means = (own["means"][:, :k] * units[:, None] - counts * (mean * units)[:, None]) / (counts + prior)
        scores = self._affine(z, means, -0.5 * np.square(means).sum(axis=0))
        heated = self._node("Mul", self._heated(scores, own["heat"][MEANS, Heat.HEAT]), self._constant(frequent))
        total = self._node("ReduceSum", heated, self._constant([1], np.int64), keepdims=1)
        self._experts.append(self._node("Div", heated, total))

    def _mixture(self, own: dict[str, Any]) -> str:
        """(rows, classes seen): the probabilities of all experts and calibrations together."""
        shares = own["members"][mixture.Member.SHARE]
        trust = own["trust"].reshape(len(class_mixture.NOISE_RATES), class_mixture.BLENDS, len(class_mixture.POWERS))
        rates = np.array(class_mixture.NOISE_RATES)[:, None, None]
        kept = (trust * (1.0 - rates)).sum(axis=0)
        parts = [self._constant(float((trust * rates).sum()) / self._k)]
        for blend, weights in enumerate((own["mixed"], shares / shares.sum())):
            summed = self._sum([self._node("Mul", expert, self._constant(w)) for expert, w in
                                zip(self._experts, weights, strict=True)])  # fmt: skip
            highest = self._node("ReduceMax", summed, axes=[1], keepdims=1)
            ratio = self._node("Div", summed, self._node("Max", highest, self._constant(_LEAST)))
            ratio = self._node("Max", ratio, self._constant(_LEAST))
            root = self._node("Sqrt", ratio)
            powers = (
                root,
                ratio,
                self._node("Mul", ratio, root),
                self._node("Mul", self._node("Mul", ratio, ratio), root),
            )
            for power, trusted in zip(powers, kept[blend], strict=True):
                total = self._node("ReduceSum", power, self._constant([1], np.int64), keepdims=1)
                parts.append(self._node("Mul", self._node("Div", power, total), self._constant(trusted)))
        return self._sum(parts)

    def _sum(self, parts: list[str]) -> str:
        total = parts[0]
        for part in parts[1:]:
            total = self._node("Add", total, part)
        return total

    def _all_classes(self, mixed: str, known: NDArray[np.int64], pool: ClassPool) -> None:
        """Classes in their order; those that have not come share 1 / (rounds + 2)."""
        places, missing = np.zeros((self._k, pool.n_classes)), pool.n_classes - self._k
        unseen = 1.0 / (pool.rounds + 2.0) if missing else 0.0
        places[np.arange(self._k), known] = 1.0 - unseen
        others = np.full(pool.n_classes, unseen / max(1, missing))
        others[known] = 0.0
        found = self._node("MatMul", mixed, self._constant(places))
        self.nodes.append(self._helper.make_node("Add", [found, self._constant(others)], ["probability"]))


def _frequencies(classes: Any, k: int, totals: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Those of all labels and of recent ones, as the experts have them."""
    every = classes[Class.SUM, :k] + _HALF * max(totals[mixture.Total.HEAVIEST], LEAST_WEIGHT)
    recent = classes[Class.RECENT, :k] + _HALF / k
    return every / every.sum(), recent / recent.sum()
