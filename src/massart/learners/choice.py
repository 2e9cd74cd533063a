"""A decision and all that learning from it needs, so that the reward may come late, elsewhere, and out of order."""

import json
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from massart.errors import InvalidDataError

Contexts = Any  # (k, d) array of numbers, or CSR matrix


@dataclass(frozen=True, eq=False)
class Choice:
    """What a policy chose, with which probability, and from what.

    Parameters
    ----------
    arm : number of the chosen arm, a row of `contexts`.
    probabilities : (k,) with which each arm could have been chosen; they add up to 1 and were really played.
    greedy : the arm the policy believed in most.
    contexts : (k, d) array or CSR matrix, one row per arm.
    policy : identity of the policy that chose; only that policy, or a copy of it, may learn from the choice.
    number : how many choices it had made before.
    memo : what the policy wants to remember of the moment of the choice: numbers, lists and arrays.

    Examples
    --------
    >>> choice = Choice(1, np.array([0.1, 0.9]), 1, np.eye(2), policy="p", number=7)
    >>> again = Choice.from_json(choice.to_json())
    >>> again.arm, again.probability, again.number, bool((again.contexts == np.eye(2)).all())
    (1, 0.9, 7, True)
    """

    arm: int
    probabilities: NDArray[np.float64]
    greedy: int
    contexts: Contexts
    policy: str
    number: int
    memo: dict[str, Any] = field(default_factory=dict)

    @property
    def probability(self) -> float:
        """The probability with which the chosen arm was chosen."""
        return float(self.probabilities[self.arm])

    def to_json(self) -> str:
        """One line of JSON; `from_json` gives the same choice back, every number to the bit."""
        return json.dumps(
            {
                "arm": self.arm,
                "probabilities": self.probabilities.tolist(),
                "greedy": self.greedy,
                "contexts": _contexts_to_json(self.contexts),
                "policy": self.policy,
                "number": self.number,
                "memo": self.memo,
            },
            separators=(",", ":"),
            default=lambda array: array.tolist(),
        )

    @classmethod
    def from_json(cls, line: str) -> Self:
        """The choice that `to_json` wrote."""
        try:
            parts = json.loads(line)
            probabilities = np.array(parts["probabilities"], dtype=np.float64)
            contexts = _contexts_from_json(parts["contexts"])
            arm, greedy, number = int(parts["arm"]), int(parts["greedy"]), int(parts["number"])
            memo, policy = dict(parts["memo"]), str(parts["policy"])
        except KeyError as missing:
            raise InvalidDataError(f"The choice lacks the field {missing}: pass what Choice.to_json wrote") from None
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"This is no choice that Choice.to_json wrote: {error}") from None
        count = contexts.shape[0]
        if probabilities.shape != (count,) or not 0 <= arm < count or not 0 <= greedy < count:
            raise InvalidDataError(
                f"The choice has {count} contexts, {probabilities.size} probabilities, arm {arm} and greedy arm "
                f"{greedy}, which do not fit together: pass what Choice.to_json wrote"
            )
        return cls(arm, probabilities, greedy, contexts, policy, number, memo)


def _contexts_to_json(contexts: Contexts) -> Any:
    if sparse.issparse(contexts):
        rows = contexts.tocsr()
        return {
            "shape": list(rows.shape),
            "data": rows.data.tolist(),
            "indices": rows.indices.tolist(),
            "indptr": rows.indptr.tolist(),
        }
    return np.asarray(contexts).tolist()


def _contexts_from_json(parts: ArrayLike | dict[str, Any]) -> Contexts:
    if isinstance(parts, dict):
        entries = (np.array(parts["data"], dtype=np.float64), parts["indices"], parts["indptr"])
        return sparse.csr_matrix(entries, shape=tuple(parts["shape"]))
    contexts = np.array(parts, dtype=np.float64)
    if contexts.ndim != 2:
        raise ValueError(f"contexts have {contexts.ndim} dimensions, not one row per arm")
    return contexts
