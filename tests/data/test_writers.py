"""What is written is what is read, bit for bit, whatever the format; and a file is whole or not there."""

import bz2
import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import processes
import pytest
import zstandard

from massart.data import Chunk, Position, Schema, read, write_rows
from massart.data.hashing import name_hash
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.data.writers import LateImportanceError, convert_rows, format_to_write
from massart.data.writers.file import writing
from massart.errors import InvalidDataError, InvalidParameterError

WIDTH = 7
ODD = [0.1, 1 / 3, 5e-324, -1e100, 1e16, 123456789.0, -2.5e-7, 1e22, 2**53 + 0.0, 1.0]


def values(rows=40, width=WIDTH, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-30, 30, (rows, width))
    X[rng.random((rows, width)) < 0.4] = 0.0
    X.flat[: len(ODD)] = ODD
    X[-1] = 0.0  # a row without features
    return X


def chunk_of(X, y=None, *, dense=True, weight=(), tags=None, first=0):
    y = np.where(np.arange(len(X)) % 3 == 0, 1, -1).astype(np.int8) if y is None else np.array(y, np.int8)
    rows = np.ascontiguousarray(X)
    if not dense:
        places = np.nonzero(X)
        starts = np.searchsorted(places[0], np.arange(len(X) + 1)).astype(np.uint32)
        rows = X[places], places[1].astype(np.uint32), starts
    lines = np.arange(first + 1, first + len(X) + 1, dtype=np.int64)
    return Chunk(rows, X.shape[1], y, np.array(weight, float), Position(), lines, tags=tags)


def matrix(reader, width=None):
    """All rows of a reader, dense; of hashed columns, those from 1 to `width`."""
    parts = []
    for chunk in reader:
        X = chunk.X if width is None else chunk.X[:, 1 : width + 1]
        parts.append(X if isinstance(X, np.ndarray) else X.toarray())
    return np.concatenate(parts)


def labels(reader):
    return np.concatenate([chunk.y for chunk in reader])


NAMES = ["a.svm", "a.vw", "a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.arrow", "a.npy"]


@pytest.mark.parametrize(
    "name", [*NAMES, "a.svm.gz", "a.vw.zst", "a.csv.bz2", "a.jsonl.gz", "a.parquet.zst", "a.npy.gz"]
)
@pytest.mark.parametrize("dense", [True, False])
def test_numbers_come_back_bit_for_bit(tmp_path, name, dense):
    X = values()
    chunks = [chunk_of(X[:25], dense=dense), chunk_of(X[25:], dense=dense, first=25)]
    path = tmp_path / name
    assert write_rows(chunks, path, Schema(features=WIDTH)) == len(X)
    hashed = ".vw" in name or ".jsonl" in name
    reader = read(path) if hashed else read(path, features=WIDTH)
    found = matrix(reader, WIDTH if hashed else None)
    assert np.array_equal(found.view(np.uint64), (X + 0.0).view(np.uint64))
    assert np.array_equal(labels(reader), np.concatenate([chunk.y for chunk in chunks]))
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_hashed_columns_come_back_with_the_same_bits(tmp_path, name):
    """Column c is written as c, and column 0 as 2**bits."""
    X = values(width=16)
    path = tmp_path / name
    write_rows([chunk_of(X, dense=False)], path, Schema(format="vw", bits=4))
    found = matrix(read(path, bits=4))
    assert np.array_equal(found, X)


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.jsonl"])
def test_many_hashed_columns(tmp_path, name):
    rows = (np.array([1.5, -2.0, 3.0]), np.array([0, 2**20 - 1, 77], np.uint32), np.array([0, 3], np.uint32))
    chunk = chunk_of(np.zeros((1, 1)), [1]).replace(rows=rows, width=1 << 20)
    write_rows([chunk], tmp_path / name, Schema(format="vw", bits=20))
    (found,) = list(read(tmp_path / name, bits=20))
    assert dict(zip(found.rows[1].tolist(), found.rows[0].tolist(), strict=True)) == {0: 1.5, 2**20 - 1: -2.0, 77: 3.0}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow", "a.npy"])
def test_tables_of_too_many_columns_are_refused(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="write svmlight instead"):
        write_rows([chunk_of(np.ones((1, 2)))], tmp_path / name, Schema(format="vw", bits=18))
    with pytest.raises(InvalidParameterError, match="must be known"):
        write_rows([chunk_of(np.ones((1, 2)))], tmp_path / name, Schema(format="svmlight"))
    with pytest.raises(InvalidParameterError, match="more than the 1 announced"):
        write_rows([chunk_of(np.ones((1, 2)))], tmp_path / name, Schema(format="svmlight", features=1))
    assert not list(tmp_path.iterdir())


def test_svmlight_has_increasing_indices(tmp_path):
    rows = (np.array([1.0, 2.0, 3.0, 4.0]), np.array([5, 0, 2, 1], np.uint32), np.array([0, 3, 4], np.uint32))
    chunk = chunk_of(np.zeros((2, 1)), [1, -1]).replace(rows=rows, width=8)
    write_rows([chunk], tmp_path / "a.svm", Schema(format="vw", bits=3))
    assert (tmp_path / "a.svm").read_text() == "1 2:3 5:1 8:2\n-1 1:4\n"


AWKWARD = ("age", "old town", "ns:x|y", 'say "hi"', "a,b", "été", "12")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.csv", "a.vw"])
def test_names_of_columns(tmp_path, name):
    X = values()
    path = tmp_path / name
    write_rows([chunk_of(X)], path, Schema(format="csv", columns=AWKWARD, features=WIDTH))
    if name in ("a.jsonl", "a.vw"):
        reader = read(path)
        written = [one.replace(" ", "_").replace(":", "_").replace("|", "_") for one in AWKWARD]
        columns = [name_hash(one) % 2**18 for one in (written if name == "a.vw" else AWKWARD)]
        found = np.concatenate([chunk.X[:, columns].toarray() for chunk in reader])
    else:
        # A name that is a number looks like a value: that the first line is one of names must be said.
        reader = read(path, label="label")
        assert reader.schema.columns == AWKWARD
        found = matrix(reader)
    assert np.array_equal(found, X)


def test_names_that_would_be_mixed_up_are_refused(tmp_path):
    chunk = chunk_of(np.ones((1, 2)))
    with pytest.raises(InvalidParameterError, match="'a b' and 'a:b' would both be called 'a_b' in vw"):
        write_rows([chunk], tmp_path / "a.vw", Schema(columns=("a b", "a:b"), features=2))
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        with pytest.raises(InvalidParameterError, match="a feature is called 'label'"):
            write_rows([chunk], tmp_path / name, Schema(columns=("label", "b"), features=2))
    weighted = chunk_of(np.ones((1, 2)), weight=[2.0])
    with pytest.raises(InvalidParameterError, match="a feature is called 'weight'"):
        write_rows([weighted], tmp_path / "a.csv", Schema(columns=("weight", "b"), features=2))
    assert not list(tmp_path.iterdir())
    assert write_rows([chunk], tmp_path / "a.csv", Schema(columns=("weight", "b"), features=2)) == 1


@pytest.mark.parametrize("two", [("no", "yes"), ("0", "1"), ("2", "1.5"), ("-", 'a "b", c')])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow"])
def test_labels_stay_what_they_were(tmp_path, name, two):
    chunk = chunk_of(values())
    write_rows([chunk], tmp_path / name, Schema(labels=two, features=WIDTH))
    assert np.array_equal(labels(read(tmp_path / name, labels=two)), chunk.y)


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.npy"])
def test_where_labels_are_numbers_texts_become_numbers(tmp_path, name):
    chunk = chunk_of(values())
    write_rows([chunk], tmp_path / name, Schema(labels=("no", "yes"), features=WIDTH))
    assert np.array_equal(labels(read(tmp_path / name)), chunk.y)
    write_rows([chunk], tmp_path / name, Schema(labels=("2", "0.5"), features=WIDTH))
    assert np.array_equal(labels(read(tmp_path / name, labels=("2", "0.5"))), chunk.y)


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_a_label(tmp_path, name):
    X = values()
    y = np.arange(len(X)) % 3 - 1
    y[0], y[-1] = 0, 0  # the last has no features either
    write_rows([chunk_of(X, y)], tmp_path / name, Schema(features=WIDTH))
    how = {"header": False, "label": "1"} if name in ("a.csv", "a.tsv") else {}
    how = {"label": "label"} if name == "a.jsonl" else how
    how = {"features": WIDTH} if name == "a.svm" else how
    assert np.array_equal(labels(read(tmp_path / name, labelled=False, **how)), y)


WEIGHTS = [1.0, 2.5, 0.0, 1e-50, 1 / 3]


@pytest.mark.parametrize("name", ["a.vw", "a.csv", "a.jsonl", "a.parquet", "a.arrow"])
def test_importances(tmp_path, name):
    X = values(5)
    write_rows([chunk_of(X, weight=WEIGHTS)], tmp_path / name, Schema(features=WIDTH))
    reader = read(tmp_path / name, **({} if name == "a.vw" else {"weight": "weight"}))
    assert np.concatenate([chunk.weight for chunk in reader]).tolist() == WEIGHTS
    assert np.array_equal(matrix(reader, WIDTH if name in ("a.vw", "a.jsonl") else None), X)


@pytest.mark.parametrize("name", ["a.svm", "a.npy"])
def test_importances_where_there_is_no_place_for_them(tmp_path, name):
    (tmp_path / name).write_text("old")
    chunks = [chunk_of(values(5)), chunk_of(values(5), weight=WEIGHTS, first=5)]
    with pytest.raises(InvalidParameterError, match="line 7"):
        write_rows(chunks[1:], tmp_path / name, Schema(features=WIDTH))
    with pytest.raises(InvalidParameterError, match=r"input, line 7: an importance of 2\.5, which .* cannot hold"):
        write_rows(chunks, tmp_path / name, Schema(features=WIDTH))
    assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_importances_that_come_late(tmp_path):
    rows = [f"{'so much before a tab does not count ' * 5}\t1 | 1:1"] * 20_000 + ["-1 2.5 | 1:2"]
    (tmp_path / "a.vw").write_text("\n".join(rows) + "\n")
    reader = Reader(find_sources(str(tmp_path / "a.vw")), Schema(bits=2))
    with pytest.raises(LateImportanceError, match=r"line 20001: an importance of 2\.5"):
        write_rows(reader, tmp_path / "a.csv", reader.schema)
    found = convert_rows([str(tmp_path / "a.vw")], tmp_path / "a.csv", Schema(bits=2))
    assert found.rows == len(rows)
    weights = np.concatenate(
        [c.weight if c.weight.size else np.ones(len(c)) for c in read(tmp_path / "a.csv", weight="weight")]
    )
    assert weights.size == len(rows)
    assert weights[-1] == 2.5
    assert (weights[:-1] == 1.0).all()


def test_tags_stay_between_vw_and_vw(tmp_path):
    text = b"1 2 'id7 | 1:2\n| 3\n'x''y | 3\nx\t1 ta\tg| 5:1\n-1 |\n"
    (tmp_path / "a.vw").write_bytes(text)
    convert_rows([str(tmp_path / "a.vw")], tmp_path / "b.vw", Schema())
    readers = [Reader(find_sources(str(tmp_path / name)), Schema(), tags=True) for name in ("a.vw", "b.vw")]
    (first,), (second,) = (list(reader) for reader in readers)
    assert first.tags == second.tags == ("id7", "", "x''y", "ta\tg", "")
    assert first.y.tolist() == second.y.tolist() == [1, 0, 0, 1, -1]
    assert first.weight.tolist() == second.weight.tolist()
    assert (tmp_path / "b.vw").read_text() == "1 2 'id7 | 1:2\n| 3:1\n'x''y | 3:1\n\t1 'ta\tg | 5:1\n-1 |\n"


def test_crossed_features_are_written_out(tmp_path):
    (tmp_path / "a.vw").write_text("1 |a x:2 |b y:3 z\n-1 |a x |b z:5\n")
    how = Schema(bits=10, crossings=("ab",))
    convert_rows([str(tmp_path / "a.vw")], tmp_path / "b.svm", how)
    crossed = matrix(read(tmp_path / "a.vw", bits=10, crossings=("ab",)))
    assert np.array_equal(matrix(read(tmp_path / "b.svm", bits=10)), crossed)
    assert np.count_nonzero(crossed) == 5 + 3


def test_standard_output(tmp_path, capfdbinary):
    X = values()
    for form, suffix in (
        ("svmlight", "svm"),
        ("csv", "csv"),
        ("npy", "npy"),
        ("parquet", "parquet"),
        ("arrow", "arrow"),
    ):
        assert write_rows([chunk_of(X)], "-", Schema(features=WIDTH), form) == len(X)
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(capfdbinary.readouterr().out)
        assert np.array_equal(matrix(read(path, features=WIDTH)), X)


def test_no_rows(tmp_path):
    for name in NAMES:
        assert write_rows([], tmp_path / name, Schema(features=2)) == 0
    assert np.load(tmp_path / "a.npy").shape == (0, 3)
    assert (tmp_path / "a.svm").read_bytes() == b""


def test_what_cannot_be_a_file(tmp_path):
    (tmp_path / "folder.svm").mkdir()
    for path, words in (
        (tmp_path / "folder.svm", "is a folder"),
        (tmp_path / "none" / "a.svm", "there is no folder"),
        (tmp_path / "a.xyz", "its name shows no format"),
        ("-", "its name shows no format"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            write_rows([], path, Schema())
    with pytest.raises(InvalidParameterError, match="choose one of"):
        format_to_write("a.svm", "xml")
    (tmp_path / "a.svm").write_text("1 1:1\n")
    with pytest.raises(InvalidParameterError, match="is also an input"):
        convert_rows([str(tmp_path / "a.svm")], tmp_path / "a.svm", Schema())


def test_the_same_rows_are_the_same_bytes(tmp_path):
    for name in ("a.svm.gz", "a.csv.bz2", "a.vw.zst", "a.parquet", "a.npy"):
        found = set()
        for _ in range(2):
            write_rows([chunk_of(values())], tmp_path / name, Schema(features=WIDTH))
            found.add((tmp_path / name).read_bytes())
        assert len(found) == 1


def test_compression_is_what_the_name_says(tmp_path):
    text = b"1 1:1\n" * 1000
    for name, opened in (
        ("a.gz", gzip.decompress),
        ("a.bz2", bz2.decompress),
        ("a.zst", lambda data: zstandard.ZstdDecompressor().stream_reader(data).read()),
    ):
        with writing(tmp_path / name) as target:
            target.write(text)
        assert opened((tmp_path / name).read_bytes()) == text


@pytest.mark.parametrize("name", [*NAMES, "a.svm.gz", "a.vw.zst", "a.csv.bz2", "a.npy.gz"])
def test_an_error_while_rows_come_leaves_the_old_file(tmp_path, name):
    def chunks():
        for _ in range(3):
            yield chunk_of(values())
        raise InvalidDataError("cut off")

    (tmp_path / name).write_text("old")
    with pytest.raises(InvalidDataError, match="cut off"):
        write_rows(chunks(), tmp_path / name, Schema(features=WIDTH))
    assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


FULL = """
import resource, sys
import numpy as np
from test_writers import chunk_of, values
from massart.data import Schema, write_rows
from massart.errors import InvalidDataError
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
rows = chunk_of(np.random.default_rng(0).normal(size=(2000, 7)))
for path in sys.argv[1:]:
    try:
        write_rows([rows] * 100, path, Schema(features=7))
    except InvalidDataError as error:
        print(error)
"""


def test_a_full_disk_leaves_nothing(tmp_path):
    """A limit on the size of files stands for it."""
    names = [*NAMES, "a.svm.gz", "a.vw.zst", "a.csv.bz2", "a.npy.gz", "a.parquet.gz"]
    paths = [str(tmp_path / name) for name in names]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "error", "-c", FULL, *paths]
    done = processes.run(command, env=known, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{path} could not be written: File too large; raise the limit on the size of files, or choose another disk"
        for path in paths
    ]
    assert not list(tmp_path.iterdir())


def test_a_device_is_written_directly(tmp_path):
    assert write_rows([chunk_of(values())], "/dev/null", Schema(features=WIDTH), "npy") == 40
    if Path("/dev/full").exists():
        for form in ("svmlight", "parquet", "npy"):
            with pytest.raises(InvalidDataError, match="No space left on device"):
                write_rows([chunk_of(values())] * 3000, "/dev/full", Schema(features=WIDTH), form)
    os.mkfifo(tmp_path / "pipe.svm")
    reader = processes.start(["/bin/cat", str(tmp_path / "pipe.svm")], stdout=subprocess.PIPE)
    write_rows([chunk_of(np.ones((1, 2)), [1])], tmp_path / "pipe.svm", Schema(features=2))
    assert reader.communicate(timeout=60)[0] == b"1 1:1 2:1\n"


@pytest.mark.parametrize(("name", "size"), [("a.svm", 100), ("a.csv.gz", 100), ("a.parquet", 20_000), ("a.npy", 5000)])
def test_memory_does_not_grow(tmp_path, name, size):
    """The peak of Python's and NumPy's memory is that of a few chunks: four times the rows add next to nothing."""
    chunk = chunk_of(np.random.default_rng(0).normal(size=(size, 20)).round(3))
    peaks = []
    for count in (12, 12, 48):  # the first warms up; the rows of Parquet wait until they are 32 MB
        tracemalloc.start()
        write_rows((chunk for _ in range(count)), tmp_path / name, Schema(features=20))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1] + 1e6


def test_json_lines_are_json(tmp_path):
    write_rows([chunk_of(values())], tmp_path / "a.jsonl", Schema(columns=AWKWARD, features=WIDTH, labels=("n", 'y"')))
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert rows[0]["label"] == 'y"'
    assert rows[0]["old town"] == ODD[1]
    assert rows[-1] == {"label": 'y"'}


@pytest.mark.parametrize("suffix", [".vw", ".jsonl"])
def test_columns_of_numbers_keep_their_names_beside_hashed_text(tmp_path, suffix):
    """The example of `massart convert --help`: a table with text is hashed, and reads back into the same columns."""
    (tmp_path / "clicks.csv").write_text("click,age,old town,7,town\n1,31,2,5,Rome\n0,54,0,0.5,Oslo\n1,7,,,Rome\n")
    out = tmp_path / f"clicks{suffix}"
    found = convert_rows([str(tmp_path / "clicks.csv")], out, Schema(label="click"))
    text = out.read_text()
    assert (found.rows, text.count("age"), text.count("old town")) == (3, 3, 1 if suffix == ".jsonl" else 0)
    ours = [chunk.X.toarray() for chunk in read(out, bits=18, label=None if suffix == ".vw" else "label")]
    theirs = [chunk.X.toarray() for chunk in read(tmp_path / "clicks.csv", label="click", bits=18)]
    np.testing.assert_array_equal(np.vstack(ours), np.vstack(theirs))


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.npy"])
@pytest.mark.parametrize("words", [["3", "1", "7.5"], ["spam", "so, so", 'a "b"']])
def test_more_than_two_labels_stay_what_they_were(tmp_path, name, words):
    source = tmp_path / "given.jsonl"
    given = [words[k % 3] for k in range(30)] + [words[0][:1] + "9"]
    with source.open("w") as file:
        for k, label in enumerate(given):
            file.write(json.dumps({"label": label, "1": k + 1.0}) + "\n")
    convert_rows([source], tmp_path / name, Schema(bits=4))
    found = labels(read(tmp_path / name)).tolist()
    if words[0] == "3":
        assert found == [float(label) for label in given]
    elif name.endswith(("svm", "vw", "npy")):  # by their places in the alphabet
        assert found == [1.0 + sorted(set(given)).index(label) for label in given]
    else:
        assert found == given
