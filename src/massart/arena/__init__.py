"""Learners meet worlds: `race` is the loop over rounds, `sweep` that over runs, `report` shows the results.

Worlds with labels and worlds with rewards are raced by the same functions.

>>> from massart import Halfspace, arena
>>> ours = Halfspace(20, noise_rate=0.1, margin=0.045, fit_intercept=False)
>>> result = arena.race({"ours": ours}, "masked-margin", rounds=2000)
>>> result.final["ours"].mistakes < result.final["ours"].bound
True
>>> rows = arena.sweep(["simpson"], ["monotone", "uniform"], rounds=2000, seeds=1)
>>> [(row.learner, row["rounds"]) for row in rows if row.rounds == 2000]
[('monotone', 2000), ('uniform', 2000)]
"""

# Functions named like their modules are bound here, at once, so that the function always wins. Nothing heavier than
# NumPy is loaded by it: numba, scikit-learn and joblib wait until a race or a sweep begins.
import importlib
from typing import TYPE_CHECKING, Any

from massart.arena.lanes import checkpoints
from massart.arena.race import Progress, RaceInterrupted, RaceResult, race
from massart.arena.rows import LabelRow, RewardRow, RewardStanding, Standing
from massart.arena.sweep import SweepInterrupted, sweep

if TYPE_CHECKING:
    from massart.arena import report as report

__all__ = [
    "LabelRow",
    "Progress",
    "RaceInterrupted",
    "RaceResult",
    "RewardRow",
    "RewardStanding",
    "Standing",
    "SweepInterrupted",
    "checkpoints",
    "race",
    "report",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name == "report":
        return importlib.import_module("massart.arena.report")
    raise AttributeError(f"module 'massart.arena' has no attribute {name!r}; its names are {', '.join(__all__)}")
