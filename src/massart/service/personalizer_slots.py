"""Several slots filled from one list of actions: one decision for each, in order, all of them in one transaction.

The decision of slot i of the event E is the event `E/slot/i` of the loop. Each is chosen from the actions that no
earlier slot took, by the model as it was when the request came. An action that a later slot could not do without is
excluded, too: every slot has a baseline action of its own, so all can be filled.
"""

from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from massart.service.engine import Engine
from massart.service.errors import ConflictError
from massart.service.loop import Loop, answer_again
from massart.service.model import request_of
from massart.service.personalizer_features import SLOT
from massart.service.personalizer_types import MultiSlotRankResponse, SlotAnswer, SlotReward
from massart.service.store import Batch, DecisionRow, NewDecision, Store
from massart.service.types import DecideRequest, RewardRequest

__all__ = ["Filling", "activate_slots", "decide_slots", "reward_slots", "slot_event"]

Slots = list[tuple[str, DecideRequest]]  # names, and what is to be decided: the first action is the slot's baseline


class _FasterError(ConflictError):
    """Another process wrote the same event in the meantime."""


def slot_event(event_id: str, place: int) -> str:
    """The event of one slot.

    >>> slot_event("ord-7731", 0)
    'ord-7731/slot/0'
    """
    return f"{event_id}/slot/{place}"


class Filling:
    """Which actions are left for each slot, such that none of the later ones is left without.

    >>> from massart.service.types import Action
    >>> a, b, c = Action("A"), Action("B"), Action("C")
    >>> filling = Filling([
    ...     ("first", DecideRequest([a, b, c])), ("second", DecideRequest([b, a, c], excluded=["A", "C"]))
    ... ])
    >>> filling.excluded(0)             # B is all that the second slot may have
    ['B']
    >>> filling.take("C")
    >>> filling.excluded(1)
    ['A', 'C']
    """

    def __init__(self, slots: Slots) -> None:
        self._own = [list(request.excluded) for _, request in slots]
        self._free = [
            [one for one in (str(getattr(action, "id", action)) for action in request.actions or ()) if one not in own]
            for (_, request), own in zip(slots, self._own, strict=True)
        ]
        self._taken: list[str] = []
        self._reserved = {free[0]: place for place, free in enumerate(self._free)}  # action -> slot that could have it

    def excluded(self, place: int) -> list[str]:
        """The actions that this slot, the next one, must not have."""
        out = set(self._own[place]) | set(self._taken)
        blocked = [one for one in self._free[place] if one not in out and self._without(one, place) is None]
        return list(dict.fromkeys([*self._own[place], *self._taken, *blocked]))

    def take(self, action: str) -> None:
        """The next slot has this action."""
        found = self._without(action, len(self._taken))
        if found is not None:
            self._reserved = found
        self._taken.append(action)

    def _without(self, action: str, place: int) -> dict[str, int] | None:
        """What may be reserved for the slots after this one if it has the action; None if one would have nothing."""
        reserved = {one: slot for one, slot in self._reserved.items() if slot > place}
        waits = reserved.pop(action, None)
        seen = {*self._taken, action}
        return reserved if waits is None or self._found(waits, reserved, seen) else None

    def _found(self, place: int, reserved: dict[str, int], seen: set[str]) -> bool:
        """Reserve another action for a slot, if need be by moving others: an augmenting path."""
        for one in self._free[place]:
            if one not in seen:
                seen.add(one)
                holder = reserved.get(one)
                if holder is None or self._found(holder, reserved, seen):
                    reserved[one] = place
                    return True
        return False


async def decide_slots(engine: Engine, name: str, slots: Slots, event_id: str | None) -> MultiSlotRankResponse:
    """Fill the slots; all decisions are durable when this returns. The same event with the same request: the same."""
    loop, event = engine.loop(name), event_id or uuid4().hex

    def fill(store: Store) -> list[str]:
        there = _rows(store, loop, event)
        if there and len(there) != len(slots):
            raise _conflict(event)
        filling, new, found = Filling(slots), list[NewDecision](), list[str]()
        for place, (_, given) in enumerate(slots):
            request = replace(given, excluded=filling.excluded(place), event_id=slot_event(event, place))
            if there:
                if request_of(there[place]) != replace(request, event_id=None):
                    raise _conflict(event)
                found.append(answer_again(there[place]).action)
            else:
                prepared = loop.prepare(request, engine.clock.now())
                new.append(prepared.row)
                found.append(prepared.answer.action)
            filling.take(found[-1])
        if new and store.ingest(Batch(new, [])):
            raise _FasterError(f"eventId: {event[:80]!r} is being ranked by another process: send it again")
        return found

    try:
        actions: list[str] = await engine.read(fill)
    except _FasterError:
        actions = await engine.read(fill)
    engine.counts["decisions", name, loop.settings.mode] += len(slots)
    answers = [SlotAnswer(slot, action) for (slot, _), action in zip(slots, actions, strict=True)]
    return MultiSlotRankResponse(answers, event)


async def reward_slots(
    engine: Engine, name: str, event_id: str, rewards: list[SlotReward], reward_id: str | None
) -> None:
    """Record rewards of some slots; of one that is not known, as a reward of an event that is not."""
    loop = engine.loop(name)
    rows: list[DecisionRow] = await engine.read(lambda store: _rows(store, loop, event_id))
    events = {_slot_name(row): row.event_id for row in rows}
    given = [(events.get(one.slot_id, f"{event_id}/slot/?"), one.value) for one in rewards]
    await engine.reward(name, [RewardRequest(event, value, reward_id) for event, value in given])


async def activate_slots(engine: Engine, name: str, event_id: str) -> None:
    """Record that all slots of an event were shown."""
    loop = engine.loop(name)
    rows: list[DecisionRow] = await engine.read(lambda store: _rows(store, loop, event_id))
    await engine.activate(name, [row.event_id for row in rows] or [slot_event(event_id, 0)])


def _rows(store: Store, loop: Loop, event_id: str) -> list[DecisionRow]:
    """The decisions of an event's slots, in order."""
    found: list[DecisionRow] = []
    while (row := store.decision(loop.id, slot_event(event_id, len(found)))) is not None:
        found.append(row)
    return found


def _slot_name(row: DecisionRow) -> str:
    context: Any = request_of(row).context
    slot = context.get(SLOT) if isinstance(context, dict) else None
    return str(slot.get("id", "")) if isinstance(slot, dict) else ""


def _conflict(event_id: str) -> ConflictError:
    return ConflictError(f"eventId: {event_id[:80]!r} was ranked with another request: give this one another eventId")
