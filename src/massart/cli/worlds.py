"""`massart worlds`: what there is to race in."""

import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from massart.errors import MassartError

if TYPE_CHECKING:
    from massart.worlds import World

_PLAIN_WIDTH = 120  # of a table that goes to a file or a pipe


def worlds(
    world: Annotated[
        list[str] | None, typer.Argument(help="Worlds by name, shown in full; none for a list of all.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the worlds: how noisy they are, their margin, and why learners fail there.

    [bold]Example[/bold]

    massart worlds hunted-minority
    """
    from massart import worlds as every

    try:
        made = [every.make(name) for name in world or every.names()]
    except MassartError as error:
        typer.echo(f"massart worlds: {error}", err=True)
        raise typer.Exit(2) from None
    if json:
        typer.echo(json_format.dumps([_facts(one) for one in made], indent=2))
    else:
        _print(made, in_full=bool(world))


def _facts(world: "World") -> dict[str, Any]:
    return {
        "name": world.name,
        "letter": world.letter or None,
        "noise_rate": world.noise_rate,
        "margin": world.margin,
        "dimension": world.dimension,
        "adaptive": world.adaptive,
        "bayes_error": world.bayes_error,
        "description": world.description,
        "regions": [region._asdict() for region in world.regions],
    }


def _print(made: list["World"], in_full: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PLAIN_WIDTH)
    table = Table(header_style="bold", show_lines=True)
    table.add_column("world", no_wrap=True, style="bold")
    for name in ("noise", "margin", "features"):
        table.add_column(name, justify="right")
    table.add_column("what it does, and why learners fail there")
    for world in made:
        margin = "none" if world.margin is None else f"{world.margin:g}"
        kind = "Adaptive. " if world.adaptive else ""
        words = f"{kind}{world.description}" + (f"\n{_regions(world)}" if in_full else "")
        table.add_row(world.name, f"{world.noise_rate:g}", margin, str(world.dimension), words)
    console.print(table)


def _regions(world: "World") -> str:
    parts = []
    for region in world.regions:
        share = "as often as the learner lets it" if region.mass is None else f"{region.mass:.0%} of the rounds"
        parts.append(f"{region.name}: {share}, {region.flip_rate:.0%} of its labels lie")
    least = "" if world.bayes_error is None else f". The target itself errs on {world.bayes_error:.1%}"
    return "Regions: " + "; ".join(parts) + least + "."
