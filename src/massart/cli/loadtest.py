"""`massart loadtest`: how many decisions and rewards a service takes per second, and how long each waits."""

import json as json_format
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from massart.cli._command import plain_console, reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet
from massart.errors import InvalidParameterError, MassartError, counted

if TYPE_CHECKING:
    from massart.cli.load import Measured

_NAME: Final = "massart loadtest"
MOST: Final = {"seconds": 600.0, "requests": 1_000_000, "concurrency": 256, "actions": 1000, "features": 1000}
_SHOWN: Final = (50.0, 90.0, 99.0)  # percentiles


def loadtest(
    url: Annotated[str, Argument(metavar="URL", help="The address of the service, such as http://127.0.0.1:8080.")],
    seconds: Annotated[float, Option("--seconds", min=0.1, help="Stop after so many seconds, at most 600.")] = 10.0,
    requests: Annotated[
        int, Option("--requests", min=1, help="Stop after so many requests, at most 1,000,000.")
    ] = 1_000_000,
    concurrency: Annotated[
        int, Option("--concurrency", min=1, help="Connections, each with one request at a time, at most 256.")
    ] = 8,
    actions: Annotated[int, Option("--actions", min=1, help="Actions of a decision, at most 1,000.")] = 10,
    features: Annotated[int, Option("--features", min=0, help="Features of an action, at most 1,000.")] = 10,
    rewards: Annotated[bool, Option("--rewards/--no-rewards", help="Send a reward after each decision.")] = True,
    loop: Annotated[
        str, Option("--loop", metavar="NAME", help="The loop; it is made if it is not there.")
    ] = "loadtest",
    key_file: Annotated[
        Path | None,
        Option(
            "--key-file", metavar="FILE", help="A file with the key; else the variable MASSART_KEY.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed of features and rewards.")] = 0,
    json: Annotated[bool, Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Send decisions and rewards to a service, and print requests per second and the percentiles of their latency.

    The decisions are recorded and learned like all others: use a loop of its own. It stops after --seconds or
    --requests, whichever comes first. The exit code is 1 if a request failed.

    [bold]Example[/bold]

    massart loadtest http://127.0.0.1:8080 --seconds 10 --concurrency 8 --key-file key.txt
    """
    failed = 0
    with reporting(_NAME):
        given = {"seconds": seconds, "requests": requests, "concurrency": concurrency, "actions": actions,
                 "features": features}  # fmt: skip
        for name, value in given.items():
            if value > MOST[name]:
                raise InvalidParameterError(f"--{name} is {value:,}: give at most {MOST[name]:,}")
        from massart.cli.load import Load, Target

        target = Target(url, _key(key_file))
        target.prepare(loop)
        load = Load(target, loop, actions=actions, features=features, rewards=rewards, seed=seed)
        took, measured = load.run(seconds=seconds, requests=requests, concurrency=concurrency)
        if not any(one.latencies for one in measured):
            raise MassartError(f"no request succeeded: {_errors(measured[0]) or 'there was no time for one'}")
        failed = sum(sum(one.errors.values()) for one in measured)
        if json:
            found = {"url": url, "concurrency": concurrency, "seconds": took} | {
                one.name: _facts(one, took) for one in measured
            }
            Outlet(sys.stdout).say(json_format.dumps(found, indent=2, allow_nan=False))
        else:
            _print(measured, took, concurrency)
    if failed:
        from massart.cli.process import leave

        leave(1)


def _key(path: Path | None) -> str | None:
    """The key; on the command line everybody who lists processes would see it."""
    if path is not None:
        return path.read_text(encoding="utf-8").strip()
    return os.environ.get("MASSART_KEY")


def _percentiles(values: Any) -> list[float]:
    """Of latencies, in milliseconds: the smallest one that so many percent do not exceed."""
    ordered = sorted(values)
    return [1000.0 * ordered[max(0, -(-len(ordered) * int(p) // 100) - 1)] for p in _SHOWN]


def _facts(one: "Measured", took: float) -> dict[str, Any]:
    facts: dict[str, Any] = {"requests": len(one.latencies), "per_second": len(one.latencies) / took}
    if one.latencies:
        names = [f"p{p:g}_ms" for p in _SHOWN]
        facts |= dict(zip(names, _percentiles(one.latencies), strict=True)) | {"max_ms": 1000.0 * max(one.latencies)}
    return facts | {"errors": dict(one.errors)}


def _errors(one: "Measured") -> str:
    return ", ".join(f"{count:,} x {why}" for why, count in sorted(one.errors.items()))


def _print(measured: "list[Measured]", took: float, concurrency: int) -> None:
    from rich.table import Table

    table = Table(
        header_style="bold", title=f"{took:.1f} s, {counted(concurrency, 'connection')}", title_justify="left"
    )
    table.add_column("request")
    for name in ("requests", "per second", *(f"p{p:g} ms" for p in _SHOWN), "max ms"):
        table.add_column(name, justify="right")
    table.add_column("errors")
    for one in measured:
        numbers = [*_percentiles(one.latencies), 1000.0 * max(one.latencies)] if one.latencies else []
        cells = [f"{value:.1f}" for value in numbers] or [""] * 4
        table.add_row(
            one.name, f"{len(one.latencies):,}", f"{len(one.latencies) / took:,.0f}", *cells, _errors(one) or "none"
        )
    plain_console().print(table)
