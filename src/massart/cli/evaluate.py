"""`massart evaluate`: what policies would have earned, from a log of what another one did."""

import json as json_format
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from massart.cli import cluster, log_options
from massart.cli._command import escaped, reporting, with_flags
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, leave
from massart.errors import InvalidParameterError, counted

if TYPE_CHECKING:
    from massart.evaluation import Comparison

_FLAGS: Final = {
    name: f"--{name.replace('_', '-')}" for name in (*log_options.COLUMNS, "reward_model", "max_bad_lines")
}
_BAD: Final = 1  # exit code if lines were left out


def evaluate(
    logs: Annotated[
        list[str],
        Argument(
            metavar="LOG...",
            help="The log: files, folders, patterns, or - for standard input; VW --cb_adf and --cb text, dsjson, JSON "
            "lines, CSV or Parquet. Plain, gzip, zstd or bz2.",
        ),
    ],
    log_format: Annotated[
        str,
        Option("--format", help="auto, vw, vw-cb, dsjson, jsonl, csv or parquet. VW's costs are negative rewards."),
    ] = "auto",
    policy: Annotated[
        list[str] | None,
        Option(
            metavar="POLICY",
            help="uniform, first (arm 0), logged (who wrote the log), target (a field of the log), or the file of a "
            "bandit that massart.save wrote. Several are compared, on the same decisions.  \\[default: uniform]",
            show_default=False,
        ),
    ] = None,
    estimator: Annotated[
        str, Option(help="all, or some of ips, snips, dm, dr, switch-dr with commas between.")
    ] = "all",
    interval: Annotated[
        str,
        Option(
            help="all, or some of normal, bootstrap, cressie-read, clopper-pearson, bernstein, sequence with commas "
            "between."
        ),
    ] = "all",
    confidence: Annotated[float, Option(help="Of every interval.")] = 0.95,
    reward_range: Annotated[
        tuple[float, float] | None,
        Option(
            help="Least and greatest possible reward, for the last four intervals; 0 1 if all rewards fit.",
            show_default=False,
        ),
    ] = None,
    max_weight: Annotated[
        float | None,
        Option(
            help="Clips weights for bernstein and clopper-pearson; found from a tenth of the log if missing.",
            show_default=False,
        ),
    ] = None,
    reward_model: Annotated[
        str, Option(help="For dm, dr and switch-dr: ridge, forest, boosting or mean, each cross-fitted.")
    ] = "ridge",
    switch_threshold: Annotated[float, Option(help="Weight above which switch-dr trusts its model.")] = 10.0,
    action: log_options.Action = None,
    reward: log_options.Reward = None,
    cost: log_options.Cost = None,
    probability: log_options.Probability = None,
    context: log_options.Context = None,
    position: log_options.Position = None,
    slate: log_options.Slate = None,
    event_id: log_options.EventId = None,
    time: log_options.Time = None,
    weight: log_options.Weight = None,
    arms: log_options.Arms = None,
    max_bad_lines: log_options.MaxBadLines = 100,
    seed: Annotated[int, Option(min=0, help="Of the folds and the bootstrap.")] = 0,
    scheduler: cluster.Scheduler = None,
    workers: cluster.Workers = None,
    report: Annotated[Path | None, Option(help="Write a page (.html) that opens without a network.")] = None,
    json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No notes on stderr; warnings stay.")] = False,
) -> None:
    """Estimate what policies would earn per decision from a log of decisions and their propensities.

    The first row is the one to look at. Several policies are compared on the same decisions. Workers read the files of
    a log side by side; the result is the same.

    [bold]Examples[/bold]

    massart evaluate log.vw --policy uniform --confidence .99

    massart evaluate log.vw --policy uniform --policy first --report page.html
    """
    given = dict(locals())
    from massart.data import DecisionLog
    from massart.evaluation import ESTIMATORS, INTERVALS, REWARD_MODELS, EvaluationOptions, compare

    bad_lines = 0
    with reporting("massart evaluate", flags=_FLAGS):
        if reward_model not in REWARD_MODELS:
            known = "; ".join(f"{name}: {words}" for name, words in REWARD_MODELS.items())
            raise InvalidParameterError(f"there is no reward model {reward_model!r}; there are {known}")
        _check_page(report)
        options = EvaluationOptions(
            estimators=_names(estimator, ESTIMATORS),
            intervals=_names(interval, INTERVALS),
            confidence=confidence,
            reward_range=reward_range,
            max_weight=max_weight,
            switch_threshold=switch_threshold,
            seed=seed,
            reward_model=reward_model,
        )
        policies = {name: _opened(name) for name in policy or ["uniform"]}
        columns = log_options.columns_of(given)
        log = DecisionLog(logs, log_format, columns=columns, max_bad_lines=max_bad_lines, propensities_may_miss=True)
        asked = cluster.Asked(scheduler, workers)
        if asked:
            from massart.scale.evaluating import evaluate_parts

            with asked.engine() as engine:
                found = evaluate_parts(log, policies, engine, options)
        else:
            found = compare(log, policies, options)
        bad_lines = found.evaluations[0].bad_lines
        _show(found, json=json, quiet=quiet)
        if report is not None:
            from massart.arena.rows import write_bytes
            from massart.cli.evaluate_page import page

            write_bytes(report, page(found, log.name, _command(given)).encode())
    if bad_lines:
        leave(_BAD)


def _show(found: "Comparison", *, json: bool, quiet: bool) -> None:
    if json:
        whole = found.evaluations[0] if len(found.evaluations) == 1 else found
        Outlet(sys.stdout).say(json_format.dumps(whole.as_dict(), indent=2, allow_nan=False))
    else:
        from massart.cli.evaluate_tables import print_tables

        print_tables(found)
    err = Outlet(sys.stderr, careless=True)
    bad = found.evaluations[0].bad_lines
    for words in found.bad_lines:
        err.say(f"bad line: {with_flags(escaped(words), _FLAGS)}")
    if bad > len(found.bad_lines):
        err.say(f"bad line: and {counted(bad - len(found.bad_lines), 'more line')}")
    for kind in ("warnings",) if quiet else ("warnings", "notes"):
        for words, policies in _by_words(found, kind).items():
            which = "" if len(policies) == len(found.evaluations) else f"{', '.join(policies)}: "
            err.say(f"{kind[:-1]}: {with_flags(escaped(which + words), _FLAGS)}")


def _by_words(found: "Comparison", kind: str) -> dict[str, list[str]]:
    """Sentences, each with the policies it was said of."""
    said: dict[str, list[str]] = {}
    for one in found.evaluations:
        for words in getattr(one, kind):
            said.setdefault(words, []).append(one.policy)
    return said


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


def _check_page(report: Path | None) -> None:
    """Find out before the log is read what could not be written after it."""
    if report is not None:
        from massart.arena.rows import suffix_of
        from massart.files import check_place

        suffix_of(report, (".html", ".htm"), "a report")
        check_place(report)


def _command(given: dict[str, Any]) -> str:
    """What was typed, up to options that change nothing."""
    words = ["massart", "evaluate", *given["logs"]]
    names = [name for name in evaluate.__annotations__ if name not in ("logs", "return")]
    defaults = dict(zip(names, evaluate.__defaults__ or (), strict=True))
    for name in names:
        value = given[name]
        if value != defaults[name] and name not in ("scheduler", "workers", "json", "quiet"):
            flag = "--format" if name == "log_format" else f"--{name.replace('_', '-')}"
            for one in value if isinstance(value, list) else [value]:
                words += [flag, *map(str, one if isinstance(one, tuple) else [one])]
    return shlex.join(words)
