"""What both stores share: the statements that mean the same in SQLite and PostgreSQL, with ? for values.

A subclass opens the database, runs statements (`_run`) and writes batches (`ingest`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Final

from massart.service.store import DecisionRow, LoopRow, Outcome, RewardRow, Step

__all__ = ["CHUNK", "DECISION", "SqlStore"]

DECISION: Final = "seq, loop, event_id, time, due, version, arm, mode, body, round"
CHUNK: Final = 500  # rows of one statement
_SNAPSHOTS: Final = 4  # kept per loop
_NONE: Final = -1  # the number of no loop
_LAST: Final = 1 << 62


class SqlStore:
    """Statements for `Store`."""

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        raise NotImplementedError

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        raise NotImplementedError

    def _write(self, start: str, rows: Sequence[Sequence[Any]], end: str = "") -> Any:
        raise NotImplementedError

    def decision(self, loop: int, event_id: str) -> DecisionRow | None:
        found = self._rows(f"SELECT {DECISION} FROM decisions WHERE loop=? AND event_id=?", (loop, event_id))
        return DecisionRow(*found[0]) if found else None

    def decisions_by_seq(self, numbers: Sequence[int]) -> dict[int, DecisionRow]:
        found: dict[int, DecisionRow] = {}
        for first in range(0, len(numbers), CHUNK):
            part = numbers[first : first + CHUNK]
            marks = ",".join("?" * len(part))
            rows = self._rows(f"SELECT {DECISION} FROM decisions WHERE seq IN ({marks})", part)
            found.update((row[0], row) for row in map(DecisionRow._make, rows))
        return found

    def fresh(self, limit: int, paused: Sequence[int]) -> list[RewardRow]:
        out = (_NONE, *paused)
        marks = ",".join("?" * len(out))
        rows = self._rows(
            "SELECT r.seq, r.loop, r.event_id, r.time, r.value, r.reward_id, d.seq, d.due, w.decision, w.active "
            "FROM rewards r LEFT JOIN decisions d ON d.loop = r.loop AND d.event_id = r.event_id "
            f"LEFT JOIN waiting w ON w.decision = d.seq WHERE r.outcome = 0 AND r.loop NOT IN ({marks}) "
            "ORDER BY r.seq LIMIT ?",
            (*out, limit),
        )
        return [RewardRow._make((*row[:7], row[7] or 0, row[8] is not None, bool(row[9]))) for row in rows]

    def renew(self, since: int, limit: int) -> None:
        found = self._rows(
            "SELECT r.seq FROM (SELECT seq, loop, event_id, time FROM rewards "
            "WHERE outcome = 4 AND time >= ? ORDER BY time DESC LIMIT ?) r "
            "JOIN decisions d ON d.loop = r.loop AND d.event_id = r.event_id "
            "WHERE r.time <= d.due AND r.time >= d.time - (d.due - d.time)",
            (since, limit),
        )
        self._in("UPDATE rewards SET outcome=? WHERE seq", [row[0] for row in found], int(Outcome.NEW))

    def joined(self, decision: int) -> list[tuple[float | None, str | None]]:
        return self._rows(
            "SELECT r.value, r.reward_id FROM decisions d "
            "JOIN rewards r ON r.loop = d.loop AND r.event_id = d.event_id "
            "WHERE d.seq = ? AND r.outcome = 1 AND r.value IS NOT NULL ORDER BY r.seq",
            (decision,),
        )

    def overdue(self, now: int, limit: int, paused: Sequence[int]) -> list[tuple[int, int, bool]]:
        out = (_NONE, *paused)
        marks = ",".join("?" * len(out))
        rows = self._rows(
            f"SELECT decision, loop, active FROM waiting WHERE due <= ? AND loop NOT IN ({marks}) "
            "ORDER BY due, decision LIMIT ?",
            (now, *out, limit),
        )
        return [(row[0], row[1], bool(row[2])) for row in rows]

    def next_due(self) -> int | None:
        return self._rows("SELECT min(due) FROM waiting")[0][0]  # type: ignore[no-any-return]

    def settle(
        self,
        outcomes: Sequence[tuple[int, int]],
        activated: Sequence[int],
        settled: Sequence[int],
        steps: Sequence[Step],
    ) -> None:
        for outcome in sorted({one for _, one in outcomes}):
            self._in("UPDATE rewards SET outcome=? WHERE seq", [n for n, one in outcomes if one == outcome], outcome)
        self._in("UPDATE waiting SET active=? WHERE decision", activated, 1)
        self._in("DELETE FROM waiting WHERE decision", settled)
        self._write("INSERT INTO steps", steps)

    def _in(self, statement: str, numbers: Sequence[int], *values: Any) -> None:
        for first in range(0, len(numbers), CHUNK):
            part = numbers[first : first + CHUNK]
            self._run(f"{statement} IN ({','.join('?' * len(part))})", (*values, *part))

    def steps(self, loop: int, after: int, limit: int) -> list[Step]:
        rows = self._rows(
            "SELECT * FROM steps WHERE loop=? AND version>? ORDER BY version LIMIT ?", (loop, after, limit)
        )
        return list(map(Step._make, rows))

    def decided(self, loop: int, first: int, last: int) -> Iterator[DecisionRow]:
        numbers = [row[0] for row in self._rows(
            "SELECT seq FROM decisions WHERE loop=? AND version BETWEEN ? AND ? ORDER BY version, seq",
            (loop, first, last),
        )]  # fmt: skip
        for start in range(0, len(numbers), CHUNK):
            part = numbers[start : start + CHUNK]
            rows = self.decisions_by_seq(part)
            yield from (rows[number] for number in part)

    def decisions_after(self, loop: int, seq: int, most: int, limit: int) -> list[DecisionRow]:
        rows = self._rows(
            f"SELECT {DECISION} FROM decisions WHERE loop=? AND seq>? AND seq<=? ORDER BY seq LIMIT ?",
            (loop, seq, most, limit),
        )
        return [DecisionRow(*row) for row in rows]

    def last_version(self, loop: int) -> int:
        return self._rows("SELECT max(version) FROM steps WHERE loop=?", (loop,))[0][0] or 0

    def snapshot(self, loop: int, most: int | None = None) -> tuple[int, bytes] | None:
        rows = self._rows(
            "SELECT version, data FROM snapshots WHERE loop=? AND version<=? ORDER BY version DESC LIMIT 1",
            (loop, _LAST if most is None else most),
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def add_snapshot(self, loop: int, version: int, time: int, data: bytes) -> None:
        self._run("DELETE FROM snapshots WHERE loop=? AND version=?", (loop, version))
        self._run("INSERT INTO snapshots VALUES(?,?,?,?)", (loop, version, time, data))
        self._run(
            "DELETE FROM snapshots WHERE loop=? AND version NOT IN "
            "(SELECT version FROM snapshots WHERE loop=? ORDER BY version DESC LIMIT ?)",
            (loop, loop, _SNAPSHOTS),
        )

    def first_snapshot(self, loop: int) -> tuple[int, bytes] | None:
        rows = self._rows("SELECT version, data FROM snapshots WHERE loop=? ORDER BY version LIMIT 1", (loop,))
        return (rows[0][0], rows[0][1]) if rows else None

    def prune(self, loop: int, before: int, limit: int) -> int:
        ((base,),) = self._rows("SELECT min(version) FROM snapshots WHERE loop=?", (loop,))
        most = min(base or 0, self.last_version(loop) - 1)
        steps = self._rows(
            "SELECT version, decision, time FROM steps WHERE loop=? AND version<=? ORDER BY version LIMIT ?",
            (loop, most, limit),
        )
        old = list(takewhile(lambda step: step[2] < before, steps))
        if old:
            decisions = [row[1] for row in old if row[1] is not None]
            for first in range(0, len(decisions), CHUNK):
                part = decisions[first : first + CHUNK]
                marks = ",".join("?" * len(part))
                self._run(
                    "DELETE FROM rewards WHERE loop=? AND event_id IN "
                    f"(SELECT event_id FROM decisions WHERE seq IN ({marks}))",
                    (loop, *part),
                )
            self._in("DELETE FROM decisions WHERE seq", decisions)
            self._run("DELETE FROM steps WHERE loop=? AND version<=?", (loop, old[-1][0]))
        self._run("DELETE FROM rewards WHERE loop=? AND outcome=4 AND time<?", (loop, before))
        return len(old)

    def forget(self, loop: int) -> None:
        for table in ("waiting", "rewards", "decisions", "steps", "snapshots"):
            self._run(f"DELETE FROM {table} WHERE loop=?", (loop,))

    def loops(self) -> list[LoopRow]:
        return [LoopRow(*row) for row in self._rows("SELECT id, name, settings, key, created FROM loops ORDER BY name")]

    def add_loop(self, name: str, settings: bytes, key: bytes, time: int) -> LoopRow:
        ((number,),) = self._rows(
            "INSERT INTO loops(name, settings, key, created) VALUES(?,?,?,?) RETURNING id", (name, settings, key, time)
        )
        return LoopRow(number, name, settings, key, time)

    def remove_loop(self, loop: int) -> None:
        self._run("DELETE FROM loops WHERE id=?", (loop,))

    def set_loop(self, loop: int, settings: bytes) -> None:
        self._run("UPDATE loops SET settings=? WHERE id=?", (settings, loop))

    def counts(self, loop: int) -> dict[str, int]:
        found = {"decisions": self._rows("SELECT count(*) FROM decisions WHERE loop=?", (loop,))[0][0]}
        found["waiting"] = self._rows("SELECT count(*) FROM waiting WHERE loop=?", (loop,))[0][0]
        statement = "SELECT outcome, count(*) FROM rewards WHERE loop=? AND value IS NOT NULL GROUP BY outcome"
        return found | {Outcome(one).name.lower(): count for one, count in self._rows(statement, (loop,))}

    def events(self, loop: int, before: int | None, limit: int) -> list[DecisionRow]:
        rows = self._rows(
            f"SELECT {DECISION} FROM decisions WHERE loop=? AND seq<? ORDER BY seq DESC LIMIT ?",
            (loop, _LAST if before is None else before, limit),
        )
        return [DecisionRow(*row) for row in rows]

    def event_log(self, decision: int, loop: int, event_id: str) -> tuple[list[Any], Step | None]:
        rewards = self._rows(
            "SELECT time, value, outcome FROM rewards WHERE loop=? AND event_id=? ORDER BY seq", (loop, event_id)
        )
        return rewards, self.rewards_of([decision]).get(decision)

    def rewards_of(self, decisions: Iterable[int]) -> dict[int, Step]:
        numbers, found = list(decisions), dict[int, Step]()
        for first in range(0, len(numbers), CHUNK):
            part = numbers[first : first + CHUNK]
            for row in self._rows(f"SELECT * FROM steps WHERE decision IN ({','.join('?' * len(part))})", part):
                found[row[3]] = Step(*row)
        return found

    def keys(self) -> list[tuple[str, bytes, str]]:
        return self._rows("SELECT name, digest, scopes FROM keys ORDER BY name")

    def add_key(self, name: str, digest: bytes, scopes: str, time: int) -> None:
        self.remove_key(name)
        self._run("INSERT INTO keys VALUES(?,?,?,?)", (name, digest, scopes, time))

    def remove_key(self, name: str) -> bool:
        return bool(self._run("DELETE FROM keys WHERE name=?", (name,)).rowcount)

    def audit(self, time: int, key: str, action: str, loop: str, detail: str) -> None:
        self._run(
            "INSERT INTO audit(time, key, action, loop, detail) VALUES(?,?,?,?,?)", (time, key, action, loop, detail)
        )

    def audited(self, limit: int) -> list[tuple[int, str, str, str, str]]:
        return self._rows("SELECT time, key, action, loop, detail FROM audit ORDER BY seq DESC LIMIT ?", (limit,))

    def last_time(self) -> int:
        found = [
            self._rows(f"SELECT time FROM {table} ORDER BY seq DESC LIMIT 1") for table in ("decisions", "rewards")
        ]
        return max((rows[0][0] for rows in found if rows), default=0)
