"""What the tests of model files share: a model to write, what is expected of it, and files by somebody else."""

import hashlib
import io
import json
import zipfile
import zlib

import numpy as np
import pytest

from massart.errors import ModelFileError
from massart.models.arrays import Piece
from massart.models.container import Frame, Member
from massart.models.model_file import read_model

META = {"answer": 42, "text": "größer", "list": [1, None, True, 0.1]}
ARRAYS = {
    "w": np.linspace(-1, 1, 7),
    "V": np.arange(6, dtype=np.int64).reshape(2, 3),
    "names": np.array(["a", "bcd"]),
    "seed": np.array([2**64 - 1], dtype=np.uint64),
}


def assert_whole(read, expected=ARRAYS, meta=META):
    assert read[:2] == ("demo", meta)
    arrays = read[2]
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def refused(path):
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def npy(header, body=b"\0" * 8):
    header = header.encode("latin1")
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def described(array):
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def as_npy(array, allow_pickle=False):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def stored(array):
    """An array as a member of a model file."""
    return Piece("", array.dtype, array.shape).prefix + array.tobytes()


def forge(path, header, members=(), compression=zipfile.ZIP_STORED):
    """A well-formed zip by somebody else."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        if header is not None:
            archive.writestr("header.json", header if isinstance(header, (str, bytes)) else json.dumps(header))
        for name, content in dict(members).items():
            archive.writestr(name, content)


def forge_frame(path, arrays, contents, **changes):
    """A file whose frame is right in every byte, whatever its header and its members hold."""
    forge_header(
        path, {"format": 2, "kind": "demo", "massart": "0.1.0", "meta": {}, "arrays": arrays} | changes, contents
    )


def forge_header(path, header, contents):
    """The same with any header: a table, text, or none at all."""
    if header is not None:
        text = header if isinstance(header, (str, bytes)) else json.dumps(header)
        contents = {"header.json": text.encode() if isinstance(text, str) else text} | contents
    frame = Frame([Member(name, len(content), zlib.crc32(content)) for name, content in contents.items()])
    parts = [part for pair in zip(frame.headers, contents.values(), strict=True) for part in pair]
    path.write_bytes(b"".join([*parts, frame.end]))


ONE = np.arange(3.0)
GOOD = {"format": 2, "kind": "demo", "massart": "0.1.0", "meta": {}, "arrays": {"w": described(ONE)}}
