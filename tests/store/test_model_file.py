"""Model files: a damaged or hostile file is refused by name and reason; a failed write leaves the old file alone."""

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from massart.errors import ModelFileError
from massart.store import model_file
from massart.store.model_file import read_model, write_model

META = {"answer": 42, "text": "größer", "list": [1, None, True, 0.1]}
ARRAYS = {
    "w": np.linspace(-1, 1, 7),
    "V": np.arange(6, dtype=np.int64).reshape(2, 3),
    "names": np.array(["a", "bcd"]),
    "seed": np.array([2**64 - 1], dtype=np.uint64),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.massart"
    write_model(path, "demo", META, ARRAYS)
    return path


@pytest.fixture
def small(path):
    write_model(path, "demo", META, {"w": ARRAYS["w"]})
    return path


def assert_whole(read, expected=ARRAYS):
    kind, meta, arrays = read
    assert (kind, meta) == ("demo", META)
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


def test_round_trip(path):
    assert_whole(read_model(path))
    assert_whole(read_model(str(path)))
    assert zipfile.ZipFile(path).testzip() is None


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
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_every_plain_array_comes_back_to_the_last_bit_and_writeable(array, tmp_path):
    write_model(tmp_path / "m", "demo", {}, {"a": array})
    back = read_model(tmp_path / "m")[2]["a"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable


def test_a_truncated_file_is_refused_at_every_length(small):
    whole = small.read_bytes()
    for length in range(len(whole)):
        small.write_bytes(whole[:length])
        refused(small)


def test_a_flipped_bit_is_refused_or_harmless(small):
    """Every byte once, and every bit of the directory at the end. Harmless: a date, a comment's length, a flag."""
    whole = small.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    flips = [(i, 1 << i % 8) for i in range(directory)]
    flips += [(i, mask) for i in range(directory, len(whole)) for mask in (1, 2, 4, 8, 16, 32, 64, 128, 255)]
    accepted = 0
    for place, mask in flips:
        damaged = bytearray(whole)
        damaged[place] ^= mask
        small.write_bytes(damaged)
        try:
            read = read_model(small)
        except ModelFileError as error:
            assert str(small) in str(error)  # noqa: PT017
        except Exception as error:
            pytest.fail(f"byte {place} ^ {mask}: {type(error).__name__}: {error}")
        else:
            accepted += 1
            assert_whole(read, {"w": ARRAYS["w"]})
    assert accepted < len(flips) / 2


def test_a_flipped_bit_in_an_array_is_always_refused(path):
    whole = path.read_bytes()
    start = whole.index(ARRAYS["w"].tobytes())
    for place in range(start, start + ARRAYS["w"].nbytes):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert "m.massart" in refused(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK", b"\x80\x04.", os.urandom(4096), pickle.dumps([1, 2])])
def test_what_is_no_zip_is_refused(path, content):
    path.write_bytes(content)
    refused(path)


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


def forge(path, header, members=(), compression=zipfile.ZIP_STORED):
    """A well-formed zip by somebody else."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        if header is not None:
            archive.writestr("header.json", header if isinstance(header, (str, bytes)) else json.dumps(header))
        for name, content in dict(members).items():
            archive.writestr(name, content)


ONE = np.arange(3.0)
GOOD = {"format": 1, "kind": "demo", "massart": "0.1.0", "meta": {}, "arrays": {"w": described(ONE)}}


def test_a_forged_file_that_is_right_in_everything_is_read(path):
    forge(path, GOOD, {"w.npy": as_npy(ONE)})
    assert np.array_equal(read_model(path)[2]["w"], ONE)


HEADERS = {
    "absent": None,
    "empty": "",
    "no JSON": "{",
    "no text": b"\xff\xfe\x00",
    "deep": "[" * 100_000,
    "a list": [],
    "a number": 5,
    "without format": {k: v for k, v in GOOD.items() if k != "format"},
    "without kind": {k: v for k, v in GOOD.items() if k != "kind"},
    "without meta": {k: v for k, v in GOOD.items() if k != "meta"},
    "without arrays": {k: v for k, v in GOOD.items() if k != "arrays"},
    "format of text": {**GOOD, "format": "1"},
    "format zero": {**GOOD, "format": 0},
    "format true": {**GOOD, "format": True},
    "arrays a list": {**GOOD, "arrays": ["w"]},
    "arrays of numbers": {**GOOD, "arrays": {"w": 5}},
    "meta a number": {**GOOD, "meta": 5},
    "another array": {**GOOD, "arrays": {"w": described(ONE), "v": described(ONE)}},
    "array of strange name": {**GOOD, "arrays": {"../\0": described(ONE)}},
    "another shape": {**GOOD, "arrays": {"w": {**described(ONE), "shape": [1, 3]}}},
    "another dtype": {**GOOD, "arrays": {"w": {**described(ONE), "dtype": "<i8"}}},
    "another checksum": {**GOOD, "arrays": {"w": {**described(ONE), "sha256": "0" * 64}}},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_forged_header_is_refused(path, name):
    forge(path, HEADERS[name], {"w.npy": as_npy(ONE)})
    refused(path)


def test_a_newer_format_says_upgrade(path):
    forge(path, {"format": 2, "massart": "9.9"})
    assert "upgrade" in refused(path)
    assert "9.9" in refused(path)


SHAPE = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"
MEMBERS = {
    "empty": b"",
    "no array": b"hello",
    "truncated": as_npy(ONE)[:-1],
    "another shape": as_npy(ONE[None]),
    "single precision": as_npy(ONE.astype(np.float32)),
    "integers": as_npy(ONE.astype(int)),
    "other values": as_npy(ONE + 1),
    "unfinished": npy("((("),
    "unfinished text": npy("'''"),
    "indented": npy("  x\n y\n"),
    "deep": npy("[" * 9000),
    "of Python 2": npy(SHAPE % "1L"),
    "far too large": npy(SHAPE % 10**12),
    "absurdly large": npy(SHAPE % 2**70),
    "negative": npy(SHAPE % -1),
    "wrapping around": npy(SHAPE % f"{2**62}, 4"),
    "of strange type": npy("{'descr': 'xx', 'fortran_order': False, 'shape': (1,), }"),
    "code": npy("__import__('os').system('true')"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_forged_array_is_refused(path, name):
    forge(path, GOOD, {"w.npy": MEMBERS[name]})
    refused(path)


class Trap:
    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


def test_nothing_is_ever_unpickled(path):
    """An object array is refused although its description fits, and what it pickles is not run."""
    trap = np.array([Trap()], dtype=object)
    content = as_npy(trap, allow_pickle=True)
    for facts in (described(ONE), {"dtype": "|O", "shape": [1], "sha256": hashlib.sha256(b"").hexdigest()}):
        forge(path, {**GOOD, "arrays": {"w": facts}}, {"w.npy": content})
        refused(path)
    assert not Trap.sprung
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_model(path, "demo", {}, {"w": trap})


def test_a_bomb_is_refused_without_unpacking_it(path):
    """Model files are stored, not compressed: 64 megabytes of zeros in 64 kilobytes are not one of massart's."""
    forge(path, GOOD, {"w.npy": as_npy(np.zeros(2**23))}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**17
    assert "compress" in refused(path)


def test_a_path_that_is_no_file_keeps_its_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "missing.massart")
    with pytest.raises(IsADirectoryError):
        read_model(tmp_path)


def test_writing_where_no_folder_is_fails_and_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_model(tmp_path / "no" / "m.massart", "demo", {}, ARRAYS)
    assert list(tmp_path.iterdir()) == []


class Interrupt(BaseException):
    pass


def raising(error):
    def function(*_args, **_kwargs):
        raise error

    return function


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), MemoryError(), KeyboardInterrupt(), Interrupt()]
)
@pytest.mark.parametrize(
    "place", ["os.fsync", "np.lib.format.write_array", "Path.replace", "json.dumps", "hashlib.sha256"]
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, place, error):
    monkeypatch.setattr(f"massart.store.model_file.{place}", raising(error))
    with pytest.raises(type(error)):
        write_model(path, "demo", {}, {"w": ONE})
    monkeypatch.undo()
    assert_whole(read_model(path))
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]


@pytest.mark.parametrize(
    ("meta", "arrays"), [({"a": object()}, {}), ({"a": float("nan")}, {}), ({}, {"w": [[1], [2, 3]]})]
)
def test_what_cannot_be_written_leaves_the_old_file(path, meta, arrays):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        write_model(path, "demo", meta, arrays)
    assert_whole(read_model(path))
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]


_FULL_DISK = """
import resource, sys
import numpy as np
from massart.store.model_file import write_model
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    write_model(sys.argv[1], "demo", {}, {"w": np.arange(100_000.0)})
except OSError as error:
    print(type(error).__name__, error.errno)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits stand in for a full disk")
@pytest.mark.parametrize("limit", [0, 500, 300_000, 800_200])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(path, limit):
    """The kernel refuses to let the file grow: for real, at the start, within an array, within the directory."""
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(path), str(limit)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("OSError"), done
    assert_whole(read_model(path))
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]


def test_a_new_file_replaces_the_old_one_in_one_step(path, monkeypatch):
    """Until the moment of replacement the old file can be read; afterwards only the new one is there."""
    seen = []
    replace = model_file.Path.replace

    def watching(self, target):
        seen.append(read_model(target)[0])
        assert read_model(self)[0] == "newer"
        return replace(self, target)

    monkeypatch.setattr(model_file.Path, "replace", watching)
    write_model(path, "newer", {}, {"w": ONE})
    assert seen == ["demo"]
    assert read_model(path)[0] == "newer"
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]
