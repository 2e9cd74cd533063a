"""The package as a newcomer meets it: names, weight of an import, version."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

import processes
import pytest

import massart

ROOT = Path(__file__).parents[1]


def run(code):
    return processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_every_public_name_loads():
    for name in massart.__all__:
        assert getattr(massart, name) is not None
    assert set(massart.__all__) <= set(dir(massart))


def test_unknown_name_is_told_the_known_ones():
    with pytest.raises(AttributeError, match="MassartClassifier"):
        massart.MassartClasifier  # noqa: B018


def test_the_version_is_the_same_everywhere():
    """It is written in src/massart/__init__.py; what is not built from there says the same."""
    assert massart.__version__ == version("massart")
    assert f"\nversion: {massart.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert massart.__version__ in released


def test_the_commands_of_contributing_are_there():
    named = re.findall(r"^\| `make ([\w-]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    (phony,) = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) == set(phony.split()) - {"clean"}


@pytest.mark.parametrize("statement", ["import massart", "import massart.theory", "import massart.cli.main"])
def test_import_is_light(statement):
    assert processes.loaded_by(statement, "numpy", "numba", "sklearn", "scipy") == []


def test_command_and_module_are_the_same():
    shown = run("import massart.cli.main as m; m.app(['--version'], standalone_mode=False)")
    module = processes.run([sys.executable, "-m", "massart", "--version"], capture_output=True, text=True, check=True)
    assert shown == module.stdout.strip() == f"massart {massart.__version__}"
