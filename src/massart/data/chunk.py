"""Rows that were read together, as the kernels take them, and where in the input they end.

`crossed` multiplies the features of namespaces, such as "ab" and "abc": a chunk's rows with their products, one
buffer at a time.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.row_errors import RowError
from massart.errors import InvalidParameterError
from massart.kernels.parsing.hashing import cross_rows
from massart.kernels.parsing.row_errors import LARGEST
from massart.values import Value

__all__ = ["Chunk", "Places", "Position", "RowError", "check_crossings", "crossed", "crossed_whole"]

_NO_SPACES = np.empty(0, np.uint8)
_NO_GROUPS = np.empty((0, 0), object)
_NO_LABELS = np.empty(0)
_BUFFER = 1 << 16  # features: small enough to stay in the processor's cache
_LARGEST = 1 << 24  # features of one row


class Position(NamedTuple):
    """A place between two rows of the input, from which reading can go on.

    `offset` counts bytes of the decompressed text, or rows of a table; `line` counts lines, or rows, before it.
    """

    source: int = 0  # number of the file
    offset: int = 0
    line: int = 0
    marks: tuple[int, ...] = ()  # of a topic: whose turn it is, and offsets of its partitions (`massart.data.io.topic`)


class Places:
    """Which record of a topic each line of a chunk is of."""

    def of(self, line: int) -> tuple[int, int, int]:
        """Partition, offset, and the line of the record, from 1."""
        raise NotImplementedError

    def words(self, line: int) -> str:
        """For messages."""
        raise NotImplementedError


class Chunk(Value):
    """Rows that were read together.

    Entries of a CSR row have distinct columns and finite values other than 0, in the order of the file.
    """

    rows: Any  # CSR: (data float64, indices uint32, indptr uint32); dense: (n, width) float64 or float32, C-ordered
    width: int  # columns; where they are counted and their number is not known, one more than the largest here
    y: NDArray[np.int8]  # (n,) -1 or +1; 0 for a row without a label. Of more than two classes: 1 for one with a label
    weight: NDArray[np.float64]  # (n,) importances, or empty: all 1
    end: Position  # where the rows after these begin
    lines: NDArray[np.int64]  # (n,) the line of each row, from 1
    errors: tuple[RowError, ...] = ()  # one for each row that was left out, in order
    spaces: NDArray[np.uint8] = _NO_SPACES  # CSR: first byte of each entry's namespace, or empty
    crossings: tuple[str, ...] = ()  # namespaces whose features are still to be multiplied
    tags: tuple[str, ...] | None = None  # (n,) names of the rows, where the format has them and they are wanted
    source: str = "input"  # the file's name, for messages
    groups: NDArray[Any] = _NO_GROUPS  # (n, columns of groups) what they hold, None where it is missing; or empty
    labels: NDArray[Any] = _NO_LABELS  # of more than two classes: (n,) numbers or texts; NaN or None without a label
    places: Places | None = None  # which records the lines are of, where they come from a topic

    def __len__(self) -> int:
        return int(self.y.size)

    def error(self, line: int, message: str, label: str | None = None) -> RowError:
        """What is wrong with a whole row of it."""
        return RowError(self.source, line, 0, message, label, self.places.words(line) if self.places else "")

    @property
    def is_sparse(self) -> bool:
        """Whether rows are CSR."""
        return isinstance(self.rows, tuple)

    @property
    def X(self) -> Any:
        r"""The rows as scikit-learn takes them: a dense array, or a SciPy CSR matrix.

        >>> from massart.data.formats.text import parse_block
        >>> from massart.data.schema import Schema
        >>> parse_block(b"1 2:0.5\n", Schema(format="svmlight")).X.toarray()
        array([[0. , 0.5]])
        """
        if not self.is_sparse:
            return self.rows
        from scipy import sparse  # noqa: PLC0415  training from files does without it

        data, indices, indptr = self.rows
        parts = data, indices.view(np.int32), indptr.view(np.int32)
        return sparse.csr_matrix(parts, shape=(len(self), self.width))


def check_crossings(crossings: Sequence[str]) -> None:
    """Raise unless each is two or three letters.

    >>> check_crossings(["ab", "a:", "abc"])
    """
    for letters in crossings:
        if len(letters) not in (2, 3) or any(not 0x20 < ord(letter) < 0x7F or letter == "|" for letter in letters):
            raise InvalidParameterError(
                f"crossing {letters!r}: give the first letters of two or three namespaces; ':' stands for any namespace"
            )


def crossed(chunk: Chunk) -> Iterator[Chunk]:
    """The chunk in parts, each with its products; the chunk itself if nothing is to be crossed.

    A row whose products are too many, or too large, becomes a row error. A part's arrays are used again for the part
    after it.
    """
    if not chunk.crossings:
        yield chunk
        return
    plan = np.zeros((len(chunk.crossings), 3), np.uint8)
    for number, letters in enumerate(chunk.crossings):
        plan[number, : len(letters)] = np.frombuffer(letters.encode("ascii"), np.uint8)
    mask = np.uint32(chunk.width - 1)
    first, buffer, errors = 0, _buffer(_BUFFER), list(chunk.errors)
    while first < len(chunk):
        done, too_large = cross_rows(chunk.rows, chunk.spaces, first, plan, mask, buffer)
        if done == 0 and not too_large and buffer[0].size < _LARGEST:
            buffer = _buffer(4 * buffer[0].size)
            continue
        if done > 0:
            yield _part(chunk, first, done, buffer)
        else:
            words = f"has more than {_LARGEST:,} features" if not too_large else f"has a value above {LARGEST:g}"
            line = int(chunk.lines[first])
            errors.append(chunk.error(line, f"crossed, the row {words}; cross fewer namespaces"))
            done = 1
        first += done
        if buffer[0].size > _BUFFER:
            buffer = _buffer(_BUFFER)
    if errors:
        yield _part(chunk, 0, 0, buffer).replace(errors=tuple(sorted(errors, key=lambda error: error.line)))


def crossed_whole(chunk: Chunk) -> Iterator[Chunk]:
    """The chunk with all its products written out, for a matrix; in several where they are very many."""
    if not chunk.crossings:
        yield chunk
        return
    waiting: list[Chunk] = []
    size = 0
    for part in crossed(chunk):
        if waiting and size + part.rows[0].size > _LARGEST:
            yield _joined(waiting)
            waiting, size = [], 0
        waiting.append(part.replace(rows=tuple(array.copy() for array in part.rows)))
        size += part.rows[0].size
    yield _joined(waiting) if waiting else chunk.replace(spaces=chunk.spaces[:0], crossings=())


def _joined(parts: list[Chunk]) -> Chunk:
    starts = np.cumsum([0, *(part.rows[0].size for part in parts)]).astype(np.uint32)
    indptr = [part.rows[2][1:] + start for part, start in zip(parts, starts, strict=False)]
    rows = (
        np.concatenate([part.rows[0] for part in parts]),
        np.concatenate([part.rows[1] for part in parts]),
        np.concatenate([np.zeros(1, np.uint32), *indptr]),
    )
    last = parts[-1]
    return last.replace(
        rows=rows,
        y=np.concatenate([part.y for part in parts]),
        weight=np.concatenate([part.weight for part in parts]),
        lines=np.concatenate([part.lines for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        tags=None if last.tags is None else tuple(tag for part in parts for tag in part.tags or ()),
        groups=np.concatenate([part.groups for part in parts]),
    )


def _part(chunk: Chunk, first: int, done: int, buffer: Any) -> Chunk:
    last, used = first + done, int(buffer[2][done]) if done else 0
    if not done:
        buffer[2][0] = 0
    return chunk.replace(
        rows=(buffer[0][:used], buffer[1][:used], buffer[2][: done + 1]),
        y=chunk.y[first:last],
        weight=chunk.weight[first:last],
        lines=chunk.lines[first:last],
        labels=chunk.labels[first:last],
        errors=(),
        spaces=chunk.spaces[:0],
        crossings=(),
        tags=None if chunk.tags is None else chunk.tags[first:last],
        groups=chunk.groups[first:last],
    )


def _buffer(size: int) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]:
    return np.empty(size), np.empty(size, np.uint32), np.empty(size + 1, np.uint32)
