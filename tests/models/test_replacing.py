"""Writing: a failure leaves the old file as it was, and nothing else."""

import shutil
import sys

import numpy as np
import processes
import pytest
from model_cases import ARRAYS, META, ONE, assert_whole

from massart import files
from massart.errors import ModelFileError
from massart.models.model_file import read_model, write_model


def test_writing_where_no_folder_is_fails_and_leaves_nothing(tmp_path):
    target = tmp_path / "no" / "m.massart"
    with pytest.raises(FileNotFoundError) as caught:
        write_model(target, "demo", {}, ARRAYS)
    assert caught.value.filename == str(target)  # as it was given, not the name it is written under
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "m").mkdir()
    with pytest.raises(ModelFileError, match="could not be written"):
        write_model(tmp_path / "m", "demo", {}, ARRAYS)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_arrays_that_would_share_a_name_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="same name"):
        write_model(tmp_path / "m", "demo", {}, {"a": np.zeros(5000), "a.rows": ONE})


class Interrupt(BaseException):
    pass


def raising(error):
    def function(*_args, **_kwargs):
        raise error

    return function


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), MemoryError(), KeyboardInterrupt(), Interrupt()]
)
@pytest.mark.parametrize(
    "place",
    [
        *("files.os.fsync", "files.Path.replace", "models.model_file.json.dumps", "models.model_file.hashlib.sha256"),
        *("models.model_file.byte_blocks", "models.model_file.Folding.of"),
    ],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, place, error):
    monkeypatch.setattr(f"massart.{place}", raising(error))
    writing = isinstance(error, OSError) and place.startswith("files")
    with pytest.raises(ModelFileError if writing else type(error)) as caught:
        write_model(path, "demo", {}, {"w": ONE})
    monkeypatch.undo()
    if writing:
        assert f"{path} could not be written (No space left on device)" in str(caught.value)
        assert "free some space" in str(caught.value)
    assert_whole(read_model(path))
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]


@pytest.mark.parametrize(
    ("meta", "arrays"), [({"a": object()}, {}), ({"a": float("nan")}, {}), ({}, {"w": [[1], [2, 3]]})]
)
def test_what_cannot_be_written_leaves_the_old_file(path, meta, arrays):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        write_model(path, "demo", meta, arrays)
    assert_whole(read_model(path))
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]


_FULL_DISK = """
import resource, sys
import numpy as np
from massart import files
from massart.errors import ModelFileError
from massart.models.model_file import write_model
if int(sys.argv[2]) >= 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    write_model(sys.argv[1], "demo", {}, {"w": np.arange(100_000.0)})
except ModelFileError as error:
    print(error)
"""


def fill_the_disk(path, limit=-1):
    done = processes.run(
        [sys.executable, "-c", _FULL_DISK, str(path), str(limit)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{path} could not be written ("), done
    assert_whole(read_model(path))
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits stand in for a full disk")
@pytest.mark.parametrize("limit", [0, 500, 300_000, 800_300])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(path, limit):
    """The kernel refuses to let the file grow: for real, at the start, within an array, within the directory."""
    assert "File too large" in fill_the_disk(path, limit)


@pytest.fixture
def tiny_disk(tmp_path):
    """A disk of 64 kB, where the system lets one be made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    made = mount and processes.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("making a disk takes a system and a user who may mount one")
    yield disk
    processes.run([shutil.which("umount"), str(disk)], check=True)


def test_a_disk_without_space_leaves_the_old_file_and_nothing_else(tiny_disk):
    write_model(tiny_disk / "m.massart", "demo", META, ARRAYS)
    assert "No space left on device" in fill_the_disk(tiny_disk / "m.massart")


def test_a_new_file_replaces_the_old_one_in_one_step(path, monkeypatch):
    """Until the moment of replacement the old file can be read; afterwards only the new one is there."""
    seen = []
    replace = files.Path.replace

    def watching(self, target):
        seen.append(read_model(target)[0])
        assert read_model(self)[0] == "newer"
        return replace(self, target)

    monkeypatch.setattr(files.Path, "replace", watching)
    write_model(path, "newer", {}, {"w": ONE})
    assert seen == ["demo"]
    assert read_model(path)[0] == "newer"
    assert [p.name for p in path.parent.iterdir()] == ["m.massart"]
