"""The package's face: exact `__all__`, every function cites its result and runs its example, nothing heavy."""

import doctest
import inspect
import itertools
import math
import pkgutil
import sys
from pathlib import Path

import processes
import pytest

from massart import theory

MODULES = [name for _, name, _ in pkgutil.iter_modules(theory.__path__)]
RESULT_NAMES = ("Lemma", "Theorem", "Solving step", "Fact", "Algorithm", "Definition", "Proof of Theorem")


def test_the_package_exports_exactly_what_its_modules_do():
    exported = [name for module in MODULES for name in getattr(theory, module).__all__]
    assert sorted(exported) == sorted(theory.__all__)
    assert len(set(exported)) == len(exported)


@pytest.mark.parametrize("name", theory.__all__)
def test_every_function_has_a_running_example(name):
    function = getattr(theory, name)
    assert doctest.DocTestFinder().find(function, name)[0].examples, f"{name} shows no example"


@pytest.mark.parametrize("name", [n for n in theory.__all__ if not n.startswith("check_") and n != "rounds_until"])
def test_every_formula_opens_with_the_result_it_quotes(name):
    assert inspect.getdoc(getattr(theory, name)).startswith(RESULT_NAMES)


def test_the_note_names_every_formula():
    note = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
    unnamed = [name for name in theory.__all__ if not name.startswith("check_") and f"`{name}`" not in note]
    assert unnamed == []


def test_importing_the_theory_loads_nothing_heavy():
    code = "import sys, massart.theory; print(sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    seen = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


def test_the_four_rates_meet_at_the_inverse_squared_margin():
    # T^(5/6) g^(-1/3), T^(3/4) g^(-1/2), T^(2/3) g^(-2/3), T^(1/2)/g all equal T at T = 1/g^2; beyond it they fall.
    for gamma in (0.5, 0.1, 0.01):
        rates = [(5 / 6, 1 / 3), (3 / 4, 1 / 2), (2 / 3, 2 / 3), (1 / 2, 1)]
        at_meeting = [gamma ** (-2 * power) * gamma**-inverse for power, inverse in rates]
        later = [(16 * gamma**-2) ** power * gamma**-inverse for power, inverse in rates]
        assert at_meeting == pytest.approx([gamma**-2] * 4)
        assert all(math.nextafter(a, 0) > b for a, b in itertools.pairwise(later))
