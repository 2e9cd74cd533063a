"""What features are called in the files that are generated, which of them a row has, and their numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

NUMERIC = {"user": ("age", "income", "visits", "tenure", "basket"), "item": ("price", "rating", "discount", "weight")}
# How many values each categorical feature takes; few of them are frequent.
CATEGORICAL = {
    "user": {"country": 60, "city": 5_000, "plan": 4, "device": 12, "browser": 30},
    "item": {"brand": 2_000, "category": 200, "seller": 20_000, "colour": 16},
}
WORDS = "words"  # the third namespace: words with a number each, as a search engine weighs them
_WORDS_PER_ROW = 13
_SYLLABLES = [c + v for c in "bdfghjklmnprstvwxyzq" for v in "aeiou"]

Draw = Callable[[np.random.Generator, tuple[int, ...], int], NDArray[np.int64]]


@dataclass(frozen=True)
class Names:
    """What is written for each feature, and which features may stand in each place of a row."""

    texts: list[str]
    places: list[range]  # in the order of the row; the last one is that of the words
    valued: NDArray[np.bool_]  # whether a number follows
    marks: NDArray[np.bool_]  # what is no feature but the beginning of a namespace

    def draw(self, rng: np.random.Generator, rows: int, frequencies: Draw) -> NDArray[np.int64]:
        """(rows, places) features; the words of a row are sorted, so that equal ones stand side by side."""
        columns = [frequencies(rng, (rows,), len(place)) + place.start for place in self.places[:-1]]
        words = frequencies(rng, (rows, _WORDS_PER_ROW), len(self.places[-1])) + self.places[-1].start
        return np.column_stack([*columns, np.sort(words, axis=1)])


def catalogue(features: int) -> Names:
    """The names of about that many features: those above, and words for all others."""
    places: list[list[str]] = []
    for space, numeric in NUMERIC.items():
        places += [[f"|{space}"], *([f"{name}:"] for name in numeric)]
        places += [[f"{name}={word(value)}" for value in range(count)] for name, count in CATEGORICAL[space].items()]
    places.append([f"|{WORDS}"])
    places.append([f"{word(rank)}:" for rank in range(features - sum(map(len, places)))])
    texts = [text for place in places for text in place]
    stops = list(accumulate(len(place) for place in places))
    return Names(
        texts,
        [range(stop - len(place), stop) for place, stop in zip(places, stops, strict=True)],
        np.array([text.endswith(":") for text in texts]),
        np.array([text.startswith("|") for text in texts]),
    )


def word(rank: int) -> str:
    """A word of its own for every number; the first ones, which are the frequent ones, are short.

    >>> word(0), word(99), word(100), word(70_000)
    ('ba', 'qu', 'baba', 'daquba')
    """
    syllables, rank = [], rank + 1
    while rank:
        rank, last = divmod(rank - 1, len(_SYLLABLES))
        syllables.append(_SYLLABLES[last])
    return "".join(reversed(syllables))


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Positive numbers about 0.3 that have 4, 5 or 6 significant digits."""
    values = rng.lognormal(-1.2, 1.0, shape)
    scale = 10.0 ** (rng.integers(3, 6, shape) - np.floor(np.log10(values)))
    return np.rint(values * scale) / scale
