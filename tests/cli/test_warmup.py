"""`massart warmup`: afterwards, what commands and public classes use is compiled."""

import os
import sys

import processes
import pytest

LONG = 0.9 * processes.TEST_LIMIT  # seconds: everything may have to be compiled

# What users do, written apart from what the command runs; ROWS stands for a file of rows.
ROWS = """
import numpy as np, scipy.sparse as sp
rng = np.random.default_rng(1)
X = rng.normal(size=(200, 6)); y = np.sign(X[:, 0]); wide = sp.random_array((200, 300), density=.1, rng=rng).tocsr()
"""
COMMAND = """
import contextlib, io, sys
from massart.cli.app import app
def massart(line):
    try:
        app(line.split(), standalone_mode=False)
    except SystemExit as end:
        assert not end.code, line
"""
USES = {
    "arrays": ROWS
    + """
from massart import MassartClassifier, load, save
for kind in (np.float32, np.float64):
    MassartClassifier().fit(X.astype(kind), y).predict(X.astype(kind))
    MassartClassifier().partial_fit(X.astype(kind), y, classes=[-1, 1]).score(X.astype(kind), y)
    for index in (np.int32, np.int64):
        rows = wide.astype(kind); rows.indices = rows.indices.astype(index); rows.indptr = rows.indptr.astype(index)
        MassartClassifier(class_weight="balanced").fit(rows, y).predict(rows)
        MassartClassifier().partial_fit(rows, y, classes=[-1, 1], sample_weight=np.ones(200)).predict(rows)
model = MassartClassifier(horizon=50).fit(X, y)
MassartClassifier().fit(X, rng.integers(0, 4, 200)).predict(X)
save(model, "m.massart"); load("m.massart").partial_fit(X, y).summary()
""",
    "known-noise": ROWS
    + """
from massart import Halfspace, MassartClassifier
for rows in (X, X.astype(np.float32), wide, wide.astype(np.float32)):
    MassartClassifier(0.2, 0.1).fit(rows, y).predict(rows)
    MassartClassifier(0.2, 0.1, update="paper", horizon=500).partial_fit(rows, y, classes=[-1, 1]).predict(rows)
learner = Halfspace(6, 0.2, 0.1)
for x, label in zip(X, y): learner.predict(x), learner.learn(x, label)
learner.certificate()
""",
    "text": COMMAND
    + """
from pathlib import Path
from random import Random
r = Random(0); signs = [r.choice([-1, 1]) for _ in range(300)]
Path("a.svm").write_text("".join(f"{s} 2:{s * r.random()} 9:1e-3\\n" for s in signs))
Path("a.vw").write_text("".join(f"{s} 1.5 t{i}|x a:{s * r.random()} b |y c{i % 9}\\n" for i, s in enumerate(signs)))
Path("a.csv").write_text("l,u,v\\n" + "".join(f'{s},{s * r.random()},"x, {i % 9}"\\n' for i, s in enumerate(signs)))
lines = (f'{{"l": {s}, "u": {s * r.random()}, "v": "k{i % 9}"}}' for i, s in enumerate(signs))
Path("a.jsonl").write_text("\\n".join(lines))
tables = ("a.csv", "--label l"), ("a.jsonl", "--label l")
for name, more in (("a.svm", ""), ("a.vw", "-q xy"), ("a.vw", "-b 12"), *tables):
    massart(f"train {name} {more} -f m.massart --holdout 7 --passes 2 --quiet")
    massart(f"train {name} -i m.massart -f n.massart --quiet")
    massart(f"predict m.massart {name} -o p.txt --quiet")
massart("inspect m.massart"); massart("convert a.csv b.svm --label l --quiet"); massart("convert a.svm b.vw --quiet")
""",
    "tables": COMMAND
    + ROWS
    + """
import pyarrow as pa, pyarrow.parquet as pq
for kind in (np.float32, np.float64):
    np.save("a.npy", np.column_stack([X, y]).astype(kind))
    np.save("w.npy", np.hstack([X, X, X, y[:, None]]).astype(kind))
    massart("train a.npy --label 7 -f m.massart --quiet"); massart("predict m.massart a.npy -o p.txt --quiet")
    massart("train w.npy --label 19 -f m.massart --quiet")
    columns = {f"c{j}": X[:, j].astype(kind) for j in range(6)} | {"y": y}
    for more in ({}, {"word": [f"k{i % 5}" for i in range(200)]}):
        pq.write_table(pa.table(columns | more), "a.parquet")
        massart("train a.parquet --label y -f m.massart --quiet")
        massart("predict m.massart a.parquet -o p.txt --quiet")
""",
    "arms": COMMAND
    + ROWS
    + """
from massart import Choice, MonotoneBandit, MonotoneRanker, load, save
from pathlib import Path
contexts = X[:5] / 10
for options in ({}, {"gap": .2, "margin": .2}, {"gap": .2, "margin": .2, "update": "paper", "horizon": 99}):
    bandit = MonotoneBandit(**options)
    for rows in (contexts, sp.csr_array(contexts)):
        for _ in range(3): bandit.learn(bandit.choose(rows), 1.0)
    save(bandit, "b.massart"); load("b.massart").choose(contexts)
ranker = MonotoneRanker()
ranker.learn(contexts, [0, 1, 0, 1, 1]); ranker.predict_ranking(contexts); ranker.choose(contexts)
line = '{"arm": %d, "reward": %g, "probability": 0.5, "contexts": [[1, 0, 0, 0, 0, 0], [0, %g, 0, 0, 0, 0]]}'
Path("log.jsonl").write_text("\\n".join(line % (i % 2, i % 3 / 2, i % 4 / 4) for i in range(40)) + "\\n")
massart("evaluate log.jsonl --quiet"); massart("evaluate log.jsonl --policy b.massart --quiet")
""",
    "race": COMMAND + 'massart("race hunted-minority kink two-phases --rounds 60 --seeds 1 --quiet --json")',
    "race-arms": COMMAND + 'massart("race --bandit --rounds 60 --seeds 1 --quiet --json -l default")',
}
NOTHING_COMPILED = """
import massart.kernels.compiling as c
assert c.compiled().kernels == 0, f"{c.compiled().kernels} kernels had to be compiled"
"""


def run(command, folder, **environment):
    return processes.run(
        command,
        env=os.environ | {"MASSART_JIT": "1"} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONG,
    )


def warmup(folder, *arguments, **environment):
    return run([sys.executable, "-m", "massart", "warmup", *arguments], folder, **environment)


@pytest.mark.parametrize("family", USES)
def test_what_users_do_afterwards_compiles_nothing(family, tmp_path):
    """In the cache that all tests share: what others have compiled need not be compiled again."""
    warmed = warmup(tmp_path, family)
    assert warmed.returncode == 0, warmed.stderr
    used = run([sys.executable, "-c", USES[family] + NOTHING_COMPILED], tmp_path)
    assert used.returncode == 0, used.stderr


def test_the_example_of_the_help_runs_and_then_there_is_nothing_to_do(tmp_path):
    shown = run([sys.executable, "-m", "massart", "warmup", "--help"], tmp_path, COLUMNS="100").stdout
    assert "massart warmup known-noise" in shown
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = warmup(tmp_path, "known-noise", **cache), warmup(tmp_path, "known-noise", **cache)
    assert (first.returncode, first.stderr) == (0, "massart warmup: compiling, once per machine (usually 1 to 60 s)\n")
    kept = len(list((tmp_path / "cache").rglob("*.nbc")))
    assert first.stdout.startswith(f"{kept} kernels compiled in ")
    assert str(tmp_path / "cache") in first.stdout
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.startswith("all is compiled; kept in ")
    quiet = warmup(tmp_path, "known-noise", "--quiet", **cache)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_without_a_place_it_fails_with_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    ended = warmup(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("massart warmup: there is no place to keep compiled kernels (")
    assert "set NUMBA_CACHE_DIR" in ended.stderr


def test_an_unknown_family_is_told_the_known_ones(tmp_path):
    ended = warmup(tmp_path, "everything")
    assert ended.returncode == 1
    assert "there are arrays, arms, text, tables, known-noise, race, race-arms" in ended.stderr
