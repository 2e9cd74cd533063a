"""docs/paper-to-code.md against the repository: nothing of the paper is missing, nothing named there is gone.

Names are looked up in the syntax trees of the files, so this test compiles and imports nothing.
"""

import ast
import functools
import re

import pytest
from paper_tables import PAGE, ROOT, rows_of

# Every numbered environment of the paper in its own order, with its label in the LaTeX source ("" = unlabelled).
SECTION_1 = {
    "Definition 1.1": "def:online-massart",
    "Remark 1.2": "",
    "Definition 1.3": "def:linear-ranking",
    "Definition 1.4": "def:monotone-rewards",
    "Remark 1.5": "rem:classification-to-bandit",
    "Definition 1.6": "def:massart-rewards",
    "Remark 1.7": "",
    "Theorem 1.8": "thm:2-arm",
    "Remark 1.9": "",
    "Theorem 1.10": "thm:bandit",
    "Corollary 1.11": "thm:bandit-2arm",
}
SECTION_2 = {
    "Fact 2.1": "",
    "Algorithm 1": "alg:leaky-relu-1",
    "Lemma 2.2": "lem:expected-regret",
    "Claim 2.3": "clm:optimal",
    "Fact 2.4": "lem:ocoreg",
}
SECTION_3 = {
    "Algorithm 2": "alg:generator",
    "Claim 3.1": "clm:G-convex-lipschitz",
    "Algorithm 3": "alg:leaky-relu-2",
    "Lemma 3.2": "lem:reward-bandits",
    "Claim 3.3": "clm:unbiased-loss",
    "Lemma 3.4": "lem:convex-to-reward-reduction",
    "Claim 3.5": "clm:optimal-k-arms",
    "Claim 3.6": "clm:test1",
    "Claim 3.7": "clm:bound-bad",
}
APPENDIX = {"Claim A.1": "", "Claim A.2": "", "Claim A.3": "", "Claim A.4": "", "Theorem A.5": ""}


NAMES = sorted(set(re.findall(r"`(massart\.[\w.]+)`", PAGE.read_text(encoding="utf-8"))))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE.read_text(encoding="utf-8"))))


@functools.cache
def _defined(path):
    """What a file defines: name -> its class body (for members) or None."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            found.update(_defined((ROOT / "src").joinpath(*node.module.split(".")).with_suffix(".py")))
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.Assign):
            found.update({target.id: None for target in node.targets if isinstance(target, ast.Name)})
    return found


def _members(node):
    names = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    return names | {child.target.id for child in node.body if isinstance(child, ast.AnnAssign)}


def _exists(dotted):
    """Follow a dotted name through packages, modules, re-exports and one level of class members."""
    place, parts = ROOT / "src", dotted.split(".")
    while parts and (place / parts[0]).is_dir():
        place = place / parts.pop(0)
    file = f"{parts.pop(0)}.py" if parts and (place / f"{parts[0]}.py").is_file() else "__init__.py"
    place = place / file
    if not parts:
        return place.is_file()
    name, members = parts[0], parts[1:]
    if name not in _defined(place):
        return False
    if not members:
        return True
    for module in (place, *sorted(place.parent.glob("*.py"))):  # a re-exported class is defined in a sibling
        node = _defined(module).get(name)
        if isinstance(node, ast.ClassDef):
            return len(members) == 1 and members[0] in _members(node)
    return False


@pytest.mark.parametrize(
    ("heading", "expected"),
    [("Section 1:", SECTION_1), ("Section 2:", SECTION_2), ("Section 3:", SECTION_3), ("Appendix A:", APPENDIX)],
)
def test_every_statement_of_the_paper_is_listed_in_order(heading, expected):
    listed = [row[0] for row in rows_of(heading) if re.fullmatch(r"\w+ (A|\d+)(\.\d+)?", row[0])]
    assert listed == list(expected)


@pytest.mark.parametrize("heading", ["Section 1:", "Section 2:"])
def test_sections_1_and_2_have_no_empty_cell(heading):
    for row in rows_of(heading):
        assert len(row) == 4, row
        assert all(cell not in ("", "—", "-") for cell in row), row[0]
        assert "`massart." in row[2], row[0]
        assert "`tests/" in row[3], row[0]


@pytest.mark.parametrize("heading", ["Section 3:", "Appendix A:"])
def test_the_bandit_half_has_a_test_for_every_statement(heading):
    for row in rows_of(heading):
        assert len(row) == 4, row
        assert "`tests/" in row[3], row[0]


def test_errata_are_numbered_and_each_has_its_own_test():
    rows = rows_of("Sections 1 and 2") + rows_of("Section 3 and Appendix A")
    assert [row[0] for row in rows] == [str(n) for n in range(1, 26)]
    for row in rows:
        assert len(row) == 7, row[0]
        assert all(row), row[0]
        assert f"::test_erratum_{int(row[0]):02d}_" in row[6]


def test_no_erratum_test_is_left_out_of_the_page():
    written = set()
    for path in (ROOT / "tests" / "paper").glob("test_errata*.py"):
        names = [name for name in _defined(path) if name.startswith("test_erratum_")]
        written |= {f"tests/paper/{path.name}::{name}" for name in names}
    assert written == {test for test in TESTS if "::test_erratum_" in test}


@pytest.mark.parametrize("test", TESTS)
def test_every_test_named_on_the_page_exists(test):
    path, name = test.split("::")
    assert name in _defined(ROOT / path)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_library_on_the_page_exists(name):
    assert _exists(name)


def test_a_name_that_does_not_exist_is_noticed():
    assert not _exists("massart.theory.no_such_bound")
    assert not _exists("massart.no_such_room.thing")
    assert not _exists("massart.learners.halfspace.Halfspace.no_such_method")
