"""The same rows give the same model, whatever file they are in, however it is packed and wherever it comes from.

600 rows of 80 features are written by hand in every format. Columns that are counted and columns that are hashed
(index j of svmlight, and a column or name "j", is column j) must get the same weights.
"""

import bz2
import gzip
import io
import json

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
import zstandard
from typer.testing import CliRunner

from massart.cli.app import app
from massart.data.hashing import name_hash
from massart.models.opening import open_model

ROWS, WIDTH = 600, 80
POOL, ONE = (), ("--noise-rate", "0.15", "--margin", "0.02")
_rng = np.random.default_rng(6)
X = _rng.integers(-3000, 3000, (ROWS, WIDTH)) / 1000.0  # decimals of a few digits, so that every text is exact
X[_rng.random((ROWS, WIDTH)) < 0.3] = 0.0
TRUTH = _rng.normal(size=WIDTH)
Y = np.where((X @ TRUTH > 0) ^ (_rng.random(ROWS) < 0.1), 1, -1)


def svmlight(first, last):
    rows = (" ".join(f"{j + 1}:{v}" for j, v in enumerate(x) if v) for x in X[first:last])
    return "".join(f"{y} {row}\n" for y, row in zip(Y[first:last], rows, strict=True))


def vw(first, last):
    rows = (" ".join(f"{j + 1}:{v}" for j, v in enumerate(x) if v) for x in X[first:last])
    return "".join(f"{y} | {row}\n" for y, row in zip(Y[first:last], rows, strict=True))


def csv(first, last):
    return "".join(f"{y},{','.join(map(str, x))}\n" for y, x in zip(Y[first:last], X[first:last], strict=True))


def csv_with_names(first, last):
    """The label is not the first column here."""
    names = ",".join([*(str(j + 1) for j in range(WIDTH)), "label"])
    rows = (f"{','.join(map(str, x))},{y}" for y, x in zip(Y[first:last], X[first:last], strict=True))
    return "\n".join([names, *rows, ""])


def csv_quoted(first, last):
    """Quotes, semicolons, blanks, nothing where there is 0."""
    rows = ([str(y), *(str(v) if v else "" for v in x)] for y, x in zip(Y[first:last], X[first:last], strict=True))
    names = ";".join(['"label"', *(f'"{j + 1}"' for j in range(WIDTH))])
    return "\n".join(
        [names, *(";".join(f'"{v}"' if i % 2 else f" {v}" for i, v in enumerate(row)) for row in rows), ""]
    )


def jsonl(first, last):
    rows = ({str(j + 1): v for j, v in enumerate(x)} for x in X[first:last].tolist())
    return "".join(json.dumps({"label": y, **row}) + "\n" for y, row in zip(Y[first:last].tolist(), rows, strict=True))


def table():
    return pyarrow.table({"label": Y, **{str(j + 1): X[:, j] for j in range(WIDTH)}})


def parquet():
    file = io.BytesIO()
    pyarrow.parquet.write_table(table(), file, row_group_size=250)
    return file.getvalue()


def arrow():
    file = io.BytesIO()
    pyarrow.feather.write_feather(table(), file, compression="uncompressed")
    return file.getvalue()


def npy():
    file = io.BytesIO()
    np.save(file, np.column_stack((Y, X)))
    return file.getvalue()


TEXTS = {
    "svm": svmlight,
    "vw": vw,
    "csv": csv,
    "names.csv": csv_with_names,
    "quoted.csv": csv_quoted,
    "jsonl": jsonl,
}
BINARIES = {"parquet": parquet, "arrow": arrow, "npy": npy}
HASHED_ONLY = ("vw", "jsonl")
PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor().compress}


def options(name):
    """A name that is a number looks like a value: that the first line is one of names must be said."""
    return ("--label", "label") if name in ("names.csv", "quoted.csv") else ()


def train(model, *arguments, given=None):
    """(weights of the 80 features and the constant, mistakes); all other columns must have none."""
    command = ["train", "-f", str(model), "--json", *map(str, arguments)]
    result = CliRunner().invoke(app, command, input=given)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["rows"], summary["rows_with_errors"]) == (ROWS, 0)
    opened = open_model(model)
    weights = opened.weights[0]
    if opened.schema.bits is None:
        assert weights.size == WIDTH + 1
        return weights, summary["mistakes"]
    assert weights.size == (1 << opened.schema.bits) + 1
    assert np.count_nonzero(weights[:-1]) == np.count_nonzero(weights[1 : WIDTH + 1])
    return np.append(weights[1 : WIDTH + 1], weights[-1]), summary["mistakes"]


@pytest.fixture(scope="module", params=[POOL, ONE], ids=["pool", "one learner"])
def expected(request, tmp_path_factory):
    """The options, and what svmlight gives with them."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "a.svm").write_text(svmlight(0, ROWS))
    weights, mistakes = train(folder / "m.massart", folder / "a.svm", *request.param)
    assert np.count_nonzero(weights[:-1]) == WIDTH
    assert 0 < mistakes < ROWS / 3
    return request.param, weights, mistakes


def check(expected, folder, *arguments, given=None):
    learner, weights, mistakes = expected
    found, own_mistakes = train(folder / "m.massart", *learner, *arguments, given=given)
    assert own_mistakes == mistakes
    np.testing.assert_allclose(found, weights, rtol=0, atol=1e-12 * np.abs(weights).max())


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("name", TEXTS)
def test_texts(expected, tmp_path, name, packed):
    path = tmp_path / f"a.{name}{packed}"
    path.write_bytes(PACKED[packed](TEXTS[name](0, ROWS).encode()))
    check(expected, tmp_path, path, "-b", "18", *options(name))
    if name not in HASHED_ONLY and packed in ("", ".gz"):
        check(expected, tmp_path, path, *options(name))


@pytest.mark.parametrize("name", BINARIES)
def test_tables(expected, tmp_path, name):
    (tmp_path / f"a.{name}").write_bytes(BINARIES[name]())
    check(expected, tmp_path, tmp_path / f"a.{name}")
    check(expected, tmp_path, tmp_path / f"a.{name}", "-b", "18")


@pytest.mark.parametrize("name", TEXTS)
def test_several_files(expected, tmp_path, name):
    """One after the other, by a pattern, or in a folder: the second one is packed."""
    folder = tmp_path / "parts"
    folder.mkdir()
    paths = [folder / f"part-{i}.{name}" for i in range(3)]
    for i, path in enumerate(paths):
        text = TEXTS[name](250 * i, min(ROWS, 250 * (i + 1))).encode()
        path.write_bytes(gzip.compress(text) if i == 1 else text)
    for given in (paths, [folder / "part-*"], [folder]):
        check(expected, tmp_path, *given, "-b", "18", *options(name))


@pytest.mark.parametrize("name", [*TEXTS, "parquet", "arrow"])
def test_standard_input(expected, tmp_path, name):
    data = BINARIES[name]() if name in BINARIES else TEXTS[name](0, ROWS).encode()
    check(expected, tmp_path, "-", "-b", "18", *options(name), given=data)
    if name == "svm":
        check(expected, tmp_path, *options(name), given=zstandard.ZstdCompressor().compress(data))


def test_what_convert_writes(expected, tmp_path):
    """From one format to the next: no bit is lost on the way."""
    first = tmp_path / "a.svm"
    first.write_text(svmlight(0, ROWS))
    for name in ("b.csv", "c.parquet", "d.npy", "e.arrow", "f.tsv.gz", "g.svm", "h.vw", "i.jsonl.zst", "j.svm"):
        bits = ("-b", "18") if name in ("h.vw", "i.jsonl.zst", "j.svm") else ()
        result = CliRunner().invoke(app, ["convert", str(first), str(tmp_path / name), *bits])
        assert result.exit_code == 0, result.output
        first = tmp_path / name
        check(expected, tmp_path, first, *bits)


FNV = 16777619


def crossed_by_hand(rows, bits):
    """Every feature and product with its column for a name; a column's own name is a number.

    Features that share a column are added up first, and belong to the namespace of the first of them.
    """
    mask = (1 << bits) - 1
    lines = []
    for y, spaces in rows:
        merged = {}
        for space, features in spaces:
            for name, value in features:
                column = name_hash(name, name_hash(space)) & mask
                first, before = merged.get(column, (space, 0.0))
                merged[column] = first, before + value
        a, b, g = (
            [(column, value) for column, (space, value) in merged.items() if space == wanted]
            for wanted in ("alpha", "beta", "gamma")
        )
        own = [(column, value) for column, (_, value) in merged.items()]
        own += [((h * FNV ^ k) & mask, v * w) for h, v in a for k, w in b]
        own += [(((h * FNV ^ k) * FNV ^ c) & mask, v * w * u) for h, v in a for k, w in b for c, u in g]
        lines.append(f"{y} | " + " ".join(f"{column}:{value!r}" for column, value in own))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("learner", [POOL, ONE], ids=["pool", "one learner"])
@pytest.mark.parametrize("bits", [8, 18])  # with and without products that share a column
def test_crossings(tmp_path, learner, bits):
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(300):
        spaces = [
            (space, [(f"{space[:2]}{i}", float(rng.integers(1, 64) / 8)) for i in rng.choice(9, 3, replace=False)])
            for space in ("alpha", "beta", "gamma")
        ]
        first, second = spaces[0][1][0], spaces[1][1][0]
        rows.append((1 if (int(first[0][2:]) + int(second[0][2:])) % 2 else -1, spaces))
    named = [
        f"{y} " + " ".join(f"|{space} " + " ".join(f"{name}:{value!r}" for name, value in own) for space, own in spaces)
        for y, spaces in rows
    ]
    (tmp_path / "named.vw").write_text("\n".join(named) + "\n")
    (tmp_path / "numbers.vw").write_text(crossed_by_hand(rows, bits))
    found = []
    for path, crossing in ((tmp_path / "named.vw", ("-q", "ab", "--cubic", "abg")), (tmp_path / "numbers.vw", ())):
        command = ["train", str(path), "-f", str(tmp_path / "m"), "-b", str(bits), "--json", *crossing, *learner]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        found.append((open_model(tmp_path / "m").weights[0], json.loads(result.stdout)["mistakes"]))
    (crossed, mistakes), (by_hand, own_mistakes) = found
    assert mistakes == own_mistakes
    assert np.count_nonzero(crossed) > (100 if bits == 8 else 800)
    np.testing.assert_allclose(crossed, by_hand, rtol=0, atol=1e-12 * np.abs(by_hand).max())
