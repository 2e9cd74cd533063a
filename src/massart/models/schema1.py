"""The arrays of a model file of format 1: a zip of .npy members, written by massart 0.1.0."""

import hashlib
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.models.arrays import Described, bytes_of, new_array
from massart.models.container import damaged
from massart.models.loading import check_digest, filling

__all__ = ["load_arrays"]

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def load_arrays(
    path: str | os.PathLike[str], archive: zipfile.ZipFile, facts: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """All arrays that the header describes, each checked against its description before room is made for it."""
    return {name: _load(path, archive, Described.from_dict(name, about)) for name, about in facts.items()}


def _load(path: str | os.PathLike[str], archive: zipfile.ZipFile, each: Described) -> NDArray[Any]:
    member = each.pieces[0].name
    if member not in archive.namelist():
        raise damaged(path, f"it lacks {member}, which its header speaks of")
    with archive.open(member) as file:
        shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        size = archive.getinfo(member).file_size - file.tell()
        if (shape, fortran, dtype.str, size) != (each.shape, False, each.dtype.str, each.nbytes):
            raise damaged(
                path,
                f"{member} holds {size} bytes of {dtype.str} of shape {shape}, and should hold {each.nbytes} of "
                f"{each.dtype.str} of shape {each.shape}",
            )
        array, digest = new_array(each.dtype, each.shape), hashlib.sha256()
        filling(file, digest)(bytes_of(array))
    check_digest(path, each, digest.hexdigest())
    return array
