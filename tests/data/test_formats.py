"""Which format a file has: magic bytes, then the name, then the first lines."""

import bz2
import gzip

import pytest
import zstandard

from massart.data.formats import detect_format, format_of_name
from massart.data.io.sources import Source
from massart.data.schema import FORMATS
from massart.errors import InvalidDataError

BY_NAME = {
    "svmlight": ("a.svm", "a.svmlight", "a.libsvm", "a.SVM.GZ", "a.b.svm.bz2"),
    "vw": ("a.vw", "a.vw.zst"),
    "csv": ("a.csv", "a.tsv", "a.csv.gz"),
    "jsonl": ("a.jsonl", "a.ndjson", "a.json", "a.jsonl.zstd"),
    "parquet": ("a.parquet", "a.snappy.parquet"),
    "arrow": ("a.arrow", "a.feather", "a.ipc"),
    "npy": ("a.npy",),
}
BY_CONTENT = {
    "svmlight": (
        "1 1:0.5 7:1\n",
        "-1\n+1 3:1e-5\n",
        "1\n0\n",
        "# a comment\n\n1.0 qid:3 1:0.5 # more\r\n",
        "\ufeff1 1:2\n",
        "0 1:" + "1" * 100_000,
        "1:0.5 2:1\n",  # without labels, for prediction
        "+.5 2:.5\n",
        "1\t1:2\t3:4\n",
    ),
    "vw": (
        "1 |f a b:2\n",
        "1 2 0.5 'tag |f a\n",
        "1 2 'tag|f a\n",
        "1 tag|f a\n",
        "|f a,b;c\n",
        "'tag |f a\n",
        "| a\n",
        "prefix\t1 |f a\n",
        "-1.5 | 1:2\n",
        "1|f a\n",
        "\n\n|f {\n",
        "1 |a b:2 3:4\n",
    ),
    "csv": (
        "label,x,y\n1,2,3\n",
        "a\tb\n",
        "1;2;3\n",
        '"a,b";c\n',
        "1,2:3\n",
        "name,a|b\n",
        "12:30:00,5\n",
    ),
    "jsonl": ('{"a": 1}\n', '  {"a": "x | y"}', '\ufeff{"a": 1}', "{"),
    None: ("", "\n\n", "hello world\n", "1 2 3\n", "a|b|c\n1|2|3\n", "1|2\n", "a\0b,c\n", "# only a comment\n"),
}


def detected(folder, content, name="data"):
    path = folder / name
    path.write_bytes(content)
    return detect_format(Source(path))


@pytest.mark.parametrize(("wanted", "name"), [(kind, name) for kind, names in BY_NAME.items() for name in names])
def test_by_name(tmp_path, wanted, name):
    assert format_of_name(name) == wanted
    assert detected(tmp_path, b"", name) == wanted
    assert detected(tmp_path, b"whatever it is\n", name) == wanted


def test_every_format_has_a_name():
    assert set(BY_NAME) == set(FORMATS)


@pytest.mark.parametrize("name", ["data", "data.txt", "data.dat", "data.log", "data.txt.gz"])
@pytest.mark.parametrize(("wanted", "text"), [(kind, text) for kind, texts in BY_CONTENT.items() for text in texts])
def test_by_content(tmp_path, wanted, text, name):
    if wanted is not None:
        assert detected(tmp_path, text.encode(), name) == wanted
        return
    with pytest.raises(InvalidDataError, match=r"its format.*; pass `format`, one of svmlight, vw, csv"):
        detected(tmp_path, text.encode(), name)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, zstandard.compress])
def test_by_content_under_compression(tmp_path, compress):
    assert detected(tmp_path, compress(b"1 |f a\n"), "data.bin") == "vw"


@pytest.mark.parametrize(
    ("wanted", "start"), [("parquet", b"PAR1"), ("arrow", b"ARROW1\0\0"), ("npy", b"\x93NUMPY\x01\0")]
)
@pytest.mark.parametrize("name", ["data.csv", "data.txt", "data", "data.svm.gz"])
def test_magic_bytes_win(tmp_path, wanted, start, name):
    assert detected(tmp_path, start + b"\0\1\2\n", name) == wanted


def test_libraries_write_those_bytes(tmp_path):
    np = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"a": [1.0, 2.0]})
    parquet.write_table(table, tmp_path / "parquet.txt")
    feather.write_feather(table, str(tmp_path / "arrow.txt"))
    with (tmp_path / "npy.txt").open("wb") as file:
        np.save(file, np.eye(2))
    for kind in ("parquet", "arrow", "npy"):
        assert detect_format(Source(tmp_path / f"{kind}.txt")) == kind


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"\xfd7zXZ\0", "is xz-compressed"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"\xff\xfe1\0 \0", "is UTF-16 text: save it as UTF-8"),
    ],
)
def test_what_cannot_be_read_is_called_by_its_name(tmp_path, start, words):
    with pytest.raises(InvalidDataError, match=words):
        detected(tmp_path, start + b"1,2\n", "data.csv")
