"""The arrays of a model file of format 2: read in blocks into memory of their own, or mapped where they lie."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from massart.models.arrays import BLOCK, Described, Piece, byte_blocks, bytes_of, new_array
from massart.models.container import Frame, Member, checked, damaged
from massart.models.folding import MOST_FOLDED, unfold

__all__ = ["check_digest", "filling", "load_arrays"]

_Path = str | os.PathLike[str]


def load_arrays(
    path: _Path,
    file: BinaryIO,
    members: Sequence[zipfile.ZipInfo],
    facts: Mapping[str, Any],
    mode: Literal["r", "c"] | None,
    verify: bool,
) -> dict[str, NDArray[Any]]:
    """All arrays that the header describes; `mode` is None to read them, else that of the map."""
    described = [Described.from_dict(name, about) for name, about in facts.items()]
    claimed = sum(each.nbytes for each in described if each.folded is not None)
    if claimed > MOST_FOLDED:
        raise damaged(path, f"its folded arrays would take {claimed} bytes of memory, more than {MOST_FOLDED}")
    pieces = [piece for each in described for piece in each.pieces]
    places = iter(_places(path, file, members, pieces))
    whole = np.memmap(file, np.uint8, mode).view(np.ndarray) if mode is not None else None
    arrays = {}
    for each in described:
        own = [next(places) for _ in each.pieces]
        if whole is not None and each.folded is None and each.nbytes:
            array = whole[own[0] : own[0] + each.nbytes].view(each.dtype).reshape(each.shape)
            if verify:
                digest = hashlib.sha256()
                for block in byte_blocks(array):
                    digest.update(block)
                check_digest(path, each, digest.hexdigest(), own[0])
        else:
            array = _load(path, file, each, own, verify=verify or each.folded is not None)
        arrays[each.name] = array
    return arrays


def _places(path: _Path, file: BinaryIO, members: Sequence[zipfile.ZipInfo], pieces: Sequence[Piece]) -> list[int]:
    """Where the numbers of each piece begin, once everything around them is what it has to be.

    Nothing is allocated before: the file's size is that of all arrays.
    """
    names, wanted = [member.filename for member in members], ["header.json", *(piece.name for piece in pieces)]
    if names != wanted:
        raise damaged(path, f"its members are {', '.join(names)}, but its header speaks of {', '.join(wanted)}")
    sizes = [members[0].file_size, *(len(piece.prefix) + piece.nbytes for piece in pieces)]
    frame = Frame([Member(m.filename, size, m.CRC) for m, size in zip(members, sizes, strict=True)])
    frame.check(file, path)
    for piece, place in zip(pieces, frame.places[1:], strict=True):
        checked(file, path, place, piece.prefix, f"the beginning of {piece.name}")
    return [place + len(piece.prefix) for piece, place in zip(pieces, frame.places[1:], strict=True)]


def _load(path: _Path, file: BinaryIO, each: Described, places: Sequence[int], *, verify: bool) -> NDArray[Any]:
    digest = hashlib.sha256() if verify else None
    read, first = filling(file, digest), each.pieces[0]
    array = new_array(first.dtype, first.shape)
    file.seek(places[0])
    read(bytes_of(array))
    if each.folded is not None:
        file.seek(places[1])
        try:
            array = unfold(array, each.dtype, each.shape, read)
        except ValueError as error:
            raise damaged(path, f"array {each.name!r}, from byte {places[0]} on: {error}") from None
    if digest is not None:
        check_digest(path, each, digest.hexdigest(), places[0])
    return array


def filling(file: Any, digest: Any) -> Callable[[NDArray[np.uint8]], None]:
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


def check_digest(path: _Path, each: Described, found: str, place: int | None = None) -> None:
    """Refuse an array whose bytes are not those that were written."""
    if found != each.sha256:
        where = "" if place is None else f", from byte {place} on"
        raise damaged(
            path, f"array {each.name!r}{where}, has the SHA-256 {found[:16]}... and should have {each.sha256[:16]}..."
        )
