"""Parquet to model in one pass, by massart and by scikit-learn fed by PyArrow: each in a process of its own."""

import sys
from pathlib import Path

import numpy as np
from file_contenders import ONE, POOL, TOLD, check_learned, train
from file_processes import Command, Recorder, able
from file_rows import FEW, LIES
from measuring import Finding, Section, Wanted, interleave, quotients
from report import Tick
from workloads import SEED

COLUMNS = 20
ROWS_PER_MEGABYTE = 3_000  # 3 million rows where text files have 1 GB
SGD, SGD_IN_ORDER, SGD_PANDAS = "SGDClassifier", "SGDClassifier in order", "SGDClassifier, pandas"
WANTED = {ONE: Wanted(at_least=3.0)}
_GROUP = 131_072  # rows that are made and written together
_BATCH = 65_536

# NumPy arrays column by column were the fastest of the ways from a batch to scikit-learn; data frames take longer.
_COLUMNS = """
    X = np.empty((batch.num_rows, len(names)))
    for j, name in enumerate(names):
        X[:, j] = batch.column(name).to_numpy()
    y = batch.column("label").to_numpy()
"""
_FRAME = """
    frame = batch.to_pandas()
    X, y = frame[names].to_numpy(), frame["label"].to_numpy()
"""


def _script(take_batch: str, options: str) -> str:
    return f"""
import sys
import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import SGDClassifier
model = SGDClassifier(loss="log_loss", random_state=0{options})
file = pq.ParquetFile(sys.argv[1])
names = [name for name in file.schema_arrow.names if name != "label"]
for batch in file.iter_batches({_BATCH}):
{take_batch}
    model.partial_fit(X, y, classes=[-1, 1])
np.save(sys.argv[2], model.coef_)
"""


SCRIPTS = {
    SGD: ("pyarrow, NumPy, partial_fit (it shuffles the rows)", _script(_COLUMNS, "")),
    SGD_IN_ORDER: ("the same with shuffle=False", _script(_COLUMNS, ", shuffle=False")),
    SGD_PANDAS: ("pyarrow, to_pandas, partial_fit", _script(_FRAME, "")),
}


def write(path: Path, rows: int) -> Path:
    """Normal float64 columns and a label of -1 or +1, some of them lies, as PyArrow writes them by default."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng([SEED, COLUMNS])
    target = rng.standard_normal(COLUMNS)
    writer = None
    for first in range(0, rows, _GROUP):
        X = rng.standard_normal((min(_GROUP, rows - first), COLUMNS))
        lies = rng.random(len(X)) < LIES
        columns = {f"x{j + 1}": X[:, j] for j in range(COLUMNS)}
        table = pyarrow.table({**columns, "label": np.where((X @ target >= 0.0) ^ lies, 1, -1)})
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return path


def parquet_section(megabytes: float, folder: Path, rounds: int, tick: Tick) -> Section:
    """One learner and the pool against scikit-learn, whole processes."""
    rows = max(FEW, round(megabytes * ROWS_PER_MEGABYTE))
    title = "Parquet to model"
    about = (
        f"{rows:,} x {COLUMNS} float64 and a label. Numbers: rows per second, in times of scikit-learn's; whole "
        "processes, on the wall, 2 cores each."
    )
    try:
        present, absent = able(_commands(FEW, folder), folder)
    except ImportError as error:
        return Section(title, about, "times", [], {}, [], {"pyarrow": f"not installed ({error})"})
    names = {command.name for command in present}
    recorders = [Recorder(c, folder) for c in _commands(rows, folder) if c.name in names]
    contenders = [recorder.contender() for recorder in recorders]
    seconds = interleave(contenders, rounds, tick) if contenders else {}
    for kind in TOLD.keys() & names:
        check_learned(kind, folder, rows)
    findings = [
        Finding(
            kind,
            f"over {other}: {measures}",
            quotients(seconds[other].wall, seconds[kind].wall),
            WANTED.get(kind) if other == SGD_IN_ORDER else None,
        )
        for kind in (ONE, POOL)
        for other, (measures, _) in SCRIPTS.items()
        if kind in seconds and other in seconds
    ]
    return Section(title, about, "times", contenders, seconds, findings, absent)


def _commands(rows: int, folder: Path) -> list[Command]:
    data = write(folder / "rows.parquet", rows)
    own = [train(kind, data, folder, rows, "--label", "label") for kind in (ONE, POOL)]
    others = [
        Command(name, measures, [sys.executable, "-c", script, str(data), str(folder / "sgd.npy")], rows)
        for name, (measures, script) in SCRIPTS.items()
    ]
    return [*own, *others]
