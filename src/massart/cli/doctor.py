"""`massart doctor`: what is installed, where kernels come from, what the machine has, and what is wrong."""

import importlib.util
import json as json_format
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "typer", "rich")
_EXTRAS = {
    "numba": "jit",
    "llvmlite": "jit",
    "pyarrow": "files",
    "zstandard": "files",
    "onnx": "onnx",
    "matplotlib": "report",
    "river": "bench",
    "vowpalwabbit": "bench",
}
_ROOM = 50  # megabytes: all kernels take about 15
_SHOWN_FEATURES = ("sse4_2", "avx", "avx2", "bmi2", "fma", "avx512f", "asimd", "sve")  # the names of Linux


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False) -> None:
    """Look at the installation: versions, compiled kernels, processor, memory, disk; exit code 1 if something is wrong.

    Nothing is compiled: where kernels did not come with the package, families of them that are not compiled yet are
    named, and massart warmup compiles them.

    [bold]Example[/bold]

    massart doctor
    """
    found, problems = _examine()
    if json:
        typer.echo(json_format.dumps(found | {"problems": problems}, indent=2, allow_nan=False))
    else:
        _print(_lines(found), problems)
    if problems:
        raise typer.Exit(1)


def _examine() -> tuple[dict[str, Any], list[str]]:
    """Facts by section; what is wrong, each with what to do."""
    problems: list[str] = []
    return {
        "versions": _versions(),
        "extras": {name: _version(name) for name in _EXTRAS},
        "source": _source(problems),
        "cache": _cache(problems),
        "kernels": _kernels(problems),
        "machine": _machine(),
        "locks": _locks(problems),
    }, problems


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _versions() -> dict[str, str | None]:
    from massart import __version__

    python = (
        f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.machine()})"
    )
    return {"massart": __version__, "Python": python, **{name: _version(name) for name in _PACKAGES}}


def _source(problems: list[str]) -> str:
    """Where kernels come from."""
    from massart.kernels import compiling

    if compiling.BUILT is not None:
        return f"compiled when the package was built, for {compiling.level()}"
    if compiling.MISSING:
        problems.append(
            f"kernels cannot run: they were not compiled when the package was built ({compiling.WHY_NOT_BUILT}), and "
            'Numba is not installed: pip install "massart[jit]"'
        )
        return "missing"
    return f"compiled by Numba at first use ({compiling.WHY_NOT_BUILT})"


def _cache(problems: list[str]) -> list[dict[str, Any]]:
    """The folders for kernels compiled at first use, in the order in which they are looked through."""
    from massart.kernels import compiling

    if compiling.BUILT is not None or compiling.MISSING:
        return []
    from massart.kernels.cache_folders import folders
    from massart.kernels.jit import is_current, keeping

    keeper, why = keeping()
    if keeper is None:
        problems.append(
            f"there is no place to keep compiled kernels ({why}): set NUMBA_CACHE_DIR to a folder that you can write "
            "and nobody else can"
        )
    states = []
    for folder in folders():
        kept, damaged = list(folder.kept()), folder.damaged()
        current = [one for one in kept if is_current(one)]
        if damaged:
            problems.append(
                f"{len(damaged)} of the kernels kept in {folder.path} are damaged and will be compiled again: delete "
                f"{folder.path / damaged[0]} and its like if that cannot be written"
            )
        if folder.distrust():
            problems.append(
                f"nothing is read from {folder.path}: {folder.distrust()}; make it yours alone (chmod go-w)"
            )
        free = shutil.disk_usage(_existing(folder.path)).free >> 20
        if folder is keeper and free < _ROOM:
            problems.append(f"the disk of {folder.path} has {free} MB left: kernels take up to {_ROOM} MB; make room")
        states.append(
            {
                "folder": str(folder.path),
                "exists": folder.path.is_dir(),
                "read": folder.readable,
                "written": folder is keeper,
                "why_not": "" if folder is keeper else folder.unwritable(),
                "kernels": len(current),
                "stale": len(kept) - len(current),
                "damaged": len(damaged),
                "megabytes": round(sum(one.size for one in kept) / 1e6, 1),
                "compiling_seconds": round(sum(one.seconds for one in current), 1),
                "free_megabytes": free,
            }
        )
    return states


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _kernels(problems: list[str]) -> dict[str, str]:
    """By family: compiled, or which kernel is the first that is not, or what went wrong."""
    import logging

    from massart.cli.kernel_uses import FAMILIES, run
    from massart.kernels import compiling

    if compiling.MISSING:
        return {}
    if compiling.BUILT is None and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        problems.append("NUMBA_DISABLE_JIT is set: nothing is compiled, and all is far slower; unset it")
        return {}
    states = {}
    logging.getLogger("massart").disabled = True  # what is wrong with the folders is told elsewhere
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as folder, compiling.nothing_compiled() as missing:
            try:
                run(family, Path(folder))
            except Exception as error:
                if not missing:
                    problems.append(f"kernels of the family {family} do not run ({error}): install massart again")
        states[family] = f"not compiled ({missing[0]})" if missing else "compiled"
    logging.getLogger("massart").disabled = False
    return states


def _machine() -> dict[str, Any]:
    cores = os.cpu_count() or 1
    memory, limit = _memory(), _memory_limit()
    return {
        "processor": _processor(),
        "features": _features(),
        "cores": cores,
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores,
        "memory_megabytes": memory,
        "memory_limit_megabytes": limit,
        "threads": {
            name: os.environ[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ
        },
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _features() -> list[str]:
    """Those vector instructions of the processor that kernels may use, where the system names them."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return []
    lines = info.read_text(errors="replace").splitlines()
    words = next((line.split() for line in lines if line.startswith(("flags", "Features"))), [])
    return [name for name in _SHOWN_FEATURES if name in words]


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError, AttributeError):  # not on this system
        return None


def _memory_limit() -> int | None:
    """Of a container, in megabytes, by cgroups of version 2 or 1."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        path = Path("/sys/fs/cgroup") / name
        if path.is_file() and (text := path.read_text().strip()).isdigit() and int(text) < 1 << 60:
            return int(text) >> 20
    return None


def _locks(problems: list[str]) -> str:
    """Whether a file in the current folder can be locked, as outputs are."""
    if importlib.util.find_spec("fcntl") is None:
        return "not tried on this system"
    import fcntl

    try:
        file = tempfile.TemporaryFile(dir=Path.cwd())  # noqa: SIM115 - closed below
    except OSError as error:
        return f"not tried: {error.strerror or error}"
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            problems.append(
                f"files in {Path.cwd()} cannot be locked ({error.strerror}): two trainings could write one model; "
                "write to a local disk"
            )
            return "do not work"
    return "work"


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """One fact per line."""
    versions, extras, machine = found["versions"], found["extras"], found["machine"]
    missing = sorted({_EXTRAS[name] for name, version in extras.items() if version is None})
    lines = [(name, versions[name]) for name in ("massart", "Python")]
    lines.append(("packages", _named({name: versions[name] for name in _PACKAGES})))
    lines.append(("extras", _named(extras) + (f": pip install 'massart[{','.join(missing)}]'" if missing else "")))
    lines.append(("kernels", found["source"]))
    lines += [("cache", f"{state['folder']}: {_use(state)}") for state in found["cache"]]
    waiting = [family for family, state in found["kernels"].items() if state != "compiled"]
    ready = [family for family in found["kernels"] if family not in waiting]
    lines.append(("compiled", ", ".join(ready) or "nothing"))
    if waiting:
        lines.append(("not yet", f"{', '.join(waiting)}: compiled when first used, or by massart warmup"))
    features, limit = ", ".join(machine["features"]), machine["memory_limit_megabytes"]
    threads = "".join(f", {name}={value}" for name, value in machine["threads"].items())
    return [
        *lines,
        (
            "processor",
            machine["processor"] + (f": {features}" if features else ""),
        ),
        ("cores", f"{machine['usable_cores']} of {machine['cores']}{threads}"),
        ("memory", f"{machine['memory_megabytes'] or 0:,} MB" + (f", of which {limit:,} may be used" if limit else "")),
        ("file locks", found["locks"]),
    ]


def _named(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())


def _use(state: dict[str, Any]) -> str:
    """What a folder for compiled kernels is used for, and what is in it."""
    words = ["written" if state["written"] else state["why_not"] and f"not written ({state['why_not']})"]
    words.append(f"{state['kernels']} kernels" + (f" and {state['stale']} out of date" if state["stale"] else ""))
    if state["kernels"]:
        words.append(f"{state['megabytes']:g} MB, {state['compiling_seconds']:g} s to compile on one core")
    return "; ".join(filter(None, [*words, f"{state['free_megabytes']:,} MB free"]))


def _print(lines: list[tuple[str, str]], problems: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    notes = [("wrong", words) for words in problems] or [("", "nothing is wrong")]
    width = max(len(name) for name, _ in lines)
    if not sys.stdout.isatty():
        typer.echo("\n".join(f"{name:<{width}}  {words}".rstrip() for name, words in [*lines, *notes]))
        return
    page = Table.grid(padding=(0, 2))
    page.add_column(style="bold", no_wrap=True)
    page.add_column(overflow="fold")
    for name, words in lines:
        page.add_row(Text(name), Text(words))
    for name, words in notes:
        page.add_row(Text(name, "bold red"), Text(words, "red" if problems else "green"))
    Console(file=sys.stdout, markup=False, highlight=False).print(page)
