"""What each column of a CSV file is: chosen by a look at the file, and found again in other files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from massart.data.formats.csv_head import Head
from massart.data.formats.table_columns import Column, asked_columns, choose, doubt, has_comma, missing, settled
from massart.data.formats.table_labels import with_labels
from massart.data.limits import MOST_COLUMNS
from massart.data.names import name_hash
from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing.csv import CATEGORY, LABEL, LEFT_OUT, NUMBER, WEIGHT, WITH_COMMA, WITH_POINT
from massart.kernels.parsing.csv_fields import A_NUMBER, MISSING, WORDS

__all__ = ["Plan", "choose_columns", "doubts", "plan_for"]

_LOOKED_AT = 1000  # texts of a column
_REMEDY = "pass `{option}` to read numbers and leave out other rows, or `--categorical {name}` if they are names"
_Places = tuple[int | None, int | None, list[int]]  # of the label, the weight and the features


@dataclass(frozen=True)
class Plan:
    """What to make of each field of a record, as `parse_csv` takes it."""

    names: tuple[str, ...]  # for messages
    kinds: NDArray[np.uint8]
    targets: NDArray[np.uint32]  # column of a number, hash of a category's name
    slots: NDArray[np.uint8]  # first byte of the name
    features: int

    @property
    def has_weight(self) -> bool:
        """Whether there are importances."""
        return bool((self.kinds == WEIGHT).any())


def choose_columns(head: Head, schema: Schema, where: str, *, labelled: bool) -> Schema:
    r"""The reading, completed: header, separator, label, and which columns are features and which of them are text.

    >>> found = choose_columns(Head(b"age,town,y\n31,Ulm,0\n54,Bonn,1\n", ","), Schema(), "a.csv", labelled=True)
    >>> found.header, found.label, found.columns, found.categorical, found.bits
    (True, 'y', ('age', 'town'), ('town',), 18)
    """
    header = schema.header
    if header is None:
        asked = (schema.label, schema.weight, *schema.ignore, *schema.categorical, *schema.numbers)
        header = head.has_header([name for name in asked if name is not None])
    names = _names(head, where, header=header)
    written = asked_columns(schema.numbers, names, schema, where, "--number")
    texts = (head.kinds(header=header) == WORDS).any(axis=0)
    for i in np.flatnonzero(texts).tolist():
        texts[i] = i not in written and not (schema.decimal == "," and _all_with_comma(head, i, header=header))
    columns = [
        Column(name, "category" if text else "number", 1, "text") for name, text in zip(names, texts, strict=True)
    ]
    if not header and schema.label is None:
        schema = replace(schema, label="1")
    layout = choose(columns, schema, where, labelled=labelled)
    if labelled and layout.label is not None and schema.labels is None:
        schema = with_labels(schema, _label_cells(head, layout.label, where, header=header), where)
    if not header:
        # Features are numbered among themselves, as in svmlight, wherever the label is.
        kept = [feature.column for feature in layout.features]
        taken = {*kept, layout.label, layout.weight}
        schema = replace(schema, ignore=tuple(name for i, name in enumerate(names) if i not in taken))
        for number, i in enumerate(kept):
            columns[i] = columns[i]._replace(name=str(number + 1))
    schema = replace(schema, numbers=tuple(columns[i].name for i in sorted(written)))
    found = replace(settled(columns, layout, schema), header=header, separator=head.separator)
    if found.features is not None and schema.features is not None and schema.features < found.features:
        raise InvalidDataError(
            f"{where} has {found.features} columns of features, more than {schema.features}: ask for more, or hash"
        )
    return found


def doubts(head: Head, schema: Schema, asked: Sequence[str], where: str) -> list[str]:
    r"""What is to be said of columns of names, of the completed reading, whose values look like numbers.

    >>> head = Head(b"y,price\n0,$5\n1,$7.50\n", ",")
    >>> schema = choose_columns(head, Schema(), "a.csv", labelled=True)
    >>> len(doubts(head, schema, (), "a.csv")), len(doubts(head, schema, ("price",), "a.csv"))
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
        found.append(doubt(where, plan.names[i], texts, others, _REMEDY))
    return [words for words in found if words is not None]


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
    r"""Where in this file the columns of a completed reading are.

    >>> schema = Schema(header=True, label="y", columns=("age", "size"), features=2)
    >>> plan_for(Head(b"size,id,age\n1,2,3\n", ","), schema, "b.csv", labelled=False).targets.tolist()
    [1, 0, 0]
    """
    wanted, categorical, written = schema.columns or (), set(schema.categorical), set(schema.numbers)
    number = WITH_COMMA if schema.decimal == "," else NUMBER
    if schema.header:
        names = _names(head, where, header=True)
        label, weight, features = _named(names, schema, where, labelled=labelled)
    else:
        label, weight, features = _numbered(head, schema, where, labelled=labelled)
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
    return Plan(tuple(names), kinds, targets, slots, len(features))


def _named(names: Sequence[str], schema: Schema, where: str, *, labelled: bool) -> _Places:
    places = {name: i for i, name in enumerate(names)}
    for i, name in enumerate(names):
        if places[name] != i and name in {*(schema.columns or ()), schema.label, schema.weight}:
            raise InvalidDataError(f"{where}: several columns are called {name[:100]!r}; give each a name of its own")
    for asked, what, option in ((schema.label, "the label", "--label"), (schema.weight, "the weight", "--weight")):
        if labelled and asked is not None and asked not in places:
            raise missing(where, asked, names, what, option)
    for name in schema.columns or ():
        if name not in places:
            raise missing(where, name, names, "a feature", "--ignore when you train")
    features = [places[name] for name in schema.columns or ()]
    return places.get(schema.label or ""), places.get(schema.weight or ""), features


def _place(number: str, where: str) -> int:
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) == int(number)):
        raise InvalidDataError(
            f"{where} has no line of names, but {number!r} is the name of a column: give a file with names"
        )
    return int(number) - 1


def _numbered(head: Head, schema: Schema, where: str, *, labelled: bool) -> _Places:
    """The columns of a file without names: all there were, or all but the label, or only the features."""
    count = len(schema.columns or ())
    for asked in (schema.label, schema.weight, *schema.ignore):
        if asked is not None and not (asked.isdecimal() and 1 <= int(asked[:9]) <= MOST_COLUMNS):
            raise InvalidDataError(f"{where} has no line of names in which there could be a column {asked!r}")
    label, weight, *ignored = (
        None if n is None else _place(n, where) for n in (schema.label, schema.weight, *schema.ignore)
    )
    others = {place for place in (label, weight, *ignored) if place is not None}
    places = list(range(count + len(others)))
    may = [len(places)] if labelled or label is None else [len(places), len(places) - 1, count]
    fitting = [width for width in may if width in head.widths]
    if head.width not in fitting:
        if not fitting:
            raise InvalidDataError(f"{where} has {head.width} columns where {len(places)} are expected")
        head.width = fitting[0]
    if head.width == len(places):
        return label, weight, [i for i in places if i not in others]
    if head.width == count:
        return None, None, places[:count]
    del places[label or 0]
    return None, None if weight is None else places.index(weight), [i for i, p in enumerate(places) if p not in others]
