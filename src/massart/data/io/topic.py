r"""A topic of Kafka as a text: record after record, in the order of `massart.data.io.turns`.

Without `follow` there is one round, to the ends found at the start; with it a new round takes what has arrived when
the last one is over. Every record is a line or several; a line end is added where it has none. A text of CSV begins
with a line of the names of the columns, which the address has.
"""

import io
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from massart.data.chunk import Chunk, Places, Position
from massart.data.io.kafka import Address, Records
from massart.data.io.sources import Source
from massart.data.io.turns import BEFORE, FIELDS, Batch, Round, State, TopicPlaces, following_of, state_at
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels.parsing.csv_fields import cut_records
from massart.kernels.parsing.row_errors import LONGEST_LINE

__all__ = ["TopicSource"]

_PARTING, _MOMENT = 2.0, 0.02  # seconds for a stream to be closed, and between two looks whether it is
_GATHER: Final = 0.1  # seconds in which a round of `follow` collects records
_HEAD: Final = 1 << 20  # bytes that are looked at, at least
_SHOWN: Final = 64  # bytes of a record that is not what it should be


class TopicSource(Source):
    """A topic; `follow` goes on when it has come to the end, until `stop`."""

    def __init__(self, path: str) -> None:
        super().__init__("-")
        self.address = Address.parse(path)
        self.name = self.address.name
        self.follow = False
        self.note: Callable[[str], None] = lambda words: None
        self._batches: deque[Batch] = deque()  # whose chunks are still to come
        self._round: Round | None = None  # the first one
        self._cluster = ""
        self._head: tuple[int, bytes] = 0, b""
        self._open: TopicStream | None = None
        self._located: tuple[int, tuple[int, ...], Places | None] = -1, (), None  # end, marks and places of a chunk
        self._stopped = threading.Event()
        self.separator: str | None = None  # of CSV

    @property
    def is_pipe(self) -> bool:
        """Always: it is read once."""
        return True

    @property
    def is_resumable(self) -> bool:
        """Always: records have offsets."""
        return True

    @property
    def compression(self) -> str | None:
        """None: clients unpack records."""
        return None

    @property
    def digest(self) -> str:
        """The cluster that it belongs to, and the columns of CSV."""
        return " ".join(filter(None, ("kafka", self.cluster, self.address.columns)))

    @property
    def cluster(self) -> str:
        """The name of the cluster."""
        self.first_round()
        return self._cluster

    def prepare(self, data_format: str) -> None:
        """Be read as this format."""
        if data_format not in ("svmlight", "vw", "csv", "jsonl"):
            raise InvalidDataError(f"{self.name}: records hold lines of svmlight, vw, csv or jsonl, not {data_format}")
        columns = self.address.columns
        if data_format == "csv" and not columns:
            raise InvalidParameterError(
                f"{self.name}: records of CSV have no line of names; name the columns, in order, in the address: "
                f"kafka://{self.address.brokers}/{self.address.topic}?columns=first,second"
            )
        if columns and data_format != "csv":
            raise InvalidParameterError(f"{self.name}: columns are named for CSV, but its records are {data_format}")
        self.separator = next((sign for sign in "\t;|" if sign in columns), ",") if columns else None

    def head(self, size: int = _HEAD) -> bytes:
        """The first bytes."""
        known, found = self._head
        if known < size:
            size, data = max(size, _HEAD), bytearray()
            with TopicStream(self, Position(), looking=True) as stream:
                while len(data) < size and (piece := stream.piece()):
                    data += piece
                    if self.follow and not stream.ready():
                        break
            known, found = size, bytes(data)
            self._head = known, found
        return found[:size]

    def stream(self, offset: int = 0) -> Any:
        """The text from its beginning."""
        return self.stream_from(Position(0, offset))

    def stream_from(self, start: Position) -> "TopicStream":
        """The text from a position on."""
        self._batches.clear()
        return TopicStream(self, start)

    def fraction(self) -> float | None:
        """None: it may go on."""
        return None

    def stop(self) -> None:
        """End what waits for records, and let it tell the group of the last checkpoint."""
        self._stopped.set()
        end = time.monotonic() + _PARTING
        while self._open is not None and not self._open.closed and time.monotonic() < end:
            time.sleep(_MOMENT)

    def is_stopped(self) -> bool:
        """Whether nothing is wanted any more."""
        return self._stopped.is_set()

    def first_round(self, records: Records | None = None) -> Round:
        """From where to where the topic is read; found once."""
        if self._round is None:
            own = records or self.records()
            try:
                limits = [own.limits(partition) for partition in own.partitions]
                self._cluster = own.cluster
            finally:
                if own is not records:
                    own.close()
            begins = tuple(low if self.address.start == "earliest" else high for low, high in limits)
            ends = tuple(high for _, high in limits)
            self._round = Round(tuple(own.partitions), begins, ends, self.address.records)
        return self._round

    def records(self) -> Records:
        """A new connection."""
        return Records(self.address, self.note, self.is_stopped)

    def opened(self, stream: "TopicStream") -> None:
        """A stream that `lag` and `commit` may use."""
        self._open = stream

    def handed_out(self, batch: Batch) -> None:
        """Remember where these bytes come from."""
        self._batches.append(batch)

    def placed(self, chunk: Chunk) -> Chunk:
        """A chunk whose errors and rows say which record they are of, and whose end has the marks to go on from."""
        end, own = chunk.end, []
        while self._batches and self._batches[0].ends[-1] <= end.offset:
            own.append(self._batches.popleft())
        if self._batches and self._batches[0].first[0] < end.offset:
            own.append(self._batches[0])
        if own:
            state, skipped = state_at(own[-1], end.offset)
            self._located = end.offset, own[-1].round.marks(state, skipped), TopicPlaces(self.name, own)
        offset, marks, places = self._located
        if offset != end.offset or places is None:  # before the first record
            return chunk
        errors = tuple(error._replace(place=places.words(error.line)) for error in chunk.errors)
        return chunk.replace(end=end._replace(marks=marks), errors=errors, places=places)

    def lag(self, position: Position) -> dict[int, int]:
        """By partition, records that are there after a position, as far as it is known."""
        found: dict[int, int] = {}
        if not position.marks:  # as at the end
            position = position._replace(marks=self._located[1])
        for partition, offset in following_of(position).items():
            high = None if self._open is None else self._open.records.high(partition)
            if high is not None:
                found[partition] = max(0, high - offset)
        return found

    def commit(self, position: Position) -> None:
        """Tell the group that a checkpoint has come to a position."""
        if self._open is not None and position.marks:
            self._open.records.commit(following_of(position))


class TopicStream(io.RawIOBase):
    """The bytes of a topic; `looking` leaves no trace in the source."""

    def __init__(self, source: TopicSource, start: Position, *, looking: bool = False) -> None:
        self._source, self._looking = source, looking
        self.records = source.records()
        try:
            self._begin(start)
        except BaseException:
            self.records.close()
            raise
        self._piece = memoryview(b"")
        if not looking:
            source.opened(self)

    def _begin(self, start: Position) -> None:
        source = self._source
        self._lead = f"{source.address.columns}\n".encode() if source.address.columns else b""
        self._round = source.first_round(self.records)
        if start.marks:
            self._restore(start)
            return
        if start.offset not in (0, len(self._lead)):
            raise ModelFileError(f"{source.name}: the checkpoint does not say where reading is to go on")
        self._lead = self._lead[start.offset :]
        self._skip = 0
        self._bytes, self._lines = start.offset + len(self._lead), start.line + self._lead.count(b"\n")
        self._state = self._round.settled(State(0, self._round.begins))
        self._check_and_assign(self._round.begins)

    def _restore(self, start: Position) -> None:
        marks, known = start.marks, self.records.partitions
        rows = [marks[place : place + FIELDS] for place in range(BEFORE, len(marks), FIELDS)]
        if (
            not rows
            or any(not isinstance(one, int) or isinstance(one, bool) or not 0 <= one < 2**63 for one in marks)
            or any(len(row) != FIELDS or not row[1] <= row[2] for row in rows)
            or marks[1] > len(rows)
            or marks[2] < 1
        ):
            raise ModelFileError(f"{self._source.name}: the offsets in the checkpoint do not fit together")
        partitions, begins, following, ends = zip(*rows, strict=True)
        gone = [number for number in partitions if number not in known]
        if gone:
            raise InvalidDataError(f"{self._source.name} has no partition {gone[0]} now: is it still the same topic?")
        new = [number for number in known if number not in partitions] if self._source.follow else []
        lows = tuple(self.records.limits(number)[0] for number in new)
        turn = marks[1] if marks[1] < len(rows) else len(rows) + len(new)
        self._lead, self._skip = b"", marks[0]
        self._round = Round((*partitions, *new), (*begins, *lows), (*ends, *lows), marks[2])
        self._state = State(turn, (*following, *lows))
        if turn < len(self._round.partitions):
            self._state = self._round.settled(self._state)
        self._bytes, self._lines = start.offset - self._skip, start.line
        self._check_and_assign(self._state.following)

    def _check_and_assign(self, following: Sequence[int]) -> None:
        for partition, offset, end in zip(self._round.partitions, following, self._round.ends, strict=True):
            low, high = self.records.limits(partition)
            if (offset < low and (offset < end or self._source.follow)) or max(offset, end) > high:
                raise self.records.expired(partition, offset)
        places = zip(self._round.partitions, following, self._round.ends, strict=True)
        wanted = {number: offset for number, offset, end in places if self._source.follow or offset < end}
        self.records.begin(wanted)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with as many bytes as there are now, at least one; 0 at the end."""
        if not self._piece:
            self._piece = memoryview(self.piece())
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(self._piece))
        view[:count] = self._piece[:count]
        self._piece = self._piece[count:]
        return count

    def ready(self) -> bool:
        """Whether there is more in this round."""
        return bool(self._piece or self._lead) or self._state.turn < len(self._round.partitions)

    def piece(self) -> bytes:
        """The next records as text; nothing at the end."""
        if self._lead:
            lead, self._lead = self._lead, b""
            return lead
        while not self._source.is_stopped():
            if self._state.turn == len(self._round.partitions):
                if not self._source.follow or not self._next_round():
                    break
                continue
            before, stop = self._state, self._round.stop(self._state)
            partition = self._round.partitions[before.turn]
            offsets, values = self.records.take(partition, stop)
            if self._source.is_stopped() and not offsets:
                break
            if self._skip and offsets[:1] != [before.following[before.turn]]:
                raise self.records.expired(partition, before.following[before.turn])
            self._state = self._round.moved(before, offsets[-1] + 1 if offsets else stop)
            if text := self._text(partition, offsets, values, before):
                return text
        return b""

    def _next_round(self) -> bool:
        ends = self.records.arrived(_GATHER)
        if self._source.is_stopped():
            return False
        self._round = self._round._replace(ends=tuple(ends[number] for number in self._round.partitions))
        self._state = self._round.settled(State(0, self._state.following))
        return True

    def _text(self, partition: int, offsets: list[int], values: list[bytes], before: State) -> bytes:
        quote = b'"'
        if self._source.separator is not None and any(quote in value for value in values):
            values = [self._checked(value) if quote in value else value for value in values]
        text = b"\n".join(values) + b"\n" if values else b""
        count = text.count(b"\n")
        if count == len(values) and all(values):
            sizes = [len(value) + 1 for value in values]
            lines = [1] * len(values)
        else:
            values = [value if value.endswith(b"\n") or not value else value + b"\n" for value in values]
            sizes, lines = [len(value) for value in values], [value.count(b"\n") for value in values]
            text = b"".join(values)
        done = self._skip, text[: self._skip].count(b"\n")
        self._skip, text = 0, text[done[0] :]
        if not text:
            return b""
        begin, line = self._bytes, self._lines - done[1]
        batch = Batch(
            partition,
            offsets,
            list(accumulate(sizes, initial=begin))[1:],
            list(accumulate(lines, initial=line))[1:],
            (begin + done[0], self._lines),
            done,
            self._round,
            before,
            self._state,
        )
        self._bytes, self._lines = batch.ends[-1], batch.lines[-1]
        if not self._looking:
            self._source.handed_out(batch)
        return text

    def _checked(self, value: bytes) -> bytes:
        """A record of CSV; one whose quote is not closed would go on into the next, so that it becomes an error."""
        text: NDArray[np.uint8] = np.frombuffer(value.removesuffix(b"\n") + b"\n", np.uint8).copy()
        end, _ = cut_records(text, np.uint8(ord(self._source.separator or ",")), LONGEST_LINE)
        if int(end) == text.size:
            return value
        shown = value[:_SHOWN].replace(b'"', b"").replace(b"\n", b" ").replace(b"\r", b" ")
        return b'""' + shown + b" "

    def close(self) -> None:
        """Let go of the connections."""
        if not self.closed:
            self.records.close()
        super().close()
