"""What the examples share: a table on the terminal, and the peers that they compare with."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

BLOCK = 20  # rows that estimators of scikit-learn answer and learn at a time: a call takes most of a millisecond


def installed(package: str) -> bool:
    """Whether a peer can be compared with; if not, a line says so."""
    found = find_spec(package) is not None
    if not found:
        print(f"({package} is not installed and left out)")
    return found


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table with columns as wide as they need to be."""
    lines = [
        list(columns),
        *([f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows),
    ]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
    print(f"\n{title}")
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def answers_before_labels(estimator: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """What an estimator of scikit-learn answers to each block of rows before it learns the block's labels."""
    said = np.zeros(len(y), bool)
    for start in range(0, len(y), BLOCK):
        block = slice(start, start + BLOCK)
        if start:
            said[block] = estimator.predict(X[block])
        estimator.partial_fit(X[block], y[block], classes=[False, True])
    return said
