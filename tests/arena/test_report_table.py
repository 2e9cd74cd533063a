"""The race in the terminal and in a figure: what is said, and that it is said in the width there is."""

import io
import xml.etree.ElementTree as ET

import pytest
from report_rows import KINK_BOUND, made_up, run
from rich.console import Console

from massart.arena import Progress, Standing, report
from massart.arena.report.summary import summarise
from massart.arena.report.table import LiveRace, by_learner, by_world
from massart.errors import InvalidParameterError

OURS = "massart (noise and margin known)"


def printed(renderable, width=120):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def line_of(text, *words):
    (line,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_the_table_says_who_kept_the_bound():
    text = printed(report.table(made_up()[:24]))  # kink without the learner that fails
    assert line_of(text, "kink")[0] == "kink, 10,000 rounds"
    assert line_of(text, "the bound") == ["the bound", f"{KINK_BOUND:,.0f}", ".178", "+781", "", ""]
    assert line_of(text, "massart (noise and")[:4] == ["massart (noise and", "925", ".092", "−75"]
    assert line_of(text, "massart (noise and")[-1] == "kept"
    assert line_of(text, "perceptron") == ["perceptron", "3,050", ".305", "+2,050", "–", "broke"]
    names = [line_of(text, name)[0] for name in ("massart (noise and", "hinge", "arow", "perceptron")]
    assert names == sorted(names, key=text.index)


def test_the_table_gives_the_error_of_a_learner_that_failed():
    text = printed(report.table(made_up()))
    assert line_of(text, "leaky-relu", "1,000", "200")[-1] == "failed at round 1,000"
    assert "leaky-relu failed at round 1,000 of kink: ValueError: it fell over <here>" in text
    assert text.index("turning-target, 10,000") < text.index("no bound here")


def test_markup_in_a_name_is_text():
    text = printed(report.table(run("[red]mine[/red]", 0, 100, world="[bold]w[/bold]")))
    assert "[red]mine[/red]" in text
    assert "[bold]w[/bold]" in text


@pytest.mark.parametrize("width", [80, 100])
def test_no_number_is_lost_in_a_narrow_terminal(width):
    text = printed(report.table(made_up()), width)
    assert "perceptron" in text
    for number in ("3,050", "+2,050", ".305", f"{KINK_BOUND:,.0f}"):
        assert number in text
    assert max(map(len, text.splitlines())) <= width


def test_one_line_per_world():
    text = printed(by_world(summarise(made_up())), 140)
    assert line_of(text, "kink") == [
        "kink",
        ".100",
        ".178",
        ".092 massart (noise and margin known)",
        ".175 hinge",
        "2 of 4",
    ]
    assert line_of(text, "turning-target") == [
        "turning-target",
        ".100",
        "–",
        ".110 massart (noise and margin known)",
        ".210 perceptron",
        "–",
    ]


def test_one_line_per_learner():
    text = printed(by_learner(summarise(made_up())))
    assert line_of(text, "massart") == [OURS, "1", "0", ".101", "turning-target +.010"]
    assert line_of(text, "perceptron") == ["perceptron", "0", "1", ".258", "kink +.205"]
    assert line_of(text, "leaky-relu") == ["leaky-relu", "0", "0, failed in 1", "–", "–"]


def event(done, mistakes=700, error=None, bound=500.0):
    return Progress(done, 40_000, "kink", 3, [Standing("massart", done, mistakes, bound, error)])


def test_the_live_table_tells_rounds_rate_and_mistakes_against_the_bound():
    now = iter([10.0, 12.0])
    live = LiveRace(Console(file=io.StringIO()), clock=lambda: next(now))
    first = printed(live.render(event(10_000)))
    assert "10,000 of 40,000 rounds" in first
    assert "per second" not in first
    text = printed(live.render(event(20_000)))
    assert "5,000 rounds per second, 4 s left" in text  # 10,000 in two seconds, and 20,000 to go
    assert "kink, seed 3" in text
    assert line_of(text, "massart") == [OURS, "20,000", "700", ".035", "500"]


def test_the_live_table_marks_failures_and_missing_bounds():
    live = LiveRace(Console(file=io.StringIO()))
    assert line_of(printed(live.render(event(10, error="ValueError: no"))), "massart")[-1] == "failed"
    assert line_of(printed(live.render(event(0, mistakes=0, bound=None))), "massart")[1:] == ["0", "0", ".000", "–"]


def test_the_live_table_is_gone_when_the_race_is_over():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with LiveRace(console) as live:
        live(event(10_000))
    text = console.file.getvalue()
    assert "massart" in text
    assert text.rstrip().endswith("\x1b[2K")  # its lines were erased


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_figure_is_what_its_suffix_says_and_the_same_each_time(tmp_path, suffix, begins):
    for name in ("one", "two"):
        report.figure(made_up(), tmp_path / f"{name}{suffix}")
    one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
    assert one.startswith(begins)
    assert one == two


def test_a_figure_has_a_panel_per_world_and_names_the_learners(tmp_path):
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none"}):  # text as text
        report.figure(made_up(), tmp_path / "race.svg")
    words = {"".join(element.itertext()).strip() for element in ET.parse(tmp_path / "race.svg").iter()}  # noqa: S314
    assert {OURS, "perceptron", "the bound", "rounds", "mistakes − noise rate × rounds"} <= words
    assert {"kink  (noise rate 0.1)", "turning-target  (noise rate 0.1)"} <= words


def test_a_figure_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"race\.gif: a figure is written to .* \.png, \.svg or \.pdf"):
        report.figure(made_up(), tmp_path / "race.gif")


@pytest.mark.parametrize("columns", [1, 3])
def test_the_legend_of_a_figure_is_inside_of_it(columns):
    from massart.arena.report.charts import canvas

    policies = [f"a policy with a name of some length, number {number}" for number in range(9)]
    worlds = [f"world {number}" for number in range(columns)]
    rewards = [
        {"world": world, "learner": name, "seed": 0, "rounds": t, "reward": 0.5, "lift": 0.1, "guaranteed_lift": 0.04,
         "best_lift": 0.1, "share": 1.0, "chance": 0.01, "favourite": 0.5, "arms": 2, "gap": 0.1, "margin": 0.1,
         "dimension": 3, "error": None}
        for world in worlds for name in ("monotone", *policies) for t in (10, 100)
    ]  # fmt: skip
    drawing = canvas(summarise(rewards))
    drawing.draw_without_rendering()
    (legend,) = drawing.legends
    box = legend.get_window_extent()
    assert len(legend.get_texts()) == 11
    assert box.x0 >= 0
    assert box.x1 <= drawing.bbox.width
    assert box.y0 >= 0
    assert drawing.axes[0].get_tightbbox().y0 >= box.y1
