"""Which training a file tells of: the data, the options and the model it began with, so that it goes on with the same.

Nothing here depends on the clock or the machine: the same training gives the same model file, byte for byte.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from massart.data.schema import Schema
from massart.errors import InvalidDataError
from massart.training.settings import Settings

__all__ = ["content_digest", "difference", "digest", "identity"]

_SHARED: Final = 1 << 22  # bytes of all files together that are looked at
_LEAST, _BLOCK, _BLOCKS = 1 << 13, 1 << 12, 64  # bytes of a file; of a block, at least; blocks of a file, at most
_SAMPLED, _WHOLE = "blocks:", "sha256:"


def identity(
    sources: Sequence[Any],
    settings: Settings,
    reading: Schema,
    initial: str | None,
    others: Sequence[Any] = (),
    *,
    with_content: bool = True,
) -> dict[str, Any]:
    """What must be the same for a training to go on where another stopped.

    `others` are files beside the data: with its labels, with the rows that measure the error. Without `with_content`,
    as for a training of which no file will tell, none is read.

    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(name="a.svm", size=420, path=None, is_pipe=True)
    >>> found = identity([data], Settings(passes=2), Schema("svmlight"), None)
    >>> found["sources"], found["content"], found["options"]["passes"], found["reading"]
    ([['a.svm', 420]], [None], 2, {'format': 'svmlight'})
    """
    every = [*sources, *others]
    share = max(_LEAST, _SHARED // max(1, len(every)))
    found: dict[str, Any] = {
        "sources": [[source.name, source.size] for source in sources],
        "content": [_content(source, share, whole=settings.strict_resume) for source in every] if with_content else [],
        "options": settings.options(),
        "reading": reading.as_dict(),
        "initial": initial,
    }
    if others:
        found["others"] = [[source.name, source.size] for source in others]
    plain: dict[str, Any] = json.loads(json.dumps(found))  # what it will be after a visit to a file
    return plain


def digest(header: Mapping[str, Any]) -> str:
    """A name for a model file; its header holds the checksums of all else."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _content(source: Any, share: int, *, whole: bool) -> str | None:
    """A digest of what a source holds; None for a pipe, of which nobody knows beforehand."""
    if source.is_pipe:
        return None
    try:
        return content_digest(source.path, share, whole=whole)
    except OSError as error:
        raise InvalidDataError(f"{source.name} cannot be read: {error.strerror or error}") from None


def content_digest(path: Path, share: int = _SHARED, *, whole: bool = False) -> str:
    """A name for the content of a file: of `share` bytes of it, the first and the last among them, or of the whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a")
    ...     for text in (b"1 1:1", b"0 1:1"):
    ...         _ = path.write_bytes(text)
    ...         content_digest(path), content_digest(path, whole=True)[:15]
    ('blocks:163216db65f06dcfb47d91cac2f9ad09', 'sha256:cf1e190e')
    ('blocks:d62bd346a98efd5aac957cc7910467d0', 'sha256:48741895')
    """
    with path.open("rb") as file:
        if whole:
            return _WHOLE + hashlib.file_digest(file, "sha256").hexdigest()
        size = os.fstat(file.fileno()).st_size
        found = hashlib.blake2b(b"%d" % size, digest_size=16)
        for place, length in _blocks(size, share):
            file.seek(place)
            found.update(file.read(length))
    return _SAMPLED + found.hexdigest()


def _blocks(size: int, share: int) -> Iterator[tuple[int, int]]:
    """(first byte, bytes) of the blocks of a file of that size: the first, the last, one in each part between them.

    >>> list(_blocks(100, 8192)), [place for place, _ in _blocks(1 << 30, 16384)]
    ([(0, 100)], [0, 606971979, 914784371, 1073737728])
    """
    if size <= share:
        yield 0, size
        return
    count = min(_BLOCKS, share // _BLOCK)
    length = share // count
    last = size - length
    part = last // (count - 1)
    for number in range(count):
        place = last * number // (count - 1)
        if 0 < number < count - 1:  # anywhere in its part, but at the same place for each file of that size
            drawn = hashlib.blake2b(b"%d %d" % (size, number), digest_size=8).digest()
            place += int.from_bytes(drawn, "little") % max(1, part - length)
        yield place, length


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """How two trainings differ, in words; None if they do not.

    >>> difference({"sources": [["a.svm", 420]]}, {"sources": [["a.svm", 555]]})
    'a.svm had 420 bytes and has 555 bytes now'
    >>> same = {"sources": [["a.svm", 420]], "content": ["blocks:0"]}
    >>> difference(same | {"options": {"passes": 1}}, same | {"options": {"passes": 2}})
    'passes was 1 and is 2 now'
    >>> difference(same, same | {"content": ["blocks:1"]})
    'a.svm holds other data now'
    """
    before, after = ([*run.get("sources", []), *run.get("others", [])] for run in (then, now))
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
    names = [name for name, _ in after]
    return _other_content(names, then.get("content", []), now.get("content", []))


def _other_content(names: Sequence[str], then: Sequence[str | None], now: Sequence[str | None]) -> str | None:
    if len(then) != len(names):
        return "it does not say what its data held, being of an older version of massart"
    for name, old, new in zip(names, then, now, strict=True):
        if old is None or new is None:
            return f"{name} is a pipe, which may bring other rows each time"
        strict = [digest.startswith(_WHOLE) for digest in (old, new)]
        if strict == [False, True]:
            return "it was begun without --strict-resume"
        if strict == [True, False]:
            return "it was begun with --strict-resume"
        if old != new:
            return f"{name} holds other data now"
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
