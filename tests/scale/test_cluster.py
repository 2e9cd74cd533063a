"""On a real cluster of worker processes: the same bytes as anywhere else, also if a worker is killed on the way."""

import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import processes
import pytest
from shard_cases import CLASSES, cut, model_bytes, rows, write_svm, write_wide
from typer.testing import CliRunner

from massart import MassartClassifier, arena
from massart.cli.app import app
from massart.errors import MissingPackageError
from massart.scale import ClusterError, connect, fit_shards, local_cluster
from massart.scale.engine import Engine
from massart.scale.predicting import predict_files
from massart.scale.training import train_shards
from massart.training import Callbacks, open_training, predict_file

SWEEP = {"worlds": ["masked-margin", "hunted-minority"], "learners": ["perceptron", "massart"]} | {
    "rounds": 300,
    "seeds": 2,
}


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2) as engine:
        yield engine


def pids(engine):
    return list(engine._client.run(os.getpid).values())


def text(found):
    return json.dumps(found, default=dict)


def test_workers_are_processes_of_their_own(cluster):
    assert len(pids(cluster)) == 2
    assert os.getpid() not in pids(cluster)
    assert cluster.workers() == 2


@pytest.mark.parametrize(("given", "shards"), [("client", 3), ("executor", 11)])
def test_arrays_give_the_same_as_here(cluster, tmp_path, given, shards):
    """Of many shards, changes are added up by the workers."""
    parts = cut(*rows(), shards)
    executor = cluster._client if given == "client" else cluster.executor()
    model = MassartClassifier(random_state=0)
    found = fit_shards(parts, executor, model=model, classes=CLASSES)
    with ThreadPoolExecutor(1) as pool:
        expected = fit_shards(parts, pool, model=model, classes=CLASSES)
    assert model_bytes(found, tmp_path) == model_bytes(expected, tmp_path)


def test_dask_arrays_and_frames(cluster, tmp_path):
    import dask.array as da
    import dask.dataframe as dd

    X, y = rows()
    model = MassartClassifier(random_state=0)
    blocks = [(X[k : k + 2000], y[k : k + 2000]) for k in range(0, 6000, 2000)]
    with ThreadPoolExecutor(1) as pool:
        expected = model_bytes(fit_shards(blocks, pool, model=model, classes=CLASSES), tmp_path)
    pair = da.from_array(X, chunks=(2000, 3)), da.from_array(y, chunks=2000)
    assert model_bytes(fit_shards(pair, cluster._client, model=model, classes=CLASSES), tmp_path) == expected
    with ThreadPoolExecutor(1) as pool:
        assert model_bytes(fit_shards(pair, pool, model=model, classes=CLASSES), tmp_path) == expected
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(6)])
    found = fit_shards(
        (dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)),
        cluster._client,
        model=model,
        classes=CLASSES,
    )
    assert list(found.feature_names_in_) == list(frame.columns)
    assert found.rounds_ == 6000


class Killer(Callbacks):
    """Kills a worker while the next pieces are learned, once enough rows are."""

    def __init__(self, engine, rows):
        self._engine, self._rows, self.killed = engine, rows, 0

    def advanced(self, count, fraction):
        if count >= self._rows and not self.killed:
            self.killed = pids(self._engine)[0]
            threading.Timer(0.02, os.kill, (self.killed, signal.SIGKILL)).start()


def test_a_worker_killed_in_mid_training_changes_nothing(tmp_path):
    path = write_wide(tmp_path / "rows.svm")
    with ThreadPoolExecutor(2) as pool:
        train_shards([path], Engine(pool), shards=4, model=tmp_path / "one.massart")
    assert (tmp_path / "one.massart").stat().st_size > 200_000  # what all share is sent to all workers beforehand
    with local_cluster(2) as engine:
        killer = Killer(engine, 4000)
        train_shards([path], engine, shards=4, model=tmp_path / "two.massart", callbacks=killer)
        assert killer.killed
        assert killer.killed not in pids(engine)
    assert (tmp_path / "one.massart").read_bytes() == (tmp_path / "two.massart").read_bytes()


def test_a_sweep_gives_the_same_rows_everywhere(cluster, tmp_path):
    here = text(arena.sweep(**SWEEP))
    assert text(arena.sweep(**SWEEP, executor=cluster.executor())) == here
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert text(arena.sweep(**SWEEP, executor=pool)) == here


def test_a_sweep_on_a_cluster_is_resumed_and_survives_a_killed_worker(tmp_path):
    journal = tmp_path / "sweep.jsonl"
    here = text(arena.sweep(**SWEEP))
    with local_cluster(2) as engine:
        executor, lost = engine.executor(), []

        def kill(progress):
            if not lost:
                lost.append(pids(engine)[0])
                os.kill(lost[0], signal.SIGKILL)

        assert text(arena.sweep(**SWEEP, executor=executor, resume=journal, progress=kill)) == here
        assert lost
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[: len(lines) // 2]))
        assert text(arena.sweep(**SWEEP, executor=executor, resume=journal)) == here


def test_predictions_are_those_of_one_process(cluster, tmp_path):
    names = [write_svm(tmp_path / f"{k}.svm", *rows(200, seed=k)) for k in range(7)]
    model = tmp_path / "m.massart"
    open_training(names, model=model).run()
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    expected = predict_file(model, names, one, scores=True)
    assert predict_files(model, names, two, cluster, scores=True) == expected
    assert one.read_bytes() == two.read_bytes()


def test_commands_on_a_cluster(cluster, tmp_path):
    path = write_svm(tmp_path / "rows.svm", *rows())
    address, runner = cluster._client.scheduler.address, CliRunner()
    model, out = tmp_path / "m.massart", tmp_path / "out.txt"
    done = runner.invoke(app, ["train", path, "-f", str(model), "--scheduler", address, "--shards", "3"])
    assert done.exit_code == 0, done.output
    assert "3 shards, mixed" in done.output
    train_shards([path], cluster, shards=3, model=tmp_path / "same.massart")
    assert model.read_bytes() == (tmp_path / "same.massart").read_bytes()
    done = runner.invoke(app, ["predict", str(model), path, "-o", str(out), "--scheduler", address])
    assert done.exit_code == 0, done.output
    assert len(out.read_text().splitlines()) == 6000
    race = ["race", "kink", "-l", "massart", "--rounds", "100", "--seeds", "2", "--json"]
    assert json.loads(runner.invoke(app, [*race, "--scheduler", address]).stdout) == json.loads(
        runner.invoke(app, race).stdout
    )
    for more in (["--resume"], ["--predictions", "p.txt"], ["--passes", "2"], ["--workers", "2"]):
        done = runner.invoke(app, ["train", path, "-f", str(model), "--scheduler", address, *more])
        assert done.exit_code == 2, done.output
    done = runner.invoke(app, ["train", path, "--shards", "2"])
    assert "--workers or --scheduler" in done.output


def test_workers_of_this_machine(tmp_path):
    path = write_svm(tmp_path / "rows.svm", *rows())
    command = [sys.executable, "-m", "massart", "train", path, "-f", str(tmp_path / "m.massart"), "--workers", "2"]
    done = processes.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 6000
    with ThreadPoolExecutor(2) as pool:
        train_shards([path], Engine(pool), shards=2, model=tmp_path / "same.massart")
    assert (tmp_path / "m.massart").read_bytes() == (tmp_path / "same.massart").read_bytes()


def test_a_scheduler_that_does_not_answer():
    begun = time.monotonic()
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9 \(tried for 5 seconds"), connect("tcp://127.0.0.1:9"):
        pass
    assert time.monotonic() - begun < 10


def test_without_dask_it_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackageError, match=r'pip install "massart\[dask\]"'), local_cluster(1):
        pass
    path = write_svm(tmp_path / "rows.svm", *rows(100))
    done = CliRunner().invoke(app, ["train", path, "--scheduler", "tcp://127.0.0.1:9"])
    assert done.exit_code == 2
    assert 'pip install "massart[dask]"' in done.output


def test_nothing_else_imports_dask():
    code = "import massart, massart.scale, massart.arena, massart.training, massart.cli.app"
    assert processes.loaded_by(code, "dask", "distributed") == []
    frame = pd.DataFrame({"a": np.arange(3.0)})
    assert not hasattr(frame, "dask")
