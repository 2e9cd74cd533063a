"""Offline evaluations: what policies would have earned, from the decisions of a loop in a range of time.

Always there are the policy that decided (Online), the first action (Baseline) and a random one (Random). A policy with
settings of its own begins as a new bandit and goes through the decisions in their order: of each it says first what it
would do, then it learns from the log (`MonotoneBandit.learn_logged`). Rewards count as the model learned them, within
the range of the loop. Decisions of the modes Apprentice and LoggingOnly took the baseline for certain: they are left
out.
"""

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data import Decision, DecisionBatch
from massart.data.offers import Offer
from massart.evaluation import evaluate
from massart.learners.rounds import plan_round, round_probabilities
from massart.service.engine import Engine
from massart.service.errors import RefusedError
from massart.service.loop import Loop, check_settings
from massart.service.model import new_bandit, offer_of_request, request_of
from massart.service.personalizer_settings import iso_time, microseconds_of, policy_of, with_policy
from massart.service.personalizer_types import Evaluation, EvaluationOrder
from massart.service.store import DecisionRow, Step, Store, Why
from massart.service.types import LoopSettings

__all__ = ["MOST_DECISIONS", "evaluated", "imitation", "old_result", "result"]

MOST_DECISIONS: Final = 20_000  # of one evaluation
_PAGE: Final = 500  # decisions that are read at a time, while nothing is written
_LATEST: Final = 1_000  # decisions that the figures of the mode Apprentice are about


class _Seen(NamedTuple):
    """One decision with its reward; the row without its round, and without its request if nobody needs that."""

    row: DecisionRow
    reward: float
    probabilities: NDArray[np.float64]


async def evaluated(engine: Engine, loop: Loop, order: EvaluationOrder, identity: str) -> Evaluation:
    """Make an evaluation."""
    start, end = microseconds_of(order.start_time, "startTime"), microseconds_of(order.end_time, "endTime")
    if start >= end:
        raise RefusedError("startTime is not before endTime", code="InvalidEvaluationContract")
    names = [policy.name for policy in order.policies]
    if len(set(names)) < len(names):
        raise RefusedError("policies: two have the same name; give each its own", code="DuplicateCustomPolicyNames")
    if order.enable_offline_experimentation or order.enable_policy_optimization:
        raise RefusedError(
            "enableOfflineExperimentation, enablePolicyOptimization: settings are not searched for; name policies",
            code="InvalidEvaluationContract",
        )
    own = [(policy, check_settings(with_policy(policy, loop.settings))) for policy in order.policies]
    seen = await _read(engine, loop, start, end, requests=bool(own))
    if not seen:
        raise RefusedError(
            "there are no decisions with rewards, of the mode Online, from startTime to endTime",
            code="NoLogsExistInDateRange",
        )
    rows = await asyncio.to_thread(_policies, seen, loop.settings, own)
    best = max(rows, key=lambda row: row["expectedReward"])
    return Evaluation(
        identity, order.name, iso_time(start), iso_time(end), iso_time(engine.clock.now()), rows,
        optimal_policy=best["name"],
    )  # fmt: skip


async def _read(engine: Engine, loop: Loop, start: int, end: int, *, requests: bool) -> list[_Seen]:
    """Decisions with rewards, in the order in which they were made; the store is free between two pages."""
    found: list[_Seen] = []
    before: int | None = None
    while True:
        page: list[tuple[DecisionRow, Step | None]] = await engine.read(partial(_page, loop=loop.id, before=before))
        for row, step in page:
            if start <= row.time < end and row.mode == "online" and step is not None and step.taught is not None:
                chances = np.array(round_probabilities(row.round))
                slim = row._replace(round=b"", body=row.body if requests else b"")
                found.append(_Seen(slim, step.taught, chances))
        if len(found) > MOST_DECISIONS:
            raise RefusedError(
                f"from startTime to endTime there are more than {MOST_DECISIONS:,} decisions: give a shorter time",
                code="LogsSizeExceedAllowedLimit",
            )
        if len(page) < _PAGE or page[-1][0].time < start:
            return found[::-1]
        before = page[-1][0].seq


def _page(store: Store, loop: int, before: int | None) -> list[tuple[DecisionRow, Step | None]]:
    rows = store.events(loop, before, _PAGE)
    steps = store.rewards_of([row.seq for row in rows])
    return [(row, steps.get(row.seq)) for row in rows]


def _policies(seen: Sequence[_Seen], settings: LoopSettings, own: Sequence[Any]) -> list[dict[str, Any]]:
    """All policies, in a thread of its own."""
    free = [one.probabilities > 0.0 for one in seen]
    first = [np.eye(1, one.size, int(np.argmax(one)))[0] for one in free]
    random = [one / one.sum() for one in free]
    found = [
        _estimate("Online", policy_of(settings).arguments, seen, None, settings),
        _estimate("Baseline", "", seen, first, settings),
        _estimate("Random", "", seen, random, settings),
    ]
    for policy, its in own:
        row = _estimate("Custom", policy.arguments, seen, _progressive(seen, its), settings)
        found.append(row | {"name": policy.name})
    return found


def _progressive(seen: Sequence[_Seen], settings: LoopSettings) -> list[NDArray[np.float64]]:
    """The probabilities of a new bandit, which learns each decision after it was asked."""
    bandit, found = new_bandit(settings), []
    for one in seen:
        offer: Offer = offer_of_request(request_of(one.row), settings)
        allowed = (one.probabilities > 0.0).tolist()
        found.append(np.array(plan_round(bandit, offer, allowed).probabilities))
        bandit.learn_logged(
            offer, one.row.arm, float(one.probabilities[one.row.arm]), one.reward, probabilities=one.probabilities
        )
    return found


def _estimate(
    source: str,
    arguments: str,
    seen: Sequence[_Seen],
    target: Sequence[NDArray[np.float64]] | None,
    settings: LoopSettings,
) -> dict[str, Any]:
    """Sums of one policy, and its estimate with an interval, by `massart.evaluation`."""
    rewards = np.array([one.reward for one in seen])
    weights = np.ones(len(seen))
    if target is not None:
        arms = [one.row.arm for one in seen]
        weights = np.array([p[arm] / one.probabilities[arm] for p, arm, one in zip(target, arms, seen, strict=True)])
    batch = DecisionBatch.of(
        [
            Decision(
                np.zeros((one.probabilities.size, 0)), one.row.arm, float(one.probabilities[one.row.arm]), one.reward,
                probabilities=one.probabilities, target=None if target is None else target[place], line=place + 1,
            )
            for place, one in enumerate(seen)
        ]
    )  # fmt: skip
    policy = "logged" if target is None else "target"
    line = evaluate(batch, policy, estimators=["ips"], intervals=["normal"])["ips"]
    low, high = (line.intervals[0].low, line.intervals[0].high) if line.intervals else settings.reward_range
    return {
        "name": source,
        "arguments": arguments,
        "policySource": source,
        "expectedReward": float(line.value),
        "confidenceInterval": [float(low), float(high)],
        "ipsEstimatorNumerator": math.fsum(weights * rewards),
        "ipsEstimatorDenominator": float(len(seen)),
        "snipsEstimatorDenominator": math.fsum(weights),
        "nonZeroProbability": float((weights > 0.0).sum()),
        "sumOfSquares": math.fsum((weights * rewards) ** 2),
    }


def old_result(found: Evaluation) -> dict[str, Any]:
    """An evaluation as v1.0 and v1.1-preview have it."""
    sums = ("ipsEstimatorNumerator", "ipsEstimatorDenominator", "snipsEstimatorDenominator", "nonZeroProbability",
            "sumOfSquares")  # fmt: skip
    results = []
    for row in found.policies:
        low, high = row["confidenceInterval"]
        total = {name: row[name] for name in sums} | {
            "timeStamp": found.end_time,
            "aggregateTimeWindow": "PT0S",
            "confidenceInterval": (high - low) / 2.0,
            "averageReward": row["expectedReward"],
        }
        named = {name: row[name] for name in ("name", "arguments", "policySource")}
        results.append(named | {"summary": [total], "totalSummary": total})
    return _head(found) | {"status": "completed", "policyResults": results, "featureImportance": []}


def result(found: Evaluation, *, whole: bool = True) -> dict[str, Any]:
    """An evaluation as 2022-09-01-preview has it; in lists it is not whole."""
    if not whole:
        return _head(found)
    rows = []
    for row in found.policies:
        summary = {name: row[name] for name in ("expectedReward", "confidenceInterval")}
        named = {name: row[name] for name in ("name", "arguments", "policySource")}
        rows.append(named | {"summary": summary, "timeseries": {"data": [summary | {"timeStamp": found.end_time}]}})
    content = {"startTime": found.start_time, "endTime": found.end_time, "value": rows}
    return _head(found) | {"optimalPolicy": found.optimal_policy, "content": content}


def _head(found: Evaluation) -> dict[str, Any]:
    return {
        "id": found.id,
        "name": found.name,
        "startTime": found.start_time,
        "endTime": found.end_time,
        "creationTime": found.creation_time,
        "evaluationType": found.evaluation_type,
        "status": found.status,
        "optimalPolicy": found.optimal_policy,
    }


async def imitation(engine: Engine, loop: Loop) -> dict[str, Any] | None:
    """How often the model agreed with the baseline lately, in the mode Apprentice; None if nothing is known."""
    page = await engine.read(lambda store: _latest(store, loop.id))
    seen = [(row, step) for row, step in page if row.mode == "apprentice" and step is not None]
    seen = [(row, step) for row, step in seen if step.why in (Why.REWARD, Why.DEFAULT)]
    if not seen:
        return None
    low, high = loop.settings.reward_range
    agreed = [step for _, step in seen if step.taught is not None and step.taught > (low + high) / 2.0]
    return {
        "startTime": iso_time(seen[-1][0].time),
        "lastProcessedEventTime": iso_time(seen[0][0].time),
        "numberOfEvents": len(seen),
        "numberOfImitatedEvents": len(agreed),
        "sumOfRewards": math.fsum(step.reward or 0.0 for _, step in seen),
        "sumOfImitatedRewards": math.fsum(step.reward or 0.0 for step in agreed),
    }


def _latest(store: Store, loop: int) -> list[tuple[DecisionRow, Step]]:
    rows = store.events(loop, None, _LATEST)
    steps = store.rewards_of([row.seq for row in rows])
    return [(row, steps[row.seq]) for row in rows if row.seq in steps]
