"""Worker processes of this machine: the same bytes as in one process, whoever is killed, and nobody is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import processes
import pytest
from shard_cases import write_wide

from massart.errors import InvalidParameterError
from massart.scale import ClusterError, local_processes
from massart.scale.engine import Engine
from massart.scale.processes import LocalWorkers
from massart.scale.training import train_shards
from massart.training import Callbacks


class Killer(Callbacks):
    """Kills a worker in each of some rounds, while pieces are learned."""

    def __init__(self, engine, rows):
        self._engine, self._rows, self.killed = engine, list(rows), []

    def advanced(self, count, fraction):
        if self._rows and count >= self._rows[0]:
            self._rows.pop(0)
            threading.Timer(0.02, self.kill).start()

    def kill(self):
        pid = self._engine.executor().pids()[0]
        self.killed.append(pid)
        os.kill(pid, signal.SIGKILL)


def test_workers_that_are_killed_change_nothing(tmp_path):
    path = write_wide(tmp_path / "rows.svm")
    with ThreadPoolExecutor(2) as pool:
        train_shards([path], Engine(pool), shards=4, model=tmp_path / "one.massart")
    with local_processes(2) as engine:
        killer = Killer(engine, (4000, 8000))
        train_shards([path], engine, shards=4, model=tmp_path / "two.massart", callbacks=killer)
        assert len(killer.killed) == 2
        assert not set(killer.killed) & set(engine.executor().pids())
    assert (tmp_path / "one.massart").read_bytes() == (tmp_path / "two.massart").read_bytes()


def _end(_value):
    os._exit(1)


def _doubled(arrays, count):
    return {name: array * count for name, array in arrays.items()}


def _fail(words):
    raise InvalidParameterError(words)


def test_a_task_that_ends_every_process_is_given_up():
    with local_processes(1) as engine, pytest.raises(ClusterError, match="enough memory"):
        engine.result(engine.submit(_end, 0))


def test_errors_of_tasks_are_those_of_the_caller():
    with local_processes(1) as engine, pytest.raises(InvalidParameterError, match="these words"):
        engine.result(engine.submit(_fail, "these words"))
    with pytest.raises(InvalidParameterError, match="workers=0"), local_processes(0):
        pass


def test_large_values_come_and_go_as_files():
    arrays = {"a": np.arange(50_000.0), "b": np.arange(7, dtype=np.uint8), "empty": np.empty((0, 3))}
    with LocalWorkers(2) as workers:
        shared = workers.share(arrays)
        found = [workers.submit(_doubled, shared, count) for count in (1, 2, 3)]
        for count, future in enumerate(found, start=1):
            assert {k: v.tobytes() for k, v in future.result().items()} == {
                k: v.tobytes() for k, v in _doubled(arrays, count).items()
            }
        folder = Path(workers._folder.name)
        assert len(list(folder.iterdir())) == 1  # what is shared; results are gone when they are fetched
        del shared, found, future
        assert list(folder.iterdir()) == []
    assert not folder.exists()


PARENT = """
import sys, time
from massart.scale.processes import LocalWorkers
if __name__ == "__main__":
    workers = LocalWorkers(2)
    futures = [workers.submit(time.sleep, 600) for _ in range(2)]
    print(*workers.pids(), flush=True)
    time.sleep(600)
"""


def gone(pid):
    """Whether a process has ended, also if nobody has asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_go_when_the_process_that_asked_is_killed(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py")]
    with processes.start(command, stdout=subprocess.PIPE, text=True) as parent:
        pids = list(map(int, parent.stdout.readline().split()))
        assert len(pids) == 2
        parent.kill()
    begun = time.monotonic()
    while not all(map(gone, pids)) and time.monotonic() - begun < 60:
        time.sleep(0.05)
    assert all(map(gone, pids))
