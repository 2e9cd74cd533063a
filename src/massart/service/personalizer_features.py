"""Requests to rank, in Personalizer's form, as decisions: checked, with features by name.

Personalizer's features are lists of objects. Here they become one object: what two of them call by the same name is
added up if it is numbers, and stands side by side if it is texts. Names that begin with `_` are ignored, and null is
nothing. The context is crossed with the features of the actions; ids are not features.
"""

from typing import Any, Final

from massart.service.errors import RefusedError
from massart.service.personalizer_types import MultiSlotRankRequest, RankableAction, RankRequest, Slot
from massart.service.types import Action, DecideRequest

__all__ = ["MOST_ACTIONS", "SLOT", "checked_event_id", "rank_of", "slots_of"]

MOST_ACTIONS: Final = 50
SLOT: Final = "slot_of_event"  # the feature of the context that says which slot is filled
_MOST_CHARACTERS: Final = 256  # of ids


def rank_of(request: RankRequest) -> DecideRequest:
    """The decision that a request to rank asks for.

    >>> rank_of(RankRequest(
    ...     actions=[RankableAction("A", [{"kind": "news"}, {"_day": 3, "length": 2.5}])],
    ...     context_features=[{"user": {"plan": "pro"}}, {"user": {"visits": 3}}],
    ... ))
    DecideRequest(actions=[Action(id='A', features={'kind': 'news', 'length': 2.5})],
    context={'user': {'plan': 'pro', 'visits': 3}}, excluded=[], event_id=None, deferred=False)
    """
    actions = _actions(request.actions)
    known = {action.id for action in actions}
    # an id that is not among the actions excludes nothing
    excluded = [one for one in dict.fromkeys(request.excluded_actions or ()) if one in known]
    if len(excluded) == len(actions):
        raise RefusedError("excludedActions: all actions are excluded; leave one to choose")
    return DecideRequest(
        actions=list(actions),
        context=_context(request.context_features),
        excluded=excluded,
        event_id=checked_event_id(request.event_id),
        deferred=bool(request.defer_activation),
    )


def slots_of(request: MultiSlotRankRequest) -> list[tuple[str, DecideRequest]]:
    """One decision for each slot, in order, without event ids; the first action of each is the slot's baseline.

    What earlier slots take is for the caller to exclude, see `personalizer_slots.Filling`.
    """
    actions = _actions(request.actions)
    by_id = {action.id: action for action in actions}
    slots = request.slots or []
    if not 1 <= len(slots) <= len(actions):
        raise RefusedError(f"slots: there are {len(slots)}, give 1 to {len(actions)}, the number of actions")
    shared = _context(request.context_features) or {}
    if SLOT in shared:
        raise RefusedError(f"contextFeatures: the name {SLOT} is that of the slot's own features; give another one")
    found: dict[str, DecideRequest] = {}
    baselines: set[str] = set()
    for place, slot in enumerate(slots):
        where = f"slots[{place}]"
        if slot is None:
            raise RefusedError(f"{where} is null: give an object")
        name, first, excluded = _checked_slot(slot, where, by_id)
        if name in found or first in baselines:
            raise RefusedError(f"{where}: another slot has the same id or the same baselineAction; give each its own")
        baselines.add(first)
        own = slot.features if slot.features is not None else slot.position_features
        features = {} if own is None else _features(own, f"{where}.features")
        found[name] = DecideRequest(
            actions=[by_id[first], *(action for action in actions if action.id != first)],
            context=shared | {SLOT: {"id": name, "features": features}},
            excluded=excluded,
            deferred=bool(request.defer_activation),
        )
    return list(found.items())


def checked_event_id(event_id: str | None) -> str | None:
    """An event id, None if the service is to make one."""
    return None if event_id is None else _checked_id(event_id, "eventId")


def _checked_slot(slot: Slot, where: str, by_id: dict[str, Action]) -> tuple[str, str, list[str]]:
    """Its id, its baseline action and the actions that it excludes."""
    name = _checked_id(slot.id, f"{where}.id")
    baseline = slot.baseline_action
    if baseline is None or baseline not in by_id:
        raise RefusedError(f"{where}.baselineAction is not the id of one of the actions: give one")
    excluded = [one for one in dict.fromkeys(slot.excluded_actions or ()) if one in by_id]
    if baseline in excluded:
        raise RefusedError(f"{where}.baselineAction is among its excludedActions: give one that is not")
    return name, baseline, excluded


def _checked_id(given: str | None, where: str) -> str:
    if given is None or not given.strip():
        raise RefusedError(f"{where} is empty: give a text of at most {_MOST_CHARACTERS} characters")
    if "\0" in given:  # PostgreSQL has no text with it
        raise RefusedError(f"{where} has the character NUL: leave it out")
    if len(given) > _MOST_CHARACTERS:
        raise RefusedError(f"{where} has {len(given):,} characters: give at most {_MOST_CHARACTERS}")
    return given


def _actions(given: list[RankableAction | None] | None) -> list[Action]:
    if given is None or not 1 <= len(given) <= MOST_ACTIONS:
        raise RefusedError(f"actions: there are {len(given or ())}, give 1 to {MOST_ACTIONS}")
    found: dict[str, Action] = {}
    for place, action in enumerate(given):
        where = f"actions[{place}]"
        if action is None:
            raise RefusedError(f"{where} is null: give an object with id and features")
        name = _checked_id(action.id, f"{where}.id")
        if name in found:
            raise RefusedError(f"{where}.id: another action has the id {name[:40]!r}; give each its own")
        features = _features(action.features, f"{where}.features")
        if not features:
            raise RefusedError(f"{where}.features: there is none that is not null; give at least one")
        found[name] = Action(name, features)
    return list(found.values())


def _context(given: Any) -> dict[str, Any] | None:
    return None if given is None else _features(given, "contextFeatures") or None


def _features(given: Any, where: str) -> dict[str, Any]:
    """One object of a list of objects."""
    if not isinstance(given, list):
        raise RefusedError(f"{where} is not a list: give a list of objects with features by name")
    whole: dict[str, Any] = {}
    for place, one in enumerate(given):
        if not isinstance(one, dict):
            raise RefusedError(f"{where}[{place}] is not an object: give features by name")
        _add(whole, _cleaned(one, f"{where}[{place}]", 1))
    return whole


def _cleaned(given: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
    """Without what is ignored; an error says what is no feature."""
    if depth > 50:
        raise RefusedError(f"{where}: objects are nested more than 50 deep; flatten the features")
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not name:
            raise RefusedError(f"{where}: the name of a feature is an empty text; give it a name")
        if name.startswith("_") or value is None:
            continue
        if isinstance(value, dict):
            inner = _cleaned(value, f"{where}.{name[:40]}", depth + 1)
            if inner:
                found[name] = inner
            continue
        if isinstance(value, list) and not all(type(one) in (int, float) for one in value):
            raise RefusedError(f"{where}.{name[:40]}: a list may hold numbers only")
        found[name] = value
    return found


def _add(whole: dict[str, Any], more: dict[str, Any]) -> None:
    """Put features to others."""
    for name, value in more.items():
        there = whole.get(name)
        if there is None:
            whole[name] = value
        elif isinstance(there, dict) and isinstance(value, dict):
            _add(there, value)
        elif isinstance(there, (int, float)) and isinstance(value, (int, float)):
            whole[name] = there + value
        else:
            whole[name] = [*_listed(there), *_listed(value)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
