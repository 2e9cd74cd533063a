"""Law 5: memory is at most 1.25 GiB and 16 times the size of a file, whatever its bytes say, plus the model.

Each attack is read in a process of its own, whose address space is limited: a reader that asks for more ends in a
MemoryError, which fails the test, and not in the end of the machine.
"""

import json
import sys
from pathlib import Path

import processes
import pytest
import reader_attacks as attacks

from massart.data.formats.arrow_messages import check_schema
from massart.data.formats.parquet_pages import check_footer, check_group, groups_of
from massart.data.row_errors import most_unpacked
from massart.data.schema import MOST_COLUMNS

STATED = most_unpacked(0) + (1 << 28)  # bytes, and
TIMES = 16  # the size of the file
ADDRESSES = 6 << 30  # bytes of address space: more than is stated, less than the attacks ask for
PROGRAM = processes.HELPERS / "reader_runs.py"


def ended(path: Path) -> dict:
    """How the reading of a file ended."""
    command = [sys.executable, str(PROGRAM), str(ADDRESSES), str(path)]
    done = processes.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check(path: Path) -> dict:
    found = ended(path)
    assert found["ended"] in ("rows", "refused"), found
    assert found["peak"] <= STATED + TIMES * path.stat().st_size, found
    return found


@pytest.mark.parametrize("name", attacks.LARGE)
def test_a_file_takes_no_more_than_is_stated(name, tmp_path):
    found = check(attacks.written(tmp_path, name, attacks.LARGE[name]))
    if found["ended"] == "refused":
        assert name in found["words"]


@pytest.mark.parametrize("name", attacks.LOGS)
def test_a_log_takes_no_more_than_is_stated(name, tmp_path):
    (tmp_path / "logs").mkdir()
    found = check(attacks.written(tmp_path / "logs", name, attacks.LOGS[name]))
    if found["ended"] == "refused":
        assert name in found["words"]


@pytest.mark.parametrize("path", sorted((attacks.CORPUS / "parquet").iterdir()), ids=lambda path: path.name)
def test_files_that_once_took_more_or_crashed(path):
    check(path)


def test_a_line_beyond_the_longest_is_left_out_or_refused_with_its_number(tmp_path):
    found = check(attacks.written(tmp_path, "line.svm.gz", attacks.LARGE["line.svm.gz"]))
    assert (found["ended"], found["words"]) == ("rows", "1")
    (tmp_path / "logs").mkdir()
    found = check(attacks.written(tmp_path / "logs", "line.jsonl.gz", attacks.LOGS["line.log.jsonl.gz"]))
    assert "line 1, line: the line is longer than 16 MiB" in found["words"]


def test_a_small_file_of_large_lists_takes_little(tmp_path):
    for name in ("lists.arrow", "lists.parquet", "shape.npy"):
        assert check(attacks.written(tmp_path, name, attacks.LARGE[name]))["peak"] < 1 << 26


def test_a_table_may_have_as_many_columns_as_is_said(tmp_path):
    for suffix, make in (("arrow", attacks.arrow_bytes), ("parquet", attacks.parquet_bytes)):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(make(attacks.huge_lists(MOST_COLUMNS - 1)))
        assert ended(path)["ended"] == "rows"
        path.write_bytes(make(attacks.huge_lists(MOST_COLUMNS)))
        assert "1,048,577 columns" in ended(path)["words"]


def test_a_schema_whose_parts_are_used_again_and_again_is_refused():
    import pyarrow as pa

    names = [f"{i:04}" for i in range(64)]
    message = pa.schema([(name, pa.int8()) for name in names]).serialize().to_pybytes()[8:]
    check_schema(message)
    # A name of four letters becomes one that reaches to the end of the message; there are 64 of them.
    forged = message
    for name in names:
        place = message.index(b"\4\0\0\0" + name.encode())
        forged = forged[:place] + (len(message) - place - 4).to_bytes(4, "little") + forged[place + 4 :]
    with pytest.raises(ValueError, match="larger than its description"):
        check_schema(forged)


def test_pages_that_say_they_are_large_are_refused_before_they_are_unpacked(tmp_path):
    import pyarrow as pa

    path = tmp_path / "a.parquet"
    path.write_bytes(attacks.parquet_bytes(pa.table({"x": range(20_000)}), compression="zstd", use_dictionary=False))
    data = path.read_bytes()
    with path.open("rb") as file:
        group = groups_of(check_footer(file, len(data)))[0]
        check_group(file, len(data), group, [(0, False)])
    place = group.chunks[0].begin
    assert data[place : place + 3] == b"\x15\x00\x15"  # the kind of the page, and then its size as a varint
    size_end = place + 3 + next(i for i, byte in enumerate(data[place + 3 :]) if byte < 128) + 1
    largest = bytes([0xFE, 0xFF, 0xFF, 0xFF, 0x0F])  # 2^31 - 1
    path.write_bytes(data[: place + 3] + largest + data[size_end:])
    with path.open("rb") as file, pytest.raises(Exception, match="unpack to more than"):
        check_group(file, len(data) + 2, group, [(0, False)])
