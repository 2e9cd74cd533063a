"""Standings and verdicts on made-up rows, where every number can be worked out by hand."""

import pytest
from report_rows import CHECKPOINTS, KINK, KINK_BOUND, made_up, row, run

from massart import theory
from massart.arena import report
from massart.arena.report.charts import styles
from massart.arena.report.labels import LABEL_REPORT, Verdict
from massart.arena.report.summary import command_of, summarise
from massart.errors import InvalidDataError


def kink():
    return summarise(made_up()).worlds[0]


def test_standings_come_fewest_mistakes_first_and_failures_last():
    world = kink()
    assert [s.learner for s in world.standings] == ["massart", "hinge", "arow", "perceptron", "leaky-relu"]
    assert (world.name, world.noise_rate, world.margin, world.rounds, world.seeds) == ("kink", 0.1, 0.05, 10_000, 2)


def test_the_verdict_is_that_of_the_mean_over_seeds():
    assert KINK["hinge"][1] > KINK_BOUND > KINK["arow"][0]  # the made-up rows do what they are for
    assert {s.learner: s.verdict for s in kink().standings} == {
        "massart": Verdict.KEPT,
        "hinge": Verdict.KEPT,
        "arow": Verdict.BROKE,
        "perceptron": Verdict.BROKE,
        "leaky-relu": Verdict.FAILED,
    }
    words = {s.learner: LABEL_REPORT.verdict_words(s) for s in kink().standings}
    assert words["massart"] == "kept"
    assert words["hinge"] == "kept (1 of 2 above)"
    assert words["arow"] == "broke (1 of 2 above)"
    assert words["perceptron"] == "broke"
    assert words["leaky-relu"] == "failed at round 1,000"


def test_exactly_the_bound_is_kept_and_a_mistake_more_is_not():
    # noise rate 0, margin 1/8: the bound is Novikoff's 64, a whole number
    clean = {"noise_rate": 0.0, "margin": 0.125}
    for mistakes, verdict in ((64, Verdict.KEPT), (65, Verdict.BROKE)):
        (world,) = summarise([row("perceptron", 0, 1000, mistakes, **clean)]).worlds
        assert (world.bound, world.standings[0].verdict) == (64.0, verdict)


def test_numbers_of_a_standing():
    standing = kink().of("perceptron")
    assert (standing.mistakes, standing.minimum, standing.maximum, standing.seeds) == (3050.0, 3000, 3100, 2)
    assert standing.excess == pytest.approx(3050 - 1000)
    assert standing.rate == pytest.approx(0.305)
    assert standing.clean_mistakes == pytest.approx(1525)
    assert standing.angle == pytest.approx(10.5)


def test_curves_are_mean_least_and_most_over_seeds():
    curve = kink().of("perceptron").curve
    assert curve.rounds == list(CHECKPOINTS)
    assert curve.mean == pytest.approx([30.5 - 10, 305 - 100, 3050 - 1000])
    assert curve.low == pytest.approx([30 - 10, 300 - 100, 3000 - 1000])
    assert curve.high == pytest.approx([31 - 10, 310 - 100, 3100 - 1000])
    bound = kink().bound_curve
    assert bound.mean == pytest.approx([theory.fixed_mistake_bound(0.1, 0.05, t) - 0.1 * t for t in CHECKPOINTS])


def test_everybody_is_held_to_the_reference_and_ours_to_their_own_bound_besides():
    (world,) = summarise([*run("massart", 0, 1900), *run("paper", 0, 1000), *run("arow", 0, 1000)]).worlds
    assert world.bound == KINK_BOUND
    massart, paper = world.of("massart"), world.of("paper")
    assert massart.own_bound == theory.ftrl_mistake_bound(0.1, 0.05, 10_000) > 1900 > KINK_BOUND
    assert (massart.verdict, massart.own_bound_kept) == (Verdict.BROKE, True)
    assert paper.own_bound > 10_000  # so it says nothing yet
    assert (paper.verdict, paper.own_bound_kept) == (Verdict.KEPT, None)
    assert world.of("arow").own_bound is None


def test_no_bound_and_a_bound_that_says_nothing():
    assert {s.verdict for s in summarise(made_up()).worlds[1].standings} == {Verdict.NONE}
    (short,) = summarise([row("massart", 0, 100, 99), row("arow", 0, 100, 1)]).worlds
    assert short.bound > 100
    assert {s.verdict for s in short.standings} == {Verdict.EMPTY}
    # noise rate 0, margin 1/8: the bound is 64, which is what a coin gets wrong in 128 rounds
    for rounds, verdict in ((128, Verdict.EMPTY), (129, Verdict.KEPT)):
        (world,) = summarise([row("arow", 0, rounds, 10, noise_rate=0.0, margin=0.125)]).worlds
        assert world.standings[0].verdict is verdict


def test_a_learner_that_could_not_begin_has_no_numbers_and_comes_last():
    rows = [*run("arow", 0, 1000), row("exponential-net", 0, 0, 0, angle=None, error="InvalidParameterError: too wide")]
    race = summarise(rows)
    assert race.learners == ["arow", "exponential-net"]
    last = race.worlds[0].of("exponential-net")
    assert (last.verdict, last.rounds, last.rate, last.curve.rounds) == (Verdict.FAILED, 0, 0.0, [])
    assert LABEL_REPORT.failures(race.worlds[0]) == [
        "exponential-net failed at round 0 of kink: InvalidParameterError: too wide"
    ]


def test_a_run_that_was_stopped_is_not_judged():
    (world,) = summarise([*run("massart", 0, 900), *run("arow", 0, 1000)[:2]]).worlds
    assert (world.of("arow").verdict, world.of("arow").rounds) == (Verdict.STOPPED, 1000)


def test_seeds_that_did_not_get_there_are_left_out_of_the_means():
    (world,) = summarise([*run("arow", 0, 1000), *run("arow", 1, 9000)[:2]]).worlds
    assert (world.of("arow").mistakes, world.of("arow").seeds, world.seeds) == (1000.0, 1, 2)


def test_worlds_of_one_name_and_other_parameters_are_kept_apart():
    race = summarise([*run("arow", 0, 1000), *run("arow", 0, 5000, margin=0.02)])
    assert [world.name for world in race.worlds] == [
        "kink, noise rate 0.1, margin 0.05, 20 features",
        "kink, noise rate 0.1, margin 0.02, 20 features",
    ]
    assert [world.standings[0].mistakes for world in race.worlds] == [1000.0, 5000.0]


def test_no_rows():
    with pytest.raises(InvalidDataError, match="no rows to report"):
        report.table([])


def test_headline():
    assert LABEL_REPORT.headline(summarise(made_up())) == (
        "Of massart’s learners, massart (noise and margin known) stayed below the bound. "
        "Of the others, hinge stayed below the bound, 3 did not."
    )
    assert LABEL_REPORT.headline(summarise([row("arow", 0, 100, 99)])).startswith("No bound says anything yet")
    two = [*run("massart", 0, 900), *run("arow", 0, 9000)]
    two += [*run("massart", 0, 900, world="near-miss"), *run("arow", 0, 1000, world="near-miss")]
    assert LABEL_REPORT.headline(summarise(two)) == (
        "Of massart’s learners, massart (noise and margin known) stayed below the bound in both worlds that have one. "
        "Of the others, arow stayed below the bound in 1 of the 2 worlds that have one."
    )


def test_size():
    assert LABEL_REPORT.size_words(summarise(made_up())) == "2 worlds, 5 learners, 2 seeds each, 10,000 rounds"
    assert LABEL_REPORT.size_words(summarise(run("arow", 0, 10))) == "1 world, 1 learner, 1 seed each, 10,000 rounds"


def test_learners_and_worlds_of_ones_own_are_no_error():
    race = summarise([*run("my-learner", 0, 1000, world="my-world")])
    assert race.sentences == {"my-learner": "A learner of your own."}
    assert (race.worlds[0].sentence, race.worlds[0].adaptive) == ("A world of your own.", None)
    assert race.worlds[0].standings[0].ours is False


def test_the_command_is_only_offered_when_it_gives_these_rows():
    rows = [*run("arow", 0, 1000), *run("arow", 1, 1000)]
    assert command_of(rows) == "massart race kink --learner arow --rounds 10000 --seeds 2 --report race.html"
    assert command_of([*rows, *run("my-learner", 0, 1000)]) is None
    assert command_of(run("arow", 0, 1000, world="my-world")) is None
    assert command_of(run("arow", 0, 1000, margin=0.02)) is None
    assert command_of(run("arow", 7, 1000)) is None
    assert command_of([*rows, *run("hinge", 0, 1000)]) is None  # which seeds hinge had, no option says


def test_at_most_eight_curves_are_shown_first_ours_and_the_best_of_the_others():
    names = ("massart", "massart-unknown", "paper", "massart-fixed", "massart-adagrad")
    others = ("perceptron", "arow", "hinge", "logistic", "leaky-relu", "online-ridge", "coin-betting")
    rows = [r for place, name in enumerate((*names, *others)) for r in run(name, 0, 1000 + 100 * place)]
    first = summarise(rows).shown_first()
    assert first == [*names[:4], *others[:4]]
    assert summarise(rows[: 3 * 8]).shown_first() == [*names, *others[:3]]
    one_of_ours = [r for r in rows if r["learner"] not in names[1:]]
    assert summarise(one_of_ours).shown_first(most=6) == ["massart", *others[:5]]


def _luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one, other):
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_every_curve_stands_out_from_its_page_and_no_two_look_the_same():
    names = ["massart", "massart-unknown", "paper", "massart-fixed", "massart-adagrad"]
    names += [
        "perceptron",
        "arow",
        "hinge",
        "logistic",
        "leaky-relu",
        "online-ridge",
        "coin-betting",
        "vw",
        "river-log",
    ]
    rows = [r for place, name in enumerate(names) for r in run(name, 0, 1000 + 100 * place)]
    looks = styles(summarise(rows))
    assert all(_contrast(look.light, "#ffffff") >= 3 for look in looks.values())
    assert all(_contrast(look.dark, "#101418") >= 3 for look in looks.values())
    assert len({(look.light, look.dash) for look in looks.values()}) == len(names)
    assert len({(look.dark, look.dash) for look in looks.values()}) == len(names)
    assert min(looks[n].width for n in names[:5]) > max(looks[n].width for n in names[5:])
    assert styles(summarise(rows[::-1]))["massart"] == looks["massart"]
