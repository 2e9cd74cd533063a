"""Law 16: the declared lower bounds of dependencies can be installed together.

Newer releases than the minimums are installed here, so what the minimums need is written down in RELEASED, from their
own metadata; an edit of a bound has to bring its line along. pip has installed them together, and the tests ran there.
"""

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

# What the declared minimum of a package needs of others that are declared here, by its own metadata.
RELEASED = {
    ("typer", "0.26"): ["rich>=13.8.0"],
    ("numba", "0.68.1"): ["llvmlite>=0.50.0dev0,<0.51", "numpy>=1.22,<2.6"],
    ("scikit-learn", "1.6"): ["numpy>=1.19.5", "scipy>=1.6.0", "joblib>=1.2.0"],
    ("scipy", "1.14.1"): ["numpy>=1.23.5,<2.3"],
    ("river", "0.22"): ["numpy>=1.23.0", "pandas>=2.2.3,<3.0.0", "scipy>=1.14.1,<2.0.0"],
    ("matplotlib", "3.10.8"): ["numpy>=1.23", "packaging>=20.0"],
    ("pandas", "2.2.3"): ["numpy>=1.23.2"],
    ("onnx", "1.16"): ["numpy>=1.20"],
    ("onnxruntime", "1.18"): ["numpy>=1.24.2", "packaging"],
    ("pytest-cov", "6.0"): ["pytest>=4.6"],
    ("pytest-xdist", "3.6.1"): ["pytest>=7.0.0"],
}
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture(scope="module")
def declared():
    """The lower bound of each dependency and of each package of an extra."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    found = {}
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name != "massart":
            (bound,) = [one for one in requirement.specifier if one.operator in (">=", "==")]
            found.setdefault(name, Version(bound.version))
            assert found[name] == Version(bound.version), f"{name} has two lower bounds"
    return found


def needs(lines):
    """The requirements that hold here: on this system and Python, without extras."""
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def test_every_dependency_has_one_lower_bound(declared):
    assert {"numpy", "scipy", "numba", "llvmlite", "typer", "rich"} <= set(declared)


def test_the_compiler_of_wheels_is_that_of_the_extra():
    """Kernels compiled when a wheel is built and those compiled at first use come from the same versions, exactly."""
    project = tomllib.loads(PROJECT.read_text())
    pinned = {Requirement(line) for line in project["project"]["optional-dependencies"]["jit"]}
    building = set(map(Requirement, project["build-system"]["requires"]))
    assert {one.name for one in pinned} == {"numba", "llvmlite"}
    assert pinned <= building
    assert all([part.operator for part in one.specifier] == ["=="] for one in pinned)


def test_minimums_meet_each_other(declared):
    """By the metadata of the minimums themselves, as far as it names packages that are declared here."""
    for (name, minimum), lines in RELEASED.items():
        assert declared[name] == Version(minimum), f"{name}: look up what {declared[name]} needs, and put it here"
        for other in needs(lines):
            bound = declared.get(canonicalize_name(other.name))
            assert bound is not None
            assert other.specifier.contains(bound, prereleases=True), f"{name} {minimum} needs {other}, not {bound}"


def test_installed_packages_at_their_minimum_meet_the_others(declared):
    """Where the installed version is the minimum, what it says must be what is written above."""
    for name, bound in declared.items():
        try:
            installed = distribution(name)
        except PackageNotFoundError:  # a peer that has no wheel here
            continue
        if Version(installed.version) != bound:
            continue
        for other in needs(installed.requires or []):
            least = declared.get(canonicalize_name(other.name))
            assert least is None or other.specifier.contains(least, prereleases=True), f"{name} needs {other}"


def test_what_is_installed_meets_what_is_declared(declared):
    for name, bound in declared.items():
        try:
            assert Version(distribution(name).version) >= bound
        except PackageNotFoundError:
            # Peers come where their wheels exist, and a wheel with compiled kernels is tested without Numba, too.
            assert name in {"cleanlab", "mabwiser", "river", "vowpalwabbit", "numba", "llvmlite"}


def test_python_is_one_that_is_declared():
    project = tomllib.loads(PROJECT.read_text())["project"]
    assert SpecifierSet(project["requires-python"]).contains(".".join(map(str, sys.version_info[:3])))
