"""Shared by all tests: child processes receive signals, and no test waits for ever. Helpers are in tests/helpers."""

import processes
import pytest

# The tiers: see tests/helpers/tiers.py for their lengths and the Makefile for their commands.
FUZZERS = (
    "tests/kernels/test_text_fuzz.py",
    "tests/laws/test_01_bandit_files.py::test_forged_arrays",
    "tests/laws/test_01_bandit_files.py::test_nothing_is_out_of_bounds",
    "tests/laws/test_01_model_fuzz.py",
    "tests/laws/test_01_reader_fuzz.py",
    "tests/laws/test_13_choice_fuzz.py",
)
SOAKED = ("tests/test_certificates.py", "tests/test_mistake_bounds.py")
SLOW = (*FUZZERS, *SOAKED)


def pytest_collection_modifyitems(items):
    for item in items:
        for marker, nodes in {"fuzz": FUZZERS, "soak": SOAKED, "slow": SLOW}.items():
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
