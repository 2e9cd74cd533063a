"""What turns a file into a model: `massart train`, and Vowpal Wabbit."""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from file_processes import Command, FailedError, Finished

ONE, POOL, VW = "one learner", "pool", "Vowpal Wabbit"
TOLD = {ONE: ("--noise-rate", "0.1", "--margin", "0.05"), POOL: ()}

# The library is imported before its clock starts: the time is that of reading, learning and writing the model.
_VW_SCRIPT = """
import json, sys, time
import vowpalwabbit
start = time.perf_counter()
workspace = vowpalwabbit.Workspace(arg_list=sys.argv[1:])
examples = workspace.get_weighted_examples()
workspace.finish()
print(json.dumps({"seconds": time.perf_counter() - start, "examples": examples}))
"""


def train(
    kind: str,
    data: Path | str,
    folder: Path,
    rows: int,
    *options: str,
    pieces: Callable[[], Iterable[memoryview]] | None = None,
) -> Command:
    """`massart train`: one learner with noise rate and margin given, or the pool with default settings."""
    told = [*TOLD[kind], *options, "--quiet"]
    measures = " ".join(["massart train FILE -f MODEL", *told])
    arguments = [sys.executable, "-m", "massart", "train", str(data), "-f", str(model_of(kind, folder)), *told]
    return Command(kind, measures, arguments, rows, pieces)


def model_of(kind: str, folder: Path) -> Path:
    """Where `train` leaves its model."""
    return folder / f"{kind.replace(' ', '-')}.massart"


def check_learned(kind: str, folder: Path, rows: int) -> None:
    """If massart has not learned all rows, its time means nothing either."""
    from massart import load

    learned = load(model_of(kind, folder)).rounds_
    if learned != rows:
        raise FailedError(f"massart ({kind}) learned {learned:,} of {rows:,} rows: its time means nothing")


def vowpal(data: Path | str, folder: Path, rows: int, *options: str) -> Command:
    """Vowpal Wabbit's own loop over its own text; there is no `vw` program in its Python package."""
    told = ["--binary", "--loss_function", "logistic", *options]
    arguments = [sys.executable, "-c", _VW_SCRIPT, *told, "-d", str(data), "-f", str(folder / "vw.model"), "--quiet"]
    return Command(VW, " ".join(["vw -d FILE -f MODEL --quiet", *told]), arguments, rows)


def vowpal_seconds(rows: int) -> Callable[[Finished], float]:
    """Seconds after its import; if it has not learned all rows, its time means nothing."""

    def seconds(finished: Finished) -> float:
        told = json.loads(finished.output)
        if told["examples"] != rows:
            raise FailedError(f"Vowpal Wabbit learned {told['examples']:,.0f} of {rows:,} rows: its time means nothing")
        return float(told["seconds"])

    return seconds
