"""The learner: joins rewards to decisions, settles what is due, and writes the steps that models are made of.

`settle` is called inside of a transaction and only writes. When that is durable, `apply` lets the models learn it. So
no decision ever comes from a step that could be lost, and the order of steps is the order of learning.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from massart.service.clock import SECOND
from massart.service.loop import Loop, aggregated
from massart.service.store import DecisionRow, Outcome, RewardRow, Step, Store, Why
from massart.service.streams import Stream

__all__ = ["Learner", "Settled"]

_EARLY, _SINCE = 1000, 3600 * SECOND  # rewards without a decision that are looked at again: how many, how old
_MOST = 2000  # rewards, and windows that are over, of one transaction


class Settled(NamedTuple):
    """What one transaction wrote: steps with their decisions; whether there may be more to do."""

    steps: list[tuple[Step, DecisionRow | None]]
    more: bool
    outcomes: list[tuple[int, Outcome, RewardRow]]


class Learner:
    """Used by one thread at a time, that which writes."""

    def __init__(self, store: Store, loop_of: Callable[[int], Any], paused: Callable[[], list[int]]) -> None:
        self._store, self._loop_of, self._paused = store, loop_of, paused
        self._versions: dict[int, int] = {}

    def forget(self) -> None:
        """After a rollback: versions are asked for again."""
        self._versions.clear()

    def settle(self, now: int) -> Settled:
        """Join rewards that are new, or whose decision came after them, then settle decisions whose window is over."""
        store, paused = self._store, self._paused()
        store.renew(now - _SINCE, _EARLY)
        fresh = store.fresh(_MOST, paused)
        outcomes: list[tuple[int, Outcome, RewardRow]] = []
        activated: list[int] = []
        done: dict[int, tuple[Why, float | None]] = {}  # decision -> why it is settled, with which reward
        seen: dict[int, list[tuple[float, str | None]]] = {}  # rewards joined in this transaction
        outcomes += [(row.seq, self._joined(row, done, activated, seen), row) for row in fresh]
        overdue: list[tuple[int, int, bool]] = []
        if len(fresh) < _MOST:
            overdue = [one for one in store.overdue(now, _MOST, paused) if one[0] not in done]
            for decision, loop, active in overdue:
                done[decision] = self._at_the_end(decision, loop, active or decision in activated, seen)
        steps = self._steps(done, now)
        if outcomes or done:
            store.settle(
                [(seq, int(outcome)) for seq, outcome, _ in outcomes], activated, list(done), [s for s, _ in steps]
            )
        return Settled(steps, len(fresh) == _MOST or len(overdue) == _MOST, outcomes)

    def _joined(  # noqa: PLR0911  each outcome has its reason
        self, row: RewardRow, done: dict[int, tuple[Why, float | None]], activated: list[int],
        seen: dict[int, list[tuple[float, str | None]]],
    ) -> Outcome:  # fmt: skip
        loop: Loop | None = self._loop_of(row.loop)
        if row.decision is None or loop is None:
            return Outcome.UNKNOWN
        if row.time > row.due:
            return Outcome.LATE
        if not row.waits or row.decision in done:
            return Outcome.DUPLICATE
        earlier = self._earlier(row.decision, seen)
        if row.value is None:
            if row.active or row.decision in activated:
                return Outcome.DUPLICATE
            activated.append(row.decision)
            if earlier and loop.settles(row._replace(active=True)):
                done[row.decision] = Why.REWARD, earlier[0][0]
            return Outcome.JOINED
        if row.reward_id is not None and row.reward_id in {name for _, name in earlier}:
            return Outcome.DUPLICATE
        if earlier and loop.settings.aggregation == "earliest":
            return Outcome.DUPLICATE
        seen.setdefault(row.decision, []).append((row.value, row.reward_id))
        if loop.settles(row._replace(active=row.active or row.decision in activated)):
            done[row.decision] = Why.REWARD, row.value
        return Outcome.JOINED

    def _earlier(
        self, decision: int, seen: dict[int, list[tuple[float, str | None]]]
    ) -> list[tuple[float, str | None]]:
        """Rewards that were joined before."""
        return [(value, name) for value, name in self._store.joined(decision) if value is not None] + seen.get(
            decision, []
        )

    def _at_the_end(
        self, decision: int, number: int, active: bool, seen: dict[int, list[tuple[float, str | None]]]
    ) -> tuple[Why, float | None]:
        loop = self._loop_of(number)
        if isinstance(loop, Stream):
            return Why.ROW, None
        if not active or loop is None:
            return Why.INACTIVE, None
        values = [value for value, _ in self._earlier(decision, seen)]
        if values:
            return Why.REWARD, aggregated(values, loop.settings.aggregation)
        return Why.DEFAULT, loop.settings.default

    def _steps(self, done: dict[int, tuple[Why, float | None]], now: int) -> list[tuple[Step, DecisionRow | None]]:
        steps: list[tuple[Step, DecisionRow | None]] = []
        rows = self._store.decisions_by_seq(list(done))
        for number, (given, reward) in done.items():
            why, row = given, rows[number]
            loop = self._loop_of(row.loop)
            taught = None
            if loop is None or row.version < loop.model.began:
                why = Why.SUPERSEDED
            elif row.mode == "logging" and why in (Why.REWARD, Why.DEFAULT):
                why = Why.LOGGED
            elif reward is not None:
                taught = loop.taught(row, reward)
            steps.append((Step(row.loop, self.next_version(row.loop), why, number, reward, taught, now), row))
        return steps

    def next_version(self, loop: int) -> int:
        """The number of the next step of a loop."""
        if loop not in self._versions:
            self._versions[loop] = self._store.last_version(loop)
        self._versions[loop] += 1
        return self._versions[loop]

    def apply(self, steps: list[tuple[Step, DecisionRow | None]]) -> None:
        """Let models learn steps that are durable."""
        rows: dict[int, list[tuple[Step, DecisionRow | None]]] = {}  # of streams
        for step, decision in steps:
            loop = self._loop_of(step.loop)
            if isinstance(loop, Stream):
                rows.setdefault(step.loop, []).append((step, decision))
            elif loop is not None:
                loop.model.apply(step, decision)
        for number, own in rows.items():
            self._loop_of(number).model.apply_all(own)
