"""Ordinary command lines are understood without Typer: as Typer understands them, or not at all."""

import functools
import re
import shlex
import sys
from types import SimpleNamespace
from typing import Annotated, get_args

import processes
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

from massart.cli.app import for_typer
from massart.cli.main import COMMANDS, call, command_named
from massart.cli.parameters import Declared, Option, understood

TYPER_ITSELF = ("doctor", "warmup")  # they are declared in Typer's own words
WORDS = ("a.svm", "0", "7", "18", "1e6", ".25", "0.1", "3.", "1e-3", "00", "x,y", "no", "two words", "-", "ünï")
ODD = (
    "",
    "-1",
    "--",
    "-7.5",
    "nan",
    "inf",
    "1_000",
    " 4",
    "0x10",
    "1" * 40,
    "--help",
    "-h",
    "--version",
    "-b18",
    "True",
)


@functools.cache
def recorder(name):
    """The command as Typer calls it, doing nothing but to note its arguments; and the notes."""
    notes = []

    @functools.wraps(command_named(name))
    def note(**arguments):
        notes.append(arguments)

    app = typer.Typer()
    app.command()(for_typer(note))
    return get_command(app), notes


def by_typer(name, words):
    """The arguments that Typer passes, None if it shows help or a mistake instead."""
    command, notes = recorder(name)
    notes.clear()
    try:
        command(list(words), standalone_mode=False)
    except Exception:
        return None
    return dict(notes[0]) if notes else None


def flags_of(name):
    declared = [get_args(kind) for key, kind in command_named(name).__annotations__.items() if key != "return"]
    flags = [flag for kind in declared for one in kind if isinstance(one, Declared) for flag in one.flags]
    return (*flags, *(f"--{key.replace('_', '-')}" for key in command_named(name).__annotations__))


@st.composite
def command_lines(draw):
    name = draw(st.sampled_from([one for one in COMMANDS if one not in TYPER_ITSELF]))
    values = st.sampled_from(WORDS) | st.sampled_from(ODD) | st.sampled_from(flags_of(name))
    pair = st.tuples(st.sampled_from(flags_of(name)), st.sampled_from(WORDS))
    pieces = draw(
        st.lists(values.map(lambda word: [word]) | pair.map(list) | pair.map("=".join).map(lambda w: [w]), max_size=5)
    )
    return name, [word for piece in pieces for word in piece]


@settings(max_examples=600, deadline=None)
@given(command_lines())
def test_arguments_are_those_of_typer_or_typer_is_asked(line):
    name, words = line
    mine = understood(command_named(name), words)
    if mine is not None:
        theirs = by_typer(name, words)
        assert mine == theirs
        assert list(map(type, mine.values())) == list(map(type, theirs.values()))


@pytest.mark.parametrize(
    "line",
    [
        "train rows.svm -f model.massart",
        "train - --format vw -b 22 --model=m --quiet",
        "train a.csv b.csv --label -1 --holdout 10 --passes 3 -f m --checkpoint-every 30s --ignore id --ignore day",
        "train rows.svm --noise-rate .1 --margin 5e-2 --horizon 1e6 --seed 3 --threads 2 --predictions - --scores",
        "predict model.massart rows.svm -o out.txt --scores --strict",
        "predict model.massart",
        "inspect model.massart --top 20 --json",
        "convert a.csv b.csv rows.svm --label y --threads 1",
        "race kink hunted-minority --rounds 5000 --seeds 2 -l massart --report race.html",
        "worlds",
        "bound --noise-rate .1 --margin .05",
        "evaluate log.vw --policy uniform --confidence .99",
    ],
)
def test_ordinary_command_lines_are_understood(line):
    """Else every training would wait for Typer, and the test above would show nothing."""
    name, *words = shlex.split(line)
    mine = understood(command_named(name), words)
    assert mine is not None
    assert mine == by_typer(name, words)


def test_examples_of_help_are_understood():
    found = 0
    for name in COMMANDS:
        for line in re.findall(rf"^ *(?:printf .*\| )?massart ({name} .*)$", command_named(name).__doc__, re.MULTILINE):
            words = shlex.split(line)[1:]
            mine = understood(command_named(name), words)
            assert (mine is None) == (name in TYPER_ITSELF), line
            assert mine is None or mine == by_typer(name, words)
            found += mine is not None
    assert found >= 8


@pytest.mark.parametrize(
    "line",
    [
        "train rows.svm --passes 0",  # below its minimum
        "train rows.svm --passes few",
        "train rows.svm --no-such-option",
        "train rows.svm -f",
        "train rows.svm -f m -f n",
        "train rows.svm --help",
        "predict",
        "inspect a.massart b.massart",
        "race kink --rounds many",
        "bound --noise-rate .1",
        "evaluate log.vw --reward-range 0 1",  # two values
    ],
)
def test_mistakes_and_help_are_left_to_typer(line):
    name, *words = shlex.split(line)
    assert understood(command_named(name), words) is None


def test_settings_that_change_a_value_are_left_to_typer():
    def clamped(value: Annotated[int, Option("--value", min=1, clamp=True)] = 1) -> None: ...

    def in_typers_words(value: Annotated[int, typer.Option("--value", envvar="VALUE")] = 1) -> None: ...

    def with_a_no(value: Annotated[bool, Option()] = True) -> None: ...

    assert [understood(command, []) for command in (clamped, in_typers_words, with_a_no)] == [None] * 3


@pytest.mark.parametrize("asked", ["by a shell", "on windows", "unknown", "nothing", "usual"])
def test_typer_is_called_where_it_has_more_to_do(monkeypatch, asked):
    """It completes lines for shells, expands patterns on Windows, and says what is wrong with a line."""
    called = []
    monkeypatch.setattr("massart.cli.app.app", lambda: called.append("Typer"))
    monkeypatch.setattr("massart.cli.worlds.worlds", lambda **options: called.append(options))
    monkeypatch.setattr("massart.cli.main.understood", lambda command, words: {"json": True})
    if asked == "by a shell":
        monkeypatch.setenv("_MASSART_COMPLETE", "complete_bash")
    if asked == "on windows":
        monkeypatch.setattr("massart.cli.main.os", SimpleNamespace(name="nt", environ={}))
    call({"unknown": ["wordls", "--json"], "nothing": []}.get(asked, ["worlds", "--json"]))
    assert called == ([{"json": True}] if asked == "usual" else ["Typer"])


@pytest.mark.parametrize(("error", "code"), [("KeyboardInterrupt", 130), ("BrokenPipeError", 1), ("MemoryError", 2)])
def test_what_no_command_has_caught_ends_with_a_code_and_no_traceback(error, code):
    program = f"import massart.cli.main as m\ndef call(words): raise {error}\nm.call = call\nm.run()"
    ended = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == (error == "MemoryError")
