"""`massart train kafka://...` in processes of its own, against the mock cluster of librdkafka in another one."""

import json
import random
import re
import signal
import socket
import string
import time
import urllib.request

import pytest
from command_cases import massart
from kafka_runs import Broker, learned, run, start, wait_for, write_rows
from stopping import finished_or_killed

from massart.data.io.topic import TopicSource
from massart.models.opening import open_model

KNOWN = ["--noise-rate", ".1", "--margin", ".02", "--features", "40"]


@pytest.fixture(scope="module")
def broker():
    with Broker() as found:
        yield found


@pytest.fixture(scope="module")
def rows(broker, tmp_path_factory):
    """A file, and the topic `rows` with the same rows in one partition."""
    path = write_rows(tmp_path_factory.mktemp("rows") / "rows.svm", 60_000)
    broker.ask("rows", file=str(path))
    return path


@pytest.mark.parametrize("options", [[], KNOWN], ids=["default", "known"])
def test_the_model_is_that_of_the_file(broker, rows, tmp_path, options):
    from_topic, from_file = tmp_path / "topic.massart", tmp_path / "file.massart"
    assert run(broker.url("rows"), "-f", from_topic, *options).returncode == 0
    assert run(rows, "-f", from_file, *options).returncode == 0
    assert learned(from_topic) == learned(from_file)
    assert not (tmp_path / "topic.massart.checkpoint").exists()


def test_killed_at_20_random_moments_it_ends_with_the_same_bytes(broker, tmp_path):
    for partition, name in enumerate("abc"):
        broker.ask(
            "killed", partition, file=str(write_rows(tmp_path / name, 40_000 + 9_000 * partition, seed=partition))
        )
    url = broker.url("killed", records=700)
    whole, parts = tmp_path / "whole.massart", tmp_path / "parts.massart"
    assert run(url, "-f", whole, *KNOWN, "--quiet").returncode == 0
    checkpoint, rng, kills = tmp_path / "parts.massart.checkpoint", random.Random(20), 0  # noqa: S311
    often = [url, "-f", parts, *KNOWN, "--quiet", "--checkpoint-every", "1000", "--resume"]
    while kills < 20 or not checkpoint.exists():  # the last kill may have come before the first, or after the last one
        with start(*often) as process:
            finished = finished_or_killed(process, checkpoint, rng)
        kills += not finished
        if finished:  # it was too quick for the remaining kills: once more from the start
            assert process.returncode == 0
            assert parts.read_bytes() == whole.read_bytes()
            parts.unlink()
    broker.ask("killed", 1, records=["1 1:1"] * 100)  # which came later, and belong to no run that was begun before
    assert run(*often).returncode == 0
    assert parts.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def poisoned(broker):
    good = [f"{1 if row % 2 else -1} {row % 2 + 1}:1" for row in range(100)]
    broker.ask("bad", 2, records=[*good, "1 nonsense", "1 2:x\n-1 1:1", *good])
    return broker.url("bad")


def test_poisoned_records_are_reported_counted_and_left_out(broker, tmp_path):
    url = poisoned(broker)
    found = run(url, "-f", tmp_path / "m", "--json", "--features", "5", "--metrics", tmp_path / "metrics")
    assert found.returncode == 0
    assert "kafka:bad, partition 2, offset 100, column 3: expected index:value" in found.stderr
    assert "kafka:bad, partition 2, offset 101, line 1, column 5: expected a number" in found.stderr
    summary = json.loads(found.stdout)
    assert (summary["rows"], sum(summary["row_errors"].values())) == (201, 2)
    metrics = (tmp_path / "metrics").read_text()
    assert "massart_rows_total 201\n" in metrics
    assert "massart_row_errors_total 2\n" in metrics
    assert 'massart_lag{partition="2"} 0\n' in metrics
    strict = run(url, "-f", tmp_path / "n", "--features", "5", "--strict")
    assert strict.returncode == 2
    assert "kafka:bad, partition 2, offset 100, column 3" in strict.stderr
    assert not (tmp_path / "n").exists()


def test_a_broker_that_cannot_be_reached(tmp_path):
    before = time.monotonic()
    found = run("kafka://127.0.0.1:1,127.0.0.1:2/rows", "-f", tmp_path / "m")
    assert time.monotonic() - before < 10.0
    assert found.returncode == 2
    assert (
        "kafka:rows cannot be reached: no broker has answered within 6 s; tried 127.0.0.1:1,127.0.0.1:2" in found.stderr
    )
    assert len(found.stderr.splitlines()) == 1


def test_a_broker_that_is_gone_for_a_while(broker, rows, tmp_path):
    """It stands still, as behind a broken network, until the training has said so."""
    expected, model = tmp_path / "expected.massart", tmp_path / "m.massart"
    slowly = {"queued_max_messages_kbytes": 200, "fetch_queue_backoff_ms": 2000}  # so that not all is fetched at once
    url = broker.url("rows", **slowly)
    assert run(url, "-f", expected, *KNOWN).returncode == 0
    with start(url, "-f", model, *KNOWN, "--checkpoint-every", "1") as process:
        wait_for((tmp_path / "m.massart.checkpoint").exists, process)
        broker.pause()
        for line in process.stderr:
            if "waiting" in line:
                break
        assert re.search(r"kafka:rows: nothing has come from 127\S+ for 5 s.*; waiting", line)
        broker.go_on()
        rest = process.stderr.read()
    assert re.search(r"kafka:rows: goes on after \d+ s", rest)
    assert process.returncode == 0
    assert model.read_bytes() == expected.read_bytes()


def metrics_at(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics.json", timeout=10) as answer:
        return json.load(answer)


def rows_in(path):
    return json.loads(path.read_text())["rows"] if path.exists() else -1


def committed(broker, group, topic):
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group, "log_level": 2})
    found = consumer.committed([TopicPartition(topic, partition) for partition in range(4)], timeout=10)
    consumer.close()
    return [place.offset for place in found]


def test_following_until_a_signal_and_going_on(broker, tmp_path):
    first, second = (write_rows(tmp_path / f"{seed}.svm", 500, seed=seed) for seed in (1, 2))
    model, metrics = tmp_path / "m.massart", tmp_path / "metrics.json"
    options = [broker.url("follow", group="me"), "--follow", "-f", model, *KNOWN, "--metrics", metrics, "--quiet"]
    broker.ask("follow", 0, file=str(first))
    with start(*options) as process:
        wait_for(lambda: rows_in(metrics) == 500, process)
        broker.ask("follow", 3, file=str(second))
        wait_for(lambda: rows_in(metrics) == 1000, process)
        process.send_signal(signal.SIGTERM)
        words = process.stderr.read()
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped after 1,000 rows; go on with: massart train" in words
    assert not model.exists()
    checkpoint = tmp_path / "m.massart.checkpoint"
    progress = open_model(checkpoint).meta["progress"]
    assert progress["learned"] == 1000
    assert progress["position"][3][3:] == [0, 0, 500, 500, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 500, 500]
    words = massart("inspect", checkpoint).stdout
    assert "1,000 rows read, up to offset 500 of partition 0, offset 0 of partition 1, offset 0 of" in " ".join(
        words.split()
    )
    assert committed(broker, "me", "follow") == [500, 0, 0, 500]
    broker.ask("follow", 1, file=str(first))
    metrics.unlink()
    with start(*options, "--resume") as process:
        wait_for(lambda: rows_in(metrics) == 1500, process)
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert process.returncode == 128 + signal.SIGINT
    # Without --follow the same training comes to its end.
    assert run(*[one for one in options if one != "--follow"], "--resume").returncode == 0
    assert open_model(model).meta["training"]["runs"][0]["learned"] == 1500
    assert not checkpoint.exists()


def test_going_on_reads_as_before_though_the_first_records_are_gone(broker, tmp_path):
    """The mock cluster keeps 5 MB of a partition; what follows the checkpoint shows neither format nor labels."""
    model, metrics, rng = tmp_path / "m.massart", tmp_path / "metrics.json", random.Random(3)  # noqa: S311

    def comment(size):
        return "# " + "".join(rng.choices(string.printable[:90], k=size))

    broker.ask("gone", records=[f"{7 - row % 2} {row % 2 + 1}:1 {comment(6000)}" for row in range(200)])
    with start(broker.url("gone"), "--follow", "-f", model, *KNOWN, "--metrics", metrics, "--quiet") as process:
        wait_for(lambda: rows_in(metrics) == 200, process)
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
    while TopicSource(broker.url("gone")).first_round().begins[0] == 0:
        broker.ask("gone", expires=True, records=[comment(900_000)])
    assert TopicSource(broker.url("gone")).first_round().begins[0] == 200
    found = run(broker.url("gone"), "-f", model, *KNOWN, "--resume")
    assert found.returncode == 0, found.stderr
    assert list(open_model(model).classes) == [6, 7]


def test_following_gives_the_model_of_the_rows_so_far(broker, rows, tmp_path):
    """The rows that are there at the start are learned as without --follow."""
    model, metrics = tmp_path / "m.massart", tmp_path / "metrics.json"
    with start(broker.url("rows"), "--follow", "-f", model, *KNOWN, "--metrics", metrics, "--quiet") as process:
        wait_for(lambda: rows_in(metrics) == 60_000, process)
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
    assert run(broker.url("rows"), "-f", model, *KNOWN, "--resume").returncode == 0
    assert run(rows, "-f", tmp_path / "file.massart", *KNOWN).returncode == 0
    assert learned(model) == learned(tmp_path / "file.massart")


def test_metrics_at_a_port(broker, rows, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with start(broker.url("rows"), "--follow", "-f", tmp_path / "m", *KNOWN, "--metrics", f":{port}") as process:

        def found():
            try:
                known = metrics_at(port)
                return known["rows"] == 60_000 and "0" in known["lag"]  # the broker is asked for it now and then
            except OSError:
                return False

        wait_for(found, process)
        assert metrics_at(port)["lag"]["0"] == 0
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert "massart_rows_total 60000\n" in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_predictions_go_to_a_topic_with_the_places_of_rows(broker, tmp_path, delivery):
    rows, topic = write_rows(tmp_path / "rows.svm", 300), f"answers-{delivery}"
    broker.ask(f"in-{delivery}", 1, file=str(rows), together=3)
    broker.ask(f"in-{delivery}", 1, records=["1 x"])
    out = broker.url(topic, delivery=delivery)
    assert run(broker.url(f"in-{delivery}"), "-f", tmp_path / "m", *KNOWN, "-p", out).returncode == 0
    assert run(rows, "-f", tmp_path / "n", *KNOWN, "-p", tmp_path / "answers").returncode == 0
    expected = (tmp_path / "answers").read_text().split()
    keys = [f"1/{offset}{line}" for offset in range(100) for line in ("", "/2", "/3")]
    assert dict(broker.records(topic)) == dict(zip(keys, expected, strict=True))
    assert len(broker.records(topic)) == 300


def test_predictions_that_a_transaction_had_are_not_sent_again(broker, tmp_path):
    """The mock cluster forgets the offsets of transactions, so the group is told without one here."""
    from confluent_kafka import Consumer, TopicPartition

    broker.ask("done", 0, file=str(write_rows(tmp_path / "rows.svm", 300)), together=3)
    group = Consumer({"bootstrap.servers": broker.address, "group.id": "mine", "log_level": 2})
    group.commit(offsets=[TopicPartition("done", 0, 51, metadata="2")], asynchronous=False)
    group.close()
    options = ["-f", tmp_path / "m", *KNOWN, "-p", broker.url("rest", delivery="exactly-once"), "--resume"]
    assert run(broker.url("done", group="mine"), *options).returncode == 0
    keys = {key for key, _ in broker.records("rest")}
    assert keys == {"0/50/3", *(f"0/{offset}{line}" for offset in range(51, 100) for line in ("", "/2", "/3"))}


def test_predictions_after_a_kill_have_the_same_values(broker, tmp_path):
    for partition in (0, 1):
        broker.ask("again", partition, file=str(write_rows(tmp_path / f"{partition}", 60_000, seed=partition)))
    options = ["-f", tmp_path / "m", *KNOWN, "--quiet", "--checkpoint-every", "1000", "-p", broker.url("repeated")]
    with start(broker.url("again"), *options) as process:
        wait_for((tmp_path / "m.checkpoint").exists, process)
        process.kill()
    assert run(broker.url("again"), *options, "--resume").returncode == 0
    found = broker.records("repeated")
    assert len(set(found)) == len(dict(found))  # a key has one value, however often it comes
    assert len(dict(found)) <= 120_000


def test_predict_reads_a_topic(broker, rows, tmp_path):
    assert run(rows, "-f", tmp_path / "m", *KNOWN).returncode == 0
    answers = [massart("predict", tmp_path / "m", data, "--quiet").stdout for data in (rows, broker.url("rows"))]
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == 60_000


def refused(*arguments):
    found = run(*arguments)
    assert found.returncode == 2
    return found.stderr


def test_what_does_not_go_together_is_refused(broker, rows, tmp_path):
    url, model = broker.url("rows"), tmp_path / "m"
    assert "`--follow` waits for new records of a topic" in refused(rows, "--follow")
    assert "to which `--follow` never comes" in refused(url, "--follow", "--holdout", rows)
    assert "can be read only once, but 2 passes" in refused(url, "--passes", "2")
    assert "metrics :x: give the name of a file, or a port" in refused(url, *KNOWN, "--metrics", ":x")
    assert "exactly once needs rows that come from a topic" in refused(
        rows, "-f", model, "-p", broker.url("out", delivery="exactly-once")
    )
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_of_another_topic_is_refused(broker, tmp_path):
    for topic in ("mine", "yours"):
        broker.ask(topic, file=str(write_rows(tmp_path / "rows.svm", 2000)))
    model, metrics = tmp_path / "m", tmp_path / "metrics.json"
    with start(broker.url("mine"), "--follow", "-f", model, *KNOWN, "--metrics", metrics) as process:
        wait_for(lambda: rows_in(metrics) == 2000, process)
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
    words = refused(broker.url("yours"), "-f", model, *KNOWN, "--resume")
    assert "its data was kafka:mine and is kafka:yours now" in words
    with Broker() as other:
        other.ask("mine", records=["1 1:1", "-1 2:1"])
        words = refused(other.url("mine"), "-f", model, *KNOWN, "--resume")
    assert "kafka:mine holds other data now" in words
