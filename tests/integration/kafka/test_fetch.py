"""Reading a split: it ends at an offset, whatever records there are."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from kafka_sql.errors import FetchError, OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.produce import produce, read_produce
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.split import Split
from tests.topics import Topics
from tests.unit.kafka.direct.record_batches import RecordBatch

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True, params=[{}, {"log_connection_close": "false"}], ids=["direct", "librdkafka"])
def _client(request: pytest.FixtureRequest, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with each client; the direct one does not support the setting, because it has no log of its own."""
    client_config = topics.client
    monkeypatch.setattr(topics, "client", lambda **more: client_config(**request.param, **more))


def values(config: dict[str, str], split: Split) -> list[tuple[int, bytes | None]]:
    return [
        pair for r in read_records(config, split) for pair in zip(r.offsets.tolist(), r.values.to_pylist(), strict=True)
    ]


def single_batch(topics: Topics, topic: str, fields: RecordFields, stop: int = 1) -> Records:
    """Return the first records of a topic, which are one batch."""
    (records,) = read_records(topics.client(), Split(topic, 0, 0, stop), fields=fields)
    return records


def produce_in_transaction(topics: Topics, topic: str, *payloads: bytes, commit: bool) -> None:
    producer = Producer(
        {"bootstrap.servers": topics.bootstrap, "transactional.id": f"{topic}-{commit}", "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for payload in payloads:
        producer.produce(topic, payload)
    producer.flush(30)
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


def test_values_nulls_and_empty_values(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", None, b"", b"ccc")
    assert values(topics.client(), Split(topic, 0, 0, 4)) == [(0, b"a"), (1, None), (2, b""), (3, b"ccc")]
    assert values(topics.client(), Split(topic, 0, 1, 3)) == [(1, None), (2, b"")]


def test_timestamps(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", timestamp=1_700_000_000_123)
    records = single_batch(topics, topic, RecordFields(timestamps=True))
    assert records.timestamps is not None
    assert records.timestamp_types is not None
    assert (records.timestamps.tolist(), records.timestamp_types.tolist()) == ([1_700_000_000_123], [1])
    appended = topics.create(message_timestamp_type="LogAppendTime")
    topics.produce(appended, b"a")
    timestamp_types = single_batch(topics, appended, RecordFields(timestamps=True)).timestamp_types
    assert timestamp_types is not None
    assert timestamp_types.tolist() == [2]


def test_keys(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"v")
    topics.produce(topic, b"v", b"v", key=b"")
    topics.produce(topic, b"v", key=b"kk")
    keys = single_batch(topics, topic, RecordFields(keys=True), 4).keys
    assert keys is not None
    assert keys.to_pylist() == [None, b"", b"", b"kk"]


def test_headers_keep_order_duplicates_nulls_and_names(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", headers=[("k", b"1"), ("l", None), ("k", b""), ("Gr\u00fc\u00dfe", b"\xff\x00")])
    topics.produce(topic, b"b")
    topics.produce(topic, b"c", headers=[("", b"empty")])
    headers = single_batch(topics, topic, RecordFields(headers=True), 3).headers
    assert headers is not None
    assert [[(h["key"], h["value"]) for h in row] for row in headers.to_pylist()] == [
        [("k", b"1"), ("l", None), ("k", b""), ("Gr\u00fc\u00dfe", b"\xff\x00")],
        [],
        [("", b"empty")],
    ]


def test_header_names_that_are_not_utf_8_with_librdkafka(topics: Topics) -> None:
    topic, config = topics.create(), {**topics.client(), "log.connection.close": "false"}
    batch = RecordBatch(0, [(0, 0, None, b"v")], 0, headers=[[(b"\xff", b"1")]]).encode()
    host, port = topics.bootstrap.rsplit(":", 1)
    connection = Connection((host, int(port)), config)
    request, tails = produce(connection, None, [(topic, 0, len(batch))], -1, 10_000)
    response = connection.receive(request, connection.send(request, [batch, *tails]))
    connection.close()
    assert read_produce(response)[topic, 0].code == 0
    assert values(config, Split(topic, 0, 0, 1)) == [(0, b"v")]
    (records,) = read_records(config, Split(topic, 0, 0, 1), RecordFields(headers=True))
    assert records.unreadable is not None
    assert records.unreadable[0].startswith("the name of a header is not valid UTF-8")


def test_leader_epochs(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a")
    epochs = single_batch(topics, topic, RecordFields(leader_epochs=True)).leader_epochs
    assert epochs is not None
    assert epochs.tolist() == [0]


def test_fields_that_are_not_requested_are_not_read(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", key=b"k", headers=[("h", b"1")])
    records = single_batch(topics, topic, RecordFields())
    assert records.values.to_pylist() == [b"a"]
    others = records.keys, records.timestamps, records.timestamp_types, records.headers, records.leader_epochs
    assert others == (None,) * 5


def test_an_empty_split_needs_no_broker() -> None:
    assert values({"bootstrap.servers": "127.0.0.1:1"}, Split("t", 0, 5, 5)) == []


def test_ends_after_control_records_and_aborted_records(topics: Topics) -> None:
    topic = topics.create()
    produce_in_transaction(topics, topic, b"a", b"b", commit=True)  # offsets 0, 1; 2 is the marker
    produce_in_transaction(topics, topic, b"x", b"y", commit=False)  # offsets 3, 4; 5 is the marker
    end = {(topic, 0): 6}
    assert Cluster(topics.client()).latest([(topic, 0)]) == end
    committed = topics.client(isolation_level="read_committed")
    started = time.monotonic()
    assert values(committed, Split(topic, 0, 0, 6)) == [(0, b"a"), (1, b"b")]
    assert values(committed, Split(topic, 0, 2, 6)) == []
    assert values(topics.client(), Split(topic, 0, 0, 6)) == [(0, b"a"), (1, b"b"), (3, b"x"), (4, b"y")]
    assert time.monotonic() - started < 10


def test_ends_inside_a_gap_before_more_records(topics: Topics) -> None:
    topic = topics.create()
    produce_in_transaction(topics, topic, b"x", b"y", commit=False)  # 0, 1, marker 2
    topics.produce(topic, b"later")  # 3
    assert values(topics.client(isolation_level="read_committed"), Split(topic, 0, 0, 2)) == []


def test_an_open_transaction_limits_the_end(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a")
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(30)
    committed = topics.client(isolation_level="read_committed")
    assert Cluster(committed).latest([(topic, 0)]) == {(topic, 0): 1}
    assert values(committed, Split(topic, 0, 0, 1)) == [(0, b"a")]
    assert Cluster(topics.client()).latest([(topic, 0)]) == {(topic, 0): 2}
    producer.abort_transaction(30)


def test_ends_after_compacted_gaps(topics: Topics) -> None:
    topic = topics.create(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.001", max_compaction_lag_ms="100"
    )
    for i in range(50):
        topics.produce(topic, b"%d" % i, key=b"k")
    config = topics.client()
    end = Cluster(config).latest([(topic, 0)])[topic, 0]
    deadline = time.monotonic() + 60
    rest = values(config, Split(topic, 0, 0, end))
    while len(rest) == 50 and time.monotonic() < deadline:
        topics.produce(topic, b"again", key=b"k")  # a new record rolls the segment, so that the cleaner can run
        rest = values(config, Split(topic, 0, 0, end))
    assert len(rest) < 50  # the cleaner has run
    first_ten = values(config, Split(topic, 0, 0, 10))
    while (again := values(config, Split(topic, 0, 0, end))) != rest:  # the cleaner ran between the two reads
        rest, first_ten = again, values(config, Split(topic, 0, 0, 10))
    assert first_ten == [pair for pair in rest if pair[0] < 10]


def test_an_offset_out_of_range_is_an_error_with_the_offset(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a")
    with pytest.raises(OffsetError, match=rf"{topic}\[0\]@7: the offset is out of range"):
        values(topics.client(), Split(topic, 0, 7, 9))


def test_a_missing_end_is_an_error_with_the_time_waited(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a")
    with pytest.raises(FetchError, match=rf"{topic}\[0\]@1: no records arrived for 1 s, .* ends at offset 5"):
        values(topics.client(default_api_timeout_ms="1000"), Split(topic, 0, 0, 5))


def test_a_reader_that_stops_early_releases_everything(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(1000)))
    reader = read_records(topics.client(), Split(topic, 0, 0, 1000))
    next(reader)
    reader.close()  # type: ignore[attr-defined]
    assert len(values(topics.client(), Split(topic, 0, 0, 1000))) == 1000
