"""`massart.data.read`: one door for every format, in three lines with scikit-learn's contract."""

import gzip

import numpy as np
import pytest

import massart
from massart.data import Position, Reader, Schema, read
from massart.data.io.sources import find_sources
from massart.errors import InvalidDataError, InvalidParameterError

ROWS = 3000


@pytest.fixture
def written(tmp_path):
    """Two files of rows, one gzipped, whose widest row comes last."""
    rng = np.random.default_rng(0)
    lines = []
    for n in range(ROWS):
        columns = np.sort(rng.choice(50 if n < ROWS - 1 else 90, size=8, replace=False)) + 1
        values = rng.normal(size=8).round(4)
        label = 1 if values[columns <= 25].sum() >= values[columns > 25].sum() else -1
        lines.append(f"{label} " + " ".join(f"{c}:{v}" for c, v in zip(columns, values, strict=True)))
    (tmp_path / "a.svm").write_text("\n".join(lines[: ROWS // 2]) + "\n")
    (tmp_path / "b.svm.gz").write_bytes(gzip.compress(("\n".join(lines[ROWS // 2 :]) + "\n").encode()))
    return tmp_path


def test_three_lines_train_a_classifier(written):
    classifier = massart.MassartClassifier(random_state=0)
    for chunk in massart.data.read(written):
        classifier.partial_fit(chunk.X, chunk.y, classes=[-1, 1])
    assert classifier.rounds_ == ROWS
    assert classifier.mistakes_ < 0.2 * ROWS


def test_every_chunk_has_all_the_columns(written):
    found = {chunk.X.shape[1] for chunk in read([written / "a.svm", written / "b.svm.gz"])}
    assert len(found) == 1
    assert 50 <= found.pop() <= 90


def test_reading_goes_on_from_the_end_of_any_chunk(written):
    reader = Reader(find_sources(written), Schema(features=90))
    chunks = list(reader.chunks())
    assert len(chunks) >= 2
    for number, chunk in enumerate(chunks):
        rest = [len(one) for one in reader.chunks(chunk.end)]
        assert sum(rest) == sum(len(one) for one in chunks[number + 1 :])
    assert chunks[-1].end.source == 1
    assert reader.fraction() == 1.0


def test_a_malformed_row_is_an_error_unless_it_may_be_left_out(written):
    (written / "a.svm").write_text("1 1:1\n1 0:1\n-1 2:1\n")
    with pytest.raises(InvalidDataError, match=r"a\.svm, line 2, column 3: index 0; svmlight counts from 1"):
        list(read(written / "a.svm"))
    chunk = next(iter(read(written / "a.svm", strict=False)))
    assert (len(chunk), len(chunk.errors)) == (2, 1)


def test_crossings_are_written_out_for_python(tmp_path):
    (tmp_path / "a.vw").write_text("1 |a x |b y\n")
    assert next(iter(read(tmp_path / "a.vw", crossings=("ab",)))).X.nnz == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bits": 0}, "bits"),
        ({"format": "xml"}, "format"),
        ({"features": -1}, "features"),
        ({"labels": ("a", "a")}, "labels"),
    ],
)
def test_impossible_options_are_refused(written, options, words):
    with pytest.raises(InvalidParameterError, match=words):
        read(written, **options)


def test_svmlight_has_nothing_to_cross(written):
    with pytest.raises(InvalidParameterError, match="namespaces"):
        read(written, crossings=("ab",))


def test_labels_that_are_no_numbers_are_refused_in_text_of_numbers(written):
    with pytest.raises(InvalidParameterError, match="numbers"):
        read(written, labels=("no", "yes"))


def test_a_position_is_where_it_says():
    assert Position() == (0, 0, 0, ())
