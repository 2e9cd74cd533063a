"""The hash of names: published values, two other implementations, and Vowpal Wabbit itself."""

from random import Random

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32
from text_reference import murmur3 as slow_murmur3
from text_reference import vw_hash as slow_vw_hash

from massart.data.hashing import name_hash
from massart.kernels.parsing.hashing import murmur3, vw_hash

# Of the kind that implementations of MurmurHash3_x86_32 are checked with: every length of the tail, signs, seeds.
PUBLISHED = [
    (b"", 0, 0),
    (b"", 1, 0x514E28B7),
    (b"", 0xFFFFFFFF, 0x81F16F39),
    (b"\xff\xff\xff\xff", 0, 0x76293B50),
    (b"\x21\x43\x65\x87", 0, 0xF55B516B),
    (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE),
    (b"\x21\x43\x65", 0, 0x7E4A8634),
    (b"\x21\x43", 0, 0xA0F7B07A),
    (b"\x21", 0, 0x72661CF4),
    (b"\0\0\0\0", 0, 0x2362F9DE),
    (b"\0\0\0", 0, 0x85F0B427),
    (b"\0\0", 0, 0x30F4C306),
    (b"\0", 0, 0x514E28B7),
    (b"aaaa", 0x9747B28C, 0x5A97808A),
    (b"abc", 0x9747B28C, 0xC84A62DD),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
]


def compiled(kernel, text: bytes, seed: int) -> int:
    """The kernel on the middle of a larger array: what stands around it must not count."""
    around = np.frombuffer(b"7x" + text + b"9y", np.uint8)
    return int(kernel(around, np.uint64(2), np.uint64(2 + len(text)), np.uint32(seed)))


@pytest.mark.parametrize(("text", "seed", "expected"), PUBLISHED)
def test_published_values(text, seed, expected):
    assert slow_murmur3(text, seed) == expected
    assert compiled(murmur3, text, seed) == expected


def test_random_bytes_hash_as_in_scikit_learn():
    rng = Random(1)  # noqa: S311
    for _ in range(5000):
        text, seed = rng.randbytes(rng.randrange(40)), rng.getrandbits(32)
        expected = murmurhash3_32(text, seed, positive=True)
        assert slow_murmur3(text, seed) == expected
        assert compiled(murmur3, text, seed) == expected


def test_names_hash_as_in_the_reference():
    rng = Random(2)  # noqa: S311
    for _ in range(5000):
        alphabet = rng.choice((b"0123456789", b"0123456789", b"0123456789a/:", b"09\x00\xff\x2f\x3a"))
        text, seed = bytes(rng.choices(alphabet, k=rng.randrange(1, 30))), rng.getrandbits(32)
        assert compiled(vw_hash, text, seed) == slow_vw_hash(text, seed), (text, seed)
        assert name_hash(text, seed) == slow_vw_hash(text, seed), (text, seed)


@pytest.mark.parametrize(
    ("name", "seed", "expected"),
    [
        ("13", 0, 13),
        ("13", 5, 18),
        ("007", 0, 7),
        ("4294967296", 0, 0),
        ("4294967297", 0xFFFFFFFF, 0),
        ("9" * 30, 0, None),
    ],
)
def test_a_name_of_digits_is_an_offset(name, seed, expected):
    assert name_hash(name, seed) == ((int(name) + seed) % 2**32 if expected is None else expected)


def test_vowpal_wabbit_puts_names_in_the_same_columns():
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    vw, bits, rng = vowpalwabbit.Workspace("--quiet --noconstant -b 24"), 24, Random(3)  # noqa: S311
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789_=^.-é字'#/"
    for _ in range(400):
        names = ["".join(rng.choices(alphabet, k=rng.randrange(1, 20))) for _ in range(6)]
        names += [str(rng.randrange(10 ** rng.randrange(1, 15))), "00042"]
        space = rng.choice(("f", "user", "é", "12", "0", names.pop()))
        example = vw.parse(f"1 |{space} " + " ".join(names))
        theirs = [index & ((1 << bits) - 1) for index, _ in example.iter_features()]
        assert [name_hash(name, name_hash(space)) & ((1 << bits) - 1) for name in names] == theirs
        vw.finish_example(example)
    vw.finish()
