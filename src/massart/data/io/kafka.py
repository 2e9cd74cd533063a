"""Kafka by confluent-kafka: addresses, clients, and the records of a topic, partition by partition.

No other module imports confluent_kafka. In which order records become rows is in `massart.data.io.turns`.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from massart.errors import InvalidDataError, InvalidParameterError, MassartError, needs
from massart.values import Value

__all__ = ["Address", "Client", "Records"]

_CONNECT: Final = 6.0  # seconds within which a broker must answer at the start
_POLL: Final = 0.2  # seconds after which a thread that waits looks whether it is still wanted
_TOGETHER: Final = 5_000  # records that are asked for at once
_BOOKS: Final = 0.5  # seconds between two looks at how much there is
_PATIENCE: Final = 5.0  # seconds without a record that is known to be there until that is reported
_BUFFERED: Final = 1 << 25  # bytes of records of all partitions together that wait for their turn
_LEAST: Final = 1 << 20  # and of one partition
_KNOWN: Final = ("group", "start", "records", "columns", "config", "delivery")
_DELIVERIES: Final = ("at-least-once", "exactly-once")
_QUIET: Final = 2  # of the levels of syslog: messages come as errors


class Address(Value):
    """Where a topic is and how it is read or written: kafka://host:port[,host:port]/topic?name=value&...

    >>> found = Address.parse("kafka://a:9092,b:9092/clicks?group=g&columns=click,price&fetch.wait.max.ms=50")
    >>> found.brokers, found.topic, found.group, found.columns, found.client
    ('a:9092,b:9092', 'clicks', 'g', 'click,price', {'fetch.wait.max.ms': '50'})
    """

    brokers: str
    topic: str
    group: str = "massart"
    start: str = "earliest"  # or latest
    records: int = 1000  # of a partition before the next one has its turn
    columns: str = ""  # the line of names of CSV
    delivery: str = _DELIVERIES[0]
    client: dict[str, str] = {}  # settings of librdkafka

    @property
    def name(self) -> str:
        """For messages and checkpoints: brokers may change."""
        return f"kafka:{self.topic}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """From a URL; names with a dot are settings of librdkafka."""
        parts = urlsplit(text)
        topic = parts.path.strip("/")
        if not parts.netloc or not topic or "/" in topic or "@" in parts.netloc:
            raise InvalidParameterError(f"{text}: give brokers and a topic, as in kafka://host:9092/topic?group=name")
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        client = {name: value for name, value in given.items() if "." in name}
        unknown = [name for name in given if name not in client and name not in _KNOWN]
        if unknown:
            raise InvalidParameterError(
                f"{text}: {unknown[0]!r} is not known; there are {', '.join(_KNOWN)}, and settings of librdkafka, "
                "which have a dot in their names"
            )
        records = given.get("records", "1000")
        if not (records.isdecimal() and 1 <= int(records[:12]) <= 10**9):
            raise InvalidParameterError(f"{text}: records={records}: give a whole number from 1 to 1,000,000,000")
        for name, allowed in (("start", ("earliest", "latest")), ("delivery", _DELIVERIES)):
            if given.get(name, allowed[0]) not in allowed:
                raise InvalidParameterError(f"{text}: {name}={given[name]}: choose {' or '.join(allowed)}")
        return cls(
            brokers=parts.netloc,
            topic=topic,
            group=given.get("group") or "massart",
            start=given.get("start", "earliest"),
            records=int(records),
            columns=given.get("columns", "").strip(),
            delivery=given.get("delivery", _DELIVERIES[0]),
            client={**(_properties(given["config"]) if "config" in given else {}), **client},
        )


def _properties(path: str) -> dict[str, str]:
    """Settings in a file, name=value on each line, as Kafka's own tools have them: for passwords, say."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"config={path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    pairs = [line.partition("=") for line in map(str.strip, lines) if line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, _, value in pairs}


class Client:
    """What consumers and producers share: settings, and the last error that librdkafka reported."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.kafka = needs("confluent_kafka", "kafka", f"to reach {address.name}")
        self.trouble = ""  # the last error, in words

    def settings(self, **more: Any) -> dict[str, Any]:
        """Those of librdkafka, with `_` for the dots in their names; the address has the last word."""
        common = {"bootstrap.servers": self.address.brokers, "log_level": _QUIET, "error_cb": self._report}
        return {**common, "client.id": "massart", **{name.replace("_", "."): one for name, one in more.items()},
                **self.address.client}  # fmt: skip

    def make(self, kind: str, settings: Mapping[str, Any]) -> Any:
        """A client; a setting that librdkafka does not take is refused in its words."""
        try:
            return getattr(self.kafka, kind)(dict(settings))
        except (self.kafka.KafkaException, TypeError, ValueError) as error:
            raise InvalidParameterError(f"{self.address.name}: {self.words(error)}") from None

    def _report(self, error: Any) -> None:
        self.trouble = str(error.str())

    @staticmethod
    def words(error: BaseException) -> str:
        """What librdkafka says about an error."""
        inner = error.args[0] if error.args else error
        return str(inner.str()) if hasattr(inner, "str") else str(inner)

    def metadata(self, client: Any) -> Any:
        """What the brokers say about the topic; an error within seconds if none of them answers."""
        try:
            return client.list_topics(self.address.topic, timeout=_CONNECT)
        except self.kafka.KafkaException as error:
            client.poll(0)
            why = self.trouble or self.words(error)
            raise InvalidDataError(
                f"{self.address.name} cannot be reached: no broker has answered within {_CONNECT:g} s; tried "
                f"{self.address.brokers} ({why})"
            ) from None

    def partitions(self, found: Any) -> list[int]:
        """Those of the topic."""
        topic = found.topics[self.address.topic]
        if topic.error is not None:
            if topic.error.code() == self.kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise InvalidDataError(f"{self.address.name} does not exist at {self.address.brokers}")
            raise InvalidDataError(f"{self.address.name} cannot be read: {topic.error.str()}")
        return sorted(topic.partitions)


class _Buffer:
    """Records of one partition that were fetched and not yet taken."""

    def __init__(self, start: int) -> None:
        self.offsets: list[int] = []
        self.values: list[bytes] = []
        self.size = 0  # bytes
        self.passed = start  # every record before this offset was fetched
        self.paused = False


class Records:
    """The records of some partitions, fetched ahead in bounded memory and taken partition by partition.

    Nothing is coordinated with other consumers: every partition is read, whoever else is in the group.
    """

    def __init__(self, address: Address, note: Callable[[str], None], stopped: Callable[[], bool]) -> None:
        self._client = Client(address)
        self._kafka, self.name = self._client.kafka, address.name
        self._note, self._stopped = note, stopped  # `stopped` is asked while it waits
        self._address = address
        self._buffers: dict[int, _Buffer] = {}
        self._room = _BUFFERED
        self.closed = False
        self._highs: dict[int, int] = {}  # by partition, the offset after the last record
        self._looked = 0.0  # when that was found out
        self._to_commit: dict[int, int] = {}
        self._consumer = self._client.make(
            "Consumer",
            self._client.settings(
                group_id=address.group,
                enable_auto_commit=False,
                enable_auto_offset_store=False,
                enable_partition_eof=True,
                auto_offset_reset="error",
                isolation_level="read_committed",
                queued_max_messages_kbytes=16384,
                fetch_queue_backoff_ms=5,  # a second by default, in which nothing is fetched
                fetch_wait_max_ms=100,
                reconnect_backoff_max_ms=2000,
                max_poll_interval_ms=86_400_000,
            ),
        )
        try:
            metadata = self._client.metadata(self._consumer)
            self.cluster = str(metadata.cluster_id or "")
            self.partitions = self._client.partitions(metadata)
        except BaseException:
            self.close()
            raise

    def limits(self, partition: int) -> tuple[int, int]:
        """The first offset that is there, and the one after the last."""
        try:
            found = self._consumer.get_watermark_offsets(self._place(partition), timeout=_CONNECT)
        except self._kafka.KafkaException as error:
            words = self._client.words(error)
            raise InvalidDataError(
                f"{self.name}, partition {partition}: its offsets cannot be found ({words})"
            ) from None
        if found is None:
            raise InvalidDataError(f"{self.name}, partition {partition}: no broker tells its offsets")
        return int(found[0]), int(found[1])

    def high(self, partition: int) -> int | None:
        """The offset after the last record, as far as it is known; for any thread."""
        return self._highs.get(partition)

    def begin(self, places: Mapping[int, int]) -> None:
        """Fetch from these offsets on."""
        self._buffers = {partition: _Buffer(offset) for partition, offset in places.items()}
        self._room = max(_LEAST, _BUFFERED // max(1, len(places)))
        self._consumer.assign([self._place(*place) for place in places.items()])

    def take(self, partition: int, stop: int) -> tuple[list[int], list[bytes]]:
        """Some of the next records of a partition with their offsets, all below `stop`; none if there are none."""
        own = self._buffers[partition]
        if not own.offsets and own.passed < stop:
            self._wait_for(own, stop)
        count = bisect_left(own.offsets, stop)
        found = own.offsets[:count], own.values[:count]
        del own.offsets[:count], own.values[:count]
        own.size -= sum(map(len, found[1]))
        if own.paused and own.size < self._room // 2:
            own.paused = False
            self._consumer.resume([self._place(partition)])
        return found

    def arrived(self, wait: float) -> dict[int, int]:
        """Up to which offsets the partitions were fetched so long after there was something new, or it is stopped."""
        with self._saying_so() as silent:
            while not self._stopped() and not any(own.offsets for own in self._buffers.values()):
                self._poll()
                if self._client.trouble:
                    silent()
        time.sleep(wait)
        self._poll()
        return {partition: own.passed for partition, own in self._buffers.items()}

    def _wait_for(self, own: _Buffer, stop: int) -> None:
        """Until there are records, or it is known that there are none before `stop`."""
        with self._saying_so() as silent:
            while not (own.offsets or own.passed >= stop or self._stopped()):
                self._poll()
                silent()

    @contextmanager
    def _saying_so(self) -> Iterator[Callable[[], None]]:
        """Inside of it nothing has come; that is reported, once, if it lasts."""
        since, said = time.monotonic(), False

        def silent() -> None:
            nonlocal said
            if not said and time.monotonic() - since > _PATIENCE:
                said = True
                why = f" ({self._client.trouble})" if self._client.trouble else ""
                self._note(
                    f"{self.name}: nothing has come from {self._address.brokers} for {_PATIENCE:g} s{why}; waiting"
                )

        yield silent
        self._client.trouble = ""
        if said and not self._stopped():
            self._note(f"{self.name}: goes on after {time.monotonic() - since:.0f} s")

    def _poll(self, wait: float = _POLL) -> None:
        """Fetch once."""
        found = self._consumer.consume(_TOGETHER, 0.0) or self._consumer.consume(1, wait)
        messages = [message for message in found if message.error() is None]
        alone = next(iter(self._buffers.values())) if len(self._buffers) == 1 else None
        if alone is not None:
            self._add(alone, messages)
        elif messages:
            sorted_out: dict[int, list[Any]] = {}
            for message in messages:
                sorted_out.setdefault(message.partition(), []).append(message)
            for partition, own in sorted_out.items():
                self._add(self._buffers[partition], own)
        if len(messages) < len(found):  # the end of a partition comes after its records
            for message in found:
                if message.error() is not None:
                    self._heed(message)
        if time.monotonic() - self._looked > _BOOKS:
            self._looked = time.monotonic()
            self._keep_books()
        # What comes too early must not fill the memory; what librdkafka has fetched of it is fetched again.
        full = [number for number, own in self._buffers.items() if own.size > self._room and not own.paused]
        if full and len(self._buffers) > 1:
            for number in full:
                self._buffers[number].paused = True
            self._consumer.pause([self._place(number) for number in full])

    @staticmethod
    def _add(own: _Buffer, messages: Sequence[Any]) -> None:
        if not messages:
            return
        offsets = [message.offset() for message in messages]
        if offsets[0] < own.passed:  # fetched before a pause
            messages = [message for message in messages if message.offset() >= own.passed]
            offsets = [message.offset() for message in messages]
        values = [message.value() or b"" for message in messages]
        own.offsets += offsets
        own.values += values
        own.size += sum(map(len, values))
        own.passed = max(own.passed, offsets[-1] + 1 if offsets else 0)

    def _heed(self, message: Any) -> None:
        """An event among the records: the end of a partition, or an error."""
        error, kinds = message.error(), self._kafka.KafkaError
        if error.code() == kinds._PARTITION_EOF:
            own = self._buffers.get(message.partition())
            if own is not None and not own.paused:
                own.passed = max(own.passed, message.offset())
            return
        if error.code() in (kinds._AUTO_OFFSET_RESET, kinds.OFFSET_OUT_OF_RANGE):
            own = self._buffers.get(message.partition())
            raise self.expired(message.partition(), -1 if own is None else own.passed)
        if error.retriable() or error.code() in (kinds._TRANSPORT, kinds._ALL_BROKERS_DOWN, kinds._TIMED_OUT):
            self._client.trouble = str(error.str())
            return
        where = f", partition {message.partition()}" if message.partition() is not None else ""
        raise InvalidDataError(f"{self.name}{where} cannot be read: {error.str()}")

    def expired(self, partition: int, offset: int) -> InvalidDataError:
        """The error for an offset that is no longer, or not yet, there."""
        try:
            low, high = self.limits(partition)
            now = f"it has {low:,} to {high:,} now"
        except MassartError:
            now = "it is not there"
        return InvalidDataError(
            f"{self.name}, partition {partition}: reading was to go on at offset {offset:,}, but {now}; records that "
            "are kept for too short a time (retention), or a topic that was made anew, cannot be gone on with: leave "
            "`resume=True` out to begin again"
        )

    def commit(self, places: Mapping[int, int]) -> None:
        """Tell the group where the checkpoint is, for tools that show it; it is never read back. For any thread."""
        self._to_commit = dict(places)

    def _keep_books(self) -> None:
        """What other threads have asked for: a consumer that waits for records in one thread may block another."""
        for partition in self._buffers:
            with suppress(self._kafka.KafkaException, RuntimeError):
                found = self._consumer.get_watermark_offsets(self._place(partition), cached=True)
                if found and found[1] >= 0:
                    self._highs[partition] = int(found[1])
        places, self._to_commit = self._to_commit, {}
        if places:
            with suppress(self._kafka.KafkaException, RuntimeError):  # nothing depends on it
                self._consumer.commit(offsets=[self._place(*place) for place in places.items()], asynchronous=True)

    def _place(self, partition: int, offset: int = -1001) -> Any:
        return self._kafka.TopicPartition(self._address.topic, partition, offset)

    def close(self) -> None:
        """Let go of the connections."""
        if not self.closed:
            self._keep_books()
            self.closed = True
            self._consumer.close()
