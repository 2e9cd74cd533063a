"""What may be wrong with a loop: each finding with its likely cause and what to do."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np

from massart.learners.rounds import round_probabilities
from massart.service.loop import Loop
from massart.service.store import DecisionRow, Step, Why

__all__ = ["LOOKED_AT", "Diagnosis", "Finding", "diagnose_loop"]

LOOKED_AT: Final = 500  # the last decisions
_ENOUGH: Final = 50  # of something, before it is judged


class Finding(msgspec.Struct):
    """One thing that may be wrong."""

    name: str
    severity: Literal["note", "warning", "error"]
    sentence: str
    cause: str
    advice: str


class Diagnosis(msgspec.Struct):
    """All findings, the last decisions having been looked at."""

    decisions: int
    healthy: bool
    findings: list[Finding]


def diagnose_loop(
    loop: Loop, rows: Sequence[DecisionRow], steps: dict[int, Step], rewards: dict[str, int]
) -> Diagnosis:
    """Look at the last decisions of a loop, the steps that settled them, and the counts of rewards by outcome."""
    settled = [(row, steps[row.seq]) for row in rows if row.seq in steps]
    learned = [(row, step) for row, step in settled if step.why in (Why.REWARD, Why.DEFAULT)]
    found = [
        *_exploration(rows),
        *_rewards(learned, rewards),
        *_features(rows),
        *_range(loop, learned),
        *_guarantee(loop, rewards.get("waiting", 0)),
    ]
    return Diagnosis(len(rows), all(one.severity == "note" for one in found), found)


def _exploration(rows: Sequence[DecisionRow]) -> list[Finding]:
    own = [round_probabilities(row.round) for row in rows]
    several = [p for p in own if np.count_nonzero(p) > 1]
    if len(several) < _ENOUGH:
        return []
    most = float(np.median([p.max() for p in several]))
    if most < 0.999:
        return []
    return [Finding(
        "exploration-collapsed", "warning",
        f"half of the decisions give one action a probability of at least {most:.4f}",
        "the model is sure, or all rewards of the others were bad for long",
        "set exploration to 0.05 or more if the log is to say something about other policies",
    )]  # fmt: skip


def _rewards(learned: Sequence[tuple[DecisionRow, Step]], rewards: dict[str, int]) -> list[Finding]:
    found = []
    values = [step.reward for _, step in learned if step.reward is not None]
    missing = sum(step.why == Why.DEFAULT for _, step in learned)
    if len(learned) >= _ENOUGH and missing > 0.95 * len(learned):
        found.append(Finding(
            "rewards-missing", "error", f"{missing} of the last {len(learned)} events got no reward in time",
            "rewards are not sent, are sent with other event ids, or come after the window",
            "send them with the event_id that decide answered, and compare reward_window with how late they come",
        ))  # fmt: skip
    elif len(values) >= _ENOUGH and len(set(values)) == 1:
        found.append(Finding(
            "rewards-equal", "error", f"all of the last {len(values)} rewards are {values[0]:g}",
            "the reward does not measure what the actions change", "reward what differs between actions",
        ))  # fmt: skip
    came = sum(rewards.get(name, 0) for name in ("joined", "late", "duplicate", "unknown"))
    for name, cause, advice in (
        ("late", "the window is shorter than the delay of rewards", "raise reward_window"),
        ("unknown", "rewards name events of another loop, or ids that were never decided", "send decide's event_id"),
        ("duplicate", "rewards are sent twice, or several belong to one event", "choose another aggregation"),
    ):
        if came >= _ENOUGH and rewards.get(name, 0) > 0.2 * came:
            words = f"{rewards[name]:,} of {came:,} rewards are {name}"
            found.append(Finding(f"rewards-{name}", "warning", words, cause, advice))
    return found


def _features(rows: Sequence[DecisionRow]) -> list[Finding]:
    """Features that are the same in every request, or for all actions of each."""
    shared: dict[str, set[str]] = {}
    same: dict[str, bool] = {}
    for row in rows:
        request: dict[str, Any] = msgspec.json.decode(row.body)
        context = request.get("context")
        for name, value in context.items() if isinstance(context, dict) else ():
            shared.setdefault(name, set()).add(repr(value))
        own = [one.get("features") for one in request.get("actions", ()) if isinstance(one, dict)]
        named = [one for one in own if isinstance(one, dict)]
        for name in {name for one in named for name in one} if len(named) > 1 else ():
            equal = len({repr(one.get(name)) for one in named}) == 1
            same[name] = same.get(name, True) and equal
    if len(rows) < _ENOUGH:
        return []
    found = []
    constant = sorted(name for name, values in shared.items() if len(values) == 1)
    if constant:
        found.append(Finding(
            "context-constant", "note", f"features of the context that never change: {', '.join(constant[:5])}",
            "they say nothing", "leave them out",
        ))  # fmt: skip
    alike = sorted(name for name, equal in same.items() if equal)
    if alike:
        found.append(Finding(
            "features-shared", "warning", f"features that all actions of a request share: {', '.join(alike[:5])}",
            "what all actions have in common tells none from another", "send them as context, which is multiplied in",
        ))  # fmt: skip
    return found


def _range(loop: Loop, learned: Sequence[tuple[DecisionRow, Step]]) -> list[Finding]:
    low, high = loop.settings.reward_range
    outside = sum(step.reward is not None and not low <= step.reward <= high for _, step in learned)
    if not outside:
        return []
    return [Finding(
        "reward-outside", "warning", f"{outside} of the last {len(learned)} rewards left {low:g} to {high:g}",
        "several rewards were added up, or clip_rewards hides larger ones", "widen reward_range",
    )]  # fmt: skip


def _guarantee(loop: Loop, waiting: int) -> list[Finding]:
    found = loop.model.certificate(waiting)
    if found.holds or not math.isfinite(found.observed_lift):
        return []
    return [Finding(
        "guarantee-contradicted", "error", found.sentence, "gap or margin is smaller than declared",
        "declare smaller ones, or none",
    )]  # fmt: skip
