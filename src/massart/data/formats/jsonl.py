"""JSON lines: one object on each line, its fields hashed as `massart.data.hashing` says.

Objects whose label is the field `_label` are Vowpal Wabbit's: fields whose names begin with an underscore are no
features, but for `_text`, whose words are; `_label` may be an object with a Label and a Weight.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NoReturn

import numpy as np

from massart.data.chunk import Chunk, Position, RowError
from massart.data.formats import Format
from massart.data.formats.labels import UNKNOWN, Labels, as_bytes, as_text, with_labels
from massart.data.formats.table_chunks import group_table, is_importance
from massart.data.formats.table_columns import column_warning, label_name, missing
from massart.data.hashing import TOO_DEEP, FeatureError, FeatureHasher, Pairs
from massart.data.io.blocks import Block, blocks
from massart.data.io.prefetch import in_order
from massart.data.io.sources import Source
from massart.data.row_errors import sentence
from massart.data.schema import BITS, Schema
from massart.errors import InvalidDataError
from massart.kernels.parsing import row_errors as codes

__all__ = ["JsonlFormat", "parse_line"]

_BLOCK: Final = 1 << 19  # bytes of text in a chunk
_HEAD: Final = 1 << 20  # bytes that are looked at
_HEAD_LINES: Final = 1000  # and lines, if both labels are among them
_DEPTH: Final = 3  # objects inside one another that are looked into for numbers
_REMEDY: Final = "write JSON numbers, or pass `categorical=[{name}]` if they are names"
_NO_WEIGHT: Final = np.empty(0)
_VW_LABEL, _VW_WEIGHT, _VW_TEXT = "_label", "_weight", "_text"
_SHOWN: Final = 100  # characters of a name in a message
_LONG: Final = 256  # characters of a label that is not remembered, and of which no more is shown


class JsonlFormat(Format):
    """JSON lines."""

    def complete(self, source: Source, schema: Schema) -> Schema:
        r"""The schema with the label's field, and the two labels if they are text; fields are always hashed.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        ...     _ = file.write(b'{"y": "no", "7": 2.5}\n{"y": "yes"}\n{"y": "ye\n'), file.flush()
        ...     schema = JsonlFormat().complete(Source(file.name), Schema(format="jsonl"))
        ...     (chunk,) = JsonlFormat().chunks(Source(file.name), schema, Position())
        >>> schema.labels, schema.bits, [part.tolist() for part in chunk.rows], len(chunk.errors)
        (('no', 'yes'), 18, [[2.5], [7], [0, 1, 1]], 1)
        """
        if schema.bits is None:
            if schema.columns is not None or schema.features is not None:
                raise InvalidDataError(
                    f"{source.name}: fields of JSON are hashed, but columns were counted; pass `bits={BITS}`"
                )
            schema = schema.replace(bits=BITS)
        if not self.labelled:
            return schema
        names: dict[str, None] = {}
        found: list[Any] = []
        lines = 0
        for pairs in _head(source):
            fields = dict(pairs)
            names.update(dict.fromkeys(fields))
            label = schema.label or _label_field(names)
            value = fields.get(label) if label is not None else None
            if label == _VW_LABEL:
                value = _label_parts(value)[0]
            found.append(value if isinstance(value, str | int | float) else None)
            lines += 1
            if lines >= _HEAD_LINES and len(set(found) - {None}) > 1:
                break
        if schema.label is None:
            label = _label_field(names)
            if label is None and (lines or source.head(1)):
                listed = ", ".join(repr(name[:_SHOWN]) for name in list(names)[:12]) or "none that could be read"
                raise InvalidDataError(
                    f"{source.name}: which field is the label? The first lines have {listed}: "
                    "name one with `label='FIELD'`"
                )
            schema = schema.replace(label=label)
        elif lines and schema.label not in names:
            raise missing(source.name, schema.label, list(names), "the label", "label")
        return with_labels(schema, found, source.name)

    def chunks(self, source: Source, schema: Schema, start: Position) -> Iterator[Chunk]:
        """The rows of a file from a position on, half a megabyte of text at a time.

        One thread parses, however many there are: Python's JSON does not run in parallel.
        """
        parser = _Parser(source.name, schema, labelled=self.labelled)
        return in_order(parser.chunk, blocks(source, start, _BLOCK), min(self.workers, 1))

    def column_warnings(self, source: Source, schema: Schema, asked: Sequence[str]) -> list[str]:
        """Messages about fields, other than those asked for, whose texts look like numbers."""
        texts: dict[str, list[str]] = {}
        for pairs in islice(_head(source), _HEAD_LINES):
            _add_texts(texts, pairs, "")
        other = {*asked, *schema.ignore, schema.label, schema.weight}
        found = [
            column_warning(source.name, name, own, (0, 0), _REMEDY) for name, own in texts.items() if name not in other
        ]
        return [message for message in found if message is not None]


def _add_texts(texts: dict[str, list[str]], pairs: Pairs, space: str) -> None:
    """Collect the texts of fields, those inside objects included."""
    for name, value in pairs:
        if type(value) is str and value:
            texts.setdefault(space + name, []).append(value)
        elif type(value) is tuple and space.count(".") < _DEPTH:
            _add_texts(texts, value, f"{space}{name}.")


class _Line(Exception):  # noqa: N818 - it never leaves this file
    """What is wrong with a line: column, message, and the label if it is that."""


def _refuse(constant: str) -> NoReturn:
    raise _Line(0, f"{constant!r} is not finite; leave the feature out where its value is unknown")


# Tuples of pairs keep fields that stand twice, and differ from arrays.
_decode = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_refuse).decode


def parse_line(line: bytes) -> Pairs:
    """The fields of an object; raises with the column, from 1, and a message."""
    try:
        text = line.decode()
        value = _decode(text)
    except UnicodeDecodeError as error:
        raise _Line(error.start + 1, "not UTF-8; save the file again as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Line(len(text[: error.pos].encode()) + 1, f"not JSON: {error.msg}") from None
    except RecursionError:
        raise _Line(0, TOO_DEEP) from None
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        raise _Line(0, f"a number is above {codes.LARGEST:g} in size") from None
    if type(value) is not tuple:
        kind = {list: "an array", str: "a text", type(None): "null", bool: "true or false"}.get(type(value), "a number")
        raise _Line(1, f"expected an object, {{...}}, found {kind}")
    return value


class _Parser:
    """Blocks of lines to chunks."""

    def __init__(self, where: str, schema: Schema, *, labelled: bool) -> None:
        self._where, self._schema, self._labelled = where, schema, labelled
        self._features = FeatureHasher(schema)
        self._labels = Labels(schema.labels)
        self._sign = lru_cache(1 << 10, typed=True)(self._labels.of_value)
        self._is_vw = schema.label == _VW_LABEL
        taken = (schema.label, schema.weight, _VW_WEIGHT if self._is_vw else None)
        self._other = frozenset(name for name in taken if name is not None)

    def chunk(self, block: Block) -> Chunk:
        """The rows of a block."""
        data: list[float] = []
        indices: list[int] = []
        spaces: list[int] = []
        indptr, y, labels, weight, lines = [0], [], [], [], []
        groups: list[list[Any]] = [[] for _ in self._schema.groups]
        errors = list(block.errors)
        for number, line in enumerate(block.text.tobytes().split(b"\n"), block.line + 1):
            if not line or line.isspace():
                continue
            try:
                pairs = parse_line(line.removesuffix(b"\r"))
                if self._is_vw:
                    pairs = list(_from_vw(pairs))
                (sign, label), importance = self._label(pairs), self._weight(pairs)
                named = [self._group(pairs, name) for name in self._schema.groups]
                row = self._features.row(pairs, self._other)
            except (_Line, FeatureError) as wrong:
                errors.append(RowError(self._where, number, *wrong.args))
                continue
            data.extend(row.values.values())
            indices.extend(row.values)
            spaces.extend(row.spaces[column] for column in row.values if row.spaces)
            indptr.append(len(data))
            y.append(sign)
            labels.append(label)
            weight.append(importance)
            lines.append(number)
            for column, value in zip(groups, named, strict=True):
                column.append(value)
        weights = np.array(weight) if any(one != 1.0 for one in weight) else _NO_WEIGHT
        csr = np.array(data), np.array(indices, np.uint32), np.array(indptr, np.uint32)
        schema = self._schema
        return Chunk(
            csr,
            1 << (schema.bits or 0),
            np.array(y, np.int8),
            weights,
            block.end,
            np.array(lines, np.int64),
            tuple(sorted(errors, key=lambda one: one.line)),
            np.array(spaces, np.uint8),
            schema.crossings,
            source=self._where,
            labels=self._labels.names(labels) if self._labels.are_many else _NO_WEIGHT,
            groups=group_table(groups, len(y)),
        )

    @staticmethod
    def _group(pairs: Pairs, name: str) -> Any:
        value = next((value for own, value in pairs if own == name), None)
        if isinstance(value, list | tuple):
            raise _Line(name, "the name of a group must be a text or a number")
        return value

    def _label(self, pairs: Pairs) -> tuple[int, Any]:
        """What the label means, and what it is."""
        value = next((value for name, value in pairs if name == self._schema.label), None)
        whole = isinstance(value, list | tuple)
        long = isinstance(value, str) and len(value) > _LONG
        sign = UNKNOWN if whole else self._labels.of_value(value) if long else self._sign(value)
        if sign in (-1, 1):
            return sign, value
        if not self._labelled:
            return 0, None
        words = "the label must be a number or a text" if whole else self._labels.message(value)
        raise _Line(self._schema.label or 0, words, None if sign == 0 else "..." if whole else as_text(value)[:_LONG])

    def _weight(self, pairs: Pairs) -> float:
        if self._schema.weight is None and not self._is_vw:
            return 1.0
        field = self._schema.weight or _VW_WEIGHT
        value = next((value for name, value in pairs if name == field), 1.0 if self._is_vw else None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            weight = float(min(max(value, -1.0), 1e60))  # whole numbers may be too large for a float
            if is_importance(np.array([weight]))[0]:
                return weight
        shown = b"" if value is None else as_bytes(value)[:64] if isinstance(value, str | int | float) else b"..."
        raise _Line(field, sentence(codes.WEIGHT, shown, self._schema))


def _label_field(names: Iterable[str]) -> str | None:
    """The field that is the label by its name, if there is one."""
    return _VW_LABEL if _VW_LABEL in names else label_name(names)


def _label_parts(label: Any) -> tuple[Any, Any]:
    """The label and the importance of Vowpal Wabbit's `_label`."""
    if not isinstance(label, tuple):
        return label, 1.0
    parts = {name.lower(): value for name, value in label}
    return parts.get("label"), parts.get("weight", 1.0)


def _from_vw(pairs: Pairs) -> Iterator[tuple[str, Any]]:
    """The fields of one of Vowpal Wabbit's objects that are read: label, importance and features.

    >>> list(_from_vw((("_label", (("Label", 1), ("Weight", 2.0))), ("_tag", "x"), ("_text", "a b"), ("age", 3))))
    [('_label', 1), ('_weight', 2.0), ('a', 1.0), ('b', 1.0), ('age', 3)]
    """
    for name, value in pairs:
        if name == _VW_LABEL:
            label, weight = _label_parts(value)
            yield name, label
            yield _VW_WEIGHT, weight
        elif name == _VW_TEXT and isinstance(value, str):
            yield from ((word, 1.0) for word in value.split())
        elif not name.startswith("_"):
            yield name, value


def _head(source: Source) -> Iterator[Pairs]:
    """The objects in the first lines."""
    for line in source.head(_HEAD).removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            yield parse_line(line)
        except _Line:  # or the head ends within it
            continue
