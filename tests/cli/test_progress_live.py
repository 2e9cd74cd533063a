"""The live view: what is drawn for a training at a given moment."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from massart.cli.process import Outlet
from massart.cli.progress_live import LiveProgress
from massart.data.chunk import Position, RowError
from massart.training import Settings
from massart.training.chunk_trainer import ChunkTrainer
from massart.training.progress import Measured, Progress


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def drawn():
    """(view, training, clock, what the view draws now)."""
    clock, console = Clock(), Console(file=io.StringIO(), width=120)
    view = LiveProgress(console, Outlet(io.TextIOWrapper(io.BytesIO())), "massart train", clock)
    trainer = ChunkTrainer(Settings())
    trainer.make_room(3)
    training = SimpleNamespace(
        reader=SimpleNamespace(
            part=0.0, fraction=lambda: training.reader.part, sources=[SimpleNamespace(name="a.svm", size=4_000_000)]
        ),
        progress=Progress(),
        settings=Settings(passes=2),
        trainer=trainer,
    )

    def draw():
        with console.capture() as text:
            console.print(view.render(training))
        return text.get()

    return view, training, clock, draw


def test_speed_errors_and_the_time_that_is_left(drawn):
    view, training, clock, draw = drawn
    view.begin(training)
    clock.now += 10.0
    training.reader.part = 0.25
    training.progress.rounds, training.progress.weight, training.progress.wrong = 5000, 5000.0, 1000.0
    text = draw()
    assert "a.svm, pass 1 of 2" in text
    assert "25%, 1:10 left" in text  # 10 s for a quarter of one of two passes
    assert "5,000" in text
    assert "500 rows/s, 0.1 MB/s" in text
    assert "20.00%" in text
    clock.now += 2.0
    training.progress.weight, training.progress.wrong, training.progress.learned = 10_000.0, 1500.0, 10_000
    training.progress.row_errors, training.progress.weight_positive = {"index 0": 3}, 7500.0
    text = draw()
    assert "15.00%" in text
    assert "recent 10.00%" in text
    assert "bound  says nothing yet: no round has been learned" in text
    assert "best constant 25.00%" in text
    assert "3 rows with errors" in text


def test_a_training_that_goes_on_counts_only_its_own_time(drawn):
    view, training, clock, draw = drawn
    training.progress.position, training.progress.rounds = Position(0, 10**6, 900), 900
    training.reader.part = 1.0  # of an earlier look at the file
    view.begin(training)
    clock.now += 5.0
    training.reader.part, training.progress.rounds, training.progress.passed = 0.5, 1000, 2
    draw()
    clock.now += 4.0
    training.reader.part, training.progress.rounds = 0.75, 1400
    text = draw()
    assert "100 rows/s" in text
    assert "75%, 0:04 left" in text


def test_a_pipe_hides_how_long_it_is(drawn):
    view, training, clock, draw = drawn
    training.reader.part = None
    view.begin(training)
    clock.now += 1.0
    text = draw()
    assert "left" not in text
    assert "MB/s" not in text


def test_what_is_said_stays_above(drawn):
    view, _, _, _ = drawn
    with view._console.capture() as text:
        for line in range(30):
            view.row_error(RowError("a.svm", line + 1, 3, "index 0 [bold]"))
        view.note("[red]look[/red]")
        view.measured(2, Measured(50, 5))
    lines = text.get().splitlines()
    assert len(lines) == 10 + 1 + 1 + 1
    assert lines[0] == "massart train: a.svm, line 1, column 3: index 0 [bold]; the row is left out"
    assert lines[-2] == "massart train: [red]look[/red]"
    assert lines[-1] == "massart train: error on 50 rows kept apart, after pass 2: 10.00%"


def test_a_terminal_that_has_gone_ends_nothing(drawn):
    view, training, _, _ = drawn

    def gone(*_, **__):
        raise OSError("no terminal")

    view._live.update = gone
    view.begin(training)
    assert view._out.broken
    view.say("nobody hears this")
