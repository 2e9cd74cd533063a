"""Which training a file tells of: the data, the options and the model it began with, so that it goes on with the same.

Nothing here depends on the clock or the machine: the same training gives the same model file, byte for byte.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from massart.data.reading import Reading
from massart.training.settings import Settings

__all__ = ["difference", "digest", "identity"]


def identity(sources: Sequence[Any], settings: Settings, reading: Reading, initial: str | None) -> dict[str, Any]:
    """What must be the same for a training to go on where another stopped.

    >>> from types import SimpleNamespace
    >>> found = identity([SimpleNamespace(name="a.svm", size=420)], Settings(passes=2), Reading("svmlight"), None)
    >>> found["sources"], found["options"]["passes"], found["reading"]
    ([['a.svm', 420]], 2, {'format': 'svmlight'})
    """
    found = {
        "sources": [[source.name, source.size] for source in sources],
        "options": settings.options(),
        "reading": reading.as_dict(),
        "initial": initial,
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))  # what it will be after a visit to a file
    return plain


def digest(header: Mapping[str, Any]) -> str:
    """A name for a model file; its header holds the checksums of all else."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """How two trainings differ, in words; None if they do not.

    >>> difference({"sources": [["a.svm", 420]]}, {"sources": [["a.svm", 555]]})
    'a.svm had 420 bytes and has 555 bytes now'
    >>> difference({"options": {"passes": 1}}, {"options": {"passes": 2}})
    'passes was 1 and is 2 now'
    """
    before, after = then.get("sources", []), now.get("sources", [])
    if [name for name, _ in before] != [name for name, _ in after]:
        return f"its data was {_names(before)} and is {_names(after)} now"
    for (name, old), (_, new) in zip(before, after, strict=True):
        if old != new:
            return f"{name} had {_size(old)} and has {_size(new)} now"
    for part in ("options", "reading"):
        own, other = then.get(part, {}), now.get(part, {})
        for name in dict.fromkeys((*own, *other)):
            if own.get(name) != other.get(name):
                return f"{name} was {_value(own.get(name))} and is {_value(other.get(name))} now"
    if then.get("initial") != now.get("initial"):
        return "it began with another model"
    return None


def _names(sources: Sequence[Any]) -> str:
    names = [str(name) for name, _ in sources]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _size(size: int | None) -> str:
    return "no size" if size is None else f"{size:,} bytes"


def _value(value: Any) -> str:
    if value is None or value == []:
        return "not given"
    return ",".join(map(str, value)) if isinstance(value, list) else f"{value}"
