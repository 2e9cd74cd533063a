"""The layout of the tests: what several of them use is in tests/helpers, and no test imports another."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MODULES = sorted(TESTS.rglob("*.py"))


def imported(path):
    """The first parts of all names that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    found += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_no_test_imports_another(path):
    assert not [name for name in imported(path) if name.startswith("test_") or name == "conftest"]


def test_everything_else_is_a_helper():
    others = {path for path in MODULES if not path.name.startswith("test_") and path.name != "conftest.py"}
    assert {path.relative_to(TESTS).parts[0] for path in others} == {"helpers"}


def test_names_are_unique():
    """Modules are imported by their bare name."""
    names = [path.name for path in MODULES if path.name != "conftest.py"]
    assert len(names) == len(set(names))
