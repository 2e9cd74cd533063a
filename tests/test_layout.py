"""The layout: what several tests use is in tests/helpers, no test imports another, and no module is another's part."""

import ast
import re
from pathlib import Path

import house
import pytest
import tiers

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
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


@pytest.mark.parametrize("node", sorted({node for nodes in tiers.MARKED.values() for node in nodes}))
def test_what_has_a_marker_is_there(node):
    path, _, name = node.partition("::")
    assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8")


def test_the_files_of_the_makefile_are_there():
    named = re.findall(r"tests/[\w/]+\.py", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_are_there(page):
    named = set(re.findall(r"[`(]((?:[\w-]+/)*[\w-]+\.(?:py|md|png))\b", page.read_text(encoding="utf-8")))
    places = [page.parent, ROOT, ROOT / "src" / "massart", TESTS, TESTS / "laws", ROOT / "benchmarks"]
    assert [path for path in sorted(named) if not any((place / path).is_file() for place in places)] == []


def test_no_private_name_is_imported_from_another_module():
    assert house.private_imports() == []


def test_no_small_file_has_one_importer():
    """It belongs into that importer."""
    assert house.with_one_importer() == []
