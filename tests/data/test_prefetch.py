"""Work done ahead comes in order, errors at their place, and leaving early leaves no thread behind."""

import threading
import time

import pytest

from massart.data.io.prefetch import ahead, in_order


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_results_come_in_order_whoever_is_faster(workers):
    def work(n: int) -> int:
        time.sleep(0.002 * (n % 3))
        return n * n

    assert list(in_order(work, iter(range(40)), workers)) == [n * n for n in range(40)]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_an_error_of_the_source_comes_after_what_was_read_before_it(workers):
    def items():
        yield from range(7)
        raise OSError("gone")

    got = []
    with pytest.raises(OSError, match="gone"):
        got.extend(in_order(lambda n: n, items(), workers))
    assert got == list(range(7))


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_the_work_comes_at_its_place(workers):
    got = []
    with pytest.raises(ZeroDivisionError):
        got.extend(in_order(lambda n: 1 / (3 - n), iter(range(10)), workers))
    assert len(got) == 3


def test_leaving_early_stops_the_threads_and_takes_few_items_too_many():
    taken = []

    def items():
        for n in range(10_000):
            taken.append(n)
            yield n

    before = threading.active_count()
    results = in_order(lambda n: n, items(), 2)
    assert next(results) == 0
    results.close()
    deadline = time.monotonic() + 5.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before
    assert len(taken) <= 10


def test_items_come_in_order_whatever_the_depth():
    assert list(ahead(iter(range(100)), depth=1)) == list(range(100))
    assert list(ahead(iter(()))) == []


def test_an_exception_of_items_comes_after_all_before_it():
    def items():
        yield 1
        yield 2
        raise ValueError("no more")

    found = ahead(items())
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(ValueError, match="no more"):
        next(found)


def test_it_ends_while_the_iterator_waits_for_ever():
    never, stopped = threading.Event(), threading.Event()

    def items():
        yield 1
        never.wait()

    seen = []
    begun = time.monotonic()
    for item in ahead(items(), stopped.is_set):
        seen.append(item)
        stopped.set()
    assert seen == [1]
    assert time.monotonic() - begun < 5.0  # far below for ever
    never.set()


def test_leaving_early_closes_the_iterator():
    closed = threading.Event()

    def items():
        try:
            yield from range(1000)
        finally:
            closed.set()

    for item in ahead(items()):
        if item == 3:
            break
    assert closed.wait(5.0)


def test_only_a_few_items_wait():
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    found = ahead(items(), depth=2)
    assert next(found) == 0
    time.sleep(0.3)
    assert len(taken) <= 5
    assert len(list(found)) == 99
