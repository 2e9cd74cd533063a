"""Rows that were read together, as the kernels take them, and where in the input they end."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Chunk", "Position", "RowError"]

_NO_SPACES = np.empty(0, np.uint8)


class Position(NamedTuple):
    """A place between two rows of the input, from which reading can go on.

    `offset` counts bytes of the decompressed text, or rows of a table; `line` counts lines, or rows, before it.
    """

    source: int = 0  # number of the file
    offset: int = 0
    line: int = 0


class RowError(NamedTuple):
    """What is wrong with a row that was left out.

    >>> print(RowError("a.svm", 7, 12, "expected a number after ':'"))
    a.svm, line 7, column 12: expected a number after ':'
    """

    source: str
    line: int  # from 1
    column: int | str  # byte of the line from 1, or the name of a field; 0 for the whole line
    message: str
    label: str | None = None  # that is neither of the two, where the row was left out for it

    def __str__(self) -> str:
        place = f", column {self.column}" if self.column != 0 else ""
        return f"{self.source}, line {self.line}{place}: {self.message}"


@dataclass(frozen=True)
class Chunk:
    """Rows that were read together.

    Entries of a CSR row have distinct columns and finite values other than 0, in the order of the file.
    """

    rows: Any  # CSR: (data float64, indices uint32, indptr uint32); dense: (n, width) float64 or float32, C-ordered
    width: int  # columns; where they are counted and their number is not known, one more than the largest here
    y: NDArray[np.int8]  # (n,) -1 or +1; 0 for a row without a label
    weight: NDArray[np.float64]  # (n,) importances, or empty: all 1
    end: Position  # where the rows after these begin
    lines: NDArray[np.int64]  # (n,) the line of each row, from 1
    errors: tuple[RowError, ...] = ()  # one for each row that was left out, in order
    spaces: NDArray[np.uint8] = field(
        default_factory=lambda: _NO_SPACES
    )  # CSR: first byte of each entry's namespace, or empty
    crossings: tuple[str, ...] = ()  # namespaces whose features are still to be multiplied
    tags: tuple[str, ...] | None = None  # (n,) names of the rows, where the format has them and they were asked for
    source: str = "input"  # the file's name, for messages

    def __len__(self) -> int:
        return int(self.y.size)

    @property
    def is_sparse(self) -> bool:
        """Whether rows are CSR."""
        return isinstance(self.rows, tuple)

    @property
    def X(self) -> Any:
        r"""The rows as scikit-learn takes them: a dense array, or a SciPy CSR matrix.

        >>> from massart.data.formats.text_format import parse_block
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
