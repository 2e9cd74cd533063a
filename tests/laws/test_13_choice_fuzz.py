"""Forged choices: each is refused with a MassartError, or learned with a finite state, and none reads out of bounds."""

import json
import os
import sys
from pathlib import Path

import choice_forging as forging
import processes
import tiers

COUNT = tiers.FUZZ
CHECKED = min(COUNT, 3_000)


def test_forged_choices_are_refused_or_learned_without_harm():
    refused, learned = forging.run(COUNT)
    assert refused + learned == COUNT
    assert learned > COUNT // 200  # signed with the key, and changed where nothing depends on it


def test_nothing_is_out_of_bounds():
    environment = os.environ | {"MASSART_JIT": "1", "NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, "-W", "error", str(Path(forging.__file__)), str(CHECKED)]
    ended = processes.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert sum(json.loads(ended.stdout)) == CHECKED


def test_a_seed_gives_the_same_forgeries_each_time():
    assert forging.run(200, seed=5) == forging.run(200, seed=5)
