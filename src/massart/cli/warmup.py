"""`massart warmup`: compile all kernels and keep them, when an image is built or a program installed."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple, NoReturn

import typer

_NAME = "massart warmup"


def warmup(
    family: Annotated[
        list[str] | None,
        typer.Argument(
            help="Of kernels: arrays, arms, text, tables, known-noise, race, race-arms; all if none is named.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes.  \\[default: one per core]", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Compile all kernels that commands and public classes use, and keep them for later processes.

    Wheels hold compiled kernels: then there is nothing to do. Elsewhere they are kept in NUMBA_CACHE_DIR if it is set,
    else beside the package, else in the user's folder for caches.

    When an image is built, run it as the owner of the package: everybody who may read it can use the kernels.

    [bold]Example[/bold]

    massart warmup known-noise
    """
    from massart.cli.kernel_uses import FAMILIES
    from massart.kernels import compiling

    chosen = list(dict.fromkeys(family or FAMILIES))
    for name in chosen:
        if name not in FAMILIES:
            _refuse(f"there is no family {name!r} of kernels; there are {', '.join(FAMILIES)}")
    if compiling.BUILT is not None:
        if not quiet:
            typer.echo(f"all is compiled: the kernels came with the package, for {compiling.level()}")
        return
    if compiling.MISSING:
        _refuse('Numba, which compiles kernels, is not installed: pip install "massart[jit]"')
    from massart.kernels.jit import keeping

    folder, why = keeping()
    if folder is None:
        _refuse(
            f"there is no place to keep compiled kernels ({why}): set NUMBA_CACHE_DIR to a folder that you can write"
        )
    began = time.monotonic()
    done = []
    for name, result in _results(chosen, jobs or _cores()):
        done.append(result)
        if not quiet and sys.stderr.isatty():
            words = f"{result.kernels} compiled in {result.seconds:.1f} s" if result.kernels else "nothing to compile"
            typer.echo(f"{name:<12} {words}", err=True)
    if failed := next((result.failed for result in done if result.failed), ""):
        _refuse(failed)
    if not quiet:
        kernels = sum(result.kernels for result in done)
        words = f"{kernels:,} kernels compiled in {time.monotonic() - began:.0f} s" if kernels else "all is compiled"
        typer.echo(f"{words}; kept in {folder.path}")


class _Result(NamedTuple):
    kernels: int
    seconds: float
    failed: str  # why they are not kept, or empty


def _results(chosen: list[str], jobs: int) -> Iterator[tuple[str, _Result]]:
    """Each family as it is finished."""
    if jobs == 1 or len(chosen) == 1:
        for name in chosen:
            yield name, _warm(name)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    # Families share kernels: one that two processes compile at once is kept twice, and is the same.
    with ProcessPoolExecutor(min(jobs, len(chosen)), multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(_warm, name): name for name in chosen}
        for finished in as_completed(running):
            yield running[finished], finished.result()


def _warm(family: str) -> _Result:
    """Use the kernels of a family."""
    from massart.cli.kernel_uses import run
    from massart.kernels.compiling import compiled
    from massart.kernels.jit import keeping

    before = compiled()
    with tempfile.TemporaryDirectory() as files:
        run(family, Path(files))
    after = compiled()
    folder, why = keeping()
    failed = "" if folder is not None else f"the compiled kernels could not be kept: {why}"
    return _Result(after.kernels - before.kernels, after.seconds - before.seconds, failed)


def _refuse(words: str) -> NoReturn:
    typer.echo(f"{_NAME}: {words}", err=True)
    raise typer.Exit(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
