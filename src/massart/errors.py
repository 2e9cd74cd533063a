"""The exceptions of massart: each message says what happened, where, and what to do about it.

All of them are `ValueError`s as well, so code written for scikit-learn catches them as it always did.
"""

__all__ = ["InvalidDataError", "InvalidParameterError", "InvalidTypeError", "MassartError", "ModelFileError"]


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
