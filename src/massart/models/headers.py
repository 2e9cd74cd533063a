"""What the header of a model file may say: the type and range of every field that a command looks at.

A file may come from anywhere, so its header is checked here before it is used. Unknown fields are ignored.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final

from massart.errors import ModelFileError

__all__ = ["check_header", "printable"]

_Check = Callable[[Any], bool]
_MOST: Final = 1 << 62  # of what is counted
_SHOWN: Final = 60  # characters of a value that is refused


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return (type(value) is float and isfinite(value)) or (type(value) is int and abs(value) <= _MOST)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _missing(value: Any) -> bool:
    return value is None


def _any_of(*checks: _Check) -> _Check:
    return lambda value: any(check(value) for check in checks)


def _list_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _row_of(*checks: _Check) -> _Check:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(checks)
        and all(check(one) for check, one in zip(checks, value, strict=True))
    )


def _table_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _fields(checks: Mapping[str, _Check], *, every: bool = False) -> _Check:
    """A table in which each field that is there, or `every` one, is right."""
    return lambda value: (
        isinstance(value, dict)
        and all(check(value[name]) if name in value else not every for name, check in checks.items())
    )


_TEXTS = _list_of(_text)
_PLAIN = _any_of(_missing, _flag, _number, _text)
_PAIRS = _list_of(_row_of(_whole, _whole))
_FILES = _list_of(_row_of(_text, _any_of(_missing, _whole)))
_COUNTS = _table_of(_whole)
_PARAMETERS = {
    **dict.fromkeys(("noise_rate", "margin", "horizon"), _any_of(_missing, _number)),
    **dict.fromkeys(("update", "optimizer", "voting"), _text),
    **dict.fromkeys(("fit_intercept", "normalize", "products"), _flag),
    "random_state": _any_of(_missing, _whole),
}
_LABELLED = {"labels": _list_of(_any_of(_flag, _number, _text)), "weights": _list_of(_number)}
_READING = {
    **dict.fromkeys(("format", "label", "weight", "decimal", "separator"), _text),
    **dict.fromkeys(("ignore", "categorical", "numbers", "columns", "crossings", "groups"), _TEXTS),
    **dict.fromkeys(("bits", "features"), _whole),
    "labels": lambda value: _TEXTS(value) and len(value) >= 2,
    **dict.fromkeys(("header", "new_labels"), _flag),
}
_RUN = {
    **dict.fromkeys(("learned", "mistakes", "positive", "unlabelled", "weightless", "held_out"), _whole),
    **dict.fromkeys(("sources", "others"), _FILES),
    "content": _list_of(_any_of(_missing, _text)),
    "options": _table_of(_PLAIN),
    "reading": _fields(_READING),
    "initial": _any_of(_missing, _text),
    "flaws": _COUNTS,
    "holdout": _PAIRS,
    "best_pass": _any_of(_missing, _whole),
}
_PROGRESS = {
    **dict.fromkeys(("passed", "read", "learned", "mistakes", "positive", "unlabelled", "weightless"), _whole),
    **dict.fromkeys(("held_out", "width", "predictions", "rounds"), _whole),
    **dict.fromkeys(("weight", "wrong", "weight_positive"), lambda value: _number(value) and value >= 0),
    **dict.fromkeys(("row_errors", "unknown_labels"), _COUNTS),
    "phase": lambda value: value in ("learn", "measure", "finish"),
    "position": _any_of(_row_of(_whole, _whole, _whole), _row_of(_whole, _whole, _whole, _list_of(_whole))),
    "output": _text,
    "holdout": _PAIRS,
    "measured": _row_of(_whole, _whole),
    "answers": _fields(
        {
            **dict.fromkeys(("rows", "answered", "right"), _list_of(_whole)),
            **dict.fromkeys(("table", "bins"), _list_of(_list_of(_whole))),
            "loss": lambda value: _number(value) and value >= 0,
            "given": _whole,
        },
        every=True,
    ),
}
_META = {
    "parameters": lambda value: _table_of(_any_of(_PLAIN, _fields(_LABELLED)))(value) and _fields(_PARAMETERS)(value),
    "reading": _fields(_READING),
    "training": _fields({"complete": _flag, "runs": _list_of(_fields(_RUN))}),
    "progress": _fields(_PROGRESS, every=True),
    "layout": _whole,
    "learner": _text,
    "classes": _list_of(_any_of(_flag, _number, _text)),
    "n_iter": _whole,
    "n_features_in": _whole,
    "feature_names_in": _TEXTS,
}


def check_header(path: Path, header: Mapping[str, Any]) -> None:
    """Refuse a header in which a field is not what that field can be.

    >>> header = {"massart": "0.1.0", "meta": {"parameters": {"margin": 0.1}, "n_iter": "three"}}
    >>> check_header(Path("m.massart"), header)
    Traceback (most recent call last):
    massart.errors.ModelFileError: m.massart: its header says n_iter='three', which cannot be: save the model again
    """
    meta = header["meta"]
    wrong = [(name, meta[name]) for name, check in _META.items() if name in meta and not check(meta[name])]
    if not _text(header.get("massart")):
        wrong.append(("massart", header.get("massart")))
    for name, value in wrong:
        words = printable(repr(value)[:_SHOWN])
        raise ModelFileError(f"{path}: its header says {name}={words}, which cannot be: save the model again")


def printable(text: str) -> str:
    r"""A text from a file, safe to print.

    >>> printable("yes"), printable("\x1b[31m")
    ('yes', "'\\x1b[31m'")
    """
    return text if text.isprintable() else repr(text)
