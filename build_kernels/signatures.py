"""Types of a kernel's arguments, as they stand in signatures.txt.

f64 f32 i64 i8 u64 u32 u8 bool    numbers
[f64]  [[f64]]  [[[f64]]]         a C-contiguous array that is only read, of 1, 2 or 3 dimensions
mut [f64]                         an array that is written
(f64, [u32])                      a tuple
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("signatures.txt")
KINDS = {
    "f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u8": "uint8", "bool": "bool",
}  # fmt: skip


class Scalar(NamedTuple):
    """A number."""

    kind: str

    def __str__(self) -> str:
        return self.kind


class Array(NamedTuple):
    """An array of numbers."""

    kind: str
    dimensions: int
    written: bool

    def __str__(self) -> str:
        return f"{'mut ' * self.written}{'[' * self.dimensions}{self.kind}{']' * self.dimensions}"


class Tuple(NamedTuple):
    """A tuple of arguments."""

    items: tuple["Type", ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


Type = Scalar | Array | Tuple


class Signature(NamedTuple):
    """A kernel, by its name below massart.kernels, and the types of its arguments."""

    kernel: str
    arguments: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.kernel}: {', '.join(map(str, self.arguments))}"


def leaves(arguments: tuple[Type, ...]) -> Iterator[Scalar | Array]:
    """Numbers and arrays in their order, out of whatever tuples."""
    for one in arguments:
        if isinstance(one, Tuple):
            yield from leaves(one.items)
        else:
            yield one


def parse(line: str) -> Signature:
    """A line of signatures.txt.

    >>> print(parse("rows.score: ([f64], mut [[u32]]), f64"))
    rows.score: ([f64], mut [[u32]]), f64
    """
    kernel, _, text = line.partition(":")
    tokens = re.findall(r"mut|\w+|[\[\](),]", text)
    arguments = _items(tokens)
    if tokens:
        raise ValueError(f"this is no signature: {line}")
    return Signature(kernel.strip(), arguments)


def _items(tokens: list[str]) -> tuple[Type, ...]:
    found: list[Type] = []
    while tokens and tokens[0] != ")":
        if tokens[0] == ",":
            tokens.pop(0)
            continue
        found.append(_one(tokens))
    return tuple(found)


def _one(tokens: list[str]) -> Type:
    token = tokens.pop(0)
    if token == "(":  # noqa: S105 - no password
        items = _items(tokens)
        if tokens.pop(0) != ")":
            raise ValueError("a tuple without an end")
        return Tuple(items)
    written = token == "mut"  # noqa: S105
    if written:
        token = tokens.pop(0)
    dimensions = 0
    while token == "[":  # noqa: S105
        dimensions, token = dimensions + 1, tokens.pop(0)
    if token not in KINDS or [tokens.pop(0) for _ in range(dimensions)] != ["]"] * dimensions:
        raise ValueError(f"{token} is no kind of number")
    return Array(token, dimensions, written) if dimensions else Scalar(token)


def read(file: Path = FILE) -> list[Signature]:
    """All signatures, in the file's order."""
    lines = (line.partition("#")[0].strip() for line in file.read_text().splitlines())
    return [parse(line) for line in lines if line]
