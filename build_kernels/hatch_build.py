"""Hatchling's hook: the kernels are compiled when a wheel is built.

Without a C compiler, and on Windows, the wheel is a pure one: it needs massart[jit], and says so at its first use. An
editable install always compiles at first use, so that edits of kernels count. build/kernels keeps the extension for
the next wheel of the same sources, and the object file of each kernel for the next wheel in which it is the same.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from build_kernels import glue, signatures  # noqa: E402

MODULE = "built"
LEVELS = {"x86_64": ["x86-64-v2", "x86-64-v3"], "AMD64": ["x86-64-v2", "x86-64-v3"]}


class KernelHook(BuildHookInterface):
    """Adds the extension to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by Hatchling before files are collected."""
        if version == "editable" or self.target_name != "wheel" or os.environ.get("MASSART_PURE"):
            return
        if os.name == "nt" or shutil.which(_compiler()[0]) is None:
            self.app.display_warning("There is no C compiler for the kernels: the wheel needs massart[jit].")
            return
        extension = kept(_levels())
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{_platform(extension)}"
        build_data["force_include"][str(extension)] = f"massart/kernels/{extension.name}"


def kept(levels: list[str]) -> Path:
    """The extension for these sources, compiled if that was not done before."""
    folder = ROOT / "build" / "kernels"
    extension = folder / _digest(levels) / f"{MODULE}.abi3.so"
    if not extension.exists():
        extension.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=extension.parent) as work:
            build(folder, Path(work), levels).replace(extension)
    return extension


def _digest(levels: list[str]) -> str:
    """Of everything that the extension is made from."""
    versions = [f"{name} {version(name)}" for name in ("numba", "llvmlite")]
    found = hashlib.sha256("\n".join([*levels, *versions, sysconfig.get_platform()]).encode())
    for folder in (ROOT / "build_kernels", ROOT / "src" / "massart" / "kernels"):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".h", ".txt"):
                found.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def build(kernels: Path, folder: Path, levels: list[str]) -> Path:
    """Compile the kernels for all levels into one extension; object files of kernels are looked for and kept."""
    parts = max(1, -(-(os.cpu_count() or 1) // len(levels)))
    emit = str(ROOT / "build_kernels" / "emit.py")
    jobs = {
        (level, part): subprocess.Popen(
            [sys.executable, emit, level, str(kernels), str(part), str(parts)], stdout=subprocess.PIPE
        )
        for level in levels
        for part in range(parts)
    }
    printed = {job: process.communicate()[0] for job, process in jobs.items()}
    if any(process.returncode for process in jobs.values()):
        raise RuntimeError("Numba could not compile the kernels")
    listed, names = signatures.read(), {}
    for (level, part), text in printed.items():
        names.update({(level, part + parts * n): name for n, name in enumerate(json.loads(text))})
    facts = [json.loads((kernels / f"{names[levels[0], n]}.json").read_text()) for n in range(len(listed))]
    objects = sorted(str(kernels / f"{name}.o") for name in names.values())
    source, extension = folder / "glue.c", folder / f"{MODULE}.abi3.so"
    source.write_text(glue.write(listed, levels, facts, MODULE))
    compiler = _compiler()
    include = [f"-I{sysconfig.get_path('include')}", f"-I{ROOT / 'build_kernels'}"]
    linking = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-s"]
    options = ["-O2", "-Wall", "-shared", "-fPIC", "-fvisibility=hidden", *linking]
    subprocess.run([*compiler, *options, *include, str(source), *objects, "-lm", "-o", str(extension)], check=True)
    # A function of Numba's runtime that runtime.h lacks is missed only when the extension is loaded.
    subprocess.run([sys.executable, "-c", f"import {MODULE}"], cwd=folder, check=True)
    return extension


def _compiler() -> list[str]:
    """The command of the C compiler that Python was built with, or of another one."""
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def _levels() -> list[str]:
    """The levels of processors to compile for: MASSART_LEVELS, or all of this machine's kind."""
    if chosen := os.environ.get("MASSART_LEVELS"):
        return chosen.split(",")
    return LEVELS.get(platform.machine(), ["generic"])


def _platform(extension: Path) -> str:
    """The wheel's tag: with glibc, by the newest version of it whose symbols the extension uses."""
    here = re.sub(r"[-.]", "_", sysconfig.get_platform())
    used = [tuple(map(int, one)) for one in re.findall(rb"GLIBC_(\d+)\.(\d+)", extension.read_bytes())]
    if not here.startswith("linux_") or not used:
        return here
    newest = max((2, 17), *used)
    return f"manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"
