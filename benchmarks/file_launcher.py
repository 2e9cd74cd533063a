"""Run a command on two cores and write down its time and its peak memory: python file_launcher.py REPORT COMMAND...

The system counts as the memory of a new process, until it becomes another program, that of the process it came from.
So a command must come from a process that is smaller than any of them: this one, which imports next to nothing.
"""

import os
import sys
import time

CORES = 2  # Vowpal Wabbit reads in one thread and learns in another: all are given as many


def main() -> None:
    report, command = sys.argv[1], sys.argv[2:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, kibibytes elsewhere
    with open(report, "w") as file:
        file.write(f"{wall} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss * unit}")
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


if __name__ == "__main__":
    main()
