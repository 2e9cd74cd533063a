"""A sweep gives the same rows however it is run: in one process or two, at once, killed and resumed, interrupted."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import processes
import pytest
from sklearn.linear_model import SGDClassifier

from massart import MassartClassifier, arena
from massart.arena.journal import Journal
from massart.arena.registry import LEARNERS as REGISTRY
from massart.errors import InvalidDataError, InvalidParameterError

WORLDS = ["masked-margin", "hunted-minority", {"name": "kink", "margin": 0.02, "dimension": 5}]
LEARNERS = ["perceptron", "sklearn-log", "massart", "massart-unknown"]
SMALL = {"worlds": WORLDS, "learners": LEARNERS, "rounds": 150, "seeds": 2}

# A sweep that takes some seconds, to be stopped on the way; it prints what it has as JSON.
LONG = {
    "worlds": ["sacrificed-minority", "worst-point"],
    "learners": ["massart", "arow"],
    "seeds": 12,
    "rounds": 6000,
}
PROGRAM = """
import json, sys
from massart import arena
options = json.loads(sys.argv[1])
try:
    rows = arena.sweep(**options)
    print(json.dumps({"rows": rows}, default=dict))
except arena.SweepInterrupted as stop:
    kept = {"rows": stop.rows, "partial": stop.partial, "done": stop.done, "total": stop.total}
    print(json.dumps(kept, default=dict))
"""


def text(rows):
    return json.dumps(rows, allow_nan=False, default=dict)


def start(options):
    return processes.start(
        [sys.executable, "-c", PROGRAM, json.dumps(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_lines(path, count, process):
    """Wait until the journal has so many lines; fail when the sweep is over before."""
    for _ in range(6000):
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    pytest.fail("the sweep wrote nothing for a minute")


@pytest.fixture(scope="module")
def small_rows():
    return arena.sweep(**SMALL)


@pytest.fixture(scope="module")
def long_rows():
    return arena.sweep(**LONG)


def test_rows_are_those_of_the_races_in_order(small_rows):
    expected = []
    for world in WORLDS:
        for seed in range(2):
            if isinstance(world, str):
                expected += arena.race(LEARNERS, world, 150, seed=seed).rows
            else:
                own = [row for row in small_rows if row["world"] == "kink" and row["seed"] == seed]
                assert {(row["margin"], row["dimension"]) for row in own} == {(0.02, 5)}
                assert list(dict.fromkeys(row["learner"] for row in own)) == LEARNERS
                expected += own
    assert text(small_rows) == text(expected)


def test_two_processes_give_the_same_bytes(small_rows):
    parents, events = set(), []

    def progress(event):
        parents.add(os.getpid())
        events.append(event)

    assert text(arena.sweep(**SMALL, jobs=2, progress=progress)) == text(small_rows)
    assert parents == {os.getpid()}
    assert events[-1].done == events[-1].total == 150 * 4 * 3 * 2
    assert [event.done for event in events] == sorted(event.done for event in events)


def test_learners_brought_along_race_in_other_processes():
    learners = {"ours": MassartClassifier(0.1, 0.05), "theirs": SGDClassifier(), "pool": MassartClassifier()}
    options = {"rounds": 100, "seeds": [3, 1]}
    one, two = (arena.sweep(["kink"], learners, jobs=jobs, **options) for jobs in (1, 2))
    assert text(one) == text(two)
    assert list(dict.fromkeys((row["seed"], row["learner"]) for row in one)) == [
        (seed, learner) for seed in (3, 1) for learner in learners
    ]
    assert {row["error"] for row in one} == {None}
    assert one[-1]["certified"] is not None


def test_a_failing_learner_is_marked_in_every_race():
    rows = arena.sweep(["kink", "worst-point"], ["exponential-net", "massart"], rounds=100, seeds=2, jobs=2)
    failed = [row for row in rows if row["learner"] == "exponential-net"]
    assert [(row["world"], row["seed"], row["rounds"]) for row in failed] == [
        (world, seed, 0) for world in ("kink", "worst-point") for seed in (0, 1)
    ]
    assert all("InvalidParameterError" in row["error"] for row in failed)
    assert sum(row["rounds"] == 100 for row in rows) == 4


def test_default_learners():
    rows = arena.sweep("kink", rounds=20, seeds=1)
    assert tuple(dict.fromkeys(row["learner"] for row in rows)) == REGISTRY.default


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_half_way_it_finishes_only_what_is_missing(tmp_path, long_rows, jobs):
    journal = tmp_path / "sweep.jsonl"
    options = {**LONG, "jobs": jobs, "resume": str(journal)}
    process = start(options)
    wait_for_lines(journal, 7, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    left = journal.read_bytes()
    whole = left[: left.rindex(b"\n") + 1]
    done = whole.count(b"\n") - 1
    units = 12 * (1 + 2)  # per seed: one race of both on the oblivious world, one game of each on the other
    assert 6 <= done < units, "it was killed on the way"
    begun = []
    work = 6000 * 2 * 2 * 12
    rows = arena.sweep(**options, progress=lambda event: begun.append(event.done))
    assert text(rows) == text(long_rows)
    now = journal.read_bytes()
    assert now.startswith(whole), "what was finished stays"
    keys = [json.loads(line)["unit"] for line in now.splitlines()[1:]]
    assert len(keys) == len(set(keys)) == units, "and is not run again"
    assert begun[0] > 6000 * done - 1
    assert begun[-1] == work
    before = now
    assert text(arena.sweep(**options)) == text(long_rows)
    assert journal.read_bytes() == before, "nothing is left to do"


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupted_it_keeps_what_was_done(tmp_path, long_rows, jobs):
    journal = tmp_path / "sweep.jsonl"
    process = start({**LONG, "jobs": jobs, "resume": str(journal)})
    wait_for_lines(journal, 5, process)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal: to all of its processes
    out, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == 0
    kept = json.loads(out)
    assert 4 <= kept["done"] < kept["total"] == 36
    # an interrupt during a write to the journal leaves its unit out of the journal, not out of the rows
    assert kept["done"] - (journal.read_bytes().count(b"\n") - 1) in (0, 1)
    finished = {(row["world"], row["seed"], row["learner"]) for row in kept["rows"]}
    same = [row for row in long_rows if (row["world"], row["seed"], row["learner"]) in finished]
    assert text(kept["rows"]) == text(same)
    assert {row["learner"] for row in kept["partial"]} <= {"massart", "arow"}
    assert jobs == 1 or kept["partial"] == []


def test_the_rows_of_the_race_that_was_running_are_kept_apart():
    events = []

    def interrupt(event):
        events.append(event)
        if event.done > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(arena.SweepInterrupted, match="after 0 of 1 units") as stop:
        arena.sweep("kink", "massart", rounds=10**9, seeds=1, progress=interrupt)
    assert stop.value.rows == []
    partial = stop.value.partial
    assert partial[-1]["rounds"] > 50_000
    race = arena.race("massart", "kink", 50_000)
    known = {row["rounds"]: row for row in race}
    assert [known[row["rounds"]] for row in partial if row["rounds"] in known][:-1] == race.rows[:-1]


@pytest.mark.parametrize("kept", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_torn_line_is_cut_off(tmp_path, kept):
    path = tmp_path / "sweep.jsonl"
    options = {"worlds": "kink", "learners": "massart", "rounds": 50, "seeds": 3, "resume": path}
    rows = arena.sweep(**options)
    whole = path.read_bytes()
    begin = whole[:-1].rindex(b"\n") + 1
    for cut in (begin + int(kept * (len(whole) - begin)), int(kept * whole.index(b"\n"))):
        path.write_bytes(whole[:cut])
        assert text(arena.sweep(**options)) == text(rows)
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": 60},
        {"seeds": 4},
        {"worlds": ["kink", "fixed-pair"]},
        {"worlds": {"name": "kink", "margin": 0.03}},
        {"learners": "paper"},
        {"learners": {"massart": MassartClassifier(0.1, 0.02)}},
    ],
)
def test_the_journal_of_another_sweep_is_refused(tmp_path, change):
    path = tmp_path / "sweep.jsonl"
    options = {"worlds": "kink", "learners": {"massart": MassartClassifier(0.1, 0.01)}, "rounds": 50, "seeds": 3}
    arena.sweep(**options, resume=path)
    before = path.read_bytes()
    (name,) = change
    with pytest.raises(InvalidParameterError, match=f"belongs to a sweep with {name}="):
        arena.sweep(**{**options, **change}, resume=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"my,precious,data", b"my,precious\ndata\n", b'{"rows": 3}\n', b"[1]\n", b"\n"])
def test_a_file_that_is_no_journal_is_not_touched(tmp_path, content):
    path = tmp_path / "precious.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidParameterError, match="is not the journal of a sweep"):
        arena.sweep("kink", "massart", rounds=10, resume=path)
    assert path.read_bytes() == content


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "sweep.jsonl"
    Journal(path, {}).add("a", [])
    with path.open("a") as file:
        file.write('{"unit": "b", "rows"\n{"unit": "c", "rows": []}\n')
    with pytest.raises(InvalidDataError, match=r"line 3 of .* is damaged: delete it"):
        Journal(path, {})


@pytest.mark.parametrize("place", ["missing/sweep.jsonl", "."])
def test_a_journal_that_cannot_be_written_is_found_before_the_sweep(tmp_path, place):
    events = []
    with pytest.raises(InvalidParameterError, match="cannot resume from"):
        arena.sweep("kink", "massart", resume=tmp_path / place, progress=events.append)
    assert events == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worlds": ["kinck"]}, "no world 'kinck'; did you mean 'kink'"),
        ({"worlds": {"name": "kink", "margin": 0.5}}, "needs margin in"),
        ({"worlds": ["kink", "E4"]}, "'kink' is there twice"),
        ({"worlds": []}, "no world was given"),
        ({"worlds": 3}, "give names or mappings"),
        ({"worlds": {"margin": 0.1}}, "give names or mappings"),
        ({"worlds": {"name": "kink", "seed": 1}}, "leave 'seed' out"),
        ({"learners": ["masart"]}, "did you mean 'massart'"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"seeds": 0}, "seeds must be a whole number"),
        ({"seeds": [1, 1]}, "none twice"),
        ({"seeds": []}, "at least one"),
        ({"seeds": [-1]}, "each of seeds must be a whole number, at least 0, got -1"),
        ({"jobs": 0}, re.escape("jobs (-1: one per core) must be a whole number, at least 1")),
    ],
)
def test_mistakes_of_the_caller_are_refused_before_anything_runs(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        arena.sweep(**{"worlds": "kink", "learners": "massart", "rounds": 10**9, **options})


def test_progress_of_a_sweep_in_one_process():
    events = []
    begin = time.monotonic()
    arena.sweep(["kink", "fixed-pair"], ["massart", "perceptron"], rounds=50_000, seeds=3, progress=events.append)
    assert 1 <= len(events) <= 2 + 10 * (time.monotonic() - begin)
    assert events[-1].done == events[-1].total == 50_000 * 2 * 2 * 3
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert [standing.learner for standing in events[-1].standings] == ["massart", "perceptron"]
    assert events[-1].standings[0].rounds == 50_000


def test_peers_may_have_fewer_seeds():
    every = arena.sweep(["kink"], ["massart", "sklearn-log"], rounds=60, seeds=3)
    fewer = arena.sweep(["kink"], ["massart", "sklearn-log"], rounds=60, seeds=3, peer_seeds=1)
    assert fewer == [row for row in every if row["learner"] == "massart" or row["seed"] == 0]
    with pytest.raises(InvalidParameterError, match="peer_seeds"):
        arena.sweep(["kink"], ["massart"], rounds=60, seeds=3, peer_seeds=0)


def test_workers_do_not_hear_ctrl_c():
    program = (
        "import signal, sys\n"
        "from joblib import Parallel, delayed\n"
        "import massart.arena\n"
        "with sys.modules['massart.arena.sweep']._workers_ignore_interrupts():\n"
        "    found = Parallel(2)(delayed(signal.pthread_sigmask)(signal.SIG_BLOCK, []) for _ in range(4))\n"
        "print(all(signal.SIGINT in mask for mask in found), signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
    )
    done = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "True set()"
