"""The documentation: it builds without a warning and without a network, and every block of code on its pages runs."""

import os
import re
import sys
from pathlib import Path

import page_blocks
import processes
import pytest

import massart

ROOT = page_blocks.ROOT
sys.path.insert(0, str(ROOT))

from build_docs import markdown_extensions, pages  # noqa: E402

# Commands that are not run here: what is in the line, and where it is run, or why it is not.
LEFT_OUT = {
    "pip install": "`make smoke` installs the wheel into an empty environment",
    "kafka://": "needs a broker: tests/training/test_kafka_training.py has one",
    "--scheduler": "needs a cluster: tests/scale/test_cluster.py has one",
}
# Python without prompts is no doctest.
WITHOUT_PROMPTS = {"# on Spark": "tests/scale/test_spark.py, which needs Java"}
# Pages whose blocks need a service, and what runs them.
SERVICE = {
    "docs/client.md": "tests/service/test_guides.py",
    "docs/from-personalizer.md": "tests/service/test_service_guides.py",
    "docs/openfeature.md": "tests/service/test_service_guides.py",
    "docs/route-language-models.md": "tests/service/test_guides.py",
    "docs/service.md": "tests/service/test_guides.py",
}
NOT_RUN = {"docs/service-deploy.md": "installs a service on the machine; it says what was not run"}
SHELL = [
    block
    for block in page_blocks.blocks()
    if block.language in ("bash", "console")
    and block.page not in SERVICE | NOT_RUN
    and "$MASSART_KEY" not in block.code  # README's, which tests/service/test_guides.py runs
]
RUN = sorted({block.page for block in SHELL})


def test_blocks_are_of_kinds_that_are_run_or_are_no_code():
    found = {(block.page, block.language) for block in page_blocks.blocks()}
    assert {language for _, language in found} <= {"python", "bash", "console", "text", "toml", "nginx", ""}


def test_python_blocks_are_doctests():
    for block in page_blocks.blocks():
        if block.language == "python" and not block.code.startswith(tuple(WITHOUT_PROMPTS)):
            assert block.code.startswith(">>> ") != (block.page in SERVICE), block.code


@pytest.mark.parametrize(("page", "test"), SERVICE.items())
def test_pages_of_the_service_are_run_there(page, test):
    assert f'"{page.removeprefix("docs/")}"' in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", RUN)
def test_commands_run(page, tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    options = {"cwd": tmp_path, "env": os.environ | {"PATH": path}, "capture_output": True, "text": True}
    if page in page_blocks.FOUND_THERE:
        done = processes.run([sys.executable, "-c", page_blocks.FOUND_THERE[page]], **options)
        assert done.returncode == 0, done.stderr
    for block in SHELL:
        if block.page == page:
            kept = [
                line
                for line in page_blocks.commands(block).splitlines(keepends=True)
                if not any(part in line for part in LEFT_OUT)
            ]
            done = processes.run(["bash", "-euc", "".join(kept)], **options)
            assert done.returncode == 0, f"{''.join(kept)}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("part", LEFT_OUT)
def test_exceptions_are_needed(part):
    assert any(part in page_blocks.commands(block) for block in SHELL)


@pytest.mark.parametrize("name", pages.PAGES)
def test_generated_pages_are_up_to_date(name, request):
    """`make golden` writes them."""
    if request.config.getoption("--update-golden"):
        (pages.DOCS / name).write_text(pages.PAGES[name](), encoding="utf-8")
    assert (pages.DOCS / name).read_text(encoding="utf-8") == pages.PAGES[name]()


def test_generated_pages_do_not_depend_on_the_terminal():
    code = "from build_docs import pages; print(pages.commands(), end='')"
    for columns in ("40", "200"):
        done = processes.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ | {"COLUMNS": columns, "TERM": "dumb"},
            capture_output=True,
            text=True,
        )
        assert done.stdout == pages.commands(), done.stderr


def test_every_public_name_is_in_the_reference():
    shown = set()
    for page in (ROOT / "docs" / "api").glob("*.md"):
        shown |= set(re.findall(r"^::: massart\.(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(massart.__all__) <= shown


def test_it_builds_without_warnings_and_without_a_network(tmp_path):
    """Dead links and anchors, pages that nothing leads to and formulas that are not understood are warnings."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = processes.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert len(built) > len(page_blocks.PAGES) - 2
    for page in built:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]*)"', text)
        fetched += re.findall(r'<link[^>]* rel="(?:stylesheet|preconnect|icon|prefetch)"[^>]* href="([^"]*)"', text)
        assert not [address for address in fetched if re.match(r"(?:https?:)?//", address)], page
    assert (tmp_path / "site" / "llms.txt").is_file()
    theory = (tmp_path / "site" / "theory" / "index.html").read_text(encoding="utf-8")
    assert "<math" in theory
    assert "arithmatex" not in theory


def test_formulas():
    assert "<mo" in markdown_extensions.formula(r"\lVert x\rVert\le\gamma")
    assert "𝐄" in markdown_extensions.formula(r"\mathbf E[M]")
    assert "ℱ" in markdown_extensions.formula(r"\mathcal F_t")
    assert 'display="block"' in markdown_extensions.formula("x", "block")
    with pytest.raises(ValueError, match=r"\\nonsense is not known"):
        markdown_extensions.formula(r"x+\nonsense y")


def test_examples_of_docstrings_become_blocks():
    page = ["Text.", ">>> [1][0]", "1", "", "More.", "```python", ">>> 2", "```"]
    prepared = markdown_extensions.Examples().run(page)
    assert prepared == [
        *("Text.", "", "```pycon", ">>> [1][0]", "1", "```", "", "More."),
        *("```python", ">>> 2", "```"),
    ]
