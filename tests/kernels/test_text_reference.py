"""The slow parsers against people's words and against scikit-learn and Vowpal Wabbit: who checks must be right."""

from io import BytesIO
from random import Random

import pytest
from sklearn.datasets import load_svmlight_file
from text_reference import COUNTED, Row, number, read_svmlight, read_vw

from massart.kernels.parsing import row_errors as flaws


def flaw(reader, line: bytes, **how) -> tuple[int, str] | None:
    """Column and code of the only line's flaw, None if it has none."""
    rows, found = reader(line + b"\n", **how)
    assert len(rows) + len(found) == 1
    names = {value: name for name, value in vars(flaws).items() if isinstance(value, int)}
    return (found[0][1], names[found[0][2]]) if found else None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"1 2:3", None),
        (b"1", None),
        (b"x 1:2", (1, "LABEL")),
        (b"  1:2 3:4", (3, "LABEL")),
        (b"nan 1:2", (1, "NOT_FINITE")),
        (b"2 1:2", (1, "CLASS")),
        (b"1 5", (3, "INDEX")),
        (b"1 a:1", (3, "INDEX")),
        (b"1 :1", (3, "INDEX")),
        (b"1 1:1 2#3:4", (7, "INDEX")),
        (b"1 0:1", (3, "INDEX_ZERO")),
        (b"1 -0:1", (3, "INDEX_NEGATIVE")),
        (b"1 33554433:1", (3, "INDEX_LARGE")),
        (b"1 33554432:1", None),
        (b"1 1:", (5, "VALUE")),
        (b"1 1:2:3", (5, "VALUE")),
        (b"1 1:inf", (5, "NOT_FINITE")),
        (b"1 1:1e400", (5, "NOT_FINITE")),
        (b"1 1:-1.1e100", (5, "TOO_LARGE")),
        (b"x 0:1 # \0", (9, "NUL")),
        (b"1 qid:zzz 1:1 #0:0", None),
        (b"1\r 1:1", (1, "LABEL")),
    ],
)
def test_svmlight_lines(line, expected):
    assert flaw(read_svmlight, line) == expected


def test_svmlight_rows():
    text = b"# \0\n \t\r\n+1 3:1 1:0 2:5 3:-1 2:.5#9\r\n-0 2:1 3:2 2:-1 2:7\n"
    assert read_svmlight(text) == ([Row(3, 1, 1.0, {1: 5.5}), Row(4, -1, 1.0, {1: 7.0, 2: 2.0})], [])
    assert read_svmlight(b"0 7:1 4294967295:2 15:1\n", bits=3)[0] == [Row(1, -1, 1.0, {7: 4.0})]
    assert read_svmlight(b"3:1 2:1\n9 1:1\n", labelled=False)[0] == [
        Row(1, 0, 1.0, {2: 1.0, 1: 1.0}),
        Row(2, 0, 1.0, {0: 1.0}),
    ]
    assert flaw(read_svmlight, b"1 4294967296:1", bits=3) == (3, "INDEX_LARGE")
    assert flaw(read_svmlight, b"1 4:1", features=3) == (3, "INDEX_LARGE")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"1 |f a b:2", None),
        (b"1 f a", (1, "NO_BAR")),
        (b"abc |f a", (1, "LABEL")),
        (b"p\tabc |f a", (3, "LABEL")),
        (b"1\t1\t1 |f a", (3, "LABEL")),
        (b"2 |f a", (1, "CLASS")),
        (b"1 -1 | a", (3, "WEIGHT")),
        (b"1 1e-51 | a", (3, "WEIGHT")),
        (b"1 0 x | a", (5, "HEAD")),
        (b"x 1 1 1 | a", (7, "HEAD")),
        (b"1 |f: a", (6, "SCALE")),
        (b"1 |f:inf a", (6, "SCALE")),
        (b"1 |f a: b", (8, "NO_VALUE")),
        (b"1 |f a:nan", (8, "NOT_FINITE")),
        (b"1 |f:1e90 a b:1e11", (15, "TOO_LARGE")),
        (b"1 |f:1e101 a", (12, "TOO_LARGE")),
        (b"1 |f:1e101 a:2", (14, "TOO_LARGE")),
        (b"1 |f:1e-99 a:1e190", None),
        (b"1 |f a\0", (7, "NUL")),
        (b"1 2 3 'tag |f a", None),
        (b"1 2 3 tag|f a", None),
        (b"|", None),
    ],
)
def test_vw_lines(line, expected):
    assert flaw(read_vw, line) == expected


def test_vw_rows():
    text = b"1 2 'id | 7 :3 :0 :4 7:2\n\nq\t0 2|7:2 1:3 :.5 1:0 |a:0 b\r\n| 5:1 6 5:-1\n"
    expected = [
        Row(1, 1, 2.0, {7: 3.0, 0: 3.0, 2: 4.0}, (32, 32, 32), b"id"),
        Row(3, -1, 1.0, {8: 6.0, 7: 1.0}, (55, 55), b"2"),
        Row(4, 0, 1.0, {6: 1.0}, (32,)),
    ]
    assert read_vw(text) == (expected, [])


@pytest.mark.parametrize("text", ["0x1", "1_0", "", " 1", "1 ", "١", "+-1", ".", "e1", "1e", "infinit", "nanx"])
def test_what_is_no_number(text):
    assert number(text.encode())[1] == 1


def test_svmlight_as_in_scikit_learn():
    rng = Random(1)  # noqa: S311
    lines = []
    for _ in range(200):
        columns = sorted(rng.sample(range(1, 50), rng.randrange(8)))
        fields = [f"{j}:{rng.choice((repr, '{:.3g}'.format))(rng.gauss(0, 1))}" for j in columns]
        lines.append(
            " ".join([rng.choice(("1", "-1", "+1", "-1.0")), *fields]) + rng.choice(("\n", " # note\n", " \n"))
        )
    text = "".join(lines).encode()
    theirs, labels = load_svmlight_file(BytesIO(text), n_features=COUNTED, zero_based=False)
    rows, found = read_svmlight(text)
    assert found == []
    assert [row.y for row in rows] == labels.tolist()
    for i, row in enumerate(rows):
        entries = slice(theirs.indptr[i], theirs.indptr[i + 1])
        assert row.entries == dict(zip(theirs.indices[entries].tolist(), theirs.data[entries].tolist(), strict=True))


def _vw_line(rng: Random) -> str:
    """A line that VW reads without complaint, its values exact in the 32 bits that VW keeps."""
    head = rng.choice(("1 ", "-1 ", "1 2 ", "1 0.5 'tag ", "1 id7", "1 2", "", "'tag ", "p q\t-1 ", "  1   2  "))
    value = rng.choice(("3", "0", "-0.5", ".25", "1e2", "+2", "-0", "007"))
    features = ["a", "b:2", f"c:{value}", f":{value}", ":1", "12", f"0012:{value}", "4294967299", "é", f"y{value}:2"]
    line = head
    for space in rng.sample(("", "f", "foo", "far", "é", "12"), rng.randrange(1, 4)):
        scale = rng.choice((":2", ":-0.5", ":0")) if space and rng.random() < 0.4 else ""
        # VW takes what begins like a number for one: 1x is 1.
        texts = ["color:red", ":red", "c:é", "e:x1", "12:ab", "a:b:c", ":-x"]
        chosen = rng.choices(features + texts, k=rng.randrange(6))
        line += f"|{space}{scale}" + "".join(rng.choice((" ", "\t", "  ")) + feature for feature in chosen) + " "
    return line


def test_vw_text_as_in_vowpal_wabbit():
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    vw, rng = vowpalwabbit.Workspace("--quiet --noconstant -b 20"), Random(2)  # noqa: S311
    for _ in range(600):
        line = _vw_line(rng)
        (row,), found = read_vw(line.encode() + b"\n", bits=20)
        assert found == []
        example = vw.parse(line)
        theirs: dict[int, float] = {}
        for index, value in example.iter_features():
            theirs[index & 0xFFFFF] = theirs.get(index & 0xFFFFF, 0.0) + value
        assert {column: value for column, value in theirs.items() if value} == row.entries, line
        label = example.get_simplelabel_label()
        assert row.y == (0 if label > 1e30 else label), line  # VW writes a missing label as the largest float
        assert row.weight == example.get_simplelabel_weight(), line
        assert row.tag.decode() == example.get_tag(), line
        slots = {chr(example.namespace(i)) for i in range(example.num_namespaces()) if example.num_features_in(i)}
        assert {chr(slot) for slot in row.spaces} <= slots, line
        vw.finish_example(example)
    vw.finish()
