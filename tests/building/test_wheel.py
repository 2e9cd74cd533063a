"""The kernels of a wheel: no compiler at run time, nothing written, and a sentence where something is missing."""

import os
import platform
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import processes
import pytest

import massart
from massart.kernels import compiling

PACKAGE = Path(massart.__file__).parent
NO_NUMBA = Path(__file__).parents[1] / "helpers" / "without_numba" / "sitecustomize.py"
TRAIN = "-m", "massart", "train", "rows.svm", "-f", "model.massart", "--quiet"
PREDICT = "-m", "massart", "predict", "model.massart", "rows.svm", "-o", "answers.txt", "--quiet"
CHOOSE = """
from massart import MonotoneBandit
bandit = MonotoneBandit(random_state=0)
choice = bandit.choose([[1.0, 0.0], [0.0, 1.0]])
bandit.learn(choice, 1.0)
"""


@pytest.fixture
def place(tmp_path):
    """A folder with rows to learn, and a package that nobody can write, without Numba."""
    rows = (f"{1 if i % 3 else -1} 1:{i % 7} 2:{i % 3}" for i in range(100))
    (tmp_path / "rows.svm").write_text("".join(f"{row}\n" for row in rows))
    shutil.copytree(PACKAGE, tmp_path / "site" / "massart", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(NO_NUMBA, tmp_path / "site")
    for folder, _, files in os.walk(tmp_path / "site"):
        for file in files:
            (Path(folder) / file).chmod(0o444)
        Path(folder).chmod(0o555)
    yield tmp_path
    for folder, _, _ in os.walk(tmp_path / "site"):
        Path(folder).chmod(0o755)


def python(place, *arguments, **environment):
    """Run Python with the package of that place, no home to write in, and no programs to be found."""
    nowhere = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "PATH": "/nonexistent"}
    alone = {"PYTHONPATH": str(place / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "MASSART_JIT")}
    return processes.run(
        [sys.executable, *arguments],
        env=kept | nowhere | alone | environment,
        cwd=place,
        capture_output=True,
        text=True,
    )


def test_the_extension_is_in_use():
    assert compiling.BUILT is not None, compiling.WHY_NOT_BUILT
    assert compiling.level() in compiling.levels()


@pytest.mark.parametrize("arguments", [TRAIN, ("-c", CHOOSE)], ids=["train", "choose"])
def test_a_read_only_installation_without_home_and_compiler_works(place, arguments):
    ended = python(place, *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    if arguments is TRAIN:
        predicted = python(place, *PREDICT)
        assert (predicted.returncode, predicted.stderr) == (0, "")
        assert len((place / "answers.txt").read_text().splitlines()) == 100


def test_doctor_and_warmup_know_where_kernels_come_from(place):
    ended = python(place, "-m", "massart", "doctor")
    assert f"compiled when the package was built, for {compiling.level()}" in " ".join(ended.stdout.split())
    assert ended.stdout.splitlines()[-1].strip() == "nothing is wrong", ended.stdout
    warmed = python(place, "-m", "massart", "warmup")
    assert warmed.stdout == f"all is compiled: the kernels came with the package, for {compiling.level()}\n"


def test_a_package_without_kernels_says_what_to_install(place):
    (place / "site" / "massart" / "kernels").chmod(0o755)
    for file in (place / "site" / "massart" / "kernels").glob("built.*"):
        file.unlink()
    ended = python(place, *TRAIN)
    assert ended.returncode != 0
    (line,) = ended.stderr.splitlines()
    assert line.startswith("massart train: the kernel ")
    assert line.endswith('is not installed: pip install "massart[jit]"')
    assert not (place / "model.massart").exists()
    examined = python(place, "-m", "massart", "doctor")
    assert examined.returncode == 1
    assert 'pip install "massart[jit]"' in examined.stdout


def test_a_level_that_there_is_not(place):
    ended = python(place, *TRAIN, MASSART_LEVEL="pentium")
    assert ended.returncode != 0
    assert "MASSART_LEVEL=pentium: there are kernels for" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_wrong_arguments_are_an_error_and_not_a_crash():
    """A kernel checks no index, but its arguments always have the kinds and dimensions it was compiled for."""
    score = compiling.BUILT.learning_rows_score_dense
    X, weights, scores = np.ones((3, 2)), np.ones(3), np.empty(3)
    score(X, weights, scores)
    assert scores.tolist() == [3.0, 3.0, 3.0]
    frozen = scores.copy()
    frozen.flags.writeable = False
    for arguments in [
        (X, weights),
        (X, weights, scores, scores),
        (X[:, :1], weights, scores),
        (X.astype(">f8"), weights, scores),
        (X.astype(np.float16), weights, scores),
        (X[0], weights, scores),
        (X, weights, frozen),
        (X, weights.astype(np.float32), scores),
        (X, (weights,), scores),
        (X, None, scores),
        (X.tolist(), weights, scores),
    ]:
        with pytest.raises((SystemError, TypeError)):
            score(*arguments)
    hash_texts = compiling.BUILT.parsing_tables_hash_texts
    for seed in (-1, 1 << 32, 1 << 70, "0", 0.5):
        with pytest.raises((OverflowError, TypeError)):
            hash_texts(np.empty(0, np.uint8), np.zeros(1, np.int64), seed, np.empty(0, np.uint32))
    learn = compiling.BUILT.learning_halfspace_learn_csr
    for rows in [(), (1, 2), (X, X, X), X, ((), ())]:
        with pytest.raises((SystemError, TypeError)):
            learn(rows, (), X, X, X, X, X)


@pytest.mark.skipif(sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="tags of glibc are looked at")
def test_the_wheel_runs_on_old_c_libraries():
    """No symbol is newer than glibc 2.17: `exp`, `log` and `pow` of libm would be."""
    (about,) = PACKAGE.parent.glob("massart-*.dist-info/WHEEL")
    assert re.findall("Tag: (.*)", about.read_text()) == [f"cp311-abi3-manylinux_2_17_{platform.machine()}"]
