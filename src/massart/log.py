"""Choices and their rewards, written to a file as they come: what `massart evaluate` and `massart bandit` read."""

import contextlib
import json
import logging
import os
import re
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from massart.errors import InvalidDataError, InvalidParameterError, MassartError
from massart.files import OutputLock, advice, check_place, file_path

if TYPE_CHECKING:
    from massart.learners.choice import Choice

__all__ = ["JsonlLog"]

_TAIL: Final = 1 << 26  # bytes of a line, at most: what is looked at for the end of the last one
_OPENED: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_log = logging.getLogger("massart.log")


class JsonlLog:
    """A log of decisions in JSON lines: one for each choice, and one for each reward that comes later.

    A line is written by one call, whole or not at all, as far as the disk allows. If a crash left half a line at the
    end, the next `JsonlLog` cuts it off, says so by the logger "massart.log", and keeps it in `torn`. One process at a
    time can write a log; several threads may.

    Parameters
    ----------
    path : path
        A file, which is made if it is not there, and appended to if it is.
    sync : bool, default=False
        Whether every line is on the disk before `write` returns (fsync), so that not even a power failure loses it.
        Otherwise lines are with the operating system, and outlive this process.
    max_bytes : int, default=None
        A file that a line would make longer is renamed first: log.jsonl becomes log.000001.jsonl, then log.000002.jsonl
        and so on. In the order of their names the files are in the order of time, log.jsonl last.
    times : bool, default=True
        Whether lines say when they were written.

    Examples
    --------
    >>> import tempfile
    >>> from massart import MonotoneBandit
    >>> from massart.data import DecisionLog
    >>> bandit, folder = MonotoneBandit(random_state=0), tempfile.TemporaryDirectory()
    >>> with JsonlLog(f"{folder.name}/log.jsonl") as log:
    ...     first = bandit.choose(["news", "sport"], {"age": 31})
    ...     log.write(first)                        # the reward comes later
    ...     second = bandit.choose(["news", "sport"], {"age": 55})
    ...     log.write(second, 1.0)
    ...     log.reward(first, 0.0)
    >>> [decision.reward for decision in DecisionLog(f"{folder.name}/log.jsonl").decisions()]
    [1.0, 0.0]
    >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], *, sync: bool = False, max_bytes: int | None = None, times: bool = True
    ) -> None:
        if max_bytes is not None and (type(max_bytes) is not int or max_bytes < 1):
            raise InvalidParameterError(f"max_bytes={max_bytes!r}: give a number of bytes of at least 1, or None")
        self.path = file_path(path)
        check_place(self.path, "the log", devices=False)
        self.torn = b""  # the half line that a crash had left
        self._sync, self._max_bytes, self._times = bool(sync), max_bytes, bool(times)
        self._lock, self._process = threading.Lock(), os.getpid()
        self._writer = OutputLock(self.path).acquire()
        try:
            self._handle: int | None = os.open(self.path, _OPENED, 0o666)
            self._size = self._repaired(self._handle)
        except OSError as error:
            self._writer.release()
            raise self._failed(error) from None

    def write(self, choice: "Choice", reward: float | None = None) -> None:
        """Write a choice, with its reward if that is known already."""
        fields: dict[str, Any] = {"event_id": choice.identity, "arm": choice.arm}
        fields |= {"probability": choice.probability, "probabilities": choice.probabilities.tolist()}
        offer = choice.offer
        record = {} if offer is None else offer.record()
        if record:
            fields |= record
        else:
            fields["contexts"] = _rows(choice.contexts)
            fields |= {} if choice.ids is None else {"ids": list(choice.ids)}
        self._append(fields if reward is None else fields | {"reward": _number(reward)})

    def reward(self, choice: "Choice | str", reward: float) -> None:
        """Write the reward of a choice that was written before; `choice` may be its `identity`."""
        name = choice if isinstance(choice, str) else choice.identity
        self._append({"event_id": name, "reward": _number(reward)})

    def flush(self) -> None:
        """See that everything written so far is on the disk."""
        with self._lock:
            if self._handle is not None:
                os.fsync(self._handle)

    def close(self) -> None:
        """Write no more; the file is on the disk then, and another process may write it."""
        with self._lock:
            if self._handle is not None:
                with contextlib.suppress(OSError):
                    os.fsync(self._handle)
                os.close(self._handle)
                self._handle = None
                self._writer.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, fields: dict[str, Any]) -> None:
        if self._times:
            fields["time"] = datetime.now(UTC).isoformat()
        line = json.dumps(fields, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            if self._handle is None:
                raise MassartError(f"{self.path}: the log is closed; open it again to write more")
            if os.getpid() != self._process:
                raise MassartError(f"{self.path}: a forked process cannot write the log of its parent; open its own")
            if self._max_bytes is not None and self._size and self._size + len(line) > self._max_bytes:
                self._rotate()
            self._write(self._handle, line)

    def _write(self, handle: int, line: bytes) -> None:
        done = 0
        try:
            while done < len(line):
                done += os.write(handle, line[done:])
            if self._sync:
                os.fsync(handle)
        except OSError as error:
            with contextlib.suppress(OSError):  # a full disk: the lines before stay whole
                os.ftruncate(handle, self._size)
            raise self._failed(error) from None
        self._size += len(line)

    def _rotate(self) -> None:
        """Give the file its number, and begin a new one."""
        stem, suffix = self.path.stem, self.path.suffix
        pattern = re.compile(re.escape(stem) + r"\.(\d{6,})" + re.escape(suffix))
        try:
            taken = [int(found[1]) for one in self.path.parent.iterdir() if (found := pattern.fullmatch(one.name))]
            place = self.path.with_name(f"{stem}.{max(taken, default=0) + 1:06d}{suffix}")
            assert self._handle is not None  # noqa: S101  it is open
            os.fsync(self._handle)
            self.path.rename(place)
            handle = os.open(self.path, _OPENED, 0o666)
        except OSError as error:
            raise self._failed(error) from None
        os.close(self._handle)
        self._handle, self._size = handle, 0

    def _repaired(self, handle: int) -> int:
        """The size of the file, once its last line is whole."""
        size = os.fstat(handle).st_size
        tail = b""
        while len(tail) < min(size, _TAIL) and b"\n" not in tail:
            step = min(size - len(tail), max(1 << 16, len(tail)))
            tail = _read(handle, size - len(tail) - step, step) + tail
        rest = tail[tail.rfind(b"\n") + 1 :]
        if not rest:
            return size
        try:
            whole = isinstance(json.loads(rest), dict)
        except (ValueError, RecursionError):
            whole = False
        if whole:  # only the end of the line is missing
            os.write(handle, b"\n")
            return size + 1
        os.ftruncate(handle, size - len(rest))
        self.torn = rest
        _log.warning(
            "%s: its last line is not whole, as after a crash: the %d bytes of it are cut off", self.path, len(rest)
        )
        return size - len(rest)

    def _failed(self, error: OSError) -> MassartError:
        remedy = advice(error) or "see that the place can be written to"
        return MassartError(f"{self.path} could not be written ({error.strerror or error}): {remedy}")


def _read(handle: int, start: int, count: int) -> bytes:
    os.lseek(handle, start, os.SEEK_SET)
    found = b""
    while len(found) < count and (part := os.read(handle, count - len(found))):
        found += part
    return found


def _rows(contexts: Any) -> Any:
    """Contexts as a record of a log has them."""
    if hasattr(contexts, "indptr"):
        parts = {"starts": contexts.indptr, "columns": contexts.indices, "values": contexts.data}
        return {name: part.tolist() for name, part in parts.items()} | {"width": int(contexts.shape[1])}
    return contexts.tolist()


def _number(reward: Any) -> float:
    try:
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not -1e30 <= value <= 1e30:
        raise InvalidDataError(f"reward={reward!r} is not a number of at most 1e30 in size: write one")
    return value
