"""Shared by all tests: the oracle is importable from anywhere, children hear signals, and nothing waits for ever."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import processes


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
