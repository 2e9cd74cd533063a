"""Writes signatures.txt anew: python build_kernels/record.py COMMAND..., the commands being those that use kernels.

Without a command the whole test suite is run. What the commands call from Python is written down by recording/ (with
Numba as the compiler). Arrays that a kernel does not write (written.py) are listed as read-only, which serves both
those that may be written and those that may not; should one be written after all, Numba refuses to compile it.
"""

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]
    os.environ["MASSART_JIT"] = "1"

from build_kernels.signatures import FILE, Array, Signature, Tuple, Type, parse  # noqa: E402
from build_kernels.written import Place, written_by  # noqa: E402

HEAD = """\
# The kernels that Python calls, with the types of their arguments: what is compiled when a wheel is built.
# Made by `make signatures`; build_kernels/signatures.py explains the notation.
"""


def recorded(command: list[str]) -> set[str]:
    """The signatures that a command uses, in all processes that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join(filter(None, [str(HERE / "recording"), os.environ.get("PYTHONPATH", "")]))
        environment = os.environ | {"MASSART_RECORDED": folder, "MASSART_JIT": "1", "PYTHONPATH": path}
        subprocess.run(command, env=environment, check=False)
        lines = (line for file in Path(folder).glob("*.txt") for line in file.read_text().splitlines())
        return {line for line in lines if not line.startswith("test_")}  # kernels of tests are no part of the package


def with_read_only(lines: set[str]) -> list[Signature]:
    """The signatures, sorted, with arrays that no kernel of that name writes as read-only ones."""
    if odd := [line for line in lines if "strided" in line or "?" in line]:
        raise TypeError("no kernel takes strided arrays or other objects:\n" + "\n".join(odd))
    signatures = set()
    for one in map(parse, lines):
        module, _, name = one.kernel.rpartition(".")
        places = written_by(getattr(import_module(f"massart.kernels.{module}"), name).py_func)
        signatures.add(Signature(one.kernel, _marked(one.arguments, places, ())))
    return sorted(signatures, key=str)


def _marked(arguments: tuple[Type, ...], places: frozenset[Place], where: Place) -> tuple[Type, ...]:
    """Arguments whose arrays are written where a place says so."""
    made: list[Type] = []
    for k, one in enumerate(arguments):
        place = (*where, k)
        if isinstance(one, Tuple):
            made.append(Tuple(_marked(one.items, places, place)))
        elif isinstance(one, Array):
            made.append(one._replace(written=any(place[: len(other)] == other for other in places)))
        else:
            made.append(one)
    return tuple(made)


if __name__ == "__main__":
    used = recorded(
        sys.argv[1:] or [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "not fuzz and not wheel"]
    )
    FILE.write_text(HEAD + "".join(f"{one}\n" for one in with_read_only(used)))
