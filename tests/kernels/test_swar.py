"""Bytes are found and counted 64 at a time as they are one at a time, whatever their number and the text's length."""

import numpy as np
import pytest

from massart.kernels.parsing.swar import count_between, find_marks

MARKS = (*range(0x21), ord(":"), ord("|"))


def text(rng, size, dense):
    """Bytes, that part of them marks."""
    return np.where(rng.random(size) < dense, rng.choice(MARKS, size), rng.integers(0x21, 256, size)).astype(np.uint8)


@pytest.mark.parametrize("dense", [0.0, 0.1, 0.2, 0.5, 1.0])
def test_all_marks_are_found(dense):
    """Up to 64 in 64 bytes; most texts have 8."""
    rng = np.random.default_rng(1)
    for size in (0, 1, 63, 64, 65, 127, 128, 1_000, 3_000):
        own = text(rng, size, dense)
        places = np.empty(size + 64, np.uint32)
        for start in {0, min(5, size), size}:
            count = int(find_marks(own, np.uint64(start), places))
            expected = [p for p in range(start, size) if own[p] in MARKS]
            assert places[:count].tolist() == expected


def test_places_end_where_there_is_no_room():
    """The last 64 bytes that were looked at may be the last that fit."""
    own = text(np.random.default_rng(2), 5_000, 0.3)
    expected = np.flatnonzero(np.isin(own, MARKS))
    places = np.full(256 + 16, 7, np.uint32)
    count = int(find_marks(own, np.uint64(0), places[:256]))
    assert 256 - 64 <= count <= 256
    assert places[:count].tolist() == expected[:count].tolist()
    assert (places[256:] == 7).all()


@pytest.mark.parametrize(("least", "most"), [(0, 32), (10, 10), (0, 255), (128, 255)])
def test_bytes_are_counted(least, most):
    rng = np.random.default_rng(3)
    for size in (*range(70), 127, 128, 129, 5_000):
        own = rng.integers(0, 256, size).astype(np.uint8)
        expected = np.count_nonzero((own >= least) & (own <= most))
        assert count_between(own, np.uint8(least), np.uint8(most)) == expected
