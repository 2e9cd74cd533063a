"""Reading ahead: order, exceptions at their place, and an end that does not wait for a pipe."""

import threading
import time

import pytest

from massart.training.ahead import Ahead


def test_items_come_in_order_whatever_the_depth():
    assert list(Ahead(iter(range(100)), depth=1)) == list(range(100))
    assert list(Ahead(iter(()))) == []


def test_an_exception_comes_after_all_items_before_it():
    def items():
        yield 1
        yield 2
        raise ValueError("no more")

    ahead = iter(Ahead(items()))
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="no more"):
        next(ahead)


def test_it_ends_while_the_iterator_waits_for_ever():
    never, stopped = threading.Event(), threading.Event()

    def items():
        yield 1
        never.wait()

    seen = []
    begun = time.monotonic()
    for item in Ahead(items(), stopped.is_set):
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

    for item in Ahead(items()):
        if item == 3:
            break
    assert closed.wait(5.0)


def test_only_a_few_items_wait():
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    ahead = Ahead(items(), depth=2)
    time.sleep(0.3)
    assert len(taken) <= 4
    assert len(list(ahead)) == 100
