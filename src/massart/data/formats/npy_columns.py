"""Which columns of a NumPy array are what: fields of records by name, columns of numbers by number."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from massart.data.formats.npy_files import Header
from massart.data.formats.table_columns import Column, Feature, Kind, Layout, check_columns, choose, settled
from massart.data.schema import Schema
from massart.errors import InvalidDataError

__all__ = ["columns_of", "is_float32", "layout_of", "with_columns"]

_KINDS: Final[dict[str, Kind]] = {
    "f": "number",
    "i": "number",
    "u": "number",
    "b": "number",
    "S": "category",
    "U": "category",
}


def columns_of(of: Header, where: str) -> list[Column]:
    """The columns of an array; where they have no names, they are called by their number from 1."""
    if of.dtype.names is not None and len(of.shape) == 1:
        return [_field(name, of.dtype[name]) for name in of.dtype.names]
    kind = _KINDS.get(of.dtype.kind, "other")
    if len(of.shape) != 2 or kind != "number":
        raise InvalidDataError(
            f"{where} is an array of {of.dtype} of shape {of.shape}: save real numbers of shape (rows, columns), "
            "or records of shape (rows,)"
        )
    check_columns(of.shape[1], where)
    return [Column(str(number + 1), kind, 1, str(of.dtype)) for number in range(of.shape[1])]


def layout_of(
    columns: Sequence[Column], of: Header, schema: Schema, where: str, *, labelled: bool, apart: bool
) -> Layout:
    """What each column is for; `apart`: the labels are not in this file.

    Columns without names keep their places: a file may have all those that were learned from, or, to be predicted,
    only the features.
    """
    if apart:
        schema = replace(schema, label=None)
    if of.dtype.names is None and schema.columns is not None:
        return _by_place(columns, schema, schema.columns, where, labelled=labelled and not apart)
    if of.dtype.names is None and schema.label is None and not apart:
        schema = replace(schema, label="1")
    layout = choose(columns, schema, where, labelled=labelled and not apart)
    return replace(layout, label=None) if apart else layout


def _by_place(
    columns: Sequence[Column], schema: Schema, learned: tuple[str, ...], where: str, *, labelled: bool
) -> Layout:
    count = len(learned)
    label, weight = (int(one) - 1 if one and one.isdigit() else None for one in (schema.label, schema.weight))
    special = {label, weight, *(int(one) - 1 for one in schema.ignore if one.isdigit())} - {None}
    places = [number for number in range(count + len(special)) if number not in special]  # of the features, then
    own = learned == tuple(str(j + 1) for j in range(count))
    names = [str(number + 1) for number in places] if own else learned
    if len(columns) == count and not labelled:
        places, label, weight = list(range(count)), None, None
    elif len(columns) != count + len(special):
        raise InvalidDataError(
            f"{where} has {len(columns):,} columns, but {count:,} features were learned from files of "
            f"{count + len(special):,} columns"
        )
    if label is None and labelled:
        raise InvalidDataError(f"{where}: which column is the label? Give its number from 1 with --label")
    features = [
        Feature(number, "category" if name in schema.categorical else "number", j)
        for j, (number, name) in enumerate(zip(places, names, strict=True))
    ]
    return Layout(label, weight, tuple(features))


def with_columns(columns: Sequence[Column], layout: Layout, of: Header, schema: Schema, *, apart: bool) -> Schema:
    """The settled reading; features without names are counted from 1, as in svmlight, whatever their columns."""
    complete = settled(columns, layout, schema)
    if of.dtype.names is None:
        complete = replace(complete, columns=tuple(str(j + 1) for j in range(layout.width)))
    return replace(complete, label=schema.label) if apart else complete


def is_float32(of: Header, layout: Layout) -> bool:
    """Whether all features are float32."""
    names = of.dtype.names
    types = [of.dtype if names is None else of.dtype[names[feature.column]].base for feature in layout.features]
    return all(one.kind == "f" and one.itemsize == 4 for one in types)


def _field(name: str, of: np.dtype[Any]) -> Column:
    kind: Kind = _KINDS.get(of.base.kind, "other")
    if len(of.shape) == 1 and of.shape[0] > 0:
        return Column(name, "vector" if kind == "number" else "other", of.shape[0], str(of))
    return Column(name, "other" if of.shape else kind, 1, str(of))
