"""Named features to columns: VW's hash, so that a stream needs no vocabulary, and the features of JSON objects.

Objects and arrays inside an object are namespaces:

- `{"age": 31}`: age:31
- `{"new": true}`: new:1; false and null are nothing
- `{"town": "Rome"}`: the text hashed on top of the name, with value 1; an empty text is nothing
- `{"user": {"age": 31}}`: age:31 in the namespace user; deeper ones are called user.home, say
- `{"v": [3, 5]}`: [0]:3 and [1]:5 in the namespace v
- `{"tags": ["a", "b"]}`: one feature for each text, as if it were the only one
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from massart.data.formats.labels import as_bytes
from massart.data.row_errors import sentence
from massart.data.schema import Schema
from massart.kernels.parsing import row_errors as codes
from massart.kernels.parsing.hashing import vw_hash
from massart.kernels.parsing.offers import hashed_rows

__all__ = ["TOO_DEEP", "FeatureError", "FeatureHasher", "Pairs", "name_hash"]

_KEPT: Final = 1 << 16  # hashes that are remembered
_LONG: Final = 64  # characters of a name whose hash is not
_SHOWN: Final = 64  # bytes of a number in a message
_DEEPEST: Final = 100  # objects and arrays inside one another; Python's own limit depends on who calls

TOO_DEEP: Final = f"objects and arrays are nested more than {_DEEPEST} deep"

Pairs = Iterable[tuple[str, Any]]  # an object of JSON, with all its fields even if two have one name


class FeatureError(Exception):
    """A value that no feature may have: the name of its field or 0, and a message."""


class _Space(NamedTuple):
    """A namespace."""

    path: str = ""
    seed: int = 0
    first: int = ord(" ")  # byte of its name
    depth: int = 0


class _Row(NamedTuple):
    """What is known of a row so far, by column."""

    values: dict[int, float]
    spaces: dict[int, int]  # empty if nothing is crossed


def name_hash(name: str | bytes, seed: int = 0) -> int:
    """32 bits for a name; the seed is the hash of what the name stands in, such as a namespace.

    >>> name_hash("13"), name_hash("age") == name_hash("age", name_hash("user"))
    (13, False)
    """
    text = np.frombuffer(name.encode() if isinstance(name, str) else name, np.uint8)
    return int(vw_hash(text, np.uint64(0), np.uint64(text.size), np.uint32(seed)))


def _hash(name: str, seed: int) -> int:
    return _new_hash(name, seed) if len(name) > _LONG else _remembered(name, seed)


def _new_hash(name: str, seed: int) -> int:
    return name_hash(name.encode(errors="surrogatepass"), seed)


_remembered = lru_cache(_KEPT)(_new_hash)


def _space(path: str, depth: int) -> _Space:
    return _new_space(path, depth) if len(path) > _LONG else _remembered_space(path, depth)


def _new_space(path: str, depth: int) -> _Space:
    if depth > _DEEPEST:
        raise FeatureError(0, TOO_DEEP)
    first = path.encode(errors="surrogatepass")[:1] or b" "
    return _Space(path, _new_hash(path, 0), first[0], depth)


_remembered_space = lru_cache(_KEPT)(_new_space)


class FeatureHasher:
    """Objects to columns; objects come as tuples of pairs.

    >>> hasher = FeatureHasher(Schema(bits=18))
    >>> row = hasher.row((("7", 2.5), ("town", "Rome"), ("v", [3, 0]), ("7", 1), ("old", False)), frozenset())
    >>> row.values == {
    ...     7: 3.5,
    ...     name_hash("Rome", name_hash("town")) % 2**18: 1.0,
    ...     name_hash("[0]", name_hash("v")) % 2**18: 3.0,
    ... }
    True
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._mask = (1 << (schema.bits or 0)) - 1
        self._ignored = frozenset(schema.ignore)
        self._categories = frozenset(schema.categorical)
        self._crossed = bool(schema.crossings)
        self._columns: dict[str, int] = {}  # of numbers that stand in no namespace
        self._texts: dict[tuple[str, str], int] = {}  # likewise of texts, by name and text

    def row(self, pairs: Pairs, other: frozenset[str]) -> _Row:
        """Value and, where namespaces are crossed, first byte of the namespace for each column.

        `other`: fields of the object that are no features.
        """
        row = _Row({}, {})
        values, known, texts = row.values, self._columns, self._texts
        for pair in pairs:
            name, value = pair
            if name in other:
                continue
            if type(value) is float:
                column = known.get(name)
                if column is not None and column not in values and -codes.LARGEST <= value <= codes.LARGEST:
                    if value:  # this is nearly all of most files
                        values[column] = value
                    continue
            elif type(value) is str:
                column = texts.get(pair)
                if column is not None and column not in values:
                    values[column] = 1.0
                    continue
            self._field(row, name, value, _Space())
        if 0.0 in values.values():
            return _Row({column: value for column, value in values.items() if value != 0.0}, row.spaces)
        return row

    def rows(self, objects: list[Any]) -> list[dict[int, float] | None]:
        """The values of dicts that have nothing but names and texts that are remembered; None for each other object.

        >>> hasher = FeatureHasher(Schema(bits=18))
        >>> values = hasher.row((("7", 2.5),), frozenset()).values
        >>> hasher.rows([{"7": 2.5}, {"town": "Rome"}]) == [values, None]
        True
        """
        return hashed_rows(objects, self._columns, self._texts, codes.LARGEST)

    def _field(self, row: _Row, name: str, value: Any, space: _Space) -> None:
        kind = type(value)
        whole = f"{space.path}.{name}" if space.path else name
        if whole in self._ignored:
            return
        is_name = whole in self._categories
        if kind is tuple:
            own = _space(whole, space.depth + 1)
            for inner, inner_value in value:
                self._field(row, inner, inner_value, own)
        elif kind is list:
            self._array(row, value, name, whole, space)
        else:
            self._scalar(row, name, value, space, is_name=is_name)
            if not (is_name or self._crossed or space.path) and len(name) <= _LONG:
                self._remember(name, value)

    def _remember(self, name: str, value: Any) -> None:
        """The column of a feature that stands in no namespace, if there is room."""
        if type(value) is float or isinstance(value, int):
            if len(self._columns) < _KEPT:
                self._columns[name] = _hash(name, 0) & self._mask
        elif type(value) is str and 0 < len(value) <= _LONG and len(self._texts) < _KEPT:
            self._texts[name, value] = _hash(value, _hash(name, 0)) & self._mask

    def _array(self, row: _Row, values: list[Any], name: str, whole: str, space: _Space) -> None:
        own, is_name = _space(whole, space.depth + 1), whole in self._categories
        for i, value in enumerate(values):
            kind = type(value)
            if kind is tuple:
                for inner, inner_value in value:
                    self._field(row, inner, inner_value, own)
            elif kind is list:
                self._array(row, value, f"[{i}]", f"{whole}[{i}]", own)
            elif kind is str or is_name:
                self._scalar(row, name, value, space, is_name=is_name)
            else:
                self._scalar(row, f"[{i}]", value, own)

    def _scalar(self, row: _Row, name: str, value: Any, space: _Space, *, is_name: bool = False) -> None:
        """A number, a text, true, false or null."""
        number = 1.0
        if type(value) is str:
            if not value:
                return
            column = _hash(value, _hash(name, space.seed)) & self._mask
        elif value is None or not (value or is_name):
            return
        elif is_name:
            column = name_hash(as_bytes(value), _hash(name, space.seed)) & self._mask
        else:
            if not -codes.LARGEST <= value <= codes.LARGEST:
                code = codes.TOO_LARGE if abs(value) < float("inf") else codes.NOT_FINITE
                whole = f"{space.path}.{name}" if space.path else name
                raise FeatureError(whole, sentence(code, as_bytes(value)[:_SHOWN], self._schema))
            column = _hash(name, space.seed) & self._mask
            number = float(value)
        values = row.values
        values[column] = values[column] + number if column in values else number
        if self._crossed:
            row.spaces.setdefault(column, space.first)
