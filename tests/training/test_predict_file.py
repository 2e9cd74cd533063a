"""Predictions as text: a line per row, a file that is whole or not there."""

import os
from pathlib import Path

import numpy as np
import pytest
from fake_reader import FakeReader, halfspace_rows

from massart.data.chunk import crossed
from massart.data.formats.text import parse_block
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.files import check_place
from massart.training.predict import PredictionFile, PredictionLines

X, Y = halfspace_rows(10, 4)


def lines_of(chunk, scores, **options):
    found = PredictionLines(**options)
    found.add(chunk, np.asarray(scores, float))
    return found.text(("neg", "pos")).decode()


def test_labels_and_scores():
    chunk = FakeReader(X[:3], Y[:3]).chunk(0, 3)
    assert lines_of(chunk, [0.0, -0.1, np.nan]) == "pos\nneg\n\n"
    assert lines_of(chunk, [0.1 + 0.2, -1e-30, np.nan], as_scores=True) == "0.30000000000000004\n-1e-30\n\n"


def test_errors_are_empty_lines_at_their_place():
    flaws = [(0, "x"), (2, "x"), (2, "y")]
    chunk = FakeReader(X, Y, flaws=flaws, tags=[f"t{k}" for k in range(10)]).chunk(0, 4)
    assert lines_of(chunk, [1, -1, 1, -1]) == "\npos t0\nneg t1\n\n\npos t2\nneg t3\n"
    assert lines_of(FakeReader(X, Y, flaws=[(1, "x")]).chunk(0, 0), []) == "\n" * 0


def test_a_chunk_of_nothing_but_errors():
    chunk = parse_block(b"x 1:1\ny 1:1\n", Schema("svmlight"))
    assert lines_of(chunk, []) == "\n\n"


def test_parts_of_a_crossed_chunk_make_the_lines_of_the_whole():
    text = b"1 'a |u x |v y\n1 'b |u x:1e99 |v y:1e99\nbad\n-1 'd |u z |v y\n"
    chunk = parse_block(text, Schema("vw", bits=10, crossings=("uv",)))
    found = PredictionLines(as_scores=True)
    for part in crossed(chunk):
        found.add(part, np.arange(len(part)) + 0.5)
    lines = found.text(("0", "1")).decode().split("\n")
    assert len(lines) == 5
    assert [bool(line) for line in lines] == [True, False, False, True, False]
    assert lines[0].endswith(" a")
    assert lines[3].endswith(" d")


def test_a_file_goes_on_from_a_length(tmp_path):
    path = tmp_path / "p.txt"
    file = PredictionFile(path)
    file.write(b"1\n-1\n")
    assert file.sync() == 5
    file.keep(5)
    file.write(b"lost\n")
    file.abandon()
    assert (tmp_path / "p.txt.partial").read_bytes() == b"1\n-1\n"
    again = PredictionFile(path, 5)
    again.write(b"1\n")
    again.finish()
    assert path.read_bytes() == b"1\n-1\n1\n"
    assert os.listdir(tmp_path) == ["p.txt"]


def test_abandoned_without_a_checkpoint_nothing_stays(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("old\n")
    file = PredictionFile(path)
    file.write(b"1\n")
    file.abandon()
    assert os.listdir(tmp_path) == ["p.txt"]
    assert path.read_text() == "old\n"


def test_a_full_disk_is_a_sentence():
    file = PredictionFile(Path("/dev/full"))
    with pytest.raises(InvalidDataError, match="/dev/full could not be written: No space left on device"):
        file.write(b"1\n" * 100_000)
    file.abandon()


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InvalidParameterError, match="is a folder: give the name of a file for the model"):
        check_place(tmp_path, "the model")
    with pytest.raises(InvalidParameterError, match="there is no folder"):
        check_place(tmp_path / "no" / "m", "the model")
    with pytest.raises(InvalidParameterError, match="/dev/null is not a file"):
        check_place(Path("/dev/null"), "the model", devices=False)
    check_place(Path("/dev/null"), "the predictions")
    check_place(tmp_path / "m", "the model")
    assert os.listdir(tmp_path) == []
    with pytest.raises(InvalidParameterError, match=r"cannot be written to /proc/m \("):
        check_place(Path("/proc/m"), "the model")
