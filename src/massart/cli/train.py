"""`massart train`: from a file or a pipe to a model, with progress, checkpoints and a closing summary."""

import json as json_format
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from massart.cli import cluster
from massart.cli import reading_options as options
from massart.cli._command import reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, Stop, leave, quick_start
from massart.errors import InvalidParameterError

if TYPE_CHECKING:
    from massart.data.schema import Schema
    from massart.training import Settings, Summary

_NAME = "massart train"


def train(
    data: Annotated[
        list[str] | None,
        Argument(
            help="Files, folders, patterns, or - for standard input, which is also taken when nothing is named and "
            "rows are piped in. Plain, gzip, zstd or bz2. Or a topic: kafka://host:9092/topic.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None, Option("--model", "-f", metavar="MODEL", help="Write the model here.", show_default=False)
    ] = None,
    initial: Annotated[
        Path | None,
        Option("--initial", "-i", metavar="MODEL", help="Go on from this model, with its options.", show_default=False),
    ] = None,
    passes: Annotated[int, Option(min=1, help="Passes over the data; only the first is counted.")] = 1,
    label: options.Label = None,
    labels: options.Labels = None,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    number: options.Number = None,
    decimal: options.Decimal = None,
    groups: options.Groups = None,
    data_format: Annotated[str, Option("--format", help=f"auto, {options.FORMATS}.")] = "auto",
    bits: options.Bits = None,
    features: options.Features = None,
    quadratic: options.Quadratic = None,
    cubic: options.Cubic = None,
    interactions: options.Interactions = None,
    file: options.Data = None,
    classes: options.Classes = None,
    holdout: Annotated[
        str | None,
        Option(
            metavar="N|FILE",
            help="Never learn every N-th row, or take the rows of FILE, and measure the error on them after each pass. "
            "Of several passes, the weights of the one with the lowest such error are kept.",
        ),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        Option(
            metavar="ROWS|TIME",
            help="Write MODEL.checkpoint every 1000000 rows, say, or every 30s, 5m or 1h; 0: only when stopped.  "
            "\\[default: 5m]",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Go on from MODEL.checkpoint; begin if there is none.")] = False,
    strict_resume: Annotated[
        bool,
        Option(
            "--strict-resume",
            help="Go on only if every byte of the data is the same, not only of samples of it. Reads the data once "
            "more; give it from the beginning.",
        ),
    ] = False,
    predictions: Annotated[
        str | None,
        Option(
            "--predictions",
            "-p",
            metavar="OUT",
            help="Write the answer given to each row before it was learned; - for standard output, or a topic of "
            "Kafka.",
        ),
    ] = None,
    scores: Annotated[bool, Option("--scores", help="Write scores instead of labels as predictions.")] = False,
    noise_rate: Annotated[
        float | None,
        Option(help="Largest probability that a label is flipped, below 0.5. Not given: several are tried."),
    ] = None,
    margin: Annotated[
        float | None,
        Option(
            help="Smallest |w*.z| / |z| of the best weights w*, where z is a row with the constant 1 added. "
            "Not given: several are tried."
        ),
    ] = None,
    horizon: Annotated[
        float | None,
        Option(help="Rows to come, if noise rate and margin are given; else rows after which to forget."),
    ] = None,
    products: Annotated[
        bool,
        Option("--products", help="Learn products of columns, too: two classes, at most 64 columns that are numbers."),
    ] = False,
    update: Annotated[
        str | None,
        Option(help="inverse-margin or paper, if noise rate and margin are given.", show_default=False),
    ] = None,
    seed: Annotated[int | None, Option(help="Random seed.  \\[default: 0]", show_default=False)] = None,
    follow: Annotated[
        bool, Option("--follow", help="Go on waiting for new records of a topic, until stopped by a signal.")
    ] = False,
    metrics: Annotated[
        str | None,
        Option(
            metavar="FILE|:PORT",
            help="Keep rows, error and lag in a file (.json, or Prometheus text), or at a port of this machine.",
        ),
    ] = None,
    report: options.Report = None,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed row.")] = False,
    threads: Annotated[int | None, Option(min=1, help="That read and parse.  \\[default: all cores]")] = None,
    progress: Annotated[
        str | None,
        Option(
            "--progress",
            "-P",
            help="A line every so many rows (1000), or whenever they have grown by a factor (2.0), also on a terminal.",
        ),
    ] = None,
    scheduler: cluster.Scheduler = None,
    workers: cluster.Workers = None,
    shards: cluster.Shards = None,
    json: Annotated[bool, Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    r"""Learn a classifier from rows with labels, some of them wrong, in one pass, and save it.

    Each row is predicted before it is learned, so the error shown is an honest one. Ctrl-C leaves a checkpoint.

    Nothing is written if the rows learned have only one label.

    [bold]Example[/bold]

    printf '1 1:1 2:0.5\n-1 1:-1\n' | massart train - -f model.massart

    massart train clicks.csv.gz --label click -f model.massart --holdout 10
    """
    # Only the flow of control is here: what an option means is decided where it is used.
    asked = {"noise_rate": noise_rate, "margin": margin, "horizon": horizon, "update": update, "seed": seed}
    asked |= {"products": products or None}
    with Stop() as stop, reporting(_NAME, stop, "stopped before anything was learned"):
        plan = _Plan(
            data=_data([*(data or ()), *(file or ())]),
            schema=options.asked_reading(
                data_format,
                labels,
                ignore,
                categorical,
                number,
                quadratic,
                cubic,
                interactions,
                classes=classes,
                label=label,
                weight=weight,
                decimal=decimal,
                groups=groups,
                bits=bits,
                features=features,
            ),
            learner={name: value for name, value in asked.items() if value is not None},
            passes=passes,
            holdout=holdout,
            checkpoint_every=_checkpoints(checkpoint_every, model),
            strict=strict,
            model=model,
            initial=initial,
            resume=resume,
            strict_resume=strict_resume,
            predictions=predictions,
            scores=scores,
            follow=follow,
            metrics=metrics,
            report=report,
            threads=threads or _cores(),
            progress=progress,
            json=json,
            quiet=quiet,
            cluster=cluster.Asked(scheduler, workers, shards),
        )
        code = _run(plan, stop)
        if code:
            leave(code)


class _Plan(NamedTuple):
    data: list[str]
    schema: dict[str, Any]
    learner: dict[str, Any]
    passes: int
    holdout: str | None
    checkpoint_every: str
    strict: bool
    model: Path | None
    initial: Path | None
    resume: bool
    strict_resume: bool
    predictions: str | None
    scores: bool
    follow: bool
    metrics: str | None
    report: Path | None
    threads: int
    progress: str | None
    json: bool
    quiet: bool
    cluster: "cluster.Asked"

    def settings(self) -> "Settings":
        from massart.training import Every, Settings

        holdout: int | str | None = self.holdout
        if self.holdout is not None and re.fullmatch(r"[+-]?[0-9]{1,18}", self.holdout):
            holdout = int(self.holdout)
        return Settings(
            **self.learner,
            passes=self.passes,
            holdout=holdout,
            checkpoint=Every.parse(self.checkpoint_every),
            strict=self.strict,
            strict_resume=self.strict_resume,
            given=frozenset(self.learner),
        )

    def asked_reading(self) -> "Schema":
        from massart.data.schema import Schema

        return Schema(**{name: value for name, value in self.schema.items() if value is not None})


def _run(plan: _Plan, stop: Stop) -> int:
    """Train; the exit code."""
    if plan.json and plan.predictions == "-":
        raise InvalidParameterError("--json and --predictions - both want standard output: write one of them to a file")
    if plan.resume and plan.model is None:
        raise InvalidParameterError("--resume needs -f MODEL, beside which the checkpoint lies")
    if plan.scores and plan.predictions is None:
        raise InvalidParameterError("--scores says how to write predictions: say where with --predictions")
    if plan.cluster:
        plan.cluster.start_loading()
    quick_start()
    if plan.cluster:
        return _run_on_cluster(plan, stop)
    from massart.training import is_complete, open_training

    out, err = Outlet(sys.stdout), Outlet(sys.stderr, careless=True)
    callbacks, live = _callbacks(plan, err)
    report = _report(plan)
    training = open_training(
        plan.data,
        plan.settings(),
        plan.asked_reading(),
        model=plan.model,
        initial=plan.initial,
        resume=plan.resume,
        predictions=_output(plan.predictions, out),
        as_scores=plan.scores,
        follow=plan.follow,
        workers=plan.threads,
        callbacks=callbacks,
        stopped=stop,
    )
    if report is not None:
        report.follow(training)
    try:
        if plan.resume and is_complete(training, plan.initial):
            if not plan.quiet:
                err.say(f"{_NAME}: {plan.model} is complete, there is nothing to go on with")
            return 0
        stop.patient = True
        with live, _metrics(plan, training):
            summary = training.run()
    finally:
        training.release()
    _tell(plan, summary, out, err, can_go_on=training.can_go_on)
    if report is not None and summary.stopped is None:
        report.write(training, summary)
    return 0 if summary.stopped is None else 128 + summary.stopped


def _run_on_cluster(plan: _Plan, stop: Stop) -> int:
    """Train on workers; the exit code."""
    from massart.cli.progress import Messages
    from massart.scale.training import train_shards

    plan.cluster.refuse(
        resume=plan.resume,
        strict_resume=plan.strict_resume,
        predictions=plan.predictions,
        follow=plan.follow,
        metrics=plan.metrics,
        report=plan.report,
    )
    if any(name.startswith("kafka://") for name in plan.data):
        raise InvalidParameterError("a topic is learned by one process, in the order of its records: leave workers out")
    out, err = Outlet(sys.stdout), Outlet(sys.stderr, careless=True)
    own: dict[str, Any] = {} if plan.quiet else {"callbacks": Messages(err, _NAME)}
    with plan.cluster.engine() as engine:
        summary = train_shards(
            plan.data,
            engine,
            plan.settings(),
            plan.asked_reading(),
            shards=plan.cluster.shards,
            model=plan.model,
            initial=plan.initial,
            stopped=stop,
            **own,
        )
    _tell(plan, summary, out, err, can_go_on=False)
    return 0


def _output(given: str | None, out: Outlet) -> Any:
    """Where predictions go."""
    if given is None or given == "-":
        return given and out
    if not given.startswith("kafka://"):
        return Path(given)
    from massart.training.prediction_topic import PredictionTopic

    return PredictionTopic(given)


def _metrics(plan: _Plan, training: Any) -> Any:
    if plan.metrics is None:
        return nullcontext()
    from massart.training.metrics import Metrics

    return Metrics(plan.metrics, training)


def _report(plan: _Plan) -> Any:
    """The page, if one is wanted; a place where it cannot be written is refused."""
    if plan.report is None:
        return None
    from massart.cli.train_page import Report

    return Report(plan.report, shlex.join(["massart", *sys.argv[1:]]))


def _callbacks(plan: _Plan, err: Outlet) -> tuple[Any, Any]:
    """What shows the progress, and what to hold while it is shown."""
    from massart.cli.progress import Pace, ProgressTable
    from massart.training import Callbacks

    pace = Pace() if plan.progress is None else Pace.parse(plan.progress)
    if plan.quiet:
        return Callbacks(), nullcontext()
    if plan.progress is None and sys.stderr.isatty():
        from rich.console import Console

        from massart.cli.progress_live import LiveProgress

        view = LiveProgress(Console(stderr=True), err, _NAME)
        return view, view
    return ProgressTable(err, _NAME, pace), nullcontext()


def _tell(plan: _Plan, summary: "Summary", out: Outlet, err: Outlet, *, can_go_on: bool) -> None:
    """The closing words; results to stdout, unless predictions went there."""
    if plan.json:
        out.say(json_format.dumps(summary.as_dict(), indent=2, default=str))
    elif not plan.quiet:
        (err if plan.predictions == "-" or summary.stopped is not None else out).say(
            "\n".join(summary.lines("not saved: name a file with -f"))
        )
    if summary.stopped is not None:
        err.say(f"{_NAME}: stopped after {summary.rows:,} rows; {_how_to_go_on(summary, plan, can_go_on=can_go_on)}")


def _how_to_go_on(summary: "Summary", plan: _Plan, *, can_go_on: bool) -> str:
    if summary.checkpoint is None:
        return "nothing is saved" if plan.model is None else "there is no checkpoint to go on from"
    if not can_go_on:
        return f"{summary.checkpoint} is what was learned from the pipe so far, a model like any other"
    given = [argument for argument in sys.argv[1:] if argument != "--resume"]
    return f"go on with: massart {shlex.join(given)} --resume"


def _data(data: Sequence[str] | None) -> list[str]:
    if data:
        return list(data)
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidParameterError("name a file to learn from, or pipe rows in; massart train --help has examples")
    return ["-"]


def _checkpoints(every: str | None, model: Path | None) -> str:
    if every is not None and model is None:
        raise InvalidParameterError("--checkpoint-every needs -f MODEL, beside which the checkpoint lies")
    return every or "5m"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
