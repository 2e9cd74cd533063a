"""The package as a newcomer meets it: names, weight of an import, version."""

import sys
from importlib.metadata import version

import processes
import pytest

import massart


def run(code):
    return processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_every_public_name_loads():
    for name in massart.__all__:
        assert getattr(massart, name) is not None
    assert set(massart.__all__) <= set(dir(massart))


def test_unknown_name_is_told_the_known_ones():
    with pytest.raises(AttributeError, match="MassartClassifier"):
        massart.MassartClasifier  # noqa: B018


def test_version_is_the_distribution_s():
    assert massart.__version__ == version("massart")


@pytest.mark.parametrize("statement", ["import massart", "import massart.theory", "import massart.cli.main"])
def test_import_is_light(statement):
    heavy = run(
        f"import sys; {statement}; print([m for m in ('numpy', 'numba', 'sklearn', 'scipy') if m in sys.modules])"
    )
    assert heavy == "[]"


def test_command_and_module_are_the_same():
    shown = run("import massart.cli.main as m; m.app(['--version'], standalone_mode=False)")
    module = processes.run([sys.executable, "-m", "massart", "--version"], capture_output=True, text=True, check=True)
    assert shown == module.stdout.strip() == f"massart {massart.__version__}"
