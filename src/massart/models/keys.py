"""The key that signs a bandit's choices: in a file beside the model, for the model's owner alone.

`save` writes MODEL.key next to MODEL, readable by its owner only; `load` reads it. The model file does not hold the
key, so it can be given to others, who then cannot make choices that this bandit would learn from.
"""

import json
import os
from pathlib import Path
from typing import Any

from massart.files import replacing

__all__ = ["key_path", "read_key", "write_key"]

_KEPT = 4  # keys of bandits that were saved under this name before: until the model is replaced, one of them is its key
_MOST_BYTES = 1 << 16


def key_path(path: str | os.PathLike[str]) -> Path:
    """Where the key of a model is.

    >>> key_path("models/shop.massart").name
    'shop.massart.key'
    """
    return Path(f"{os.fspath(path)}.key")


def write_key(path: str | os.PathLike[str], bandit: str, key: bytes) -> None:
    """Put the key of a bandit beside its model, before the model is written; nothing happens if it is there."""
    known = _read(path)
    if known.get(bandit) == key.hex():
        return
    known = dict([*known.items(), (bandit, key.hex())][-_KEPT:])
    with replacing(key_path(path)) as file:
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps({"massart": "keys of choices", "keys": known}).encode())


def read_key(path: str | os.PathLike[str], bandit: str) -> bytes | None:
    """The key of this bandit, or None if it is not there."""
    key = _read(path).get(bandit)
    return None if key is None else bytes.fromhex(key)


def _read(path: str | os.PathLike[str]) -> dict[str, str]:
    try:
        if not key_path(path).is_file():  # a pipe would keep whoever opens it waiting
            return {}
        with key_path(path).open("rb") as file:
            found: Any = json.loads(file.read(_MOST_BYTES))
        keys = found["keys"]
        return {str(name): key for name, key in keys.items() if len(bytes.fromhex(key)) == 32}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
