"""A log seen through a policy: one importance weight per decision.

w_i = pi(a_i | x_i) / p_i, the probability of the arm taken under the policy to be evaluated over the one it had.
If p_i > 0 wherever pi > 0, then E[w_i] = 1 and E[w_i r_i] is what the policy would earn.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from massart.data import DecisionBatch, DecisionLog
from massart.data.decisions.decision import FloatArray, LogChecker
from massart.data.decisions.survey import LogSurvey
from massart.data.row_errors import most_unpacked
from massart.errors import InvalidDataError
from massart.evaluation.policies import TargetPolicy, name_of, target_probabilities

__all__ = ["WeightedLog", "weigh"]

_BYTES = 400  # of memory for each decision, its event id included


@dataclass(frozen=True, slots=True, eq=False)
class WeightedLog:
    """The numbers that estimators need, over n decisions with K arms in all."""

    policy: str
    weights: FloatArray  # (n,) importance weights
    rewards: FloatArray  # (n,)
    row_weights: FloatArray  # (n,) decisions that each one stands for
    lines: npt.NDArray[np.int64]  # (n,) where each one stands in its file
    starts: npt.NDArray[np.int64]  # (n + 1,) first arm of each decision among all K
    taken: npt.NDArray[np.int64]  # (n,) the arm taken among all K
    target: FloatArray  # (K,) probabilities of the policy
    contexts: Any  # (K, d), or None if they were not kept
    skipped: dict[str, int]  # decisions left out, by reason
    warnings: tuple[str, ...] = ()  # what is odd about the log as a whole

    def __len__(self) -> int:
        return int(self.rewards.size)

    @property
    def effective_sample_size(self) -> float:
        """(sum w)^2 / sum w^2: as many equally weighted decisions tell as much (Kish).

        >>> from massart.data import Decision
        >>> rows = [Decision(np.eye(2), 0, 0.5, 1.0), Decision(np.eye(2), 1, 0.25, 0.0)]
        >>> weigh(DecisionBatch.of(rows), "uniform").effective_sample_size
        1.8
        """
        whole = self.weights * self.row_weights
        squares = float(np.square(whole).sum())
        return float(whole.sum()) ** 2 / squares if squares else 0.0

    @property
    def largest_share(self) -> float:
        """The share of all weight that one decision carries."""
        whole = self.weights * self.row_weights
        return float(whole.max() / whole.sum()) if whole.any() else 1.0


def weigh(
    log: DecisionLog | DecisionBatch | Iterable[DecisionBatch], policy: TargetPolicy, *, keep_contexts: bool = False
) -> WeightedLog:
    """Read a log once and weigh its decisions; contexts are forgotten batch by batch unless they are to be kept.

    A log that takes more memory than `massart.data.row_errors.most_unpacked` allows for its size is refused.

    >>> from massart.data import Decision
    >>> batch = DecisionBatch.of([Decision(np.eye(2), 0, 0.25, 1.0), Decision(np.eye(2), 1, 0.25, 0.0)])
    >>> weigh(batch, "uniform").weights.tolist()
    [2.0, 2.0]
    """
    name = name_of(policy)
    parts: dict[str, list[Any]] = {
        field: [] for field in ("weights", "rewards", "row_weights", "lines", "counts", "arms")
    }
    target: list[FloatArray] = []
    contexts: list[Any] = []
    room = most_unpacked(log.size) if isinstance(log, DecisionLog) else None
    survey = LogSurvey()
    for batch in _batches(log, survey):
        given = target_probabilities(policy, batch)
        chosen = batch.propensities if policy == "logged" else given[batch.taken]
        parts["weights"].append(chosen / batch.propensities)
        parts["rewards"].append(batch.rewards)
        parts["row_weights"].append(batch.weights)
        parts["lines"].append(batch.lines)
        parts["counts"].append(np.diff(batch.starts))
        parts["arms"].append(batch.arms)
        target.append(given)
        if keep_contexts:
            contexts.append(batch.contexts)
        if room is not None:
            room -= _BYTES * len(batch) + given.nbytes + (_nbytes(batch.contexts) if keep_contexts else 0)
            if room < 0:
                raise InvalidDataError(
                    f"{log.name}: its decisions take more than 1 GiB and 16 times the size of the file in memory: "  # type: ignore[union-attr]
                    "decompress it, split it, or ask for the estimators ips and snips, which need no features"
                )
    joined = {field: np.concatenate(arrays) for field, arrays in parts.items()}
    starts = np.concatenate([[0], np.cumsum(joined.pop("counts"))]).astype(np.int64)
    taken = starts[:-1] + joined.pop("arms")
    stack = (
        (sparse.vstack(contexts, format="csr") if sparse.issparse(contexts[0]) else np.vstack(contexts))
        if contexts
        else None
    )
    return WeightedLog(
        policy=name,
        **joined,
        starts=starts,
        taken=taken,
        target=np.concatenate(target),
        contexts=stack,
        skipped=dict(log.skipped if isinstance(log, DecisionLog) else survey.repeated),
        warnings=log.warnings if isinstance(log, DecisionLog) else tuple(survey.warnings()),
    )


def _nbytes(contexts: Any) -> int:
    parts = (contexts.data, contexts.indices, contexts.indptr) if sparse.issparse(contexts) else (contexts,)
    return sum(int(part.nbytes) for part in parts)


def _batches(log: DecisionLog | DecisionBatch | Iterable[DecisionBatch], survey: LogSurvey) -> Iterator[DecisionBatch]:
    """A log from a file is checked while it is read; other batches are checked here."""
    if isinstance(log, DecisionLog):
        yield from log
        return
    checker = LogChecker("the decisions given")
    for batch in [log] if isinstance(log, DecisionBatch) else log:
        decisions = list(batch)
        flawed = sum(not checker.is_valid(decision) for decision in decisions)
        kept = [decision for decision in decisions if not survey.is_repeat(decision)]
        if kept and not flawed:
            yield batch if len(kept) == len(decisions) else DecisionBatch.of(kept)
    checker.finish()
