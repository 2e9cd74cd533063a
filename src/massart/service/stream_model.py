"""The model of a stream: a classifier, the number of the last step that it has learned, and what was refused.

As of loops (`model.py`), it is a function of the steps alone: rows are learned in their order, as if one at a time.
"""

import threading
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from scipy.sparse import csr_matrix, vstack

from massart.data.hashing import FeatureError, FeatureHasher
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError, MassartError, ModelFileError
from massart.models.model_file import model_bytes, read_bytes
from massart.models.opening import UNFIT, build_model
from massart.models.saving import model_parts
from massart.service.errors import ConflictError, RefusedError
from massart.service.store import DecisionRow, Step, Why
from massart.service.stream_types import LearnRequest, Predicted, StreamSettings

if TYPE_CHECKING:
    from massart.learners.classifier import MassartClassifier

__all__ = ["StreamModel", "Trail", "check_stream", "row_of"]

_DECODE: Final = msgspec.json.Decoder(LearnRequest).decode
_SEED: Final = 0
_MOST_WEIGHTS: Final = 1 << 22  # classes times columns: each takes about 70 bytes
_DEEPEST: Final = 100  # as in data/hashing.py
_POINTS: Final = 400  # of a trail, at most


class Trail:
    """Rounds and mistakes on the way, for a chart: about evenly spaced points, and never more than 400.

    It is of this process, which may have begun with a snapshot, and no part of the model.

    >>> trail = Trail()
    >>> for rounds in range(1, 10_001):
    ...     trail.note(rounds, rounds // 10)
    >>> len(trail.points()) <= 400, trail.points()[-1]
    (True, (10000, 1000))
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, int]] = []
        self._apart, self._last = 1, (0, 0)

    def note(self, rounds: int, mistakes: int) -> None:
        """Where the model is."""
        self._last = rounds, mistakes
        if not self._points or rounds - self._points[-1][0] >= self._apart:
            self._points.append(self._last)
            if len(self._points) >= _POINTS:
                self._points = self._points[::2]
                self._apart = max(2 * self._apart, -(-(rounds - self._points[0][0]) // (_POINTS // 2)))

    def points(self) -> list[tuple[int, int]]:
        """(rounds, mistakes), in order."""
        found = list(self._points)
        return found if not found or found[-1] == self._last else [*found, self._last]


class StreamModel:
    """A classifier that changes by steps only."""

    began = 0  # rows that were recorded before a reset and not learned yet are learned after it

    def __init__(self, settings: StreamSettings) -> None:
        self._begin(settings)
        self.version, self.updated, self.refused = 0, 0, 0
        self._lock = threading.RLock()

    def _begin(self, settings: StreamSettings, classifier: "MassartClassifier | None" = None) -> None:
        self.settings, self.classifier = settings, classifier or _new(settings)
        self._schema = Schema("jsonl", bits=settings.hash_bits)
        self._hasher = FeatureHasher(self._schema)
        self._named = names_of(settings)
        self.trail = Trail()
        if self.learned:
            self.trail.note(self.learned, self.mistakes)

    @property
    def classes(self) -> list[str]:
        """Those that are known."""
        found: list[str] = self.classifier.classes_.tolist() if self.learned else self._named or []
        return found

    @property
    def learned(self) -> int:
        """Rows."""
        return self.classifier.rounds_ if hasattr(self.classifier, "classes_") else 0

    @property
    def mistakes(self) -> int:
        """Rows that were predicted wrongly just before they were learned."""
        return self.classifier.mistakes_ if self.learned else 0

    def check(self, request: LearnRequest) -> None:
        """Refuse a row that could not be learned."""
        row_of(request.features, self._hasher, self.settings.hash_bits)
        words = self._unfit(str(request.label))
        if words is not None:
            raise RefusedError(words)

    def _unfit(self, label: str) -> str | None:
        """Why a label cannot be learned; None if it can."""
        known = self.classes
        if label in known:
            return None
        if self._named is not None:
            return (
                f"label: {label[:80]!r} is none of the classes of the stream, which are {', '.join(known[:10])[:200]}"
            )
        most = most_classes(self.settings.hash_bits)
        if len(known) >= most:
            return f"label: {label[:80]!r} would be one more than the {most} classes that fit; use fewer hash_bits"
        return None

    def apply(self, step: Step, decision: DecisionRow | None) -> None:
        """Learn the next step."""
        if step.version != self.version + 1 and step.why != Why.RESET:
            raise InvalidDataError(f"step {step.version} does not follow version {self.version}")
        with self._lock:
            if step.why == Why.RESET:
                self._begin(msgspec.json.decode(step.data or b"{}", type=StreamSettings))
                self.refused = 0
            elif step.why == Why.ROW and decision is not None:
                self._learn(_DECODE(decision.body))
            self.version, self.updated = step.version, step.time

    def apply_all(self, steps: list[tuple[Step, DecisionRow | None]]) -> None:
        """`apply` the next steps, with rows learned together where that is the same, to the bit."""
        with self._lock:
            together: list[tuple[Step, DecisionRow, LearnRequest]] = []
            for step, decision in steps:
                if step.why == Why.ROW and decision is not None and self._named is not None:
                    request = _DECODE(decision.body)
                    follows = step.version == self.version + len(together) + 1
                    if follows and request.weight == 1.0 and str(request.label) in self._named:
                        together.append((step, decision, request))
                        continue
                self._apply_together(together)
                together = []
                self.apply(step, decision)
            self._apply_together(together)

    def _apply_together(self, steps: list[tuple[Step, DecisionRow, LearnRequest]]) -> None:
        if not steps:
            return
        bits = self.settings.hash_bits
        try:
            rows = vstack([row_of(request.features, self._hasher, bits) for _, _, request in steps], format="csr")
            labels = [str(request.label) for _, _, request in steps]
            self.classifier.partial_fit(rows, labels, None if self.learned else self._named)
        except MassartError:  # nothing was learned: one of them cannot be
            for step, decision, _ in steps:
                self.apply(step, decision)
            return
        self._note_reading()
        self.version, self.updated = steps[-1][0].version, steps[-1][0].time

    def _learn(self, request: LearnRequest) -> None:
        label = str(request.label)
        if self._unfit(label) is not None:  # by rows that were learned since it was recorded
            self.refused += 1
            return
        weight = None if request.weight == 1.0 else [request.weight]
        classes = None if self.learned else self._named
        try:
            row = row_of(request.features, self._hasher, self.settings.hash_bits)
            self.classifier.partial_fit(row, [label], classes, weight)
        except MassartError:
            self.refused += 1
            return
        self._note_reading()

    def _note_reading(self) -> None:
        """How files are read that this classifier is to predict; and where it is."""
        self.trail.note(self.learned, self.mistakes)
        schema = self._schema
        known = tuple(self.classes)
        if len(known) > 1:
            schema = schema.replace(labels=known, new_labels=self._named is None and len(known) > 2)
        self.classifier.reading_ = {
            name: list(value) if isinstance(value, tuple) else value for name, value in schema.as_dict().items()
        }

    def predict(self, rows: list[dict[str, Any]]) -> list[Predicted]:
        """The answers for rows of features."""
        with self._lock:
            if not self.learned:
                raise ConflictError("the stream has learned nothing yet: send rows with labels to /learn first")
            if not rows:
                return []
            classifier, known = self.classifier, self.classes
            given = vstack([row_of(one, self._hasher, self.settings.hash_bits) for one in rows], format="csr")
            scores = classifier.decision_function(given)
            chosen = (scores >= 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)  # as its `predict`
            chances = classifier.predict_proba(given).tolist()
            return [
                Predicted(
                    known[chosen[place]],
                    float(scores[place]) if scores.ndim == 1 else None,
                    dict(zip(known, own, strict=True)),
                    self.version,
                )
                for place, own in enumerate(chances)
            ]

    def certificate(self) -> Any:
        """That of the classifier."""
        with self._lock:
            if not self.learned:
                raise ConflictError("the stream has learned nothing yet, so there is nothing to certify")
            return self.classifier.certificate()

    def snapshot(self) -> tuple[int, bytes]:
        """The version, and all of the model: a model file of a classifier."""
        with self._lock:
            kind, meta, arrays = model_parts(self.classifier)
            meta["service"] = {"version": self.version, "updated": self.updated, "refused": self.refused,
                               "settings": msgspec.to_builtins(self.settings)}  # fmt: skip
            return self.version, model_bytes(kind, meta, arrays)

    @classmethod
    def of_snapshot(cls, data: bytes) -> "StreamModel":
        """The model of a snapshot; a ModelFileError says what is wrong with it."""
        kind, meta, arrays = read_bytes(data, "the snapshot")
        own = meta.get("service")
        try:
            if kind != "classifier" or not isinstance(own, dict):
                raise TypeError(f"a {kind}")
            model = cls(msgspec.convert(own["settings"], StreamSettings))
            model.version, model.updated, model.refused = (int(own[name]) for name in ("version", "updated", "refused"))
            model._begin(model.settings, build_model(kind, meta, arrays))
        except UNFIT as error:
            raise ModelFileError(f"the snapshot is not one of a stream ({error})") from None
        return model


def names_of(settings: StreamSettings) -> list[str] | None:
    """The classes as texts."""
    return None if settings.classes is None else [str(label) for label in settings.classes]


def most_classes(bits: int) -> int:
    """How many classes a stream may have."""
    return max(2, _MOST_WEIGHTS >> bits)


def _new(settings: StreamSettings) -> "MassartClassifier":
    from massart.learners.classifier import MassartClassifier  # noqa: PLC0415  scikit-learn

    return MassartClassifier(settings.noise_rate, settings.margin, settings.horizon, random_state=_SEED)


def check_stream(settings: StreamSettings) -> None:
    """Refuse settings with which nothing could be learned."""
    named = names_of(settings)
    if named is not None:
        if len(set(named)) < max(2, len(named)):
            raise RefusedError("classes: give two or more different ones, or leave them out")
        most = most_classes(settings.hash_bits)
        if len(named) > most:
            raise RefusedError(
                f"classes: there are {len(named)}, and {most} fit with hash_bits={settings.hash_bits}: give fewer"
            )
    first = "a" if named is None else named[0]
    try:
        _new(settings).partial_fit(np.ones((1, 2)), [first], named)
    except (InvalidDataError, InvalidParameterError) as error:
        raise RefusedError(str(error)) from None


def row_of(features: dict[str, Any], hasher: FeatureHasher, bits: int) -> csr_matrix:
    """Features as a row of numbers, with the columns that `massart train` has for a line of JSON with these fields."""
    try:
        values = hasher.row(_pairs(features, 0), frozenset()).values
    except FeatureError as error:
        raise RefusedError(f"features: {error.args[0] or 'the object'}: {error.args[1]}") from None
    except ValueError:  # a whole number with too many digits to be written
        raise RefusedError("features: a number is too large") from None
    columns = np.fromiter(values, np.int32, len(values))
    numbers = np.fromiter(values.values(), np.float64, len(values))
    return csr_matrix((numbers, columns, np.array([0, len(values)], np.int32)), shape=(1, 1 << bits))


def _pairs(value: Any, depth: int) -> Any:
    """Objects as tuples of pairs, which differ from arrays."""
    if depth > _DEEPEST:
        raise RefusedError(f"features: objects and arrays are nested more than {_DEEPEST} deep")
    if type(value) is dict:
        return tuple((name, _pairs(inner, depth + 1)) for name, inner in value.items())
    if type(value) is list:
        return [_pairs(inner, depth + 1) for inner in value]
    return value
