"""What is wrong with a row, in a sentence, and how much a file may ask for.

Limits keep memory in proportion to the size of a file whatever its bytes say. A line of text has at most
`LONGEST_LINE` bytes, and so has a row of a .npy file; text is read and decompressed a block at a time. Everything
else that a few bytes can make large is bounded here.
"""

from typing import Final, NamedTuple

from massart.data.schema import MOST_FEATURES, Schema
from massart.kernels.parsing import row_errors as codes

__all__ = [
    "LARGEST_IN_LOG",
    "MOST_ARMS",
    "MOST_ENTRIES",
    "SMALLEST_IN_LOG",
    "RowError",
    "TooLarge",
    "label_error",
    "most_unpacked",
    "quoted",
    "sentence",
]

MOST_ARMS: Final = 1 << 20  # of a decision
MOST_ENTRIES: Final = 1 << 21  # features of a decision that are not 0, the shared ones counted for every arm
LARGEST_IN_LOG: Final = 1e30  # size of a reward, a weight or a feature of a log: squares of products stay finite
SMALLEST_IN_LOG: Final = 1e-30  # propensity, or weight

_UNPACKED: Final = 1 << 30  # bytes that any file may unpack to at once, and
_TIMES: Final = 16  # as many times its size
_SHOWN: Final = 24  # bytes of a line that a message shows
_LISTED: Final = 12  # labels that a message lists

_SENTENCES: Final = {
    codes.NUL: "a NUL byte; is this a text file, and is it UTF-8?",
    codes.LABEL: "expected a label, a number, found {found}",
    codes.INDEX: "expected index:value with a whole number before the colon, found {found}",
    codes.INDEX_ZERO: "index 0; svmlight counts from 1",
    codes.INDEX_NEGATIVE: "a negative index, {found}; svmlight counts from 1",
    codes.VALUE: "expected a number after ':', found {found}",
    codes.NOT_FINITE: "{found} is not finite; leave the feature out where its value is unknown",
    codes.TOO_LARGE: f"{{found}} is above {codes.LARGEST:g} in size",
    codes.NO_BAR: "expected '|' before the features",
    codes.HEAD: "expected at most a label, an importance and a base, all of them numbers, before '|', found {found}",
    codes.WEIGHT: "expected an importance, 0 or a number from 1e-50 to 1e50, found {found}",
    codes.SCALE: "expected a number, the namespace's scale, after ':', found {found}",
    codes.NO_VALUE: "expected a number or text after ':'",
    codes.LONG: f"the line is longer than {codes.LONGEST_LINE >> 20} MiB",
}


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
    place: str = ""  # of a topic: the record, which messages name instead of the line

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column != 0 else ""
        return f"{self.place or f'{self.source}, line {self.line}'}{column}: {self.message}"


class TooLarge(Exception):  # noqa: N818 - `arrow_files` makes an error of it, which knows the name
    """A file asks for more memory than it may: what does, and what to do."""


def most_unpacked(size: int | None) -> int:
    """Bytes in memory that a file of this size may unpack to at once: 1 GiB and 16 times its size.

    >>> most_unpacked(1000) - most_unpacked(None)
    16000
    """
    return _UNPACKED + _TIMES * (size or 0)


def sentence(code: int, found: bytes, schema: Schema) -> str:
    """What is wrong, given the text from the error on.

    >>> sentence(codes.VALUE, b"abc 7:1", Schema())
    "expected a number after ':', found 'abc'"
    >>> sentence(codes.CLASS, b"3 7:1", Schema())
    "label '3' is not one of two: it may be -1 or 0, and 1; name others with `labels=('NEGATIVE', 'POSITIVE')`"
    """
    shown = quoted(found)
    if code == codes.CLASS:
        return label_error(shown, schema.labels)
    if code == codes.INDEX_LARGE:
        if schema.bits is not None:
            return f"index {shown} is above {2**32 - 1:,}"
        most = schema.features or MOST_FEATURES
        return f"index {shown} is above {most:,}, the number of columns; hash features, with `bits=22` for example"
    return _SENTENCES[code].format(found=shown)


def label_error(shown: str, labels: tuple[str, ...] | None) -> str:
    """A label that is neither of the two, or none of several."""
    if labels is not None and len(labels) > 2:
        few = ", ".join(map(repr, labels[:_LISTED])) + (", ..." if len(labels) > _LISTED else "")
        return f"label {shown} is not one of {len(labels):,}: {few}; name all of them with `labels`"
    may = "-1 or 0, and 1" if labels is None else " or ".join(map(repr, labels))
    return f"label {shown} is not one of two: it may be {may}; name others with `labels=('NEGATIVE', 'POSITIVE')`"


def quoted(found: bytes) -> str:
    """The field that begins here, quoted and not too long.

    >>> quoted(b""), quoted(b"abc def"), quoted(b"x" * 99)
    ('nothing', "'abc'", "'xxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    field = found[: 4 * _SHOWN].split(maxsplit=1)[:1] if found[:1].strip() else []
    if not field:
        return "nothing"
    text = field[0].decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
