"""The distributions: the same bytes from the same sources, complete, and with extras that hold one another."""

import os
import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import processes
import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"all", "bench", "dev", "docs"}  # bench: competitors, which not every platform has
LEFT_OUT = shutil.ignore_patterns("__pycache__", "built.*", "*.nbi", "*.nbc")


def build(folder, seconds):
    """The sources in a folder of their own, as old as said, and what Hatchling makes of them without compiling."""
    folder.mkdir()
    for name in [*PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], "pyproject.toml"]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in folder.rglob("*"):
        os.utime(path, (seconds, seconds))
    made = processes.run(
        [sys.executable, "-m", "hatchling", "build", "-d", "dist"],
        cwd=folder,
        env=os.environ | {"MASSART_PURE": "1"},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return {path.name: path for path in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("dist")
    return build(place / "one", 1_700_000_000), build(place / "another", 1_800_000_000)


def test_the_same_sources_make_the_same_bytes(built):
    one, another = built
    assert one.keys() == another.keys()
    assert len(one) == 2
    for name, path in one.items():
        assert path.read_bytes() == another[name].read_bytes(), name


def test_the_source_distribution_is_complete(built):
    """What tests, documentation and examples need is in it, and nothing that was compiled."""
    (path,) = [path for name, path in built[0].items() if name.endswith(".tar.gz")]
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("mkdocs.yml", "build_docs/pages.py", "docs/index.md", "examples/drift.py", "tests/test_site.py"):
        assert needed in names
    assert not [name for name in names if name.endswith((".so", ".pyc", ".o"))]


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (path,) = [path for name, path in built[0].items() if name.endswith(".whl")]
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        (facts,) = [archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")]
    assert {name.split("/")[0] for name in names} == {"massart", path.name.split("-py3")[0] + ".dist-info"}
    assert "massart/py.typed" in names
    assert {f"Provides-Extra: {extra}" in facts for extra in EXTRAS} == {True}


def test_all_holds_every_extra_for_users():
    (one,) = EXTRAS["all"]
    (held,) = re.findall(r"^massart\[([\w,-]+)\]$", one)
    assert set(held.split(",")) == EXTRAS.keys() - FOR_DEVELOPERS


def test_python_versions_are_those_that_are_tested():
    named = {line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    smoke = (ROOT / "tests" / "helpers" / "smoke.py").read_text(encoding="utf-8")
    for version in named:
        assert f'"{version}"' in workflow
        assert f'"{version}"' in smoke
