"""The decision service: requests per second against an empty endpoint, latency, restart, replay, memory.

    python benchmarks/service.py                          SQLite
    python benchmarks/service.py --db postgresql://...    also PostgreSQL
    python benchmarks/service.py --events 1000000         also restart, replay and memory over so many events

A server process and this one, which sends requests over 32 connections on the loopback. A decision has 10 actions of
10 features; the empty endpoint is on the same server, checks the same key and parses the same body.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KEY = "a key for the benchmark, of many characters"
CONNECTIONS = 32


def serve(db, port):
    import uvicorn

    from massart.cli.serve import opened, settle_in
    from massart.service.app import make_app
    from massart.service.engine import Engine
    from massart.service.http import Reader, answer, endpoint
    from massart.service.keys import SCOPES, Keyring, digest_of
    from massart.service.types import DecideRequest

    read = Reader(DecideRequest)

    async def empty(call):
        await read(call)
        return answer({"status": "ok"})

    routes = [endpoint("/v1/loops/{loop}/empty", "POST", empty, "decide")]
    store = opened(db)
    store.begin()
    store.add_key("all", digest_of(KEY), ",".join(SCOPES), 0)
    store.commit()
    app = make_app(Engine(store), Keyring(store.keys()), extra=routes)
    settle_in()
    uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", access_log=False)).run()


def body(rng, event):
    actions = [
        {"id": f"a{i}", "features": {f"f{j}": round(rng.random(), 4) for j in range(9)} | {"kind": rng.choice("xyz")}}
        for i in range(10)
    ]
    return json.dumps({"actions": actions, "event_id": event}).encode()


def message(method, path, content=b""):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(content) + content


class Line(asyncio.Protocol):
    """One connection: the next request when the last one is answered."""

    def __init__(self, source, done):
        self.source, self.done, self.buffer, self.sent = source, done, b"", 0.0

    def connection_made(self, transport):
        self.transport = transport
        self.next()

    def next(self):
        found = self.source()
        if found is None:
            self.transport.close()
            return
        message, wait = found
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self.send, message, time.perf_counter() + wait)
        else:
            self.send(message, time.perf_counter() + wait)  # as of when it was due

    def send(self, message, due):
        self.sent = due
        self.transport.write(message)

    def data_received(self, data):
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        low = head.lower()
        at = low.index(b"content-length:") + 15
        size = int(low[at : low.find(b"\r\n", at) if low.find(b"\r\n", at) > 0 else None])
        if len(rest) < size:
            return
        self.buffer = rest[size:]
        self.done(head[9:12], time.perf_counter() - self.sent)
        self.next()

    def connection_lost(self, error):
        self.done(None, 0.0)


async def run(port, source, connections=CONNECTIONS):
    """(statuses, latencies, seconds) until the source ends."""
    loop, statuses, latencies, left = asyncio.get_running_loop(), {}, [], connections
    over = loop.create_future()

    def done(status, seconds):
        nonlocal left
        if status is None:
            left -= 1
            if left == 0 and not over.done():
                over.set_result(None)
            return
        statuses[status] = statuses.get(status, 0) + 1
        latencies.append(seconds)

    began = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(lambda: Line(source, done), "127.0.0.1", port)
    await over
    return statuses, latencies, time.perf_counter() - began


def closed(messages, seconds):
    """As fast as it goes, for so long."""
    iterator, end = iter(messages), time.perf_counter() + seconds

    def source():
        found = next(iterator, None) if time.perf_counter() < end else None
        return None if found is None else (found, 0.0)

    return source


def paced(messages, rate):
    """So many per second."""
    iterator, began, count = iter(messages), time.perf_counter(), 0

    def source():
        nonlocal count
        found = next(iterator, None)
        count += 1
        return None if found is None else (found, began + count / rate - time.perf_counter())

    return source


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Server:
    def __init__(self, db):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.began = time.perf_counter()
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", db, "--port", str(self.port)])
        while True:
            try:
                asyncio.run(run(self.port, closed([message("GET", "/ready")], 5), 1))
                break
            except OSError:
                time.sleep(0.01)
        self.started = time.perf_counter() - self.began

    def seconds(self):
        """Of computing, so far."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def measure(db, seconds):
    rng, server = random.Random(0), Server(db)
    asyncio.run(run(server.port, closed([message("PUT", "/v1/loops/shop", b"{}")], 5), 1))
    bodies = [body(rng, f"warm-{i}") for i in range(200)]
    warm = [message("POST", "/v1/loops/shop/decide", one) for one in bodies]
    asyncio.run(run(server.port, closed(warm, 60)))
    paid = [{"event_id": f"warm-{i}", "reward": rng.random()} for i in range(200)]
    paying = message("POST", "/v1/loops/shop/reward/batch", json.dumps(paid).encode())
    asyncio.run(run(server.port, closed([paying], 60), 1))
    found, computed = {}, {}
    for what in ("empty", "decide", "empty", "decide"):
        made = [
            message("POST", f"/v1/loops/shop/{what}", body(rng, f"{what}-{rng.random()}"))
            for _ in range(int(6000 * seconds))
        ]
        before = server.seconds()
        statuses, latencies, took = asyncio.run(run(server.port, closed(made, seconds)))
        computed.setdefault(what, []).append((server.seconds() - before) / len(latencies))
        assert set(statuses) == {b"200"}, statuses
        found.setdefault(what, []).append(len(latencies) / took)
    best = {what: max(rates) for what, rates in found.items()}
    rate = best["decide"] / 2
    made = [message("POST", "/v1/loops/shop/decide", body(rng, f"half-{i}")) for i in range(int(rate * seconds))]
    statuses, latencies, _ = asyncio.run(run(server.port, paced(made, rate)))
    assert set(statuses) == {b"200"}, statuses
    server.stop()
    return {
        "empty_per_s": best["empty"],
        "decide_per_s": best["decide"],
        "ratio": best["decide"] / best["empty"],
        "computing_us": {what: 1e6 * min(times) for what, times in computed.items()},
        "half_load_per_s": rate,
        "p50_ms": 1e3 * percentile(latencies, 0.5),
        "p99_ms": 1e3 * percentile(latencies, 0.99),
    }


def long(db, events):
    """Pairs of decide and reward by batches, memory on the way, restart, replay."""
    rng, server = random.Random(1), Server(db)
    asyncio.run(run(server.port, closed([message("PUT", "/v1/loops/shop", b"{}")], 5), 1))
    actions = [{"id": f"a{i}", "features": {"x": i / 3, "y": 1.0}} for i in range(3)]
    memory, began = [], time.perf_counter()
    for first in range(0, events // 2, 5000):
        names = [f"e{n}" for n in range(first, min(first + 5000, events // 2))]
        parts = [names[i : i + 500] for i in range(0, len(names), 500)]
        decide = [[{"actions": actions, "context": {"u": rng.random()}, "event_id": n} for n in part] for part in parts]
        reward = [[{"event_id": n, "reward": rng.random()} for n in part] for part in parts]
        for what, given in (("decide", decide), ("reward", reward)):
            made = [message("POST", f"/v1/loops/shop/{what}/batch", json.dumps(one).encode()) for one in given]
            statuses, _, _ = asyncio.run(run(server.port, closed(made, 600), 4))
            assert set(statuses) == {b"200"}, statuses
        memory.append(server.memory())
    took = time.perf_counter() - began
    server.process.kill()
    server.process.wait()
    restarted = Server(db)
    restarted.stop()
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "massart", "replay", "--db", db, "--models-only", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    replayed = time.perf_counter() - began
    tenth = max(1, len(memory) // 10)
    return {
        "events": events,
        "events_per_s": events / took,
        "restart_s": restarted.started,
        "replay_per_s": events / replayed,
        "replay": json.loads(done.stdout),
        "memory_mb": [round(memory[tenth]), round(memory[-1])],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--db")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.port)
        return
    found = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("MASSART_BENCH_DIR")) as folder:
        found["sqlite"] = measure(f"sqlite:///{folder}/a.db", given.seconds)
        if given.db:
            found["postgres"] = measure(given.db, given.seconds)
        if given.events:
            found["long"] = long(f"sqlite:///{folder}/b.db", given.events)
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
