"""The frame of a model file: a zip of stored members, each byte of which follows from names, sizes and checksums.

Members lie one after the other without gaps, and their contents begin at multiples of 64 bytes: a field of zeros in
their headers fills up. Dates are those of no day. So the same content is the same file, byte for byte; an array can be
used where it lies; and every byte between the arrays can be checked against what the file should hold.
Sizes are written in 64 bits always (Zip64). Any program that reads zip files reads these.
"""

import os
import struct
from collections.abc import Sequence
from typing import BinaryIO

from massart.errors import ModelFileError
from massart.values import Value

__all__ = ["ALIGNMENT", "Frame", "Member", "checked", "damaged"]

ALIGNMENT = 64
_VERSION, _MADE_BY = 45, 3 << 8 | 45  # 4.5, the first with Zip64; on Unix, for the permissions
_DATE = 1 << 5 | 1  # 1 January 1980, the first that a zip can hold
_UTF8 = 1 << 11
_ELSEWHERE, _MANY = 0xFFFFFFFF, 0xFFFF  # "see the 64-bit field"
_READABLE = 0o100644 << 16
_ZIP64, _PADDING = 1, 0xD935  # the latter is what zipalign uses
_LOCAL, _CENTRAL = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_SIZES, _PLACES = struct.Struct("<2H2Q"), struct.Struct("<2H3Q")
_END64, _FINDER, _END = struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL"), struct.Struct("<4s4H2LH")


class Member(Value):
    """One entry of the zip."""

    name: str
    size: int
    checksum: int  # CRC-32 of its content


class Frame:
    """All bytes of a file but the contents of its members, and where those lie.

    >>> frame = Frame([Member("a", 5, 0x3610A686)])
    >>> frame.places, len(frame.headers[0]), frame.size
    ([64], 64, 242)
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self.headers: list[bytes] = []  # of each member, just before its content
        self.places: list[int] = []  # where each content begins
        directory, end = [], 0
        for member in members:
            self.headers.append(_header(member, end))
            directory.append(_entry(member, end))
            self.places.append(end + len(self.headers[-1]))
            end = self.places[-1] + member.size
        self.end = _ending(len(members), end, b"".join(directory))
        self.size = end + len(self.end)

    def check(self, file: BinaryIO, path: str | os.PathLike[str]) -> None:
        """Refuse a file of another size, or with any other byte between its contents."""
        size = file.seek(0, os.SEEK_END)
        if size != self.size:
            raise damaged(path, f"it has {size} bytes, but what its header describes takes {self.size}")
        for member, header, place in zip(self.members, self.headers, self.places, strict=True):
            checked(file, path, place - len(header), header, f"the header of {member.name}")
        checked(file, path, self.size - len(self.end), self.end, "the directory")


def _name(member: Member) -> tuple[bytes, int]:
    """The name and the flag that goes with it."""
    return member.name.encode(), 0 if member.name.isascii() else _UTF8


def _header(member: Member, place: int) -> bytes:
    name, flag = _name(member)
    sizes = _SIZES.pack(_ZIP64, _SIZES.size - 4, member.size, member.size)
    least = _LOCAL.size + len(name) + len(sizes) + 6
    zeros = bytes(-(place + least) % ALIGNMENT)
    extra = sizes + struct.pack("<3H", _PADDING, 2 + len(zeros), ALIGNMENT) + zeros
    numbers = (_VERSION, flag, 0, 0, _DATE, member.checksum, _ELSEWHERE, _ELSEWHERE, len(name), len(extra))
    return _LOCAL.pack(b"PK\3\4", *numbers) + name + extra


def _entry(member: Member, place: int) -> bytes:
    name, flag = _name(member)
    extra = _PLACES.pack(_ZIP64, _PLACES.size - 4, member.size, member.size, place)
    numbers = (_MADE_BY, _VERSION, flag, 0, 0, _DATE, member.checksum, _ELSEWHERE, _ELSEWHERE, len(name), len(extra))
    return _CENTRAL.pack(b"PK\1\2", *numbers, 0, 0, 0, _READABLE, _ELSEWHERE) + name + extra


def _ending(count: int, place: int, directory: bytes) -> bytes:
    end64 = _END64.pack(b"PK\6\6", _END64.size - 12, _MADE_BY, _VERSION, 0, 0, count, count, len(directory), place)
    finder = _FINDER.pack(b"PK\6\7", 0, place + len(directory), 1)
    few = min(count, _MANY)
    return directory + end64 + finder + _END.pack(b"PK\5\6", 0, 0, few, few, _ELSEWHERE, _ELSEWHERE, 0)


def checked(file: BinaryIO, path: str | os.PathLike[str], place: int, expected: bytes, what: str) -> None:
    """Refuse a file that holds anything else at a place; the refusal names the first byte that differs."""
    file.seek(place)
    found = file.read(len(expected))
    if found != expected:
        pairs = zip(expected, found, strict=False)
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), len(found))
        there = f"{found[first]:#04x}" if first < len(found) else "the end of the file"
        raise damaged(path, f"byte {place + first}, in {what}, is {there} and should be {expected[first]:#04x}")


def damaged(path: str | os.PathLike[str], why: str) -> ModelFileError:
    """The refusal of a file that is not what was written."""
    return ModelFileError(
        f"{os.fspath(path)} is not a valid massart model file ({why}): copy it again, or save the model again"
    )
