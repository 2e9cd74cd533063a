"""Shards on executors: one shard is sequential learning, empty ones and the order of completion change nothing."""

import gzip
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from shard_cases import CLASSES, Backwards, cut, model_bytes, rows, write_svm
from sklearn.metrics import log_loss

from massart import MassartClassifier, data, load
from massart.data.io.sources import find_sources
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.scale import ClusterError, Shards, fit_shards
from massart.scale.engine import Engine
from massart.scale.learning import learn_piece, mix
from massart.scale.parts import Cursor, Files, check_files, pieces
from massart.scale.parts import cut as cut_files
from massart.scale.training import file_job, train_shards
from massart.training import Settings, open_training


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.mark.parametrize("parameters", [{}, {"noise_rate": 0.2, "margin": 0.05}], ids=["default", "known"])
@pytest.mark.parametrize("sparse", [False, True])
def test_one_shard_is_sequential_learning(threads, tmp_path, parameters, sparse):
    X, y = rows(3000)
    X = csr_matrix(X) if sparse else X
    model = MassartClassifier(random_state=0, **parameters)
    found = fit_shards([(X, y)], threads, model=model, classes=CLASSES)
    expected = MassartClassifier(random_state=0, **parameters).partial_fit(X, y, classes=CLASSES)
    assert model_bytes(found, tmp_path) == model_bytes(expected, tmp_path)
    assert not hasattr(model, "classes_")


def test_one_file_is_massart_train(threads, tmp_path):
    path = write_svm(tmp_path / "rows.svm", *rows())
    open_training([path], model=tmp_path / "one.massart").run()
    train_shards([path], Engine(threads), shards=1, model=tmp_path / "two.massart")
    assert (tmp_path / "one.massart").read_bytes() == (tmp_path / "two.massart").read_bytes()


def test_going_on_with_one_shard_is_going_on(threads, tmp_path):
    first, second = (write_svm(tmp_path / f"{k}.svm", *rows(1500, seed=k)) for k in range(2))
    begin = tmp_path / "begin.massart"
    open_training([first], model=begin).run()
    open_training([second], initial=begin, model=tmp_path / "one.massart").run()
    train_shards([second], Engine(threads), shards=1, initial=begin, model=tmp_path / "two.massart")
    assert (tmp_path / "one.massart").read_bytes() == (tmp_path / "two.massart").read_bytes()


@pytest.mark.parametrize("shards", [2, 5])
def test_processes_threads_and_any_order_give_the_same(threads, tmp_path, shards):
    parts = cut(*rows(), shards)
    backwards = Backwards()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        found = [
            model_bytes(fit_shards(parts, pool, model=MassartClassifier(random_state=0), classes=CLASSES), tmp_path)
            for pool in (threads, processes, backwards)
        ]
    assert backwards.done > 2 * shards
    assert found[0] == found[1] == found[2]


def test_empty_parts_change_nothing(threads, tmp_path):
    X, y = rows()
    parts = cut(X, y, 3)
    model = MassartClassifier(random_state=0)
    without = fit_shards(parts, threads, model=model, classes=CLASSES)
    more = [(X[:0], y[:0]), parts[0], (X[:0], y[:0]), *parts[1:], (X[:0], y[:0])]
    found = fit_shards(more, threads, model=model, classes=CLASSES)
    assert model_bytes(found, tmp_path) == model_bytes(without, tmp_path)
    with pytest.raises(InvalidDataError, match="no part has a row"):
        fit_shards([(X[:0], y[:0])], threads, classes=CLASSES)


def test_an_empty_file_is_fine(threads, tmp_path):
    X, y = rows()
    names = [write_svm(tmp_path / f"{k}.svm", *part) for k, part in enumerate(cut(X, y, 2))]
    empty = tmp_path / "empty.svm"
    empty.touch()
    found = fit_shards([names[0], str(empty), names[1]], threads)
    assert found.rounds_ == len(y)
    assert model_bytes(found, tmp_path) != b""


@pytest.mark.parametrize("shards", [2, 8, 64])
def test_a_mixture_is_nearly_as_good_as_one_learner(threads, shards):
    """The learner errs on about 1% of clean rows; a mixture within 1% of all rows of it."""
    X, y = rows(20_000)
    clean, told = rows(5000, seed=7)
    truth = clean[:, 0] > clean[:, 1]
    one = MassartClassifier(random_state=0).partial_fit(X, y, classes=CLASSES)
    found = fit_shards(cut(X, y, shards), threads, model=MassartClassifier(random_state=0), classes=CLASSES)
    assert found.rounds_ == len(y)
    assert found.score(clean, truth) > one.score(clean, truth) - 0.01
    assert found.mistakes_ < 1.1 * one.mistakes_
    losses = [log_loss(told, model.predict_proba(clean)) for model in (found, one)]
    assert losses[0] < losses[1] + 0.1  # always answering 1/2 loses 0.34 more than the learner


def test_nothing_is_certified_for_a_mixture(threads):
    X, y = rows()
    for model in (MassartClassifier(), MassartClassifier(0.2, 0.05)):
        certificate = fit_shards(cut(X, y, 2), threads, model=model, classes=CLASSES).certificate()
        assert not certificate.applies
        assert certificate.confident_mistake_bound == certificate.rounds
        assert "shards that were mixed" in str(certificate)


def test_it_is_an_ordinary_model(threads, tmp_path):
    X, y = rows()
    found = fit_shards(cut(X, y, 3), threads, classes=CLASSES)
    path = tmp_path / "model.massart"
    path.write_bytes(model_bytes(found, tmp_path))
    again = load(path).partial_fit(X, y)
    assert again.rounds_ == 2 * len(y)
    more = fit_shards(cut(X, y, 2), threads, model=load(path))
    assert more.rounds_ == 2 * len(y)
    assert load(path).rounds_ == len(y)


def test_rounds_may_be_limited(threads):
    X, y = rows(20_000)
    few = fit_shards(cut(X, y, 4), threads, model=MassartClassifier(random_state=0), classes=CLASSES, rounds=1)
    many = fit_shards(cut(X, y, 4), threads, model=MassartClassifier(random_state=0), classes=CLASSES, growth=0.25)
    assert few.rounds_ == many.rounds_ == len(y)
    assert not np.array_equal(few.coef_, many.coef_)
    for wrong in ({"rounds": 0}, {"growth": 0.0}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            fit_shards(cut(X, y, 2), threads, classes=CLASSES, **wrong)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([(np.ones((2, 3)), [True, False]), (np.ones((2, 4)), [True, False])], "3 and 4 columns"),
        ([(np.ones((2, 3)), [True, False]), (np.ones((2, 3)), [True, 7])], "label"),
        ([(np.ones((2, 3)), [True, False]), (np.ones((3, 3)), [True, False])], "3 rows, but 2 labels"),
        ([(np.ones((2, 3)), [True, False]), "rows.svm"], "all of one kind"),
        ([], "no parts"),
        ([3], "a part is int"),
    ],
)
def test_parts_that_do_not_go_together_are_refused_before_work(parts, words):
    pool = Backwards()
    with pytest.raises((InvalidDataError, InvalidParameterError), match=words):
        fit_shards(parts, pool, classes=CLASSES)
    assert pool.done == 0


@pytest.mark.parametrize(
    ("model", "classes", "words"),
    [
        (MassartClassifier(), None, "must be given"),
        (MassartClassifier(), [0, 1, 2], "more than two"),
        (MassartClassifier(class_weight="balanced"), CLASSES, "balanced"),
        (MassartClassifier(horizon=100), CLASSES, "horizon"),
        (MassartClassifier(0.1, 0.1, update="paper"), CLASSES, "paper"),
    ],
)
def test_what_cannot_be_mixed_is_refused_with_a_sentence(model, classes, words):
    with pytest.raises(InvalidParameterError, match=words):
        fit_shards(cut(*rows(100), 2), Backwards(), model=model, classes=classes)


def test_files_of_other_labels_or_columns_are_refused(threads, tmp_path):
    X, y = rows(100)
    first = write_svm(tmp_path / "a.svm", X, y)
    other = tmp_path / "b.svm"
    other.write_text("2 1:1\n1 1:2\n" * 50)
    with pytest.raises(InvalidDataError, match=r"b\.svm has labels 1, 2"):
        fit_shards([first, str(other)], threads)
    for name, columns in (("c.csv", "y,a,b"), ("d.csv", "y,a,c")):
        (tmp_path / name).write_text(f"{columns}\n" + "1,2,3\n0,1,1\n" * 10)
    with pytest.raises(InvalidDataError, match=r"d\.csv"):
        fit_shards([str(tmp_path / "c.csv"), str(tmp_path / "d.csv")], threads, label="y")
    several = tmp_path / "e.svm"
    several.write_text("1 1:1\n2 1:2\n3 1:3\n" * 50)
    with pytest.raises(InvalidParameterError, match="more than two classes"):
        fit_shards([str(several)], threads)


def test_a_file_is_cut_between_lines(tmp_path):
    X, y = rows(1000)
    path = write_svm(tmp_path / "rows.svm", X, y)
    parts = cut_files([path], 7, Schema("svmlight"))
    assert len(parts) == 7
    found = [chunk for part in parts for chunk in _chunks(part)]
    assert sum(map(len, found)) == 1000
    whole = np.concatenate([chunk.X.toarray() for chunk in data.read(path)])
    np.testing.assert_array_equal(np.concatenate([chunk.X.toarray() for chunk in found]), whole)
    assert [part.names for part in cut_files([path], 7, Schema("csv"))] == [(path,)]


def _chunks(part):
    return [chunk for chunk, _ in pieces(part, Schema("svmlight", features=6), Cursor(), None, 1) if len(chunk)]


def test_many_files_are_grouped(tmp_path):
    names = [write_svm(tmp_path / f"{k}.svm", *rows(10 + 5 * k)) for k in range(9)]
    parts = cut_files(names, 4, Schema("svmlight"))
    assert [name for part in parts for name in part.names] == names
    assert len(parts) == 4


def test_malformed_rows_are_counted_once(threads, tmp_path):
    path = tmp_path / "rows.svm"
    write_svm(path, *rows(3000))
    lines = path.read_text().splitlines()
    lines[10], lines[2500] = "1 x:1", "1 y:1"
    path.write_text("\n".join(lines) + "\n")
    summary = train_shards([str(path)], Engine(threads), shards=3, model=tmp_path / "m.massart")
    assert (summary.rows, sum(summary.row_errors.values())) == (2998, 2)
    assert summary.counts.rows[0] + summary.counts.rows[1] == 2998


def test_what_does_not_go_with_shards_is_refused(threads, tmp_path):
    path = write_svm(tmp_path / "rows.svm", *rows(100))
    for settings in (Settings(passes=2), Settings(holdout=10)):
        with pytest.raises(InvalidParameterError, match="one pass"):
            train_shards([path], Engine(threads), settings)
    with pytest.raises(InvalidParameterError, match="executor=int"):
        Engine(7)
    check_files([Files((path,))], Schema(), Schema("svmlight"))


def _end(*_arguments):
    import os

    os._exit(1)


def test_a_pool_that_has_lost_a_process_says_what_to_do(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        engine = Engine(processes)
        with pytest.raises(ClusterError, match="use a Dask cluster"):
            engine.result(engine.submit(_end))


def _write(path, X, y):
    """Rows in the format of the file's name."""
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    frame.insert(0, "label", y.astype(int))
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=700)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        rows = (" ".join(f"f{k}:{value:.4f}" for k, value in enumerate(x)) for x in X)
        lines = [f"{1 if label else -1} |a {row}\n" for label, row in zip(y, rows, strict=True)]
        text = "".join(lines).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


@pytest.mark.parametrize(
    ("suffix", "reading"),
    [
        (".csv", {"label": "label"}),
        (".parquet", {"label": "label"}),
        (".jsonl", {"label": "label"}),
        (".vw", {"bits": 20}),
        (".vw.gz", {"bits": 10}),
    ],
)
def test_files_of_any_format(threads, tmp_path, suffix, reading):
    """All rows are learned once, in pieces that begin in the middle of chunks; of one shard, pieces do not matter."""
    X, y = rows(5000)
    names = [_write(tmp_path / f"{k}{suffix}", X[k::2], y[k::2]) for k in range(2)]
    found = fit_shards(names, threads, **reading)
    assert found.rounds_ == len(y)
    assert found.mistakes_ < 0.2 * len(y)
    schema = Reader(find_sources(names[:1]), Schema(**reading)).schema
    job = file_job(Settings(), schema, 0)
    whole, cursor, mixture = learn_piece(job, None, Files((names[0],)), 0, Cursor(), None), Cursor(), None
    for count in (100, 1, 700, 333, None):
        news = learn_piece(job, mixture, Files((names[0],)), 0, cursor, count)
        mixture, (_, cursor) = mix(mixture, news), news.cursors[0]
    assert cursor.ended
    assert mixture.rows == whole.first.rows == 2500
    for name, table in whole.first.learner.tables.items():
        assert mixture.learner.tables[name].tobytes() == table.tobytes()
    for name, array in whole.first.learner.small.items():
        assert mixture.learner.small[name].tobytes() == array.tobytes()


def test_pieces_that_have_no_rows_left_end(threads, tmp_path):
    path = write_svm(tmp_path / "rows.svm", *rows(10))
    job = file_job(Settings(), Schema("svmlight"), 0)
    news = learn_piece(job, None, Files((path,)), 0, Cursor(), 10)
    again = learn_piece(job, mix(None, news), Files((path,)), 0, news.cursors[0][1], 10)
    assert again.is_empty
    assert again.cursors[0][1].ended


def _moved(value):
    """The same arrays as a network may bring them: read-only, and not where a number should begin."""
    if isinstance(value, np.ndarray):
        space = np.empty(value.nbytes + 1, np.uint8)
        found = space[1:].view()[: value.nbytes].view(value.dtype).reshape(value.shape)
        found[...] = value
        found.flags.writeable = False
        return found
    if isinstance(value, dict):
        return {name: _moved(one) for name, one in value.items()}
    if isinstance(value, tuple):
        made = [_moved(one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return value


def test_arrays_may_lie_anywhere(tmp_path):
    X, y = rows(3000)
    shards = Shards(MassartClassifier(random_state=0).partial_fit(X[:1000], y[:1000], classes=CLASSES))
    halves = [(X[k::2], y[k::2]) for k in (1000, 1001)]
    expected = shards.mixed(shards.add(*(shards.learn(*half, shard=k) for k, half in enumerate(halves))))
    shards.mixture = _moved(shards.mixture)
    assert not shards.mixture.learner.small["totals"].flags.aligned
    news = [_moved(shards.learn(*half, shard=k)) for k, half in enumerate(halves)]
    found = shards.mixed(_moved(shards.add(*news)))
    assert model_bytes(found.classifier(), tmp_path) == model_bytes(expected.classifier(), tmp_path)
    alone = [shards.mixed(_moved(shards.learn(*halves[0]))), shards.mixed(shards.learn(*halves[0]))]
    assert model_bytes(alone[0].classifier(), tmp_path) == model_bytes(alone[1].classifier(), tmp_path)
