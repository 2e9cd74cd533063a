"""What becomes of the types of Arrow: numbers, names that are hashed, vectors of numbers, or nothing."""

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.formats.arrow_files import pyarrow
from massart.data.formats.table_chunks import Matrix, converted, frozen
from massart.data.formats.table_columns import Feature, Kind
from massart.data.formats.table_labels import as_bytes
from massart.data.limits import TooLarge
from massart.kernels.parsing.tables import hash_texts, put_block

__all__ = ["distinct", "is_float32", "is_text", "kind_of", "name_hashes", "numbers_of", "put_vectors"]

_TEXT: Final = 1 << 26  # bytes of text that are written out at once

Numbers = Callable[[Any], NDArray[Any]]


def kind_of(of: Any) -> Kind:
    """What can be made of a type."""
    types = pyarrow("types")
    if types.is_dictionary(of):
        return "category" if kind_of(of.value_type) in ("number", "category") else "other"
    if types.is_integer(of) or types.is_floating(of) or types.is_boolean(of) or types.is_null(of):
        return "number"
    if types.is_decimal(of):
        return "number"
    if is_text(of) or types.is_date(of):
        return "category"
    if types.is_fixed_size_list(of) or types.is_list(of) or types.is_large_list(of):
        return "vector" if kind_of(of.value_type) == "number" and not types.is_null(of.value_type) else "other"
    return "other"


def is_float32(of: Any) -> bool:
    """Whether the numbers of a type, or those of its lists, are float32."""
    return bool((of.value_type if kind_of(of) == "vector" else of) == pyarrow().float32())


def numbers_of(of: Any, dtype: np.dtype[Any]) -> Numbers:
    """A function from arrays of this type to numbers, with NaN for null; the type is looked at once, not per array."""
    types = pyarrow("types")
    if types.is_null(of):
        return lambda array: np.full(len(array), np.nan, dtype)
    first = "int8" if types.is_boolean(of) else "float64" if types.is_decimal(of) else None

    def numbers(array: Any) -> NDArray[Any]:
        if first is not None:
            array = array.cast(first)
        return converted(array.to_numpy(zero_copy_only=False), dtype)

    return numbers


def name_hashes(array: Any, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The hashes of names, and which of them are there: null, NaN and empty text are not.

    >>> import pyarrow as pa
    >>> hashes, present = name_hashes(pa.array(["7", None, "x", ""]), 5)
    >>> int(hashes[0]), present.tolist()
    (12, [True, False, True, False])
    """
    if is_text(array.type):
        return _text_hashes(array, seed)
    places, values = _encoded(array)
    if not is_text(values.type):
        names = [None if v is None or v != v else as_bytes(v) for v in values.to_pylist()]  # noqa: PLR0124 - NaN
        values = pyarrow().array(names, pyarrow().large_binary())
    hashes, present = _text_hashes(values, seed)
    return np.append(hashes, np.uint32(0))[places], np.append(present, False)[places]


def distinct(array: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Which value each row has, -1 for null, and the values.

    >>> import pyarrow as pa
    >>> distinct(pa.array(["a", None, "b", "a"]))
    (array([ 0, -1,  1,  0]), ['a', 'b'])
    """
    places, values = _encoded(array)
    if not is_text(values.type):
        return places, values.to_pylist()
    texts = values.cast(pyarrow().large_binary()).to_pylist()  # Parquet does not promise that text is UTF-8
    return places, [None if text is None else text.decode(errors="replace") for text in texts]


def put_vectors(array: Any, feature: Feature, matrix: Matrix, name: str) -> None:
    """Fill columns with lists of `feature.size` numbers; null is a row of absent ones, another size is a error."""
    dtype, size = matrix.values.dtype, feature.size
    lengths = array.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    right = lengths == size
    for row in np.flatnonzero(~right & (lengths >= 0)).tolist():
        matrix.errors.setdefault(row, (name, f"expected {size:,} numbers, found {lengths[row]:,}"))
    if not right.all():
        array = array.filter(pyarrow().array(right))
    given = numbers_of(array.type.value_type, dtype)(array.flatten()).reshape(-1, size)
    block = given
    if len(given) < right.size:
        block = np.zeros((right.size, size), dtype)
        block[right] = given
    matrix.large += put_block(matrix.values, feature.first, frozen(block), np.arange(size, dtype=np.uint64))


def is_text(of: Any) -> bool:
    """Whether it is a type of text or bytes."""
    types = pyarrow("types")
    text = types.is_string(of) or types.is_large_string(of) or types.is_binary(of) or types.is_large_binary(of)
    return bool(text or types.is_fixed_size_binary(of) or types.is_string_view(of) or types.is_binary_view(of))


def _encoded(array: Any) -> tuple[NDArray[np.int64], Any]:
    types = pyarrow("types")
    if _is_view(array.type):
        if len(array) and int(_ends(array)[-1]) > _TEXT:
            raise TooLarge("labels that are very long; write -1 and 1")
        array = array.cast(pyarrow().large_binary())
    if not types.is_dictionary(array.type):
        array = array.dictionary_encode()
    places, values = array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False), array.dictionary
    if len(values) > len(array):  # a slice of a few rows does not look through a large dictionary
        used, places = np.unique(places, return_inverse=True)
        absent = int(used.size > 0 and used[0] < 0)
        places, values = places - absent, values.take(pyarrow().array(used[absent:]))
    if values.null_count:
        missing = np.append(values.is_null().to_numpy(zero_copy_only=False), True)
        places = np.where(missing[places], -1, places)
    return places, values


def _is_view(of: Any) -> bool:
    types = pyarrow("types")
    return bool(types.is_string_view(of) or types.is_binary_view(of))


def _ends(array: Any) -> NDArray[np.int64]:
    """How many bytes an array of views has up to each row, were they written one after the other."""
    views = np.frombuffer(array.buffers()[1], np.int32, 4 * len(array), 16 * array.offset)
    return np.cumsum(views[::4], dtype=np.int64)


def _text_hashes(array: Any, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    if _is_view(array.type) and len(array) > 1 and int((ends := _ends(array))[-1]) > _TEXT:
        # Rows may share their bytes, which are written out a part at a time.
        cuts = [0, *(np.flatnonzero(np.diff(ends // _TEXT)) + 1).tolist(), len(array)]
        parts = [_text_hashes(array.slice(a, b - a), seed) for a, b in itertools.pairwise(cuts)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    array = array.cast(pyarrow().large_binary())
    hashes = np.empty(len(array), np.uint32)
    _, where, what = array.buffers()
    offsets = np.frombuffer(where, np.int64, len(array) + 1, 8 * array.offset) if len(array) else np.zeros(1, np.int64)
    text = np.frombuffer(what, np.uint8) if what is not None and what.size else np.zeros(0, np.uint8)
    hash_texts(frozen(text), frozen(offsets), np.uint32(seed), hashes)
    present = np.diff(offsets) > 0
    if array.null_count:
        present &= array.is_valid().to_numpy(zero_copy_only=False)
    return hashes, present
