"""The options that say which column of a table is what in a log of decisions, for every command that reads one."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from massart.cli.parameters import Option
from massart.errors import InvalidParameterError

if TYPE_CHECKING:
    from massart.data import LogColumns

COLUMNS: Final = (
    *("action", "reward", "cost", "probability", "context", "position", "slate", "event_id", "time", "weight", "arms"),
)
FLAGS: Final = {name: f"--{name.replace('_', '-')}" for name in (*COLUMNS, "max_bad_lines")}  # of parameters

Action = Annotated[
    str | None,
    Option(
        metavar="COL",
        help="The log is a table (CSV), and this column names the arm taken. The columns of the Open Bandit "
        "Dataset are known without options.",
        show_default=False,
    ),
]
Reward = Annotated[str | None, Option(metavar="COL", help="The column of the reward, or", show_default=False)]
Cost = Annotated[str | None, Option(metavar="COL", help="the column of the cost.", show_default=False)]
Probability = Annotated[
    str | None,
    Option(
        metavar="COL",
        help="The column of the probability that the arm had. Without it propensities are estimated.",
        show_default=False,
    ),
]
Context = Annotated[
    list[str] | None,
    Option(
        metavar="COL",
        help="Columns that describe whom the decision was for; several with commas, patterns with *.",
        show_default=False,
    ),
]
Position = Annotated[
    str | None,
    Option(metavar="COL", help="The column of the position in a list that the arm was shown at, from 1."),
]
Slate = Annotated[str | None, Option(metavar="COL", help="The column that names the list; equal names, one list.")]
EventId = Annotated[str | None, Option(metavar="COL", help="The column of the event id.")]
Time = Annotated[str | None, Option(metavar="COL", help="The column of the time.")]
Weight = Annotated[str | None, Option(metavar="COL", help="The column of how many decisions each one stands for.")]
Arms = Annotated[
    str | None,
    Option(
        metavar="K|NAMES",
        help="How many arms there are (0, 1, ...), or their names with commas between; else those that occur.",
        show_default=False,
    ),
]

MaxBadLines = Annotated[
    int,
    Option(
        min=0,
        help="Bad lines that are left out, reported and counted; the exit code is then 1. One more ends the run.",
    ),
]


def columns_of(given: dict[str, Any]) -> "LogColumns | None":
    """The columns of a table, from the options of a command; None if none of them was given."""
    from massart.data import LogColumns

    asked = {name: value for name in COLUMNS if (value := given.get(name))}
    if not asked:
        return None
    if "action" not in asked:
        raise InvalidParameterError(f"{FLAGS[next(iter(asked))]} is for tables: name the column of the arm, --action")
    if "context" in asked:
        asked["context"] = tuple(name for one in asked["context"] for name in one.split(",") if name)
    if "arms" in asked:
        text = asked["arms"]
        short = text.isascii() and text.isdigit() and len(text) < 10
        asked["arms"] = int(text) if short else tuple(name.strip() for name in text.split(",") if name.strip())
    return LogColumns(**asked)
