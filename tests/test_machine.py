"""What is computed does not depend on the BLAS, on its kernel for the processor, or on the number of its threads.

A BLAS product adds up in its own order, so results whose bits are documented do without. Each setting is a process:
BLAS reads them when it is loaded. (`make test-blas` runs whole test files in such settings.)
"""

import os
import platform
import sys
from pathlib import Path

import processes
import pytest

# Name of OpenBLAS for a kind of processor: flags that it must have. Others than x86-64 have other names.
KERNELS = {
    "Prescott": "pni",
    "Nehalem": "sse4_2",
    "Sandybridge": "avx",
    "Haswell": "avx2 fma",
    "SkylakeX": "avx512f avx512bw avx512dq avx512vl",
}

# Sizes at which OpenBLAS uses its threads: from 10,000 numbers in a dot product, 9,216 in a matrix times a vector.
RESULTS = """
import hashlib
import numpy as np
from massart import MassartClassifier, worlds
from massart.arena.lanes import angle_between
from massart.evaluation import Estimate, bootstrap_intervals

def show(name, *found):
    content = b"".join(np.ascontiguousarray(part, np.float64).tobytes() for part in found)
    print(name, hashlib.sha256(content).hexdigest())

rng = np.random.default_rng(0)
X, weight = rng.normal(size=(3000, 40)), rng.uniform(0.1, 2.0, size=3000)
X[:, ::3] *= 100.0
target = rng.normal(size=40)
y = np.where(np.einsum("ij,j->i", X, target) / 100.0 + rng.normal(size=3000) > 0.0, 1, -1)
few = MassartClassifier(random_state=0, passes=3).fit(X, y, sample_weight=weight)
show("fit", few.coef_, few.intercept_)
many = MassartClassifier(random_state=0, passes=2).fit(X, y + (X[:, 1] > 1.0), sample_weight=weight)
show("fit, three classes", many.predict_proba(X))

a, b = rng.normal(size=(2, 30_001))
show("angle", angle_between(a, b))
estimates = [Estimate("ips", rng.random(20_001), rng.random(20_001)) for _ in range(3)]
show("errors", [estimate.standard_error for estimate in estimates])
for first, stop in ((0, 3), (1, 3), (1, 2)):
    found = bootstrap_intervals(estimates[first:stop], resamples=20)[1 - first]
    show("bootstrap", found.low, found.high)
world = worlds.from_data(X, y, noise="near-boundary", noise_rate=0.2, target=target, seed=0)
show("world", world.take(3000).X, world.take(3000).y, [region.flip_rate for region in world.regions])
"""


def able():
    """The kernels that this processor can run."""
    if platform.machine() not in ("x86_64", "AMD64") or not Path("/proc/cpuinfo").exists():
        return []
    flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")).split()
    return [name for name, needed in KERNELS.items() if set(needed.split()) <= set(flags)]


def results(**setting):
    done = processes.run(
        [sys.executable, "-c", RESULTS], env={**os.environ, **setting}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def plain():
    return results(OPENBLAS_NUM_THREADS="1")


def test_the_bootstrap_of_an_estimate_does_not_depend_on_the_others(plain):
    assert len({line for line in plain if line.startswith("bootstrap")}) == 1


@pytest.mark.parametrize("setting", [{"OPENBLAS_NUM_THREADS": "4"}, *({"OPENBLAS_CORETYPE": name} for name in able())])
def test_results_do_not_depend_on_the_blas(plain, setting):
    assert results(**setting) == plain
