"""What a store keeps, and the protocol that the two stores, SQLite and PostgreSQL, follow.

    decisions   one row per decision: the request, the packed round (learners/rounds.py), the version of the model
    rewards     one row per reward or activation that came, and what became of it (`Outcome`)
    waiting     the decisions that are not settled yet, and until when rewards are taken
    steps       the log that the model is made of: per loop, numbered from 1 without gaps, in the order of learning
    snapshots   models, of some versions; each equals the steps before it
    loops, keys, audit      streams are loops, their rows decisions: see `streams.py`

The version of a model is the number of its last step. Steps are durable before a decision uses the model they lead to,
so every decision can be computed again from the steps up to its version. All times are whole microseconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

__all__ = ["Batch", "DecisionRow", "LoopRow", "NewDecision", "NewReward", "Outcome", "RewardRow", "Step", "Store",
           "StoreError", "Why"]  # fmt: skip


class StoreError(Exception):
    """Nothing was written: the disk is full, or the database cannot be reached."""


class Outcome(IntEnum):
    """What became of a reward or an activation."""

    NEW = 0  # not looked at yet
    JOINED = 1
    LATE = 2  # the window was over
    DUPLICATE = 3  # the event had been settled, or this reward had come before
    UNKNOWN = 4  # there is no such event, so far


class Why(IntEnum):
    """Why a step was made; the first two are learned, and from SETTINGS on there is no decision."""

    REWARD = 1
    DEFAULT = 2  # no reward came
    INACTIVE = 3  # never activated
    LOGGED = 4  # the loop only logs
    SUPERSEDED = 5  # decided by a model that was replaced
    ROW = 6  # of a stream, learned
    SETTINGS = 10  # data: the settings as JSON; the model goes on
    RESET = 11  # data: the settings; a new model
    MODEL = 12  # data: a model file, uploaded
    IMPORT = 13  # data: decisions of another policy, as JSON lines


class LoopRow(NamedTuple):
    """A loop."""

    id: int
    name: str
    settings: bytes  # JSON
    key: bytes  # 32 bytes, from which draws are derived
    created: int


class NewDecision(NamedTuple):
    """A decision to be written."""

    loop: int
    event_id: str
    time: int
    due: int
    version: int
    arm: int  # that was returned
    mode: str
    active: bool
    body: bytes  # the request as JSON, without its event id
    round: bytes


class DecisionRow(NamedTuple):
    """A decision that was written."""

    seq: int
    loop: int
    event_id: str
    time: int
    due: int
    version: int
    arm: int
    mode: str
    body: bytes
    round: bytes


class NewReward(NamedTuple):
    """A reward to be written; without a value it is an activation."""

    loop: int
    event_id: str
    time: int
    value: float | None
    reward_id: str | None = None


class RewardRow(NamedTuple):
    """A reward that was written, with what is known of its decision."""

    seq: int
    loop: int
    event_id: str
    time: int
    value: float | None
    reward_id: str | None
    decision: int | None  # number of the decision, None if there is none
    due: int
    waits: bool  # whether the decision does
    active: bool


class Step(NamedTuple):
    """One step of a loop's log; `reward` is what was earned, `taught` what the model learned."""

    loop: int
    version: int
    why: int
    decision: int | None
    reward: float | None
    taught: float | None
    time: int
    data: bytes | None = None


class Batch(NamedTuple):
    """What is written together, in one transaction."""

    decisions: list[NewDecision]
    rewards: list[NewReward]


class Store(Protocol):
    """Used by one thread at a time; `begin` to `commit` or `rollback` is a transaction. Failures: `StoreError`."""

    @property
    def shared(self) -> bool:
        """Whether other processes may use it at the same time."""

    def begin(self) -> None:
        """Begin a transaction."""

    def commit(self) -> None:
        """All of it is on the disk when this returns."""

    def rollback(self) -> None:
        """As if nothing had been written since `begin`."""

    def close(self) -> None:
        """Let go of it."""

    def ingest(self, batch: Batch) -> dict[tuple[int, str], DecisionRow]:
        """Write decisions and rewards; returns the decisions of the batch whose event was there before."""

    def decision(self, loop: int, event_id: str) -> DecisionRow | None:
        """One by its event."""

    def decisions_by_seq(self, numbers: Sequence[int]) -> dict[int, DecisionRow]:
        """Those with these numbers."""

    def fresh(self, limit: int, paused: Sequence[int]) -> list[RewardRow]:
        """Rewards not looked at yet, in their order, but for loops that are paused."""

    def renew(self, since: int, limit: int) -> None:
        """Let those of the last unknown rewards be new whose decision has come since, at most a window later."""

    def joined(self, decision: int) -> list[tuple[float | None, str | None]]:
        """Values and ids of the rewards that were joined to a decision, in their order."""

    def overdue(self, now: int, limit: int, paused: Sequence[int]) -> list[tuple[int, int, bool]]:
        """(decision, loop, active) of what waits and whose window is over, by the time of that."""

    def next_due(self) -> int | None:
        """The earliest end of a window."""

    def settle(
        self,
        outcomes: Sequence[tuple[int, int]],
        activated: Sequence[int],
        settled: Sequence[int],
        steps: Sequence[Step],
    ) -> None:
        """Write (reward, outcome), what was activated, what waits no more, and steps."""

    def steps(self, loop: int, after: int, limit: int) -> list[Step]:
        """Steps after a version, in order."""

    def decided(self, loop: int, first: int, last: int) -> Iterator[DecisionRow]:
        """Decisions by models of these versions, in the order of versions."""

    def decisions_after(self, loop: int, seq: int, most: int, limit: int) -> list[DecisionRow]:
        """Decisions with numbers above `seq` and at most `most`, in order."""

    def last_version(self, loop: int) -> int:
        """The number of the last step, 0 if there is none."""

    def snapshot(self, loop: int, most: int | None = None) -> tuple[int, bytes] | None:
        """The last snapshot, of a version of at most that; None if there is none."""

    def add_snapshot(self, loop: int, version: int, time: int, data: bytes) -> None:
        """Keep a snapshot; old ones but for a few go."""

    def first_snapshot(self, loop: int) -> tuple[int, bytes] | None:
        """The oldest snapshot that is kept; None if there is none."""

    def prune(self, loop: int, before: int, limit: int) -> int:
        """Delete steps made before a time that the oldest snapshot has learned, with their events; how many at most.

        The last step stays, and what waits does; rewards without a decision go by their own time.
        """

    def forget(self, loop: int) -> None:
        """Delete its decisions, rewards, steps and snapshots."""

    def loops(self) -> list[LoopRow]:
        """All of them."""

    def add_loop(self, name: str, settings: bytes, key: bytes, time: int) -> LoopRow:
        """A new loop."""

    def remove_loop(self, loop: int) -> None:
        """Delete the loop itself."""

    def set_loop(self, loop: int, settings: bytes) -> None:
        """Change its settings."""

    def counts(self, loop: int) -> dict[str, int]:
        """Decisions, those waiting, and rewards by outcome."""

    def events(self, loop: int, before: int | None, limit: int) -> list[DecisionRow]:
        """The last decisions, newest first."""

    def event_log(self, decision: int, loop: int, event_id: str) -> tuple[list[Any], Step | None]:
        """(time, value, outcome) of its rewards, and the step that settled it."""

    def rewards_of(self, decisions: Iterable[int]) -> dict[int, Step]:
        """The steps that settled these decisions."""

    def keys(self) -> list[tuple[str, bytes, str]]:
        """(name, hash, scopes) of the keys."""

    def add_key(self, name: str, digest: bytes, scopes: str, time: int) -> None:
        """A new key; one of the same name is replaced."""

    def remove_key(self, name: str) -> bool:
        """Whether there was one."""

    def audit(self, time: int, key: str, action: str, loop: str, detail: str) -> None:
        """Note what an administrator did."""

    def audited(self, limit: int) -> list[tuple[int, str, str, str, str]]:
        """The last notes, newest first."""

    def last_time(self) -> int:
        """The largest time in the log."""
