"""Faults: killed at random moments under load, a full disk, a second process, malformed requests."""

import random
import socket
import threading

import httpx
import pytest
import tiers
from service_runs import KEY, Served, massart, request, reward, served, with_engine

from massart.cli.serve import opened
from massart.service.errors import NotReadyError
from massart.service.types import LoopSettings

WORKERS = 4


class Load:
    """Threads that decide and reward until the service is gone, and what was acknowledged."""

    def __init__(self, service, life):
        self.decided, self.rewarded = {}, set()
        self._threads = [threading.Thread(target=self._work, args=(service, life, w)) for w in range(WORKERS)]
        for thread in self._threads:
            thread.start()

    def _work(self, service, life, worker):
        with httpx.Client(base_url=service.url, headers=service.client.headers, timeout=60) as client:
            for number in range(10**9):
                event = f"{life}-{worker}-{number}"
                body = {"actions": ["a", "b", "c"], "context": {"n": number % 7}, "event_id": event}
                try:
                    made = client.post("/v1/loops/shop/decide", json=body)
                    assert made.status_code == 200, made.text
                    self.decided[event] = made.json()
                    sent = client.post("/v1/loops/shop/reward", json={"event_id": event, "reward": number % 2})
                    assert sent.status_code == 200, sent.text
                    self.rewarded.add(event)
                except httpx.TransportError:
                    return

    def join(self):
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_at_random_moments(kind, tmp_path, request):
    url = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres").fresh()
    rng = random.Random(19)  # noqa: S311
    decided, rewarded = {}, set()
    for life in range(tiers.length(3, 50)):
        service = Served(url, tmp_path).wait()
        if life == 0:
            assert service.client.put("/v1/loops/shop", json={}).status_code == 201
        for event in rng.sample(sorted(decided), min(5, len(decided))):
            body = {"actions": ["a", "b", "c"], "context": {"n": int(event.split("-")[2]) % 7}, "event_id": event}
            assert service.client.post("/v1/loops/shop/decide", json=body).json() == decided[event]
        load = Load(service, life)
        load._threads[0].join(rng.uniform(0.05, 0.8))
        service.kill()
        load.join()
        decided |= load.decided
        rewarded |= load.rewarded
    with served(url, tmp_path) as service:
        for _ in range(3_000):  # if a reward was lost it is never learned, which is found below
            if service.client.get("/v1/loops/shop").json()["learned"] >= len(rewarded):
                break
    assert len(decided) > 50
    store = opened(url)
    events = [row.event_id for row in store.events(1, None, 10**9)]
    steps = [step.decision for step in store.steps(1, 1, 10**9)]
    rows = {row.event_id: row for row in store.events(1, None, 10**9)}
    taught = store.rewards_of([rows[event].seq for event in rewarded])
    store.close()
    assert decided.keys() <= set(events)  # nothing that was acknowledged is lost,
    assert all(rows[event].seq in taught for event in rewarded)
    assert len(events) == len(set(events))  # and nothing is there twice
    assert len(steps) == len(set(steps))
    done = massart("replay", "--db", url)
    assert done.returncode == 0, done.stdout
    assert "all as in the log" in done.stdout


def test_a_second_process_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    with served(url, tmp_path):
        done = massart("serve", "--db", url, "--port", "0")
    assert done.returncode == 2
    assert "is being written by process" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk(tmp_path):
    """503, nothing corrupt, and it goes on when there is room."""

    async def work(engine):
        await engine.create_loop("shop", LoopSettings())
        await engine.decide("shop", request("first"))
        pages = (await engine.read(lambda store: store._rows("PRAGMA page_count")))[0][0]
        engine.store._run(f"PRAGMA max_page_count={pages + 20}")
        known = ["first"]

        async def fill():
            for number in range(10_000):
                await engine.decide("shop", request(f"e{number}", context={"text": "x" * 1000}))
                known.append(f"e{number}")

        with pytest.raises(NotReadyError, match="full"):
            await fill()
        with pytest.raises(NotReadyError):
            engine.check_ready()
        engine.store._run("PRAGMA max_page_count=1000000")
        await engine.decide("shop", request("again"))
        engine.check_ready()
        await engine.reward("shop", [reward("again")])
        rows = await engine.read(lambda store: store.events(1, None, 10**6))
        assert [row.event_id for row in rows] == ["again", *known[::-1]]

    with_engine(tmp_path / "a.db", work)
    assert massart("replay", "--db", f"sqlite:///{tmp_path}/a.db").returncode == 0


def test_random_bytes(tmp_path):
    """Whatever comes over the line, the service answers the next request, and never with a 500."""
    rng = random.Random(7)  # noqa: S311
    paths = ["/v1/loops/shop/decide", "/v1/loops/shop/reward", "/v1/loops", "/v1/loops/shop", "/", "/%00", "/v1/\xff"]
    pieces = [
        '{"actions":[',
        '"a"',
        "]",
        "}",
        "{",
        '"event_id":"e"',
        ":",
        ",",
        "null",
        "1e999",
        "-1",
        '"\\ud800"',
        "[[[[",
    ]
    with served(f"sqlite:///{tmp_path}/a.db", tmp_path) as service:
        service.client.put("/v1/loops/shop", json={})
        statuses = set()
        for number in range(tiers.length(300, 10_000)):
            body = "".join(rng.choices(pieces, k=rng.randint(0, 8))).encode()
            if number % 3 == 0:
                body = rng.randbytes(rng.randint(0, 200))
            method, path = rng.choice(["POST", "PUT", "PATCH", "GET", "BREW"]), rng.choice(paths)
            head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n"
            head += f"Content-Length: {len(body) + (number % 11 == 0)}\r\n\r\n"
            whole = head.encode("latin-1") + body if number % 5 else rng.randbytes(100)
            with socket.create_connection(("127.0.0.1", service.port), timeout=30) as line:
                line.sendall(whole)
                line.shutdown(socket.SHUT_WR)
                answered = b""
                while part := line.recv(65536):
                    answered += part
            statuses.add(answered[9:12])
        assert b"500" not in statuses
        assert {b"400", b"404", b"405", b"422"} <= statuses
        assert service.client.get("/health").status_code == 200
