"""Large arrays: folded when they are mostly zeros, mapped when that is asked for, never copied."""

import sys
import zipfile

import numpy as np
import processes
import pytest
from model_cases import ARRAYS, assert_whole, refused

from massart import load, save
from massart.errors import ModelFileError
from massart.kernels.door import Rows
from massart.learners.pool import Pool
from massart.models.model_file import read_header, read_model, write_model


def mostly_zero(shape, kept, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    array = np.zeros(shape, dtype)
    rows = rng.choice(shape[0], kept, replace=False)
    array[rows] = rng.integers(1, 100, size=(kept, *shape[1:])).astype(dtype)
    return array


CASES = {
    "weights": mostly_zero((200_000, 12), 700),  # several stretches, some without a row
    "numbers": mostly_zero((70_000,), 9),
    "half of them but one": mostly_zero((5000,), 2499),
    "one row": mostly_zero((4096, 3), 1),
    "no row": np.zeros((4096, 3)),
    "bytes": mostly_zero((9000, 5), 40, np.uint8),
    "flags": mostly_zero((9000,), 40, np.bool_),
    "of three dimensions": mostly_zero((5000, 2, 3), 50, np.float32),
    "text": np.where(mostly_zero((5000,), 20) > 0, "größer", ""),
    "big-endian": mostly_zero((5000, 2), 20, ">i2"),
    "last row only": np.eye(1, 5000, 4999).T.copy(),
    "minus zero": np.where(np.arange(5000) == 7, -0.0, 0.0),
    "not a number": np.where(np.arange(5000) == 7, np.nan, 0.0),
    "Fortran order": np.asfortranarray(mostly_zero((5000, 4), 20)),
    "every second": mostly_zero((12_000, 8), 30)[::2, ::2],
}


def kept_rows(array):
    return sum(array[i : i + 1].tobytes().strip(b"\0") != b"" for i in range(len(array)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mmap", [False, True])
def test_a_folded_array_comes_back_to_the_last_bit(name, mmap, tmp_path):
    array = CASES[name]
    write_model(tmp_path / "m", "demo", {}, {"a": array})
    back = read_model(tmp_path / "m", mmap=mmap)[2]["a"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()
    facts = read_header(tmp_path / "m")["arrays"]["a"]
    assert facts["folded"] == kept_rows(array)
    assert facts["shape"] == list(array.shape)
    names = zipfile.ZipFile(tmp_path / "m").namelist()
    assert names == ["header.json", "a.rows.npy", "a.values.npy"]
    with np.load(tmp_path / "m") as archive:
        assert np.array_equal(array[archive["a.rows"]], archive["a.values"], equal_nan=array.dtype.kind == "f")
    size = (tmp_path / "m").stat().st_size
    assert size <= facts["folded"] * (4 + array[:1].nbytes) + 2000


@pytest.mark.parametrize(
    "array",
    [
        mostly_zero((4095, 3), 1),
        mostly_zero((5000,), 2500),
        mostly_zero((5000, 3), 2600),
        np.ones(5000),
        np.zeros((1, 100_000)),
        np.zeros((5000, 0)),
        np.zeros(()),
    ],
    ids=["few rows", "half", "more than half", "all", "one long row", "rows without bytes", "no dimension"],
)
def test_other_arrays_are_stored_as_they_are(array, tmp_path):
    write_model(tmp_path / "m", "demo", {}, {"a": array})
    assert zipfile.ZipFile(tmp_path / "m").namelist() == ["header.json", "a.npy"]
    assert read_model(tmp_path / "m")[2]["a"].tobytes() == array.tobytes()


def test_the_file_does_not_depend_on_how_the_array_lies_in_memory(tmp_path):
    array = mostly_zero((9000, 6), 100)
    spread = np.zeros((18_000, 12))
    spread[::2, ::2] = array
    for name, form in {"C": array, "F": np.asfortranarray(array), "strided": spread[::2, ::2]}.items():
        write_model(tmp_path / name, "demo", {}, {"a": form})
        assert (tmp_path / name).read_bytes() == (tmp_path / "C").read_bytes(), name


def test_a_file_claims_no_more_memory_than_reading_allows(tmp_path, monkeypatch):
    """What cannot be folded because the sum of folded arrays would be too large is stored as it is."""
    monkeypatch.setattr("massart.models.model_file.MOST_FOLDED", 100_000)
    arrays = {"a": mostly_zero((5000,), 2), "b": mostly_zero((9000,), 2), "c": mostly_zero((5000,), 2)}
    write_model(tmp_path / "m", "demo", {}, arrays)
    assert [("folded" in facts) for facts in read_header(tmp_path / "m")["arrays"].values()] == [True, False, True]
    assert_whole(read_model(tmp_path / "m"), arrays, meta={})


def test_damage_in_a_folded_array_is_refused(tmp_path):
    write_model(tmp_path / "m", "demo", {}, {"a": mostly_zero((5000, 2), 3)})
    whole = (tmp_path / "m").read_bytes()
    for place in range(whole.index(b"a.rows.npy"), len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        (tmp_path / "m").write_bytes(damaged)
        refused(tmp_path / "m")


def test_a_pool_of_many_columns_and_few_features_is_a_small_file(tmp_path):
    columns = 2**18
    pool = Pool(columns, seed=1)
    rng = np.random.default_rng(0)
    indices = np.sort(rng.choice(columns, (50, 4)) // 1000 * 1000, axis=1).astype(np.uint32)
    entries = (rng.normal(size=200), indices.ravel(), np.arange(0, 201, 4, dtype=np.uint32))
    pool.learn_rows(Rows.read(entries, columns), np.ones(50, np.int8))
    save(pool, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 40_000 < pool._W.nbytes / 600
    back = load(tmp_path / "m")
    assert all(array.tobytes() == back.arrays()[name].tobytes() for name, array in pool.arrays().items())


# Mapping


def test_mapped_arrays_lie_in_the_file(path):
    whole = path.read_bytes()
    kind, meta, arrays = read_model(path, mmap=True)
    assert_whole((kind, meta, arrays))
    for name, array in arrays.items():
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base, np.memmap), name
        assert array.ctypes.data - base.ctypes.data == whole.index(
            ARRAYS[name].tobytes(), whole.index(f"{name}.npy".encode())
        )
    path.unlink()  # who has opened a file has it
    assert_whole((kind, meta, arrays))


def test_copy_on_write_leaves_the_file_alone(path):
    before = path.read_bytes()
    arrays = read_model(path, mmap=True, mode="c")[2]
    arrays["w"][:] = 7.0
    assert arrays["w"].tolist() == [7.0] * 7
    assert path.read_bytes() == before
    assert_whole(read_model(path, mmap=True, mode="c"))
    with pytest.raises(ModelFileError, match="mode='w'"):
        read_model(path, mmap=True, mode="w")


def test_checksums_of_mapped_arrays_are_compared_when_asked(path):
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(ARRAYS["w"].tobytes())] ^= 1
    path.write_bytes(damaged)
    assert read_model(path, mmap=True)[2]["w"][0] != ARRAYS["w"][0]
    assert read_model(path, verify=False)[2]["w"][0] != ARRAYS["w"][0]
    for options in ({}, {"verify": True}, {"mmap": True, "verify": True}):
        with pytest.raises(ModelFileError, match="array 'w', from byte"):
            read_model(path, **options)
    damaged = bytearray(path.read_bytes())
    damaged[-30] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="in the directory"):
        read_model(path, mmap=True)


def test_arrays_that_cannot_be_mapped_are_read(tmp_path):
    arrays = {"empty": np.zeros((0, 3)), "number": np.array(3.0), "folded": mostly_zero((5000,), 9)}
    write_model(tmp_path / "m", "demo", {}, arrays)
    for mode in ("r", "c"):
        for name, array in read_model(tmp_path / "m", mmap=True, mode=mode)[2].items():
            assert np.array_equal(array, arrays[name])
            assert array.flags.writeable == (mode == "c")


# Memory

_MEASURE = """
import ctypes, os, sys
import numpy as np
from massart.models.model_file import read_model, write_model

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

def now():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

path, what = sys.argv[1:]
write_model(path, "demo", {}, {"small": np.zeros(5000), "ones": np.ones(300_000)})
read_model(path)
size = 200 * 2**20
if what.startswith("write"):
    array = np.zeros(size // 8)
    if what == "write":
        array += 1.0
    elif what == "write strided":
        array += 1.0
        array = array.reshape(-1, 16, order="F")
    elif what == "write long row":
        array += 1.0
        array = array.reshape(1, -1)[:, ::2]
    else:
        array[::3] = 1.0
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
    before = now()
    write_model(path, "demo", {}, {"a": array})
    print(peak() - before)
else:
    array = np.zeros(size // 8)
    array[: 10**6 if what == "read sparse" else None : 3 if what == "read folded" else 1] = 1.0
    write_model(path, "demo", {}, {"a": array})
    del array
    open("/proc/self/clear_refs", "w").write("5")
    before = now()
    arrays = read_model(path, mmap=what == "map")[2]
    print(peak() - before)
"""
MEGABYTE = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("write", 20),
        ("write strided", 20),
        ("write long row", 20),
        ("write folded", 20),
        ("read", 220),
        # The numbers of the rows, a third of 25 million in 4 bytes, and what it takes to see that they are in order.
        ("read folded", 220 + 34 + 9),
        ("read sparse", 20),
        ("map", 20),
    ],
)
def test_nothing_is_copied(what, most, tmp_path):
    """200 MB: writing takes a few blocks, reading takes the array, and for zeros or mapped arrays not even that."""
    done = processes.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path / "m"), what], capture_output=True, text=True, check=False
    )
    if "clear_refs" in done.stderr:
        pytest.skip("the system does not let the peak begin anew")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < most * MEGABYTE
