"""Vowpal Wabbit as a contender: ready-made examples from Python, and its own driver on its own cache file.

The driver reads rows in one thread and learns them in another; there Vowpal Wabbit is at its best.
The table of weights is as small as the columns allow (-b), so that no contender suffers from a large empty table.
Default updates keep three numbers per weight (adaptive, normalized); `--sgd` keeps one, like the other contenders.
"""

from pathlib import Path
from typing import Any

import numpy as np
from measuring import Contender, Elapsed, stopwatch
from numpy.typing import NDArray
from workloads import Sizes, row_lines

READY, PARSED = "VW ready examples", "VW from text"
DRIVER, DRIVER_SGD = "VW driver", "VW driver --sgd"


def _arguments(columns: int) -> list[str]:
    return ["--quiet", "--loss_function", "logistic", "-b", str(int(columns).bit_length())]


def batch(X: Any, y: NDArray[np.int64], sizes: Sizes, folder: Path) -> list[Contender]:
    """`vw.learn` over ready examples, and runs of the C++ driver over a cache file."""
    import vowpalwabbit

    lines = row_lines(X, y, max(sizes.example_rows, sizes.file_rows))
    workspace = vowpalwabbit.Workspace(arg_list=_arguments(X.shape[1]))
    examples = [workspace.example(line) for line in lines[: sizes.example_rows]]

    def learn() -> None:
        for example in examples:
            workspace.learn(example)

    text = folder / "rows.txt"
    text.write_text(("\n".join(lines[: sizes.file_rows]) + "\n") * sizes.file_copies)
    file_rows = sizes.file_rows * sizes.file_copies

    def driver(name: str, measures: str, *options: str) -> Contender:
        cache = folder / f"{name}.cache"
        arguments = [*_arguments(X.shape[1]), *options, "-d", str(text), "--cache_file", str(cache), "--passes", "1"]

        def run() -> Elapsed:
            # The first run writes the cache, all others read it: the round that is thrown away sees to that.
            runs: list[Any] = []
            elapsed = stopwatch(lambda: runs.append(vowpalwabbit.Workspace(arg_list=arguments)))
            for finished in runs:
                learned = finished.get_weighted_examples()
                finished.finish()
                if learned != file_rows:
                    raise RuntimeError(f"Vowpal Wabbit learned {learned} of {file_rows} rows: its time means nothing")
            return elapsed

        return Contender(name, measures, file_rows, run, threads=2)

    return [
        Contender(READY, f"vw.learn(example), {len(examples):,} rows", len(examples), lambda: stopwatch(learn)),
        driver(DRIVER, f"its C++ loop on its cache file, {file_rows:,} rows; 2 threads"),
        driver(DRIVER_SGD, "the same with its cheapest update", "--sgd"),
    ]


def single(X: NDArray[np.float64], y: NDArray[np.int64], sizes: Sizes) -> list[Contender]:
    """Predict, then learn, one example after the other: ready-made, or parsed from text on the way."""
    import vowpalwabbit

    lines = row_lines(X, y, sizes.example_rows)
    workspace = vowpalwabbit.Workspace(arg_list=_arguments(X.shape[1]))
    examples = [workspace.example(line) for line in lines]

    def play_ready() -> None:
        for example in examples:
            workspace.predict(example)
            workspace.learn(example)

    def play_text() -> None:
        for line in lines:
            example = workspace.example(line)
            workspace.predict(example)
            workspace.learn(example)
            workspace.finish_example(example)

    return [
        Contender(READY, "predict + learn, example objects ready", len(lines), lambda: stopwatch(play_ready)),
        Contender(PARSED, "predict + learn, text parsed on the way", len(lines), lambda: stopwatch(play_text)),
    ]
