"""Model files whose checksums are right and whose header is not: every field replaced by what it cannot be."""

import copy
import json
import zipfile
import zlib

from massart.models.container import Frame, Member

DEEP = [[]]
for _ in range(200):
    DEEP = [DEEP]

VALUES = (
    *(None, True, False, [], {}, [[]], [{}], {"a": 1}, [None], "", "x", "\x1b[31m\n\x00", "\ud800", "9" * 5000),
    *(-1, 0, 1, 3, 2**31, 2**63, -(2**63), 10**30, 1.5, -0.5, 1e308, -1e-320, float("nan"), float("inf"), DEEP),
)


def parts_of(path):
    """The members of a model file in order, name to bytes."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def header_of(path):
    return json.loads(parts_of(path)["header.json"])


def write_forged(path, parts, header):
    """The same members behind another header; whatever is a checksum of bytes is right."""
    contents = {**parts, "header.json": json.dumps(header).encode()}
    frame = Frame([Member(name, len(data), zlib.crc32(data)) for name, data in contents.items()])
    pieces = [head + data for head, data in zip(frame.headers, contents.values(), strict=True)]
    path.write_bytes(b"".join([*pieces, frame.end]))


def places(value, place=()):
    """The way to every part of a JSON value, containers included; of long lists, their beginning and end."""
    if place:
        yield place
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = sorted({0, 1, len(value) - 1} & set(range(len(value))))
    else:
        return
    for key in keys:
        yield from places(value[key], (*place, key))


def forgeries(header, seen=lambda place: True):
    """(place, what was done, header) for every part of a header that is `seen`: another value, or nothing at all."""
    for place in filter(seen, list(places(header))):
        for value in (*VALUES, "gone", "twice"):
            forged = copy.deepcopy(header)
            inner = forged
            for key in place[:-1]:
                inner = inner[key]
            if value == "gone":
                del inner[place[-1]]
            elif value == "twice":
                if isinstance(inner[place[-1]], str | list):
                    inner[place[-1]] = inner[place[-1]] * 2
                elif isinstance(inner[place[-1]], int | float):
                    inner[place[-1]] = inner[place[-1]] * 2 + 1
                else:
                    continue
            else:
                inner[place[-1]] = value
            yield place, repr(value)[:40], forged
