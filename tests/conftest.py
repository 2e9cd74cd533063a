"""Shared by all tests: child processes receive signals, and no test waits for ever. Helpers are in tests/helpers."""

from functools import cache
from importlib.util import find_spec

import processes
import pytest
import tiers
from typer import testing

collect_ignore = ["helpers/without_numba"]  # to import it is to do without Numba
if find_spec("pyspark") is None:
    collect_ignore.append("scale/test_spark.py")  # `make test-spark` brings it
if find_spec("confluent_kafka") is None:  # a platform without wheels of librdkafka, whose mock cluster they need
    collect_ignore += ["data/test_kafka.py", "training/test_kafka_training.py", "helpers/kafka_broker.py"]

# Commands that run in this process: Typer would make all of them anew for each, which takes longer than most of them.
testing._get_command = cache(testing._get_command)


def pytest_collection_modifyitems(items):
    for item in items:
        for marker, nodes in tiers.MARKED.items():
            if item.nodeid.startswith(nodes):
                item.add_marker(marker)


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files of tests/golden again")


@pytest.fixture(scope="session", autouse=True)
def _default_signals_for_children():
    processes.default_signals_for_children()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    with processes.time_limit(processes.TEST_LIMIT):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    with processes.time_limit(processes.TEST_LIMIT):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    with processes.time_limit(processes.TEST_LIMIT):
        return (yield)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, for the tests of the service."""
    import postgres_server

    server = postgres_server.Server()
    yield server
    server.remove()
