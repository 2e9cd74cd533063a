"""The store in one SQLite file: write-ahead log, every commit on the disk, one process."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from massart.errors import MassartError
from massart.files import OutputLock, check_place
from massart.service.sql import CHUNK, DECISION, SqlStore
from massart.service.store import Batch, DecisionRow, Outcome, StoreError

__all__ = ["SqliteStore"]

SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS loops(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings BLOB NOT NULL, key BLOB NOT NULL,
  created INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS decisions(
  seq INTEGER PRIMARY KEY, loop INTEGER NOT NULL, event_id TEXT NOT NULL, time INTEGER NOT NULL, due INTEGER NOT NULL,
  version INTEGER NOT NULL, arm INTEGER NOT NULL, mode TEXT NOT NULL, body BLOB NOT NULL, round BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS decision_events ON decisions(loop, event_id);
CREATE TABLE IF NOT EXISTS waiting(
  decision INTEGER PRIMARY KEY, loop INTEGER NOT NULL, due INTEGER NOT NULL, active INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS waiting_due ON waiting(due, decision);
CREATE TABLE IF NOT EXISTS rewards(
  seq INTEGER PRIMARY KEY, loop INTEGER NOT NULL, event_id TEXT NOT NULL, time INTEGER NOT NULL, value REAL,
  reward_id TEXT, outcome INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS reward_events ON rewards(loop, event_id);
CREATE INDEX IF NOT EXISTS reward_fresh ON rewards(seq) WHERE outcome = 0;
CREATE INDEX IF NOT EXISTS reward_unknown ON rewards(time) WHERE outcome = 4;
CREATE TABLE IF NOT EXISTS steps(
  loop INTEGER NOT NULL, version INTEGER NOT NULL, why INTEGER NOT NULL, decision INTEGER, reward REAL, taught REAL,
  time INTEGER NOT NULL, data BLOB, PRIMARY KEY(loop, version)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS step_decisions ON steps(decision);
CREATE TABLE IF NOT EXISTS snapshots(
  loop INTEGER NOT NULL, version INTEGER NOT NULL, time INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY(loop, version));
CREATE TABLE IF NOT EXISTS keys(name TEXT PRIMARY KEY, digest BLOB NOT NULL, scopes TEXT NOT NULL, created INTEGER);
CREATE TABLE IF NOT EXISTS audit(
  seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, key TEXT NOT NULL, action TEXT NOT NULL, loop TEXT NOT NULL,
  detail TEXT NOT NULL);
"""


class SqliteStore(SqlStore):
    """One connection; whoever uses it takes turns by the caller's lock.

    One statement writes many rows: between two statements other Python threads may run, and each such change of
    threads costs more than a row.
    """

    shared = False

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        check_place(self.path, "the database", devices=False)
        self._lock = OutputLock(self.path).acquire()
        try:
            self._connection = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, cached_statements=512, timeout=10.0
            )
            self._open()
        except (sqlite3.Error, MassartError) as error:
            self._lock.release()
            if isinstance(error, MassartError):
                raise
            raise MassartError(f"{self.path} cannot be opened as a database of massart ({error})") from None

    def _open(self) -> None:
        run = self._connection.execute
        run("PRAGMA page_size=8192")
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("PRAGMA cache_size=-65536")
        run("PRAGMA wal_autocheckpoint=2000")
        (found,) = run("PRAGMA user_version").fetchone()
        if found not in (0, SCHEMA_VERSION):
            raise MassartError(
                f"{self.path} has the schema {found}, and this version of massart reads {SCHEMA_VERSION}: upgrade it"
            )
        self._connection.executescript(_SCHEMA)
        run(f"PRAGMA user_version={SCHEMA_VERSION}")
        self._next_decision = (run("SELECT max(seq) FROM decisions").fetchone()[0] or 0) + 1
        self._next_reward = (run("SELECT max(seq) FROM rewards").fetchone()[0] or 0) + 1

    def begin(self) -> None:
        self._run("BEGIN IMMEDIATE")
        self._before = self._next_decision, self._next_reward

    def commit(self) -> None:
        try:
            self._run("COMMIT")
        except StoreError:
            self.rollback()
            raise

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
            self._next_decision, self._next_reward = self._before

    def close(self) -> None:
        self._connection.close()
        self._lock.release()

    def _run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise StoreError(str(error)) from None

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(str(error)) from None

    def _write(self, start: str, rows: Sequence[Sequence[Any]], end: str = "") -> Any:
        """Write rows with few statements; returns how many were written."""
        done = 0
        for first in range(0, len(rows), CHUNK):
            part = rows[first : first + CHUNK]
            marks = ",".join(["(" + ",".join("?" * len(part[0])) + ")"] * len(part))
            done += self._run(f"{start} VALUES {marks} {end}", [value for row in part for value in row]).rowcount
        return done

    def ingest(self, batch: Batch) -> dict[tuple[int, str], DecisionRow]:
        known: dict[tuple[int, str], DecisionRow] = {}
        if batch.decisions:
            first = self._next_decision
            rows = [
                (first + place, d.loop, d.event_id, d.time, d.due, d.version, d.arm, d.mode, d.body, d.round)
                for place, d in enumerate(batch.decisions)
            ]
            self._next_decision += len(rows)
            written = self._write(f"INSERT INTO decisions({DECISION})", rows, "ON CONFLICT(loop, event_id) DO NOTHING")
            if written < len(rows):
                there = {row[0] for row in self._rows("SELECT seq FROM decisions WHERE seq >= ?", (first,))}
                for row in rows:
                    if row[0] not in there:
                        found = self.decision(row[1], row[2])
                        assert found is not None  # noqa: S101  it is why the row was not written
                        known[row[1], row[2]] = found
            else:
                there = set(range(first, first + len(rows)))
            waiting = [
                (row[0], d.loop, d.due, d.active)
                for row, d in zip(rows, batch.decisions, strict=True)
                if row[0] in there
            ]
            self._write("INSERT INTO waiting", waiting)
        if batch.rewards:
            first = self._next_reward
            self._next_reward += len(batch.rewards)
            self._write("INSERT INTO rewards", [(first + i, *row, Outcome.NEW) for i, row in enumerate(batch.rewards)])
        return known
