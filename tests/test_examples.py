"""The examples run, each within a minute, and print what their first lines say; so does the notebook."""

import os
import re
import sys
from pathlib import Path

import processes
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "tables.py")
# How the row of ours begins in the table of a program, and what its numbers satisfy: bounds with room for another
# processor's last digits. Data and seeds are fixed.
HOLDS = {
    "spam_from_clicks.py": ("MassartClassifier()", lambda against_clicks, against_truth, _: against_truth < 0.02),
    "ranking_from_pairs.py": ("MonotoneRanker()", lambda tau, top: tau > 0.95 and top > 0.9),
    "drift.py": ("MassartClassifier() ", lambda *by_phase: by_phase[-1] < 0.14),
    "replacing_vw.py": ("massart ", lambda error: error < 0.05),
    "policy_from_log.py": (
        "uniform",
        lambda truth, estimate, low, high, _: low < truth < high and low < estimate < high,
    ),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name, tmp_path):
    done = processes.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if name in HOLDS:
        begins, holds = HOLDS[name]
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(begins)]
        numbers = [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", line[len(begins) :])]
        assert holds(*numbers), line


def test_the_page_lists_them():
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`examples/([\w-]+\.(?:py|ipynb))`", page))
    assert listed == {*PROGRAMS, *(path.name for path in EXAMPLES.glob("*.ipynb"))}


@pytest.mark.filterwarnings("default")  # those of Jupyter are not ours
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run(path, tmp_path):
    """From a clean kernel, top to bottom; the file itself holds no outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
