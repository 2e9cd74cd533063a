"""Folders that keep compiled kernels.

What is read from such a folder is unpickled and run. So it is read only if nobody but us, the administrator and the
owner of the kernels' sources, who can run code in our name anyway, can write in it. Beside the sources a group may
write, too: whoever can write there can change the bytecode that Python runs.
"""

import contextlib
import hashlib
import os
import stat
import struct
import sys
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["DamagedError", "Folder", "Kept", "folders"]

_SOURCES = Path(__file__).resolve().parent
_SUFFIX = ".nbc"
_PROBE = 1 << 16  # bytes: a disk that is full takes no more than a name
_HEAD = struct.Struct("<32s32sd")  # digest of all that follows, stamp of the sources, seconds


class DamagedError(Exception):
    """A kept kernel is not what was written."""


class Kept(NamedTuple):
    """A compiled kernel in a folder."""

    name: str
    stamp: bytes  # of the sources it was compiled from
    seconds: float  # of processor time that compiling it took, without what it calls
    size: int


class Folder:
    """A place for compiled kernels, whether or not it exists."""

    def __init__(self, path: Path, *, beside_sources: bool = False) -> None:
        self.path = path
        self.beside_sources = beside_sources
        self._writable: str | None = None
        self._readable: bool | None = None

    @property
    def readable(self) -> bool:
        """Whether it exists and what is in it may be run; looked at once."""
        if self._readable is None:
            self._readable = self.path.is_dir() and not self.distrust()
        return self._readable

    def distrust(self) -> str:
        """Why nothing is to be read from it, or empty."""
        if not hasattr(os, "geteuid"):  # Windows: folders of a user's profile are the user's
            return ""
        if self.beside_sources:
            return _others_write(self.path, group_may=True) if self.path.is_dir() else ""
        home, above = _home(), self.path.resolve()
        for number, folder in enumerate([above, *above.parents]):
            if folder.is_dir() and (why := _others_write(folder, may_be_sticky=number > 0)):
                return why
            if home is not None and folder == home.resolve():
                break
        return ""

    def unwritable(self) -> str:
        """Why nothing can be kept in it, or empty; made if need be, tried once."""
        if self._writable is None:
            try:
                _make(self.path)
                self._writable = self.distrust()
                if not self._writable:
                    with tempfile.TemporaryFile(dir=self.path) as file:
                        file.write(bytes(_PROBE))
                    self._readable = True
            except OSError as error:
                self._writable = f"{self.path}: {error.strerror or error}"
        return self._writable

    def read(self, name: str, stamp: bytes) -> bytes | None:
        """What was kept under a name, None if there is nothing or it is of other sources."""
        try:
            with (self.path / f"{name}{_SUFFIX}").open("rb") as file:
                if hasattr(os, "geteuid") and (why := _others_can_write(os.fstat(file.fileno()), self.beside_sources)):
                    raise DamagedError(f"{file.name} {why}")
                content = file.read()
        except FileNotFoundError:
            return None
        if not _is_whole(content):
            raise DamagedError(f"{self.path / name}{_SUFFIX} is damaged")
        return content[_HEAD.size :] if content[32:64] == stamp else None

    def write(self, name: str, stamp: bytes, seconds: float, body: bytes) -> None:
        """Keep something: whole or not at all, whatever other processes write at the same time."""
        rest = _HEAD.pack(b"", stamp, seconds)[32:] + body
        unfinished = self.path / f"{name}.{uuid.uuid4().hex[:16]}.tmp"
        try:
            descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o644)
            with open(descriptor, "wb") as file:
                file.write(hashlib.sha256(rest).digest() + rest)
            unfinished.replace(self.path / f"{name}{_SUFFIX}")
        except BaseException:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise

    def kept(self) -> Iterator[Kept]:
        """The kernels in it, by their heads."""
        for file in sorted(self.path.glob(f"*{_SUFFIX}")) if self.readable else ():
            with contextlib.suppress(OSError), file.open("rb") as opened:
                head = opened.read(_HEAD.size)
                if len(head) == _HEAD.size:
                    _, stamp, seconds = _HEAD.unpack(head)
                    yield Kept(file.name.removesuffix(_SUFFIX), stamp, seconds, os.fstat(opened.fileno()).st_size)

    def damaged(self) -> list[str]:
        """The files in it that are not what was written."""
        files = sorted(self.path.glob(f"*{_SUFFIX}")) if self.readable else ()
        return [file.name for file in files if not _is_whole(file.read_bytes())]


def _is_whole(content: bytes) -> bool:
    return len(content) >= _HEAD.size and hashlib.sha256(content[32:]).digest() == content[:32]


@cache
def folders() -> tuple[Folder, ...]:
    """Where compiled kernels are looked for, in this order; they are kept in the first one that can be written.

    NUMBA_CACHE_DIR if it is set; else beside the sources, and in the user's folder for caches.
    """
    # Installations of several versions may share all but the first folder: the path of the sources tells them apart.
    own = f"{_SOURCES.name}_{hashlib.sha256(os.fsencode(_SOURCES)).hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return (Folder(Path(chosen).absolute() / own),)
    beside = Folder(_SOURCES / "__pycache__", beside_sources=True)
    users = _users_folder()
    return (beside,) if users is None else (beside, Folder(users / "massart" / own))


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # nobody knows
        return None


def _users_folder() -> Path | None:
    """Of the user's caches, by the system's conventions."""
    home = _home()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else home and home / "AppData" / "Local"
    if sys.platform == "darwin":
        return home and home / "Library" / "Caches"
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return Path(chosen) if os.path.isabs(chosen) else home and home / ".cache"


def _make(path: Path) -> None:
    """A folder and those above it, none of them for others to write in, whatever the umask is."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(0o755, exist_ok=True)


def _others_write(folder: Path, *, group_may: bool = False, may_be_sticky: bool = False) -> str:
    status = folder.stat()
    if may_be_sticky and status.st_mode & stat.S_ISVTX:  # nobody can replace what belongs to others
        return ""
    why = _others_can_write(status, group_may)
    return f"{folder} {why}" if why else ""


def _others_can_write(status: os.stat_result, group_may: bool) -> str:
    """How somebody else than us could write what has this status, or empty."""
    if status.st_uid not in (0, os.geteuid(), _SOURCES.stat().st_uid):
        return f"belongs to another user (number {status.st_uid})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by all users"
    if status.st_mode & stat.S_IWGRP and not group_may and not _is_our_own_group(status.st_gid):
        return f"can be written by a group (number {status.st_gid})"
    return ""


@cache
def _is_our_own_group(number: int) -> bool:
    """Whether a group is that of one user, us, as many systems make one for each."""
    import grp  # noqa: PLC0415 - not on Windows
    import pwd  # noqa: PLC0415

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
