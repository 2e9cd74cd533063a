"""`massart evaluate`: what a policy would have earned, from a log of what another one did."""

import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from massart.cli._command import escaped, plain_console, reporting, with_flags
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet
from massart.errors import InvalidParameterError, counted

if TYPE_CHECKING:
    from massart.evaluation import Evaluation


def evaluate(
    logs: Annotated[
        list[str],
        Argument(
            metavar="LOG...",
            help="The log: files, folders, patterns, or - for standard input; VW --cb_adf text, dsjson, JSON lines, "
            "CSV or Parquet. Plain, gzip, zstd or bz2.",
        ),
    ],
    log_format: Annotated[
        str,
        Option("--format", help="auto, vw, dsjson, jsonl, csv or parquet. VW's costs are negative rewards."),
    ] = "auto",
    policy: Annotated[
        str,
        Option(
            help="uniform, first (arm 0), logged (who wrote the log), target (a field of the log), or the file of a "
            "bandit that massart.save wrote."
        ),
    ] = "uniform",
    estimator: Annotated[
        str, Option(help="all, or some of ips, snips, dm, dr, switch-dr with commas between.")
    ] = "all",
    interval: Annotated[
        str, Option(help="all, or some of normal, bootstrap, bernstein, sequence with commas between.")
    ] = "all",
    confidence: Annotated[float, Option(help="Of every interval.")] = 0.95,
    reward_range: Annotated[
        tuple[float, float] | None,
        Option(
            help="Least and greatest possible reward, for bernstein and sequence; 0 1 if all rewards fit.",
            show_default=False,
        ),
    ] = None,
    max_weight: Annotated[
        float | None,
        Option(help="Clips weights for bernstein; found from a tenth of the log if missing.", show_default=False),
    ] = None,
    switch_threshold: Annotated[float, Option(help="Weight above which switch-dr trusts its model.")] = 10.0,
    seed: Annotated[int, Option(min=0, help="Of the folds and the bootstrap.")] = 0,
    json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No notes on stderr; warnings stay.")] = False,
) -> None:
    """Estimate what a policy would earn per decision from a log of decisions and their propensities.

    [bold]Example[/bold]

    massart evaluate log.vw --policy uniform --confidence .99
    """
    from massart.data import DecisionLog
    from massart.evaluation import ESTIMATORS, INTERVALS
    from massart.evaluation import evaluate as run

    with reporting("massart evaluate"):
        found = run(
            DecisionLog(logs, log_format),
            _opened(policy),
            estimators=_names(estimator, ESTIMATORS),
            intervals=_names(interval, INTERVALS),
            confidence=confidence,
            reward_range=reward_range,
            max_weight=max_weight,
            switch_threshold=switch_threshold,
            seed=seed,
        )
        if json:
            Outlet(sys.stdout).say(json_format.dumps(found.as_dict(), indent=2, allow_nan=False))
        else:
            _print(found)
        err = Outlet(sys.stderr, careless=True)
        for words in found.warnings:
            err.say(f"warning: {with_flags(escaped(words))}")
        if not quiet:
            for words in found.notes:
                err.say(f"note: {with_flags(escaped(words))}")


def _opened(policy: str) -> Any:
    """A policy by its name, or the bandit in a file."""
    from massart.evaluation import POLICIES

    if policy in POLICIES:
        return policy
    if not Path(policy).is_file():
        choice = "; ".join(f"{name}: {words}" for name, words in POLICIES.items())
        raise InvalidParameterError(f"there is no policy and no file {policy!r}; there are {choice}")
    from massart.models.opening import load

    model = load(policy)
    if not hasattr(model, "probabilities"):
        raise InvalidParameterError(f"{policy} holds a {type(model).__name__}, which does not choose among arms")
    return model


def _names(asked: str, every: tuple[str, ...]) -> tuple[str, ...]:
    return every if asked == "all" else tuple(name.strip() for name in asked.split(",") if name.strip())


def _count(decisions: int) -> str:
    return counted(decisions, "logged decision")


def _print(found: "Evaluation") -> None:
    from rich.table import Table

    console = plain_console()
    table = Table(
        title=f"Reward per decision of the policy {found.policy}, from {_count(found.decisions)}",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("estimator", no_wrap=True)
    for head in ("value", "standard error"):
        table.add_column(head, justify="right")
    table.add_column("interval", no_wrap=True)
    for head in ("confidence", "low", "high"):
        table.add_column(head, justify="right")
    for line in found.lines:
        error = "" if line.standard_error is None else f"{line.standard_error:.4f}"
        numbers = (line.estimator, f"{line.value:.4f}", error)
        for interval in line.intervals:
            bounds = (f"{interval.confidence:.4g}", f"{interval.low:.4f}", f"{interval.high:.4f}")
            table.add_row(*numbers, interval.kind, *bounds)
        if not line.intervals:
            table.add_row(*numbers, "none", "", "", "")
    console.print(table)
    console.print(
        f"Effective sample size {found.effective_sample_size:,.1f} of {found.decisions:,}; largest weight "
        f"{found.largest_weight:.3g}, {found.largest_share:.2%} of all; mean weight {found.mean_weight:.3f}."
    )
