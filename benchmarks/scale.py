"""Shards against one learner: time on two cores, error of the mixture, bytes that move, and 1 to 1,000 shards.

    python benchmarks/scale.py speed --megabytes 2000 --folder /tmp
    python benchmarks/scale.py error --data DIR
    python benchmarks/scale.py worlds
    python benchmarks/scale.py growth
    python benchmarks/scale.py simulate --figure docs/images/scale.png

docs/scale.md has the tables and says what was measured where. Mixtures do not depend on the number of workers, so
errors and bytes are measured in one process.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np

from massart import MassartClassifier, theory, worlds
from massart.learners.packed import pack
from massart.scale import Shards
from massart.scale.engine import Engine
from massart.scale.mixing import GROWTH, learn_shards
from massart.scale.parts import Arrays

SHARDS = (2, 8, 64)
EXPERTS = 13
SEED = 17
# The cluster of the simulation: what a core learns, what a link moves, what a round costs besides.
ROWS_PER_SECOND, ROW_BYTES = 150_000.0, 400.0
LINK, LATENCY = 1.25e8, 0.05  # bytes per second of a link of 1 Gbit; seconds to begin and end a round


class Here(Executor):
    """Tasks are done when they are submitted, in this process."""

    def submit(self, task: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """A future that is done."""
        future: Future[Any] = Future()
        future.set_result(task(*arguments, **named))
        return future


def shards_of(X: Any, y: Any, count: int) -> list[Arrays]:
    return [Arrays(X[k::count], y[k::count]) for k in range(count)]


def mixture(X: Any, y: Any, count: int, growth: float = GROWTH, **parameters: Any) -> tuple[MassartClassifier, Any]:
    """A classifier of so many shards, and the rounds that it took."""
    shards = Shards(MassartClassifier(random_state=0, **parameters), [False, True])
    found = learn_shards(shards.job, shards_of(X, y, count), Engine(Here()), growth=growth)
    shards.mixture = found.mixture
    return shards.classifier(), found.rounds


def sequential(X: Any, y: Any, **parameters: Any) -> MassartClassifier:
    return MassartClassifier(random_state=0, **parameters).partial_fit(X, y, classes=[False, True])


def streams(folder: Path | None, most: int, only: str | None = None) -> list[tuple[str, Any, Any]]:
    """Rows and labels of ordinary streams of 3,000 rows and more, as published."""
    import accuracy_streams as own

    found = [("digits", *_arrays(own._digits("digits"))), ("zipf", *_arrays(own.zipf(min(most, 60_000))))]
    if folder is not None:
        found.append(("adult", *_arrays(own._adult("adult", folder))))
        found.append(("spambase-log", *_arrays(own._spambase("spambase-log", folder))))
        if (folder / "rcv1_small.vw").exists():
            found.append(("rcv1_small", *_vw(folder / "rcv1_small.vw")))
    return [(name, X[:most], y[:most]) for name, X, y in found if only is None or only in name]


def _arrays(stream: Any) -> tuple[Any, Any]:
    X = stream.X.tocsr() if hasattr(stream.X, "tocsr") else np.ascontiguousarray(stream.X, dtype=float)
    return X, np.asarray(stream.y) > 0


def _vw(path: Path) -> tuple[Any, Any]:
    from scipy.sparse import vstack

    from massart.data import read

    chunks = list(read(str(path)))
    return vstack([chunk.X for chunk in chunks]).tocsr(), np.concatenate([chunk.y for chunk in chunks]) > 0


def error(arguments: argparse.Namespace) -> None:
    """Held-out error after one pass, and mistakes on the way, of mixtures and of one learner."""
    print("stream            rows  noise | one learner      |" + "".join(f" {m:>4} shards        |" for m in SHARDS))
    for name, X, y in streams(arguments.data, arguments.rows, arguments.only):
        for noise in (0.0, 0.1):
            table = {key: [] for key in (1, *SHARDS)}
            for seed in range(arguments.seeds):
                rng = np.random.default_rng([SEED, seed])
                order, told = rng.permutation(len(y)), y ^ (rng.random(len(y)) < noise)
                part = len(y) * 2 // 3
                train, test = order[:part], order[part:]
                for count in (1, *SHARDS):
                    model = (
                        sequential(X[train], told[train])
                        if count == 1
                        else mixture(X[train], told[train], count, arguments.growth)[0]
                    )
                    wrong = float(np.mean(model.predict(X[test]) != told[test]))
                    table[count].append((wrong, model.mistakes_ / model.rounds_))
            means = {count: np.mean(rows, axis=0) for count, rows in table.items()}
            cells = [f" {means[1][0]:.4f} / {means[1][1]:.4f}  |"]
            cells += [
                f" {means[m][0]:.4f} ({means[m][0] / means[1][0] - 1:+.1%}) / {means[m][1]:.4f} |" for m in SHARDS
            ]
            print(f"{name:<14} {len(train):>7,}  {noise:>4.0%} |" + "".join(cells), flush=True)


def run_worlds(arguments: argparse.Namespace) -> None:
    """Mistakes per round in worlds with uneven noise, against the bound of Theorem 1(a)."""
    print("world                 learner   bound | one learner |" + "".join(f" {m:>4} shards |" for m in SHARDS))
    for name in ("sacrificed-minority", "masked-margin"):
        for kind in ("default", "known"):
            table = {key: [] for key in (1, *SHARDS)}
            for seed in range(arguments.seeds):
                world: Any = worlds.make(name, seed=seed)
                X, y = world.take(arguments.rounds)[:2]
                told = np.asarray(y) > 0
                own = {} if kind == "default" else {"noise_rate": world.noise_rate, "margin": world.margin}
                own["fit_intercept"] = False
                for count in (1, *SHARDS):
                    model = (
                        sequential(X, told, **own)
                        if count == 1
                        else mixture(X, told, count, arguments.growth, **own)[0]
                    )
                    table[count].append(model.mistakes_ / model.rounds_)
            bound = theory.fixed_mistake_bound(world.noise_rate, world.margin, arguments.rounds) / arguments.rounds
            cells = f" {np.mean(table[1]):.4f}      |" + "".join(f" {np.mean(table[m]):.4f}      |" for m in SHARDS)
            print(f"{name:<21} {kind:<8} {bound:.4f} |{cells}", flush=True)


def run_growth(arguments: argparse.Namespace) -> None:
    """How often to mix: error of 8 and 64 shards by growth, with the rounds that it took."""
    print("stream         growth | 8 shards: error, rounds | 64 shards: error, rounds")
    for name, X, y in streams(arguments.data, arguments.rows, arguments.only):
        order = np.random.default_rng(SEED).permutation(len(y))
        train, test = order[: len(y) * 2 // 3], order[len(y) * 2 // 3 :]
        one = float(np.mean(sequential(X[train], y[train]).predict(X[test]) != y[test]))
        print(f"{name:<14} one learner: {one:.4f}")
        for growth in (0.25, 0.5, 1.0, 2.0, 4.0):
            cells = []
            for count in (8, 64):
                model, rounds = mixture(X[train], y[train], count, growth)
                wrong = float(np.mean(model.predict(X[test]) != y[test]))
                cells.append(f"{wrong:.4f} ({wrong / one - 1:+.1%}), {sum(r.shards > 1 for r in rounds):>3}")
            print(f"{name:<14} {growth:>6} | {cells[0]} | {cells[1]}", flush=True)


def simulate(arguments: argparse.Namespace) -> None:
    """1 to 1,000 shards on one stream: error and bytes measured, time from a model of a cluster."""
    import accuracy_streams as own

    X, y = _arrays(own.zipf(arguments.rows))
    train, test = slice(0, len(y) * 4 // 5), slice(len(y) * 4 // 5, None)
    base = sequential(X[train], y[train])
    one = float(np.mean(base.predict(X[test]) != y[test]))
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000) if count <= arguments.shards]
    table = []
    print("shards   error (excess)   rounds   MB up/shard  MB down/shard  of bound   1e9 rows    1e12 rows")
    for count in counts:
        if count == 1:
            wrong, rounds = one, ()
        else:
            model, rounds = mixture(X[train], y[train], count)
            wrong = float(np.mean(model.predict(X[test]) != y[test]))
        up, down = (sum(getattr(r, what) for r in rounds if r.shards > 1) / count for what in ("sent", "received"))
        most = sum(2 * 8 * r.columns * EXPERTS for r in rounds if r.shards > 1)
        columns = pack(base._learner.arrays()).numbers.size
        times = [_time(rows, count, columns) for rows in (1e9, 1e12)]
        table.append({"shards": count, "error": wrong, "up": up, "down": down, "times": times})
        share = (up + down) / most if most else 0.0
        mixed = sum(r.shards > 1 for r in rounds)
        print(
            f"{count:>6}   {wrong:.4f} ({wrong / one - 1:+.1%})   {mixed:>5}   {up / 1e6:>10.2f}  {down / 1e6:>12.2f}"
            f"   {share:>8.2f}   {_words(times[0]):>9}   {_words(times[1]):>9}",
            flush=True,
        )
    if arguments.figure is not None:
        draw(table, arguments.figure)


def _time(rows: float, count: int, columns: int) -> float:
    """Seconds: learning in parallel; each round moves the model down and up a tree of links."""
    learning = rows / count / ROWS_PER_SECOND
    if count == 1:
        return learning
    rounds = np.log2(max(2.0, rows / 1000.0))
    size = 8 * columns * EXPERTS
    return learning + rounds * (LATENCY + 2 * size / LINK * np.ceil(np.log2(count)))


def _words(seconds: float) -> str:
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def draw(table: list[dict[str, Any]], path: Path) -> None:
    """Error and time over the number of shards."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shards = [row["shards"] for row in table]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    left.plot(shards, [row["error"] for row in table], "o-", color="#1f77b4")
    left.axhline(table[0]["error"], color="grey", lw=0.8)
    left.axhline(1.05 * table[0]["error"], color="grey", lw=0.8, ls=":")
    left.set(xscale="log", xlabel="shards", ylabel="held-out error", title="Error of the mixture (dotted: 5% more)")
    for place, (name, color) in enumerate((("1e9 rows", "#2ca02c"), ("1e12 rows", "#d62728"))):
        right.plot(shards, [row["times"][place] / 3600 for row in table], "o-", color=color, label=name)
    right.set(xscale="log", yscale="log", xlabel="shards", ylabel="hours", title="Time in the model of a cluster")
    right.legend()
    figure.savefig(path, dpi=110)


def speed(arguments: argparse.Namespace) -> None:
    """One process against two workers, end to end, on svmlight text; and two processes that know nothing of each other.

    Of workers, seconds of processors are not counted: they are no children of the process that is measured.
    """
    from file_rows import counted_blocks

    path = arguments.folder / f"scale-{arguments.megabytes:g}.svm"
    if not path.exists():
        block = counted_blocks(arguments.megabytes)[0]
        block.write(path, block.rows_in(arguments.megabytes))
    print(f"{path}: {path.stat().st_size / 1e6:,.0f} MB")
    cores = sorted(os.sched_getaffinity(0))[:2]
    runs = {
        "one process, one core": (["--threads", "1"], cores[:1]),
        "one process, two cores": (["--threads", "2"], cores),
        "two workers, two cores": (["--workers", "2"], cores),
    }
    if not arguments.only or arguments.only in "two halves, never mixed":
        print(f"two halves, never mixed  {_halves(path, cores):>7.1f} s", flush=True)
    for name, (options, own) in runs.items():
        if arguments.only and arguments.only not in name:
            continue
        seconds, used, found = _trained(path, options, own)
        pace = path.stat().st_size / 1e6 / seconds
        print(
            f"{name:<24} {seconds:>7.1f} s  {used:>6.1f} s of processors  {pace:>6.1f} MB/s  "
            f"training {found['seconds']:.1f} s  error {found['error']:.4f}",
            flush=True,
        )


def _halves(path: Path, cores: list[int]) -> float:
    """Seconds on the clock of two processes, each with a half of the rows and a core: what shards could come to."""
    size = path.stat().st_size
    halves = [path.with_suffix(f".{part}.svm") for part in "ab"]
    if not all(half.exists() for half in halves):
        with path.open("rb") as file:
            file.seek(size // 2)
            file.readline()
            middle = file.tell()
            halves[1].write_bytes(file.read())
            file.seek(0)
            halves[0].write_bytes(file.read(middle))
    begun = time.perf_counter()
    command = [sys.executable, "-m", "massart", "train", "--quiet", "--threads", "1"]
    running = [subprocess.Popen([*command, str(half), "-f", f"{half}.massart"]) for half in halves]
    for process, core in zip(running, cores, strict=True):
        os.sched_setaffinity(process.pid, [core])
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("a training failed")
    return time.perf_counter() - begun


def _trained(path: Path, options: list[str], cores: list[int]) -> tuple[float, float, dict[str, Any]]:
    """Seconds on the clock, seconds of processors, and the summary."""
    command = [sys.executable, "-m", "massart", "train", str(path), "-f", f"{path}.massart", "--json", *options]
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, cores)
    )
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, used, json.loads(done.stdout)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "error", "worlds", "growth", "simulate"])
    parser.add_argument("--data", type=Path, help="folder with adult, spambase and rcv1_small")
    parser.add_argument("--rows", type=int, default=60_000, help="of a stream, at most")
    parser.add_argument("--rounds", type=int, default=20_000, help="of a world")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--growth", type=float, default=GROWTH)
    parser.add_argument("--shards", type=int, default=1000, help="of the simulation, at most")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--megabytes", type=float, default=2000.0)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--only", help="one of the runs of `speed`, or of the streams")
    arguments = parser.parse_args()
    {"speed": speed, "error": error, "worlds": run_worlds, "growth": run_growth, "simulate": simulate}[arguments.what](
        arguments
    )


if __name__ == "__main__":
    main()
