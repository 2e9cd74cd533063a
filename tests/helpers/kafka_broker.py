"""A mock cluster of librdkafka in a process of its own: prints its address, then obeys lines of JSON on its input.

{"topic": ..., "partition": ..., "file": ..., "together": 1} produces the lines of a file, so many in each record, and
answers with the first offset that is kept and the one after the last. {"records": [...]} produces texts as they are.
The process ends when its input does.
"""

import json
import sys
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

SETTINGS = {
    "test.mock.num.brokers": 1,
    "bootstrap.servers": "mock",
    "compression.type": "zstd",
    "batch.size": 4_000_000,
    "message.max.bytes": 8_000_000,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 1_000_000,
    "linger.ms": 1000,  # large batches, which compress: 5 MB of a partition are kept
    "log_level": 2,
}


def records_of(asked):
    if "records" in asked:
        return [text.encode("latin-1") for text in asked["records"]]
    lines = Path(asked["file"]).read_bytes().splitlines()
    together = asked.get("together", 1)
    return [b"\n".join(lines[first : first + together]) for first in range(0, len(lines), together)]


def main():
    producer = Producer({**SETTINGS, **json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")})
    brokers = producer.list_topics(timeout=10).brokers.values()
    address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    consumer = Consumer({"bootstrap.servers": address, "group.id": "helper", "log_level": 2})
    print(address, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        topic, partition = asked["topic"], asked.get("partition", 0)
        for record in records_of(asked):
            while True:
                try:
                    producer.produce(topic, record, partition=partition)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
        producer.flush()
        print(*consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10), flush=True)


if __name__ == "__main__":
    main()
