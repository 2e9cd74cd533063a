"""The exceptions of massart: each message says what happened, where, and what to do about it.

All are `MassartError`s. Invalid parameters, data and model files are `ValueError`s as well, and a missing optional
package is an `ImportError`, so code written for scikit-learn catches them.
"""

import importlib
from typing import Any

__all__ = ["InvalidDataError", "InvalidParameterError", "InvalidTypeError", "MassartError", "MissingPackageError",
           "ModelFileError", "needs"]  # fmt: skip


class MassartError(Exception):
    """The root of every error massart raises on purpose."""


class InvalidParameterError(MassartError, ValueError):
    """A parameter lies outside the range in which its theorem is true."""


class InvalidDataError(MassartError, ValueError):
    """A row, label or weight cannot be learned from; nothing was learned from its batch."""


class InvalidTypeError(InvalidDataError, TypeError):
    """Data are of a kind that nothing can be learned from; scikit-learn's contract wants a `TypeError` here."""


class ModelFileError(MassartError, ValueError):
    """A model file is damaged, of another kind, or of a newer format than this version reads."""


class MissingPackageError(MassartError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


def needs(package: str, extra: str, purpose: str) -> Any:
    """Import an optional package or a module of it; if it is missing, say which extra of massart brings it.

    >>> needs("json.decoder", "files", "to read JSON").__name__
    'json.decoder'
    >>> needs("no_such_package", "report", "to draw")
    Traceback (most recent call last):
    massart.errors.MissingPackageError: no_such_package is needed to draw: pip install "massart[report]"
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise MissingPackageError(f'{name} is needed {purpose}: pip install "massart[{extra}]"') from None


def shown(value: Any) -> str:
    """A value for a message, whatever it is; NumPy's numbers and texts look like Python's.

    >>> shown(0.5), shown(10**5000), len(shown("x" * 1000))
    ('0.5', '<int>', 60)
    """
    try:
        if type(value).__module__ == "numpy" and hasattr(value, "item") and value.ndim == 0:
            value = value.item()
        return repr(value)[:60]
    except Exception:  # Python refuses to print whole numbers of more than 4300 digits; an object may do anything
        return f"<{type(value).__name__}>"


def counted(number: float, noun: str) -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "round"), counted(2_000, "round"), counted(3, "policy")
    ('1 round', '2,000 rounds', '3 policies')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,.0f} {noun if number == 1 else plural}"
