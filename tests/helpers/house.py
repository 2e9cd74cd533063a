"""The size and the shape of the source in numbers: `python tests/helpers/house.py`.

Files and lines; files that belong into their only importer; private names that cross modules; and how many files of
the package a training and a race load.
"""

import ast
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import processes

SOURCE = Path(__file__).parents[2] / "src"
SMALL = 60  # lines: a file with fewer and with one importer belongs into that importer
TRAINING = "from massart.cli.app import app; app(['train', 'rows.svm', '--quiet'], standalone_mode=False)"
RACE = "from massart import arena; arena.race(['massart'], 'kink', rounds=10)"
WATCHED = """
import sys, threading
called = set()  # files of functions, which have the flag 1; classes and modules have not
def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:
        called.add(frame.f_code.co_filename)
sys.setprofile(watch)
threading.setprofile(watch)
{code}
sys.setprofile(None)
loaded = {{m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "massart"}}
print(len(loaded), len(loaded & called))
"""


class Import(NamedTuple):
    """One imported name: `from module import name` inside of `importer`."""

    importer: str
    module: str
    name: str


def modules() -> dict[str, Path]:
    """All modules of the package by their dotted names."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports() -> list[Import]:
    """All imports from one module of the package into another, also those inside of functions."""
    every, found = modules(), []
    for importer, path in every.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "massart":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found.append(Import(importer, inner if inner in every else node.module, alias.name))
            elif isinstance(node, ast.Import):
                found += [Import(importer, alias.name, "") for alias in node.names if alias.name in every]
    return [one for one in found if one.importer != one.module]


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def with_one_importer() -> list[str]:
    """Small files that only one other module imports."""
    importers: dict[str, set[str]] = {}
    for one in imports():
        importers.setdefault(one.module, set()).add(one.importer)
    return [
        name
        for name, path in modules().items()
        if len(importers.get(name, ())) == 1 and lines_of(path) < SMALL and path.name != "__init__.py"
    ]


def private_imports() -> list[Import]:
    """Names with an underscore that another module imports; a module may be private, a name of it may not cross."""
    return [one for one in imports() if re.match(r"_[^_]", one.name) and not one.module.endswith(f".{one.name}")]


def touched(code: str) -> tuple[int, int]:
    """How many files of the package code loads, and of how many it calls a function (outside of compiled code)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rows.svm").write_text("1 1:1 2:0.5\n-1 1:-1\n")
        command = [sys.executable, "-c", WATCHED.format(code=code)]
        done = processes.run(command, cwd=folder, capture_output=True, text=True, check=True)
    loaded, called = done.stdout.split()[-2:]
    return int(loaded), int(called)


def main() -> None:
    """Print the numbers."""
    every = modules()
    sizes = {name: lines_of(path) for name, path in every.items()}
    print(f"{len(every):6} files in src, {sum(sizes.values()):,} lines, {max(sizes.values())} in the longest")
    for room, count in sorted(Counter(".".join(name.split(".")[:2]) for name in every).items()):
        lines = sum(size for name, size in sizes.items() if ".".join(name.split(".")[:2]) == room)
        print(f"{count:14} files, {lines:6,} lines  {room}")
    small, private = with_one_importer(), private_imports()
    print(f"{len(small):6} files of fewer than {SMALL} lines with one importer: {', '.join(small) or 'none'}")
    print(f"{len(private):6} private names imported from another module")
    for one in private:
        print(f"{'':14} {one.importer} imports {one.module}.{one.name}")
    for what, code in (("massart train rows.svm", TRAINING), ("a race", RACE)):
        loaded, called = touched(code)
        print(f"{loaded:6} files loaded by {what}, functions of {called} called")


if __name__ == "__main__":
    main()
