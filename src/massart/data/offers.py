"""What was offered in a decision: arms with names, ids or rows, and a context that they share, as hashed columns.

Each arm becomes a row of 2^BITS columns, named by Vowpal Wabbit's hash as `massart.data.hashing` does it:

- an arm's own features: a mapping {name: value}, or a row of numbers, whose places are called [0], [1], ...
- an id without features: the feature `arm=ID` with the value 1
- a shared context, crossed with the arms: with ids, `arm=ID` and its product with every feature of the context, so that
  each id has a block of columns of its own; without ids, the product of each feature of the arm with each of the
  context. A product's column is FNV-1's step on the two columns, as in a crossing `-q` of training files.

A feature of the context alone is the same for every arm, and is not among the columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
from scipy import sparse

from massart.data.hashing import FeatureError, FeatureHasher, name_hash
from massart.data.row_errors import MOST_ENTRIES
from massart.data.schema import Schema
from massart.errors import InvalidDataError, shown
from massart.kernels.parsing.row_errors import LARGEST

__all__ = ["BITS", "WIDTH", "Offer", "crossed", "has_names", "offer_of", "offer_of_ids", "offer_of_matrix",
           "offer_of_record"]  # fmt: skip

BITS: Final = 24
WIDTH: Final = 1 << BITS
_MOST_ARMS: Final = 1 << 16
_MASK: Final = WIDTH - 1
_FNV: Final = 16777619
_PLAIN: Final = frozenset((float, int, str, bool, type(None)))
_TEXT: Final = frozenset((str,))
_DEEPEST: Final = 20  # objects and lists inside one another
_HASHER: Final = FeatureHasher(Schema("jsonl", bits=BITS))
_ARM: Final = "arm"  # the name of the feature that an id is

Pairs = tuple[tuple[str, Any], ...]  # an object of JSON
_Features = Pairs | tuple[float, ...]  # by name, or a row
_Row = dict[int, float]  # column -> value


class Offer:
    """The arms of one decision; nothing in it can be changed.

    >>> offer = offer_of({"news": None, "sport": None}, {"age": 31, "town": "Rome"})
    >>> offer.ids, offer.matrix().shape, offer.matrix().nnz
    (('news', 'sport'), (2, 16777216), 6)
    >>> sorted(offer.names().values())[:3]
    ['arm=news', 'arm=news * age', 'arm=news * town=Rome']
    """

    __slots__ = ("_context", "_features", "ids", "rows")

    ids: tuple[str | int, ...] | None
    rows: tuple[_Row, ...]  # of each arm, in the order in which its features were given
    _features: tuple[_Features | None, ...]  # empty if they were hashed before
    _context: _Features | None

    def __init__(self, ids: Any, features: Any, context: Any, rows: Any) -> None:
        self.ids, self._features, self._context, self.rows = ids, features, context, rows

    def matrix(self) -> "sparse.csr_array":
        """(k, 2^BITS), columns in order."""
        starts = np.cumsum([0, *map(len, self.rows)])
        columns = np.fromiter((column for row in self.rows for column in sorted(row)), np.int32, int(starts[-1]))
        values = np.fromiter((row[column] for row in self.rows for column in sorted(row)), np.float64, int(starts[-1]))
        return sparse.csr_array((values, columns, starts.astype(np.int32)), shape=(len(self.rows), WIDTH))

    def record(self) -> dict[str, Any]:
        """The fields `ids`, `features` and `context` of a record of a log; `offer_of_record` gives the offer back."""
        if not self._features:  # they were hashed before they came here
            return {}
        found: dict[str, Any] = {} if self.ids is None else {"ids": list(self.ids)}
        if any(features is not None for features in self._features):
            found["features"] = [_for_json(features) for features in self._features]
        return found if self._context is None else found | {"context": _for_json(self._context)}

    def names(self) -> dict[int, str]:
        """What each column is called; of two names that share a column, the first."""
        found = {} if self._features or not self.ids else {_id_column(one): f"{_ARM}={one}" for one in self.ids}
        context = [] if self._context is None else list(_leaves(self._context))
        for place, given in enumerate(self._features):
            own = [] if given is None else list(_leaves(given))
            block = [(_id_column(self.ids[place]), f"{_ARM}={self.ids[place]}")] if self.ids is not None else []
            if given is None or self._context is not None:
                own += block
            for column, name in own:
                found.setdefault(column, name)
            for column, name in (block or own) if context else ():
                for other, its_name in context:
                    found.setdefault(_product(column, other), f"{name} * {its_name}")
        return found


def has_names(arms: Any) -> bool:
    """Whether arms are more than rows of numbers: mappings, ids, or ids with features."""
    if isinstance(arms, (Mapping, Offer)):
        return True
    if not isinstance(arms, (list, tuple)) or not arms:
        return False
    first = arms[0]
    return isinstance(first, (Mapping, str)) or type(first) is int or _is_pair(first)


def offer_of(arms: Any, context: Any = None) -> Offer:
    """The offer of arms as people have them: see the module. Whatever cannot be one raises an error that says where.

    >>> offer_of([{"price": 2.5}, {"price": 3.0}]).ids
    >>> offer_of([("a", {"price": 2.5}), ("b", {"price": 3.0})]).ids
    ('a', 'b')
    """
    return _offer(*_split(arms), context)


def _offer(ids: tuple[str | int, ...] | None, features: list[Any], context: Any) -> Offer:
    if not 1 <= len(features) <= _MOST_ARMS:
        raise InvalidDataError(f"arms: there are {len(features):,}, give 1 to {_MOST_ARMS:,}")
    if ids is not None and len(set(map(str, ids))) != len(ids):
        texts = [str(one) for one in ids]
        raise InvalidDataError(
            f"arms: the id {shown(max(texts, key=texts.count))} stands there twice; give each arm its own"
        )
    known = _HASHER.rows(features)
    frozen = tuple(
        None if one is None else _frozen(one, f"arms[{place}]") if row is None else tuple(one.items())
        for place, (one, row) in enumerate(zip(features, known, strict=True))
    )
    shared = None if context is None else _frozen(context, "context")
    return _encoded(ids, frozen, shared, known)


def offer_of_matrix(data: Any, columns: Any, starts: Any) -> Offer:
    """The parts of a CSR matrix of 2^BITS hashed columns that was checked; nothing in it has a name."""
    values, places, rows = data.tolist(), columns.tolist(), []
    for begin, end in pairwise(starts.tolist()):
        rows.append(dict(zip(places[begin:end], values[begin:end], strict=True)))
    return Offer(None, (), None, tuple(rows))


def offer_of_ids(ids: tuple[str | int, ...], context: _Row) -> Offer:
    """Ids with a shared context that is hashed already, as that of VW's text; it has no names."""
    rows = tuple(_block(one, context) for one in ids)
    return Offer(ids, (), None, rows)


def crossed(own: _Row, shared: _Row, mask: int = _MASK) -> _Row:
    """The features of an arm, and their products with those that all arms share.

    >>> crossed({5: 2.0}, {}), len(crossed({5: 2.0, 6: 1.0}, {7: 3.0}))
    ({5: 2.0}, 4)
    """
    whole = dict(own)
    for column, value in own.items():
        _add(whole, column, value, shared, mask)
    return whole


def _add(whole: _Row, column: int, value: float, shared: _Row, mask: int = _MASK) -> None:
    half = column * _FNV
    for other, factor in shared.items():
        place = (half ^ other) & mask
        whole[place] = whole.get(place, 0.0) + value * factor


def _product(column: int, other: int) -> int:
    return (column * _FNV ^ other) & _MASK


def _block(one: str | int, context: _Row) -> _Row:
    column = _id_column(one)
    whole = {column: 1.0}
    _add(whole, column, 1.0, context)
    return whole


@lru_cache(1 << 14)
def _id_column(one: str | int) -> int:
    return name_hash(str(one).encode(errors="surrogatepass"), name_hash(_ARM)) & _MASK


def _split(arms: Any) -> tuple[tuple[str | int, ...] | None, list[Any]]:
    """Ids, or None, and features of the arms."""
    if isinstance(arms, Mapping):
        return tuple(_checked_id(one) for one in arms), list(arms.values())
    if not isinstance(arms, (list, tuple)) or not arms:
        return None, _numbers(arms, "arms", 2)
    first = arms[0]
    if isinstance(first, str) or type(first) is int:
        return tuple(_checked_id(one) for one in arms), [None] * len(arms)
    if isinstance(first, Mapping):
        return None, list(arms)
    if _is_pair(first):
        for place, one in enumerate(arms):
            if not _is_pair(one):
                raise InvalidDataError(f"arms[{place}] is {shown(one)}: give pairs (id, features) for all arms")
        return tuple(_checked_id(one[0]) for one in arms), [one[1] for one in arms]
    return None, _numbers(arms, "arms", 2)


def _is_pair(one: Any) -> bool:
    is_pair = isinstance(one, (tuple, list)) and len(one) == 2 and (isinstance(one[0], str) or type(one[0]) is int)
    return is_pair and (isinstance(one[1], (Mapping, list, tuple)) or getattr(one[1], "ndim", 0) == 1)


def _checked_id(one: Any) -> str | int:
    if type(one) is str and one:
        return one
    if type(one) is int and abs(one) < 1 << 63:
        return one
    if hasattr(one, "item") and getattr(one, "ndim", 1) == 0:
        return _checked_id(one.item())
    raise InvalidDataError(f"arms: {shown(one)} is no id; give a text or a whole number of 64 bits for each arm")


def _numbers(given: Any, where: str, dimensions: int) -> Any:
    """Rows of numbers as lists, or one row."""
    try:
        array = np.asarray(given.toarray() if sparse.issparse(given) else given)
        if array.dtype == bool and where == "context":
            raise InvalidDataError("context is a list of booleans: pass a mask of arms that may be played as allowed=")
        if array.dtype.kind not in "fiub" or array.ndim != dimensions:
            raise TypeError
        return array.astype(np.float64).tolist()
    except InvalidDataError:
        raise
    except Exception:  # whatever an object says when it is asked for its numbers
        kinds = "a mapping {name: value} or a row of numbers"
        if dimensions == 2:
            kinds = "rows, mappings {name: value}, ids, or ids with features, the same for all arms"
        raise InvalidDataError(f"{where} is a {type(given).__name__}: give {kinds}") from None


def _frozen(given: Any, where: str) -> _Features:
    """Features that nobody can change any more: pairs of names and values, or a row."""
    if isinstance(given, Mapping):
        return _pairs(given, where, 0)
    return tuple(_numbers(given, where, 1))


def _pairs(given: Mapping[Any, Any], where: str, depth: int) -> Pairs:
    if type(given) is dict and _PLAIN.issuperset(map(type, given.values())) and _TEXT.issuperset(map(type, given)):
        return tuple(given.items())  # this is nearly all there is
    found = []
    for name, value in given.items():
        if type(name) is not str:
            raise InvalidDataError(f"{where}: {shown(name)} is no name of a feature; give a text")
        found.append((name, value if type(value) in _PLAIN else _value(value, f"{where}.{name[:40]}", depth + 1)))
    return tuple(found)


def _value(value: Any, where: str, depth: int) -> Any:
    """A value that is no plain number or text: as those of JSON, objects as pairs."""
    if depth > _DEEPEST:
        raise InvalidDataError(f"{where}: objects and lists are nested more than {_DEEPEST} deep; flatten the features")
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return _pairs(value, where, depth)
    if isinstance(value, (list, tuple)):
        return [_value(one, f"{where}[{place}]", depth + 1) for place, one in enumerate(value)]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiubU" and value.ndim <= 1:
        return value.tolist()
    if isinstance(value, (str, float, int)):  # a subclass
        return next(kind(value) for kind in (str, float, int) if isinstance(value, kind))
    raise InvalidDataError(f"{where} is a {type(value).__name__}: give a number, a text, true, false, or objects and "
                           "lists of these")  # fmt: skip


def _row(features: _Features, where: str) -> _Row:
    if features and type(features[0]) is float:
        row = {column: value for column, value in zip(_places(len(features)), features, strict=True) if value != 0.0}
        if not all(-LARGEST <= value <= LARGEST for value in row.values()):
            raise InvalidDataError(
                f"{where} holds NaN or a number above {LARGEST:g} in size: leave it out, or scale it"
            )
        return row
    try:
        return _HASHER.row(features, frozenset()).values  # type: ignore[arg-type]
    except FeatureError as error:
        field, message = error.args
        raise InvalidDataError(f"{where}.{str(field)[:40]}: {message}" if field else f"{where}: {message}") from None


@lru_cache(64)
def _places(count: int) -> tuple[int, ...]:
    """The columns of a row's places."""
    return tuple(name_hash(f"[{place}]") & _MASK for place in range(count))


def _encoded(
    ids: Any, features: tuple[_Features | None, ...], context: _Features | None, known: list[_Row | None]
) -> Offer:
    """`known` are the rows of features that were hashed already."""
    shared = {} if context is None else _row(context, "context")
    rows, entries = [], 0
    for place, given in enumerate(features):
        row = known[place]
        own = {} if given is None else _row(given, f"arms[{place}]") if row is None else row
        entries += len(own) + (len(own) if ids is None else 1) * len(shared)
        if entries > MOST_ENTRIES:
            raise InvalidDataError(
                f"arms: with the context they have more than {MOST_ENTRIES:,} features in all; give fewer, or ids, "
                "with which the context is crossed instead of with every feature of an arm"
            )
        if ids is None:
            own = crossed(own, shared) if shared else own
        elif given is None or context is not None:
            for column, value in _block(ids[place], shared).items():
                own[column] = own.get(column, 0.0) + value
        rows.append(own)
    return Offer(ids, features, context, tuple(rows))


def _for_json(features: Any) -> Any:
    """As JSON has it: rows are lists, pairs objects."""
    if features is None:
        return None
    if features and type(features[0]) is float:
        return list(features)
    return {name: _plain_json(value) for name, value in features}


def _plain_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return {name: _plain_json(one) for name, one in value}
    return [_plain_json(one) for one in value] if isinstance(value, list) else value


def _leaves(features: _Features) -> Iterator[tuple[int, str]]:
    """Column and name of each feature."""
    if features and type(features[0]) is float:
        yield from ((column, f"[{place}]") for place, column in enumerate(_places(len(features))))
        return
    for name, value in features:  # type: ignore[misc]
        yield from _leaf(value, str(name), lambda one, name=name: ((name, one),))


def _leaf(value: Any, name: str, wrap: Any) -> Iterator[tuple[int, str]]:
    """`wrap` puts a value where it stands, so that the hasher says which column that is."""
    if isinstance(value, tuple):
        for inner, one in value:
            yield from _leaf(one, f"{name}.{inner}", lambda v, inner=inner: wrap(((inner, v),)))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            label = name if isinstance(one, (str, tuple)) else f"{name}[{place}]"
            yield from _leaf(one, label, lambda v, place=place: wrap([*[None] * place, v]))
    else:
        for column in _HASHER.row(wrap(value), frozenset()).values:
            yield column, f"{name}={value}" if isinstance(value, str) else name


def offer_of_record(fields: Mapping[str, Any]) -> Offer:
    """The offer of a record of a log, with the fields that `Offer.record` writes."""
    ids, features, context = fields.get("ids"), fields.get("features"), fields.get("context")
    if ids is not None and not (isinstance(ids, Sequence) and not isinstance(ids, str)):
        raise InvalidDataError("ids: they are not a list; write the id of every arm")
    if features is not None and (not isinstance(features, list) or (ids is not None and len(ids) != len(features))):
        raise InvalidDataError("features: they are not a list with one object or row for each arm; write it so")
    if ids is None and features is None:
        raise InvalidDataError("context: neither ids nor features say which arms there were; write ids or features")
    own = None if ids is None else tuple(_checked_id(one) for one in ids)
    return _offer(own, features if features is not None else [None] * len(own or ()), context)
