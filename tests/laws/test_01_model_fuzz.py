"""Law 1, with forged models: none makes the process read or write outside its memory; each is refused or can be used.

`MASSART_FUZZ` is the number of forgeries in all; half of them run here and half in the other of two processes.
"""

import json
import os
import sys

import processes
import pytest
import tiers

FORGERIES = tiers.FUZZ
FORGER = processes.HELPERS / "model_forger.py"
KINDS = 14
PARTS = 4
CHECKED = 2_800  # forgeries with bounds checked


def forge(count: int, seed: int, **environment: str) -> dict[str, dict[str, int]]:
    done = processes.run(
        [sys.executable, str(FORGER), "--count", str(count), "--seed", str(seed)],
        env=os.environ | environment,
        timeout=max(processes.PROCESS_LIMIT, FORGERIES / 20),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_forged_model_is_refused_or_can_be_used(part):
    count = -(-FORGERIES // (KINDS * PARTS))
    found = forge(count, part)
    assert len(found) == KINDS
    for kind, verdicts in found.items():
        assert sum(verdicts.values()) == count, kind
        assert verdicts["refused"] > 0, kind
        assert verdicts["used"] > 0, kind  # else nothing was tried


def test_no_index_of_a_kernel_is_out_of_bounds():
    found = forge(CHECKED // KINDS, 99, MASSART_JIT="1", NUMBA_BOUNDSCHECK="1")
    assert sum(sum(verdicts.values()) for verdicts in found.values()) == CHECKED
