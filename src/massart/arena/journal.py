"""The journal of a sweep: finished units on disc, safe against a kill at any moment.

JSON lines. The first is a header with the sweep's parameters, each further one a finished unit, appended and synced
as soon as it is done. A kill in the middle of a write leaves a torn last line, which is cut off at the next start.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from massart.errors import InvalidDataError, InvalidParameterError
from massart.files import OutputLock, advice, is_special

__all__ = ["Journal"]

_FORMAT = 1


class Journal:
    """Units by key, as a file and in memory; no other process can write the file until it is closed.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "sweep.jsonl"
    >>> Journal(path, {"rounds": 100}).add("first", [{"mistakes": 3}])
    >>> again = Journal(path, {"rounds": 100})
    >>> "first" in again, "second" in again, again["first"]
    (True, False, [{'mistakes': 3}])
    >>> again.close()
    >>> Journal(path, {"rounds": 200})
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: .../sweep.jsonl belongs to a sweep with rounds=100, and this one has 200: ...
    """

    def __init__(self, path: str | os.PathLike[str], parameters: dict[str, Any]) -> None:
        self._path = Path(path)
        self._units: dict[str, list[dict[str, Any]]] = {}
        if not self._path.parent.is_dir():
            raise InvalidParameterError(f"cannot resume from {self._path}: there is no folder {self._path.parent}")
        if is_special(self._path):  # a pipe would keep whoever reads it waiting, a device may never end
            raise InvalidParameterError(f"cannot resume from {self._path}: it is a folder, a device or a pipe")
        self._lock = OutputLock(self._path).acquire()
        try:
            self._begin(_line({"massart-sweep": _FORMAT, **parameters}))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others write the file."""
        self._lock.release()

    def _begin(self, header: bytes) -> None:
        """Take what is there, or write the header."""
        try:
            whole, torn = _read(self._path)
            if not whole:
                if not header.startswith(torn):
                    raise self._foreign()
                self._write(header, at=0)
                return
            self._check(whole[0], json.loads(header))
            for number, line in enumerate(whole[1:], start=2):
                self._take(line, number)
            if torn:
                self._write(b"", at=sum(len(line) + 1 for line in whole))
        except OSError as error:
            raise InvalidParameterError(f"cannot resume from {self._path}: {error.strerror or error}") from None

    def __contains__(self, key: str) -> bool:
        return key in self._units

    def __getitem__(self, key: str) -> list[dict[str, Any]]:
        return self._units[key]

    def add(self, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a finished unit, and return when it is on disc."""
        self._units[key] = [dict(row) for row in rows]
        try:
            self._write(_line({"unit": key, "rows": self._units[key]}))
        except OSError as error:
            what_to_do = advice(error) or "see that the place can be written to"
            raise InvalidDataError(
                f"{self._path} could not be written: {error.strerror or error}; {what_to_do}, and resume"
            ) from None

    def _write(self, text: bytes, at: int | None = None) -> None:
        """Append; with `at`, cut the file there before."""
        with self._path.open("ab") as file:
            if at is not None:
                file.truncate(at)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _check(self, line: bytes, expected: dict[str, Any]) -> None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise self._foreign() from None
        if not isinstance(found, dict) or "massart-sweep" not in found:
            raise self._foreign()
        for name, value in expected.items():
            if found.get(name) != value:
                raise InvalidParameterError(
                    f"{self._path} belongs to a sweep with {name}={found.get(name)!r}, and this one has {value!r}: "
                    "resume with the parameters it was begun with, or choose another file"
                )

    def _take(self, line: bytes, number: int) -> None:
        try:
            unit = json.loads(line)
            self._units[unit["unit"]] = unit["rows"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InvalidDataError(
                f"line {number} of {self._path} is damaged: delete it, and its unit is run again"
            ) from None

    def _foreign(self) -> InvalidParameterError:
        return InvalidParameterError(f"{self._path} is not the journal of a sweep: choose a file that does not exist")


def _read(path: Path) -> tuple[list[bytes], bytes]:
    """The whole lines, and what follows the last of them."""
    *whole, torn = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return whole, torn


def _line(content: dict[str, Any]) -> bytes:
    # A parameter that JSON does not have, such as a world inside of a world, is compared by its repr.
    return json.dumps(content, default=repr, allow_nan=False).encode() + b"\n"
