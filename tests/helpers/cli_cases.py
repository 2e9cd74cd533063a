"""What tests of several commands share: rows in a file, and what a refusal looks like."""

from pathlib import Path
from typing import Any


def write_rows(path: Path, X: Any, y: Any) -> Path:
    """Dense rows as svmlight text."""
    rows = zip(X.tolist(), y, strict=True)
    lines = (f"{label} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row)) for row, label in rows)
    path.write_text("\n".join(lines) + "\n")
    return path


def assert_refused(result: Any, command: str, words: str) -> None:
    """Exit code 2 and one sentence on standard error, which holds the words."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"massart {command}: ")
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
