"""Errors of the service: each is an HTTP status, a name and a sentence, for whichever API it is told by."""

from typing import Any

from massart.errors import MassartError

__all__ = ["ConflictError", "NotAllowedError", "NotFoundError", "NotReadyError", "RefusedError", "ServiceError",
           "TooLargeError", "TooManyError", "UnauthorizedError"]  # fmt: skip


class ServiceError(MassartError):
    """The root; `details` go into the answer."""

    status = 500
    title = "The service failed"

    def __init__(self, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self.details = details

    @property
    def kind(self) -> str:
        """A name for programs."""
        words = "".join(f"-{c.lower()}" if c.isupper() else c for c in type(self).__name__)
        return words.removesuffix("-error").lstrip("-")


class RefusedError(ServiceError):
    """A request that cannot be what was meant."""

    status, title = 422, "The request was understood and refused"


class UnauthorizedError(ServiceError):
    """No key, or one that is not known."""

    status, title = 401, "A key is needed"


class NotAllowedError(ServiceError):
    """A key without the scope that is needed."""

    status, title = 403, "The key does not allow this"


class NotFoundError(ServiceError):
    """There is no such thing."""

    status, title = 404, "Not found"


class ConflictError(ServiceError):
    """It contradicts what is there already."""

    status, title = 409, "ConflictError"


class TooLargeError(ServiceError):
    """A body, or a list in it, exceeds a limit."""

    status, title = 413, "Too large"


class TooManyError(ServiceError):
    """Too many requests."""

    status, title = 429, "Too many requests"


class NotReadyError(ServiceError):
    """Nothing was recorded; the same request may succeed later."""

    status, title = 503, "The service cannot record anything now"
