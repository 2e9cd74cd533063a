"""How kernels are compiled: every one of them takes `njit` from here."""

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["njit"]


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's decorator, with its options."""
    decorator: Callable[[Callable[..., Any]], Any] = numba.njit(**options)
    return decorator
