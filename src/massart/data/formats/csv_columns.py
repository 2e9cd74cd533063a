"""The columns of a CSV file: a look at its first records, what each column is, and the same columns in other files."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.formats.labels import with_labels
from massart.data.formats.table_columns import (
    LABELS,
    Column,
    asked_columns,
    check_columns,
    choose,
    column_warning,
    completed,
    has_comma,
    missing,
)
from massart.data.hashing import name_hash
from massart.data.io.sources import Source
from massart.data.schema import MOST_COLUMNS, Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.parsing.csv import CATEGORY, LABEL, LEFT_OUT, NUMBER, WEIGHT, WITH_COMMA, WITH_POINT
from massart.kernels.parsing.csv_fields import A_NUMBER, MISSING, WORDS, cut_records, find_fields
from massart.values import Value

__all__ = ["Head", "Plan", "choose_columns", "column_warnings", "group_cells", "look", "plan_for"]

SEPARATORS: Final = (",", "\t", ";", "|")
_SEMICOLON: Final = 2
_SIZE: Final = 1 << 20  # bytes that are looked at
_MOST: Final = 1 << 24  # where lines are long
_LINES: Final = 16  # enough of them
_SNIFFED: Final = 1 << 17  # bytes from which the separator is found
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LOOKED_AT = 1000  # texts of a column
_REMEDY = "pass {option} to read numbers and leave out other rows, or `categorical=[{name}]` if they are names"
_Places = tuple[int | None, int | None, list[int], list[int]]  # of the label, the weight, features and groups


class Head:
    """The first records of a file, cut into fields; records that cannot be read and blank lines are left out."""

    def __init__(self, text: bytes, separator: str, offset: int = 0) -> None:
        self.separator = separator
        self._offset = offset
        self._text = np.array(np.frombuffer(text, np.uint8))
        lines = text.count(b"\n")
        self._begins, self._ends = np.empty(len(text), np.uint32), np.empty(len(text), np.uint32)
        self._kinds = np.empty(len(text), np.uint8)
        firsts, stops = np.empty(lines + 1, np.int64), np.empty(lines + 1, np.int64)
        fields = self._begins, self._ends, self._kinds
        count = find_fields(self._text, np.uint8(ord(separator)), fields, (firsts, stops))
        self._firsts: NDArray[np.int64] = firsts[: count + 1]
        self._stops: NDArray[np.int64] = stops[:count]

    def __len__(self) -> int:
        return int(self._stops.size)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """The number of fields of each record."""
        return np.diff(self._firsts)

    @cached_property
    def width(self) -> int:
        """The number of fields that most records have, the first of them aside, if there are others."""
        counts = np.bincount(self.widths[1:] if len(self) > 1 else self.widths, minlength=int(self.widths[0]) + 1)
        return int(self.widths[0] if counts[self.widths[0]] == counts.max() else counts.argmax())

    def first(self) -> list[str]:
        """The fields of the first record."""
        return [self._cell(field).decode("utf-8", "replace") for field in range(int(self.widths[0]))]

    def first_end(self) -> tuple[int, int]:
        """(offset, lines) of the file up to the end of the first record."""
        stop = int(self._stops[0])
        return self._offset + stop, int(np.count_nonzero(self._text[:stop] == 10))

    def kinds(self, *, header: bool) -> NDArray[np.uint8]:
        """What is in the records of the usual width: (records, columns)."""
        fields = self._fields(header=header)[:, None] + np.arange(self.width)
        kinds: NDArray[np.uint8] = self._kinds[fields] & np.uint8(3)
        return kinds

    def cells(self, column: int, *, header: bool, records: NDArray[np.int64] | None = None) -> list[bytes]:
        """The text in a column, in the records of the usual width, or in some of these."""
        fields = self._fields(header=header) + column
        return [self._cell(field) for field in (fields if records is None else fields[records]).tolist()]

    def cells_at(self, column: int, lines: NDArray[np.int64]) -> list[str | None]:
        """The text in a column of the records that begin at these lines, counted from 1; None if missing."""
        newlines = np.flatnonzero(self._text == 10)
        begins = np.searchsorted(newlines, self._begins[self._firsts[:-1]]) + 1
        fields = self._firsts[np.searchsorted(begins, lines)] + column
        missing = (self._kinds[fields] & np.uint8(3)) == MISSING
        return [
            None if none else self._cell(field).decode("utf-8", "replace")
            for field, none in zip(fields.tolist(), missing.tolist(), strict=True)
        ]

    def _fields(self, *, header: bool) -> NDArray[np.int64]:
        """The first fields of the records of the usual width."""
        good = self.widths == self.width
        good[0] = good[0] and not header
        fields: NDArray[np.int64] = self._firsts[:-1][good]
        return fields

    def _cell(self, field: int) -> bytes:
        text = self._text[self._begins[field] : self._ends[field]].tobytes()
        return text.replace(b'""', b'"') if self._kinds[field] & 4 else text

    def has_header(self, asked: Iterable[str]) -> bool:
        r"""Whether the first record names the columns: it has one of the names asked for, or no number, unlike others.

        >>> Head(b"a,b\n1,x\n", ",").has_header([]), Head(b"a,b\nc,b\n", ",").has_header([])
        (True, False)
        """
        first = self.first()
        if not {name for name in asked if not name.removeprefix("-").isdecimal()}.isdisjoint(first):
            return True
        if (self._kinds[: len(first)] & np.uint8(3) == A_NUMBER).any():
            return False
        below = self.kinds(header=True)
        if len(self) == 1 or ((below == A_NUMBER).any(axis=0) & (below <= A_NUMBER).all(axis=0)).any():
            return True
        # Text everywhere: what stands again below it is a value, not a name.
        again = [name.encode() in set(self.cells(i, header=True)) for i, name in enumerate(first[: self.width])]
        named = [
            name.lower() in LABELS and len(name) > 1 and not found for name, found in zip(first, again, strict=False)
        ]
        return any(named) or (len(first) == self.width and not any(again))


def look(source: Source, separator: str | None, decimal: str | None = None) -> Head | None:
    """The head of a file, None if there is nothing in it; the separator is found if it is not given."""
    if separator is not None and separator not in SEPARATORS:
        raise InvalidParameterError(f"separator={separator!r}: choose comma, tab, semicolon or |")
    size = _SIZE
    raw = source.head(size)
    while len(raw) == size < _MOST and raw.count(b"\n") < _LINES:
        size *= 4
        raw = source.head(size)
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in raw[:4]:
        raise InvalidDataError(f"{source.name} is not UTF-8 text: is it UTF-16? save it as UTF-8")
    if b"\n" not in raw and raw.count(b"\r") > 1:
        raise InvalidDataError(f"{source.name} has lines that end with a carriage return alone: write newlines")
    offset = len(_BYTE_ORDER_MARK) if raw.startswith(_BYTE_ORDER_MARK) else 0
    text = raw[offset:]
    if not text.strip():
        return None
    if len(raw) == size:
        text = text[: text.rfind(b"\n") + 1] or text
    if not text.endswith(b"\n"):
        text += b"\n"
    found = separator or _sniff(text, decimal)
    if len(raw) == size:
        # The rest of a record whose quoted field goes on would look like others.
        end, _ = cut_records(np.array(np.frombuffer(text, np.uint8)), np.uint8(ord(found)), len(text) + 1)
        text = text[: int(end)] or text
    head = Head(text, found, offset)
    if not len(head):
        raise InvalidDataError(f"{source.name} has no line that can be read as CSV: is a quote never closed?")
    check_columns(int(head.widths.max()), source.name)
    return head


def _sniff(text: bytes, decimal: str | None) -> str:
    """The separator that gives the most fields to the most records; a decimal comma separates nothing."""
    part = text[: text.find(b"\n", _SNIFFED) + 1] or text
    scores = []
    for separator in SEPARATORS:
        head = Head(part, separator)
        usual = head.width if len(head) else 1
        scores.append((usual - 1) * float(np.mean(head.widths == usual)) ** 2 if usual > 1 else 0.0)
    if decimal == "," or (scores[_SEMICOLON] and _has_commas(Head(part, ";"))):
        scores[0] = 0.0
    return SEPARATORS[int(np.argmax(scores))]


def _has_commas(head: Head) -> bool:
    """Whether commas in fields between semicolons are decimal commas."""
    kinds = head.kinds(header=len(head) > 1)
    first = [
        cell.decode("utf-8", "replace")
        for column in range(head.width)
        for cell in head.cells(column, header=len(head) > 1, records=np.flatnonzero(kinds[:, column] == WORDS)[:_LINES])
    ]
    commas = [cell for cell in first if "," in cell]
    return bool(commas) and all(map(has_comma, commas))


class Plan(Value):
    """What to make of each field of a record, as `parse_csv` takes it."""

    names: tuple[str, ...]  # for messages
    kinds: NDArray[np.uint8]
    targets: NDArray[np.uint32]  # column of a number, hash of a category's name
    slots: NDArray[np.uint8]  # first byte of the name
    features: int
    groups: tuple[int, ...] = ()  # fields whose values are names of groups

    @property
    def has_weight(self) -> bool:
        """Whether there are importances."""
        return bool((self.kinds == WEIGHT).any())


def choose_columns(head: Head, schema: Schema, where: str, *, labelled: bool) -> Schema:
    r"""The schema, completed: header, separator, label, and which columns are features and which of them are text.

    >>> found = choose_columns(Head(b"age,town,y\n31,Ulm,0\n54,Bonn,1\n", ","), Schema(), "a.csv", labelled=True)
    >>> found.header, found.label, found.columns, found.categorical, found.bits
    (True, 'y', ('age', 'town'), ('town',), 18)
    """
    header = schema.header
    if header is None:
        asked = (schema.label, schema.weight, *schema.ignore, *schema.categorical, *schema.numbers, *schema.groups)
        header = head.has_header([name for name in asked if name is not None])
    names = _names(head, where, header=header)
    written = asked_columns(schema.numbers, names, schema, where, "numbers")
    texts = (head.kinds(header=header) == WORDS).any(axis=0)
    for i in np.flatnonzero(texts).tolist():
        texts[i] = i not in written and not (schema.decimal == "," and _all_with_comma(head, i, header=header))
    columns = [
        Column(name, "category" if text else "number", 1, "text") for name, text in zip(names, texts, strict=True)
    ]
    if not header and schema.label is None:
        schema = schema.replace(label="1")
    layout = choose(columns, schema, where, labelled=labelled)
    if labelled and layout.label is not None and schema.labels is None:
        schema = with_labels(schema, _label_cells(head, layout.label, where, header=header), where)
    if not header:
        # Features are numbered among themselves, as in svmlight, wherever the label is.
        kept = [feature.column for feature in layout.features]
        taken = {*kept, layout.label, layout.weight}
        schema = schema.replace(ignore=tuple(name for i, name in enumerate(names) if i not in taken))
        for number, i in enumerate(kept):
            columns[i] = columns[i]._replace(name=str(number + 1))
    schema = schema.replace(numbers=tuple(columns[i].name for i in sorted(written)))
    groups = tuple(columns[i].name if header else str(i + 1) for i in layout.groups)
    found = completed(columns, layout, schema).replace(header=header, separator=head.separator, groups=groups)
    if found.features is not None and schema.features is not None and schema.features < found.features:
        raise InvalidDataError(
            f"{where} has {found.features} columns of features, more than `features={schema.features}`: pass more, or "
            "hash with `bits`"
        )
    return found


def column_warnings(head: Head, schema: Schema, asked: Sequence[str], where: str) -> list[str]:
    r"""Messages about columns of names, of the completed schema, whose values look like numbers.

    >>> head = Head(b"y,price\n0,$5\n1,$7.50\n", ",")
    >>> schema = choose_columns(head, Schema(), "a.csv", labelled=True)
    >>> len(column_warnings(head, schema, (), "a.csv")), len(column_warnings(head, schema, ("price",), "a.csv"))
    (1, 0)
    """
    header = bool(schema.header)
    plan = plan_for(head, schema, where, labelled=False)
    known = {*asked, *(str(int(name) % (head.width + 1)) for name in asked if name.lstrip("-").isdecimal())}
    kinds, found = head.kinds(header=header), []
    for i in np.flatnonzero(plan.kinds == CATEGORY).tolist():
        if known & {plan.names[i], str(i + 1)}:
            continue
        words = np.flatnonzero(kinds[:, i] == WORDS)
        texts = [cell.decode("utf-8", "replace") for cell in head.cells(i, header=header, records=words[:_LOOKED_AT])]
        others = words.size - len(texts), int(np.count_nonzero(kinds[:, i] == A_NUMBER))
        found.append(column_warning(where, plan.names[i], texts, others, _REMEDY))
    return [message for message in found if message is not None]


def _all_with_comma(head: Head, column: int, *, header: bool) -> bool:
    """Whether the text in a column is numbers with a decimal comma."""
    words = np.flatnonzero(head.kinds(header=header)[:, column] == WORDS)
    return all(has_comma(cell.decode("utf-8", "replace")) for cell in head.cells(column, header=header, records=words))


def _names(head: Head, where: str, *, header: bool) -> list[str]:
    """The columns' names, or their numbers from 1."""
    if not header:
        return [str(i + 1) for i in range(head.width)]
    names = [name or str(i + 1) for i, name in enumerate(head.first())]
    if len(names) in head.widths[1:]:
        head.width = len(names)
    if len(names) != head.width:
        raise InvalidDataError(
            f"{where}: its first line names {len(names)} columns, but most lines have {head.width} fields"
        )
    return names


def _label_cells(head: Head, column: int, where: str, *, header: bool) -> list[str]:
    """What is in the label's column; a minus stands for no value, unless there is a plus."""
    cells = head.cells(column, header=header)
    kinds = head.kinds(header=header)[:, column]
    values = [cell for cell, kind in zip(cells, kinds, strict=True) if kind != MISSING]
    values += [b"-"] * (set(values) == {b"+"} and b"-" in cells)
    try:
        return [value.decode() for value in values]
    except UnicodeDecodeError:
        raise InvalidDataError(f"{where} has labels that are not UTF-8: save it as UTF-8") from None


def plan_for(head: Head, schema: Schema, where: str, *, labelled: bool) -> Plan:
    r"""Where in this file the columns of a completed schema are.

    >>> schema = Schema(header=True, label="y", columns=("age", "size"), features=2)
    >>> plan_for(Head(b"size,id,age\n1,2,3\n", ","), schema, "b.csv", labelled=False).targets.tolist()
    [1, 0, 0]
    """
    wanted, categorical, written = schema.columns or (), set(schema.categorical), set(schema.numbers)
    number = WITH_COMMA if schema.decimal == "," else NUMBER
    if schema.header:
        names = _names(head, where, header=True)
        label, weight, features, groups = _named(names, schema, where, labelled=labelled)
    else:
        label, weight, features, groups = _numbered(head, schema, where, labelled=labelled)
        names = _names(head, where, header=False)
    kinds = np.full(len(names), LEFT_OUT, np.uint8)
    targets, slots = np.zeros(len(names), np.uint32), np.zeros(len(names), np.uint8)
    for order, (i, name) in enumerate(zip(features, wanted, strict=True)):
        kinds[i] = CATEGORY if name in categorical else number
        if number == NUMBER and name in written:
            kinds[i] = WITH_POINT
        slots[i] = name.encode()[0]
        targets[i] = order
        if schema.bits is not None:
            targets[i] = name_hash(name) & (0xFFFFFFFF if name in categorical else (1 << schema.bits) - 1)
    for place, kind in ((label, LABEL), (weight, WEIGHT)):
        if place is not None:
            kinds[place] = kind
    return Plan(tuple(names), kinds, targets, slots, len(features), tuple(groups))


def _named(names: Sequence[str], schema: Schema, where: str, *, labelled: bool) -> _Places:
    places = {name: i for i, name in enumerate(names)}
    for i, name in enumerate(names):
        if places[name] != i and name in {*(schema.columns or ()), schema.label, schema.weight, *schema.groups}:
            raise InvalidDataError(f"{where}: several columns are called {name[:100]!r}; give each a name of its own")
    for asked, what, parameter in ((schema.label, "the label", "label"), (schema.weight, "the weight", "weight")):
        if labelled and asked is not None and asked not in places:
            raise missing(where, asked, names, what, parameter)
    for name in schema.columns or ():
        if name not in places:
            raise missing(where, name, names, "a feature", "ignore")
    for name in schema.groups:
        if name not in places:
            raise missing(where, name, names, "of groups", "groups")
    features, groups = [places[name] for name in schema.columns or ()], [places[name] for name in schema.groups]
    return places.get(schema.label or ""), places.get(schema.weight or ""), features, groups


def group_cells(text: NDArray[np.uint8], separator: str, plan: Plan, lines: NDArray[np.int64]) -> list[list[Any]]:
    r"""What is in each field of groups, of the records that begin at these lines, counted from 1; None if missing.

    >>> schema = Schema(header=True, columns=("y",), groups=("town",))
    >>> plan = plan_for(Head(b"y,town\n", ","), schema, "a.csv", labelled=False)
    >>> group_cells(np.frombuffer(b"1,Ulm\n\n0,\n", np.uint8), ",", plan, np.array([1, 3]))
    [['Ulm', None]]
    """
    head = Head(text.tobytes(), separator)
    return [head.cells_at(place, lines) for place in plan.groups]


def _place(number: str, where: str) -> int:
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) == int(number)):
        raise InvalidDataError(
            f"{where} has no line of names, but {number!r} is the name of a column: give a file with names"
        )
    return int(number) - 1


def _numbered(head: Head, schema: Schema, where: str, *, labelled: bool) -> _Places:
    """The columns of a file without names: all there were, or all but the label, or only the features."""
    count = len(schema.columns or ())
    for asked in (schema.label, schema.weight, *schema.ignore, *schema.groups):
        if asked is not None and not (asked.isdecimal() and 1 <= int(asked[:9]) <= MOST_COLUMNS):
            raise InvalidDataError(f"{where} has no line of names in which there could be a column {asked!r}")
    label, weight, *ignored = (
        None if n is None else _place(n, where) for n in (schema.label, schema.weight, *schema.ignore)
    )
    others = {place for place in (label, weight, *ignored) if place is not None}
    groups = [_place(number, where) for number in schema.groups]
    places = list(range(count + len(others)))
    may = [len(places)] if labelled or label is None else [len(places), len(places) - 1, count]
    fitting = [width for width in may if width in head.widths]
    if head.width not in fitting:
        if not fitting:
            raise InvalidDataError(f"{where} has {head.width} columns where {len(places)} are expected")
        head.width = fitting[0]
    if head.width == len(places):
        return label, weight, [i for i in places if i not in others], _among(groups, places, where)
    if head.width == count:
        return None, None, places[:count], _among(groups, [i for i in places if i not in others], where)
    del places[label or 0]
    features = [i for i, p in enumerate(places) if p not in others]
    return None, None if weight is None else places.index(weight), features, _among(groups, places, where)


def _among(groups: Sequence[int], places: Sequence[int], where: str) -> list[int]:
    """Where columns of groups are in a file that has these of all columns."""
    for place in groups:
        if place not in places:
            raise InvalidDataError(f"{where} has no column {place + 1} of groups: give a file with all columns")
    return [places.index(place) for place in groups]
