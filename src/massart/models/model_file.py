"""Model files: arrays and a JSON header in one zip, safe to open from a stranger.

    header.json     {"format": 2, "kind": "classifier", "massart": "0.1.0", "meta": {...}, "arrays": {...}}
    NAME.npy        one member per array, NumPy's own format without pickled objects; or
    NAME.rows.npy, NAME.values.npy      of an array most of whose rows are zero, the others (see folding.py)

The header names each array with its dtype and shape and the SHA-256 of its bytes, and every byte between the arrays
follows from it (see container.py): a damaged file is refused rather than half-read, and the refusal says where. Nothing
in the file is ever unpickled or evaluated. The same content is the same file, byte for byte. Arrays go by in blocks and
are never copied; they can be mapped where they lie. Files are written beside their place and moved there when whole: a
crash leaves the old file or the new one. Files of format 1, a zip in any order, are still read.
"""

import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.files import replacing
from massart.models import schema1
from massart.models.arrays import Described, Piece, byte_blocks, is_plain
from massart.models.container import Frame, Member, damaged
from massart.models.folding import MOST_FOLDED, Folding
from massart.models.loading import load_arrays

__all__ = ["FORMAT", "read_header", "read_model", "write_model"]

FORMAT = 2
_HEADER = "header.json"
_LONGEST_HEADER = 1 << 28


def write_model(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/m.massart", "demo", {"answer": 42}, {"w": np.arange(3.0)})
    ...     read_model(f"{folder}/m.massart")
    ('demo', {'answer': 42}, {'w': array([0., 1., 2.])})
    """
    from massart import __version__  # noqa: PLC0415  the package is being imported when this module is

    stored, members, facts = [], [], {}
    room = MOST_FOLDED
    for name, given in arrays.items():
        array = np.asarray(given)
        if not is_plain(array.dtype):
            raise ModelFileError(
                f"array {name!r} holds {array.dtype}: a model file takes numbers, text and dates, no other objects"
            )
        described = Described(name, array.dtype, array.shape)
        folding = Folding.of(array) if array.nbytes <= room else None
        if folding is not None:
            room -= array.nbytes
            described = replace(described, folded=folding.count)
        digest = hashlib.sha256()
        for piece, blocks in _pieces(described, array, folding):
            checksum = zlib.crc32(piece.prefix)
            for block in blocks:
                checksum = zlib.crc32(block, checksum)
                digest.update(block)
            members.append(Member(piece.name, len(piece.prefix) + piece.nbytes, checksum))
        facts[name] = replace(described, sha256=digest.hexdigest()).as_dict()
        stored.append((described, array, folding))
    header = {"format": FORMAT, "kind": kind, "massart": __version__, "meta": dict(meta), "arrays": facts}
    text = json.dumps(header, allow_nan=False).encode()
    frame = Frame([Member(_HEADER, len(text), zlib.crc32(text)), *members])
    if len({member.name for member in frame.members}) < len(frame.members):
        raise ModelFileError(f"the arrays {', '.join(arrays)} would take the same name in the file: rename one")
    with replacing(path) as file:
        heads = iter(frame.headers)
        file.write(next(heads) + text)
        for described, array, folding in stored:
            for piece, blocks in _pieces(described, array, folding):
                file.write(next(heads) + piece.prefix)
                for block in blocks:
                    file.write(block)
        file.write(frame.end)


def _pieces(
    described: Described, array: NDArray[Any], folding: Folding | None
) -> Iterator[tuple[Piece, Iterator[memoryview]]]:
    """Each member of an array, with the blocks of its bytes."""
    if folding is None:
        yield described.pieces[0], byte_blocks(array)
        return
    rows, values = described.pieces
    yield rows, folding.row_blocks(rows.dtype)
    yield values, folding.value_blocks()


def read_model(
    path: str | os.PathLike[str],
    *,
    mmap: bool = False,
    mode: Literal["r", "c"] = "r",
    verify: bool | None = None,
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """(kind, meta, arrays) of a model file; a file that is not whole is refused by name, place and reason.

    With `mmap`, arrays stay in the file and are read when they are looked at (folded ones are unfolded in memory);
    `mode` "r" makes them read-only, "c" keeps changes in memory. `verify` says whether the checksums of arrays are
    compared, which reads all of them; None: unless they are mapped.
    """
    if mode not in ("r", "c"):
        raise ModelFileError(f"mode={mode!r}: choose 'r' for read-only or 'c' for copy on write")
    with _opened(path) as (file, archive, header):
        if header["format"] == 1:
            arrays = schema1.load_arrays(path, archive, header["arrays"])
        else:
            verify = not mmap if verify is None else verify
            arrays = load_arrays(path, file, archive.infolist(), header["arrays"], mode if mmap else None, verify)
    if mmap and mode == "r":
        for array in arrays.values():
            array.flags.writeable = False
    return header["kind"], header["meta"], arrays


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says about itself: "format", "kind", "massart" (the version), "meta" and "arrays".

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/m.massart", "demo", {"answer": 42}, {"w": np.arange(3.0)})
    ...     header = read_header(f"{folder}/m.massart")
    >>> header["format"], header["kind"], header["meta"], header["arrays"]["w"]["shape"]
    (2, 'demo', {'answer': 42}, [3])
    """
    with _opened(path) as (_, _, header):
        return header


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, zipfile.ZipFile, dict[str, Any]]]:
    """The file, its members and its header; whatever goes wrong meanwhile is the file's fault."""
    if not stat.S_ISREG(Path(path).stat().st_mode):  # a pipe, which would keep whoever opens it waiting
        raise ModelFileError(f"{os.fspath(path)} is a folder, a device or a pipe: give the name of a model file")
    file = Path(path).open("rb")  # a missing file is its own error  # noqa: SIM115
    try:
        with file, _members(path, file) as archive:
            yield file, archive, _header(path, archive)
    except ModelFileError:
        raise
    except MemoryError as error:
        raise ModelFileError(
            f"{os.fspath(path)} holds more than fits into memory ({error}): open it where there is more"
        ) from None
    except Exception as error:  # a forged file can make zipfile, json and numpy raise almost anything
        raise damaged(path, str(error) or type(error).__name__) from None


def _members(path: str | os.PathLike[str], file: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        file.seek(0)
        first, size = file.read(4), os.fstat(file.fileno()).st_size
        if size == 0:
            why = "it is empty"
        elif b"PK\3\4".startswith(first):
            why = f"{error}; it begins as one and has {size} bytes: it may have been cut off"
        else:
            why = f"{error}: it begins with {first!r} and not with {b'PK'!r}"
        raise damaged(path, why) from None


def _header(path: str | os.PathLike[str], archive: zipfile.ZipFile) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise damaged(path, f"it is a zip without {_HEADER}")
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED:
            raise damaged(path, f"{member.filename} is compressed, which massart's members never are")
    if archive.getinfo(_HEADER).file_size > _LONGEST_HEADER:
        raise damaged(path, f"its header has {archive.getinfo(_HEADER).file_size} bytes")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or type(header.get("format")) is not int or header["format"] < 1:
        raise damaged(path, "its header is not one of massart's")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{os.fspath(path)} has format {header['format']}, written by massart {header.get('massart')}; "
            f"this version reads up to format {FORMAT}: upgrade massart"
        )
    for key, kind in (("kind", str), ("meta", dict), ("arrays", dict)):
        if not isinstance(header.get(key), kind):
            raise damaged(path, f"its header has no {key}")
    return header
