"""Model files: what was written comes back, the same content is the same file, and damage is refused by place."""

import hashlib
import json
import os
import pickle
import sys
import zipfile

import numpy as np
import processes
import pytest
from model_cases import ARRAYS, META, ONE, assert_whole, described, forge, refused

from massart.errors import ModelFileError
from massart.models.model_file import read_header, read_model, write_model


def test_round_trip(path):
    assert_whole(read_model(path))
    assert_whole(read_model(str(path)))


def test_other_programs_read_the_file(path):
    """It is a zip, whole by its own checksums, and NumPy's archive of arrays."""
    assert zipfile.ZipFile(path).testzip() is None
    with np.load(path, allow_pickle=False) as archive:
        for name, array in ARRAYS.items():
            assert np.array_equal(archive[name], array)
            assert archive[name].dtype == array.dtype
    header = json.loads(zipfile.ZipFile(path).read("header.json"))
    assert header == read_header(path)
    assert list(header) == ["format", "kind", "massart", "meta", "arrays"]
    assert (header["format"], header["kind"], header["meta"]) == (2, "demo", META)
    assert header["arrays"]["w"] == described(ARRAYS["w"])


def test_the_same_content_is_the_same_file(path, tmp_path, monkeypatch):
    """No clock, no process, no memory layout in it; reading and writing again changes nothing."""
    monkeypatch.setattr("time.time", lambda: 2e9)
    other = tmp_path / "of another name"
    write_model(other, "demo", META, {name: np.array(array, order="F") for name, array in ARRAYS.items()})
    assert other.read_bytes() == path.read_bytes()
    write_model(other, *read_model(path))
    assert other.read_bytes() == path.read_bytes()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    script = "import sys; from massart.models.model_file import *; write_model(sys.argv[2], *read_model(sys.argv[1]))"
    processes.run([sys.executable, "-c", script, str(path), str(other)], check=True)
    assert hashlib.sha256(other.read_bytes()).hexdigest() == digest


def test_numbers_begin_at_multiples_of_64_bytes(path):
    whole = path.read_bytes()
    for name in ("w", "V"):
        assert whole.index(ARRAYS[name].tobytes()) % 64 == 0


@pytest.mark.parametrize(
    "array",
    [
        np.array([np.nan, np.inf, -0.0, 5e-324]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10.0)[::2],
        np.zeros((0, 3)),
        np.array(3.0),
        np.arange(3, dtype=">f8"),
        np.array([True, False]),
        np.arange(5.0, dtype=np.float32),
        np.array(["2024-01-01"], dtype="datetime64[s]"),
        np.frombuffer(b"12345678", dtype=np.uint8),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
        np.zeros((4, 300_000), order="F")[:, ::2] + 1,  # no row fits into a block
        np.zeros((0, 5), order="F"),
        np.array([], dtype="<U3"),
        np.arange(4.0).astype(complex),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_every_plain_array_comes_back_to_the_last_bit_and_writeable(array, tmp_path):
    write_model(tmp_path / "m", "demo", {}, {"a": array})
    back = read_model(tmp_path / "m")[2]["a"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable
    assert back.flags.c_contiguous
    assert back.size == 0 or back.ctypes.data % 64 == 0


def test_a_truncated_file_is_refused_at_every_length(small):
    whole = small.read_bytes()
    for length in range(len(whole)):
        small.write_bytes(whole[:length])
        refused(small)


def test_a_flipped_bit_is_refused_wherever_it_is(small):
    """No byte of a file is of no importance: not the dates, not the filling between members."""
    whole = small.read_bytes()
    for place in range(len(whole)):
        for mask in (1 << place % 8, 255):
            damaged = bytearray(whole)
            damaged[place] ^= mask
            small.write_bytes(damaged)
            assert refused(small), f"byte {place} ^ {mask}"


def test_a_refusal_says_where(path):
    """Which member or array, which byte, what it is and what it should be."""
    whole = path.read_bytes()
    place = whole.index(ARRAYS["w"].tobytes())
    changes = {
        place + 3: f"array 'w', from byte {place} on, has the SHA-256",
        whole.index(b"V.npy") + 40: "in the header of V.npy",
        whole.index(b"'descr': '<u8'"): "in the beginning of seed.npy",
        whole.index(b"w.npy", place): "its members are header.json, ",
        len(whole) - 30: "in the directory",
    }
    for where, words in changes.items():
        damaged = bytearray(whole)
        damaged[where] ^= 1
        path.write_bytes(damaged)
        message = refused(path)
        assert words in message
        if " in the " in words:
            found = f"is {damaged[where]:#04x} and should be {whole[where]:#04x}"
            assert f"byte {where}, {words}, {found}" in message
    path.write_bytes(whole + b"\0")
    assert f"it has {len(whole) + 1} bytes, but what its header describes takes {len(whole)}" in refused(path)
    path.write_bytes(whole[:-1])
    assert f"has {len(whole) - 1} bytes: it may have been cut off" in refused(path)
    path.write_bytes(b"")
    assert "it is empty" in refused(path)


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100)


@pytest.mark.parametrize(
    "content", [b"hello", b"P", b"\x80\x04.", PNG, b"\x1f\x8b\x08", os.urandom(4096), pickle.dumps([1, 2])]
)
def test_what_is_no_zip_is_refused_by_its_first_bytes(path, content):
    path.write_bytes(content)
    assert "cut off" in refused(path) if content == b"P" else f"begins with {content[:4]!r}" in refused(path)
    with pytest.raises(ModelFileError):
        read_header(path)


def test_a_zip_of_somebody_else_is_refused(path):
    forge(path, None, {"word/document.xml": "<xml/>"})
    assert "without header.json" in refused(path)
    np.savez(path.with_suffix(".npz"), w=ONE)
    assert "without header.json" in refused(path.with_suffix(".npz"))


def test_a_path_that_is_no_file_is_told_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "missing.massart")
    with pytest.raises(ModelFileError, match="is a folder"):
        read_model(tmp_path)
