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
FAULTS = ("tests/service/test_service_faults.py", "tests/service/test_service_schema.py")  # repeated in a soak
SLOW = (  # they start many processes, compile kernels of their own, or learn for more than a second
    *FUZZERS,
    *STATISTICAL,
    *FAULTS,
    "tests/service/test_client.py",
    "tests/service/test_dashboard.py",
    "tests/service/test_guides.py",
    "tests/service/test_loadtest.py",
    "tests/service/test_simpson.py",
    "tests/service/test_service_api.py",
    "tests/service/test_service_postgres.py",
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
    "tests/scale/test_cluster.py",
    "tests/scale/test_spark.py",
    "tests/paper/test_algorithms_2_and_3.py::test_algorithm_3_is",
    "tests/test_examples.py",
    "tests/service/test_ofrep.py",
    "tests/service/test_personalizer_clients.py",
    "tests/service/test_service_guides.py",
    "tests/test_machine.py",
    "tests/test_site.py::test_commands_run",
    "tests/test_site.py::test_it_builds",
    "tests/worlds/test_world_group_noise.py",
    "tests/worlds/test_world_lower_bound.py",
)
NUMBA = (  # they start processes in which Numba compiles kernels
    *FUZZERS,
    "tests/cli/test_doctor.py::test_an_installation",
    "tests/cli/test_doctor.py::test_the_example",
    "tests/cli/test_doctor.py::test_each_problem",
    "tests/cli/test_doctor.py::test_damaged",
    "tests/cli/test_warmup.py",
    "tests/kernels/test_csv_kernel.py::test_nothing_outside",
    "tests/kernels/test_tables.py::test_no_kernel_reads",
    "tests/laws/test_08_same_bytes.py::test_what_is_learned_does_not_depend_on_what_the_compiler",
    "tests/laws/test_08_same_bytes.py::test_what_is_learned_does_not_depend_on_who_compiled",
    "tests/laws/test_10_cache.py",
)
JIT = (  # they call parts of kernels, which are no functions of their own once compiled
    "tests/building/test_recording.py",
    "tests/kernels/test_elementary.py::test_nothing_is_fused",
    "tests/kernels/test_four_experts.py",
    "tests/kernels/test_merge_duplicates.py",
    "tests/kernels/test_numbers.py::test_nothing_before_the_text_is_read",
    "tests/kernels/test_numbers.py::test_the_quick_way",
    "tests/kernels/test_numbers.py::test_usual_numbers_go_the_quick_way",
    "tests/kernels/test_numbers.py::test_what_is_no_plain_number",
    "tests/kernels/test_sums.py",
)
WHEEL = (  # they look at the kernels in a wheel
    "tests/building/test_wheel.py",
    "tests/laws/test_08_same_bytes.py::test_what_is_learned_does_not_depend_on_the_level",
)
MARKED = {"fuzz": FUZZERS, "soak": (*STATISTICAL, *FAULTS), "slow": SLOW, "numba": NUMBA, "jit": JIT, "wheel": WHEEL}
