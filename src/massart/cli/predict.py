"""`massart predict`: a line for every row of a file, by a model that `massart train` or `massart.save` wrote."""

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from massart.cli import cluster
from massart.cli._command import reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, quick_start
from massart.errors import MassartError

_NAME = "massart predict"


def predict(
    model: Annotated[Path, Argument(help="The model file.")],
    data: Annotated[
        list[str] | None,
        Argument(
            help="Files, folders, patterns, or - for standard input, which is also taken when rows are piped in.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[bool, Option("--scores", help="Write w.x + c instead of labels.")] = False,
    proba: Annotated[
        bool, Option("--proba", help="Write the probability of each label, as label:probability, instead of labels.")
    ] = False,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="OUT", help="Write here instead of to standard output.")
    ] = None,
    data_format: Annotated[
        str | None, Option("--format", help="That of the data, if it is not the one the model learned from.")
    ] = None,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed row.")] = False,
    threads: Annotated[int, Option(min=1, help="That read and parse.")] = 2,
    scheduler: cluster.Scheduler = None,
    workers: cluster.Workers = None,
    quiet: Annotated[bool, Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    r"""Predict the label of every row: one line each, an empty one for a row that cannot be read.

    A tag of VW text stands after its prediction. If rows have labels, the error is printed at the end.

    [bold]Example[/bold]

    printf '1 1:1 2:0.5\n-1 1:-1\n' | massart predict model.massart - --scores
    """
    with reporting(_NAME):
        asked = cluster.Asked(scheduler, workers)
        _predict(
            model,
            data,
            out,
            data_format,
            asked,
            scores=scores,
            proba=proba,
            strict=strict,
            threads=threads,
            quiet=quiet,
        )


def _predict(
    model: Path,
    data: list[str] | None,
    out: Path | None,
    data_format: str | None,
    asked: cluster.Asked,
    *,
    scores: bool,
    proba: bool,
    strict: bool,
    threads: int,
    quiet: bool,
) -> None:
    if not data:
        if sys.stdin is None or sys.stdin.isatty():
            raise MassartError("name a file to predict, or pipe rows in")
        data = ["-"]
    quick_start()
    from massart.cli.progress import row_progress
    from massart.training import predict_file

    err = Outlet(sys.stderr, careless=True)
    with row_progress(err, _NAME, quiet=quiet, to_stdout=out is None) as callbacks, ExitStack() as held:
        predicts: Any = predict_file
        if asked:
            from massart.scale.predicting import predict_files

            predicts = partial(predict_files, engine=held.enter_context(asked.engine()))
        found = predicts(
            model,
            data,
            Outlet(sys.stdout) if out is None else out,
            scores=scores,
            probabilities=proba,
            data_format=data_format,
            strict=strict,
            workers=threads,
            callbacks=callbacks,
        )
    if not quiet:
        words = [f"{found.rows:,} rows predicted"]
        if found.error is not None:
            words.append(f"error {found.error:.2%}: {found.mistakes:,} mistakes on {found.labelled:,} with a label")
        if found.rows_with_errors:
            words.append(f"{found.rows_with_errors:,} left out")
        err.say(f"{_NAME}: {'; '.join(words)}")
