"""`massart evaluate` on several workers: each file of a log is read and weighed by one task, and put after the others.

What comes back of a decision is what estimators need: its reward, its weights, the probabilities of the policies, and a
hash by which repeats are found; its features only if a model of the rewards, or of propensities, has to be fitted. The
numbers are computed from all of them in one process, by the code that evaluates a log that was read there, so that
every estimate and every interval is the same to the last digit, whatever the files, the workers and their order are.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from massart.data import DecisionLog
from massart.data.decisions.reading import LogReading
from massart.data.row_errors import most_unpacked
from massart.errors import InvalidParameterError
from massart.evaluation.log import (
    TargetPolicy,
    WeighedPart,
    check_room,
    joined,
    named_policies,
    wants_crossed,
    weighed_part,
)
from massart.evaluation.off_policy import compare_weighed, needs_contexts
from massart.evaluation.options import EvaluationOptions
from massart.evaluation.results import Comparison
from massart.scale.engine import Engine

__all__ = ["evaluate_parts"]


def evaluate_parts(
    log: Any,
    policies: Sequence[TargetPolicy] | Mapping[str, TargetPolicy],
    executor: Any,
    options: EvaluationOptions | None = None,
) -> Comparison:
    """`massart.evaluation.compare` with one task for each file of the log: the same result, to the last digit.

    Workers find the files under the same names, and get the policies. A log is refused if one of its files has the
    event id of a decision in an earlier one: the two would be joined, or one left out, if the log were read at once.

    Parameters
    ----------
    log : massart.data.DecisionLog, path or paths
        Not a pipe, and not a table whose arms are those that occur.
    policies : sequence or mapping
        As for `compare`; for workers in other processes they must be such that can be pickled.
    executor : concurrent.futures.Executor or dask.distributed.Client
        Or what `massart.scale.local_processes` and `massart.scale.connect` give.
    options : EvaluationOptions, optional
        As for `compare`.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from massart.data import Decision, write_decisions
    >>> from massart.evaluation import compare
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     for k in range(3):
    ...         rows = [Decision(np.eye(2), i % 2, 0.5, float(i % (2 + k) == 0)) for i in range(200)]
    ...         _ = write_decisions(rows, f"{folder}/{k}.jsonl")
    ...     found = evaluate_parts(f"{folder}/*.jsonl", ["first"], pool)
    ...     found == compare(DecisionLog(f"{folder}/*.jsonl"), ["first"])
    True
    """
    engine = executor if isinstance(executor, Engine) else Engine(executor)
    asked = options if options is not None else EvaluationOptions()
    whole = log if isinstance(log, DecisionLog) else DecisionLog(log, propensities_may_miss=True)
    named = named_policies(policies)
    _check_log(whole)
    whole.crossed = whole.crossed or wants_crossed(named)
    if whole.format == "vw-cb" and whole.actions is None:
        whole.actions = max(_in_order(engine, _largest_action, whole, ()))
    room, keep = most_unpacked(whole.size), needs_contexts(asked)
    reading, parts, nbytes = whole.reading, [], 0
    for number, (part, own) in enumerate(_in_order(engine, _weighed, whole, (named, keep, room))):
        reading = own if number == 0 else reading
        if number:
            reading.add(own)
        parts.append(part)
        nbytes += part.nbytes
        check_room(nbytes, room, whole.name)
    warnings = reading.finish()
    about = {
        "skipped": dict(reading.skipped),
        "warnings": warnings,
        "bad_lines": reading.bad.count,
        "bad_messages": tuple(reading.bad.messages),
    }
    return compare_weighed(joined(parts, named, about, folds=asked.folds, seed=asked.seed), asked)


def _check_log(log: DecisionLog) -> None:
    for source in log.sources:
        if source.is_pipe:
            raise InvalidParameterError(f"{source.name} is a pipe, which workers cannot share: write it to files first")
    if log.is_table:
        raise InvalidParameterError(
            f"{log.name} is a table, whose arms are known when all of it is read: evaluate it without workers"
        )


def _in_order(engine: Engine, task: Any, log: DecisionLog, common: tuple[Any, ...]) -> Any:
    """The results of a task for each file, in the order of the files; a few files at a time."""
    waiting: deque[Any] = deque()
    for number in range(len(log.sources)):
        waiting.append(engine.submit(task, log.part(number), *common))
        if len(waiting) > 2 * engine.workers():
            yield engine.result(waiting.popleft())
    while waiting:
        yield engine.result(waiting.popleft())


def _largest_action(log: DecisionLog) -> int:
    return log.actions_of_log()


def _weighed(
    log: DecisionLog, named: dict[str, TargetPolicy], keep_contexts: bool, room: int
) -> tuple[WeighedPart, LogReading]:
    """One file, through the policies, and what is known of it beside its decisions."""
    part = weighed_part(log.unfinished(), named, keep_contexts=keep_contexts, room=room, name=log.name)
    log.reading.waiting.end_of_part()
    return part, log.reading
