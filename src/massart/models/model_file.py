"""Model files: arrays and a JSON header in one zip, safe to open from any source.

    header.json     {"format": 2, "kind": "classifier", "massart": "0.1.0", "meta": {...}, "arrays": {...}}
    NAME.npy        one member per array, NumPy's own format without pickled objects; or
    NAME.rows.npy, NAME.values.npy      of an array most of whose rows are zero, the others (see arrays.py)

The header names each array with its dtype and shape and the SHA-256 of its bytes, and every byte between the arrays
follows from it (see container.py): a damaged file is refused rather than half-read, and the refusal says where. Nothing
in the file is ever unpickled or evaluated. The same content is the same file, byte for byte. Arrays pass in blocks and
are never copied; they can be mapped where they lie. Files are written beside their place and moved there when complete:
a crash leaves the old file or the new one.
"""

import hashlib
import io
import json
import os
import stat
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError
from massart.files import file_path, replacing
from massart.learners.sparse_rows import SparseRows
from massart.models.arrays import (
    BLOCK,
    MOST_FOLDED,
    Described,
    Folding,
    Piece,
    byte_blocks,
    bytes_of,
    is_plain,
    new_array,
    unfold,
)
from massart.models.container import Frame, Member, checked, damaged

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

__all__ = ["FORMAT", "model_bytes", "read_bytes", "read_header", "read_model", "read_parts", "write_model"]

FORMAT = 2
_Path = str | os.PathLike[str]
_HEADER = "header.json"
_LONGEST_HEADER = 1 << 28
_STORED = 0  # of a zip: a member that is not compressed


def write_model(path: _Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a model file, atomically. Arrays may be `SparseRows`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/m.massart", "demo", {"answer": 42}, {"w": np.arange(3.0)})
    ...     read_model(f"{folder}/m.massart")
    ('demo', {'answer': 42}, {'w': array([0., 1., 2.])})
    """
    parts = _laid_out(kind, meta, arrays)
    with replacing(path) as file:
        _write(file, *parts)


def model_bytes(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """What `write_model` writes, as bytes; `read_bytes` reads them.

    >>> read_bytes(model_bytes("demo", {"answer": 42}, {"w": np.arange(3.0)}), "a snapshot")
    ('demo', {'answer': 42}, {'w': array([0., 1., 2.])})
    """
    file = io.BytesIO()
    _write(file, *_laid_out(kind, meta, arrays))
    return file.getvalue()


def _laid_out(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> tuple[Frame, bytes, list[Any]]:
    """The frame of a model file, its header, and the arrays as they are stored."""
    from massart import __version__  # noqa: PLC0415  the package is being imported when this module is

    stored, members, facts = [], [], {}
    room = MOST_FOLDED
    for name, given in arrays.items():
        array = given if isinstance(given, SparseRows) else np.asarray(given)
        if not is_plain(array.dtype):
            raise ModelFileError(
                f"array {name!r} holds {array.dtype}: a model file takes numbers, text and dates, no other objects"
            )
        described = Described(name, array.dtype, array.shape)
        folding = Folding.of(array) if array.nbytes <= room else None
        if folding is not None:
            room -= array.nbytes
            described = described.replace(folded=folding.count)
        digest = hashlib.sha256()
        for piece, blocks in _pieces(described, array, folding):
            checksum = zlib.crc32(piece.prefix)
            for block in blocks:
                checksum = zlib.crc32(block, checksum)
                digest.update(block)
            members.append(Member(piece.name, len(piece.prefix) + piece.nbytes, checksum))
        facts[name] = described.replace(sha256=digest.hexdigest()).as_dict()
        stored.append((described, array, folding))
    header = {"format": FORMAT, "kind": kind, "massart": __version__, "meta": dict(meta), "arrays": facts}
    text = json.dumps(header, allow_nan=False).encode()
    frame = Frame([Member(_HEADER, len(text), zlib.crc32(text)), *members])
    if len({member.name for member in frame.members}) < len(frame.members):
        raise ModelFileError(f"the arrays {', '.join(arrays)} would take the same name in the file: rename one")
    return frame, text, stored


def _write(file: BinaryIO, frame: Frame, text: bytes, stored: list[Any]) -> None:
    heads = iter(frame.headers)
    file.write(next(heads) + text)
    for described, array, folding in stored:
        for piece, blocks in _pieces(described, array, folding):
            file.write(next(heads) + piece.prefix)
            for block in blocks:
                file.write(block)
    file.write(frame.end)


def _pieces(
    described: Described, array: NDArray[Any] | SparseRows, folding: Folding | None
) -> Iterator[tuple[Piece, Iterator[memoryview]]]:
    """Each member of an array, with the blocks of its bytes."""
    if folding is None:
        yield described.pieces[0], byte_blocks(array)
        return
    rows, values = described.pieces
    yield rows, folding.row_blocks(rows.dtype)
    yield values, folding.value_blocks()


def read_model(
    path: _Path,
    *,
    mmap: bool = False,
    mode: Literal["r", "c"] = "r",
    verify: bool | None = None,
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """(kind, meta, arrays) of a model file; a damaged file is refused by name, place and reason.

    With `mmap`, arrays stay in the file and are read when they are looked at (folded ones are unfolded in memory);
    `mode` "r" makes them read-only, "c" keeps changes in memory. `verify` says whether the checksums of arrays are
    compared, which reads all of them; None: unless they are mapped.
    """
    header, arrays = read_parts(path, mmap=mmap, mode=mode, verify=verify)
    return header["kind"], header["meta"], arrays


def read_parts(
    path: _Path,
    *,
    mmap: bool = False,
    mode: Literal["r", "c"] = "r",
    verify: bool | None = None,
    sparse: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(header, arrays) of a model file; the parameters are those of `read_model`.

    Folded arrays of float64 whose name ends, after the last dot, with one of `sparse` are not unfolded: `SparseRows`.
    """
    if mode not in ("r", "c"):
        raise ModelFileError(f"mode={mode!r}: choose 'r' for read-only or 'c' for copy on write")
    verify = not mmap if verify is None else verify
    with _opened(path) as (file, archive, header):
        arrays = _load_arrays(path, file, archive.infolist(), header["arrays"], mode if mmap else None, verify, sparse)
    if mmap and mode == "r":
        for array in arrays.values():
            (array.values if isinstance(array, SparseRows) else array).flags.writeable = False
    return header, arrays


def read_bytes(data: bytes, name: str) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """(kind, meta, arrays) of a model file in memory, its checksums compared; `name` is for messages."""
    with _opened(name, io.BytesIO(data)) as (file, archive, header):
        arrays = _load_arrays(name, file, archive.infolist(), header["arrays"], None, True, ())
    return header["kind"], header["meta"], arrays


def read_header(path: _Path) -> dict[str, Any]:
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
def _opened(path: _Path, file: BinaryIO | None = None) -> Iterator[tuple[BinaryIO, "ZipFile", dict[str, Any]]]:
    """The file, its members and its header; whatever goes wrong meanwhile is the file's fault."""
    if file is None:
        if not stat.S_ISREG(file_path(path).stat().st_mode):  # a pipe, which would keep whoever opens it waiting
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


def _members(path: _Path, file: BinaryIO) -> "ZipFile":
    from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - nothing that is written needs it

    try:
        return ZipFile(file)
    except BadZipFile as error:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        first = file.read(4)
        if size == 0:
            why = "it is empty"
        elif b"PK\3\4".startswith(first):
            why = f"{error}; it begins as one and has {size} bytes: it may have been cut off"
        else:
            why = f"{error}: it begins with {first!r} and not with {b'PK'!r}"
        raise damaged(path, why) from None


def _header(path: _Path, archive: "ZipFile") -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise damaged(path, f"it is a zip without {_HEADER}")
    for member in archive.infolist():
        if member.compress_type != _STORED:
            raise damaged(path, f"{member.filename} is compressed, which massart's members never are")
    if archive.getinfo(_HEADER).file_size > _LONGEST_HEADER:
        raise damaged(path, f"its header has {archive.getinfo(_HEADER).file_size} bytes")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or type(header.get("format")) is not int or header["format"] < FORMAT:
        raise damaged(path, "its header is not one of massart's")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{os.fspath(path)} has format {header['format']}, written by massart {header.get('massart')}; "
            f"this version reads format {FORMAT}: upgrade massart"
        )
    for key, kind in (("kind", str), ("meta", dict), ("arrays", dict)):
        if not isinstance(header.get(key), kind):
            raise damaged(path, f"its header has no {key}")
    return header


def _load_arrays(
    path: _Path,
    file: BinaryIO,
    members: Sequence["ZipInfo"],
    facts: Mapping[str, Any],
    mode: Literal["r", "c"] | None,
    verify: bool,
    sparse: Collection[str],
) -> dict[str, Any]:
    """All arrays that the header describes; `mode` is None to read them, else that of the map."""
    described = [Described.from_dict(name, about) for name, about in facts.items()]
    claimed = sum(each.nbytes for each in described if each.folded is not None)
    if claimed > MOST_FOLDED:
        raise damaged(path, f"its folded arrays would take {claimed} bytes of memory, more than {MOST_FOLDED}")
    pieces = [piece for each in described for piece in each.pieces]
    places = iter(_places(path, file, members, pieces))
    whole = np.memmap(file, np.uint8, mode).view(np.ndarray) if mode is not None else None
    arrays: dict[str, Any] = {}
    for each in described:
        own = [next(places) for _ in each.pieces]
        if whole is not None and each.folded is None and each.nbytes:
            array = whole[own[0] : own[0] + each.nbytes].view(each.dtype).reshape(each.shape)
            if verify:
                digest = hashlib.sha256()
                for block in byte_blocks(array):
                    digest.update(block)
                _check_digest(path, each, digest.hexdigest(), own[0])
            arrays[each.name] = array
        else:
            whole_array = each.dtype != np.float64 or each.name.rpartition(".")[2] not in sparse
            checks = verify or each.folded is not None
            arrays[each.name] = _load(path, file, each, own, verify=checks, unfolded=whole_array)
    return arrays


def _places(path: _Path, file: BinaryIO, members: Sequence["ZipInfo"], pieces: Sequence[Piece]) -> list[int]:
    """Where the numbers of each piece begin, once everything around them is what it has to be.

    Nothing is allocated before: the file's size is that of all arrays.
    """
    names, wanted = [member.filename for member in members], ["header.json", *(piece.name for piece in pieces)]
    if names != wanted:
        raise damaged(path, f"its members are {', '.join(names)}, but its header describes {', '.join(wanted)}")
    sizes = [members[0].file_size, *(len(piece.prefix) + piece.nbytes for piece in pieces)]
    frame = Frame([Member(m.filename, size, m.CRC) for m, size in zip(members, sizes, strict=True)])
    frame.check(file, path)
    for piece, place in zip(pieces, frame.places[1:], strict=True):
        checked(file, path, place, piece.prefix, f"the beginning of {piece.name}")
    return [place + len(piece.prefix) for piece, place in zip(pieces, frame.places[1:], strict=True)]


def _load(
    path: _Path, file: BinaryIO, each: Described, places: Sequence[int], *, verify: bool, unfolded: bool
) -> NDArray[Any] | SparseRows:
    digest = hashlib.sha256() if verify else None
    read, first = _filling(file, digest), each.pieces[0]
    stored = new_array(first.dtype, first.shape)
    array: NDArray[Any] | SparseRows = stored
    file.seek(places[0])
    read(bytes_of(stored))
    if each.folded is not None:
        file.seek(places[1])
        try:
            if unfolded:
                array = unfold(stored, each.dtype, each.shape, read)
            else:
                values = new_array(each.dtype, (each.folded, *each.shape[1:]))
                read(bytes_of(values))
                array = SparseRows(stored, values, each.shape[0])
        except ValueError as error:
            raise damaged(path, f"array {each.name!r}, from byte {places[0]} on: {error}") from None
    if digest is not None:
        _check_digest(path, each, digest.hexdigest(), places[0])
    return array


def _filling(file: Any, digest: Any) -> Callable[[NDArray[np.uint8]], None]:
    """A function that fills an array with the bytes that come next, block by block, and adds them to the digest."""

    def read(target: NDArray[np.uint8]) -> None:
        rest = target.data
        while rest.nbytes:
            count = file.readinto(rest[:BLOCK])
            if not count:
                raise EOFError(f"the file ends {rest.nbytes} bytes too early")
            if digest is not None:
                digest.update(rest[:count])
            rest = rest[count:]

    return read


def _check_digest(path: _Path, each: Described, found: str, place: int) -> None:
    """Refuse an array whose bytes are not those that were written."""
    if found != each.sha256:
        raise damaged(
            path,
            f"array {each.name!r}, from byte {place} on, has the SHA-256 {found[:16]}... and should have "
            f"{each.sha256[:16]}...",
        )
