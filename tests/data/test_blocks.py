"""Blocks: whole lines, exact places, the same cuts however bytes arrive, lines that are too long."""

import bz2
import gzip
import io
import os
import sys
import tracemalloc

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from massart.data.chunk import Position, RowError
from massart.data.io.blocks import blocks
from massart.data.io.sources import Source
from massart.errors import InvalidDataError, InvalidParameterError

MARK = b"\xef\xbb\xbf"


def plan(data, size, longest, start=0, line=0):
    """What is promised, the slow way: (text, offset, line, end offset, end line, lines of errors) of each block."""
    size, made, errors = min(size, longest), [], []
    while start < len(data):
        begin = start + 3 if start == 0 and data.startswith(MARK) else start
        first = data.find(b"\n", begin)
        first = len(data) if first < 0 else first
        if first - begin > longest:
            line += 1
            errors.append(line)
            start = min(first + 1, len(data))
            continue
        portions = max(1, -(-(first + 1 - start) // size))
        stop = min(len(data), start + portions * size)
        cut = data.rfind(b"\n", start, stop) + 1
        if start + portions * size > len(data) or cut == 0:
            cut = len(data)
        text = data[begin:cut]
        if not text:
            break
        text += b"" if text.endswith(b"\n") else b"\n"
        made.append((text, begin, line, cut, line + text.count(b"\n"), errors))
        start, line, errors = cut, line + text.count(b"\n"), []
    if errors:
        made.append((b"", start, line, start, line, errors))
    return made


def facts(found):
    return [
        (b.text.tobytes(), b.offset, b.line, b.end.offset, b.end.line, [one.line for one in b.errors]) for b in found
    ]


class Dribble(io.RawIOBase):
    """Delivers as many bytes at a time as it likes."""

    def __init__(self, data, portions):
        self.file, self.portions = io.BytesIO(data), iter(portions)

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.file.read(min(len(buffer), next(self.portions, len(buffer))))
        buffer[: len(data)] = data
        return len(data)


class Piped:
    """Standard input that delivers a text in given portions."""

    def __init__(self, data, portions=()):
        self.buffer = Dribble(data, portions)


def piped(data, portions, **options):
    before, sys.stdin = sys.stdin, Piped(data, portions)
    try:
        return list(blocks(Source("-"), **options))
    finally:
        sys.stdin = before


lines = st.lists(st.integers(0, 60).map(lambda n: b"x" * n) | st.sampled_from([b"", b"\r", b"\0", b"1 1:2 3:4\r"]))
texts = st.builds(
    lambda mark, parts, end: mark + b"\n".join(parts) + end,
    st.sampled_from([b"", b"", MARK, MARK[:2]]),
    lines,
    st.sampled_from([b"", b"\n", b"\n\n", b"\r\n"]),
)


class TestCuts:
    @given(texts, st.integers(4, 70), st.integers(4, 70), st.lists(st.integers(1, 20)))
    @settings(max_examples=400, deadline=None)
    def test_as_planned_in_whatever_portions_a_pipe_delivers(self, data, size, longest, portions):
        found = piped(data, portions, size=size, longest=longest)
        assert facts(found) == plan(data, size, longest)

    @given(texts, st.integers(4, 40), st.integers(4, 70))
    @settings(max_examples=100, deadline=None)
    def test_from_every_end_the_rest_is_the_same(self, tmp_path_factory, data, size, longest):
        path = tmp_path_factory.mktemp("text") / "data"
        path.write_bytes(data)
        whole = list(blocks(Source(path), Position(5), size, longest=longest))
        for number, block in enumerate(whole):
            assert block.end.source == 5
            assert facts(blocks(Source(path), block.end, size, longest=longest)) == facts(whole[number + 1 :])

    @pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, zstandard.compress])
    def test_the_same_for_every_compression(self, tmp_path, compress):
        data = MARK + b"".join(b"%d %d:1\r\n" % (n % 2, n) for n in range(20_000)) + b"1 5:3"
        (tmp_path / "data").write_bytes(compress(data))
        source = Source(tmp_path / "data")
        found = list(blocks(source, size=1 << 14))
        assert facts(found) == plan(data, 1 << 14, 1 << 24)
        for block in found[::3]:
            rest = b"".join(later.text.tobytes() for later in blocks(source, block.end, 1 << 14))
            assert rest == (data[block.end.offset :] + b"\n" if block.end.offset < len(data) else b"")

    def test_no_bytes_no_blocks(self, tmp_path):
        for data in (b"", MARK):
            (tmp_path / "data").write_bytes(data)
            assert list(blocks(Source(tmp_path / "data"))) == []

    def test_text_belongs_to_its_block(self, tmp_path):
        (tmp_path / "data").write_bytes(b"ab\ncd\nef\n" * 10)
        held = list(blocks(Source(tmp_path / "data"), size=9))
        assert b"".join(block.text.tobytes() for block in held) == b"ab\ncd\nef\n" * 10
        for block in held:
            assert block.text.flags.c_contiguous
            assert block.text.flags.writeable
            block.text[:] = 0  # changes no other block
        assert sum(int(block.text.sum()) for block in held) == 0

    def test_sizes_are_checked_at_once(self):
        with pytest.raises(InvalidParameterError, match="size=3"):
            blocks(Source("-"), size=3)


class TestLongLines:
    def test_what_is_said(self, tmp_path):
        (tmp_path / "data").write_bytes(b"a\n" + b"x" * 50 + b"\nb\n" + b"y" * 51 + b"\n")
        found = list(blocks(Source(tmp_path / "data"), size=16, longest=50))
        name = str(tmp_path / "data")
        assert [block.errors for block in found] == [
            (),
            (),
            (RowError(name, 4, 0, "the line is longer than 50 bytes"),),
        ]
        assert (found[-1].text.size, found[-1].line, found[-1].end) == (0, 4, Position(0, 107, 4))

    def test_one_hundred_megabytes_are_never_kept(self, tmp_path):
        path = tmp_path / "data"
        with path.open("wb") as file:
            file.write(b"1 1:1\n")
            for _ in range(100):
                file.write(b"x" * 1_000_000)
            file.write(b"\n" + b"1 2:1\n" * 700_000)
        tracemalloc.start()
        try:
            peaks, texts = [], 0
            for block in blocks(Source(path)):
                texts += block.text.size
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
                if block.errors:
                    said = str(block.errors[0])
        finally:
            tracemalloc.stop()
        assert texts == 6 + 6 * 700_000
        assert said == f"{path}, line 2: the line is longer than 16 MiB"
        # The buffer is doubled up to 16 MiB and a portion, beside the one it is copied from.
        assert max(peaks) < 45 << 20
        assert peaks[-1] < 5 << 20  # back to normal

    def test_a_line_just_within_the_limit(self, tmp_path):
        (tmp_path / "data").write_bytes(b"x" * (1 << 24) + b"\nab\n")
        first, *_ = found = list(blocks(Source(tmp_path / "data")))
        assert first.text.size >= (1 << 24) + 1
        assert sum(block.text.size for block in found) == (1 << 24) + 4
        assert not any(block.errors for block in found)


class TestChangesAndDamage:
    @pytest.mark.parametrize("compress", [gzip.compress, lambda data: bz2.compress(data, 1), zstandard.compress])
    @pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
    def test_rows_before_the_damage_come_first(self, tmp_path, compress, share):
        numbers = np.random.default_rng(0).integers(0, 10**9, 300_000)
        data = b"".join(b"%d\n" % number for number in numbers)
        stored = compress(data)
        (tmp_path / "data").write_bytes(stored[: int(share * len(stored))])
        text = b""
        with pytest.raises(InvalidDataError, match="cut off at byte") as caught:  # noqa: PT012
            for block in blocks(Source(tmp_path / "data"), size=1 << 16):
                text += block.text.tobytes()
        assert text
        assert data.startswith(text)  # whole lines only: half a line at the damage is no row
        came = int(str(caught.value).split("after ")[1].split()[0].replace(",", ""))
        assert text == data[: data.rfind(b"\n", 0, came) + 1]

    def test_a_file_that_shrinks(self, tmp_path):
        path = tmp_path / "data"
        path.write_bytes(b"1 1:1\n" * 1000)
        reader = blocks(Source(path), size=60)
        text = next(reader).text.tobytes()
        os.truncate(path, 1000)
        with pytest.raises(InvalidDataError, match="became shorter while it was read"):  # noqa: PT012
            for block in reader:
                text += block.text.tobytes()
        assert text == b"1 1:1\n" * 166  # 996 bytes are whole lines

    def test_a_file_that_grows(self, tmp_path):
        path = tmp_path / "data"
        path.write_bytes(b"1 1:1\n" * 100 + b"1 2")
        reader = blocks(Source(path), size=60)
        text = next(reader).text.tobytes()
        with path.open("ab") as file:
            file.write(b":5\n1 3:7\n-1 4:")
        text += b"".join(block.text.tobytes() for block in reader)
        assert text == b"1 1:1\n" * 100 + b"1 2:5\n1 3:7\n-1 4:\n"

    def test_an_abandoned_reader_closes_its_file(self, tmp_path):
        (tmp_path / "data").write_bytes(b"1\n" * 1000)
        source = Source(tmp_path / "data")
        reader = blocks(source, size=10)
        next(reader)
        stream = source._latest
        assert not stream.closed
        reader.close()
        assert stream.closed
