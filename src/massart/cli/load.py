"""Load on a service: threads with a connection each, that decide and reward as fast as they are answered."""

import http.client
import json
import random
import ssl
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, urlsplit

from massart.errors import InvalidParameterError, MassartError

__all__ = ["Load", "Measured", "Target"]

_TIME_LIMIT: Final = 30.0  # seconds for a request
_BODIES: Final = 64  # different requests, sent in turn
_PAUSE: Final = 0.05  # seconds after a request that failed


class Measured:
    """Latencies in seconds of the requests that succeeded, and the others by what happened to them."""

    def __init__(self, name: str) -> None:
        self.name, self.latencies, self.errors = name, array("d"), Counter[str]()

    def add(self, other: "Measured") -> None:
        """Take in what another thread measured."""
        self.latencies.extend(other.latencies)
        self.errors.update(other.errors)


class Target:
    """The service at a URL."""

    def __init__(self, url: str, key: str | None) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.query or parts.fragment:
            raise InvalidParameterError(f"{url!r} is not the address of a service: give one like http://127.0.0.1:8080")
        self.url, self._host, self._port = url, parts.hostname, port
        self._context = ssl.create_default_context() if parts.scheme == "https" else None
        self.base = parts.path.rstrip("/")
        self.headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})

    def connection(self) -> http.client.HTTPConnection:
        """A new connection."""
        if self._context is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=_TIME_LIMIT, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=_TIME_LIMIT)

    def send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        connection.request(method, self.base + path, body, self.headers)
        found = connection.getresponse()
        return found.status, found.read()

    def prepare(self, loop: str) -> None:
        """See that the loop is there, or make it."""
        connection = self.connection()
        path = f"/v1/loops/{quote(loop, safe='')}"
        try:
            status, body = self.send(connection, "GET", path, None)
            if status == 404:
                status, body = self.send(connection, "PUT", path, b"{}")
            if status == 403:  # a key that decides need not be one that may look
                status, body = self.send(connection, "GET", "/ready", None)
        except (OSError, http.client.HTTPException) as error:
            raise MassartError(f"{self.url} does not answer ({error}): is massart serve running there?") from None
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise MassartError(f"{self.url} answered {status}: {sentence(body)}")


def sentence(body: bytes) -> str:
    """What a problem document says.

    >>> sentence(b'{"detail": "a key is needed"}'), sentence(b"<html>")
    ('a key is needed', 'no explanation')
    """
    try:
        found = json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        return "no explanation"
    return str(found)


class Load:
    """What is sent: decisions among actions with random features, and rewards of 0 and 1."""

    def __init__(self, target: Target, loop: str, *, actions: int, features: int, rewards: bool, seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311  a simulation
        self._target, self._rewards, self._seed = target, rewards, seed
        path = f"/v1/loops/{quote(loop, safe='')}"
        self._decide, self._reward = f"{path}/decide", f"{path}/reward"
        self._bodies = [_body(rng, actions, features) for _ in range(_BODIES)]

    def run(self, *, seconds: float, requests: int, concurrency: int) -> tuple[float, list[Measured]]:
        """Send from so many threads until the time or the requests are over; seconds taken, and what was measured."""
        left, lock, stop = [requests], threading.Lock(), threading.Event()

        def take() -> bool:
            if stop.is_set() or time.perf_counter() >= end:
                return False
            with lock:
                left[0] -= 1
                return left[0] >= 0

        every = [[Measured("decide"), Measured("reward")] for _ in range(concurrency)]
        threads = [
            threading.Thread(target=self._work, args=(number, take, *measured), daemon=True)
            for number, measured in enumerate(every)
        ]
        begin = time.perf_counter()
        end = begin + seconds
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            stop.set()
        took = time.perf_counter() - begin
        total = [Measured("decide"), Measured("reward")]
        for decided, rewarded in every:
            total[0].add(decided)
            total[1].add(rewarded)
        return took, total if self._rewards else total[:1]

    def _work(self, number: int, take: Callable[[], bool], decided: Measured, rewarded: Measured) -> None:
        rng, turn = random.Random(f"{self._seed} {number}"), number  # noqa: S311
        connection = self._target.connection()
        while take():
            turn += 1
            answered = self._timed(connection, self._decide, self._bodies[turn % _BODIES], decided)
            if answered is not None and self._rewards and take():
                given = {"event_id": json.loads(answered)["event_id"], "reward": float(rng.random() < 0.5)}
                self._timed(connection, self._reward, json.dumps(given).encode(), rewarded)
        connection.close()

    def _timed(self, connection: Any, path: str, body: bytes, measured: Measured) -> bytes | None:
        begin = time.perf_counter()
        try:
            status, found = self._target.send(connection, "POST", path, body)
        except (OSError, http.client.HTTPException) as error:
            measured.errors[f"no answer ({type(error).__name__})"] += 1
            connection.close()
            time.sleep(_PAUSE)
            return None
        took = time.perf_counter() - begin
        if status != 200:
            measured.errors[f"{status} ({sentence(found)[:80]})"] += 1
            time.sleep(_PAUSE)
            return None
        measured.latencies.append(took)
        return found


def _body(rng: random.Random, actions: int, features: int) -> bytes:
    """A request; actions without features are ids alone."""
    given: list[Any] = [f"action-{place}" for place in range(actions)]
    if features:
        rows = [{f"f{number}": round(rng.gauss(0.0, 1.0), 4) for number in range(features)} for _ in given]
        given = [{"id": name, "features": row} for name, row in zip(given, rows, strict=True)]
    return json.dumps({"actions": given}, separators=(",", ":")).encode()
