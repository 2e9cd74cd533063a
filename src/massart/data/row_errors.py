"""Sentences for what is wrong with a line: what was expected, what is there, and what to do where that is known."""

from massart.data.schema import MOST_FEATURES, Schema
from massart.kernels.parsing import row_errors as codes

__all__ = ["quoted", "sentence"]

_SHOWN = 24  # bytes of a line that a message shows

_WORDS = {
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


def sentence(code: int, found: bytes, schema: Schema) -> str:
    """What is wrong, given the text from the error on.

    >>> sentence(codes.VALUE, b"abc 7:1", Schema())
    "expected a number after ':', found 'abc'"
    >>> sentence(codes.CLASS, b"3 7:1", Schema())
    "label '3' is not one of two: it may be -1 or 0, and 1; name others with --labels NEGATIVE,POSITIVE"
    """
    shown = quoted(found)
    if code == codes.CLASS:
        may = "-1 or 0, and 1" if schema.labels is None else " or ".join(map(repr, schema.labels))
        return f"label {shown} is not one of two: it may be {may}; name others with --labels NEGATIVE,POSITIVE"
    if code == codes.INDEX_LARGE:
        if schema.bits is not None:
            return f"index {shown} is above {2**32 - 1:,}"
        most = schema.features or MOST_FEATURES
        return f"index {shown} is above {most:,}, the number of columns; hash features with -b 22, say"
    return _WORDS[code].format(found=shown)


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
