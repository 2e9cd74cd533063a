"""`massart loadtest` against a service: bounded, counted, and errors in sentences."""

import json
import os

import pytest
from flaky_proxy import flaky
from service_runs import KEY, massart, served

from massart.cli.loadtest import _percentiles


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loadtest")
    with served(f"sqlite:///{folder / 'load.db'}", folder) as found:
        found.key_file = str(folder / "key")
        yield found


def test_requests_are_counted(service):
    words = ("--requests", "101", "--concurrency", "3", "--seconds", "120", "--json", "--key-file", service.key_file)
    done = massart("loadtest", service.url, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["decide"]["requests"] + found["reward"]["requests"] == 101
    assert 0 <= found["decide"]["requests"] - found["reward"]["requests"] <= 3
    for one in (found["decide"], found["reward"]):
        assert one["errors"] == {}
        assert 0.0 < one["p50_ms"] <= one["p90_ms"] <= one["p99_ms"] <= one["max_ms"]
        assert one["per_second"] == pytest.approx(one["requests"] / found["seconds"])
    state = service.client.get("/v1/loops/loadtest/state").json()
    assert state["decisions"] == found["decide"]["requests"]
    assert state["loop"]["learned"] == found["reward"]["requests"]


def test_time_is_bounded(service):
    words = ("--seconds", "0.3", "--no-rewards", "--loop", "short", "--actions", "2", "--features", "0")
    done = massart("loadtest", service.url, *words, env=os.environ | {"MASSART_KEY": KEY})
    assert done.returncode == 0, done.stderr
    assert "decide" in done.stdout
    assert "reward" not in done.stdout
    assert "p99 ms" in done.stdout


def test_errors_are_counted(service):
    """One request goes to see whether the loop is there; then the third of five fails."""
    with flaky(service.url, "pass", "pass", "pass", "503") as way:
        words = ("--requests", "5", "--concurrency", "1", "--key-file", service.key_file, "--json")
        done = massart("loadtest", way.url, *words)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["decide"]["errors"] == {"503 (The disk is full.)": 1}
    assert found["decide"]["requests"] + found["reward"]["requests"] == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--seconds", "601"), "--seconds is 601.0: give at most 600.0"),
        (("--requests", "1000001"), "--requests is 1,000,001: give at most 1,000,000"),
        (("--concurrency", "257"), "--concurrency is 257: give at most 256"),
        ((), "answered 401: a key is needed"),
        (("--key-file", "nothing-there"), "nothing-there: No such file"),
    ],
)
def test_refusals(service, words, sentence):
    done = massart("loadtest", service.url, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://here", "http://", "http://here:port", "http://here/?a=b"])
def test_addresses(url):
    done = massart("loadtest", url)
    assert done.returncode == 2
    assert "is not the address of a service" in done.stderr


def test_nobody_there(service):
    with flaky(service.url) as way:
        url = way.url
    done = massart("loadtest", url)
    assert done.returncode == 2
    assert "is massart serve running there?" in done.stderr


def test_percentiles():
    """The smallest value that so many percent do not exceed."""
    assert _percentiles([0.001 * n for n in range(100, 0, -1)]) == pytest.approx([50.0, 90.0, 99.0])
    assert _percentiles([0.002]) == [2.0, 2.0, 2.0]
    assert _percentiles([0.001, 0.003]) == [1.0, 3.0, 3.0]
