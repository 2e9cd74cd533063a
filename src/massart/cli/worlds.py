"""`massart worlds`: the worlds to race in."""

import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated, Any

from massart.cli._command import plain_console, reporting
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet

if TYPE_CHECKING:
    from rich.table import Table

    from massart.worlds import RewardWorld, World


def worlds(
    world: Annotated[list[str] | None, Argument(help="Worlds by name, shown in full; none for a list of all.")] = None,
    bandit: Annotated[
        bool, Option("--bandit", help="List the worlds with arms and rewards instead of those with labels.")
    ] = False,
    json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the worlds: how noisy they are, their margin, and why learners fail there.

    [bold]Example[/bold]

    massart worlds hunted-minority
    """
    with reporting("massart worlds"):
        _show(world or [], bandit=bandit, json=json)


def _show(world: list[str], *, bandit: bool, json: bool) -> None:
    from massart import worlds as every

    made: list[Any] = [every.make(name) for name in world or (every.reward_names() if bandit else every.names())]
    labelled = [one for one in made if isinstance(one, every.World)]
    rewarding = [one for one in made if isinstance(one, every.RewardWorld)]
    if json:
        facts = [_facts(one) if isinstance(one, every.World) else _reward_facts(one) for one in made]
        Outlet(sys.stdout).say(json_format.dumps(facts, indent=2))
        return
    if labelled:
        plain_console().print(_table(labelled, in_full=bool(world)))
    if rewarding:
        plain_console().print(_reward_table(rewarding))
    elif not world:
        Outlet(sys.stdout).say(f"With arms and rewards, for massart race --bandit: {', '.join(every.reward_names())}")


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


def _reward_facts(world: "RewardWorld") -> dict[str, Any]:
    return {
        "name": world.name,
        "arms": world.arms,
        "gap": world.gap,
        "margin": world.margin,
        "dimension": world.dimension,
        "adaptive": world.adaptive,
        "reward_range": world.reward_range,
        "best_lift": world.best_lift,
        "guaranteed_lift": world.guaranteed_lift,
        "description": world.description,
    }


def _table(made: list["World"], in_full: bool) -> "Table":
    from rich.table import Table

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
    return table


def _reward_table(made: list["RewardWorld"]) -> "Table":
    from rich.table import Table

    table = Table(header_style="bold", show_lines=True)
    table.add_column("world", no_wrap=True, style="bold")
    for name in ("arms", "gap", "margin", "features", "best lift", "guaranteed"):
        table.add_column(name, justify="right")
    table.add_column("what it does")
    for world in made:
        lifts = (world.best_lift, world.guaranteed_lift)
        numbers = (world.arms, world.gap, world.margin, world.dimension, *lifts)
        words = f"{'Adaptive. ' if world.adaptive else ''}{world.description}"
        table.add_row(world.name, *("–" if number is None else f"{number:.3g}" for number in numbers), words)
    return table


def _regions(world: "World") -> str:
    parts = []
    for region in world.regions:
        share = "depending on the learner" if region.mass is None else f"{region.mass:.0%} of the rounds"
        parts.append(f"{region.name}: {share}, {region.flip_rate:.0%} of its labels are wrong")
    least = "" if world.bayes_error is None else f". The target itself is wrong on {world.bayes_error:.1%}"
    return "Regions: " + "; ".join(parts) + least + "."
