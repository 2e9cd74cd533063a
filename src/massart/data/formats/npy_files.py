"""NumPy's .npy files, some rows at a time.

They are read, not mapped: a map of a file that another process cuts short would end this one.
"""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from massart.data.io.seekable import seekable
from massart.data.io.sources import Source
from massart.errors import InvalidDataError
from massart.kernels.parsing.row_errors import LONGEST_LINE

__all__ = ["Header", "Rows", "header", "rows_from", "valid_text"]

_HEAD: Final = 1 << 17  # bytes within which the header of a file must end
_LOOK: Final = 1 << 20  # bytes that are seen of a pipe
_SAID: Final = 200  # characters of what NumPy says
_LAST_CHARACTER: Final = 0x10FFFF  # of Unicode


class Header(NamedTuple):
    """What a .npy file says of itself."""

    shape: tuple[int, ...]
    by_columns: bool  # Fortran's order
    dtype: np.dtype[Any]
    begin: int  # bytes before the data


class Rows(NamedTuple):
    """Some rows of a file: (n, k), or (n,) where rows are records or numbers."""

    first: int  # rows of the file before these
    values: NDArray[Any]


def header(source: Source) -> Header:
    """Shape and type of an array.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file.name, np.eye(3))
    ...     header(Source(file.name))
    Header(shape=(3, 3), by_columns=False, dtype=dtype('float64'), begin=128)
    """
    file = io.BytesIO(source.head(_HEAD))
    try:
        with warnings.catch_warnings(action="ignore"):
            shape, by_columns, dtype = _parsed(file)
    except Exception as error:  # NumPy reads it as a Python literal: there is no list of what it may raise
        said = str(error).splitlines()[0].rstrip(".")[:_SAID] if str(error) else "its header cannot be read"
        raise InvalidDataError(f"{source.name}: not a .npy file, or damaged ({said}); save it again") from None
    if dtype.hasobject:
        raise InvalidDataError(f"{source.name} holds Python objects, which could run code: save numbers instead")
    if any(side < 0 for side in shape):
        raise InvalidDataError(f"{source.name}: not a .npy file, or damaged (its shape is {shape}); save it again")
    size = dtype.itemsize * math.prod(shape[1:])
    if shape and shape[0] and not 0 < size <= LONGEST_LINE:
        raise InvalidDataError(
            f"{source.name}: its rows have {size:,} bytes each, of shape {shape[1:]}; save rows of 1 byte to "
            f"{LONGEST_LINE >> 20} MiB"
        )
    return Header(shape, by_columns and len(shape) > 1, dtype, file.tell())


def _parsed(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    # Version 3 is version 2 with UTF-8 in the names of fields, which are put right below.
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = read(file)
    if version == (3, 0) and dtype.names is not None:
        dtype.names = tuple(name.encode("latin1").decode() for name in dtype.names)
    for name in dtype.names or ():
        name.encode()  # refuses half of a surrogate pair
    return tuple(int(side) for side in shape), bool(by_columns), dtype


def rows_from(source: Source, of: Header, start: int, rows: int, *, looking: bool = False) -> Iterator[Rows]:
    """Rows from `start` on, at most `rows` at a time.

    `looking`: only those at the beginning of a pipe, which can be read afterwards.
    """
    count = of.shape[0]
    if start > count:
        raise InvalidDataError(
            f"{source.name} has {count:,} rows, but reading was to go on at row {start + 1:,}: "
            "is it still the same file?"
        )
    take = _by_columns if of.by_columns else _by_rows
    yield from take(source, of, start, rows, looking)


def _by_rows(source: Source, of: Header, start: int, rows: int, looking: bool) -> Iterator[Rows]:
    shape = of.shape[1:]
    size = of.dtype.itemsize * math.prod(shape)
    with _opened(source, of.begin + start * size, looking) as file:
        for first in range(start, of.shape[0], rows):
            wanted = min(rows, of.shape[0] - first)
            buffer = np.empty(wanted * size, np.uint8)
            found = _fill(file, buffer)
            whole = found // size if size else wanted
            if whole:
                yield Rows(first, buffer[: whole * size].view(of.dtype).reshape(whole, *shape))
            if whole < wanted:
                if looking and source.is_pipe:
                    return
                raise _cut(source, first + whole, of.shape[0])


def _by_columns(source: Source, of: Header, start: int, rows: int, looking: bool) -> Iterator[Rows]:
    count, width = of.shape
    size = of.dtype.itemsize
    with seekable(source) as opened:
        for first in range(start, count, rows):
            wanted = min(rows, count - first)
            block = np.empty((width, wanted), of.dtype)
            for j in range(width):
                opened.file.seek(of.begin + (j * count + first) * size)
                if _fill(opened.file, block[j].view(np.uint8)) < wanted * size:
                    raise _cut(source, first, count)
            opened.report((first + wanted) / count)
            yield Rows(first, block.T)


@contextmanager
def _opened(source: Source, offset: int, looking: bool) -> Iterator[IO[bytes]]:
    if looking and source.is_pipe:
        yield io.BytesIO(source.head(_LOOK)[offset:])
        return
    with source.stream(offset) as stream:
        yield stream  # type: ignore[misc]


def _fill(file: IO[bytes], buffer: NDArray[np.uint8]) -> int:
    """Read until the buffer is full or the file at its end."""
    view = memoryview(buffer.data)
    filled = 0
    while filled < len(view) and (count := file.readinto(view[filled:])):  # type: ignore[attr-defined]
        filled += count
    return filled


def valid_text(values: NDArray[Any], source: str, first: int) -> NDArray[Any]:
    """The values themselves, unless they are text with characters that do not exist, which NumPy does not look for."""
    if values.dtype.kind == "U" and values.dtype.itemsize and values.size:
        codes = np.ascontiguousarray(values).view(f"{values.dtype.byteorder.replace('|', '=')}u4")
        wrong = np.flatnonzero(codes.reshape(len(values), -1).max(axis=1) > _LAST_CHARACTER)
        if wrong.size:
            raise InvalidDataError(
                f"{source}, row {first + int(wrong[0]) + 1:,}: a text with characters that do not exist; save it again"
            )
    return values


def _cut(source: Source, found: int, promised: int) -> InvalidDataError:
    return InvalidDataError(
        f"{source.name} ends after row {found:,} of the {promised:,} that its header promises; copy it again"
    )
