"""Law 11, of commands: whatever they are given, they end with an answer or with a sentence, never with a traceback."""

import json
import os
import subprocess

import processes
import pytest
import tiers
from command_cases import COMMAND, massart, run, save_kinds
from forged_headers import VALUES, forgeries, parts_of, write_forged

from massart import theory
from massart.arena import sweep
from massart.errors import InvalidParameterError, MassartError

FUZZ = tiers.FUZZ
EVERY = max(1, 20_000 * 7 // FUZZ)  # of the forged headers, one in so many
KINDS = ("pool", "known", "horizon", "checkpoint", "three", "bandit", "ranker")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    files, data = save_kinds(folder)
    (folder / "log.vw").write_text("shared | a\n0:-1:0.5 | x:1\n| y:1\n\n" * 20)
    return files, data, folder


def printing(files, data, folder):
    """A command of each kind that prints to standard output."""
    return {
        "bound": ["bound", "--noise-rate", ".1", "--margin", ".05"],
        "bound --json": ["bound", "--noise-rate", ".1", "--margin", ".05", "--json"],
        "worlds": ["worlds"],
        "inspect": ["inspect", files["pool"]],
        "inspect --json": ["inspect", files["pool"], "--json"],
        "predict": ["predict", files["pool"], data["svm"]],
        "train": ["train", data["svm"], "-f", folder / "new.massart"],
        "train -p -": ["train", data["svm"], "-p", "-"],
        "convert": ["convert", data["svm"], "-", "--to", "vw"],
        "race": ["race", "kink", "--rounds", "10", "--seeds", "1", "--quiet"],
        "evaluate": ["evaluate", folder / "log.vw", "--quiet"],
        "bandit": ["bandit", folder / "log.vw", "-f", folder / "new.bandit"],
        "help": ["--help"],
        "version": ["--version"],
    }


NAMES = list(printing({"pool": ""}, {"svm": ""}, type("", (), {"__truediv__": lambda *_: ""})()))


def shell(redirection, command, **options):
    """A command started by a shell, with its streams as the shell leaves them."""
    line = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *COMMAND, *map(str, command)]
    return processes.run(line, capture_output=True, text=True, check=False, timeout=200, **options)


def without_traceback(words):
    assert "Traceback" not in words, words
    assert "Exception ignored" not in words, words
    assert "Error:" not in words, words


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_behind_standard_output_is_a_sentence(kinds, name):
    found = shell("> /dev/full", printing(*kinds)[name])
    without_traceback(found.stderr)
    assert found.returncode == 2
    assert "standard output could not be written: No space left on device" in found.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", NAMES)
def test_nobody_who_reads_standard_output_is_nothing_to_talk_about(kinds, name):
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, *map(str, printing(*kinds)[name])]
    try:
        found = processes.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=200)
    finally:
        os.close(writer)
    without_traceback(found.stderr)
    assert "roken pipe" not in found.stderr
    assert found.returncode in (0, 1)


@pytest.mark.parametrize("name", ["bound", "inspect", "predict", "train", "convert", "evaluate", "help"])
def test_closed_streams(kinds, name):
    command = printing(*kinds)[name]
    closed = shell(">&-", command)
    without_traceback(closed.stderr)
    assert closed.returncode == 2
    assert "standard output could not be written" in closed.stderr
    silent = shell("2>&- <&-", command)
    assert silent.returncode == 0
    assert silent.stdout
    nothing = shell(">&- 2>&- <&-", command)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (2, "", "")


def test_a_closed_stream_is_not_written_into_a_file(kinds, tmp_path):
    """A model that is opened while 1 and 2 are closed must not get their numbers, and what is printed to them."""
    _, data, _ = kinds
    for redirection in (">&- 2>&-", "<&- >&- 2>&-"):
        found = shell(redirection, ["train", data["svm"], "-f", tmp_path / "m.massart", "-p", tmp_path / "p.txt"])
        assert found.returncode == 2  # the summary has nowhere to go
        assert massart("inspect", tmp_path / "m.massart").exit_code == 0
        assert set((tmp_path / "p.txt").read_text().split()) == {"-1", "1"}


def test_a_full_standard_error_is_no_reason_to_stop(kinds):
    _, data, _ = kinds
    found = shell("2> /dev/full", ["train", data["svm"]])
    assert found.returncode == 0
    assert "learned" in found.stdout
    assert shell("2> /dev/full", ["train", "none.svm"]).returncode == 2


def sentence(found, *words):
    assert found.exit_code == 2, (found.exit_code, found.output)
    for word in words:
        assert word in found.stderr
    assert found.stdout == ""


@pytest.mark.parametrize("command", ["inspect", "predict", "train", "convert"])
def test_what_is_no_model_file(kinds, tmp_path, command):
    _, data, _ = kinds
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    arguments = {
        "inspect": lambda path: ["inspect", path],
        "predict": lambda path: ["predict", path, data["svm"]],
        "train": lambda path: ["train", data["svm"], "-i", path],
        "convert": lambda path: ["convert", path, tmp_path / "m.npz"],
    }[command]
    places = [tmp_path / "folder", tmp_path / "empty", tmp_path / "none", data["svm"], "/proc/self/mem", "/dev/null"]
    if command != "convert":  # which takes a pipe and a device for data
        places += [tmp_path / "pipe", "/dev/zero"]
    for path in places:
        if command == "convert" and path in (data["svm"], "/dev/null"):
            continue
        sentence(massart(*arguments(path)))
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize("place", ["folder", "none/out", "/proc/out", "/dev/full", "x" * 300])
def test_outputs_that_cannot_be_written(kinds, tmp_path, monkeypatch, place):
    files, data, _ = kinds
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    every = [
        ["predict", files["pool"], data["svm"], "-o", place],
        ["train", data["svm"], "-p", place],
        ["convert", data["svm"], place, "--to", "vw"],
        ["convert", files["pool"], place, "--to", "json"],
        ["train", data["svm"], "-f", place],
    ]
    for command in every:
        sentence(massart(*command))
    if place.startswith("/dev"):  # of which a name with a suffix is another one
        return
    for option, suffix in (("--report", ".html"), ("--figure", ".png"), ("--rows", ".json")):
        if place != "folder":  # likewise
            sentence(massart("race", "kink", "--rounds", "5", "--seeds", "1", "--quiet", option, f"{place}{suffix}"))
    sentence(massart("race", "kink", "--rounds", "5", "--seeds", "1", "--quiet", "--resume", place))
    assert [path for path in os.listdir(tmp_path) if path.endswith((".lock", ".partial"))] == []


def test_names_that_are_no_utf8(kinds, tmp_path):
    files, data, _ = kinds
    odd = os.fsencode(tmp_path) + b"/\xff\xfe"
    for suffix, source in ((b".svm", data["svm"]), (b".massart", files["pool"])):
        with open(odd + suffix, "wb") as file:
            file.write(source.read_bytes())
    every = [
        ["train", odd + b".svm", "-f", odd + b".new", "-p", odd + b".p"],
        ["inspect", odd + b".new"],
        ["inspect", odd + b".massart", "--json"],
        ["predict", odd + b".massart", odd + b".svm", "-o", odd + b".p"],
        ["convert", odd + b".svm", odd + b".csv"],
        ["convert", odd + b".new", odd + b".json"],
        ["race", "kink", "--rounds", "5", "--seeds", "1", "--rows", odd + b".jsonl"],
    ]
    for command in every:
        found = processes.run([*COMMAND, *command], capture_output=True, check=False, timeout=200)
        without_traceback(found.stderr.decode(errors="replace"))
        assert found.returncode == 0, found.stderr
    for command in (["train", odd + b".none"], ["inspect", odd], ["predict", odd, odd], ["convert", odd, odd + b".x"]):
        found = processes.run([*COMMAND, *command], capture_output=True, check=False, timeout=200)
        without_traceback(found.stderr.decode(errors="replace"))
        assert found.returncode == 2
    assert not [name for name in os.listdir(os.fsencode(tmp_path)) if name.endswith((b".lock", b".partial"))]


def taking(kind, model, rows, out):
    """The commands that take a model of that kind."""
    every = [["inspect", model], ["inspect", model, "--json"]]
    if kind not in ("bandit", "ranker"):
        every += [["convert", model, out / "m.json"], ["convert", model, out / "m.npz"]]
    if kind in ("pool", "known", "horizon", "checkpoint"):
        every += [["predict", model, rows], ["predict", model, rows, "--scores"]]
        every += [["train", rows, "-i", model, "--quiet", "-f", out / "new.massart"]]
    return every


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_whose_checksums_are_right_and_whose_fields_are_not(kinds, tmp_path, kind):
    """Each field is each of the values in turn; a command answers, or refuses in one line that can be printed."""
    files, data, _ = kinds
    parts = parts_of(files[kind])
    header, model = json.loads(parts["header.json"]), tmp_path / "m.massart"
    rows = data["csv" if kind in ("known", "checkpoint") else "svm"]
    every, codes = taking(kind, model, rows, tmp_path), set()
    for number, (place, value, forged) in enumerate(forgeries(header)):
        if number % EVERY:
            continue
        write_forged(model, parts, forged)
        command = every[number // EVERY % len(every)]
        found = massart(*command)
        facts = (command[0], place, value, found.output)
        assert found.exit_code in (0, 2), facts
        assert "\x1b" not in found.output, facts
        if found.exit_code:
            assert found.stdout == "", facts
            assert found.stderr.count("\n") == 1, facts
        codes.add(found.exit_code)
    assert codes == {0, 2}


def test_a_checkpoint_whose_fields_are_not_right_is_not_gone_on_from(kinds, tmp_path):
    files, data, folder = kinds
    parts = parts_of(files["checkpoint"])
    header = json.loads(parts["header.json"])
    model, checkpoint = folder / "again.massart", folder / "again.massart.checkpoint"
    for number, (place, value, forged) in enumerate(forgeries(header, lambda place: "progress" in place)):
        if number % EVERY:
            continue
        write_forged(checkpoint, parts, forged)
        found = massart("train", data["csv"], "-f", model, "--passes", "2", "--resume", "--quiet")
        assert found.exit_code in (0, 2), (place, value, found.output)
        if found.exit_code:
            assert found.stderr.count("\n") == 1, (place, value, found.output)
        model.unlink(missing_ok=True)


NUMBERS = (
    *("1e308", "-1e308", "1e-320", "5e-324", "nan", "inf", "-inf", "-1", "0", "-0.0", "0.5", "0.49999999999999994"),
    *("1", "2", "9" * 30, "9" * 5000, "1e400", "", "x", "0x10", "1_000", "\u0661"),
)


def ends_well(*command):
    found = massart(*command)
    assert found.exit_code in (0, 2), (command, found.output)
    assert "nan" not in found.stdout.lower(), (command, found.stdout)
    return found


@pytest.mark.parametrize(
    "option",
    [
        *("--noise-rate", "--margin", "--horizon", "--seed", "--bits", "--features", "--holdout", "--checkpoint-every"),
        "--progress",
    ],
)
def test_numbers_of_train(kinds, tmp_path, option):
    _, data, _ = kinds
    for value in NUMBERS:
        for rest in ([], ["--noise-rate", "0", "--margin", "1"], ["--horizon", "9e15"]):
            if option not in rest:
                ends_well("train", data["svm"], f"{option}={value}", "--quiet", "-f", tmp_path / "m.massart", *rest)


@pytest.mark.parametrize(
    "option",
    ["--noise-rate", "--margin", "--rounds", "--row-length", "--intercept-scaling", "--within", "--confidence"],
)
def test_numbers_of_bound(option):
    for value in NUMBERS:
        for rest in ({}, {"--margin": "1e-50"}, {"--rounds": "1e300"}, {"--row-length": "1e-40"}):
            chosen = {"--noise-rate": "0.1", "--margin": "0.1", **rest, option: value}
            words = [f"{name}={number}" for name, number in chosen.items()]
            ends_well("bound", *words)
            found = ends_well("bound", *words, "--json")
            if found.exit_code == 0:
                json.loads(found.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("option", ["--rounds", "--seeds", "--peer-seeds", "--jobs"])
def test_numbers_of_race(option):
    for value in NUMBERS:
        if value == "1_000":  # a number like others, and a long race
            continue
        few = {"--rounds": "5", "--seeds": "1", option: value}
        ends_well("race", "kink", "--quiet", *(f"{name}={number}" for name, number in few.items()))


def test_an_endless_horizon_is_refused_by_name(kinds):
    _, data, _ = kinds
    sentence(massart("train", data["svm"], "--horizon", "1e308"), "horizon=1e+308: give the number of rounds")
    with pytest.raises(InvalidParameterError, match="rounds must be at most"):
        sweep(["kink"], rounds=10**400)
    with pytest.raises(MassartError, match="seeds"):
        sweep(["kink"], rounds=5, seeds=10**30)
    assert theory.check_margin(0.5) == 0.5


def test_every_value_of_the_forger_is_json():
    assert all(json.loads(json.dumps(value)) is not NotImplemented for value in VALUES)


def test_standard_input_that_is_no_terminal_and_not_there():
    found = run("train", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    without_traceback(found.stderr)
    assert found.returncode == 2


def test_a_race_whose_journal_is_no_journal(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep").write_text("[" * 100_000 + "\n")
    for place in (tmp_path / "pipe", tmp_path / "deep", tmp_path, "/dev/zero"):
        sentence(massart("race", "kink", "--rounds", "5", "--seeds", "1", "--quiet", "--resume", place), str(place))
    race = ["race", "kink", "--rounds", "5", "--seeds", "1", "--quiet", "--resume", tmp_path / "journal"]
    assert massart(*race).exit_code == 0
    header, *_ = (tmp_path / "journal").read_text().splitlines()
    (tmp_path / "journal").write_text(header + "\n" + "[" * 100_000 + "\n")
    sentence(massart(*race), "line 2 of", "is damaged")


def test_a_journal_that_grows_too_large_is_named(tmp_path):
    journal = tmp_path / "journal"
    race = ["race", "kink", "-l", "perceptron", "--rounds", "5", "--seeds", "1", "--quiet", "--resume", journal]
    assert massart(*race).exit_code == 0
    header, *_ = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(header)
    limit = f"ulimit -f {len(header) // 512 + 1}; trap '' XFSZ; "  # blocks of 512 bytes: the header's and no more
    line = ["/bin/sh", "-c", f'{limit} exec "$@"', "sh", *COMMAND, *map(str, race)]
    found = processes.run(line, capture_output=True, text=True, check=False, timeout=200)
    without_traceback(found.stderr)
    assert found.returncode == 2, found.stderr
    assert f"{journal} could not be written: File too large; raise the limit" in found.stderr
    journal.write_bytes(journal.read_bytes())
    assert massart(*race).exit_code == 0  # goes on from the torn line
