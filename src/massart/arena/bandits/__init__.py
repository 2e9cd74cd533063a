"""Policies meet reward worlds: `race` is the loop over rounds, `sweep` that over runs, the rest shows what came out.

The rows are dicts, one for each checkpoint of each run: `race` explains them.

>>> from massart.arena import bandits
>>> rows = bandits.sweep(["simpson"], ["monotone", "uniform"], rounds=2000, seeds=1)
>>> [(row["learner"], row["rounds"]) for row in rows if row["rounds"] == 2000]
[('monotone', 2000), ('uniform', 2000)]
>>> page = bandits.html(rows)
>>> "massart race --bandit simpson --learner monotone --learner uniform --rounds 2000 --seeds 1" in page
True
"""

from massart.arena.bandits.command import command_line
from massart.arena.bandits.contestants import default_names, opened
from massart.arena.bandits.figure import figure
from massart.arena.bandits.live import LiveRace
from massart.arena.bandits.page import html
from massart.arena.bandits.rounds import race
from massart.arena.bandits.rows import write_rows
from massart.arena.bandits.runs import WORLDS, sweep
from massart.arena.bandits.summary import summarise
from massart.arena.bandits.table import table
from massart.arena.bandits.wording import headline

__all__ = [
    "WORLDS",
    "LiveRace",
    "command_line",
    "default_names",
    "figure",
    "headline",
    "html",
    "opened",
    "race",
    "summarise",
    "sweep",
    "table",
    "write_rows",
]
