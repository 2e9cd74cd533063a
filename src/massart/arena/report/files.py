"""Where a report goes: is the place writable, are the packages there, and writing it whole or not at all."""

import contextlib
import importlib.util
import os
import secrets
from pathlib import Path

from massart.errors import InvalidParameterError, MassartError

__all__ = ["MissingPackageError", "check_place", "needs", "suffix_of", "write_bytes"]

_EXTRA = 'pip install "massart[report]"'


class MissingPackageError(MassartError, ImportError):
    """A package of the `report` extra is not installed."""


def needs(package: str, purpose: str) -> None:
    """Refuse to go on without a package of the `report` extra.

    >>> needs("json", "to read anything")
    >>> needs("no_such_package", "to draw")
    Traceback (most recent call last):
    massart.arena.report.files.MissingPackageError: no_such_package is needed to draw: pip install "massart[report]"
    """
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(f"{package} is needed {purpose}: {_EXTRA}")


def suffix_of(path: str | os.PathLike[str], suffixes: tuple[str, ...], what: str) -> str:
    """The suffix of a path, one of `suffixes`.

    >>> suffix_of("race.PNG", (".png", ".svg"), "a figure")
    '.png'
    >>> suffix_of("race.gif", (".png", ".svg"), "a figure")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: race.gif: a figure is written to a file that ends in .png or .svg
    """
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        choice = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]]) if len(suffixes) > 1 else suffixes[0]
        raise InvalidParameterError(f"{os.fspath(path)}: {what} is written to a file that ends in {choice}")
    return suffix


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write_bytes` could not write; nothing is left behind.

    Permission bits do not tell (a full or read-only disk, root), so a file is really made beside the place.
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidParameterError(f"{target} is a folder: give the name of a file")
    if not target.parent.is_dir():
        raise InvalidParameterError(f"{target} cannot be written, there is no folder {target.parent}: make it first")
    if _is_special(target):
        return
    trial = _beside(target)
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise InvalidParameterError(f"{target} cannot be written ({error.strerror}): give another path") from None


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there when whole; a device or a pipe is written to directly."""
    target = Path(path)
    check_place(target)
    if _is_special(target):
        target.write_bytes(content)
        return
    partial = _beside(target)
    try:
        partial.write_bytes(content)
        partial.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
