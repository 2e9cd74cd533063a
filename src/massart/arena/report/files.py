"""Where a report goes: are the packages there, and writing it whole or not at all."""

import importlib.util
import os
from pathlib import Path

from massart.errors import InvalidDataError, InvalidParameterError, MassartError
from massart.files import check_place, is_special, replacing

__all__ = ["MissingPackageError", "needs", "suffix_of", "write_bytes"]

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


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there when whole; a device or a pipe is written to directly."""
    check_place(path)
    if is_special(Path(path)):
        Path(path).write_bytes(content)
        return
    with replacing(path, InvalidDataError) as file:
        file.write(content)
