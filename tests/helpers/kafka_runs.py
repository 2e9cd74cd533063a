"""A mock cluster in a process of its own, and trainings that read from it."""

import json
import os
import signal
import subprocess
import sys
import time
from urllib.parse import quote

import numpy as np
import processes

COMMAND = [sys.executable, "-m", "massart", "train"]
_LIMIT = 30.0  # seconds


class Broker:
    """Starts `kafka_broker.py`; ends it with the `with`."""

    def __init__(self, **settings):
        command = [sys.executable, str(processes.HELPERS / "kafka_broker.py"), json.dumps(settings)]
        self.process = processes.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.process.__enter__()
        self.address = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.__exit__(*error)

    def url(self, topic, **options):
        given = "&".join(f"{name.replace('_', '.')}={quote(str(value))}" for name, value in options.items())
        return f"kafka://{self.address}/{topic}{f'?{given}' if given else ''}"

    def ask(self, topic, partition=0, *, expires=False, **asked):
        """Produce; the offset after the last record. Nothing is lost, unless it `expires`."""
        self.process.stdin.write(json.dumps({"topic": topic, "partition": partition, **asked}) + "\n")
        self.process.stdin.flush()
        low, high = map(int, self.process.stdout.readline().split())
        assert low == 0 or expires
        return high

    def records(self, topic, group="reader"):
        """(key, value) of all records."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        settings = {"bootstrap.servers": self.address, "group.id": group, "log_level": 2, "enable.partition.eof": True}
        consumer, found = Consumer(settings), []
        try:
            places = sorted(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, place, 0) for place in places])
            left = len(places)
            while left:
                for message in consumer.consume(1000, 0.2):
                    if message.error() is None:
                        found.append((message.key().decode(), message.value().decode()))
                    else:
                        assert message.error().code() == KafkaError._PARTITION_EOF
                        left -= 1
        finally:
            consumer.close()
        return found

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


def run(*arguments, **options):
    """A training, to its end."""
    command = [*COMMAND, *map(str, arguments)]
    return processes.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT, **options)


def start(*arguments):
    """A training, with its messages in a pipe."""
    return processes.start([*COMMAND, *map(str, arguments)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(condition, process):
    end = time.monotonic() + _LIMIT
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)


def write_rows(path, count, columns=40, seed=0, distinct=2000):
    """svmlight; rows come again and again, as the mock cluster keeps but 5 MB of a partition, compressed."""
    rng = np.random.default_rng(seed)
    truth, lines = rng.normal(size=columns), []
    for _ in range(min(count, distinct)):
        places = np.sort(rng.choice(columns, 12, replace=False))
        values = np.round(rng.normal(size=12), 4)
        label = 1 if (truth[places] @ values > 0) != (rng.random() < 0.1) else -1
        lines.append(f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in zip(places.tolist(), values, strict=True)))
    path.write_text("".join(lines[row % len(lines)] + "\n" for row in range(count)))
    return path


def learned(model):
    """All arrays of a model, without its header, which names the data."""
    from massart.models.model_file import read_model

    return {name: array.tobytes() for name, array in read_model(model)[2].items()}


def descriptors():
    return len(os.listdir("/proc/self/fd"))
