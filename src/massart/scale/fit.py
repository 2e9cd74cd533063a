"""`fit_shards`: one model from many parts of the data, learned side by side on an executor."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError
from massart.learners.classifier import MassartClassifier
from massart.learners.merging import check_mergeable
from massart.learners.multiclass import new_learner
from massart.learners.packed import pack, unpack
from massart.models.opening import build_model, load
from massart.models.saving import learner_meta, model_parts
from massart.scale.engine import Engine
from massart.scale.learning import FitJob, Mixture, News, add_news, learn_piece, mix
from massart.scale.mixing import GROWTH, learn_shards
from massart.scale.parts import Arrays, Cursor, Files, check_files
from massart.scale.training import file_job, trainer_of
from massart.training.resume import class_values, identity, write_trained
from massart.training.settings import Settings

__all__ = ["Shards", "fit_shards"]


def fit_shards(
    parts: Any,
    executor: Any,
    *,
    model: MassartClassifier | None = None,
    classes: Any = None,
    rounds: int | None = None,
    growth: float = GROWTH,
    threads: int = 0,
    **reading: Any,
) -> MassartClassifier:
    """Learn parts of the data side by side, in one pass, and mix what was learned into one classifier.

    Each shard learns a piece of its part from the present mixture; what it has changed is added to what the others have
    changed, in a tree; and so on (docs/scale.md). What travels is the model, or what has changed in it, never the data.
    The result is the same for any executor and any number of workers, and with one part it is that of `partial_fit`,
    or of `massart train`, bit for bit. Nothing is certified for a mixture of two shards or more.

    Parameters
    ----------
    parts : sequence, or a pair of Dask collections
        Each part a file or a sequence of files of any format of `massart.data`, which workers find under the same name;
        or a tuple (X, y) or (X, y, sample_weight) of arrays, CSR matrices, data frames, or Dask's delayed ones. A pair
        (X, y) of Dask arrays, or a Dask data frame and series, has a part for each block. Parts may be empty.
    executor : concurrent.futures.Executor or dask.distributed.Client
        A process pool, `client.get_executor()`, any other.
    model : MassartClassifier, optional
        One to go on from, or an unfitted one with the parameters to learn with; it is not changed. None: the default.
    classes : array-like, optional
        Both labels; needed with arrays unless the model knows them.
    rounds : int, optional
        The most rounds in which shards learn side by side. None: as many as `growth` asks for.
    growth : float
        In a round the other shards learn, for every shard, so many times the rows that all had learned before.
    threads : int
        Of each worker, that read files ahead of it; 0: none, as is best with a worker on each core.
    **reading
        The fields of `massart.data.Schema`: format, label, labels, bits and so on, for files.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 5))
    >>> y = (X[:, 0] > X[:, 1]) ^ (rng.random(4000) < 0.1)
    >>> parts = [(X[k::4], y[k::4]) for k in range(4)]
    >>> with ThreadPoolExecutor(2) as pool:
    ...     clf = fit_shards(parts, pool, classes=[False, True])
    >>> clf.rounds_, bool(clf.score(X, X[:, 0] > X[:, 1]) > 0.95)
    (4000, True)
    """
    engine = Engine(executor)
    model = MassartClassifier() if model is None else model
    own = _parts(parts, engine)
    how = {"rounds": rounds, "growth": growth}
    if all(isinstance(part, Files) for part in own):
        return _fit_files([part for part in own if isinstance(part, Files)], engine, model, threads, reading, how)
    if reading:
        raise InvalidParameterError(f"{', '.join(reading)}: these say how files are read, and the parts are arrays")
    return _fit_arrays([part for part in own if isinstance(part, Arrays)], engine, model, classes, how)


def _parts(parts: Any, engine: Engine) -> list[Files | Arrays]:
    """Parts of one kind."""
    if isinstance(parts, tuple) and len(parts) in (2, 3) and all(hasattr(one, "to_delayed") for one in parts):
        parts = _blocks(*parts)
    if isinstance(parts, str | PathLike):
        parts = [parts]
    found: list[Files | Arrays] = []
    for part in parts:
        if isinstance(part, str | PathLike):
            found.append(Files((fspath(part),)))
        elif isinstance(part, Files | Arrays):
            found.append(part)
        elif isinstance(part, tuple) and len(part) in (2, 3) and not isinstance(part[0], str | PathLike):
            found.append(Arrays(*engine.placed(part)))
        elif isinstance(part, Sequence) and part and all(isinstance(one, str | PathLike) for one in part):
            found.append(Files(tuple(map(fspath, part))))
        else:
            raise InvalidParameterError(
                f"a part is {type(part).__name__}: give files, or tuples (X, y) or (X, y, sample_weight)"
            )
    if not found:
        raise InvalidParameterError("there are no parts: give at least one")
    if len({type(part) for part in found}) > 1:
        raise InvalidParameterError("some parts are files and some are arrays: give all of one kind")
    return found


def _blocks(X: Any, y: Any, weight: Any = None) -> list[tuple[Any, ...]]:
    """The blocks of rows of Dask collections, delayed."""
    given = [one for one in (X, y, weight) if one is not None]
    for number, one in enumerate(given):
        if hasattr(one, "rechunk") and one.ndim == 2 and one.numblocks[1] > 1:
            given[number] = one.rechunk({1: -1})
    blocks = [np.ravel(np.array(one.to_delayed(), dtype=object)).tolist() for one in given]
    counts = {len(one) for one in blocks}
    if len(counts) > 1:
        raise InvalidDataError(
            f"X, y and weights are cut into {' and '.join(map(str, sorted(counts)))} blocks: rechunk them alike"
        )
    return list(zip(*blocks, strict=True))


def _check_model(model: MassartClassifier) -> None:
    if isinstance(model.class_weight, str):
        raise InvalidParameterError(
            "class_weight='balanced' counts the labels before each row, which shards do not see: give weights by label"
        )
    if getattr(model, "_batch_weights", None) is not None:
        raise InvalidParameterError("the model comes from `fit`, whose weights are not learned on: use partial_fit")


class Shards:
    """Rounds of shards for an engine of your own: every method is pure, and objects can be pickled.

    `learn` is for workers; `add` for any tree of their results, in a fixed order; `mixed` begins the next round. The
    model should know some thousand rows already: shards that begin with nothing have little in common.

    Parameters
    ----------
    model : MassartClassifier
        One to go on from, or an unfitted one; then the first round must be learned by one shard alone.
    classes : array-like, optional
        Both labels; not needed if the model knows them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 5))
    >>> y = X[:, 0] > X[:, 1]
    >>> shards = Shards(MassartClassifier().partial_fit(X[:1000], y[:1000], classes=[False, True]))
    >>> news = [shards.learn(X[k::2], y[k::2], shard=k % 2) for k in (1000, 1001)]
    >>> clf = shards.mixed(shards.add(*news)).classifier()
    >>> clf.rounds_, bool(clf.score(X, y) > 0.98)
    (3000, True)
    """

    def __init__(self, model: MassartClassifier, classes: Any = None) -> None:
        _check_model(model)
        known = getattr(model, "classes_", None) if classes is None else np.unique(np.asarray(classes))
        if known is None:
            raise InvalidParameterError("`classes` must be given, as in classes=[0, 1]: no shard sees all labels")
        if len(known) != 2:
            raise InvalidParameterError(
                f"`classes` are {len(known)}: there is no mixture of shards for more than two classes; learn all rows "
                "with one learner"
            )
        _, meta, arrays = model_parts(model)
        self.mixture: Mixture | None = None
        if hasattr(model, "_learner"):
            kind, state = learner_meta(model._learner)  # type: ignore[arg-type]
            scores = None if model._calibration is None else model._calibration.arrays()
            self.mixture = Mixture(kind, pack(state), scores, model.rounds_, meta)
        else:
            kind, state = learner_meta(new_learner(model._options(), np.ones(2), 1, 0))  # type: ignore[arg-type]
        check_mergeable(kind, state)
        others = {name: array for name, array in arrays.items() if not name.startswith(("learner.", "calibration."))}
        self.job = FitJob(meta, others | {"classes": np.asarray(known)}, np.asarray(known))

    def learn(self, X: Any, y: Any, sample_weight: Any = None, *, shard: int = 0) -> News:
        """What a shard learns from these rows; `shard` is its number in the round."""
        return learn_piece(self.job, self.mixture, Arrays(X, y, sample_weight), shard, Cursor(), None)

    def add(self, first: News, second: News) -> News:
        """What both have learned in this round."""
        return add_news(self.mixture, first, second)

    def mixed(self, news: News) -> "Shards":
        """What the next round begins with."""
        other = Shards.__new__(Shards)
        other.job, other.mixture = self.job, mix(self.mixture, news)
        return other

    def classifier(self) -> MassartClassifier:
        """The mixture as a classifier."""
        if self.mixture is None:
            raise InvalidDataError("no part has a row: there is nothing to learn")
        arrays = self.job.arrays | {f"learner.{name}": array for name, array in unpack(self.mixture.learner).items()}
        arrays |= {f"calibration.{name}": array for name, array in (self.mixture.calibration or {}).items()}
        made: MassartClassifier = build_model("classifier", self.mixture.meta, arrays)
        return made


def _fit_arrays(
    parts: list[Arrays], engine: Engine, model: MassartClassifier, classes: Any, how: dict[str, Any]
) -> MassartClassifier:
    shards = Shards(model, classes)
    _check_arrays(parts, model, shards.job.classes)
    shards.mixture = learn_shards(shards.job, parts, engine, mixture=shards.mixture, **how).mixture
    return shards.classifier()


def _check_arrays(parts: Sequence[Arrays], model: MassartClassifier, known: Any) -> None:
    """Refuse parts that do not go together, as far as they are here."""
    here = [part.X for part in parts if not hasattr(part.X, "dask") and hasattr(part.X, "shape")]
    widths = {X.shape[1] for X in here if len(X.shape) == 2}
    if hasattr(model, "n_features_in_"):
        widths.add(model.n_features_in_)
    if len(widths) > 1:
        raise InvalidDataError(f"parts have {' and '.join(map(str, sorted(widths)))} columns: shards must agree")
    for number, part in enumerate(parts):
        if isinstance(part.y, np.ndarray | list):
            labels = np.unique(np.asarray(part.y))
            strange = labels[~np.isin(labels, known)]
            if strange.size:
                raise InvalidDataError(
                    f"part {number} has the label {strange[0]!r}, which is not one of {list(known)}: shards must agree"
                )
            if hasattr(part.X, "shape") and part.X.shape[0] != len(part.y):
                raise InvalidDataError(f"part {number} has {part.X.shape[0]} rows, but {len(part.y)} labels")


def _fit_files(
    parts: list[Files], engine: Engine, model: MassartClassifier, threads: int, reading: dict[str, Any], how: Any
) -> MassartClassifier:
    _check_model(model)
    if hasattr(model, "_learner"):
        raise InvalidParameterError(
            "the model is fitted already, and files are learned from the start: leave it out, or give arrays"
        )
    names = (
        "noise_rate",
        "margin",
        "horizon",
        "update",
        "optimizer",
        "voting",
        "fit_intercept",
        "normalize",
        "products",
    )
    seed = 0 if model.random_state is None else int(model.random_state)
    settings = Settings(**{name: getattr(model, name) for name in names}, seed=seed)
    asked = Schema(**reading)
    filled = [part for part in parts if not part.is_empty]
    if not filled:
        raise InvalidDataError("no part has a row: there is nothing to learn")
    schema = Reader(filled[0].sources(), asked).schema
    job = file_job(settings, schema, threads)
    check_files(filled, asked, schema)
    learned = learn_shards(job, parts, engine, **how)
    if learned.mixture is None:
        raise InvalidDataError("no part has a row with a label: there is nothing to learn")
    sources = [source for part in parts for source in part.sources()]
    run = identity(sources, settings, schema, None, with_content=False)
    with TemporaryDirectory() as folder:
        path = Path(folder, "shards.massart")
        trainer = trainer_of(job, learned)
        trainer.trim(schema.width or learned.progress.width)
        training = {"complete": True, "runs": [run | {"shards": len(parts)}]}
        write_trained(path, trainer, schema, class_values(schema), training)
        made: MassartClassifier = load(path)
    return made
