"""The policy to be evaluated, and a log seen through it: one importance weight per decision.

w_i = pi(a_i | x_i) / p_i, the probability of the arm taken under the policy to be evaluated over the one it had.
If p_i > 0 wherever pi > 0, then E[w_i] = 1 and E[w_i r_i] is what the policy would earn. Where a log has no
propensities at all they are estimated (`massart.evaluation.propensities`), and `WeightedLog.estimated` says so.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from massart.data import DecisionBatch, DecisionLog
from massart.data.decisions.checker import LogChecker
from massart.data.decisions.decision import TOLERANCE, FloatArray
from massart.data.decisions.survey import LogSurvey
from massart.data.row_errors import most_unpacked
from massart.errors import InvalidDataError, InvalidParameterError
from massart.evaluation.propensities import estimated_propensities

__all__ = ["POLICIES", "Policy", "TargetPolicy", "WeightedLog", "name_of", "target_probabilities", "weigh", "weigh_all"]

POLICIES = {
    "uniform": "every arm with the same probability",
    "first": "always arm 0",
    "logged": "the policy that wrote the log",
    "target": "the probabilities in the log's own field `target`",
}

_BYTES = 400  # of memory for each decision, its event id included


class Policy(Protocol):
    """Anything with this method can be evaluated; so can a plain function contexts -> probabilities."""

    def probabilities(self, contexts: Any) -> Any:
        """The probability of each row of `contexts` (k, d)."""


TargetPolicy = str | Policy | Callable[[Any], Any]


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
    is_logged: bool = False  # the policy is the one that wrote the log
    estimated: bool = False  # propensities were not logged
    propensities: FloatArray | None = None  # (n,) by which weights were divided
    positions: npt.NDArray[np.int64] | None = None  # (n,)
    slates: npt.NDArray[np.int64] | None = None  # (n,) which list each one is a part of, from 0
    bad_lines: int = 0
    bad_messages: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.rewards.size)

    @property
    def effective_sample_size(self) -> float:
        """(sum w)^2 / sum w^2: that many equally weighted decisions carry as much information (Kish).

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
    """Read a log once and weigh its decisions; contexts are dropped batch by batch unless they are to be kept.

    A log that takes more memory than `massart.data.row_errors.most_unpacked` allows for its size raises an error.

    >>> from massart.data import Decision
    >>> batch = DecisionBatch.of([Decision(np.eye(2), 0, 0.25, 1.0), Decision(np.eye(2), 1, 0.25, 0.0)])
    >>> weigh(batch, "uniform").weights.tolist()
    [2.0, 2.0]
    """
    return weigh_all(log, [policy], keep_contexts=keep_contexts)[0]


def weigh_all(
    log: DecisionLog | DecisionBatch | Iterable[DecisionBatch],
    policies: Sequence[TargetPolicy] | Mapping[str, TargetPolicy],
    *,
    keep_contexts: bool = False,
    folds: int = 5,
    seed: int = 0,
) -> list[WeightedLog]:
    """The log through each of several policies; it is read once. `folds` and `seed` are of estimated propensities.

    >>> from massart.data import Decision
    >>> batch = DecisionBatch.of([Decision(np.eye(2), 0, 0.25, 1.0), Decision(np.eye(2), 1, 0.25, 0.0)])
    >>> [seen.weights.tolist() for seen in weigh_all(batch, ["uniform", "first"])]
    [[2.0, 2.0], [4.0, 0.0]]
    """
    named = named_policies(policies)
    if isinstance(log, DecisionLog):
        log.crossed = log.crossed or wants_crossed(named)
    survey = LogSurvey()
    where = {"room": most_unpacked(log.size), "name": log.name} if isinstance(log, DecisionLog) else {"room": None}
    part = weighed_part(_batches(log, survey), named, keep_contexts=keep_contexts, **where)
    shared = {
        "skipped": dict(log.skipped if isinstance(log, DecisionLog) else survey.repeated),
        "warnings": log.warnings if isinstance(log, DecisionLog) else tuple(survey.warnings()),
        "bad_lines": log.bad.count if isinstance(log, DecisionLog) else 0,
        "bad_messages": tuple(log.bad.messages) if isinstance(log, DecisionLog) else (),
    }
    return joined([part], named, shared, folds=folds, seed=seed)


def named_policies(policies: Sequence[TargetPolicy] | Mapping[str, TargetPolicy]) -> dict[str, TargetPolicy]:
    """Policies by name; at least one."""
    named = dict(policies) if isinstance(policies, Mapping) else _named(policies)
    if not named:
        raise InvalidParameterError("no policy is named: give one or more")
    return named


def wants_crossed(named: Mapping[str, TargetPolicy]) -> bool:
    """Whether features that all arms share are to be multiplied with those of each, as a bandit with names learns."""
    return any(getattr(one, "has_names", False) for one in named.values())


class WeighedPart(NamedTuple):
    """What estimators need of some decisions that follow each other: arrays, to be put after those of others."""

    columns: dict[str, Any]  # arrays (n,)
    target: dict[str, FloatArray]  # by policy
    contexts: Any  # or None
    positions: list[int | None]
    slates: list[str | None]
    nbytes: int  # that it takes in memory, about

    @property
    def is_empty(self) -> bool:
        """Whether there is no decision in it."""
        return not self.positions


def weighed_part(
    batches: Iterable[DecisionBatch],
    named: Mapping[str, TargetPolicy],
    *,
    keep_contexts: bool,
    room: int | None,
    name: str = "the log",
) -> WeighedPart:
    """Ask the policies about all decisions; more memory than there is room for raises an error."""
    columns: dict[str, list[Any]] = {field: [] for field in _COLUMNS}
    target: dict[str, list[FloatArray]] = {policy: [] for policy in named}
    contexts: list[Any] = []
    positions: list[int | None] = []
    slates: list[str | None] = []
    nbytes = 0
    for batch in batches:
        for own, policy in named.items():
            target[own].append(target_probabilities(policy, batch))
        given = batch.rewards, batch.weights, batch.lines, np.diff(batch.starts), batch.arms, batch.propensities
        for field, array in zip(_COLUMNS, given, strict=True):
            columns[field].append(array)
        positions += batch.positions or [None] * len(batch)
        slates += batch.slates or [None] * len(batch)
        keep_contexts = keep_contexts or bool(np.isnan(batch.propensities).any())
        if keep_contexts:
            contexts.append(batch.contexts)
        nbytes += _BYTES * len(batch) + sum(every[-1].nbytes for every in target.values())
        nbytes += _nbytes(batch.contexts) if keep_contexts else 0
        check_room(nbytes, room, name)
    return WeighedPart(
        {field: np.concatenate(arrays) if arrays else np.empty(0) for field, arrays in columns.items()},
        {own: np.concatenate(arrays) if arrays else np.empty(0) for own, arrays in target.items()},
        _stacked(contexts),
        positions,
        slates,
        nbytes,
    )


_COLUMNS: Final = ("rewards", "row_weights", "lines", "counts", "arms", "propensities")


def check_room(nbytes: int, room: int | None, name: str) -> None:
    """Refuse a log whose decisions take more memory than a file of its size may."""
    if room is not None and nbytes > room:
        raise InvalidDataError(
            f"{name}: its decisions take more than 1 GiB and 16 times the size of the file in memory: "
            "decompress it, split it, or ask for the estimators ips and snips, which need no features"
        )


def _stacked(contexts: Sequence[Any]) -> Any:
    if not contexts:
        return None
    return sparse.vstack(contexts, format="csr") if sparse.issparse(contexts[0]) else np.vstack(contexts)


def joined(
    parts: Sequence[WeighedPart], named: Mapping[str, TargetPolicy], about: dict[str, Any], *, folds: int, seed: int
) -> list[WeightedLog]:
    """The log that these parts are, through each of the policies; `about` has the fields of the log as a whole."""
    parts = [part for part in parts if not part.is_empty]
    columns = {field: np.concatenate([part.columns[field] for part in parts]) for field in _COLUMNS}
    starts = np.concatenate([[0], np.cumsum(columns.pop("counts"))]).astype(np.int64)
    taken = starts[:-1] + columns.pop("arms")
    stack = _stacked([part.contexts for part in parts if part.contexts is not None])
    place, lists = _places(
        [one for part in parts for one in part.positions], [one for part in parts for one in part.slates]
    )
    estimated = bool(np.isnan(columns["propensities"]).any())
    if estimated:
        how = {"folds": folds, "seed": seed, "groups": lists}
        columns["propensities"] = estimated_propensities(stack, starts, taken, place, **how)  # type: ignore[arg-type]
    shared = {
        **columns,
        **about,
        "starts": starts,
        "taken": taken,
        "contexts": stack,
        "estimated": estimated,
        "positions": place,
        "slates": lists,
    }
    found = []
    for name, policy in named.items():
        is_logged = isinstance(policy, str) and policy == "logged"
        given = np.concatenate([part.target[name] for part in parts])
        weights = np.ones(taken.size) if is_logged else given[taken] / columns["propensities"]
        found.append(WeightedLog(policy=name, weights=weights, target=given, is_logged=is_logged, **shared))
    return found


def _named(policies: Sequence[TargetPolicy]) -> dict[str, TargetPolicy]:
    """Policies by name; of two with one name, the later ones get a number."""
    named: dict[str, TargetPolicy] = {}
    for policy in policies:
        name = own = name_of(policy)
        number = 2
        while name in named:
            name, number = f"{own} {number}", number + 1
        named[name] = policy
    return named


def _places(
    positions: Sequence[int | None], slates: Sequence[str | None]
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None]:
    """Positions and numbers of lists; None where no decision has any, refused where only some have."""
    for what, given in (("position", positions), ("slate", slates)):
        missing = sum(one is None for one in given)
        if 0 < missing < len(given):
            raise InvalidDataError(
                f"{missing:,} of {len(given):,} decisions have no {what}, but others have: log it for all or for none"
            )
    place = None if positions[0] is None else np.array(positions, dtype=np.int64)
    numbers: dict[str | None, int] = {}
    lists = None if slates[0] is None else np.array([numbers.setdefault(one, len(numbers)) for one in slates])
    return place, lists


def _nbytes(contexts: Any) -> int:
    parts = (contexts.data, contexts.indices, contexts.indptr) if sparse.issparse(contexts) else (contexts,)
    return sum(int(part.nbytes) for part in parts)


def _batches(log: DecisionLog | DecisionBatch | Iterable[DecisionBatch], survey: LogSurvey) -> Iterator[DecisionBatch]:
    """A log from a file is checked while it is read; other batches are checked here."""
    if isinstance(log, DecisionLog):
        yield from log
        return
    checker = LogChecker("the decisions given", propensities_may_miss=True)
    for batch in [log] if isinstance(log, DecisionBatch) else log:
        decisions = list(batch)
        invalid = sum(not checker.is_valid(decision) for decision in decisions)
        kept = [decision for decision in decisions if not survey.is_repeat(decision)]
        if kept and not invalid:
            yield batch if len(kept) == len(decisions) else DecisionBatch.of(kept)
    checker.finish()


def name_of(policy: TargetPolicy) -> str:
    """What to call it in a table.

    >>> name_of("uniform"), name_of(len)
    ('uniform', 'len')
    """
    if isinstance(policy, str):
        if policy not in POLICIES:
            raise InvalidParameterError(f"policy {policy!r} is none of {', '.join(POLICIES)}")
        return policy
    return str(getattr(policy, "__name__", type(policy).__name__))


def target_probabilities(policy: TargetPolicy, batch: DecisionBatch) -> FloatArray:
    """What the policy gives to every arm of a batch, flat like `batch.contexts`.

    For "logged" the entries are NaN where the log names the probability of the arm taken only.

    >>> from massart.data import Decision
    >>> batch = DecisionBatch.of([Decision(np.eye(2), 0, 0.5, 1.0), Decision(np.ones((4, 2)), 2, 0.1, 0.0)])
    >>> target_probabilities("uniform", batch).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    """
    name = name_of(policy)
    counts = np.diff(batch.starts)
    if policy == "uniform":
        return np.repeat(1.0 / counts, counts)
    if policy == "first":
        first = np.zeros(int(batch.starts[-1]))
        first[batch.starts[:-1]] = 1.0
        return first
    if policy == "logged":
        return batch.logged
    given = batch.target if policy == "target" else _asked(policy, batch)
    _check_probabilities(name, given, batch)
    return given


def _asked(policy: TargetPolicy, batch: DecisionBatch) -> FloatArray:
    ask = cast("Callable[[Any], Any]", getattr(policy, "probabilities", policy))
    if not callable(ask):
        raise InvalidParameterError(f"policy {policy!r} is neither a function nor has a method probabilities(contexts)")
    answers = []
    for row, (first, last) in enumerate(zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True)):
        answer = np.asarray(ask(batch.contexts[first:last]), dtype=np.float64)
        if answer.shape != (last - first,):
            raise InvalidDataError(
                f"policy {name_of(policy)} gave an answer of shape {answer.shape} for the {last - first} arms of "
                f"line {batch.lines[row]}: return one probability per row of the contexts"
            )
        answers.append(answer)
    return np.concatenate(answers)


def _check_probabilities(name: str, given: FloatArray, batch: DecisionBatch) -> None:
    starts = batch.starts[:-1]
    least, totals = np.minimum.reduceat(given, starts), np.add.reduceat(given, starts)
    wrong = np.flatnonzero(~((least >= 0.0) & (np.abs(totals - 1.0) <= TOLERANCE)))
    if wrong.size:
        shown = ", ".join(
            f"line {batch.lines[row]} ({'missing' if np.isnan(totals[row]) else f'sum {totals[row]:.6g}'})"
            for row in wrong[:5]
        )
        raise InvalidDataError(
            f"policy {name} has invalid probabilities for {wrong.size} of the {len(batch)} decisions "
            f"from line {batch.lines[0]} on: {shown}; each must be at least 0 and those of one decision sum to 1"
        )
