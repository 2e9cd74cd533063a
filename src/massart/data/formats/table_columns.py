"""Which columns of a table are the label, the weight and the features, and which numbers the features get."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple

from massart.data.formats.labels import is_number
from massart.data.hashing import name_hash
from massart.data.schema import BITS, MOST_COLUMNS, Schema
from massart.errors import InvalidDataError
from massart.values import Value

__all__ = [
    "LABELS",
    "Column",
    "Feature",
    "Layout",
    "asked_columns",
    "check_columns",
    "choose",
    "column_warning",
    "completed",
    "has_comma",
    "label_name",
    "missing",
    "number_style",
]

LABELS: Final = ("label", "y", "target", "class")  # what a column of labels is called, if nothing was said
_LISTED: Final = 12  # names that a message lists
_ELEMENT: Final = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)

_LONGEST: Final = 24  # characters of a value in a message
_LONG_NAME: Final = 100  # characters of a name in a message
_COMPARED: Final = 1000  # names that a misspelt one is compared with


def _written(decimal: str, group: str) -> re.Pattern[str]:
    """Numbers as people write them: with a currency, groups of three digits, or a percent sign.

    `massart.kernels.parsing.csv.plain_number` reads the same ones.
    """
    blank, currency = "[ \\t\u00a0\u202f]", "[$\u00a2-\u00a5\u20a0-\u20cf]"
    before = f"(?:[+-]?{blank}*(?:{currency}{blank}*)?|{currency}{blank}*[+-]?{blank}*)"
    groups = f"[0-9]{{1,3}}(?P<group>{group}|['\u2019]|{blank})[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*(?![0-9])"
    digits = f"(?:(?:{groups}|[0-9]+)(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    return re.compile(f"{blank}*{before}{digits}{blank}*(?:{currency}{blank}*)?%?")


_WITH_POINT, _WITH_COMMA = _written(r"\.", ","), _written(",", r"\.")

Kind = Literal["number", "category", "vector", "other"]


class Column(NamedTuple):
    """A column of a file, and what can be made of its type."""

    name: str
    kind: Kind
    size: int = 1  # elements of a vector, 0 if that is not known
    type: str = ""  # as the file calls it
    is_flag: bool = False  # a number that is only true or false


class Feature(NamedTuple):
    """A column of the file that becomes `size` columns of the matrix, from `first` on."""

    column: int
    kind: Kind
    first: int
    size: int = 1


class Layout(Value):
    """What the columns of a file, counted from 0, are for."""

    label: int | None
    weight: int | None
    features: tuple[Feature, ...]
    groups: tuple[int, ...] = ()

    @cached_property
    def width(self) -> int:
        """Columns of the matrix before any hashing."""
        return sum(feature.size for feature in self.features)


def choose(columns: Sequence[Column], schema: Schema, where: str, *, labelled: bool) -> Layout:
    """What each column is for: as asked, or by name; features are all the others.

    Once `schema.columns` is known, features are the columns of these names, wherever they stand in the file.

    >>> table = Column("age", "number"), Column("y", "number"), Column("town", "category")
    >>> layout = choose(table, Schema(), "a.parquet", labelled=True)
    >>> layout.label, [table[feature.column].name for feature in layout.features]
    (1, ['age', 'town'])
    """
    check_columns(sum(column.size for column in columns), where)
    names = [column.name for column in columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InvalidDataError(f"{where}: several columns are called {_cut(twice[0])!r}; give each a name of its own")
    label, weight = _label(names, schema, where, labelled), None
    if schema.weight is not None:
        weight = _find(schema.weight, names, schema)
        if weight is None and labelled:
            raise missing(where, schema.weight, names, "the weight", "weight")
    if label is not None and columns[label].kind not in ("number", "category"):
        raise InvalidDataError(f"{where}: the label's column {names[label]!r} holds {columns[label].type}, not labels")
    if weight is not None and columns[weight].kind != "number":
        raise InvalidDataError(
            f"{where}: the weight's column {names[weight]!r} holds {columns[weight].type}, not numbers"
        )
    groups = tuple(_group(name, columns, schema, where) for name in schema.groups)
    if schema.columns is not None:
        return Layout(label, weight, _features_named(columns, schema, where), groups)
    taken = {label, weight, *asked_columns(schema.ignore, names, schema, where, "ignore")}
    categories = asked_columns(schema.categorical, names, schema, where, "categorical")
    features: list[Feature] = []
    first = 0
    for number, column in enumerate(columns):
        if number in taken:
            continue
        kind: Kind = "category" if number in categories else column.kind
        if column.kind == "other" or (column.kind == "vector" and (kind != "vector" or not column.size)):
            raise InvalidDataError(
                f"{where}: column {_cut(column.name)!r} holds {_cut(column.type)}, of which no features can be made: "
                f"leave it out with `ignore=[{_cut(column.name)!r}]`"
            )
        features.append(Feature(number, kind, first, column.size))
        first += column.size
    if not first:
        raise InvalidDataError(f"{where}: no column is left for the features; there are {_listed(names)}")
    return Layout(label, weight, tuple(features), groups)


def _group(asked: str, columns: Sequence[Column], schema: Schema, where: str) -> int:
    """The column of some groups."""
    names = [column.name for column in columns]
    found = _find(asked, names, schema)
    if found is None:
        raise missing(where, asked, names, "of groups", "groups")
    if columns[found].kind not in ("number", "category"):
        raise InvalidDataError(f"{where}: column {_cut(names[found])!r} holds {columns[found].type}, not groups")
    return found


def completed(columns: Sequence[Column], layout: Layout, schema: Schema) -> Schema:
    """The schema with the names of all columns; text, crossings or given bits make it a hashed one.

    >>> table = Column("y", "number"), Column("pixels", "vector", 3)
    >>> layout = choose(table, Schema(), "a.parquet", labelled=True)
    >>> completed(table, layout, Schema()).columns
    ('pixels[0]', 'pixels[1]', 'pixels[2]')
    """
    names, categories = [], []
    for feature in layout.features:
        name = columns[feature.column].name
        names += [name] if feature.kind != "vector" else [f"{name}[{i}]" for i in range(feature.size)]
        categories += [name] * (feature.kind == "category")
    hashed = bool(categories or schema.crossings or schema.bits is not None)
    ignored = [_find(one, [column.name for column in columns], schema) for one in schema.ignore]
    return schema.replace(
        label=None if layout.label is None else columns[layout.label].name,
        weight=schema.weight if layout.weight is None else columns[layout.weight].name,
        ignore=tuple(columns[number].name for number in ignored if number is not None),
        groups=tuple(columns[number].name for number in layout.groups),
        columns=tuple(names),
        categorical=tuple(categories),
        bits=(schema.bits or BITS) if hashed else None,
        features=None if hashed else len(names),
    )


def check_columns(count: int, where: str) -> None:
    """Refuse a table with more columns than a table may have."""
    if count > MOST_COLUMNS:
        raise InvalidDataError(
            f"{where} has {count:,} columns, the elements of lists included, more than the {MOST_COLUMNS:,} a table "
            "may have: write rows with few features as svmlight or VW text"
        )


def column_hashes(columns: Sequence[Column], layout: Layout, schema: Schema) -> tuple[list[int], bytes]:
    """The hash of every column of the matrix, and the first byte of its name; the schema must be complete.

    An element of a vector is hashed like an element of an array in JSON: "[i]" in the namespace of the vector's name.

    >>> table = Column("y", "number"), Column("v", "vector", 2), Column("7", "number")
    >>> layout = choose(table, Schema(), "a.parquet", labelled=True)
    >>> hashes, spaces = column_hashes(table, layout, completed(table, layout, Schema()))
    >>> hashes[0] == name_hash("[0]", name_hash("v")), hashes[2], spaces
    (True, 7, b'vv7')
    """
    hashes, spaces = [], bytearray()
    for feature in layout.features:
        known = schema.columns[feature.first] if schema.columns is not None else ""
        name = (columns[feature.column].name if feature.kind == "vector" else known).encode(errors="surrogatepass")
        own = name_hash(name)
        hashes += [own] if feature.kind != "vector" else [name_hash(f"[{i}]", own) for i in range(feature.size)]
        spaces += (name[:1] or b" ") * feature.size
    return hashes, bytes(spaces)


def label_name(names: Iterable[str]) -> str | None:
    """The column that is the label by its name, if there is one.

    >>> label_name(["Class", "x", "Y"])
    'Y'
    """
    found = {name.lower(): name for name in reversed(list(names))}
    return next((found[name] for name in LABELS if name in found), None)


def number_style(text: str) -> str | None:
    """How a number is written: "plain", with a decimal "point" or "comma" beside other signs, or None if it is none.

    >>> [number_style(text) for text in ("-1.5e3", "$50.00", "1,234.5", "12 %", "2,5", "1.234,5 €", "12:30", "n/k")]
    ['plain', 'point', 'point', 'point', 'comma', 'comma', None, None]
    """
    if is_number(text):
        return "plain"
    return "point" if _WITH_POINT.fullmatch(text) else "comma" if _WITH_COMMA.fullmatch(text) else None


def has_comma(text: str) -> bool:
    """Whether it is a number if the comma is the decimal sign.

    >>> [has_comma(text) for text in ("2,5", "1.234", "1.5", "7")]
    [True, True, False, True]
    """
    return _WITH_COMMA.fullmatch(text) is not None


def column_warning(where: str, column: str, texts: Sequence[str], others: tuple[int, int], remedy: str) -> str | None:
    """A message if most values of a column that is read as names look like numbers; None if they do not.

    `texts` are the first values that are no numbers, or are text; `others` is how many more of these there are, and
    how many numbers. In the remedy {option} becomes what CSV needs.

    >>> column_warning("a.csv", "price", ["$50.00", "$7", "free"], (0, 0), "read them as numbers with {option}")
    "a.csv, column 'price': 2 of the first 3 values look like numbers, as '$50.00' does, but the column is read as text,
    each value a feature of its own; read them as numbers with `numbers=['price']`"
    """
    if not texts:
        return None
    styles = [_WITH_POINT, _WITH_COMMA]
    pattern = max(styles, key=lambda style: sum(style.fullmatch(text) is not None for text in texts))
    like = [text for text in texts if pattern.fullmatch(text)]
    more, numbers = others
    total = len(texts) + more + numbers
    seeming = numbers + len(like) + round(more * len(like) / len(texts))
    odd = next((text for text in texts if not pattern.fullmatch(text)), None)
    marked = next((text for text in like if not is_number(text)), None)
    if 2 * seeming <= total or (marked is None and (odd is None or not numbers)):
        return None
    why = f"as {_shown(marked)} does, but" if marked is not None else f"but as {_shown(odd or '')} does not,"
    option = f"`numbers=[{column!r}]`" + (" and `decimal=','`" if pattern is _WITH_COMMA else "")
    return (
        f"{where}, column {column!r}: {seeming:,} of the first {total:,} values look like numbers, {why} the column is "
        f"read as text, each value a feature of its own; {remedy.format(option=option, name=repr(column))}"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")


def missing(where: str, asked: str, names: Sequence[str], what: str, parameter: str) -> InvalidDataError:
    """There is no such column.

    >>> print(missing("a.csv", "lable", ["label", "x"], "the label", "label"))
    a.csv has no column 'lable' (the label); did you mean 'label'? It has 'label', 'x': choose with `label`
    """
    close = difflib.get_close_matches(asked[:_LONG_NAME], [name[:_LONG_NAME] for name in names[:_COMPARED]], 1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    there = f"It has {_listed(names)}"
    return InvalidDataError(
        f"{where} has no column {_cut(asked)!r} ({_cut(what)}){hint} {there}: choose with `{parameter}`"
    )


def _label(names: Sequence[str], schema: Schema, where: str, labelled: bool) -> int | None:
    asked = schema.label
    if asked is None:
        asked = label_name(names)
        if asked is None and labelled:
            raise InvalidDataError(
                f"{where}: which column is the label? It has {_listed(names)}: name one with `label='COLUMN'`"
            )
    if asked is None:
        return None
    found = _find(asked, names, schema)
    if found is None and labelled:
        raise missing(where, asked, names, "the label", "label")
    return found


def _find(asked: str, names: Sequence[str], schema: Schema) -> int | None:
    """A column by its name; by its number from 1, or -1 for the last, unless the schema is complete."""
    if asked in names:
        return names.index(asked)
    if schema.columns is None and re.fullmatch(r"-?[0-9]{1,9}", asked):
        number = int(asked)
        if 1 <= abs(number) <= len(names):
            return number - 1 if number > 0 else len(names) + number
    return None


def asked_columns(asked: Sequence[str], names: Sequence[str], schema: Schema, where: str, parameter: str) -> set[int]:
    """The columns of these names or numbers."""
    found = set()
    for one in asked:
        number = _find(one, names, schema)
        if number is None:
            raise missing(where, one, names, f"for {parameter}", parameter)
        found.add(number)
    return found


def _features_named(columns: Sequence[Column], schema: Schema, where: str) -> tuple[Feature, ...]:
    """The columns of the names in `schema.columns`; "v[0]", "v[1]", ... may be one vector called "v"."""
    numbers = {column.name: number for number, column in enumerate(columns)}
    wanted = list(schema.columns or ())
    alone, categories = set(wanted), set(schema.categorical)
    features: list[Feature] = []
    first = 0
    while first < len(wanted):
        name = wanted[first]
        size = 1
        element = _ELEMENT.fullmatch(name)
        if name not in numbers and element is not None and element[1] in numbers:
            name = element[1]
            while first + size < len(wanted) and wanted[first + size] == f"{name}[{size}]":
                size += 1
        if name not in numbers:
            raise missing(where, name, list(numbers), "a feature", "ignore")
        number = numbers[name]
        kind: Kind = "category" if name in categories else columns[number].kind
        learned: Kind = "category" if name in categories else "number" if name in alone else "vector"
        if kind != learned or columns[number].kind == "other":
            raise InvalidDataError(
                f"{where}: column {name!r} holds {columns[number].type}, but a {learned} was learned from it"
            )
        features.append(Feature(number, kind, first, size))
        first += size
    return tuple(features)


def _cut(name: str) -> str:
    return name if len(name) <= _LONG_NAME else name[:_LONG_NAME] + "..."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(_cut(name)) for name in names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED:,} more" if len(names) > _LISTED else shown or "no columns"
