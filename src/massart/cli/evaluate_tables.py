"""The tables that `massart evaluate` prints, and what tables and page have in common."""

from typing import TYPE_CHECKING, NamedTuple

from massart.cli._command import plain_console
from massart.errors import counted
from massart.evaluation import Comparison, Difference, Evaluation, Interval, Line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Row", "name_of", "number", "pairs", "print_tables", "recommended_row", "rows_of", "title_of"]

_BY_LIST = " (per list)"


class Row(NamedTuple):
    """One estimate with one of its intervals, as texts."""

    estimator: str
    value: str
    error: str
    interval: str
    low: str
    high: str
    difference: str  # from what was earned in the log, and its ends by the same kind of interval
    difference_low: str
    difference_high: str


def number(value: float | None) -> str:
    """A number of a table.

    >>> number(0.12345), number(None), number(-1e-9)
    ('0.1235', '', '0.0000')
    """
    if value is None:
        return ""
    text = f"{value:.4f}" if abs(value) < 1e6 else f"{value:.6g}"
    return text.removeprefix("-") if text.strip("-0.") == "" else text


def name_of(estimator: str) -> str:
    """What a row calls an estimator."""
    return estimator + _BY_LIST if estimator == "iips" else estimator


def rows_of(found: Evaluation) -> list[Row]:
    """Every estimate with each of its intervals."""
    return [_row(line, one) for line in found.lines for one in line.intervals or (None,)]


def recommended_row(found: Evaluation) -> Row | None:
    """The row to look at first."""
    if found.recommended is None:
        return None
    name, kind = found.recommended
    line = found[name]
    interval = next((one for one in line.intervals if one.kind == kind), None)
    row = _row(line, interval)
    if line.difference is not None and not row.difference_low and line.difference.intervals:
        ends = line.difference.intervals[0]  # where this kind of interval is not known for differences
        row = row._replace(difference_low=number(ends.low), difference_high=number(ends.high))
    return row


def _row(line: Line, interval: Interval | None) -> Row:
    difference = line.difference
    ends = None
    if difference is not None and interval is not None:
        ends = next((one for one in difference.intervals if one.kind == interval.kind), None)
    return Row(
        name_of(line.estimator),
        number(line.value),
        number(line.standard_error),
        "none" if interval is None else interval.kind,
        "" if interval is None else number(interval.low),
        "" if interval is None else number(interval.high),
        "" if difference is None else number(difference.value),
        "" if ends is None else number(ends.low),
        "" if ends is None else number(ends.high),
    )


def title_of(found: Evaluation) -> str:
    """What a table is about; estimated propensities are named in every one."""
    marked = " with ESTIMATED propensities" if found.propensities == "estimated" else ""
    levels = {interval.confidence for line in found.lines for interval in line.intervals}
    level = "".join(f"; intervals of confidence {one:.4g}" for one in levels)  # all have the same
    return f"from {counted(found.decisions, 'logged decision')}{marked}{level}"


def pairs(found: Comparison) -> list[Difference]:
    """The differences to look at first: by the estimator that is recommended for both, else by one that both have."""
    chosen: dict[tuple[str, str], Difference] = {}
    best = {one.policy: (one.recommended or ("", None))[0] for one in found.evaluations}
    for one in found.differences:
        key = one.policy, one.other
        wanted = {best[name] for name in key if name != "logged"}
        if key not in chosen or wanted == {one.estimator}:
            chosen[key] = one
    return list(chosen.values())


def print_tables(found: Comparison) -> None:
    """Print what was found: a table of one policy, or of several and of their differences."""
    if len(found.evaluations) == 1:
        _print_one(found.evaluations[0])
    else:
        _print_several(found)


def _table(title: str, words: list[str], numbers: list[str]) -> "Table":
    from rich.table import Table as RichTable

    table = RichTable(title=title, title_justify="left", header_style="bold")
    for head in (*words, *numbers):
        table.add_column(head, no_wrap=head in words, justify="left" if head in words else "right")
    return table


_NUMBERS = ["low", "high", "above logged", "low ", "high "]


def _print_one(found: Evaluation) -> None:
    console = plain_console()
    title = f"Reward per decision of the policy {found.policy}, {title_of(found)}"
    table = _table(title, ["estimator", "value", "standard error", "interval"], _NUMBERS)
    first = recommended_row(found)
    if first is not None:
        table.add_row(f"{first.estimator}, recommended", *first[1:], style="bold")
        table.add_section()
    for row in rows_of(found):
        table.add_row(*row)
    console.print(table)
    _print_positions(console, found)
    console.print(_facts(found))


def _print_positions(console: "Console", found: Evaluation) -> None:
    if not found.positions:
        return
    of = "" if found.slates is None else f", {counted(found.slates, 'list')}"
    table = _table(f"By position{of}", ["position"], ["decisions", "logged", "ips", "standard error", "snips"])
    for one in found.positions:
        numbers = (number(value) for value in (one.logged, one.ips, one.standard_error, one.snips))
        table.add_row(str(one.position), f"{one.decisions:,}", *numbers)
    console.print(table)


def _facts(found: Evaluation) -> str:
    return (
        f"The log earned {number(found.logged_value)} per decision. Effective sample size "
        f"{found.effective_sample_size:,.1f} of {found.decisions:,}; largest weight {found.largest_weight:.3g}, "
        f"{found.largest_share:.2%} of all; mean weight {found.mean_weight:.3f}."
    )


def _print_several(found: Comparison) -> None:
    console = plain_console()
    first = found.evaluations[0]
    title = f"Reward per decision of {counted(len(found.evaluations), 'policy')}, {title_of(first)}"
    table = _table(title, ["policy", "estimator", "value", "standard error", "interval"], _NUMBERS)
    for one in found.evaluations:
        row = recommended_row(one)
        table.add_row(one.policy, *(row or ("nothing is known", *[""] * 8)))
    console.print(table)
    table = _table(
        "Differences of two policies on the same decisions",
        ["policy", "minus", "estimator", "difference", "standard error", "interval"],
        ["low", "high"],
    )
    for pair in pairs(found):
        for ends in pair.intervals or (None,):
            bounds = ("none", "", "") if ends is None else (ends.kind, number(ends.low), number(ends.high))
            words = pair.policy, pair.other, name_of(pair.estimator)
            table.add_row(*words, number(pair.value), number(pair.standard_error), *bounds)
    console.print(table)
    console.print(f"The log earned {number(first.logged_value)} per decision. Every estimator: --json, or --report.")
