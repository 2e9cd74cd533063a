"""Rounds: every shard learns a piece from the present mixture, changes are added up, and the next round begins.

The first rows are learned one after the other. Then, in every round, a shard learns so many rows that the others learn
`growth` times as many as all had learned before: what a shard does not know is never more than that. So the number of
rounds grows with the logarithm of the rows, and no total need be known beforehand.
"""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final, NamedTuple

from massart.errors import InvalidParameterError
from massart.scale.engine import Engine
from massart.scale.learning import FileJob, FitJob, Mixture, News, add_news, learn_piece, mix, with_progress
from massart.scale.parts import Arrays, Cursor, Files
from massart.training.progress import Progress

__all__ = ["GROWTH", "Learned", "Round", "learn_shards"]

FIRST: Final = 1_000  # rows that are learned one after the other
GROWTH: Final = 1.0


class Round(NamedTuple):
    """What a round came to."""

    number: int
    shards: int
    rows: int
    sent: int  # bytes of changes, from the shards
    received: int  # bytes of the mixture, to all shards
    columns: int  # of which the mixture knows something


class Learned(NamedTuple):
    """The mixture at the end, what was counted on the way, and the rounds."""

    mixture: Mixture | None
    progress: Progress
    rounds: tuple[Round, ...]


def learn_shards(
    job: FileJob | FitJob,
    parts: Sequence[Files | Arrays],
    engine: Engine,
    *,
    mixture: Mixture | None = None,
    known: int = 0,
    rounds: int | None = None,
    growth: float = GROWTH,
    told: Callable[[News], object] = lambda news: None,
) -> Learned:
    """Learn all parts. The result depends on the job, the parts and their order, not on who works or how fast.

    Parts that are known to be empty are left out: they change nothing.

    `known` are rows that the mixture had learned before, without being counted in it. `rounds` is the most rounds in
    which shards learn side by side; the last of them takes all that is left.
    """
    if rounds is not None and rounds < 1:
        raise InvalidParameterError(f"rounds={rounds}: give 1 or more, or None for as many as rows need")
    if not growth > 0.0:
        raise InvalidParameterError(f"growth={growth}: give a number above 0")
    parts = [part for part in parts if not part.is_empty]
    if not parts:
        return Learned(mixture, Progress(), ())
    run = _Run(job, parts, engine, mixture, known, told)
    if len(parts) == 1:
        run.round([0], None)
    else:
        run.begin()
        while active := run.active:
            last = len(active) == 1 or (rounds is not None and run.mixings + 1 >= rounds)
            run.round(active, None if last else ceil(growth * run.rows / (len(active) - 1)))
            run.mixings += 1
    return Learned(run.mixture, run.progress, tuple(run.rounds))


class _Run:
    def __init__(
        self,
        job: FileJob | FitJob,
        parts: Sequence[Files | Arrays],
        engine: Engine,
        mixture: Mixture | None,
        known: int,
        told: Callable[[News], object],
    ) -> None:
        self.job, self.parts, self.engine, self.mixture, self.told = job, parts, engine, mixture, told
        self.progress = Progress()
        self.rounds: list[Round] = []
        self.mixings = 0
        self._known = known
        self._cursors = [Cursor() for _ in parts]

    @property
    def rows(self) -> int:
        """Rows that the mixture has learned."""
        return self._known + (0 if self.mixture is None else self.mixture.rows)

    @property
    def active(self) -> list[int]:
        """Shards with rows left."""
        return [shard for shard, cursor in enumerate(self._cursors) if not cursor.ended]

    def begin(self) -> None:
        """The first rows, one shard after the other: there must be something to mix."""
        while self.rows < FIRST and (active := self.active):
            self.round(active[:1], FIRST - self.rows)

    def round(self, shards: Sequence[int], rows: int | None) -> None:
        """Let some shards learn so many rows each from the mixture, and mix."""
        calls = [(self.parts[i], i, self._cursors[i], rows) for i in shards]
        news: News = self.engine.reduced(learn_piece, (self.job, self.mixture), calls, add_news, self.mixture)
        for shard, cursor in news.cursors:
            self._cursors[shard] = cursor
        received = 0 if self.mixture is None else self.mixture.nbytes * len(shards)
        self.mixture = mix(self.mixture, news)
        self.progress = with_progress(self.progress, news.progress)
        columns = 0 if self.mixture is None else self.mixture.learner.numbers.size
        self.rounds.append(Round(len(self.rounds), len(shards), news.rows, news.sent, received, columns))
        self.told(news)
