"""Named features to columns: VW's hash, so that a stream needs no vocabulary."""

import numpy as np

from massart.kernels.parsing.hashing import vw_hash

__all__ = ["name_hash"]


def name_hash(name: str | bytes, seed: int = 0) -> int:
    """32 bits for a name; the seed is the hash of what the name stands in, such as a namespace.

    >>> name_hash("13"), name_hash("age") == name_hash("age", name_hash("user"))
    (13, False)
    """
    text = np.frombuffer(name.encode() if isinstance(name, str) else name, np.uint8)
    return int(vw_hash(text, np.uint64(0), np.uint64(text.size), np.uint32(seed)))
