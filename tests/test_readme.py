"""What the README says holds: its length, its install commands, the theorems it names, how its speeds are measured."""

import os
import re
import sys
import tomllib
from pathlib import Path

import processes
import pytest

import massart

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROSE = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_it_is_short():
    assert len([word for word in PROSE.split() if re.search(r"\w", word)]) <= 1000


def test_it_installs_what_there_is_to_install():
    """The package is on no index: `pip install massart` would fail, or fetch somebody else's."""
    assert not re.search(r"pip install [\"']?massart\b", README)
    named = {name for extras in re.findall(r"(?:\.|whl)\[([a-z,]+)\]", README) for name in extras.split(",")}
    assert named
    assert named <= PROJECT["optional-dependencies"].keys()
    assert f"dist/massart-{massart.__version__}-cp311-abi3-*.whl" in README


def test_its_commands_take_a_file_to_a_model_and_rows_to_answers(tmp_path):
    (commands,) = [code for code in re.findall(r"```bash\n(.*?)```", README, re.DOTALL) if "massart train" in code]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = processes.run(
        ["bash", "-euc", commands], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "\nyes\nno\n" in done.stdout
    (wrong,) = re.findall(r"^error +(\d+\.\d+)%", done.stdout, re.MULTILINE)
    assert float(wrong) < 20.0  # 15% of the labels are wrong


def test_every_theorem_it_names_is_in_the_notes():
    notes = (ROOT / "docs" / "theory.md").read_text()
    proved = set(re.findall(r"\*\*Theorem (\d+)", notes))
    for page in (README, (ROOT / "docs" / "guarantees.md").read_text()):
        named = set(re.findall(r"Theorems? (\d+)", page))
        assert named
        assert named <= proved


def test_it_says_which_streams_its_accuracy_is_about():
    assert "nowhere above" not in README
    assert "rcv1_small" in README


@pytest.mark.parametrize(("threads", "seen"), [("1", "1"), ("free", "None")])
def test_speeds_are_by_the_clock_with_the_threads_that_were_asked_for(threads, seen):
    """Idle BLAS threads spin, which is processor time: what only waits takes time by the clock, and by no other."""
    script = """
import os, sys, time
sys.path.insert(0, "benchmarks")
import measuring
measuring.set_threads(sys.argv[1])
waits = measuring.stopwatch(lambda: time.sleep(0.05))
print(waits.wall >= 0.05, waits.processor < 0.05, os.environ.get("OPENBLAS_NUM_THREADS"))
"""
    done = processes.run([sys.executable, "-c", script, threads], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", seen], done.stderr
    for name in ("throughput", "bandit_speed"):
        source = (ROOT / "benchmarks" / f"{name}.py").read_text()
        assert ".processor" not in source, f"{name}.py compares processor time"
