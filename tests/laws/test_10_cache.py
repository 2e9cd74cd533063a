"""Law 10: without a place for compiled kernels all works, with one warning that names the cost; never a crash."""

import json
import os
import pickle
import re
import shutil
import stat
import sys
from pathlib import Path

import numpy as np
import processes
import pytest

import massart

SMALL = (  # two kernels that are compiled in a second, and what they give
    "import numpy as np; from massart.kernels.learning.elementary import coin;"
    "from massart.kernels.parsing.hashing import murmur3;"
    "word = np.frombuffer(b'word', np.uint8);"
    "print(coin(np.uint64(3), 0.5), murmur3(word, np.uint64(0), np.uint64(4), np.uint32(7)))"
)
LARGE = (  # one whose compiled form takes 160 KB
    "import numpy as np; from massart.kernels.parsing.numbers import parse_number;"
    "print(parse_number(np.frombuffer(b'12.5e3', np.uint8), 0, 6))"
)
COUNT = "; import massart.kernels.compiling as c; print('compiled', c.compiled().kernels)"


def python(code, timeout=processes.PROCESS_LIMIT, **environment):
    """Run code where only these settings say where compiled kernels are kept."""
    left_out = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [sys.executable, "-c", code]
    compiler = {"MASSART_JIT": "1"}
    return processes.run(command, env=kept | compiler | environment, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def answers():
    """What the two kernels give, whoever compiled them."""
    ended = python(SMALL)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A copy of the package beside which nothing can be kept, not even by the administrator."""
    copy = tmp_path_factory.mktemp("sealed") / "massart"
    shutil.copytree(Path(massart.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "__pycache__").write_text("a file where a folder would have to be\n")
    return {"PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}


def one_warning(ended):
    """The only line on stderr."""
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stderr.splitlines()
    return line


# Nowhere to keep anything.


def test_read_only_install_and_unwritable_home(sealed, answers):
    ended = python(SMALL, HOME="/dev/null", **sealed)
    line = one_warning(ended)
    assert ended.stdout == answers
    assert line.startswith("there is no place to keep compiled kernels (")
    assert "each process compiles those it uses, usually 1 to 60 s" in line
    assert "set NUMBA_CACHE_DIR to a folder that you can write" in line


def test_import_alone_says_nothing(sealed):
    ended = python("import massart; massart.MassartClassifier, massart.MonotoneBandit", HOME="/dev/null", **sealed)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_warnings_as_errors_do_not_stop_it(sealed, answers):
    code = f"import warnings; warnings.simplefilter('error'); {SMALL}"
    ended = python(code, HOME="/dev/null", **sealed)
    assert (ended.returncode, ended.stdout) == (0, answers)


def test_a_sealed_install_uses_the_user_s_folder(sealed, answers, tmp_path):
    home = {"HOME": str(tmp_path)} | sealed
    first, second = python(SMALL + COUNT, **home), python(SMALL + COUNT, **home)
    assert (first.returncode, first.stderr, second.stderr) == (0, "", "")
    assert first.stdout == f"{answers}compiled 2\n"
    assert second.stdout == f"{answers}compiled 0\n"
    assert list(tmp_path.rglob("*.nbc"))
    for folder in (tmp_path / ".cache").rglob("*"):
        assert not folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_a_chosen_folder_that_cannot_be(answers, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    ended = python(SMALL, NUMBA_CACHE_DIR=str(blocked / "cache"))
    assert ended.stdout == answers
    assert f"({blocked / 'cache'}" in one_warning(ended)


@pytest.mark.parametrize("largest", [0, 1000, 70_000])  # bytes of a file: no probe, part of one, not the whole kernel
def test_full_disk(largest, tmp_path):
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({largest}, {largest})); "
    ended = python(limit + LARGE, NUMBA_CACHE_DIR=str(tmp_path))
    line = one_warning(ended)
    assert ended.stdout.startswith("(12500.0")
    assert "File too large" in line
    assert "each process compiles those it uses" in line
    assert not list(tmp_path.rglob("*.tmp"))  # nor half a file
    for file in tmp_path.rglob("*.nbc"):
        assert file.stat().st_size <= largest


# Damaged files.


def damage(file, how):
    content = bytearray(file.read_bytes())
    if how == "empty":
        content.clear()
    elif how == "half":
        del content[len(content) // 2 :]
    elif how == "one byte less":
        del content[-1]
    elif how == "flipped":  # in the machine code
        content[len(content) // 2] ^= 0x40
    else:
        content[:] = np.random.default_rng(0).bytes(len(content))
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["empty", "half", "one byte less", "flipped", "noise"])
def test_damaged_files_are_compiled_again(how, answers, tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert python(SMALL, **place).returncode == 0
    files = [file for file in tmp_path.rglob("*.nb*") if file.is_file()]
    assert files
    for file in files:
        damage(file, how)
    second, third = python(SMALL, **place), python(SMALL + COUNT, **place)
    assert second.stdout == answers
    assert "is damaged): it is compiled again" in one_warning(second)
    assert (third.stdout, third.stderr) == (f"{answers}compiled 0\n", "")


def test_no_damage_is_taken_for_a_kernel(tmp_path):
    from massart.kernels.cache_folders import DamagedError, Folder

    folder, body, stamp = Folder(tmp_path), bytes(range(256)), b"s" * 32
    folder.write("kernel", stamp, 1.5, body)
    file = tmp_path / "kernel.nbc"
    whole = file.read_bytes()
    assert folder.read("kernel", stamp) == body
    assert folder.read("kernel", b"t" * 32) is None  # of other sources
    damaged = [whole[:size] for size in range(len(whole))]
    damaged += [
        whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :] for at in range(len(whole)) for bit in range(8)
    ]
    for content in [*damaged, whole + b"\0"]:
        file.write_bytes(content)
        with pytest.raises(DamagedError, match=r"kernel\.nbc is damaged"):
            folder.read("kernel", stamp)
        assert folder.damaged() == ["kernel.nbc"]


def test_several_processes_compile_at_once(answers, tmp_path):
    place = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    place |= {"MASSART_JIT": "1", "NUMBA_CACHE_DIR": str(tmp_path / "made" / "by" / "all")}
    command = [sys.executable, "-c", SMALL]
    started = [processes.start(command, env=place, stdout=-1, stderr=-1, text=True) for _ in range(4)]
    for process in started:
        with process:
            out, err = process.communicate(timeout=processes.PROCESS_LIMIT)
            assert (process.returncode, out, err) == (0, answers, "")
    assert python(SMALL + COUNT, **{"NUMBA_CACHE_DIR": place["NUMBA_CACHE_DIR"]}).stdout == f"{answers}compiled 0\n"


# What is read is run: nobody else may write it.


class Bomb:
    """What runs code when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("open_to_all", ["the folder", "the one above", "the file", "nothing"])
def test_what_others_can_write_is_not_read(open_to_all, answers, tmp_path):
    above = tmp_path / "above"
    place = {"NUMBA_CACHE_DIR": str(above / "cache")}
    assert python(SMALL, **place).returncode == 0
    files = list(above.rglob("*.nbc"))
    from massart.kernels.cache_folders import Folder, Kept

    for file in files:  # as if by somebody who could write there
        folder = Folder(file.parent)
        (kept,) = [one for one in folder.kept() if one.name == file.stem]
        assert isinstance(kept, Kept)
        folder.write(kept.name, kept.stamp, kept.seconds, pickle.dumps(Bomb(tmp_path / "exploded")))
    changed = {"the folder": files[0].parent, "the one above": above, "the file": None}.get(open_to_all)
    if changed is not None:
        changed.chmod(0o777)
    if open_to_all == "the file":
        for file in files:
            file.chmod(0o666)
    ended = python(SMALL, **place)
    assert ended.stdout == answers
    assert (tmp_path / "exploded").exists() == (open_to_all == "nothing")  # the test's own check: the bomb works
    if changed is not None:
        assert f"{changed} can be written by all users" in one_warning(ended)
    elif open_to_all == "the file":
        assert "can be written by all users" in one_warning(ended)


def test_a_sticky_folder_above_is_no_danger(answers, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    place = {"NUMBA_CACHE_DIR": str(shared)}
    first, second = python(SMALL, **place), python(SMALL + COUNT, **place)
    assert (first.stdout, first.stderr) == (answers, "")
    assert second.stdout == f"{answers}compiled 0\n"


def test_who_may_own_and_write():
    from massart.kernels.cache_folders import _others_can_write

    def verdict(mode, uid, gid=12345, group_may=False):
        return _others_can_write(os.stat_result((mode, 0, 0, 1, uid, gid, 0, 0, 0, 0)), group_may)

    another = 54321
    for uid in {0, os.geteuid(), Path(massart.__file__).stat().st_uid}:
        assert verdict(0o755, uid) == ""
        assert verdict(0o775, uid) == "can be written by a group (number 12345)"
        assert verdict(0o775, uid, group_may=True) == ""
        assert verdict(0o757, uid, group_may=True) == "can be written by all users"
    assert verdict(0o700, another, group_may=True) == "belongs to another user (number 54321)"


# Freshness.


def test_an_edit_of_a_shared_file_compiles_again_what_takes_functions_from_it(tmp_path):
    copy = tmp_path / "massart"
    shutil.copytree(Path(massart.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    place = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    code = (
        "import numpy as np; from massart.kernels.parsing.hashing import short_murmur3;"
        "print(short_murmur3(np.frombuffer(b'word' * 8, np.uint8), np.uint64(0), np.uint64(8), np.uint32(7)))"
    )
    first, second = (python(code + COUNT, **place).stdout for _ in range(2))
    assert "compiled 0" not in first
    assert "compiled 0" in second
    shared = copy / "kernels" / "parsing" / "swar.py"  # hashing.py takes load_word from there
    source = shared.read_text()
    inverted, places = re.subn(
        r"return (builder\.load\(builder\.bitcast\(place,.*\))", r"return builder.not_(\1)", source
    )
    assert places == 1
    shared.write_text(inverted)
    edited, again = (python(code + COUNT, **place).stdout for _ in range(2))
    assert edited.splitlines()[1:] == first.splitlines()[1:], "as many are compiled as at first"
    assert edited.splitlines()[0] != first.splitlines()[0] == second.splitlines()[0], "with another result"
    assert again.splitlines() == [edited.splitlines()[0], "compiled 0"]
    shared.write_text(source)
    assert python(code + COUNT, **place).stdout == first


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that may be edited, and settings under which it is imported and keeps kernels."""
    copy = tmp_path / "massart"
    shutil.copytree(Path(massart.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy, {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}


def edit(file):
    file.write_text(file.read_text() + "\n# edited\n")


def test_an_edit_in_a_shared_module_compiles_all_that_depend_on_it(copied):
    copy, place = copied
    word = "np.frombuffer(b'wordword', np.uint8), np.uint64(0), np.uint64(8)"
    # The first takes load_word from swar.py; the second is between them in tables.py; the third has no part in it.
    hashing = f"from massart.kernels.parsing.hashing import vw_hash; print(vw_hash({word}, np.uint32(7)))"
    tables = (
        "from massart.kernels.parsing.tables import hash_texts; out = np.empty(1, np.uint32);"
        "hash_texts(np.frombuffer(b'wordword', np.uint8), np.array([0, 8]), np.uint32(7), out); print(out)"
    )
    apart = "from massart.kernels.learning.elementary import log; print(log(2.0))"

    def compiled(code):
        ended = python(f"import numpy as np; {code}{COUNT}", **place)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    first = [compiled(code) for code in (hashing, apart)]
    first.insert(1, compiled(tables))
    assert all("compiled 0" not in output for output in first)
    assert all("compiled 0" in compiled(code) for code in (hashing, tables, apart))
    edit(copy / "kernels" / "parsing" / "swar.py")
    assert compiled(hashing) == first[0]
    assert "compiled 0" not in compiled(tables)
    assert "compiled 0" in compiled(apart)


@pytest.mark.parametrize(
    "line",
    [
        "from massart.kernels.parsing.shared import number",
        "from massart.kernels.parsing import row_errors, shared",
        "from massart.kernels.parsing import (\n    row_errors,\n    shared as other,\n)",
        "import massart.kernels.parsing.shared as other",
        "import math, massart.kernels.parsing.shared",
        "from .shared import number",
        "from . import shared",
        "from ..parsing import shared",
        "from massart.kernels.parsing.between import number",
        "from massart.outside import number",
        "if True:\n    from massart.kernels.parsing.shared import number",
    ],
)
def test_every_form_of_import_is_followed(copied, line):
    copy, place = copied
    parsing = copy / "kernels" / "parsing"
    (parsing / "shared.py").write_text("number = 1\n")
    (parsing / "between.py").write_text("from massart.kernels.parsing.shared import number\n")
    (copy / "outside.py").write_text("from massart.kernels.parsing.shared import number\n")
    (parsing / "kernel.py").write_text(f"{line}\n")
    code = "from massart.kernels.jit import stamp_of; print(stamp_of('parsing.kernel').hex())"
    before, again = (python(code, **place).stdout for _ in range(2))
    assert len(before) == 65
    assert before == again
    edit(parsing / "shared.py")
    assert python(code, **place).stdout not in (before, "")


def test_bounds_checking_has_kernels_of_its_own(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert "compiled 2" in python(SMALL + COUNT, **place).stdout
    assert "compiled 2" in python(SMALL + COUNT, NUMBA_BOUNDSCHECK="1", **place).stdout
    assert "compiled 0" in python(SMALL + COUNT, **place).stdout


# First use.


def test_the_first_training_says_that_it_compiles_and_counts_it_apart(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 4))
    X[:, 0] = np.sign(X[:, 1])
    np.save(tmp_path / "rows.npy", X)
    known = ("--noise-rate", "0.1", "--margin", "0.05", "--label", "1", "--json")
    command = [sys.executable, "-m", "massart", "train", str(tmp_path / "rows.npy"), *known]
    place = os.environ | {"MASSART_JIT": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (processes.run(command, env=place, capture_output=True, text=True) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    words = "massart train: compiling, once per machine (usually 1 to 60 s)"
    assert first.stderr.splitlines().count(words) == 1
    assert "compiling" not in second.stderr
    cold, warm = json.loads(first.stdout), json.loads(second.stdout)
    assert warm["compiling_seconds"] == 0.0
    assert 0.0 < cold["compiling_seconds"] < cold["seconds"]
    for summary in (cold, warm):
        learning = summary["seconds"] - summary["compiling_seconds"]
        assert summary["rows_per_second"] * learning == pytest.approx(1000, rel=1e-9)


def test_a_quiet_command_passes_on_warnings_only(capsys):
    import logging

    from massart.cli.process import with_log

    def fit(quiet):
        log = logging.getLogger("massart")
        log.info("compiling")
        log.warning("not kept")

    with_log(fit)(quiet=True)
    assert capsys.readouterr().err == "massart fit: not kept\n"
    with_log(fit)(quiet=False)
    assert capsys.readouterr().err == "massart fit: compiling\nmassart fit: not kept\n"


def test_python_is_told_by_the_logger_alone(tmp_path):
    code = (
        f"import logging; logging.basicConfig(level=logging.INFO, format='%(name)s %(levelname)s %(message)s'); {SMALL}"
    )
    silent = python(SMALL, NUMBA_CACHE_DIR=str(tmp_path / "a"))
    spoken = python(code, NUMBA_CACHE_DIR=str(tmp_path / "b"))
    assert silent.stderr == ""
    assert spoken.stderr.splitlines() == ["massart INFO compiling, once per machine (usually 1 to 60 s)"]
