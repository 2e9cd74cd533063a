"""The same rows in the same order give the same model, byte for byte, on every x86-64 and ARM machine.

Every setting is a process, for libraries look at the processor when they are loaded. Other processors are imitated:
the C library, NumPy and the BLAS can be set not to use what newer ones have, and Numba to compile for the plainest
one of the architecture. What they cannot imitate, the other architecture, is covered by digests that are written down
here: every machine has to arrive at them. Rows are made of whole numbers, for a normal deviate is not the same
everywhere: it comes from the logarithm of the C library.
"""

import os
import platform
import sys

import numpy as np
import processes
import pytest

from massart.kernels import compiling

MODELS = """
import hashlib
import pathlib
import sys
import tempfile
import numpy as np
from scipy import sparse
from massart import Halfspace, MassartClassifier, MonotoneBandit, MonotoneRanker, save
from massart.learners.drift import Drifting
from massart.learners.pool import Pool
from massart.learners.products import Products

dense_only = "dense-only" in sys.argv  # every form of rows is compiled on its own
folder = pathlib.Path(tempfile.mkdtemp())

def show(name, *contents):
    print(name, "|", hashlib.sha256(b"".join(contents)).hexdigest())

def keep(name, model):
    arrays = (model._learner if isinstance(model, MassartClassifier) else model).arrays()
    if isinstance(model, (MonotoneBandit, MonotoneRanker)):  # the identity of a bandit is random
        show(f"{name}: all", *(array.tobytes() for array in arrays.values() if array.dtype == np.float64))
    else:
        save(model, folder / "model")
        show(f"{name}: all", (folder / "model").read_bytes())
    weights = [array for key, array in arrays.items() if key.endswith("weights")]
    batch = getattr(model, "_batch_weights", None)
    weights += [] if batch is None else [batch]
    show(name, *(array.tobytes() for array in weights))

rng = np.random.default_rng(0)

def data(rows, columns):
    X = rng.integers(-1000, 1001, (rows, columns))
    X *= rng.random((rows, columns)) < 0.7
    flipped = rng.integers(0, 10, rows) == 0
    y = np.where((X[:, : columns // 2].sum(axis=1) + X[:, 0] > 100) != flipped, 1, -1)
    return X / 1000.0, y

few, y = data(1500, 7)
weight = rng.integers(1, 50, 1500) / 16.0
for name, settings in {
    "ftrl": {}, "fixed": {"horizon": 1500}, "adagrad-norm": {"optimizer": "adagrad-norm"}, "paper": {"update": "paper"},
    "paper, horizon": {"update": "paper", "horizon": 1500}, "class weights": {"class_weight": (1.0, 3.0)},
}.items():
    learner = Halfspace(7, 0.1, 0.07, **settings)
    learner.learn_many(few, y, weight)
    keep(name, learner)
many, labels = data(600, 70)
for name, X, target in (("few features", few, y), ("many features", sparse.csr_matrix(many), labels))[: 2 - dense_only]:
    for kind, options in ((Pool, {}), (Drifting, {"horizon": 9})):
        learner = kind(X.shape[1], **options)
        learner.learn_many(X, target)
        keep(f"{kind.__name__}, {name}", learner)
learner = Products(7)
learner.learn_many(few, y)
keep("Products", learner)
keep("weighted", MassartClassifier(random_state=0).partial_fit(few, y, classes=[-1, 1], sample_weight=weight))
keep("groups", MassartClassifier(random_state=0).partial_fit(few, y, classes=[-1, 1], groups=np.arange(1500) % 3))
wild = few * np.ldexp(1.0, np.arange(-12, 16, 4))
keep("fit", MassartClassifier(random_state=0, passes=3).fit(few, y, sample_weight=weight))
keep("fit, columns of different size", MassartClassifier(random_state=0, passes=2).fit(wild, y))
wild = sparse.csr_matrix(many * np.ldexp(1.0, np.arange(70) % 9))
if not dense_only:
    keep("fit, sparse", MassartClassifier(random_state=0, passes=2).fit(wild, labels))
keep("fit, three classes", MassartClassifier(random_state=0, passes=2).fit(few, y + (few[:, 1] > 0.3)))
keep("fit, forgetting", MassartClassifier(random_state=0, passes=2, horizon=9).fit(few[:300], y[:300]))

for name, options in {
    "bandit": {}, "bandit, gap and margin known": {"gap": 0.1, "margin": 0.1},
    **({} if dense_only else {"bandit, paper": {"gap": 0.1, "margin": 0.1, "update": "paper", "horizon": 300}}),
}.items():
    bandit = MonotoneBandit(random_state=0, **options)
    for _ in range(300):
        contexts = rng.integers(-1000, 1001, (4, 3)) / 2000.0
        choice = bandit.choose(contexts)
        bandit.learn(choice, float(rng.integers(0, 1000) < 500 + 400 * contexts[choice.arm, 0]))
    keep(name, bandit)
for name, options in {"ranker": {}, "ranker, gap and margin known": {"gap": 0.1, "margin": 0.1}}.items():
    ranker, rng = MonotoneRanker(random_state=0, **options), np.random.default_rng(1)
    for _ in range(300):
        contexts = rng.integers(-1000, 1001, (4, 3)) / 2000.0
        ranker.learn(contexts, (contexts[:, 0] > 0).astype(float))
    keep(name, ranker)
"""

X86 = platform.machine() in ("x86_64", "AMD64")
OLD_LIBRARIES = {
    "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
    **(
        {
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4,-AVX,-AVX_Usable",
            "OPENBLAS_CORETYPE": "Prescott",
            "OPENBLAS_NUM_THREADS": "1",
        }
        if X86
        else {}
    ),
}

# The first 64 bits of the digests of all weights. An update that changes what is learned changes them here.
GOLDEN = {
    "ftrl": "1d11861233bde933",
    "fixed": "40eee3b9aac18f49",
    "adagrad-norm": "9859cf1e894cccda",
    "paper": "f98ec3f7bce0db87",
    "paper, horizon": "d5c2bf71ab0bf6b0",
    "class weights": "488313d249bbacfc",
    "Pool, few features": "b6d4e53b72bcd0ab",
    "Drifting, few features": "5df5401ca8db0507",
    "Pool, many features": "b8225d4e1c727171",
    "Drifting, many features": "b509bb9efb961b88",
    "Products": "aa0e25d81900efde",
    "weighted": "132ac4df7da0ac12",
    "groups": "b9975f05ff3d1791",
    "fit": "d7c9b4c03c270012",
    "fit, columns of different size": "37c5097118562bcf",
    "fit, sparse": "d43041b814592681",
    "fit, three classes": "50034750ce3ebc53",
    "fit, forgetting": "7d400228b6c96bf0",
    "bandit": "b6724d4c29b560d1",
    "bandit, gap and margin known": "f038f44f27faf732",
    "bandit, paper": "4779a1b6d5b29def",
    "ranker": "5dffbc635cc6232f",
    "ranker, gap and margin known": "a7b59a689a8519fd",
}


def digests(*options, **setting):
    done = processes.run(
        [sys.executable, "-c", MODELS, *options],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(" | ") for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def here():
    return digests()


def test_what_is_learned_does_not_depend_on_the_libraries(here):
    assert digests(**OLD_LIBRARIES) == here


def test_what_is_learned_does_not_depend_on_what_the_compiler_may_use(here):
    plainest = {"MASSART_JIT": "1", "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    dense = digests("dense-only", **plainest)
    assert len(dense) > len(here) // 2
    assert dense == {name: here[name] for name in dense}


def test_what_is_learned_does_not_depend_on_who_compiled_the_kernels(here):
    assert digests(MASSART_JIT="1") == here


def test_what_is_learned_does_not_depend_on_the_level_of_the_processor(here):
    """Each level that kernels were compiled for when the package was built: all of them with `make test-blas`."""
    assert compiling.levels()
    for level in compiling.levels():
        assert digests(MASSART_LEVEL=level) == here


def test_what_is_learned_is_what_other_machines_learn(here):
    assert {name: digest[:16] for name, digest in here.items() if not name.endswith(": all")} == GOLDEN
