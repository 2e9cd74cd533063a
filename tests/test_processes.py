"""The tests' own tools: a limit for all that waits, and children that hear signals whoever started the tests."""

import os
import signal
import subprocess
import sys
import threading

import processes
import pytest

SLEEP = ["/bin/sleep", "600"]


@pytest.mark.parametrize("wait", [lambda child: child.wait(), lambda child: child.stdout.read()])
def test_a_wait_for_a_process_ends_and_so_does_the_process(wait):
    started = []

    def hang():
        with processes.start(SLEEP, stdout=subprocess.PIPE) as child, processes.time_limit(1.0):
            started.append(child)
            wait(child)

    with pytest.raises(pytest.fail.Exception, match="not finished after 1 seconds"):
        hang()
    assert started[0].returncode == -signal.SIGKILL


def test_a_wait_for_a_thread_ends():
    done = threading.Event()
    thread = threading.Thread(target=done.wait, args=(60,))
    thread.start()
    with pytest.raises(pytest.fail.Exception), processes.time_limit(0.2):
        thread.join()
    done.set()
    thread.join(60)


def test_a_process_that_is_run_has_a_limit():
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(SLEEP, timeout=0.2, stdout=subprocess.DEVNULL, check=False)


# Begins as under nohup, in the background: what it starts must hear the signals all the same, itself it must not.
AS_A_BACKGROUND_JOB = """
import os, signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
import processes
processes.default_signals_for_children()
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    os.kill(os.getpid(), number)
    with processes.start(["/bin/sleep", "600"]) as child:
        child.send_signal(number)
        child.wait(60)
    print(child.returncode)
"""


def test_children_hear_signals_that_the_tests_were_told_to_ignore():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = processes.run(
        [sys.executable, "-c", AS_A_BACKGROUND_JOB], env=environment, capture_output=True, text=True, check=True
    )
    assert [int(line) for line in done.stdout.split()] == [-signal.SIGINT, -signal.SIGHUP, -signal.SIGTERM]
