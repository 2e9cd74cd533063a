"""How much a file may ask for, so that memory stays in proportion to its size whatever its bytes say.

A line of text has at most `LONGEST_LINE` bytes, and so has a row of a .npy file; text is read and
decompressed a block at a time. Everything else that a few bytes can make large is bounded here.
"""

from typing import Final

__all__ = [
    "LARGEST_IN_LOG",
    "MOST_ARMS",
    "MOST_COLUMNS",
    "MOST_ENTRIES",
    "SMALLEST_IN_LOG",
    "TooLarge",
    "most_unpacked",
]

MOST_COLUMNS: Final = 1 << 20  # of a table, the elements of lists included
MOST_ARMS: Final = 1 << 20  # of a decision
MOST_ENTRIES: Final = 1 << 21  # features of a decision that are not 0, the shared ones counted for every arm
LARGEST_IN_LOG: Final = 1e30  # size of a reward, a weight or a feature of a log: squares of products stay finite
SMALLEST_IN_LOG: Final = 1e-30  # propensity, or weight

_UNPACKED: Final = 1 << 30  # bytes that any file may unpack to at once, and
_TIMES: Final = 16  # as many times its size


class TooLarge(Exception):  # noqa: N818 - `arrow_files` makes an error of it, which knows the name
    """A file asks for more memory than it may: what does, and what to do."""


def most_unpacked(size: int | None) -> int:
    """Bytes in memory that a file of this size may unpack to at once: 1 GiB and 16 times its size.

    >>> most_unpacked(1000) - most_unpacked(None)
    16000
    """
    return _UNPACKED + _TIMES * (size or 0)
