"""Topics of Kafka as text: addresses, the order of records, where rows come from, and what is refused."""

import sys

import kafka_runs
import numpy as np
import pytest
from kafka_runs import Broker, write_rows

from massart import data
from massart.data.chunk import Position
from massart.data.io.kafka import Address
from massart.data.io.sources import find_sources
from massart.data.io.topic import TopicSource
from massart.data.io.turns import Round, State
from massart.data.reader import Reader
from massart.data.schema import Schema
from massart.errors import InvalidDataError, InvalidParameterError, MissingPackageError, ModelFileError


@pytest.fixture(scope="module")
def broker():
    with Broker() as found:
        yield found


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("kafka:///clicks", "give brokers and a topic"),
        ("kafka://host:9092", "give brokers and a topic"),
        ("kafka://host/a/b", "give brokers and a topic"),
        ("kafka://me:secret@host/a", "give brokers and a topic"),
        ("kafka://host/a?grop=x", "'grop' is not known; there are group"),
        ("kafka://host/a?start=middle", "choose earliest or latest"),
        ("kafka://host/a?delivery=once", "choose at-least-once or exactly-once"),
        ("kafka://host/a?records=0", "give a whole number"),
        ("kafka://host/a?records=-5", "give a whole number"),
        ("kafka://host/a?config=/no/such", "cannot be read"),
    ],
)
def test_addresses_that_are_refused(address, words):
    with pytest.raises(InvalidParameterError, match=words):
        Address.parse(address)


def test_settings_come_from_a_file_and_the_address_has_the_last_word(tmp_path):
    (tmp_path / "client.properties").write_text("# secret\nsasl.username = me\nsasl.password=a=b\n\n")
    found = Address.parse(f"kafka://host/a?config={tmp_path}/client.properties&sasl.username=you")
    assert found.client == {"sasl.username": "you", "sasl.password": "a=b"}
    assert found.name == "kafka:a"


def test_a_setting_that_librdkafka_does_not_know_is_refused():
    with pytest.raises(InvalidParameterError, match=r"no\.such\.setting"):
        data.read("kafka://127.0.0.1:1/rows?no.such.setting=1", features=3)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingPackageError, match=r'pip install "massart\[kafka\]"'):
        data.read("kafka://127.0.0.1:1/rows", features=3)


def order_of(round_):
    """(partition, offset) in the order of a round in which every offset has a record."""
    state, found = round_.settled(State(0, round_.begins)), []
    while state.turn < len(round_.partitions):
        offset = state.following[state.turn]
        found.append((round_.partitions[state.turn], offset))
        state = round_.moved(state, offset + 1)
    return found


def test_partitions_take_turns():
    found = order_of(Round((0, 1, 2), (10, 0, 5), (17, 2, 5), 3))
    assert found == [(0, 10), (0, 11), (0, 12), (1, 0), (1, 1), (0, 13), (0, 14), (0, 15), (0, 16)]


def test_gaps_do_not_move_turns():
    """The turns of a partition whose records 11 and 12 are gone end where they would with them."""
    round_ = Round((0, 1), (10, 0), (20, 4), 3)
    state = round_.moved(round_.settled(State(0, (10, 0))), 13)
    assert state == State(1, (13, 0))
    assert round_.moved(state, 3) == State(0, (13, 3))


def test_all_records_come_once_in_the_order_of_turns(broker, tmp_path):
    rng = np.random.default_rng(7)
    counts = (700, 0, 35, 260)
    for partition, count in enumerate(counts):
        records = [f"{partition}.{offset}" + "x" * int(rng.integers(0, 90)) for offset in range(count)]
        broker.ask("turns", partition, records=records)
    source = TopicSource(broker.url("turns", records=20))
    with source.stream_from(Position()) as stream:
        text = b""
        while piece := stream.piece():
            text += piece
    found = [tuple(map(int, line.rstrip("x").split("."))) for line in text.decode().split()]
    assert found == order_of(Round((0, 1, 2, 3), (0, 0, 0, 0), counts, 20))


def test_buffers_of_partitions_that_wait_are_bounded(broker, tmp_path, monkeypatch):
    """With room for little, the partitions that come too early are paused, and nothing is lost."""
    monkeypatch.setattr("massart.data.io.kafka._LEAST", 20_000)
    monkeypatch.setattr("massart.data.io.kafka._BUFFERED", 20_000)
    for partition in (0, 1):
        broker.ask("much", partition, records=[f"{partition}.{row} " + "y" * 100 for row in range(8000)])
    source = TopicSource(broker.url("much", records=3000))
    paused, text = 0, b""
    with source.stream_from(Position()) as stream:
        while piece := stream.piece():
            text += piece
            paused += any(own.paused for own in stream.records._buffers.values())
    assert paused
    found = [tuple(map(int, line.split(".", 1))) for line in text.decode().split()[::2]]
    assert found == order_of(Round((0, 1), (0, 0), (8000, 8000), 3000))


def test_offsets_without_a_record_are_passed_over(broker):
    """A transaction leaves one behind its records, and the last one is behind the last record."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": broker.address, "transactional.id": "writer", "log_level": 2}
    producer = Producer(settings)
    producer.init_transactions(10.0)
    for first in (0, 3):
        producer.begin_transaction()
        for row in range(first, first + 3):
            producer.produce("gaps", f"{row} 1:1", partition=0)
        producer.commit_transaction(10.0)
    source = TopicSource(broker.url("gaps", records=2))
    assert source.first_round().ends[0] == 8
    with source.stream_from(Position()) as stream:
        text = b""
        while piece := stream.piece():
            text += piece
    assert [line.split()[0] for line in text.decode().splitlines()] == list("012345")


def chunks_of(url, start=Position(), **schema):  # noqa: B008
    reader = Reader(find_sources(url), Schema(**schema))
    return list(reader.chunks(start))


def test_a_topic_is_read_as_the_file_with_its_rows(broker, tmp_path):
    rows = write_rows(tmp_path / "rows.svm", 3000)
    broker.ask("svm", file=str(rows))
    broker.ask("several", file=str(rows), together=7)
    (whole,) = data.read(rows, features=40)
    for topic in ("svm", "several"):
        (chunk,) = data.read(broker.url(topic), features=40)
        assert (chunk.X != whole.X).nnz == 0
        np.testing.assert_array_equal(chunk.y, whole.y)


def test_reading_goes_on_from_every_position(broker, tmp_path, monkeypatch):
    """Blocks end anywhere within records of several lines; what follows is what followed."""
    monkeypatch.setattr("massart.data.formats.text._BLOCK", 5000)
    rows = write_rows(tmp_path / "rows.svm", 400)
    for partition in (0, 2):
        broker.ask("cut", partition, file=str(rows), together=13)
    url = broker.url("cut", records=4)
    chunks = chunks_of(url, features=40)
    assert len(chunks) > 10
    assert len({chunk.end.marks[0] > 0 for chunk in chunks}) == 2  # some end within a record, some do not
    places = [[chunk.places.of(int(line)) for line in chunk.lines] for chunk in chunks]
    assert len({place for own in places for place in own}) == 800
    for number in range(0, len(chunks) - 1, 3):
        rest = chunks_of(url, chunks[number].end, features=40)
        assert [chunk.end for chunk in rest] == [chunk.end for chunk in chunks[number + 1 :]]
        assert [[chunk.places.of(int(line)) for line in chunk.lines] for chunk in rest] == places[number + 1 :]
        assert all((mine.X != own.X).nnz == 0 for mine, own in zip(rest, chunks[number + 1 :], strict=True))


@pytest.mark.parametrize(
    "marks",
    [
        (0,),
        (0, 0, 4, 0, 0),
        (0, 0, 4, 0, 5, 2, 9),
        (0, 9, 4, 0, 0, 2, 9),
        (0, 0, 0, 0, 0, 2, 9),
        (0, 0, 4, "0", 0, 2, 9),
        (0, 0, 4, 0, 0, -2, 9),
        (0, 0, 4, 0, 0, 2**63, 9),
    ],
)
def test_marks_that_do_not_fit_together_are_refused(broker, tmp_path, marks):
    broker.ask("marks", records=["1 1:1", "-1 1:-1"])
    with pytest.raises(ModelFileError, match="do not fit together"):
        chunks_of(broker.url("marks"), Position(0, 10, 1, marks), features=40)


def test_marks_of_another_topic_are_refused(broker, tmp_path):
    broker.ask("other", records=["1 1:1", "-1 1:-1"])
    for marks, words in (
        ((0, 0, 4, 0, 0, 2, 9), "go on at offset 2, but it has 0 to 2 now"),
        ((0, 0, 4, 17, 0, 2, 9), "has no partition 17 now"),
    ):
        with pytest.raises(InvalidDataError, match=words):
            chunks_of(broker.url("other"), Position(0, 10, 1, marks), features=40)


def test_offsets_that_have_expired_are_an_error(broker, tmp_path):
    """The mock cluster keeps 5 MB of a partition."""
    rng = np.random.default_rng(0)
    fill = rng.integers(32, 127, size=(9, 1_000_000), dtype=np.uint8)
    assert broker.ask("old", records=["1 1:1"] * 5) == 5
    for row in fill:
        broker.ask("old", expires=True, records=["1 1:1 # " + row.tobytes().decode("latin-1")])
    with pytest.raises(InvalidDataError, match=r"partition 0: .* go on at offset 2, but it has [1-9]\d* to 14 now"):
        chunks_of(broker.url("old"), Position(0, 10, 1, (0, 0, 1000, 0, 0, 2, 9)), features=40)


def test_poisoned_records_are_named_by_partition_and_offset(broker):
    records = ["1 1:1", "1 2:x", "-1 1:-1\n1 2:y\n-1 1:2", "", "\x00", "-1 3:1"]
    broker.ask("poison", 1, records=records)
    (chunk,) = data.read(broker.url("poison"), format="svmlight", features=3, strict=False)
    assert chunk.y.tolist() == [1, -1, -1, -1]
    assert [str(error).partition(": ")[0] for error in chunk.errors] == [
        "kafka:poison, partition 1, offset 1, column 5",
        "kafka:poison, partition 1, offset 2, line 2, column 5",
        "kafka:poison, partition 1, offset 4, column 1",
    ]
    with pytest.raises(InvalidDataError, match="kafka:poison, partition 1, offset 1, column 5: expected a number"):
        list(data.read(broker.url("poison"), format="svmlight", features=3))


def test_errors_that_are_found_after_parsing_name_the_record(broker):
    broker.ask("crossed", records=["1 |a x:1e30 |b y:1", "-1 |a x:1e99 |b y:1e99", "1 |a x:1 |b y:1"])
    (chunk,) = data.read(broker.url("crossed"), bits=10, crossings=("ab",), strict=False)
    assert [str(error).partition(": ")[0] for error in chunk.errors] == ["kafka:crossed, partition 0, offset 1"]
    assert len(chunk) == 2


def test_csv_needs_its_columns_and_a_quote_stays_in_its_record(broker):
    records = ["yes,1.5,Rome", 'no,2,"Ri\nga"', 'yes,3,"Oslo', "no,4,Oslo", 'yes,5,"a"b"', "yes,6"]
    broker.ask("table", records=records)
    with pytest.raises(InvalidParameterError, match=r"name the columns, in order, .*columns=first,second"):
        data.read(broker.url("table"), format="csv")
    reader = data.read(broker.url("table", columns="click,price,town"), label="click", strict=False)
    (chunk,) = reader
    assert reader.schema.columns == ("price", "town")
    assert chunk.y.tolist() == [1, -1, -1]
    assert [(str(error).partition(": ")[0], "quote" in error.message) for error in chunk.errors] == [
        ("kafka:table, partition 0, offset 2, column click", True),
        ("kafka:table, partition 0, offset 4, column town", True),
        ("kafka:table, partition 0, offset 5", False),
    ]


def test_json_lines_and_vw(broker):
    broker.ask("json", records=['{"y": "no", "age": 3}', '{"y": "yes", "age": 5}\n{"y": "no", "town": "Rome"}', "[1]"])
    (chunk,) = data.read(broker.url("json"), label="y", strict=False)
    assert chunk.y.tolist() == [-1, 1, -1]
    assert str(chunk.errors[0]).startswith("kafka:json, partition 0, offset 2, column 1: expected an object")
    broker.ask("vw", records=["1 |f a b", "-1 |f c"])
    (chunk,) = data.read(broker.url("vw"))
    assert chunk.y.tolist() == [1, -1]


def test_what_cannot_be_read_is_refused(broker):
    broker.ask("svm1", records=["1 1:1", "-1 2:1"])
    for options, words in (
        ({"format": "parquet"}, "records hold lines of svmlight, vw, csv or jsonl"),
        ({}, "the number of columns of a pipe is not known beforehand"),
    ):
        with pytest.raises(InvalidDataError, match=words):
            data.read(broker.url("svm1"), **options)
    with pytest.raises(InvalidParameterError, match="columns are named for CSV"):
        data.read(broker.url("svm1", columns="a,b"), format="svmlight", features=3)
    with pytest.raises(InvalidDataError, match="kafka:no-such-topic does not exist at 127"):
        data.read(broker.url("no-such-topic"), features=3)
    with pytest.raises(InvalidDataError, match="one topic, or standard input, is read at a time"):
        data.read([broker.url("svm1"), broker.url("svm1")], features=3)


def test_nothing_is_left_open(broker):
    broker.ask("svm2", records=["1 1:1", "-1 2:1"] * 50)
    before = kafka_runs.descriptors()
    for _ in range(3):
        assert sum(len(chunk) for chunk in data.read(broker.url("svm2"), features=3)) == 100
    assert kafka_runs.descriptors() <= before + 2
