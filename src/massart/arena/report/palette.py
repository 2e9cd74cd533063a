"""Colours of the curves: ours strong and thick, the others muted and thin, the same learner the same everywhere.

Neighbours in each list differ in lightness as well as in hue, so that they stay apart for colour-blind eyes and in
grey; every colour has at least three times the contrast of its background. The bound alone is dashed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from massart.arena.report.names import is_ours

__all__ = ["BOUND_DARK", "BOUND_LIGHT", "Style", "styles"]

BOUND_LIGHT, BOUND_DARK = "#1b1f24", "#f0f3f6"

# (on white, on near-black)
_OURS = (
    ("#0550ae", "#6cb6ff"),
    ("#bc4c00", "#ffa657"),
    ("#0a7b60", "#45d4ae"),
    ("#8250df", "#d2a8ff"),
    ("#a40e4c", "#ff9bce"),
)
_OTHERS = (
    ("#7d6a2f", "#d6c48a"),
    ("#7f8c99", "#8b98a5"),
    ("#6d4a5e", "#d3a9bf"),
    ("#5f8f9c", "#7fb6c4"),
    ("#4d5a45", "#b9c9ad"),
    ("#a3837a", "#a98b82"),
    ("#4f5b7c", "#aab6d8"),
)
_FAMILIAR = ("massart", "massart-unknown", "paper", "massart-fixed", "massart-adagrad")  # in the order of _OURS
_DASHES = ("solid", "dot", "dashdot", "longdashdot")


@dataclass(frozen=True)
class Style:
    """How a learner's curve is drawn on a light and on a dark page."""

    light: str
    dark: str
    width: float
    dash: str


def styles(learners: Sequence[str], first: Sequence[str]) -> dict[str, Style]:
    """A style for each learner; those of `first` get the plain lines, and ours the same colours in every race."""
    familiar = [name for name in _FAMILIAR if name in learners]
    ordered = list(dict.fromkeys([*familiar, *first, *learners]))
    given = {True: 0, False: 0}
    result = {}
    for name in ordered:
        ours = is_ours(name)
        colours, width = (_OURS, 3.0) if ours else (_OTHERS, 1.6)
        lap, place = divmod(given[ours], len(colours))
        light, dark = colours[place]
        result[name] = Style(light, dark, width, _DASHES[lap % len(_DASHES)])
        given[ours] += 1
    return result
