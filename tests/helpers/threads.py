"""Tasks in several threads at once, which take turns much more often than usual."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def at_once(*tasks: Callable[[], object]) -> None:
    """Run the tasks in a thread each, all at once; raise what one of them raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(tasks))

    def run(task: Callable[[], object]) -> None:
        start.wait()
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@contextmanager
def eager_switching() -> Iterator[None]:
    """Let threads take turns every five microseconds, not every five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
