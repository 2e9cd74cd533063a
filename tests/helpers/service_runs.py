"""The decision service for tests: an engine inside of the test's process, or `massart serve` in one of its own."""

import asyncio
import os
import signal
import socket
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import processes

from massart.service.engine import Engine
from massart.service.sqlite import SqliteStore
from massart.service.types import DecideRequest, RewardRequest

KEY = "a key of the tests, of many characters"


def with_engine(path, work, store=SqliteStore):
    """What the coroutine `work(engine)` returns; the engine is stopped in good order."""

    async def run():
        engine = Engine(store(str(path)))
        engine.start()
        try:
            return await work(engine)
        finally:
            await asyncio.to_thread(engine.stop)

    return asyncio.run(run())


async def settled(engine, loop, version):
    """Wait until the model of a loop has this version."""
    while engine.loop(loop).model.version < version:
        await asyncio.sleep(0.005)
    assert engine.loop(loop).model.version == version


def request(event_id=None, ids=("a", "b", "c"), **more):
    return DecideRequest(list(ids), more.pop("context", {"town": "Rome"}), event_id=event_id, **more)


def reward(event_id, value=1.0, reward_id=None):
    return RewardRequest(event_id, value, reward_id)


class Served:
    """`massart serve` in a process of its own."""

    def __init__(self, db, folder: Path, *options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        key = folder / "key"
        key.write_text(KEY)
        command = [
            sys.executable,
            "-m",
            "massart",
            "serve",
            "--db",
            db,
            "--port",
            str(self.port),
            "--key-file",
            str(key),
        ]
        self.process = processes.start([*command, "--quiet", *options])
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=30)

    def wait(self):
        """Until it is ready."""
        while True:
            assert self.process.poll() is None, "the service has ended"
            try:
                if self.client.get("/ready").status_code == 200:
                    return self
            except httpx.TransportError:
                time.sleep(0.02)

    def kill(self):
        """As a power failure would, but for the disk."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.client.close()

    def stop(self):
        """In good order; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        self.client.close()
        return self.process.wait()


@contextmanager
def served(db, folder, *options):
    """A service that is ready, and stopped at the end."""
    service = Served(db, folder, *options)
    try:
        yield service.wait()
    finally:
        if service.process.poll() is None:
            service.stop()


def massart(*words, **options):
    """A command."""
    return processes.run([sys.executable, "-m", "massart", *words], capture_output=True, text=True, **options)
