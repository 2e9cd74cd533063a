"""Tables of the accuracy benchmark: errors per stream, ranks, excess over the best, the worlds; and its JSON file."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import accuracy_peers as peers
import accuracy_runs as runs
import accuracy_streams as streams
import numpy as np
from accuracy_checks import Check, checks, drift_checks
from accuracy_scores import Scores, Worlds
from report import machine
from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

_PLAIN_WIDTH = 120  # columns when the output is not a terminal
_SHOWN = 10  # places where a check is missed, worst first
_ORDERS = {"random": "random order", "original": "original order"}
_NOISES = {
    "none": "labels as published",
    "random 10%": "one label in ten flipped",
    "random 30%": "three labels in ten flipped",
    "group 10%": "one label in ten flipped outside the group",
    "group 30%": "three labels in ten flipped outside the group",
}


@contextmanager
def progress(total: int) -> Iterator[Callable[[runs.Record], None]]:
    """A bar on a terminal; nothing into a file."""
    if not sys.stderr.isatty():
        yield lambda record: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("getting ready", total=total)
        yield lambda record: bar.update(task, advance=1, description=f"{record['stream']}: {record['learner']}")


def show(records: Sequence[runs.Record], planned: int, absent: Sequence[str], judged: bool) -> None:
    """Print everything that people read."""
    out = Console(highlight=False)
    if not out.is_terminal:
        out = Console(highlight=False, width=_PLAIN_WIDTH)
    if not records:
        out.print("No run was made, so there is nothing to show.")
        return
    worlds = Worlds(records)
    scores = {order: Scores(records, order) for order in runs.ORDERS}
    for order, of_order in scores.items():
        for noise in streams.NOISES:
            if of_order.names(noise):
                out.print(_errors(of_order, noise, f"Error, {_ORDERS[order]}, {_NOISES[noise]}"))
    if any(of_order.learners for of_order in scores.values()):
        out.print(_summary(scores))
        out.print(_truth(scores["random"]))
    for adaptive in (False, True):
        if names := worlds.names(adaptive):
            out.print(_worlds(worlds, names, adaptive))
    drifting = Scores(records, runs.DRIFT)
    if drifting.learners:
        out.print(_errors(drifting, streams.NONE.name, "Error, targets that move"))
    for check in (*checks(scores, worlds), *drift_checks(drifting)):
        _print_check(out, check, judged)
    out.print()
    for sentence in (*_notes(scores, worlds, judged), *absent, *_failures(records)):
        out.print(f"- {sentence}", style="dim")
    if len(records) < planned:
        out.print(f"- {len(records):,} of {planned:,} runs have been made: the tables show what there is.", style="dim")


def write_json(path: Path, records: Sequence[runs.Record], absent: Sequence[str], judged: bool) -> None:
    """Everything, every single run included."""
    worlds = Worlds(records)
    scores = {order: Scores(records, order) for order in runs.ORDERS}
    drifting = Scores(records, runs.DRIFT)
    content = {
        **machine(),
        "judged": judged,
        "absent": list(absent),
        "checks": [check.as_json(judged) for check in (*checks(scores, worlds), *drift_checks(drifting))],
        "streams": {order: of_order.as_json() for order, of_order in (scores | {runs.DRIFT: drifting}).items()},
        "worlds": worlds.as_json(),
        "runs": list(records),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("learner", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _titled(title: str, table: Table) -> Group:
    """A title may be wider than its table, so it is not part of it."""
    return Group(Text(title, "bold"), table)


def _add(table: Table, learner: str, cells: Sequence[str]) -> None:
    style = "bold" if learner in (peers.OURS, runs.UNTOLD) else None
    table.add_row(*(Text(cell) for cell in (learner, *cells)), style=style)


def _share(value: float, digits: int = 4) -> str:
    """A share as statisticians write it.

    >>> _share(0.1234), _share(1.0), _share(float("nan"))
    ('.1234', '1.0000', '-')
    """
    if np.isnan(value):
        return "-"
    return "failed" if np.isinf(value) else f"{value:.{digits}f}".removeprefix("0")


def _head(name: str) -> str:
    """Over several lines, so that columns are narrow."""
    return name.replace("-", "\n")


def _errors(scores: Scores, noise: str, title: str) -> Group:
    """Learners down, streams across; the best of each stream has a star."""
    names = scores.names(noise)
    table = _table([*map(_head, names), "mean\nrank", "mean\nexcess"])
    ranks, excess = scores.mean_ranks(noise), scores.mean_excess(noise)
    for learner in scores.learners:
        values = [scores.error(name, noise, learner) for name in names]
        best = [scores.best(name, noise) for name in names]
        cells = [_share(v) + ("*" if v == b else " ") for v, b in zip(values, best, strict=True)]
        _add(table, learner, [*cells, _rank(ranks[learner]), _share(excess[learner])])
    return _titled(title, table)


def _rank(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.1f}"


def _summary(scores: dict[str, Scores]) -> Group:
    """Everybody over all streams, best mean rank in random order first."""
    shown = {order: of_order for order, of_order in scores.items() if of_order.learners}
    counts = ", ".join(f"{len(s.complete())} in {_ORDERS[order]}" for order, s in shown.items())
    title = f"All streams and noises on which everybody has run: {counts}"
    heads = [f"{order}:\n{what}" for order in shown for what in ("mean rank", "mean excess", "times first")]
    table = _table(heads)
    found = {order: (s.mean_ranks(), s.mean_excess(), s.firsts()) for order, s in shown.items()}
    ranks = next(iter(found.values()))[0]
    for learner in sorted(ranks, key=lambda name: (np.isnan(ranks[name]), ranks[name])):
        cells: list[str] = []
        for of_ranks, of_excess, firsts in found.values():
            if learner in of_ranks:
                cells += [_rank(of_ranks[learner]), _share(of_excess[learner]), str(firsts[learner])]
            else:
                cells += ["-"] * 3
        _add(table, learner, cells)
    return _titled(title, table)


def _truth(scores: Scores) -> Group:
    """What flipped labels do to predictions of the true ones."""
    noises = [noise for noise in streams.NOISES if noise != streams.NONE.name]
    columns = [(noise, "true_error", noise) for noise in noises]
    columns += [(noise, "group_true_error", f"{noise},\nin the group") for noise in noises if "group" in noise]
    title = "Error against the true labels, which nobody is told: mean over the streams, random order"
    table = _table([head for _, _, head in columns])
    means = [scores.mean_of(noise, what) for noise, what, _ in columns]
    for learner in scores.learners:
        of_learner = [mean[learner] for mean in means]
        best = [min(mean.values()) for mean in means]  # of streams that everybody has run, so all are numbers or none
        _add(table, learner, [_share(v) + ("*" if v == b else " ") for v, b in zip(of_learner, best, strict=True)])
    return _titled(title, table)


def _worlds(worlds: Worlds, names: Sequence[str], adaptive: bool) -> Group:
    """Error of the learner that was told noise rate and margin, and by how much everybody else is above it."""
    kind = "that choose rows by the weights" if adaptive else "written beforehand"
    told = [worlds.error(name, runs.TOLD) for name in names]
    known = not np.isnan(told).any()
    title = f"Worlds {kind}: {'error of the told learner, excess of others over it' if known else 'error'}"
    table = _table([*map(_head, names), "mean"])
    for learner in worlds.learners:
        values = [worlds.error(name, learner) for name in names]
        compared = known and learner != runs.TOLD
        if compared:
            values = [value - of_told for value, of_told in zip(values, told, strict=True)]
        cells = [_signed(value) if compared else _share(value, 3) for value in (*values, float(np.mean(values)))]
        _add(table, f"{learner}, told" if learner == runs.TOLD else learner, cells)
    return _titled(title, table)


def _signed(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{'-' if value < 0 else '+'}{_share(abs(value), 3)}" if np.isfinite(value) else "failed"


def _print_check(out: Console, check: Check, judged: bool) -> None:
    verdict = check.verdict(judged)
    colour = {"PASS": "green", "miss": "red"}.get(verdict, "")
    out.print(Text.assemble((f"{verdict:<5}", colour), (check.wanted, "bold")))
    out.print(Text(f"     {check.found}"))
    for line in check.details[:_SHOWN]:
        out.print(Text(f"       {line}"))
    if len(check.details) > _SHOWN:
        out.print(Text(f"       and {len(check.details) - _SHOWN} more, which --json tells"))


def _notes(scores: dict[str, Scores], worlds: Worlds, judged: bool) -> list[str]:
    if not judged:
        return [f"Quick: {streams.QUICK_ROWS} rows of each stream once, {runs.QUICK_ROUNDS} rounds of each world once."]
    notes = []
    if any(of_order.learners for of_order in scores.values()):
        notes += [
            "An error is the mean over shuffles; * is the least of its column. A mean excess is over the best of each "
            "stream. Ranks and excess are over streams on which everybody has run.",
            f"{runs.SHUFFLES} shuffles, on streams of more than {runs.LONG:,} rows {runs.SHUFFLES_OF_LONG}, and "
            f"there {runs.SHUFFLES_OF_RIVER} for the learners of river. In original order "
            f"{runs.NOISY_ORIGINALS} draws of the noise, on longer streams 1.",
            "river's scaler sees the non-zeros of sparse rows only, and takes most of what they say away: zipf is no "
            "stream for it.",
            "The group whose labels stay true: Black in Adult, elsewhere the rows above the median in one column.",
        ]
    if worlds.learners:
        notes.append(
            f"Worlds: {runs.WORLD_ROUNDS:,} rounds, {runs.WORLD_SEEDS} seeds, {runs.WORLD_SEEDS_OF_SLOW} for learners "
            "of other packages; names are those of `massart race`."
        )
    return notes


def _failures(records: Sequence[runs.Record]) -> list[str]:
    found = {(r["learner"], r["stream"], r["failure"]) for r in records if r["error"] is None}
    return [f"{learner} failed on {stream}: {why}" for learner, stream, why in sorted(found)]
