"""The three tiers of tests: which tests belong to them, and the lengths of fuzzers and of statistical tests.

| tier | command | fuzzed inputs of each kind | statistical tests |
|---|---|---|---|
| check | `make check`: without tests marked slow | 600 | short |
| test | `make test`, and the fuzzers in `make fuzz` | 20,000 | short |
| soak | `make soak` | 1,000,000 | full length |

`MASSART_TIER` is the tier, `MASSART_FUZZ` the number of inputs if it is to be another.
"""

import os

TIER = os.environ.get("MASSART_TIER", "test")
FUZZ = int(os.environ.get("MASSART_FUZZ", {"check": "600", "test": "20000", "soak": "1000000"}[TIER]))


def length(short: int, full: int) -> int:
    """The number of seeds, runs or rounds of a statistical test."""
    return full if TIER == "soak" else short


# What a node's name begins with; tests/conftest.py gives it the marker.
FUZZERS = (
    "tests/kernels/test_text_fuzz.py",
    "tests/laws/test_01_bandit_files.py::test_forged_arrays",
    "tests/laws/test_01_bandit_files.py::test_nothing_is_out_of_bounds",
    "tests/laws/test_01_model_fuzz.py",
    "tests/laws/test_01_reader_fuzz.py",
    "tests/laws/test_13_choice_fuzz.py",
)
STATISTICAL = ("tests/test_certificates.py", "tests/test_mistake_bounds.py")
SLOW = (  # they start many processes, compile kernels of their own, or learn for more than a second
    *FUZZERS,
    *STATISTICAL,
    "tests/arena/test_sweep.py",
    "tests/cli/test_progress_live.py",
    "tests/cli/test_train_process.py",
    "tests/cli/test_warmup.py",
    "tests/evaluation/test_intervals.py::test_large_sample",
    "tests/kernels/test_csv_kernel.py::test_fuzz",
    "tests/kernels/test_csv_kernel.py::test_nothing_outside",
    "tests/laws/test_05_bounded_memory.py",
    "tests/laws/test_05_fit_memory.py",
    "tests/laws/test_06_one_writer.py",
    "tests/laws/test_08_same_bytes.py",
    "tests/laws/test_10_cache.py",
    "tests/laws/test_11_commands.py",
    "tests/learners/test_baselines_table.py",
    "tests/learners/test_classifier.py::test_check_estimator",
    "tests/learners/test_fit_polish.py",
    "tests/models/test_opening.py::test_another_process",
    "tests/learners/test_offline.py",
    "tests/learners/test_scales.py",
    "tests/paper/test_algorithms_2_and_3.py::test_algorithm_3_is",
    "tests/test_machine.py",
    "tests/worlds/test_world_group_noise.py",
    "tests/worlds/test_world_lower_bound.py",
)
MARKED = {"fuzz": FUZZERS, "soak": STATISTICAL, "slow": SLOW}
