"""Model files: arrays and a JSON header in one zip, safe to open from a stranger.

    header.json     {"format": 1, "kind": "classifier", "massart": "0.1.0", "meta": {...}, "arrays": {...}}
    NAME.npy        one member per array, NumPy's own format without pickled objects

The header names each array with its dtype and shape and the SHA-256 of its bytes, so a damaged file is refused
rather than half-read. Nothing in the file is ever unpickled or evaluated. Files are written beside their place
and moved there when whole: a crash leaves the old file or the new one.
"""

import contextlib
import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import ModelFileError

FORMAT = 1


def write_model(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/m.massart", "demo", {"answer": 42}, {"w": np.arange(3.0)})
    ...     read_model(f"{folder}/m.massart")
    ('demo', {'answer': 42}, {'w': array([0., 1., 2.])})
    """
    from massart import __version__  # noqa: PLC0415  the package is being imported when this module is

    path = Path(path)
    header = {
        "format": FORMAT,
        "kind": kind,
        "massart": __version__,
        "meta": dict(meta),
        "arrays": {name: _described(array) for name, array in arrays.items()},
    }
    text = json.dumps(header, allow_nan=False)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr("header.json", text)
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def read_model(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """(kind, meta, arrays) of a model file; a file that is not whole is refused by name and reason."""
    file = Path(path).open("rb")  # a missing file is its own error  # noqa: SIM115
    try:
        with file, zipfile.ZipFile(file) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise _damaged(path, "its members are compressed, which massart's never are")
            header = json.loads(archive.read("header.json"))
            if not isinstance(header, dict) or type(header.get("format")) is not int or header["format"] < 1:
                raise _damaged(path, "its header is not one of massart's")
            if header["format"] > FORMAT:
                raise ModelFileError(
                    f"{os.fspath(path)} has format {header['format']}, written by massart {header.get('massart')}; "
                    f"this version reads up to format {FORMAT}: upgrade massart"
                )
            arrays = {name: _array(archive, path, name, facts) for name, facts in header["arrays"].items()}
            return str(header["kind"]), dict(header["meta"]), arrays
    except ModelFileError:
        raise
    except Exception as error:  # a forged file can make zipfile, json and numpy raise almost anything
        raise _damaged(path, str(error) or type(error).__name__) from None


def _array(archive: zipfile.ZipFile, path: Any, name: str, facts: Mapping[str, Any]) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
    if _described(array) != facts:
        raise _damaged(path, f"array {name!r} is not the one that was written")
    return array


def _described(array: NDArray[Any]) -> dict[str, Any]:
    digest = hashlib.sha256(np.asarray(array, order="C").tobytes()).hexdigest()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def _damaged(path: Any, why: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(path)} is not a whole massart model file ({why}): copy it again, or save the model again"
    )
