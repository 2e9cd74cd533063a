"""One pipeline twice: train on VW text, predict, go on the next day; with `vw` and with `massart`.

The text is made up: labels are wrong three times in ten for one town. Features, hashing and crossings are the same in
both, the learners are not. Without Vowpal Wabbit only the second half runs. Run: python examples/replacing_vw.py
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tables import installed, show

random.seed(0)


def write(path: Path, rows: int) -> list[int]:
    """Rows of VW text; returns the labels that would have been right."""
    truth, lines = [], []
    for number in range(rows):
        age, town, item = (
            random.random(),
            random.choice(["Rome", "Oslo", "Ulm"]),
            random.choice(["book", "film", "song"]),
        )
        right = 1 if (age > 0.5) != (item == "song") else -1
        wrong = town == "Rome" and random.random() < 0.3
        lines.append(f"{-right if wrong else right} 'id{number} |user age:{age:.3f} {town} |item {item}\n")
        truth.append(right)
    path.write_text("".join(lines))
    return truth


def massart(*arguments: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "massart", *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL
    )


def signs(path: Path) -> list[int]:
    """The sign of the first number of each line."""
    return [1 if float(line.split()[0]) >= 0 else -1 for line in path.read_text().splitlines()]


def error(said: list[int], truth: list[int]) -> float:
    return sum(a != b for a, b in zip(said, truth, strict=True)) / len(truth)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    monday, tuesday, new = folder / "monday.vw", folder / "tuesday.vw", folder / "new.vw"
    write(monday, 5_000)
    write(tuesday, 5_000)
    truth = write(new, 5_000)
    rows = []

    if installed("vowpalwabbit"):
        from vowpalwabbit import Workspace

        def teach(model: Workspace, path: Path) -> None:
            for line in path.read_text().splitlines():
                model.learn(line)

        features = "-b 18 -q ui --quiet --loss_function logistic"
        vw = Workspace(
            f"{features} -f {folder}/vw.model"
        )  # vw -d monday.vw -b 18 -q ui --loss_function logistic -f vw.model
        teach(vw, monday)
        vw.finish()
        vw = Workspace(f"--quiet -i {folder}/vw.model")  # vw -i vw.model -d tuesday.vw
        teach(vw, tuesday)
        said = [
            1 if vw.predict(line.partition("|")[1] + line.partition("|")[2]) >= 0 else -1
            for line in new.read_text().splitlines()
        ]
        rows.append(["vw --loss_function logistic", error(said, truth)])
        vw.finish()

    massart("train", "-d", monday, "-b", 18, "-q", "ui", "-f", folder / "m.massart")
    massart("train", "-i", folder / "m.massart", "-d", tuesday, "-f", folder / "m2.massart")
    massart("predict", folder / "m2.massart", new, "-o", folder / "answers.txt")
    rows.append(["massart", error(signs(folder / "answers.txt"), truth)])
    show(
        "Two days of 5,000 rows, 10% of the labels wrong; new rows answered wrongly, against the truth",
        ["command", "error"],
        rows,
    )
