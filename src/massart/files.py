"""Files that are written: atomically, by one process at a time, at a place where they can be.

`replacing` writes a file under another name and moves it to its place when it is complete and on the disk; `move_into`
is that last step alone. `OutputLock` lets one process at a time write an output. `check_place` refuses, beforehand, a
place where no file could be written.
"""

import contextlib
import errno
import json
import os
import platform
import shlex
import stat
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, Self

from massart.errors import InvalidParameterError, InvalidTypeError, MassartError, ModelFileError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "OutputInUseError",
    "OutputLock",
    "advice",
    "check_place",
    "file_path",
    "is_special",
    "move_into",
    "partial_path",
    "remove",
    "replacing",
]

_Path = str | os.PathLike[str]

_ADVICE: Final = {
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "free some space, or choose another disk",
    errno.EFBIG: "raise the limit on the size of files, or choose another disk",
    errno.EROFS: "choose another place",
}
_HELD: Final = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # another process has the lock
_UNKNOWN: Final = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # of file systems without locks
# A symbolic link there is not followed: its target would be overwritten.
_OPENED: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_LONGEST: Final = 200  # characters of a command that are shown
_RECORD: Final = 1 << 14  # bytes of a lock file that are looked at
_MOMENT: Final = 0.02  # seconds: a process that has just got a lock still has to write its name
_LOCKED_BYTE: Final = 1 << 30  # on Windows a locked byte cannot be read, so it is none of the record


class OutputInUseError(MassartError, ValueError):
    """Another process is writing the same output."""


class OutputLock:
    """A lock on the name of an output, which one process at a time can hold.

    The operating system holds the lock on a file `.NAME.lock` beside the output, which names the process, and frees it
    when the process ends, however that happens. `release` removes the file. Devices and pipes are not locked, nor is
    anything on a file system without locks.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with OutputLock(f"{folder}/m.massart"):
    ...         OutputLock(f"{folder}/m.massart").acquire()
    Traceback (most recent call last):
    massart.files.OutputInUseError: ...m.massart is being written by process ...: wait for it or give another name
    """

    def __init__(self, path: _Path) -> None:
        self.path = Path(path)
        self._place = self.path.with_name(f".{self.path.name}.lock")
        self._release: weakref.finalize[Any, Any] | None = None

    def acquire(self) -> Self:
        """Take the lock; an error names the process that has it."""
        if self._release is not None or is_special(self.path):
            return self
        try:
            handle = self._locked()
        except OSError as error:
            raise InvalidParameterError(
                f"{self.path} cannot be written: its lock {self._place} cannot be made ({error.strerror or error})"
            ) from None
        if handle is not None:
            with contextlib.suppress(OSError):  # a full disk: the lock is held without a name in it
                os.ftruncate(handle, 0)
                os.write(handle, json.dumps(_this_process()).encode())
            self._release = weakref.finalize(self, _free, handle, self._place)
        return self

    def release(self) -> None:
        """Free the lock, if it is held."""
        if self._release is not None:
            self._release()
            self._release = None

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _locked(self) -> int | None:
        """The lock file, open and locked; None where the file system knows no locks."""
        while True:
            handle = os.open(self._place, _OPENED, 0o666)
            try:
                _lock(handle)
                # The last holder may have removed the file after it was opened here: then another one is to be locked.
                if os.path.samestat(os.fstat(handle), self._place.lstat()):
                    return handle
            except FileNotFoundError:
                pass
            except OSError as error:
                holder = _holder(self._place)
                os.close(handle)
                if error.errno in _HELD:
                    raise OutputInUseError(
                        f"{self.path} is being written by {holder}: wait for it or give another name"
                    ) from None
                if error.errno in _UNKNOWN:
                    self._place.unlink(missing_ok=True)
                    return None
                raise
            os.close(handle)


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _free(handle: int, place: Path) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":  # which removes no open file
            os.close(handle)
            place.unlink()
        else:
            try:
                place.unlink()
            finally:
                os.close(handle)


def _this_process() -> dict[str, Any]:
    name = Path(sys.argv[0]).name if sys.argv else ""
    words = ["massart" if name == "__main__.py" else name, *sys.argv[1:]]
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return {"pid": os.getpid(), "host": platform.node(), "command": shlex.join(words)[:_LONGEST], "since": since}


def _holder(place: Path) -> str:
    """The process that has a lock, in words; whatever stands in the file is printed as text."""
    time.sleep(_MOMENT)
    try:
        with place.open("rb") as file:
            found = json.loads(file.read(_RECORD))
        pid, host, command, since = (_plain(found[name]) for name in ("pid", "host", "command", "since"))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "another process"
    where = "" if host == platform.node() else f" on {host}"
    return f"process {pid}{where} ({command}, since {since})"


def _plain(value: Any) -> str:
    text = str(value)[:_LONGEST]
    return text if text.isprintable() else ascii(text)


@contextmanager
def replacing(path: _Path, error_kind: type[MassartError] = ModelFileError) -> Iterator[BinaryIO]:
    """A new file to write, which becomes `path` at the end; if anything goes wrong, `path` stays what it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/notes") as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder), Path(f"{folder}/notes").read_bytes()
    (['notes'], b'whole')
    """
    place = file_path(path)
    if not place.name or _is_device(place):
        raise error_kind(f"{place} is a folder, a device or a pipe, which no file can replace: give another path")
    partial = partial_path(place)
    try:
        file = partial.open("xb")
    except OSError as error:  # no such folder, or no permission: the same error, about the name that was given
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with file:
            yield file
            move_into(file, partial, place)
    except OSError as error:
        remove(partial)
        raise error_kind(
            f"{os.fspath(path)} could not be written ({error.strerror or error}), and what was there before is as it "
            f"was: {advice(error) or 'see that the place can be written to'}"
        ) from error
    except BaseException:
        remove(partial)
        raise


def file_path(path: _Path) -> Path:
    r"""The path of a file; what cannot be one raises an error.

    >>> file_path("a\0b")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: 'a\x00b' is not a path: give the path of a file
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InvalidTypeError(f"the path is of type {type(path).__name__}: give the path of a file as text") from None
    if not name or "\0" in name:
        raise InvalidParameterError(f"{name!r} is not a path: give the path of a file")
    return Path(name)


def _is_device(place: Path) -> bool:
    """Whether there is a device, a pipe or a socket; a link to one is replaced like any other link."""
    try:
        mode = place.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def advice(error: OSError) -> str:
    """What to do about a file that could not be written; nothing if that is not known."""
    return _ADVICE.get(error.errno or 0, "")


def remove(partial: Path) -> None:
    """Remove a file that was not completed, if it can be."""
    with contextlib.suppress(OSError):
        partial.unlink()


def partial_path(place: Path) -> Path:
    """A new name beside a place, for a file that is not complete."""
    return place.with_name(f".{place.name}.{os.urandom(4).hex()}.partial")


def move_into(file: IO[bytes], partial: Path, place: Path) -> None:
    """Close a complete file and give it its name; both are on the disk then, as far as the system can say."""
    file.flush()
    os.fsync(file.fileno())
    file.close()
    partial.replace(place)
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Let a new name reach the disk, too. Not every system can: then it is there a little later."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_place(path: _Path, what: str = "the file", *, devices: bool = True) -> None:
    """Refuse a place where no file could be written; nothing is left behind.

    Permission bits are not enough (a full or read-only disk, root), so a file is really made beside the place.

    >>> check_place("/no/such/folder/m.massart", "the model")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: the model cannot be written to /no/such/folder/m.massart: there is no...
    """
    place = Path(path)
    try:
        if place.is_dir():
            raise InvalidParameterError(f"{place} is a folder: give the name of a file for {what}")
        if not place.parent.is_dir():
            raise InvalidParameterError(
                f"{what} cannot be written to {place}: there is no folder {place.parent}; make it first"
            )
        if is_special(place):
            if devices:
                return
            raise InvalidParameterError(f"{place} is not a file: {what} needs one")
        trial = partial_path(place)
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise InvalidParameterError(
            f"{what} cannot be written to {place} ({error.strerror}): give another path"
        ) from None


def is_special(place: Path) -> bool:
    """Whether a device or a pipe is there, which is written to directly."""
    return place.exists() and not place.is_file()
