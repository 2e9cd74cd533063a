"""`massart train` on several workers: files to a model file, the same for any number of workers."""

from collections.abc import Callable, Sequence
from pathlib import Path

from massart.data.schema import Schema
from massart.errors import InvalidParameterError, counted
from massart.learners.calibration import ScoreCalibration
from massart.learners.merging import check_mergeable
from massart.learners.packed import pack, unpack
from massart.models.opening import learner_from
from massart.models.saving import learner_meta
from massart.scale.engine import Engine
from massart.scale.learning import FileJob, Mixture, News
from massart.scale.mixing import GROWTH, Learned, Round, learn_shards
from massart.scale.parts import check_files, cut
from massart.training.chunk_trainer import ChunkTrainer
from massart.training.progress import LEARN, Callbacks
from massart.training.run import Training
from massart.training.settings import Settings
from massart.training.start import open_training
from massart.training.summary import Summary

__all__ = ["ShardTraining", "file_job", "train_shards", "trainer_of"]


class ShardTraining(Training):
    """A training whose rows are learned by workers; all else is as in `Training`."""

    engine: Engine
    asked: Schema  # what was said about the files
    shards: int
    rounds: int | None = None
    growth: float = GROWTH
    threads: int = 0
    history: tuple[Round, ...] = ()
    _learned: int = 0

    def _phase(self) -> bool:
        if self.progress.phase != LEARN:
            return super()._phase()
        self._callbacks.begin(self)
        reader = self.reader
        parts = cut([str(source.path) for source in reader.sources], self.shards, reader.schema)
        job = file_job(self.settings, reader.schema, self.threads)
        if self.trainer.first is None:
            check_files(parts, self.asked, reader.schema)
        learned = learn_shards(
            job,
            parts,
            self.engine,
            mixture=self._begun(),
            known=0 if self.trainer.first is None else self.trainer.first.rounds,
            rounds=self.rounds,
            growth=self.growth,
            told=self._told,
        )
        if self._stopped() is not None:
            return False
        self.history = learned.rounds
        if learned.mixture is not None:
            self.trainer = trainer_of(job, learned)
            self._work.rows = learned.progress.learned
            self._work.size = sum(source.size or 0 for source in reader.sources)
        if len(parts) > 1:
            self.identity["shards"] = len(parts)
        self._next_phase()
        return True

    def _begun(self) -> Mixture | None:
        """What the model to go on from knows."""
        own = self.trainer.first
        if own is None:
            return None
        kind, arrays = learner_meta(own)
        return Mixture(kind, pack(arrays), self.trainer.calibration.arrays(), 0, {})

    def _told(self, news: News) -> None:
        for error in news.errors:
            self._callbacks.row_error(error)
        self._learned += news.rows
        self._callbacks.advanced(self._learned, None)
        if self._stopped() is not None:
            raise KeyboardInterrupt


def train_shards(
    data: Sequence[str],
    engine: Engine,
    settings: Settings | None = None,
    schema: Schema | None = None,
    *,
    shards: int | None = None,
    model: Path | None = None,
    initial: Path | None = None,
    rounds: int | None = None,
    growth: float = GROWTH,
    threads: int = 0,
    callbacks: Callbacks | None = None,
    stopped: Callable[[], int | None] = lambda: None,
) -> Summary:
    """Train on the workers of an engine; the model file is like any other.

    `shards` is the number of parts that the data is cut into, on which the model depends; None: one per worker.
    """
    settings, schema, callbacks = settings or Settings(), schema or Schema(), callbacks or Callbacks()
    if settings.passes > 1 or isinstance(settings.holdout, int):
        what = "several passes" if settings.passes > 1 else "every n-th row as a holdout"
        raise InvalidParameterError(f"shards are learned in one pass, without {what}: leave it out")
    if shards is not None and shards < 1:
        raise InvalidParameterError(f"shards={shards}: give 1 or more")
    training = open_training(
        data, settings, schema, model=model, initial=initial, callbacks=callbacks, stopped=stopped, made=ShardTraining
    )
    assert isinstance(training, ShardTraining)  # noqa: S101  made so
    try:
        training.engine, training.asked, training.threads = engine, schema, threads
        training.shards, training.rounds, training.growth = shards or engine.workers(), rounds, growth
        summary = training.run()
    finally:
        training.release()
    sides = [one for one in training.history if one.shards > 1]
    if sides:
        callbacks.note(
            f"{counted(training.shards, 'shard')}, mixed {counted(len(sides), 'time')}, "
            f"{sum(one.sent + one.received for one in training.history) / 1e6:,.1f} MB moved"
        )
    return summary


def file_job(settings: Settings, schema: Schema, threads: int) -> FileJob:
    """The job of learning files; what cannot be mixed is refused."""
    if schema.is_many:
        check_mergeable("classes", {})
    if schema.groups:
        check_mergeable("groups", {})
    check_mergeable(*learner_meta(settings.learner(1)))
    return FileJob(settings, schema, threads)


def trainer_of(job: FileJob, learned: Learned) -> ChunkTrainer:
    """A trainer in the state of a mixture, as one that has learned all rows."""
    assert learned.mixture is not None  # noqa: S101  the callers have seen to it
    trainer = ChunkTrainer(job.settings, learned.progress, job.schema.width)
    scores = ScoreCalibration.from_arrays(dict(learned.mixture.calibration or {}))
    return trainer.restore(learner_from(learned.mixture.kind, unpack(learned.mixture.learner)), None, None, scores)
