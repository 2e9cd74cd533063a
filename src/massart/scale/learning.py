"""What a worker does: learn a piece of a part from the present mixture, and say what has changed.

Every function is pure: what it returns depends on its arguments alone, so that a task whose worker was lost may run
again, elsewhere. `Job` is what stays the same, `Mixture` what all begin a round with, `News` what comes back.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, RowError
from massart.data.schema import Schema
from massart.learners.calibration import CalibrationChange, ScoreCalibration
from massart.learners.merging import Sample, Sums, added, mixed, sums_of
from massart.learners.packed import Packed, changed, owned, pack, unpack
from massart.models.opening import build_model, learner_from
from massart.models.saving import learner_meta, model_parts
from massart.scale.parts import Arrays, Cursor, Files, pieces
from massart.training.chunk_trainer import ChunkTrainer
from massart.training.progress import Callbacks, Progress
from massart.training.settings import Settings

__all__ = ["FileJob", "FitJob", "Mixture", "News", "add_news", "learn_piece", "mix", "with_progress"]

_SAMPLED: Final = 256  # rows of a piece whose columns are counted
_MOST_ERRORS: Final = 20  # malformed rows of a piece that are reported one by one
_OWN, _SCORES = "learner.", "calibration."


class FileJob(NamedTuple):
    """How files are learned."""

    settings: Settings
    schema: Schema
    threads: int


class FitJob(NamedTuple):
    """How arrays are learned: a classifier, as `massart.models.saving.model_parts` gives it, and its labels."""

    meta: dict[str, Any]  # of one that has learned nothing
    arrays: dict[str, Any]  # of one that has, but those of the learner and the calibration
    classes: NDArray[Any]


class Mixture(NamedTuple):
    """The state that all shards begin a round with."""

    kind: str
    learner: Packed
    calibration: dict[str, NDArray[np.float64]] | None
    rows: int  # that were learned
    meta: dict[str, Any]  # of a classifier that learns arrays

    def owned(self) -> "Mixture":
        """The same in memory that kernels can work on."""
        return self._replace(learner=owned(self.learner), calibration=_copies(self.calibration))

    @property
    def nbytes(self) -> int:
        """What it takes to send it."""
        return self.learner.nbytes + sum(array.nbytes for array in (self.calibration or {}).values())


def _copies(arrays: dict[str, NDArray[np.float64]] | None) -> dict[str, NDArray[np.float64]] | None:
    return None if arrays is None else {name: array.copy() for name, array in arrays.items()}


class News(NamedTuple):
    """What one or more shards have learned in a round."""

    first: Mixture | None  # if there was no mixture to begin with: all of it
    change: Packed | None  # of one shard, with a sample of its rows
    sample: Sample | None
    sums: Sums | None  # of several; neither this nor a change: nothing was learned
    calibration: CalibrationChange | None
    alone: dict[str, NDArray[np.float64]] | None  # of one shard: its calibration, to be taken as it is
    progress: Progress
    errors: tuple[RowError, ...] = ()
    cursors: tuple[tuple[int, Cursor], ...] = ()  # by shard
    sent: int = 0  # bytes that shards have sent

    @property
    def rows(self) -> int:
        """How many were learned."""
        return self.progress.learned

    @property
    def is_empty(self) -> bool:
        """Whether nothing was learned."""
        return self.first is None and self.change is None and self.sums is None

    @classmethod
    def nothing(cls, progress: Progress, errors: tuple[RowError, ...] = (), cursors: Any = ()) -> "News":
        """Counts alone."""
        return cls(None, None, None, None, None, None, progress, errors, cursors)


def learn_piece(
    job: FileJob | FitJob, mixture: Mixture | None, part: Files | Arrays, shard: int, cursor: Cursor, rows: int | None
) -> News:
    """Learn so many rows of a part, or all that are left."""
    mixture = None if mixture is None else mixture.owned()
    begin = mixture if mixture is None else _with_seed(mixture, shard)
    if isinstance(job, FileJob):
        assert isinstance(part, Files)  # noqa: S101  jobs and parts are made together
        return _learn_files(job, begin, mixture, part, shard, cursor, rows)
    assert isinstance(part, Arrays)  # noqa: S101
    return _learn_arrays(job, begin, mixture, part, shard, cursor, rows)


def _with_seed(mixture: Mixture, shard: int) -> Mixture:
    """Draws of different shards must be independent; the first has those of one sequential learner."""
    if shard == 0 or "seed" not in mixture.learner.small:
        return mixture
    seed = int(mixture.learner.small["seed"][0])
    drawn = np.random.SeedSequence([seed, shard]).generate_state(1, np.uint64)
    small = mixture.learner.small | {"seed": drawn}
    return mixture._replace(learner=mixture.learner._replace(small=small))


class _Errors(Callbacks):
    """The first malformed rows."""

    def __init__(self) -> None:
        self.found: list[RowError] = []

    def row_error(self, error: RowError) -> None:
        """Keep it, if it is one of the first."""
        if len(self.found) < _MOST_ERRORS:
            self.found.append(error)


def _learn_files(
    job: FileJob, begin: Mixture | None, base: Mixture | None, part: Files, shard: int, cursor: Cursor, rows: int | None
) -> News:
    errors, done = _Errors(), 0 if begin is None else begin.rows
    progress = Progress(learned=done)
    trainer = ChunkTrainer(job.settings, progress, job.schema.width, errors)
    if begin is not None:
        calibration = ScoreCalibration.from_arrays({k: v.copy() for k, v in (begin.calibration or {}).items()})
        trainer.restore(learner_from(begin.kind, unpack(begin.learner)), None, None, calibration)
    sample = Sample(0, np.empty(0, np.uint32), np.empty((0, 2)))
    ended = True
    for chunk, at in pieces(part, job.schema, cursor, rows, job.threads):
        cursor, ended = at, at.ended
        if sample.rows < _SAMPLED and len(chunk):
            sample = sample.with_rows(_sample_of(chunk, _SAMPLED - sample.rows))
        if len(chunk) or chunk.errors:
            trainer.learn(chunk)
    progress.learned -= done
    news = News.nothing(progress, tuple(errors.found), ((shard, cursor._replace(ended=ended)),))
    if progress.learned == 0:
        return news
    kind, arrays = learner_meta(trainer.first)
    return _told(news, base, kind, arrays, trainer.calibration, sample, {})


def _told(
    news: News,
    base: Mixture | None,
    kind: str,
    arrays: dict[str, Any],
    calibration: ScoreCalibration | None,
    sample: Sample,
    meta: dict[str, Any],
) -> News:
    """What was learned, against the mixture that all shards began with."""
    own, scores = pack(arrays), None if calibration is None else calibration.arrays()
    if base is None:
        return news._replace(first=Mixture(kind, own, scores, news.rows, meta))
    if "seed" in own.small:
        own = own._replace(small=own.small | {"seed": base.learner.small["seed"]})
    change = changed(base.learner, own)
    since = None
    if calibration is not None:
        since = calibration.change_since(ScoreCalibration.from_arrays(dict(base.calibration or {})))
    sent = (
        change.nbytes + sample.numbers.nbytes + sample.moments.nbytes + sum(a.nbytes for a in (scores or {}).values())
    )
    return news._replace(change=change, sample=sample, calibration=since, alone=scores, sent=sent)


def _sample_of(chunk: Chunk, rows: int) -> Sample:
    """Columns of the first rows of a chunk: how often they occur, and how large they are."""
    rows = min(rows, len(chunk))
    if chunk.is_sparse:
        data, indices, indptr = chunk.rows
        stop = int(indptr[rows])
        return _moments(rows, indices[:stop], data[:stop])
    values = np.asarray(chunk.rows[:rows], dtype=np.float64)
    return _dense_moments(values)


def _moments(rows: int, columns: NDArray[Any], values: NDArray[Any]) -> Sample:
    numbers, places = np.unique(columns, return_inverse=True)
    sums = [np.bincount(places, weights=one, minlength=numbers.size) for one in (values, values * values)]
    return Sample(rows, numbers.astype(np.uint32), np.stack(sums, axis=1).astype(np.float64).reshape(-1, 2))


def _dense_moments(values: NDArray[np.float64]) -> Sample:
    sums = np.stack([values.sum(axis=0), np.square(values).sum(axis=0)], axis=1)
    return Sample(len(values), np.arange(values.shape[1], dtype=np.uint32), sums)


def _learn_arrays(
    job: FitJob, begin: Mixture | None, base: Mixture | None, part: Arrays, shard: int, cursor: Cursor, rows: int | None
) -> News:
    X, y, weight = (loaded(one) for one in part)
    count = len(y)
    stop = count if rows is None else min(count, cursor.rows + rows)
    place = slice(cursor.rows, stop)
    after = Cursor(rows=stop, ended=stop >= count)
    progress = Progress()
    news = News.nothing(progress, (), ((shard, after),))
    if stop == cursor.rows:
        return news
    model: Any
    if begin is None:
        model = build_model("classifier", job.meta, {})
    else:
        arrays = {f"{_OWN}{name}": array for name, array in unpack(begin.learner).items()}
        arrays |= {f"{_SCORES}{name}": array.copy() for name, array in (begin.calibration or {}).items()}
        model = build_model("classifier", begin.meta, job.arrays | arrays)
    piece = X.iloc[place] if hasattr(X, "iloc") else X[place]
    own = {} if weight is None else {"sample_weight": weight[place]}
    before = model.mistakes_ if begin is not None else 0
    model.partial_fit(piece, y[place], classes=job.classes, **own)
    learned = model.rounds_ - (0 if begin is None else begin.rows)
    progress.learned, progress.mistakes = learned, model.mistakes_ - before
    if learned == 0 and base is not None:
        return news
    _, meta, _ = model_parts(model)
    kind, arrays = learner_meta(model._learner)
    return _told(news, base, kind, arrays, model._calibration, _rows_sample(model, piece), meta)


def loaded(value: Any) -> Any:
    """An array or frame; a delayed one is computed here."""
    return value.compute(scheduler="synchronous") if hasattr(value, "dask") and hasattr(value, "compute") else value


def _rows_sample(model: Any, piece: Any) -> Sample:
    """Of rows as the classifier takes them: what it hashes is sampled after hashing."""
    from massart.learners.inputs import check_rows  # noqa: PLC0415  scikit-learn, which files do without

    first = piece.iloc[:_SAMPLED] if hasattr(piece, "iloc") else piece[:_SAMPLED]
    checked = check_rows(model, first, reset=False)
    checked = getattr(checked, "matrix", checked)
    if hasattr(checked, "tocsr"):
        csr = checked.tocsr()
        return _moments(csr.shape[0], csr.indices, np.asarray(csr.data, dtype=np.float64))
    return _dense_moments(np.asarray(checked, dtype=np.float64))


def add_news(mixture: Mixture | None, first: News, second: News) -> News:
    """What two shards, or two groups of shards, have learned from one mixture."""
    progress = with_progress(first.progress, second.progress)
    errors = (*first.errors, *second.errors)[:_MOST_ERRORS]
    cursors, sent = (*first.cursors, *second.cursors), first.sent + second.sent
    mixture = None if mixture is None else mixture.owned()
    if mixture is None or first.is_empty or second.is_empty:
        more = first if second.is_empty else second
        return more._replace(progress=progress, errors=errors, cursors=cursors, sent=sent)
    scores = None
    if first.calibration is not None and second.calibration is not None:
        scores = first.calibration.added(second.calibration)
    sums = added(_sums(mixture, first), _sums(mixture, second))
    return News(None, None, None, sums, scores, None, progress, errors, cursors, sent)


def _sums(mixture: Mixture, news: News) -> Sums:
    if news.sums is not None:
        return news.sums
    assert news.change is not None  # noqa: S101  something was learned
    assert news.sample is not None  # noqa: S101
    return sums_of(mixture.kind, mixture.learner, owned(news.change), news.sample)


def with_progress(first: Progress, second: Progress) -> Progress:
    """Counts of both."""
    names = ("read", "learned", "mistakes", "positive", "unlabelled", "weightless", "held_out", "rounds")
    sums: dict[str, Any] = {name: getattr(first, name) + getattr(second, name) for name in names}
    sums |= {name: getattr(first, name) + getattr(second, name) for name in ("weight", "wrong", "weight_positive")}
    sums |= {
        name: _added_counts(getattr(first, name), getattr(second, name)) for name in ("row_errors", "unknown_labels")
    }
    width = max(first.width, second.width)
    return Progress(**sums, width=width, answers=first.counted.with_counts(second.counted))


def _added_counts(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in dict.fromkeys((*first, *second))}


def mix(mixture: Mixture | None, news: News) -> Mixture | None:
    """The mixture from which the next round begins; one shard's own state, bit for bit, if it learned alone."""
    if news.first is not None:
        return news.first.owned()
    if mixture is None or news.is_empty:
        return mixture
    mixture = mixture.owned()
    learner = mixed(mixture.kind, mixture.learner, _sums(mixture, news))
    scores = _copies(news.alone)
    if scores is None and news.calibration is not None:
        begin = ScoreCalibration.from_arrays(dict(mixture.calibration or {}))
        scores = begin.with_change(news.calibration).arrays()
    return mixture._replace(learner=learner, calibration=scores, rows=mixture.rows + news.rows)
