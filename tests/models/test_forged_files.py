"""Files that somebody else made: refused by name and reason, before anything is believed, run or allocated."""

import hashlib
import tracemalloc
import zipfile

import numpy as np
import pytest
from model_cases import GOOD, ONE, as_npy, described, forge, forge_frame, forge_header, npy, refused, stored

from massart.errors import ModelFileError
from massart.models.arrays import MOST_FOLDED
from massart.models.model_file import read_model, write_model


def test_a_forged_file_that_is_right_in_everything_is_read(path):
    forge_header(path, GOOD, {"w.npy": stored(ONE)})
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
    "format one": {**GOOD, "format": 1},
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
    forge_header(path, HEADERS[name], {"w.npy": stored(ONE)})
    refused(path)


def test_a_newer_format_says_upgrade(path):
    forge(path, {"format": 3, "massart": "9.9"})
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
    forge_header(path, GOOD, {"w.npy": MEMBERS[name]})
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
        forge_header(path, {**GOOD, "arrays": {"w": facts}}, {"w.npy": content})
        refused(path)
    assert not Trap.sprung
    for array in (trap, np.zeros(2, dtype="f8,i4"), np.zeros(2, dtype="V3")):
        with pytest.raises(ModelFileError, match=r"'w' holds .*: a model file takes numbers, text and dates"):
            write_model(path, "demo", {}, {"w": array})


def test_a_bomb_is_refused_without_unpacking_it(path):
    """Model files are stored, not compressed: 64 megabytes of zeros in 64 kilobytes are not one of massart's."""
    forge(path, GOOD, {"w.npy": as_npy(np.zeros(2**23))}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**17
    assert "compress" in refused(path)


def folded(rows, values, shape, **changes):
    """The description and the members of a folded array."""
    digest = hashlib.sha256(rows.tobytes() + values.tobytes()).hexdigest()
    facts = {"dtype": values.dtype.str, "shape": list(shape), "sha256": digest, "folded": len(rows)} | changes
    return {"w": facts}, {"w.rows.npy": stored(rows), "w.values.npy": stored(values)}


ROWS = np.array([2, 5, 9], np.uint32)


def test_a_forged_frame_that_is_right_in_everything_is_read(path):
    forge_frame(path, {"w": described(ONE)}, {"w.npy": stored(ONE)})
    assert np.array_equal(read_model(path)[2]["w"], ONE)
    forge_frame(path, *folded(ROWS, ONE, (5000,)))
    assert np.array_equal(np.flatnonzero(read_model(path)[2]["w"]), [5, 9])


SINGLE = {
    "another shape": {"shape": [1, 3]},
    "another size": {"shape": [4]},
    "far too large": {"shape": [10**12]},
    "absurdly large": {"shape": [2**62, 2**62]},
    "empty and absurdly large": {"shape": [0, 2**70]},
    "many dimensions": {"shape": [1] * 99 + [3]},
    "of negative size": {"shape": [-3]},
    "of half a size": {"shape": [3.0]},
    "a size of truth": {"shape": [True]},
    "a shape of text": {"shape": "3"},
    "no shape": {"shape": None},
    "of objects": {"dtype": "|O"},
    "of a table": {"dtype": "f8,f8"},
    "of bytes without a type": {"dtype": "|V8"},
    "of nothing": {"dtype": "<U0"},
    "of huge text": {"dtype": "<U2147483647"},
    "a strange type": {"dtype": "(3,)f8"},
    "a type of another name": {"dtype": "float64"},
    "another type": {"dtype": "<i8"},
    "a number for a type": {"dtype": 8},
    "a wrong checksum": {"sha256": "0" * 64},
    "no checksum": {"sha256": None},
    "folded, without rows": {"folded": 3},
    "folded by truth": {"folded": True},
}


@pytest.mark.parametrize("name", SINGLE)
def test_a_forged_description_is_refused(path, name):
    forge_frame(path, {"w": described(ONE) | SINGLE[name]}, {"w.npy": stored(ONE)})
    refused(path)


FOLDED = {
    "a row twice": folded(np.array([2, 2, 9], np.uint32), ONE, (5000,)),
    "out of order": folded(np.array([5, 2, 9], np.uint32), ONE, (5000,)),
    "beyond the end": folded(np.array([2, 5, 5000], np.uint32), ONE, (5000,)),
    "more rows than there are": folded(np.arange(3, dtype=np.uint32), ONE, (2,)),
    "numbers of another type": folded(ROWS.astype(np.uint64), ONE, (5000,)),
    "numbers below zero": folded(-ROWS.astype(np.int32), ONE, (5000,)),
    "values of another shape": folded(ROWS, ONE, (5000, 2)),
    "values of other number": folded(ROWS, ONE[:2], (5000,)),
    "of no dimension": folded(ROWS, ONE, ()),
    "rows without bytes": folded(ROWS, np.zeros((3, 0)), (5000, 0)),
    "another checksum": folded(ROWS, ONE, (5000,), sha256="0" * 64),
    "more memory than allowed": folded(ROWS, ONE, (MOST_FOLDED // 8 + 1,)),
    "absurdly long": folded(ROWS.astype(np.uint64), ONE, (2**62,)),
}


@pytest.mark.parametrize("name", FOLDED)
def test_a_forged_folded_array_is_refused(path, name):
    forge_frame(path, *FOLDED[name])
    tracemalloc.start()
    refused(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20, "and nothing was allocated for it"


def test_members_in_another_order_or_number_are_refused(path):
    arrays = {"w": described(ONE), "v": described(ONE)}
    one = stored(ONE)
    forge_frame(path, arrays, {"v.npy": one, "w.npy": one})
    assert "its members are header.json, v.npy, w.npy, but its header describes header.json, w.npy" in refused(path)
    forge_frame(path, arrays, {"w.npy": one})
    refused(path)
    forge_frame(path, arrays, {"w.npy": one, "v.npy": one, "x.npy": one})
    refused(path)


def test_a_header_for_a_file_that_is_too_long_is_refused(path, monkeypatch):
    forge_frame(path, {"w": described(ONE)}, {"w.npy": stored(ONE)}, meta={"a": "b" * 1000})
    monkeypatch.setattr("massart.models.model_file._LONGEST_HEADER", 1000)
    assert "its header has" in refused(path)
