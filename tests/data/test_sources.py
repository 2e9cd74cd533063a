"""Sources: every compression, pipes, damage, files that change while they are read, globs and folders."""

import bz2
import functools
import gzip
import io
import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import processes
import pytest
import zstandard

from massart.data.io.sources import Source, find_sources
from massart.data.io.stream import Stored, decompressed
from massart.errors import InvalidDataError, InvalidParameterError, MassartError


@functools.cache
def sample(size=300_000, seed=0):
    """Text that compresses about as well as real data: several blocks of every compression."""
    digits = np.random.default_rng(seed).integers(0, 10, size).astype(np.uint8) + ord("0")
    digits[::29] = ord("\n")
    return digits.tobytes()


def zstd_stream(data):
    """Without the content size, with a checksum, as `zstd < file` writes."""
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return packer.compress(data) + packer.flush()


COMPRESS = {"gzip": gzip.compress, "bz2": bz2.compress, "zstd": zstandard.compress, "zstd stream": zstd_stream}
MANY = {
    "gzip members": lambda data: gzip.compress(data[:1000]) + gzip.compress(b"") + gzip.compress(data[1000:]),
    "gzip padded": lambda data: gzip.compress(data) + bytes(5000),
    "bz2 streams": lambda data: bz2.compress(data[:1000]) + bz2.compress(data[1000:]),
    "bz2 small blocks": lambda data: bz2.compress(data, 1),
    "zstd frames": lambda data: zstandard.compress(data[:1000]) + zstd_stream(b"") + zstd_stream(data[1000:]),
    "zstd skippable": lambda data: (
        b"\x53\x2a\x4d\x18\x03\0\0\0abc" + zstandard.compress(data) + b"\x50\x2a\x4d\x18\0\0\0\0"
    ),
}


def read_until_error(stream, portion=1 << 16):
    """All bytes that come before the error, and the error."""
    buffer, parts = bytearray(portion), []
    try:
        while count := stream.readinto(buffer):
            parts.append(bytes(buffer[:count]))
    except InvalidDataError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), None


def in_memory(data):
    return Stored("memory", io.BytesIO(data), None)


def write(folder, data, name="data"):
    path = folder / name
    path.write_bytes(data)
    return path


class TestCompression:
    @pytest.mark.parametrize("kind", COMPRESS | MANY)
    @pytest.mark.parametrize("size", [0, 1, 1001, 300_000])
    def test_every_compression_gives_back_the_data(self, tmp_path, kind, size):
        data = sample(300_000)[:size]
        source = Source(write(tmp_path, (COMPRESS | MANY)[kind](data), "named.csv"))
        assert source.compression == kind.split()[0]
        with source.open() as file:
            assert file.read() == data
        assert source.fraction() == 1.0
        assert source.head(500) == data[:500]

    @pytest.mark.parametrize("kind", ["plain", *COMPRESS])
    @pytest.mark.parametrize("offset", [0, 1, 7, 65_536, 299_999, 300_000])
    def test_offsets(self, tmp_path, kind, offset):
        data = sample()
        with Source(write(tmp_path, COMPRESS.get(kind, bytes)(data))).open(offset) as file:
            assert file.read() == data[offset:]

    @pytest.mark.parametrize("kind", ["plain", *COMPRESS])
    def test_an_offset_after_the_end(self, tmp_path, kind):
        source = Source(write(tmp_path, COMPRESS.get(kind, bytes)(b"abc")))
        with pytest.raises(InvalidDataError, match="ends after 3 bytes, but reading was to continue at byte 4"):
            source.stream(4)

    def test_by_content_and_not_by_name(self, tmp_path):
        assert Source(write(tmp_path, b"1 1:2\n", "a.svm.gz")).compression is None
        assert Source(write(tmp_path, gzip.compress(b"1"), "b.svm")).compression == "gzip"
        assert Source(write(tmp_path, b"BZh9 is how bz2 begins", "c")).compression is None
        assert Source(write(tmp_path, b"", "d")).compression is None
        assert Source(tmp_path / "c").head() == b"BZh9 is how bz2 begins"

    def test_zeros_decompress_in_small_pieces(self):
        """100 MB of one byte fit into few compressed bytes; they must never be in memory together."""
        stored = zstd_stream(b"x" * 100_000_000)
        pieces = [len(piece) for piece in decompressed("zstd", in_memory(stored))]
        assert (sum(pieces), max(pieces)) == (100_000_000, 1 << 17)
        pieces = [len(piece) for piece in decompressed("gzip", in_memory(gzip.compress(b"x" * 10_000_000)))]
        assert (sum(pieces), max(pieces)) == (10_000_000, 1 << 20)

    def test_without_zstandard(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "zstandard", None)
        with Source(write(tmp_path, zstandard.compress(b"1"))).stream() as stream:
            for _ in range(2):  # the second time it must not look like the end
                with pytest.raises(MassartError, match=r'pip install "massart\[files\]"'):
                    stream.readinto(bytearray(10))


class TestDamage:
    @pytest.mark.parametrize("kind", COMPRESS)
    @pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.9999])
    def test_cut_off(self, tmp_path, kind, share):
        data = sample(2_500_000)
        stored = COMPRESS[kind](data)
        cut = max(11, int(len(stored) * share))
        source = Source(write(tmp_path, stored[:cut]))
        with source.stream() as stream:
            came, error = read_until_error(stream)
            again = read_until_error(stream)
        assert data.startswith(came)
        assert error == (
            f"{source.name}: its {kind.split()[0]} data is cut off at byte {cut:,}, after {len(came):,} decompressed "
            "bytes; copy the file again"
        )
        assert again == (b"", error)
        # A bz2 block holds 900 KB and a zstd block 128 KB, which are there whole or not at all; gzip streams.
        assert len(came) > share * len(data) - {"gzip": 100_000, "bz2": 1_000_000}.get(kind, 200_000)

    @pytest.mark.parametrize("kind", ["gzip", "bz2", "zstd stream"])  # those with a checksum
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_damaged(self, tmp_path, kind, share):
        data = sample(2_500_000)
        stored = bytearray(COMPRESS[kind](data))
        at = int(len(stored) * share)
        stored[at : at + 64] = bytes(64)
        with Source(write(tmp_path, stored)).stream() as stream:
            came, error = read_until_error(stream)
        assert "damaged near byte" in error
        assert f"after {len(came):,} decompressed bytes" in error
        sound = int(share * len(data)) - {"gzip": 100_000, "bz2": 1_000_000}.get(kind, 200_000)
        assert came[: max(0, sound)] == data[: max(0, sound)]
        assert len(came) >= sound

    def test_gzip_hands_out_all_but_4_kb_before_the_damage(self, tmp_path):
        """Where a byte lies is known in stored blocks; zlib drops what it made in the step that meets the damage."""
        packer = zlib.compressobj(0, wbits=31)
        stored = bytearray(packer.compress(sample(200_000)) + packer.flush())
        second = 10 + 5 + int.from_bytes(stored[11:13], "little")
        stored[second] |= 0b110  # a kind of block that does not exist
        with Source(write(tmp_path, stored)).stream() as stream:
            came, error = read_until_error(stream)
        assert sample(200_000).startswith(came)
        assert second - 16 - (1 << 12) <= len(came) <= second - 16
        near = int(error.partition("damaged near byte ")[2].partition(" ")[0].replace(",", ""))
        assert second - (1 << 13) <= near <= second
        assert "(invalid block type)" in error

    def test_gzip_that_is_cut_off_gives_all_that_is_in_it(self, tmp_path):
        """Also what zlib holds back when as much as is asked for at once ends within a repetition."""
        stored = gzip.compress(b"x" * ((1 << 20) + 200))
        for cut in range(len(stored) - 24, len(stored)):
            with Source(write(tmp_path, stored[:cut])).stream() as stream:
                came, _ = read_until_error(stream)
            assert came == zlib.decompressobj(wbits=31).decompress(stored[:cut])

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_rubbish_after_the_end(self, tmp_path, kind):
        with Source(write(tmp_path, COMPRESS[kind](sample()) + b"rubbish that is long enough")).stream() as stream:
            came, error = read_until_error(stream)
        assert came == sample()
        assert "damaged near byte" in error

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_whatever_the_damage_it_is_text_or_a_sentence(self, tmp_path, kind):
        random = np.random.default_rng(1)
        stored = np.frombuffer(COMPRESS[kind](sample(3000)), np.uint8)
        for _ in range(200):
            damaged = stored[: random.integers(10, stored.size + 1)].copy()
            places = random.integers(4, damaged.size, random.integers(0, 4))
            damaged[places] = random.integers(0, 256, places.size)
            with Source(write(tmp_path, damaged.tobytes())).stream() as stream:
                came, error = read_until_error(stream)
            assert error is not None or len(came) < 1_000_000
            assert error is None or f"after {len(came):,} decompressed bytes" in error

    def test_a_wrong_checksum(self, tmp_path):
        for kind, place in (("gzip", -8), ("zstd stream", -1)):
            stored = bytearray(COMPRESS[kind](sample()))
            stored[place] ^= 1
            with Source(write(tmp_path, stored)).stream() as stream:
                came, error = read_until_error(stream)
            assert sample().startswith(came)
            assert "damaged" in error

    def test_head_of_a_damaged_file(self, tmp_path):
        stored = gzip.compress(sample())[:50_000]
        assert len(Source(write(tmp_path, stored)).head()) > 50_000
        with pytest.raises(InvalidDataError, match="cut off at byte 12"):
            Source(write(tmp_path, stored[:12])).head()


class TestPipes:
    @pytest.mark.parametrize("kind", ["plain", *COMPRESS])
    def test_standard_input(self, kind):
        code = (
            "import sys; from massart.data.io.sources import Source; source = Source('-');"
            "head = source.head(100_000); assert source.head(10) == head[:10];"
            "sys.stdout.buffer.write(head[:7] + source.open(3).read());"
            "print(source.name, source.size, source.fraction(), source.compression, file=sys.stderr)"
        )
        process = processes.start(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = process.communicate(COMPRESS.get(kind, bytes)(sample()), timeout=60)
        assert out == sample()[:7] + sample()[3:], err
        compression = None if kind == "plain" else kind.split()[0]
        assert err.decode().split() == ["standard", "input", "None", "None", str(compression)]

    def test_a_pipe_that_delivers_byte_by_byte(self, tmp_path):
        data = gzip.compress(b"1 1:2\n-1 3:4\n")
        path = tmp_path / "pipe"
        os.mkfifo(path)

        def deliver():
            with path.open("wb", buffering=0) as pipe:
                for byte in data:
                    pipe.write(bytes([byte]))

        thread = threading.Thread(target=deliver)
        thread.start()
        source = find_sources(path)[0]
        assert (source.compression, source.head(3), source.size, source.is_pipe) == ("gzip", b"1 1", None, True)
        with source.open() as file:
            assert file.read() == b"1 1:2\n-1 3:4\n"
        thread.join()
        assert source.head(3) == b"1 1"
        with pytest.raises(InvalidDataError, match="pipe can be read only once: write it to a file"):
            source.open()

    def test_standard_input_in_memory(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:2\n")))
        source = Source("-")
        with source.open(2) as file:
            assert file.read() == b"1:2\n"
        assert not sys.stdin.buffer.closed
        with pytest.raises(InvalidDataError, match="standard input can be read only once"):
            source.head()

    def test_damage_within_the_head_of_a_pipe(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(sample())[:50_000])))
        source = Source("-")
        head = source.head()
        with source.stream() as stream:
            came, error = read_until_error(stream)
        assert came == head
        assert "standard input: its gzip data is cut off at byte 50,000" in error

    def test_no_standard_input(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(InvalidDataError, match="there is no standard input"):
            Source("-").head()


class TestChanges:
    def test_a_file_that_shrinks(self, tmp_path):
        path = write(tmp_path, sample())
        with Source(path).stream() as stream:
            buffer = bytearray(1000)
            assert stream.readinto(buffer) == 1000
            os.truncate(path, 2000)
            came, error = read_until_error(stream, 100)
        assert bytes(buffer) + came == sample()[:2000]
        assert "became shorter while it was read: it had 300,000 bytes and ends after 2,000" in error

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_a_compressed_file_that_shrinks_to_a_whole_one(self, tmp_path, kind):
        packed = COMPRESS[kind](sample(2_000_000))
        path = write(tmp_path, packed + packed)
        with Source(path).stream() as stream:
            stream.readinto(bytearray(10))
            os.truncate(path, len(packed))
            came, error = read_until_error(stream)
        assert came == sample(2_000_000)[10:]
        assert "became shorter" in error

    def test_a_file_that_grows(self, tmp_path):
        path = write(tmp_path, sample())
        with Source(path).stream() as stream, path.open("ab") as file:
            stream.readinto(bytearray(1000))
            file.write(b"more")
            file.flush()
            came, error = read_until_error(stream)
        assert (came[-4:], len(came), error) == (b"more", 300_000 - 1000 + 4, None)

    def test_a_file_that_vanishes(self, tmp_path):
        source = find_sources(write(tmp_path, b"1\n"))[0]
        source.path.unlink()
        for use in (source.open, source.head, lambda: source.size, lambda: source.compression):
            with pytest.raises(InvalidDataError, match="data does not exist"):
                use()

    def test_a_file_that_cannot_be_read_on(self, tmp_path, monkeypatch):
        class Broken(io.RawIOBase):
            def readinto(self, buffer):
                raise OSError(5, "Input/output error")

        stream = Source(write(tmp_path, sample())).stream()
        stream.stored._file.close()
        monkeypatch.setattr(stream.stored, "_file", Broken())
        assert read_until_error(stream)[1].endswith("data cannot be read after byte 0: Input/output error")

    def test_progress(self, tmp_path):
        source = Source(write(tmp_path, sample()))
        assert source.fraction() == 0.0
        with source.stream(150_000) as stream:
            stream.readinto(bytearray(75_000))
            assert source.fraction() == 0.75


class TestFinding:
    def names(self, paths):
        return [source.path.name for source in find_sources(paths)]

    def test_files_patterns_and_their_order(self, tmp_path):
        for name in ("b.svm", "a.svm", "c.csv", "[1].svm"):
            write(tmp_path, b"1\n", name)
        assert self.names([tmp_path / "c.csv", f"{tmp_path}/?.svm"]) == ["c.csv", "a.svm", "b.svm"]
        assert self.names(f"{tmp_path}/[1].svm") == ["[1].svm"]  # a file of that name comes before the pattern
        with pytest.raises(InvalidDataError, match="named twice"):
            find_sources([tmp_path / "a.svm", tmp_path / "a.svm"])
        with pytest.raises(InvalidDataError, match=r"no file matches .*\*\.vw"):
            find_sources(f"{tmp_path}/*.vw")
        for name in (str(tmp_path / "d.svm"), ""):
            with pytest.raises(InvalidDataError, match="does not exist"):
                find_sources(name)
        with pytest.raises(InvalidParameterError, match="nothing to read"):
            find_sources([])

    def test_a_pattern_for_folders_and_their_files_takes_each_file_once(self, tmp_path):
        (tmp_path / "day=1").mkdir()
        write(tmp_path / "day=1", b"1\n", "a.svm")
        write(tmp_path, b"1\n", "b.svm")
        assert sorted(self.names(f"{tmp_path}/**")) == ["a.svm", "b.svm"]

    def test_standard_input_once(self):
        assert find_sources("-")[0].name == "standard input"
        with pytest.raises(InvalidDataError, match="give it once"):
            find_sources(["-", "-"])

    def test_folders(self, tmp_path):
        for name in (
            "day=2/x.parquet",
            "day=1/b.parquet",
            "day=1/a.parquet",
            "_day=3/c.parquet",
            "_temporary/d.parquet",
        ):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        for name in ("_SUCCESS", ".a.parquet.crc", "_metadata.parquet", "README.md", "notes.txt"):
            (tmp_path / name).touch()
        assert self.names(tmp_path) == ["c.parquet", "a.parquet", "b.parquet", "x.parquet"]

    def test_folders_of_names_that_say_nothing(self, tmp_path):
        for name in ("part-1.gz", "part-0", "part-2.txt"):
            write(tmp_path, b"1 |a b\n", name)
        (tmp_path / "part-3").touch()
        assert self.names(str(tmp_path)) == ["part-0", "part-1.gz", "part-2.txt"]

    def test_folders_that_are_refused(self, tmp_path):
        (tmp_path / "_SUCCESS").touch()
        with pytest.raises(InvalidDataError, match="is a folder without data files"):
            find_sources(tmp_path)
        for name in ("a.csv", "b.tsv", "c.vw"):
            (tmp_path / name).touch()
        with pytest.raises(InvalidDataError, match=r"several formats \(csv, vw\)"):
            find_sources(tmp_path)
        with pytest.raises(InvalidDataError, match="is a folder: name a file in it"):
            Source(tmp_path).stream()

    def test_permissions(self, tmp_path, monkeypatch):
        path = write(tmp_path, b"1\n")
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
        with pytest.raises(InvalidDataError, match="may not be read: change its permissions"):
            find_sources(path)

    def test_odd_names(self, tmp_path):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.svm"))
        path.write_bytes(b"1\n")
        source = find_sources(path)[0]
        assert source.name.encode().endswith("\ufffd.svm".encode())
        assert source.head() == b"1\n"
        with pytest.raises(InvalidDataError, match="cannot be read"):
            find_sources("a" * 10_000)
