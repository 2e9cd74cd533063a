"""A file takes the place of another in one step, when it is whole and on the disk; or nothing has happened."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from massart.errors import ModelFileError

__all__ = ["replacing"]

_ADVICE = {
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "free some space, or choose another disk",
    errno.EFBIG: "raise the limit on the size of files, or choose another disk",
    errno.EROFS: "choose another place",
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file to write, which becomes `path` at the end; if anything goes wrong, `path` stays what it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/notes") as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder), Path(f"{folder}/notes").read_bytes()
    (['notes'], b'whole')
    """
    place = Path(path)
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        file = partial.open("xb")
    except OSError as error:  # no such folder, or no permission: the error it always was, about the name that was given
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(place)
        _sync_folder(place.parent)
    except OSError as error:
        _remove(partial)
        advice = _ADVICE.get(error.errno or 0, "see that the place can be written to")
        raise ModelFileError(
            f"{os.fspath(path)} could not be written ({error.strerror or error}), and what was there before is as it "
            f"was: {advice}"
        ) from error
    except BaseException:
        _remove(partial)
        raise


def _remove(partial: Path) -> None:
    with contextlib.suppress(OSError):
        partial.unlink()


def _sync_folder(folder: Path) -> None:
    """Let the new name reach the disk, too. Not every system can: then it is there a little later."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
