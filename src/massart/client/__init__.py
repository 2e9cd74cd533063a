"""Clients of the decision service: `Client`, `AsyncClient`, and `LocalDecider`, which decides without a request.

    pip install "massart[client]"

They need httpx and msgspec, not the service itself. See docs/client.md.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from massart.client.calls import CallError as CallError
    from massart.client.calls import UnavailableError as UnavailableError
    from massart.client.clients import AsyncClient as AsyncClient
    from massart.client.clients import Client as Client
    from massart.client.local import LocalDecider as LocalDecider

__all__ = ["AsyncClient", "CallError", "Client", "LocalDecider", "UnavailableError"]

_HOME = {"AsyncClient": "clients", "CallError": "calls", "Client": "clients", "LocalDecider": "local",
         "UnavailableError": "calls"}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"massart.client.{_HOME[name]}"), name)
    raise AttributeError(f"module 'massart.client' has no attribute {name!r}; its names are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
