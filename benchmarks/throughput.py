"""Rows per second of massart and its peers, side by side in one run; ratios out.

    python benchmarks/throughput.py --json results/throughput.json

Times are taken by the clock, alone on the machine, with one thread for BLAS and OpenMP (`--threads free` lets them use
all). The table shows ratios within a round, as the median over the rounds with the smallest and the largest; the file
holds every sample.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import growth
import numpy as np
import peers
import vowpal
from measuring import Contender, Finding, Section, Wanted, interleave, quotients
from numpy.typing import NDArray
from report import Tick, begin, console, options_of, print_section, progress, write_json
from workloads import FULL, QUICK, SEED, Sizes, dense_rows, sparse_rows

CSR_WANTED = {peers.SGD_IN_ORDER: Wanted(at_least=1.8)}
DENSE_WANTED = {peers.SGD_IN_ORDER: Wanted(at_least=3.5)}
POOL_CSR_WANTED = {peers.SGD_IN_ORDER: Wanted(at_least=0.6)}
POOL_DENSE_WANTED = {peers.TOLD: Wanted(at_least=1 / 3.5), peers.SGD_IN_ORDER: Wanted(at_least=1.0)}
POOL_FEW_WANTED = {peers.TOLD: Wanted(at_least=1 / 6)}
SINGLE_WANTED = {peers.RIVER: Wanted(at_least=4.0), vowpal.READY: Wanted(at_least=1.0)}


def versus_section(
    title: str,
    about: str,
    contenders: Sequence[Contender],
    absent: dict[str, str],
    wanted: dict[str, Wanted],
    repeats: int,
    tick: Tick,
) -> Section:
    """The first contender against all others: how many times as long the other takes for a row."""
    seconds = interleave(contenders, repeats, tick)
    baseline = contenders[0]
    ours = seconds[baseline.name]
    findings = []
    for c in contenders[1:]:
        ratios = quotients(seconds[c.name].wall, ours.wall)
        findings.append(Finding(c.name, c.measures, ratios, wanted.get(c.name)))
    about = f"{about} Numbers: time for a row, in times of {baseline.name} ({baseline.measures})."
    return Section(title, about, "times", contenders, seconds, findings, absent)


def gather(
    own: list[Contender], guests: dict[str, Callable[[], list[Contender]]]
) -> tuple[list[Contender], dict[str, str]]:
    """All contenders that are installed, and for the others the reason why they are absent."""
    absent = {}
    for name, invite in guests.items():
        try:
            own = own + invite()
        except ImportError as error:
            absent[name] = f"not installed ({error})"
    return own, absent


def batch_section(
    title: str, X: Any, y: NDArray[np.int64], wanted: dict[str, Wanted], sizes: Sizes, repeats: int, tick: Tick
) -> Section:
    """A whole batch in memory."""
    with tempfile.TemporaryDirectory() as folder:
        contenders, absent = gather(
            peers.batch(X, y),
            {
                "river": lambda: peers.river_batch(X, y, sizes),
                "Vowpal Wabbit": lambda: vowpal.batch(X, y, sizes, Path(folder)),
            },
        )
        about = f"{X.shape[0]:,} x {X.shape[1]:,}, {X.dtype}."
        return versus_section(title, about, contenders, absent, wanted, repeats, tick)


def csr_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    X, y = sparse_rows(sizes.rows, sizes.sparse_columns, sizes.sparse_nonzeros)
    title = f"CSR in memory, {sizes.sparse_nonzeros} non-zeros per row"
    return batch_section(title, X, y, CSR_WANTED, sizes, repeats, tick)


def dense_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    X, y = dense_rows(sizes.rows, sizes.dense_columns)
    return batch_section("Dense in memory", X, y, DENSE_WANTED, sizes, repeats, tick)


def pool_csr_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    X, y = sparse_rows(sizes.rows, sizes.sparse_columns, sizes.sparse_nonzeros)
    title = f"Default settings, CSR, {sizes.sparse_nonzeros} non-zeros per row"
    return _pool_section(title, X, y, POOL_CSR_WANTED, repeats, tick)


def pool_dense_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    X, y = dense_rows(sizes.rows, sizes.dense_columns)
    return _pool_section("Default settings, dense", X, y, POOL_DENSE_WANTED, repeats, tick)


def pool_few_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    """At most 64 features: four more experts, one of them with a full matrix."""
    X, y = dense_rows(sizes.rows, sizes.few_columns)
    return _pool_section("Default settings, dense, few features", X, y, POOL_FEW_WANTED, repeats, tick)


def _pool_section(
    title: str, X: Any, y: NDArray[np.int64], wanted: dict[str, Wanted], repeats: int, tick: Tick
) -> Section:
    about = f"{X.shape[0]:,} x {X.shape[1]:,}, {X.dtype}."
    return versus_section(title, about, peers.pool(X, y), {}, wanted, repeats, tick)


def _classes_section(number: int, sizes: Sizes, repeats: int, tick: Tick) -> Section:
    """More classes, learned together: at most k / 2 times as long as two is the aim."""
    columns, entries = sizes.class_entries[number]
    X, _ = sparse_rows(sizes.class_rows, columns, entries)
    wanted = {f"{k} classes": Wanted(at_most=k / 2) for k in sizes.classes}
    title, about = f"More than two classes, CSR, {entries} non-zeros per row", f"{X.shape[0]:,} x {X.shape[1]:,}."
    return versus_section(title, about, peers.classes(X, sizes.classes), {}, wanted, repeats, tick)


def _products_section(columns: int, sizes: Sizes, repeats: int, tick: Tick) -> Section:
    X, y = dense_rows(sizes.product_rows, columns)
    title, about = f"Products of {columns} columns, dense", f"{X.shape[0]:,} x {X.shape[1]:,}."
    return versus_section(title, about, peers.products(X, y), {}, {}, repeats, tick)


def single_section(sizes: Sizes, repeats: int, tick: Tick) -> Section:
    X, y = dense_rows(sizes.single_rows, sizes.single_columns)
    contenders, absent = gather(
        peers.single(X, y, sizes),
        {
            "river": lambda: peers.river_single(X, y, sizes),
            "Vowpal Wabbit": lambda: vowpal.single(X, y, sizes),
        },
    )
    title, about = f"One row at a time, d = {sizes.single_columns}", "Predict, then learn, in a Python loop."
    return versus_section(title, about, contenders, absent, SINGLE_WANTED, repeats, tick)


SECTIONS: dict[str, Callable[[Sizes, int, Tick], Section]] = {
    "csr": csr_section,
    "dense": dense_section,
    "pool-csr": pool_csr_section,
    "pool-dense": pool_dense_section,
    "pool-few": pool_few_section,
    "classes": partial(_classes_section, 0),
    "classes-long": partial(_classes_section, 1),
    **{f"products-{columns}": partial(_products_section, columns) for columns in (8, 16, 64)},
    "single": single_section,
    "rows": growth.rows_section,
    "nonzeros": growth.nonzeros_section,
    "columns": growth.columns_section,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="some sections only")
    options, repeats = options_of(parser, arguments, rounds=9, quick_rounds=2)
    sizes = QUICK if options.quick else FULL

    out, sections = console(), []
    known = begin(out, options.threads, repeats, quick=options.quick)
    facts = {"benchmark": "throughput", "quick": options.quick, "repeats": repeats, "seed": SEED, "machine": known}
    judged = known["alone"] and not options.quick
    for name in options.only:
        with progress(name) as tick:
            sections.append(SECTIONS[name](sizes, repeats, tick))
        print_section(out, sections[-1], judged)
    if options.json is not None:
        write_json(options.json, facts, sections, judged)


if __name__ == "__main__":
    main()
