"""`massart bound`: the mistake bounds at a noise rate and a margin, side by side."""

import json as json_format
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from massart.cli._command import plain_console, reporting
from massart.cli.parameters import Option
from massart.cli.process import Outlet
from massart.errors import InvalidParameterError

_FULL_WIDTH = 105  # of a terminal that has room for every column
_SMALLEST_MARGIN = 1e-50
_MOST_ROUNDS = 10**18
_EXCESS = 3  # the column for which a narrow terminal has no room
_DEFAULT = "Theorem 7(e)"  # the bound of the default learner
_LOWER = "Theorem 18(a)"


class _Bound(NamedTuple):
    who: str
    result: str
    value: Callable[[float, float, float], float]  # of noise rate, margin and rounds
    proved: bool = True  # False: an order of growth with an unknown constant
    lower: bool = False  # of every learner, instead of an upper one


@dataclass(frozen=True)
class Question:
    """What is asked: the options of the command."""

    noise_rate: float
    margin: float
    rounds: float = 1e6
    with_constant: float | None = None  # the margin of learners with an intercept; None: rows as they are
    within: float = 0.05
    confidence: float = 0.99

    @property
    def counts(self) -> float:
        """The margin that counts for learners with an intercept."""
        return self.margin if self.with_constant is None else self.with_constant


def bound(
    noise_rate: Annotated[float, Option(help="Largest probability with which a label is false, below 1/2.")],
    margin: Annotated[
        float,
        Option(help="Least distance of a row from the boundary, in lengths of the row: |w.x| >= margin |x|."),
    ],
    rounds: Annotated[float, Option(help="How many rounds; 1e6 is understood.")] = 1e6,
    row_length: Annotated[
        float | None,
        Option(
            help="Length of the shortest row. A learner with an intercept works on (x, 1) scaled to norm 1, where the "
            "margin is smaller; without this option the margin is taken to be that of the rows it works on."
        ),
    ] = None,
    intercept_scaling: Annotated[
        float, Option(help="The constant that the learner puts beside x; counts with --row-length.")
    ] = 1.0,
    within: Annotated[
        float, Option(help="How near the noise rate the bound shall come, in mistakes per round.")
    ] = 0.05,
    confidence: Annotated[float, Option(help="Of the bound that holds with high probability.")] = 0.99,
    json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare the mistake bounds of the learners, and from how many rounds on each of them says anything.

    A bound of half of the rounds or more says nothing: guessing has it, too.

    [bold]Example[/bold]

    massart bound --noise-rate .1 --margin .05 --rounds 1e6 --row-length 2
    """
    with reporting("massart bound"):
        with_constant = _margin_with_constant(margin, row_length, intercept_scaling)
        asked = Question(noise_rate, margin, rounds, with_constant, within, confidence)
        lines = _lines(asked)
        if json:
            Outlet(sys.stdout).say(json_format.dumps([_finite(line) for line in lines], indent=2, allow_nan=False))
        else:
            _print(asked, lines)


def _margin_with_constant(margin: float, row_length: float | None, intercept_scaling: float) -> float | None:
    from massart import theory

    theory.check_margin(margin)
    scaled = None if row_length is None else theory.scaled_margin(margin, row_length, intercept_scaling)
    counts = margin if scaled is None else scaled
    if counts < _SMALLEST_MARGIN:
        raise InvalidParameterError(
            f"the margin that counts is {counts:g}, and bounds of order 1 / margin^2 must stay finite: "
            f"give one of at least {_SMALLEST_MARGIN:g}"
        )
    if scaled is None and intercept_scaling != 1.0:
        raise InvalidParameterError("--intercept-scaling counts with --row-length: pass the length of the shortest row")
    return scaled


def _default_grid(asked: Question) -> list[tuple[float, float]]:
    """The experts of the default learner that have a bound here.

    With an intercept those with the smallest margin work on x, those with the largest on (x, 1).
    """
    from massart.learners.pool import MARGINS, NOISE_RATES

    limits = dict.fromkeys(MARGINS, asked.margin)
    if asked.with_constant is not None:
        limits = {min(MARGINS): asked.margin, max(MARGINS): asked.with_constant}
    return [
        (rate, gamma)
        for rate in NOISE_RATES
        for gamma, limit in limits.items()
        if rate >= asked.noise_rate and gamma <= limit
    ]


def bounds(asked: Question) -> list[_Bound]:
    """Every bound as a function of noise rate, margin and rounds; the last one is the lower bound."""
    from massart import theory
    from massart.learners.pool import MOST_EXPERTS

    descent = 2.0 * math.sqrt(2.0)  # the constant of adagrad_regret

    def default(noise_rate: float, margin: float, rounds: float) -> float:
        del margin  # the experts have two
        return theory.pool_mistake_bound(noise_rate, 1.0, rounds, _default_grid(asked), MOST_EXPERTS)

    def slack(noise_rate: float, margin: float, rounds: float) -> float:
        # Any slack gives a true bound; the tuned one is best to leading order, and is 0 without noise.
        gap = 1.0 - 2.0 * noise_rate
        tuned = theory.tuned_slack(noise_rate, margin, rounds)
        tries = [slack for slack in (tuned, *(gap * 2.0**-k for k in range(12))) if slack > 0.0]
        return min(theory.slack_mistake_bound(noise_rate, margin, rounds, slack) for slack in tries)

    def black_box(noise_rate: float, margin: float, rounds: float) -> float:
        slack = theory.black_box_slack(noise_rate, margin, rounds, descent)
        return theory.black_box_mistake_bound(noise_rate, margin, rounds, slack, descent)

    return [
        _Bound("fixed step, T known", "Theorem 1(a)", theory.fixed_mistake_bound),
        _Bound("FTRL, anytime", "Theorem 1(b)", theory.ftrl_mistake_bound),
        _Bound("AdaGrad-norm", "Theorem 1(c)", theory.adagrad_mistake_bound),
        _Bound(
            f"FTRL, probability {asked.confidence:g}",
            "Theorem 4",
            lambda p, m, t: theory.high_probability_mistake_bound(p, m, t, asked.confidence),
        ),
        _Bound("default learner", _DEFAULT, default),
        _Bound("slack, AdaGrad-norm", "Theorem 2", slack),
        _Bound("slack, any optimiser", "Theorem 3", black_box),
        _Bound("paper, T known", "Theorem 8(a)", theory.paper_mistake_bound),
        _Bound("paper, anytime", "Theorem 8(b)", theory.paper_anytime_mistake_bound),
        _Bound(
            "paper, T^(3/4)/margin",
            "paper, 1.8",
            lambda p, m, t: p * t + theory.paper_theorem_excess(m, t),
            proved=False,
        ),
        _Bound(
            "any learner: at least",
            _LOWER,
            lambda p, m, t: theory.lower_mistake_bound_at(p, asked.margin, t),
            lower=True,
        ),
    ]


def _lines(asked: Question) -> list[dict[str, Any]]:
    from massart import theory

    theory.check_noise_rate(asked.noise_rate)
    theory.check_rounds(asked.rounds, smallest=1.0)
    theory.check_positive("within", asked.within)
    theory.check_confidence(asked.confidence)
    return [_line(asked, one) for one in bounds(asked)]


def _line(asked: Question, one: _Bound) -> dict[str, Any]:
    line: dict[str, Any] = {"learner": one.who, "result": one.result, "proved": one.proved, "lower": one.lower}
    line["margin"] = asked.margin if one.lower else asked.counts
    try:
        mistakes = one.value(asked.noise_rate, asked.counts, asked.rounds)
    except InvalidParameterError as error:  # outside the default learner's grid
        return line | {"mistakes": None, "why": str(error)}
    line["mistakes"] = mistakes
    line["excess"] = mistakes - asked.noise_rate * asked.rounds
    line["per_round"] = mistakes / asked.rounds
    if not one.lower:
        line["rounds_to_beat_a_coin"] = _rounds_until(asked, one, 0.5 - asked.noise_rate)
        line["rounds_to_come_within"] = _rounds_until(asked, one, asked.within)
    return line


def _rounds_until(asked: Question, one: _Bound, tolerance: float) -> int | None:
    """The rounds from which on the bound is within `tolerance` of the noise rate; None if that takes for ever."""
    from massart import theory

    noise_rate, margin = asked.noise_rate, asked.counts
    if one.value(noise_rate, margin, _MOST_ROUNDS) > (noise_rate + tolerance) * _MOST_ROUNDS:
        return None
    return theory.rounds_until(one.value, noise_rate, margin, tolerance)


def _notes(asked: Question, lines: list[dict[str, Any]]) -> list[str]:
    from massart import theory

    by = {line["result"]: line for line in lines}
    error = theory.online_to_batch_error(asked.noise_rate, asked.counts, asked.rounds)
    price = theory.corruption_penalty(asked.noise_rate, asked.counts, 1.0)
    return [
        _default_note(asked, by[_DEFAULT], by["Theorem 1(b)"]),
        _lower_note(asked.margin, asked.rounds),
        f"Offline, a random one of the fixed step's iterates errs on at most {min(1.0, error):.4f} of new rows "
        f"(Theorem 6). Each round that breaks the assumptions costs FTRL at most {price:,.1f} mistakes, and a "
        "lower-order term (Theorem 5).",
        "Theorems are those of docs/theory.md. Line 1.8 of the paper is an order of growth without a constant, here 1.",
    ]


def _default_note(asked: Question, line: dict[str, Any], known: dict[str, Any]) -> str:
    """Why the default learner's bound is what it is, or is missing, and from when on it says anything."""
    from massart.learners.pool import MARGINS, NOISE_RATES

    noise_rate = asked.noise_rate
    if line["mistakes"] is None:
        if noise_rate > max(NOISE_RATES):
            why = f"its grid of noise rates ends at {max(NOISE_RATES):g}"
        else:
            why = f"its grid of margins ends at 1/{1 / min(MARGINS):g} = {min(MARGINS):.4g}"
        return (
            f"* The default learner has no bound here: {why}. A learner to which the noise rate and the margin are "
            f"passed has that of Theorem 1(b), which {_says_something(known)}."
        )
    rate = min(rate for rate, _ in _default_grid(asked))
    start = f"The default learner's bound starts from the next noise rate of its grid, {rate:g}"
    if rate == noise_rate:
        start = f"The default learner's bound starts from the noise rate {rate:g}, which its grid holds"
    elif line["rounds_to_come_within"] is None:
        start = f"* {start}, and so it never comes within {asked.within:g} of {noise_rate:g}"
    return f"{start}. It {_says_something(line)}."


def _says_something(line: dict[str, Any]) -> str:
    first = line["rounds_to_beat_a_coin"]
    if first is None:
        return "says nothing, however many rounds there are"
    return f"says something (less than half of the rounds) from {_count(first)} rounds on"


def _lower_note(margin: float, rounds: float) -> str:
    from massart import theory

    try:
        lower = theory.lower_mistake_bound(margin, rounds)
    except InvalidParameterError:
        return "Theorem 18(b), the lower bound at the hardest noise rate, needs at least 5 / margin^2 rounds."
    hardest = theory.hardest_noise_rate(margin, rounds)
    upper = theory.fixed_mistake_bound(hardest, margin, rounds)
    return (
        f"At noise rate {hardest:.4f}, the hardest for this margin and as many rounds, no learner expects fewer than "
        f"{lower:,.0f} mistakes, {lower - hardest * rounds:,.0f} over the noise (Theorem 18(b)); Theorem 1(a) has "
        f"{upper - hardest * rounds:,.0f} there."
    )


def _print(asked: Question, lines: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    console = plain_console()
    full = console.width >= _FULL_WIDTH
    console.print(
        f"Mistakes in {asked.rounds:,.0f} rounds at most, noise rate {asked.noise_rate:g}, margin {asked.margin:g}"
    )
    if asked.with_constant is not None:
        console.print(
            f"With an intercept the margin that counts is {asked.with_constant:.4g}: that of the rows (x, constant) "
            "scaled to norm 1 (Theorem 15). The default learner also has experts without the constant."
        )
    else:
        console.print(
            "The margin is taken to be that of the rows a learner works on; with an intercept pass --row-length."
        )
    table = Table(header_style="bold", pad_edge=full, collapse_padding=not full)
    table.box = box.HEAVY_HEAD if full else box.SIMPLE_HEAD
    heads = ["learner", "by", "mistakes", "over\nnoise", "per\nround", "says\nsomething\nfrom"]
    for index, head in enumerate([*heads, f"within\n{asked.within:g} of\nnoise from"]):
        if full or index != _EXCESS:
            table.add_column(head, justify="left" if index < 2 else "right", no_wrap=True)
    for line in lines:
        if line["lower"]:
            table.add_section()
        cells = [line["learner"], line["result"], *_cells(line, asked.rounds, 10**12 if full else 10**8)]
        if not full:
            del cells[_EXCESS]
            cells[1] = cells[1].removeprefix("Theorem ")
        table.add_row(*cells)
    console.print(table)
    for words in _notes(asked, lines):
        console.print(words)


def _cells(line: dict[str, Any], rounds: float, longest: float) -> list[str]:
    """Mistakes, excess, per round, and from when on; numbers from `longest` on in powers of ten."""
    if line["mistakes"] is None:
        return ["no bound *", "", "", "", ""]
    waits = [] if line["lower"] else [line["rounds_to_beat_a_coin"], line["rounds_to_come_within"]]
    when = ["never *" if wait is None else _count(wait) for wait in waits] or ["", ""]
    mistakes, excess = line["mistakes"], line["excess"]
    if mistakes >= rounds:
        return ["all", "", "", *when]
    short = [f"{mistakes:.4g}", f"{excess:+.4g}"] if mistakes >= longest else [f"{mistakes:,.0f}", f"{excess:+,.0f}"]
    return [*short, f"{line['per_round']:.4f}", *when]


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    """The same with None for numbers that JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in line.items()
    }


def _count(rounds: int) -> str:
    return f"{rounds:,}" if rounds < 10**8 else f"{rounds:.2e}"
