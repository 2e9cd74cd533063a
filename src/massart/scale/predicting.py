"""`massart predict` on several workers: one task for each file, lines in the order of the files."""

import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import RowError
from massart.data.io.sources import find_sources
from massart.errors import InvalidParameterError
from massart.files import check_place
from massart.scale.engine import Engine
from massart.training.predict import Predicted, PredictionFile, Sink, predict_file
from massart.training.progress import Callbacks
from massart.training.resume import open_trained

__all__ = ["predict_files"]


class _Lines(NamedTuple):
    text: bytes
    counts: Predicted
    errors: tuple[RowError, ...]


class _Kept(Callbacks):
    """Row errors, and the lines themselves."""

    def __init__(self) -> None:
        self.errors: list[RowError] = []
        self.parts: list[bytes] = []

    def row_error(self, error: RowError) -> None:
        """Keep it."""
        self.errors.append(error)

    def write(self, text: bytes) -> None:
        """Keep lines."""
        self.parts.append(text)


def _predict_one(model: NDArray[np.uint8], name: str, options: dict[str, Any]) -> _Lines:
    """The lines of one file."""
    kept = _Kept()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.massart")
        path.write_bytes(model.tobytes())
        counts = predict_file(path, [name], kept, callbacks=kept, **options)
    return _Lines(b"".join(kept.parts), counts, tuple(kept.errors))


def predict_files(
    model: Path,
    data: Sequence[str],
    out: Path | Sink,
    engine: Engine,
    *,
    callbacks: Callbacks | None = None,
    **options: Any,
) -> Predicted:
    """`massart.training.predict_file` on the workers of an engine, which find the files under the same names.

    The model is sent to them; lines come back, a few files at a time.
    """
    callbacks = callbacks or Callbacks()
    open_trained(model, mmap=True)  # refuses what is no model before anything is sent
    sources = find_sources(list(data))
    for source in sources:
        if source.is_pipe:
            raise InvalidParameterError(f"{source.name} is a pipe, which workers cannot share: write it to files first")
    if isinstance(out, Path):
        check_place(out, "the predictions")
    found, sink = Predicted(), PredictionFile(out) if isinstance(out, Path) else out
    try:
        shared = engine.share(np.frombuffer(model.read_bytes(), np.uint8))
        waiting: deque[Any] = deque()
        for source in sources:
            waiting.append(engine.submit(_predict_one, shared, str(source.path), options))
            if len(waiting) > 2 * engine.workers():
                _take(engine.result(waiting.popleft()), sink, found, callbacks)
        while waiting:
            _take(engine.result(waiting.popleft()), sink, found, callbacks)
        if isinstance(sink, PredictionFile):
            sink.finish()
    except BaseException:
        if isinstance(sink, PredictionFile):
            sink.abandon()
        raise
    return found


def _take(lines: _Lines, sink: Any, found: Predicted, callbacks: Callbacks) -> None:
    for error in lines.errors:
        callbacks.row_error(error)
    for name in ("rows", "labelled", "mistakes", "rows_with_errors"):
        setattr(found, name, getattr(found, name) + getattr(lines.counts, name))
    sink.write(lines.text)
    callbacks.advanced(found.rows, None)
