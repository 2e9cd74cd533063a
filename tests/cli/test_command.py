"""Messages of the library name parameters of Python; the command shows flags instead."""

import ast
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import massart
from massart.cli._command import with_flags
from massart.cli.app import app

ROOT = Path(massart.__file__).parent
OTHERS = ("cli", "arena/registry.py", "arena/report", "learners/reference/peer_vw.py")  # command lines, options of VW


def texts(path):
    """The texts of a module that are no docstrings, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    docs = {id(node.body[0].value) for node in nodes if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_no_message_below_the_command_line_names_a_flag():
    modules = [path for path in ROOT.rglob("*.py") if not any(path.is_relative_to(ROOT / name) for name in OTHERS)]
    assert len(modules) > 100
    found = [
        f"{path.relative_to(ROOT)}, line {line}: {text[:80]!r}"
        for path in modules
        for line, text in texts(path)
        if re.search(r"(?<![\w-])(--[a-z]|-[bqf] )", text)
    ]
    assert not found, found


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("choose with `label`", "choose with `--label`"),
        ("name one with `label='my column'`", "name one with `--label 'my column'`"),
        ("others with `labels=('NEGATIVE', 'POSITIVE')`", "others with `--labels NEGATIVE,POSITIVE`"),
        ("pass `numbers=['price']` and `decimal=','`", "pass `--number price` and `--decimal ,`"),
        ("hash with `bits=22`", "hash with `-b 22`"),
        ("(with `strict=False` the row is left out)", "(without `--strict` the row is left out)"),
        ("leave `resume=True` out", "leave `--resume` out"),
        ("pass `weighted=True`", "pass `--importances`"),
        ("training with `passes=N` reads it twice", "training with `--passes N` reads it twice"),
        ("a file label=1/`x`, and label='y'", "a file label=1/`x`, and label='y'"),
    ],
)
def test_parameters_become_flags(message, shown):
    assert with_flags(message) == shown


def test_the_command_shows_flags_and_python_shows_parameters(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,size\n1,2\n3,4\n")
    with pytest.raises(massart.errors.InvalidDataError, match="name one with `label='COLUMN'`"):
        massart.data.read(path)
    for command in (["train", str(path)], ["convert", str(path), str(tmp_path / "b.vw")]):
        result = CliRunner().invoke(app, command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "name one with `--label COLUMN`" in result.stderr
    path.write_text("y,age\n1,2\n0,x\n7,4\n1,4\n" + "0,5\n" * 2**18)  # the text is within the head, the label too
    result = CliRunner().invoke(app, ["convert", str(path), str(tmp_path / "b.vw"), "--labels", "0,1"])
    assert "`--number age`" in result.stderr or "`--categorical age`" in result.stderr
    assert "name others with `--labels NEGATIVE,POSITIVE`; the row is left out" in result.stderr
