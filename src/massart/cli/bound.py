"""`massart bound`: every promise of the theory for one noise rate and margin, side by side."""

import json as json_format
import math
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from massart.errors import InvalidParameterError, MassartError

_PLAIN_WIDTH = 120  # of a table that goes to a file or a pipe
_MOST_ROUNDS = 10**18  # nobody waits longer


class _Promise(NamedTuple):
    who: str
    result: str
    bound: Callable[[float, float, float], float]  # of noise rate, margin and rounds
    proved: bool = True  # False: an order of growth whose constant nobody has named


def bound(
    noise_rate: Annotated[float, typer.Option(help="Largest probability with which a label lies, below 1/2.")],
    margin: Annotated[float, typer.Option(help="Least distance from the boundary, for rows of length at most 1.")],
    rounds: Annotated[float, typer.Option(help="How many rounds; 1e6 is understood.")] = 1e6,
    within: Annotated[
        float, typer.Option(help="How near the noise rate the promise shall come, in mistakes per round.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="Of the promise that holds with high probability.")] = 0.99,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare what each learner promises, and from how many rounds on it is worth something.

    A promise of half of the rounds is worth nothing: a coin keeps it.

    [bold]Example[/bold]

    massart bound --noise-rate .1 --margin .05 --rounds 1e6
    """
    try:
        lines = _lines(noise_rate, margin, rounds, within, confidence)
        notes = _notes(noise_rate, margin, rounds)
    except MassartError as error:
        typer.echo(f"massart bound: {error}", err=True)
        raise typer.Exit(2) from None
    if json:
        typer.echo(json_format.dumps(lines, indent=2))
    else:
        _print(lines, notes, noise_rate, margin, rounds, within)


def _promises(confidence: float) -> list[_Promise]:
    from massart import theory
    from massart.learners.experts import MARGINS, MOST_EXPERTS, NOISE_RATES

    grid = [(rate, gamma) for rate in NOISE_RATES for gamma in MARGINS]
    descent = 2.0 * math.sqrt(2.0)  # the constant of adagrad_regret

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
        _Promise("fixed step, horizon known", "Theorem 1(a)", theory.fixed_mistake_bound),
        _Promise("FTRL, anytime", "Theorem 1(b)", theory.ftrl_mistake_bound),
        _Promise("AdaGrad-norm", "Theorem 1(c)", theory.adagrad_mistake_bound),
        _Promise(
            f"FTRL, probability {confidence:g}",
            "Theorem 4",
            lambda p, m, t: theory.high_probability_mistake_bound(p, m, t, confidence),
        ),
        _Promise(
            "pool, told nothing",
            "Theorem 7(e)",
            lambda p, m, t: theory.pool_mistake_bound(p, m, t, grid, MOST_EXPERTS),
        ),
        _Promise("slack, AdaGrad-norm", "Theorem 2", slack),
        _Promise("slack, any optimiser", "Theorem 3", black_box),
        _Promise("paper, horizon known", "Theorem 8(a)", theory.paper_mistake_bound),
        _Promise("paper, anytime", "Theorem 8(b)", theory.paper_anytime_mistake_bound),
        _Promise(
            "paper, T^(3/4)/margin",
            "paper, Theorem 1.8",
            lambda p, m, t: p * t + theory.paper_theorem_excess(m, t),
            proved=False,
        ),
    ]


def _lines(noise_rate: float, margin: float, rounds: float, within: float, confidence: float) -> list[dict[str, Any]]:
    from massart import theory

    theory.check_noise_rate(noise_rate)
    theory.check_margin(margin)
    theory.check_rounds(rounds, smallest=1.0)
    theory.check_positive("within", within)
    theory.check_confidence(confidence)
    lines = []
    for promise in _promises(confidence):
        line: dict[str, Any] = {"learner": promise.who, "result": promise.result, "proved": promise.proved}
        try:
            mistakes = promise.bound(noise_rate, margin, rounds)
        except InvalidParameterError as error:  # the pool's grid does not reach everywhere
            lines.append(line | {"mistakes": None, "why": str(error)})
            continue
        line["mistakes"] = mistakes
        line["excess"] = mistakes - noise_rate * rounds
        line["per_round"] = mistakes / rounds
        line["rounds_to_beat_a_coin"] = _rounds_until(promise.bound, noise_rate, margin, 0.5 - noise_rate)
        line["rounds_to_come_within"] = _rounds_until(promise.bound, noise_rate, margin, within)
        lines.append(line)
    return lines


def _rounds_until(
    mistake_bound: Callable[[float, float, float], float], noise_rate: float, margin: float, tolerance: float
) -> int | None:
    """The rounds from which on the bound is within `tolerance` of the noise rate; None if that takes for ever."""
    from massart import theory

    if mistake_bound(noise_rate, margin, _MOST_ROUNDS) > (noise_rate + tolerance) * _MOST_ROUNDS:
        return None
    return theory.rounds_until(mistake_bound, noise_rate, margin, tolerance)


def _notes(noise_rate: float, margin: float, rounds: float) -> list[str]:
    from massart import theory

    error = theory.online_to_batch_error(noise_rate, margin, rounds)
    price = theory.corruption_penalty(noise_rate, margin, 1.0)
    return [
        f"Offline, a random one of the fixed step's iterates errs on at most {min(1.0, error):.4f} of new rows "
        "(Theorem 6).",
        f"Each round that breaks every rule costs FTRL at most {price:,.1f} mistakes, "
        "and a lower-order term (Theorem 5).",
        "Theorems 1 to 8 are those of docs/theory.md. The last line is only an order of growth: the paper names "
        "no constant, here it is 1.",
    ]


def _print(
    lines: list[dict[str, Any]], notes: list[str], noise_rate: float, margin: float, rounds: float, within: float
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PLAIN_WIDTH)
    title = f"Mistakes in {rounds:,.0f} rounds, noise rate {noise_rate:g}, margin {margin:g}: at most"
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("learner", no_wrap=True)
    table.add_column("by", no_wrap=True)
    heads = ("mistakes", "over noise", "per round", "beats a coin from", f"within {within:g} of noise from")
    for head in heads:
        table.add_column(head, justify="right")
    for line in lines:
        table.add_row(line["learner"], line["result"], *_numbers(line, rounds))
    console.print(table)
    for words in notes:
        console.print(words)
    for line in lines:
        if "why" in line:
            console.print(f"{line['learner']}: {line['why']}.")


def _numbers(line: dict[str, Any], rounds: float) -> list[str]:
    if line["mistakes"] is None:
        return ["no promise", "", "", "", ""]
    waits = [line["rounds_to_beat_a_coin"], line["rounds_to_come_within"]]
    when = ["never" if wait is None else f"{wait:,}" if wait < 10**9 else f"{wait:.2e}" for wait in waits]
    if line["mistakes"] >= rounds:
        return ["all of them", "", "", *when]
    return [f"{line['mistakes']:,.0f}", f"{line['excess']:+,.0f}", f"{line['per_round']:.4f}", *when]
