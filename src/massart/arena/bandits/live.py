"""A bandit race while it runs: how far it is, how fast, and each policy's lift against the guarantee."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from massart.arena.bandits.contestants import is_ours
from massart.arena.bandits.lane import BanditStanding
from massart.arena.bandits.wording import lift
from massart.arena.race import Progress
from massart.arena.report import live
from massart.arena.report.wording import count

__all__ = ["LiveRace"]


class LiveRace(live.LiveRace):
    """Pass it as `progress` to `race` or `sweep`, inside of `with`.

    >>> from rich.console import Console
    >>> console = Console(width=80)
    >>> event = Progress(5, 10, "simpson", 0, [BanditStanding("linucb", 5, -0.1, 0.04, None)])
    >>> with console.capture() as said:
    ...     console.print(LiveRace(console).render(event))
    >>> "linucb" in said.get(), "−.100" in said.get()
    (True, True)
    """

    def render(self, event: Progress) -> Group:
        """What is shown for an event."""
        line = super().render(event._replace(standings=[])).renderables[0]
        table = Table(title=f"{event.world}, seed {event.seed}", title_justify="left", header_style="bold")
        table.add_column("policy", no_wrap=True)
        for name in ("rounds", "lift per round", "guaranteed"):
            table.add_column(name, justify="right")
        standings: list[BanditStanding] = [BanditStanding._make(standing) for standing in event.standings]
        for standing in standings:
            table.add_row(*_line(standing))
        return Group(line, table)


def _line(standing: BanditStanding) -> list[Text]:
    name = Text(standing.learner, style="bold" if is_ours(standing.learner) else "")
    style = "red" if standing.lift < 0.0 else "green" if standing.lift >= (standing.guaranteed_lift or 0.0) else ""
    numbers = [Text(count(standing.rounds)), Text(lift(standing.lift), style=style)]
    if standing.error is not None:
        return [name, *numbers, Text("failed", style="bold red")]
    return [name, *numbers, Text("–" if standing.guaranteed_lift is None else lift(standing.guaranteed_lift))]
