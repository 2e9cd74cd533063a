"""One loop: its settings and model, and how a request becomes a decision."""

import math
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec

from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.rounds import round_arm, round_probabilities
from massart.options import BanditOptions
from massart.service.clock import SECOND
from massart.service.errors import RefusedError
from massart.service.model import LoopModel, draw, offer_of_request, request_of, toss_of
from massart.service.store import DecisionRow, LoopRow, NewDecision, RewardRow
from massart.service.types import Action, ActionProbability, Aggregation, Decided, DecideRequest, LoopSettings

__all__ = ["Loop", "Prepared", "aggregated", "answer_again", "check_settings", "entries_of", "first_allowed",
           "leaves_of"]  # fmt: skip

_ENCODE = msgspec.json.Encoder()
_NESTING = frozenset((dict, list))
_ONE: dict[str, Callable[[list[float]], float]] = {
    "earliest": lambda values: values[0],
    "sum": math.fsum,
    "average": lambda values: math.fsum(values) / len(values),
    "median": median,
    "min": min,
    "max": max,
}


class Prepared(NamedTuple):
    """A decision that is not written yet, and the answer to give once it is."""

    row: NewDecision
    answer: Decided


class Loop:
    """A loop in this process; `settings` and `model` change, nothing else does."""

    def __init__(self, row: LoopRow, settings: LoopSettings, model: LoopModel) -> None:
        self.id, self.name, self.key, self.created = row.id, row.name, row.key, row.created
        self.settings, self.model, self.encoded = settings, model, row.settings

    def prepare(self, request: DecideRequest, now: int) -> Prepared:
        """Decide; nothing changes. What a request lacks is filled in, so that the row says all."""
        settings = self.settings
        actions = self._actions(request)
        places = {action.id: place for place, action in enumerate(actions)}
        if len(places) < len(actions):
            raise RefusedError("actions: an id stands there twice; give each action its own")
        allowed = None
        if request.excluded:
            out = set(request.excluded)
            allowed = [action.id not in out for action in actions]
            if not any(allowed):
                raise RefusedError("excluded: all actions are excluded; leave at least one")
        event_id = request.event_id or uuid4().hex
        whole = DecideRequest(actions, request.context, request.excluded, None, request.deferred)  # type: ignore[arg-type]
        try:
            offer = offer_of_request(whole, settings)
            plan, version = self.model.plan(offer, allowed)
        except InvalidDataError as error:
            raise RefusedError(str(error).replace("arms", "actions")) from None
        p = plan.probabilities.tolist()
        own = draw(p, toss_of(self.key, event_id))
        taken = own if settings.mode == "online" else first_allowed(p)
        due = now + round(settings.reward_window * SECOND)
        row = NewDecision(
            self.id, event_id, now, due, version, taken, settings.mode, not request.deferred, _ENCODE.encode(whole),
            plan.pack(own),
        )  # fmt: skip
        return Prepared(row, answer_of(event_id, actions, p, own, taken, version, settings.mode))

    def _actions(self, request: DecideRequest) -> list[Action]:
        given = self.settings.actions if request.actions is None else request.actions
        if not given:
            raise RefusedError(
                "actions: there are none; give at least one, or declare them in the settings of the loop"
            )
        return [Action(one) if isinstance(one, str) else one for one in given]

    def check_reward(self, value: float) -> None:
        """Refuse a reward that is not in the range, unless it may be clipped."""
        low, high = self.settings.reward_range
        if not math.isfinite(value):
            raise RefusedError("reward: it is not a finite number")
        if not low <= value <= high and not self.settings.clip_rewards:
            raise RefusedError(
                f"reward: {value:g} is outside of the range {low:g} to {high:g} of the loop {self.name!r}; send "
                "another one, widen reward_range, or set clip_rewards"
            )

    def taught(self, decision: DecisionRow, reward: float) -> float:
        """What the model learns: the reward within its range, or whether it agreed with the baseline."""
        low, high = self.settings.reward_range
        if decision.mode == "apprentice":
            return high if round_arm(decision.round) == decision.arm else low
        return min(max(reward, low), high)

    def settles(self, row: RewardRow) -> bool:
        """Whether the first reward of an event decides what is learned."""
        return self.settings.aggregation == "earliest" and not self.settings.hold_rewards and row.active


def entries_of(request: DecideRequest) -> int:
    """At most so many features the actions have, with the context multiplied in."""
    shared = 1 + leaves_of(request.context)
    own = sum(1 if isinstance(one, str) else 1 + leaves_of(one.features) for one in request.actions or ())
    return own * shared


def leaves_of(features: Any) -> int:
    """How many numbers, texts and so on there are, at least."""
    if not isinstance(features, (dict, list)):
        return 1
    count, values = len(features), features.values() if isinstance(features, dict) else features
    if _NESTING.isdisjoint(map(type, values)):
        return count
    for value in values:
        if type(value) is dict or type(value) is list:
            count += leaves_of(value) - 1
    return count


def first_allowed(probabilities: list[float]) -> int:
    """The baseline: the first action that is not excluded."""
    return next(place for place, p in enumerate(probabilities) if p > 0.0)


def answer_of(
    event_id: str, actions: list[Action], p: list[float], own: int, taken: int, version: int, mode: Any
) -> Decided:
    """The answer; in the modes in which the baseline is taken its probability is 1."""
    every = [ActionProbability(action.id, one) for action, one in zip(actions, p, strict=True)]
    chance = p[taken] if mode == "online" else 1.0
    return Decided(event_id, actions[taken].id, taken, chance, every, version, mode, actions[own].id)


def answer_again(row: DecisionRow) -> Decided:
    """The answer that was given when a decision was made."""
    actions = [Action(one) if isinstance(one, str) else one for one in request_of(row).actions or ()]
    p = round_probabilities(row.round).tolist()
    return answer_of(row.event_id, actions, p, round_arm(row.round), row.arm, row.version, row.mode)


def aggregated(values: list[float], how: Aggregation) -> float:
    """One reward of several.

    >>> [aggregated([1.0, 0.0, 0.5], how) for how in ("earliest", "sum", "average", "median", "min", "max")]
    [1.0, 1.5, 0.5, 0.5, 0.0, 1.0]
    """
    return float(_ONE[how](values))


def check_settings(settings: LoopSettings) -> LoopSettings:
    """Settings with which a loop can work."""
    try:
        BanditOptions(
            settings.gap, settings.margin, settings.reward_range, settings.horizon, settings.exploration,
            settings.default_reward,
        )  # fmt: skip
    except InvalidParameterError as error:
        raise RefusedError(str(error)) from None
    ids = [action.id for action in settings.actions or ()]
    if len(set(ids)) < len(ids):
        raise RefusedError("actions: an id stands there twice; give each action its own")
    return settings
