"""Law 15: a file is read once, however many names lead to it."""

import os

import pytest
from typer.testing import CliRunner

from massart.cli.app import app
from massart.data import read
from massart.data.io.sources import find_sources
from massart.errors import InvalidDataError

ROWS = "1 1:0.5 2:1\n-1 1:1\n" * 10


def names(paths):
    return [os.fspath(source.path) for source in find_sources(paths)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "a.svm").write_text(ROWS)
    return tmp_path / "data"


def test_a_link_that_leads_back_does_not_multiply_a_file(folder):
    (folder / "loop").symlink_to(".", target_is_directory=True)
    assert names(f"{folder}/**/*.svm") == [f"{folder}/deep/a.svm"]
    assert sum(len(chunk) for chunk in read(f"{folder}/**/*.svm")) == 20


def test_several_links_that_lead_back_take_no_time(folder):
    for name in "bcdef":  # 5^40 paths for who follows them all
        (folder / name).symlink_to(".", target_is_directory=True)
        (folder / "deep" / name).symlink_to("..", target_is_directory=True)
    for paths in (f"{folder}/**", f"{folder}/**/*"):
        (found,) = names(paths)
        assert os.path.samefile(found, folder / "deep" / "a.svm")
    assert names(str(folder)) == names(f"{folder}/**/*.svm") == [f"{folder}/deep/a.svm"]


def test_links_in_a_folder_or_pattern_are_the_file_they_lead_to(folder):
    (folder / "b.svm").symlink_to("deep/a.svm")
    os.link(folder / "deep" / "a.svm", folder / "c.svm")
    (folder / "other.svm").write_text(ROWS)
    assert names(str(folder)) == [f"{folder}/b.svm", f"{folder}/other.svm"]
    assert names(f"{folder}/*.svm") == [f"{folder}/b.svm", f"{folder}/other.svm"]
    assert names(f"{folder}/**/*.svm") == [f"{folder}/b.svm", f"{folder}/other.svm"]


def test_a_folder_that_a_link_leads_to_is_read(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.svm").write_text(ROWS)
    (folder / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert names(f"{folder}/**/*.svm") == [f"{folder}/deep/a.svm", f"{folder}/link/b.svm"]


def test_patterns_match_what_they_matched(folder, monkeypatch):
    for name in ("b.svm", "deep/c.svm", ".hidden.svm", "deep/[x].svm"):
        (folder / name).write_text(ROWS)
    monkeypatch.chdir(folder)
    assert names("**/*.svm") == ["b.svm", "deep/[x].svm", "deep/a.svm", "deep/c.svm"]
    assert names("**/deep/**/c.svm") == ["deep/c.svm"]
    assert names("d*/**/?.svm") == ["deep/a.svm", "deep/c.svm"]
    with pytest.raises(InvalidDataError, match="no file matches"):
        find_sources("**/*.vw")


def test_a_file_that_is_named_twice_is_refused_with_both_names(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "b.svm").symlink_to("deep/a.svm")
    for paths in (
        ["deep/a.svm", "deep/a.svm"],
        ["deep/a.svm", folder / "deep" / "a.svm"],
        ["deep/a.svm", "b.svm"],
        ["deep", "deep/a.svm"],
        ["deep/a.svm", "**/*.svm"],
    ):
        with pytest.raises(InvalidDataError, match=r"a\.svm .*name it once"):
            find_sources(paths)
    result = CliRunner().invoke(app, ["train", "deep/a.svm", "b.svm", "-f", "m.massart"])
    assert result.exit_code == 2
    assert "deep/a.svm and b.svm are one file" in result.stderr


def test_pipes_are_not_compared(tmp_path):
    os.mkfifo(tmp_path / "a.svm")
    assert len(find_sources([tmp_path / "a.svm", tmp_path / "a.svm"])) == 2  # the second one is empty when it is read
