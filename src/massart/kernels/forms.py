"""Forms of data that a door refuses before it looks at a number: sparse matrices that do not fit together, and masks.

SciPy's loops check no index either, so a sparse matrix that somebody put together by hand is checked before SciPy turns
it into another form.
"""

import sys
from typing import Any

import numpy as np

from massart.errors import InvalidDataError

__all__ = ["check_form", "check_mask", "check_sparse_parts"]

# The arrays of SciPy's sparse forms: the values, and then those that say where the values are.
_SPARSE_PARTS = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}


def check_form(X: Any) -> bool:
    """Whether rows are a sparse matrix; one that does not fit together is refused, and so are masked values."""
    sparse = sys.modules.get("scipy.sparse")  # not imported here: whoever has a sparse matrix has done so
    if sparse is not None and sparse.issparse(X):
        _check_sparse(X)
        return True
    check_mask(X, "X")
    return False


def _check_sparse(X: Any) -> None:
    """Refuse a sparse matrix that SciPy could not turn into a CSR one safely: its loops check no index either."""
    try:
        check_sparse_parts(X)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"The sparse matrix X of shape {X.shape} does not fit together ({error}): build it again with SciPy. "
            "Nothing was learned from this batch."
        ) from None
    if X.dtype.kind not in "fiub" or X.ndim != 2:
        raise InvalidDataError(
            f"X is a sparse array of {X.dtype} with {X.ndim} dimensions: give real numbers, one row per example"
        )


def check_sparse_parts(X: Any) -> None:
    """A TypeError or ValueError if the arrays of a sparse matrix do not fit together; CSR has a door of its own."""
    if X.ndim != 2:
        return
    if X.format not in _SPARSE_PARTS:  # Python's lists or dictionaries, of which SciPy trusts the lengths alone
        if X.format == "lil" and (
            X.rows.shape != X.shape[:1] or [len(row) for row in X.rows] != [len(row) for row in X.data]
        ):
            raise ValueError("it does not have one column per value")
        X.tocsr()
        return
    values, *places = (getattr(X, name) for name in _SPARSE_PARTS[X.format])
    if not all(isinstance(part, np.ndarray) for part in (values, *places)):
        raise TypeError("its values and indices are not arrays")
    if not all(np.can_cast(part.dtype, np.int64) for part in places):
        raise TypeError("its indices are not signed whole numbers")
    if X.format in ("csc", "bsr"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        for part, size in zip(places, X.shape, strict=True):
            if part.shape != values.shape or (part.size and not 0 <= part.min() <= part.max() < size):
                raise ValueError("it has entries outside its shape")
    elif X.format == "dia" and not (values.ndim == 2 and places[0].shape == values.shape[:1]):
        raise ValueError("it does not have one offset per diagonal")


def check_mask(array: Any, name: str) -> None:
    """Refuse an array some of whose values are masked: what lies below the mask is no data."""
    if isinstance(array, np.ma.MaskedArray) and bool(np.ma.getmaskarray(array).any()):
        raise InvalidDataError(
            f"{name} is a masked array with values that are masked: drop those rows or fill the values. "
            "Nothing was learned from this batch."
        )
