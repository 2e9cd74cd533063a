"""Predictions to a topic of Kafka: every row's with the place of the row as its key, at least once or exactly once.

At least once: all predictions of rows before a checkpoint are acknowledged before the checkpoint is written; after a
crash those of the rows since the last checkpoint are sent again, with the same keys.

Exactly once: the predictions of a chunk are one transaction, in which the group of the rows' topic gets the place of
the last of them. A training that goes on from its checkpoint asks the group for it, learns the rows up to there again,
and sends nothing of them. The checkpoint itself is a file and no part of any transaction.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from massart.data.chunk import Chunk
from massart.data.io.kafka import Address, Client
from massart.errors import InvalidDataError, InvalidParameterError
from massart.training.predict import KeptOutput, PredictionLines

__all__ = ["PredictionTopic"]

_STEP: Final = 0.5  # seconds between two looks
_PATIENCE: Final = 5.0  # seconds until waiting is reported
_ANSWER: Final = 30.0  # seconds for an answer about a transaction
_TRIES: Final = 3  # at a transaction that the brokers want to be aborted


class PredictionTopic(KeptOutput):
    """A topic that takes predictions; `begin` before the first one."""

    def __init__(self, address: str) -> None:
        self.address = Address.parse(address)
        self.name = self.address.name
        self.tells_group = self.address.delivery == "exactly-once"
        self._note: Callable[[str], None] = lambda words: None
        self._client = Client(self.address)
        self._producer: Any = None
        self._group: Any = None  # a consumer, for the offsets of the rows' topic
        self._rows_topic = ""
        self._failed = ""
        self._sent: dict[int, tuple[int, int]] = {}  # by partition: offset and line of the last row whose is sent

    def begin(self, source: Any, note: Callable[[str], None], *, resume: bool) -> None:
        """Connect; `source` is what the rows come from, and `resume` says whether its group is asked."""
        self._note = note
        client, kafka = self._client, self._client.kafka
        own: dict[str, Any] = {"enable_idempotence": True, "acks": "all", "linger_ms": 20}
        rows: Address | None = getattr(source, "address", None)
        if self.tells_group:
            if rows is None:
                raise InvalidParameterError(
                    f"{self.name}: exactly once needs rows that come from a topic; leave delivery=exactly-once out"
                )
            own["transaction_timeout_ms"] = 300_000
            own["transactional_id"] = f"massart-{rows.topic}-{rows.group}-{self.address.topic}"
        self._producer = client.make("Producer", client.settings(**own))
        found = client.metadata(self._producer)
        error = found.topics[self.address.topic].error
        if error is not None and error.code() != kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:  # it may be made when written
            raise InvalidDataError(f"{self.name} cannot be written: {error.str()}")
        if not self.tells_group or rows is None:
            return
        if source.cluster != str(found.cluster_id or ""):
            raise InvalidParameterError(f"{self.name}: exactly once needs the cluster that the rows come from")
        self._rows_topic = rows.topic
        reader = Client(rows)
        self._group = reader.make("Consumer", reader.settings(group_id=rows.group))
        first = source.first_round()
        places = [kafka.TopicPartition(rows.topic, number) for number in first.partitions]
        try:
            self._producer.init_transactions(_ANSWER)
            if resume:
                for place in self._group.committed(places, timeout=_ANSWER):
                    line = place.metadata or ""
                    if place.offset > 0 and line.isdecimal():
                        self._sent[place.partition] = place.offset - 1, int(line)
                return
            self._producer.begin_transaction()
            self._commit([kafka.TopicPartition(rows.topic, *place) for place in zip(*first[:2], strict=True)])
        except kafka.KafkaException as error:
            raise InvalidDataError(f"{self.name}: no transaction can be made ({client.words(error)})") from None

    def take(self, chunk: Chunk, found: PredictionLines, names: Sequence[str]) -> None:
        """Send the predictions of the rows of a chunk."""
        lines, texts = found.rows(names)
        if self.tells_group:
            self._send_once(chunk, lines, texts)
            return
        for line, text in zip(lines, texts, strict=True):
            if text:
                partition, offset, own = chunk.places.of(line) if chunk.places else (-1, 0, 0)
                self._produce(_key(partition, offset, own) if chunk.places else f"{chunk.source}/{line}", text)
        self._producer.poll(0)
        self._check()

    def _send_once(self, chunk: Chunk, lines: Sequence[int], texts: Sequence[str]) -> None:
        kafka, reached = self._client.kafka, dict(self._sent)
        rows: list[tuple[str, str]] = []
        for line, text in zip(lines, texts, strict=True):
            partition, offset, own = chunk.places.of(line) if chunk.places else (-1, 0, 0)
            if (offset, own) > reached.get(partition, (-1, 0)):
                reached[partition] = offset, own
                if text:
                    rows.append((_key(partition, offset, own), text))
        places = [
            kafka.TopicPartition(self._rows_topic, number, offset + 1, metadata=str(line))
            for number, (offset, line) in reached.items()
        ]
        for tries in reversed(range(_TRIES)):
            try:
                self._producer.begin_transaction()
                for key, text in rows:
                    self._produce(key, text)
                self._commit(places)
                break
            except kafka.KafkaException as error:
                if not (tries and error.args[0].txn_requires_abort()):
                    raise InvalidDataError(f"{self.name} could not be written: {self._client.words(error)}") from None
                self._failed = ""
                self._patiently(self._producer.abort_transaction, _ANSWER)
        self._sent = reached

    def _commit(self, places: list[Any]) -> None:
        """End a transaction."""
        if places:
            metadata = self._group.consumer_group_metadata()
            self._patiently(self._producer.send_offsets_to_transaction, places, metadata, _ANSWER)
        self._patiently(self._producer.commit_transaction, _ANSWER)

    def _patiently(self, step: Callable[..., None], *arguments: Any) -> None:
        """Until the brokers answer."""
        begun, said = time.monotonic(), False
        while True:
            try:
                step(*arguments)
            except self._client.kafka.KafkaException as error:
                if not error.args[0].retriable():
                    raise
                said = self._waiting(begun, said=said)
            else:
                return

    def _produce(self, key: str, text: str) -> None:
        begun, said = time.monotonic(), False
        while True:
            try:
                self._producer.produce(
                    self.address.topic, text.encode(errors="surrogatepass"), key, on_delivery=self._delivered
                )
            except BufferError:
                self._producer.poll(_STEP)
                if not self.tells_group:  # else the commit fails
                    self._check()
                said = self._waiting(begun, said=said)
            else:
                return

    def _delivered(self, error: Any, message: Any) -> None:
        del message
        if error is not None:
            self._failed = self._failed or str(error.str())

    def _check(self) -> None:
        if self._failed:
            raise InvalidDataError(f"{self.name} could not be written: {self._failed}")

    def _waiting(self, begun: float, *, said: bool) -> bool:
        if not said and time.monotonic() - begun > _PATIENCE:
            self._note(f"{self.name}: no broker of {self.address.brokers} takes predictions; waiting")
            return True
        return said

    def sync(self) -> int:
        """Wait until all that was sent is acknowledged."""
        begun, said = time.monotonic(), False
        while self._producer.flush(_STEP):
            self._check()
            said = self._waiting(begun, said=said)
        self._check()
        return 0

    def finish(self) -> None:
        """All is sent."""
        self.sync()
        self.abandon()

    def abandon(self, *, whole: bool = False) -> None:
        """Let go of the connections; what is not acknowledged may be lost."""
        del whole
        if self._group is not None:
            self._group.close()
            self._group = None


def _key(partition: int, offset: int, line: int) -> str:
    """The place of a row; the line of its record from the second on.

    >>> _key(0, 17, 1), _key(0, 17, 2)
    ('0/17', '0/17/2')
    """
    return f"{partition}/{offset}" if line == 1 else f"{partition}/{offset}/{line}"
