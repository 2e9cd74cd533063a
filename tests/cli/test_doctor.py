"""`massart doctor`: facts about the installation, and an exit code that says whether something is wrong."""

import json
import os
import sys

import processes
import pytest

import massart


def doctor(folder, *arguments, **environment):
    command = [sys.executable, "-m", "massart", "doctor", *arguments]
    environment = {"MASSART_JIT": "1"} | environment
    return processes.run(command, env=os.environ | environment, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder with the kernels of one family."""
    place = tmp_path_factory.mktemp("doctor") / "cache"
    command = [sys.executable, "-m", "massart", "warmup", "known-noise", "--quiet"]
    assert processes.run(command, env=os.environ | {"MASSART_JIT": "1", "NUMBA_CACHE_DIR": str(place)}).returncode == 0
    return place


def test_an_installation_with_one_family_compiled(cache, tmp_path):
    ended = doctor(tmp_path, "--json", NUMBA_CACHE_DIR=str(cache))
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert found["problems"] == []
    assert found["versions"]["massart"] == massart.__version__
    assert found["extras"]["numba"]
    assert found["source"] == "compiled by Numba at first use (MASSART_JIT is set)"
    (state,) = found["cache"]
    files = list(cache.rglob("*.nbc"))
    assert state["folder"] == str(files[0].parent)
    assert (state["kernels"], state["stale"], state["damaged"]) == (len(files), 0, 0)
    assert state["megabytes"] == pytest.approx(sum(file.stat().st_size for file in files) / 1e6, abs=0.1)
    assert state["compiling_seconds"] > 0
    assert state["free_megabytes"] > 0
    assert found["kernels"]["known-noise"] == "compiled"
    assert found["kernels"]["arrays"].startswith("not compiled")
    assert found["machine"]["cores"] >= found["machine"]["usable_cores"] >= 1
    assert found["locks"] == "work"
    assert sorted(cache.rglob("*.nbc")) == sorted(files)  # it compiles nothing


def test_the_example_of_the_help_runs(cache, tmp_path):
    assert "massart doctor" in doctor(tmp_path, "--help", COLUMNS="100").stdout
    ended = doctor(tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = dict(line.split(None, 1) for line in ended.stdout.splitlines() if not line.startswith(" "))
    assert lines["massart"] == massart.__version__
    assert lines["compiled"] == "known-noise"
    assert ended.stdout.splitlines()[-1].strip() == "nothing is wrong"


def test_each_problem_comes_with_what_to_do(cache, tmp_path):
    (tmp_path / "file").write_text("")
    nowhere = doctor(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert nowhere.returncode == 1
    assert "wrong" in nowhere.stdout
    assert "set NUMBA_CACHE_DIR to a folder that you can write" in nowhere.stdout
    interpreted = doctor(tmp_path, NUMBA_DISABLE_JIT="1", NUMBA_CACHE_DIR=str(cache))
    assert interpreted.returncode == 1
    assert "NUMBA_DISABLE_JIT is set" in interpreted.stdout


def test_damaged_and_open_folders_are_told(cache, tmp_path):
    file = next(cache.rglob("*.nbc"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    damaged = doctor(tmp_path, "--json", NUMBA_CACHE_DIR=str(cache))
    file.write_bytes(whole)
    assert (damaged.returncode, damaged.stderr) == (1, "")
    assert "are damaged and will be compiled again" in json.loads(damaged.stdout)["problems"][0]
    cache.chmod(0o777)
    opened = doctor(tmp_path, NUMBA_CACHE_DIR=str(cache))
    cache.chmod(0o755)
    assert opened.returncode == 1
    assert f"{cache} can be written by all users" in opened.stdout
    assert "chmod go-w" in opened.stdout
