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
    assert processes.loaded_by(statement, "numpy", "numba", "sklearn", "scipy", *ON_DEMAND) == []


# What a command on plain files and no terminal has no use for: each takes longer to import than a small training takes.
ON_DEMAND = ("typer", "click", "rich", "pydantic", "sklearn", "joblib", "pandas", "pyarrow", "matplotlib", "asyncio")
OF_NUMBA = ("scipy", "multiprocessing", "email", "subprocess", "tempfile", "decimal", "socket")  # as well


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "rows.svm").write_text("1 1:1 2:0.5\n-1 1:-1\n" * 20)
    called = "from massart.cli.main import call; call(['train', 'rows.svm', '-f', 'm.massart', '--quiet'])"
    processes.run([sys.executable, "-c", called], check=True, cwd=folder)
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "train rows.svm -f again.massart",
        "predict m.massart rows.svm -o out.txt",
        "inspect m.massart --json",
        "convert rows.svm rows.vw --quiet",
        "bound --noise-rate .1 --margin .1 --json",
        "worlds --json",
    ],
)
def test_commands_load_only_what_they_use(line, trained):
    code = f"from massart.cli.main import call; call({line.split()!r})"
    loaded = processes.loaded_by(code, "numba", *ON_DEMAND, *OF_NUMBA, cwd=trained)
    compiles = "numba" in loaded  # where kernels are compiled at their first use, Numba brings some of these along
    assert set(loaded) <= ({"numba", *OF_NUMBA} if compiles else set())


def test_command_and_module_are_the_same():
    shown = run("import massart.cli.app as m; m.app(['--version'], standalone_mode=False)")
    module = processes.run([sys.executable, "-m", "massart", "--version"], capture_output=True, text=True, check=True)
    assert shown == module.stdout.strip() == f"massart {massart.__version__}"
