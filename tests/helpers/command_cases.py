"""What the laws of commands share: small data, models of every kind, and commands in this process or in another."""

import sys
import time
from pathlib import Path

import numpy as np
import processes
from stopping import After
from typer.testing import CliRunner

from massart import MassartClassifier, MonotoneBandit, MonotoneRanker, save
from massart.cli.app import app
from massart.training import Settings, open_training

COMMAND = [sys.executable, "-m", "massart"]
KNOWN = {"noise_rate": 0.1, "margin": 0.1}


def massart(*arguments, **options):
    """A command in this process; an exception that it lets out is raised here."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, **options)


def run(*arguments, **options):
    """A command as a process."""
    wanted = {"capture_output": True, "text": True, "check": False, "timeout": 200, **options}
    if "stdout" in options or "stderr" in options:
        del wanted["capture_output"]
    return processes.run([*COMMAND, *map(str, arguments)], **wanted)


def wait_for(condition, process, seconds=150):
    begun = time.monotonic()
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else process
        assert time.monotonic() - begun < seconds
        time.sleep(0.01)


def write_svmlight(path, rows=60, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=columns)
    lines = []
    for x in np.round(rng.normal(size=(rows, columns)), 3):
        label = 1 if (x @ truth > 0) != (rng.random() < 0.1) else -1
        lines.append(f"{label:+d} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(x.tolist())) + "\n")
    path.write_text("".join(lines))
    return path


def write_csv(path, rows=60, seed=1):
    rng = np.random.default_rng(seed)
    lines = [f"{int(x[0] + x[1] > 0)},{x[0]:.3f},{x[1]:.3f}\n" for x in rng.normal(size=(rows, 2))]
    path.write_text("label,age,size\n" + "".join(lines))
    return path


def flipped_labels(path):
    """Other data of the same name and size: every label is the other one."""
    swap = {"+": "-", "-": "+"}
    path.write_text("".join(swap[line[0]] + line[1:] for line in path.read_text().splitlines(keepends=True)))


def trained(data, model, **settings):
    open_training([str(data)], Settings(**settings), model=model).run()
    return model


def stopped_training(data, model, looks=1, **settings):
    """A checkpoint: the training had learned some chunks when it was stopped."""
    found = open_training([str(data)], Settings(**settings), model=model, stopped=After(looks)).run()
    assert found.checkpoint is not None
    return Path(found.checkpoint)


def save_kinds(folder):
    """A file for each kind of model, and data that it can predict."""
    svm, csv = write_svmlight(folder / "rows.svm"), write_csv(folder / "rows.csv")
    files = {
        "pool": trained(svm, folder / "pool.massart"),
        "known": trained(csv, folder / "known.massart", passes=2, **KNOWN),
        "horizon": trained(svm, folder / "horizon.massart", horizon=20.0),
        "checkpoint": stopped_training(csv, folder / "stopped.massart", passes=2),
    }
    three = MassartClassifier(random_state=0).partial_fit(np.eye(3), ["a", "b", "c"], classes=["a", "b", "c"])
    bandit, ranker = MonotoneBandit(random_state=0), MonotoneRanker()
    bandit.learn(bandit.choose(np.eye(2)), 1.0)
    ranker.learn(np.eye(2), [0.0, 1.0])
    for name, model in (("three", three), ("bandit", bandit), ("ranker", ranker)):
        save(model, folder / f"{name}.massart")
        files[name] = folder / f"{name}.massart"
    return files, {"svm": svm, "csv": csv}
