"""Read files, each in a process of its own with a limit on its memory, and say how it ended: one line of JSON for each.

A program: `python reader_runs.py LIMIT FILE...`, LIMIT in bytes of address space on top of what importing takes.
"""

import json
import os
import resource
import sys
import warnings
from pathlib import Path

import massart.data.formats.arrow
import massart.data.formats.csv
import massart.data.formats.jsonl
import massart.data.formats.npy
import massart.data.formats.text
import massart.evaluation
from massart.data import DecisionLog, read
from massart.errors import MassartError


def read_rows(path: Path) -> int:
    """How many rows a file has; crossed, if it is called so."""
    how = {"crossings": ("ab",)} if path.name.startswith("crossed") else {}
    return sum(len(chunk.y) for chunk in read(path, strict=False, **how))


def read_log(path: Path) -> int:
    """How many decisions a log has; those are evaluated."""
    return massart.evaluation.evaluate(DecisionLog(path), "first", resamples=10).decisions


def ended(path: Path, *, is_log: bool) -> tuple[str, str]:
    """("rows", how many), ("refused", why), or the name of another error, and what it says."""
    warnings.simplefilter("ignore")
    try:
        return "rows", str((read_log if is_log else read_rows)(path))
    except MassartError as error:
        return "refused", str(error)
    except BaseException as error:  # whatever it is, it is an answer
        return type(error).__name__, str(error)[:300]


def peak() -> int:
    """Bytes of memory at the most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    limit, *names = sys.argv[1:]
    for name in names:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            before = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (before + int(limit),) * 2)
            resource.setrlimit(resource.RLIMIT_CPU, (250, 260))
            start = peak()
            what, words = ended(Path(name), is_log="logs" in Path(name).parent.name)
            os.write(writing, json.dumps([what, words, peak() - start]).encode()[:60_000])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            said = answer.read()
        _, status = os.waitpid(child, 0)
        what, words, used = json.loads(said) if said else (f"signal {os.WTERMSIG(status)}", "", 0)
        print(json.dumps({"file": name, "ended": what, "words": words, "peak": used}), flush=True)


if __name__ == "__main__":
    main()
