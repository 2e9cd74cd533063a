"""`fit` on sparse rows of very many columns takes a small multiple of the model's memory, whatever it compares.

The model is what the learner remembers and the weights that predict. Columns that occur in no row count in the model,
but not in what `fit` makes beside it: a copy for the later passes and a running average are as large, candidates are
not. Measured in a process of its own, from its peak before to its peak after.
"""

import sys

import processes
import pytest

MULTIPLE = 4.0  # of the model
COLUMNS, ROWS, ENTRIES = 1_000_000, 5_000, 10

PEAK = f"""
import resource
import sys
import numpy as np
from scipy import sparse
from massart import MassartClassifier

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

def data(rows, columns):
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, columns, (rows, {ENTRIES})), axis=1).ravel()
    ends = np.arange(0, rows * {ENTRIES} + 1, {ENTRIES})
    X = sparse.csr_matrix((np.ones(rows * {ENTRIES}), places, ends), shape=(rows, columns))
    X.sum_duplicates()
    if WILD:
        X.data *= 10.0 ** (X.indices % 7 - 3)
    return X, rng.integers(0, CLASSES, rows)

OPTIONS, WILD, CLASSES = eval(sys.argv[1])
new = lambda: MassartClassifier(random_state=0, **OPTIONS)
new().fit(*data(200, 5000))  # compiles what has to be
X, y = data({ROWS}, {COLUMNS})
before = peak()
model = new().fit(X, y)
size = model._batch_weights.nbytes + sum(array.nbytes for array in model._learner.arrays().values())
print((peak() - before) / size)
"""

CASES = {
    "pool": ({}, False, 2),
    "pool, columns of different size": ({}, True, 2),
    "noise rate and margin known": ({"noise_rate": 0.1, "margin": 0.1}, True, 2),
    "forgetting": ({"horizon": 1000}, False, 2),
    "three classes": ({"noise_rate": 0.1, "margin": 0.1}, False, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_fit_takes_a_few_times_the_model(case):
    done = processes.run([sys.executable, "-c", PEAK, repr(CASES[case])], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= MULTIPLE
