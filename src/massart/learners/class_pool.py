"""Several classes learned together: a pool of experts that are of all classes each, and their mixture.

kernels/learning/class_pool.py is the whole algorithm. Classes are numbered here as they first come; a class that has
not come yet has no part in anything, so knowing it beforehand changes nothing but its share of the probabilities.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.kernels.door import NO_WEIGHT, FiniteRows, Rows, read_only
from massart.kernels.learning import class_mixture, mixture
from massart.kernels.learning import class_pool as kernel
from massart.kernels.learning.class_pool import Class, Setting
from massart.kernels.learning.row_blocks import Block, read_rows
from massart.kernels.learning.simd import LANES
from massart.kernels.learning.softmax import RAW_SUMS
from massart.kernels.states import check_class_pool
from massart.learners.base import Learner, check_columns, check_wider, widened
from massart.learners.certificate import Certificate
from massart.learners.class_arrays import (
    BY_CLASS,
    TABLES,
    count_experts,
    expert_names,
    new_tables,
    places_for,
    weight_width,
    with_room,
)
from massart.learners.class_certificate import ClassPoolState, certify_class_pool, lower_class_noise_rate
from massart.learners.columns import ColumnMap, are_many
from massart.learners.halfspace import is_proved, weighted_noise_rate
from massart.learners.locking import locked
from massart.learners.sparse_rows import SparseRows, aligned, grown
from massart.options import LearnerOptions

__all__ = ["MARGIN", "NOISE_RATE", "ClassPool"]

# Bounds of the classes add up, so only a small noise rate says anything of several.
NOISE_RATE, MARGIN = 0.05, 1 / 128
_VOTINGS = {"sample": mixture.SAMPLE, "majority": mixture.MAJORITY}
_ENTRIES, _ROWS = 1 << 16, 1 << 10  # of a block of rows
_NO_COLUMNS = read_only(np.empty(0, np.uint32))


def _looked_up(known: ColumnMap, block: Any, size: int) -> Any:
    """A block with slots for columns; a column without one counts for nothing."""
    values, columns, starts = block
    slots = known.known(columns[:size])
    values[:size][slots == 0] = 0.0
    columns[:size] = np.maximum(slots, 1) - 1
    return values, columns, starts


class ClassPool(Learner):
    """Several classes; `learn_rows` takes their numbers.

    >>> pool = ClassPool(2, [1.0, 1.0, 1.0])
    >>> X = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]] * 20)
    >>> answers = pool.learn_rows(Rows.of(X), np.array([0, 1, 2] * 20))
    >>> pool.rounds, pool.mistakes < 20, pool.probabilities(Rows.of(X[:3])).argmax(axis=1).tolist()
    (60, True, [0, 1, 2])
    """

    def __init__(
        self,
        n_features: int,
        class_weight: Any,
        options: LearnerOptions = LearnerOptions(),  # noqa: B008 - frozen
    ) -> None:
        d = check_columns(n_features)
        kind = kernel.CENTRED if 0 < d <= kernel.FEW else kernel.RAW if d > kernel.DENSE or d == 0 else kernel.UNDECIDED
        how = np.zeros(len(Setting))
        how[[Setting.UNIT, Setting.BIAS, Setting.VOTING]] = (
            options.normalize,
            options.constant,
            _VOTINGS[options.voting],
        )
        how[Setting.GAMMA] = MARGIN if options.margin is None else options.margin
        totals = np.zeros(len(mixture.Total))
        totals[[mixture.Total.PRIOR, mixture.Total.CHANCE]] = 0.5
        totals[mixture.Total.FAVOUR] = 1.0
        weights = np.array(class_weight, dtype=np.float64)
        self._map: ColumnMap | None = ColumnMap(d) if are_many(d) else None
        self._seed = np.array([options.seed], dtype=np.uint64)
        self._class_weight = weights
        self._noise_rate = np.array([-1.0 if options.noise_rate is None else options.noise_rate])
        self._arrays: dict[str, NDArray[np.float64]] = {
            "how": how,
            "totals": totals,
            "classes": np.zeros((len(Class), places_for(max(1, weights.size)))),
        }
        self._n_features = d
        self._decide(kind, max(1, weights.size))

    def _decide(self, kind: float, room: int) -> None:
        """Have the experts of a kind: before the first row."""
        d, own = self._n_features, self._arrays
        rows = (d if self._map is None else self._map.room_after(0, 1)) + 1
        experts = count_experts(d, kind)
        members = np.zeros((len(mixture.Member), experts))
        members[[mixture.Member.SHARE, mixture.Member.VOICE]] = 1.0
        own |= new_tables(d, room, kind)
        own |= {
            "weights": aligned(rows, weight_width(room, kind)),
            "members": members,
            "heat": np.array([[first, 0.0] for first in kernel.FIRST_HEATS]),
            "mixed": np.full(experts, 1.0 / experts),
            "trust": np.full(class_mixture.CALIBRATIONS, 1.0 / class_mixture.CALIBRATIONS),
        }
        own["totals"][[mixture.Total.TOTAL, mixture.Total.TOTAL_THEN]] = experts
        own["how"][Setting.KIND] = kind

    @property
    def _kind(self) -> float:
        return float(self._arrays["how"][Setting.KIND])

    @property
    def _room(self) -> int:
        """How many classes there is room for."""
        own = self._arrays
        if self._kind == kernel.CENTRED:
            return int(own["centred"].shape[1]) // kernel.PACES
        return int(own["weights"].shape[1] - own["classes"].shape[1] - RAW_SUMS) // kernel.PACES

    @property
    def seen(self) -> int:
        """How many classes have come."""
        return int(self._arrays["how"][Setting.SEEN])

    @property
    def n_classes(self) -> int:
        """How many are known."""
        return int(self._class_weight.size)

    @property
    def n_features(self) -> int:
        """The columns of a row."""
        return self._n_features

    @property
    def is_raw(self) -> bool:
        """Whether its learners take columns as they are, so that it can be widened."""
        return self._kind == kernel.RAW

    @locked
    def widen(self, n_features: int) -> None:
        """Make room for more columns, if `is_raw`: from now on as if there had been so many from the start."""
        check_wider(n_features, self._n_features)
        if not self.is_raw or self._map is not None:
            raise InvalidParameterError(
                "only a pool of several classes on sparse rows, all columns kept, can be widened"
            )
        weights = self._arrays["weights"]
        self._arrays["weights"] = widened(weights, aligned(n_features + 1, weights.shape[1]))
        self._n_features = n_features

    @locked
    def join(self, places: NDArray[np.int64], class_weight: NDArray[np.float64]) -> None:
        """More classes are known: what was class n is `places[n]` from now on; `class_weight` has one for each."""
        numbers = self._arrays["classes"][Class.NUMBER, : self.seen]
        numbers[...] = places[numbers.astype(np.int64)]
        self._class_weight = np.array(class_weight, dtype=np.float64)

    def _numbered(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels as numbers by first occurrence; classes that come for the first time are taken up."""
        lookup = np.full(self.n_classes, -1, dtype=np.int64)
        table, seen = self._arrays["classes"], self.seen
        lookup[table[Class.NUMBER, :seen].astype(np.int64)] = np.arange(seen)
        new = labels[lookup[labels] < 0]
        if new.size:
            found, first = np.unique(new, return_index=True)
            found = found[np.argsort(first)]
            self._make_class_room(seen + found.size)
            table, places = self._arrays["classes"], slice(seen, seen + found.size)
            lookup[found] = np.arange(seen, seen + found.size)
            table[Class.NUMBER, places] = found
            table[Class.WEIGHT, places] = self._class_weight[found]
            table[Class.ETA, places] = [self._own_noise_rate(float(weight)) for weight in self._class_weight[found]]
            table[Class.CAP, places] = (1.0 - table[Class.ETA, places]) / self._arrays["how"][Setting.GAMMA]
            table[Class.SCALE, places] = 1.0 / np.sqrt(2.0 * np.square(table[Class.CAP, places]))
        return lookup[labels]

    def _own_noise_rate(self, weight: float) -> float:
        if self._noise_rate[0] < 0.0:
            return NOISE_RATE
        return weighted_noise_rate(LearnerOptions(float(self._noise_rate[0]), class_weight=(1.0, weight)))

    def _make_class_room(self, needed: int) -> None:
        room = self._room
        if needed > room:
            own, wanted = self._arrays, max(needed, 2 * room)
            own |= {name: with_room(name, own[name], room, wanted, self._kind) for name in BY_CLASS}

    @locked
    def learn_rows(
        self,
        rows: Rows,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64] = NO_WEIGHT,
        order: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.int64]:
        """Predict, then learn, rows in the given order, all or none; return the predictions, numbers of classes."""
        rows = rows.check()
        rows.check_width(self._n_features)
        count = rows.count if order is None else order.size
        taken: Any = slice(None) if order is None else order.astype(np.int64)
        answers = np.empty(count, np.int64)
        if count == 0:
            return answers
        own = np.ascontiguousarray(weight[taken]) if weight.size else weight
        if self._kind == kernel.UNDECIDED:
            self._decide(self._kind_for(rows, 0 if order is None else int(order[0])), self._room)
        if rows.csr is None:
            self._keep_all_columns()
        numbers = self._numbered(labels[taken])
        for block, place in self._blocks(rows, order, learning=True):
            part = own[place] if own.size else own
            self._arrays["how"][Setting.SEEN] = kernel.learn_classes(
                block, place.stop - place.start, numbers[place], part, self.seen, self._seed[0], self._arrays["how"],
                self._state(), answers[place],
            )  # fmt: skip
        known = self._arrays["classes"][Class.NUMBER, : self.seen].astype(np.int64)
        found = known[answers]
        # Before any class has come no answer is right, so a wrong one stands for it, if there is one.
        found[answers < 0] = np.where(labels[taken][answers < 0] == 0, min(1, self.n_classes - 1), 0)
        return found

    def _kind_for(self, rows: FiniteRows, first: int) -> float:
        """Centred if at least a quarter of the first row is not 0."""
        if rows.csr is None:
            entries = np.asarray(rows.dense)[first]
        else:
            block, _ = next(self._blocks(rows, np.array([first], np.uint64), learning=False))
            entries = block[0][: int(block[2][1])]
        return kernel.CENTRED if 4 * np.count_nonzero(entries) >= self._n_features else kernel.RAW

    def _state(self) -> tuple[NDArray[np.float64], ...]:
        names = ("weights", "spreads", *TABLES, "classes", "members", "mixed", "trust", "heat", "totals")
        return tuple(self._arrays[name] for name in names)

    def _parts(self, rows: Rows, order: Any, *, learning: bool) -> Iterator[tuple[Any, Any, slice]]:
        """(entries, batch, place in the whole), with slots for columns where there is a map."""
        for data, batch, place in rows.parts(order, np.ones(rows.count, np.int8), NO_WEIGHT):
            if rows.csr is None:
                every = read_only(np.arange(data.shape[1], dtype=np.uint32))
                yield (data.reshape(-1), every, _NO_COLUMNS), batch, place
            elif self._map is None or not learning:
                yield data, batch, place
            else:
                for entries, own, part in self._map.parts(data, batch):
                    wanted = self._map.room_after(len(self._arrays["weights"]) - 1, self._map.room) + 1
                    self._arrays["weights"] = grown(self._arrays["weights"], wanted)
                    yield entries, own, slice(place.start + part.start, place.start + part.stop)

    def _blocks(self, rows: Rows, order: Any, *, learning: bool) -> Iterator[tuple[Any, slice]]:
        """Blocks of rows without zeros, as kernels take them, and their places in the whole."""
        block: Block = np.empty(0), np.empty(0, np.uint32), np.empty(1, np.uint32)
        for entries, (count, chosen, _, _), place in self._parts(rows, order, learning=learning):
            done = 0
            while done < count:
                taken, whole = read_rows(entries, count, chosen, done, block)
                if taken == 0:
                    size = max(self._n_features, min(_ENTRIES, int(entries[0].size))) + LANES
                    if entries[2].size:
                        size = max(int(np.diff(entries[2]).max(initial=0)), min(_ENTRIES, int(entries[0].size))) + LANES
                    block = np.empty(size), np.empty(size, np.uint32), np.empty(min(_ROWS, count) + 1, np.uint32)
                    continue
                values, columns, starts = block
                made: Any = (values, entries[1], starts[:0]) if whole else (values, columns, starts)
                if self._map is not None and not learning:
                    made = _looked_up(self._map, made, int(starts[taken]))
                start = place.start + done
                yield tuple(read_only(part) for part in made), slice(start, start + taken)
                done += taken

    def _keep_all_columns(self) -> None:
        """From now on without a map: dense rows have all columns."""
        if self._map is not None:
            self._arrays["weights"] = np.asarray(self._weights())
            self._map = None

    def _weights(self) -> Any:
        """Those of all columns."""
        weights = self._arrays["weights"]
        return weights if self._map is None else self._map.rows_of(weights, self._map.seen(len(weights)))

    @locked
    def probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """(count, classes): the probability of each class to be the next label, with such a row.

        A class that has not come yet has its part of 1 / (rounds + 2).
        """
        rows = rows.check()
        rows.check_width(self._n_features)
        seen, known = self.seen, self._arrays["classes"][Class.NUMBER, : self.seen].astype(np.int64)
        missing = self.n_classes - seen
        if seen == 0:
            return np.full((rows.count, self.n_classes), 1.0 / self.n_classes)
        found = np.zeros((rows.count, self.n_classes))
        for block, place in self._blocks(rows, None, learning=False):
            part = np.empty((place.stop - place.start, seen))
            kernel.mix_classes(block, len(part), seen, self._arrays["how"], self._state(), part)
            found[place, known] = part
        if missing:
            unseen = 1.0 / (self.rounds + 2.0)
            found *= 1.0 - unseen
            found[:, np.setdiff1d(np.arange(self.n_classes), known)] = unseen / missing
        return found

    @locked
    def mix_as(self, other: "ClassPool") -> None:
        """Weigh experts and calibrations as another pool of the same kind does."""
        for name in ("members", "mixed", "trust"):
            self._arrays[name] = other._arrays[name].copy()
        sums = [mixture.Total.TOTAL, mixture.Total.TOTAL_THEN]  # of the shares of members
        self._arrays["totals"][sums] = other._arrays["totals"][sums]

    def _counts(self) -> tuple[float, float]:
        """Rows learned, and how many of them were predicted wrongly just before."""
        totals = self._arrays["totals"]
        return totals[mixture.Total.ROUNDS], totals[mixture.Total.MISTAKES]

    def certificate(self, confidence: float = 0.99) -> Certificate:
        """What is proved of the wrong answers so far, from the halfspaces and the price of the mixture."""
        return certify_class_pool(self._counted(), confidence)

    def lower_noise_rate(self, confidence: float = 0.99) -> float:
        """The largest limit of the halfspaces, each at its share of the doubt: some class's labels are flipped so."""
        return lower_class_noise_rate(self._counted(), confidence)

    def _counted(self) -> ClassPoolState:
        own = self._arrays
        return ClassPoolState(own["how"], own["classes"][:, : self.seen], own["members"], own["totals"])

    def mark_unproved(self) -> None:
        """Certify nothing from now on: what the theorem assumes is known not to hold."""
        self._arrays["totals"][mixture.Total.UNPROVED] = 1.0

    def shares(self) -> dict[str, float]:
        """AdaHedge's weight of each expert, the largest first; they add up to 1."""
        own = self._arrays["members"][mixture.Member.SHARE] / self._arrays["members"][mixture.Member.SHARE].sum()
        names = expert_names(self._n_features, self._kind)
        return {name: float(share) for name, share in sorted(zip(names, own, strict=True), key=lambda pair: -pair[1])}

    @locked
    def arrays(self) -> dict[str, Any]:
        """All of its state; `from_arrays` restores it bit for bit."""
        own, room, kept, kind = self._arrays, self._room, max(1, self.seen), self._kind
        weights = self._weights()
        parts = own | {name: with_room(name, own[name], room, kept, kind) for name in BY_CLASS if name != "weights"}
        if isinstance(weights, SparseRows):
            values = with_room("weights", weights.values, room, kept, kind)
            origin = weights.origin if kept == room else None
            weights = SparseRows(weights.numbers, values, len(weights), weights.places, origin)
        else:
            weights = with_room("weights", weights, room, kept, kind)
        parts |= {"weights": weights, "class_weight": self._class_weight, "noise_rate": self._noise_rate}
        found = {name: array for name, array in parts.items() if array.size}
        return found | {"seed": self._seed}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The pool whose `arrays()` these are."""
        weights, known = arrays["weights"], None
        d = len(weights) - 1
        own, kind, room = dict(arrays), kernel.RAW, 1
        if arrays["how"].shape == (len(Setting),) and arrays["classes"].ndim == 2:
            kind = float(arrays["how"][Setting.KIND])
            room = int(min(max(1.0, arrays["how"][Setting.SEEN]), arrays["classes"].shape[1]))
        tables = new_tables(d, room, kind)
        own |= {name: empty for name, empty in tables.items() if not empty.size}
        if isinstance(weights, SparseRows) and are_many(d):
            known, (own["weights"],) = ColumnMap.of(weights)
        own["weights"] = np.asarray(own["weights"])
        check_class_pool(own, d, room, tables, weight_width(room, kind), count_experts(d, kind))
        pool = cls.__new__(cls)
        pool._set({name: own[name] for name in own if name != "seed"}, own["seed"], known, d)
        return pool

    def _set(self, own: dict[str, NDArray[np.float64]], seed: NDArray[np.uint64], known: Any, n_features: int) -> None:
        self._class_weight, self._noise_rate = own.pop("class_weight"), own.pop("noise_rate")
        self._arrays, self._seed, self._map, self._n_features = own, seed, known, n_features

    @locked
    def copy(self) -> Self:
        """An independent pool in the same state."""
        twin = type(self).__new__(type(self))
        own = {name: array.copy() for name, array in self._arrays.items()}
        own |= {"class_weight": self._class_weight.copy(), "noise_rate": self._noise_rate.copy()}
        twin._set(own, self._seed.copy(), None if self._map is None else self._map.copy(), self._n_features)
        return twin

    @classmethod
    def with_options(cls, n_features: int, class_weight: Any, options: LearnerOptions) -> Self:
        """A pool that certifies nothing if a noise rate is known for which class weights leave nothing to prove."""
        pool = cls(n_features, class_weight, options)
        if options.noise_rate is not None:
            own = (options.replace(class_weight=(1.0, float(weight))) for weight in pool._class_weight)
            if not all(map(is_proved, own)):
                pool.mark_unproved()
        return pool
