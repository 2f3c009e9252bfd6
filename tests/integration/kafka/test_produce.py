"""Writing: a task succeeds when all its rows are acknowledged, and fails otherwise."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.errors import AuthorizationError, DeliveryError, TopicNotFoundError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka.producer_clients import open_producer
from tests.topics import Topics, grant

pytestmark = pytest.mark.integration


def config(bootstrap: str, **overrides: str) -> dict[str, str]:
    properties = {key.replace("_", "."): value for key, value in overrides.items()}
    return to_librdkafka({"bootstrap.servers": bootstrap, **properties})


def test_values_keys_nulls_and_timestamps(topics: Topics) -> None:
    topic = topics.create()
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(
            pa.array([b"a", None, b"", b"ccc"], pa.binary()),
            pa.array([b"k", b"", None, b"k"], pa.binary()),
            np.array([1_000, 2_000, 3_000, 4_000], np.int64),
        )
        producer.flush()
        assert producer.sent == 4
    records = [(m.value(), m.key(), m.timestamp()[1]) for m in topics.consume(topic, 4)]
    assert records == [(b"a", b"k", 1_000), (None, b"", 2_000), (b"", None, 3_000), (b"ccc", b"k", 4_000)]


def test_empty_is_not_null(topics: Topics) -> None:
    topic = topics.create()
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array([b"", b""], pa.binary()), pa.array([b"", b""], pa.binary()))
        producer.produce(pa.array([None], pa.binary()), pa.array([b""], pa.binary()))
        producer.flush()
    assert [(m.value(), m.key()) for m in topics.consume(topic, 3)] == [(b"", b""), (b"", b""), (None, b"")]


def test_headers(topics: Topics) -> None:
    topic = topics.create()
    maps = pa.MapArray.from_arrays([0, 2, 2, 3], ["a", "b", "c"], pa.array([b"1", None, b""], pa.binary()))
    list_type = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    entries = [
        [{"key": "k", "value": "1"}, {"key": None, "value": "omitted"}, {"key": "k", "value": None}, None],
        None,
    ]
    lists = pa.array([[], *entries, [{"key": "z", "value": "last"}]], list_type)[1:]
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array([b"0", b"1", b"2"], pa.binary()), headers=maps)
        producer.produce(pa.array([b"1", b"2"], pa.binary()), headers=maps[1:])
        producer.produce(pa.array([b"3", b"4", b"5"], pa.binary()), headers=lists)
        producer.flush()
    assert [m.headers() for m in topics.consume(topic, 8)] == [
        [("a", b"1"), ("b", None)],
        None,
        [("c", b"")],
        None,
        [("c", b"")],
        [("k", b"1"), ("k", None)],
        None,
        [("z", b"last")],
    ]


@pytest.mark.long
def test_headers_survive_a_full_queue(topics: Topics) -> None:
    topic = topics.create()
    small_queue = config(topics.bootstrap, queue_buffering_max_messages="100")
    numbers = [b"%d" % i for i in range(2_000)]
    maps = pa.MapArray.from_arrays(list(range(2_001)), ["n"] * 2_000, pa.array(numbers, pa.binary()))
    with open_producer(small_queue, topic) as producer:
        producer.produce(pa.array(numbers, pa.binary()), headers=maps)
        producer.flush()
    assert [m.headers() for m in topics.consume(topic, 2_000)] == [[("n", n)] for n in numbers]


def test_one_topic_per_row(topics: Topics) -> None:
    first, second = topics.create(), topics.create()
    with open_producer(config(topics.bootstrap)) as producer:
        producer.produce(pa.array([b"a", b"b", b"c"], pa.binary()), topics=pa.array([first, second, first]))
        producer.produce(pa.array([b"d"], pa.binary()), topics=pa.array([second]))
        producer.flush()
    assert [m.value() for m in topics.consume(first, 2)] == [b"a", b"c"]
    assert [m.value() for m in topics.consume(second, 2)] == [b"b", b"d"]


def test_a_slice_of_an_array(topics: Topics) -> None:
    topic = topics.create()
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array([b"a", b"b", b"c", b"d"], pa.binary())[1:3])
        producer.flush()
    assert [m.value() for m in topics.consume(topic, 2)] == [b"b", b"c"]


def test_keys_are_partitioned_as_in_java(topics: Topics) -> None:
    topic = topics.create(10)
    keys = [b"21", b"foobar", b"a-little-bit-long-string", b"a-little-bit-longer-string", b"abc"]
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array(keys, pa.binary()), pa.array(keys, pa.binary()))
        producer.flush()
    # murmur2 of these keys, from the tests of Kafka's Java client, made positive, modulo the partitions
    murmur2 = [-973932308, -790332482, -985981536, -1486304829, 479470107]
    expected = {key: (hash_ & 0x7FFFFFFF) % 10 for key, hash_ in zip(keys, murmur2, strict=True)}
    assert {m.key(): m.partition() for m in topics.consume(topic, 5, partitions=10)} == expected


def test_a_full_queue_waits_and_loses_nothing(topics: Topics) -> None:
    topic = topics.create()
    small_queue = config(topics.bootstrap, queue_buffering_max_messages="100")
    payloads = [b"%d" % i for i in range(2_000)]
    with open_producer(small_queue, topic) as producer:
        producer.produce(pa.array(payloads, pa.binary()))
        producer.flush()
    assert [m.value() for m in topics.consume(topic, 2_000)] == payloads


@pytest.mark.long
def test_rows_are_written_only_when_acknowledged() -> None:
    with EmbeddedKafka() as kafka:
        topic = Topics(kafka.bootstrap_servers).create()
        with open_producer(config(kafka.bootstrap_servers, delivery_timeout_ms="3000"), topic) as producer:
            producer.produce(pa.array([b"before"], pa.binary()))
            producer.flush()
            kafka.nodes[0].pause()  # the connection stays open without responses
            producer.produce(pa.array([b"lost"], pa.binary()))
            started = time.monotonic()
            with pytest.raises(DeliveryError, match=rf"{topic}\[0\]: .*[Tt]imed out.* do not count as written"):
                producer.flush()
            assert time.monotonic() - started < 20


@pytest.mark.long
def test_no_row_is_lost_when_the_broker_is_killed(tmp_path: Path) -> None:
    with EmbeddedKafka(data=tmp_path) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create(2)
        restart = Thread(target=kafka.nodes[0].restart)
        with open_producer(config(kafka.bootstrap_servers, queue_buffering_max_messages="500"), topic) as producer:
            for chunk in range(20):
                producer.produce(pa.array([b"%d" % (chunk * 1000 + i) for i in range(1000)], pa.binary()))
                if chunk == 5:
                    kafka.nodes[0].kill()
                    restart.start()
            producer.flush()
            assert producer.sent == 20_000
            assert producer.errors > 0
        restart.join()
        records = topics.consume(topic, 20_000, 2)  # idempotent: no duplicates, either
    numbers = [(m.partition(), int(m.value() or b"")) for m in records]
    assert sorted(n for _, n in numbers) == list(range(20_000))
    for partition in (0, 1):
        in_partition = [n for p, n in numbers if p == partition]
        assert in_partition == sorted(in_partition)


def test_explicit_partitions(topics: Topics) -> None:
    topic, other_topic = topics.create(3), topics.create(2)
    partitions = np.array([2, 0, -1, 2], np.int32)
    with open_producer(config(topics.bootstrap), topic) as producer:
        assert (producer.partition_count(topic), producer.partition_count(other_topic)) == (3, 2)
        producer.produce(pa.array([b"a", b"b", b"c", b"d"]), pa.array([b"k"] * 4), partitions=partitions)
        producer.produce(
            pa.array([b"e", b"f"]), topics=pa.array([topic, other_topic]), partitions=np.array([1, 1], np.int32)
        )
        producer.flush()
    written = {m.value(): m.partition() for m in topics.consume(topic, 5, 3)}
    assert {written.pop(b"c")} <= {0, 1, 2}
    assert written == {b"a": 2, b"b": 0, b"d": 2, b"e": 1}
    assert [(m.partition(), m.value()) for m in topics.consume(other_topic, 1, 2)] == [(1, b"f")]


def test_a_missing_partition(topics: Topics) -> None:
    topic = topics.create(2)
    with open_producer(config(topics.bootstrap), topic, "t") as producer:
        assert producer.partition_count(topic) == 2
        with pytest.raises(DeliveryError, match=rf"Table 't': .*{topic}.*'sink.partitioner' must return one"):
            producer.produce(pa.array([b"a"]), partitions=np.array([2], np.int32))


def test_a_missing_topic_is_not_created(topics: Topics) -> None:
    with open_producer(config(topics.bootstrap, topic_metadata_propagation_max_ms="500"), "absent", "t") as producer:
        producer.produce(pa.array([b"a"]))
        with pytest.raises(TopicNotFoundError, match=r"Table 't': topic 'absent'.*'sink.topic.create' = 'true'"):
            producer.flush()
    with (
        open_producer(config(topics.bootstrap)) as producer,
        pytest.raises(TopicNotFoundError, match="topic 'absent'"),
    ):
        producer.partition_count("absent")
    assert "absent" not in topics.admin.list_topics(timeout=30).topics


def test_a_user_without_write_permission() -> None:
    rules = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with EmbeddedKafka(properties={**rules, "allow.everyone.if.no.acl.found": "true"}) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        deny = AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            "User:ANONYMOUS",
            "*",
            AclOperation.WRITE,
            AclPermissionType.DENY,
        )
        grant(topics.admin, [deny])
        # raised by produce() if the client knows of the denial by then, else by flush()
        message = rf"Table 't': (topic '{topic}'|{topic}\[0\]).*Grant the user .* WRITE on the topic"

        def write() -> None:
            with open_producer(config(kafka.bootstrap_servers), topic, "t") as producer:
                producer.produce(pa.array([b"a"]))
                producer.flush()

        with pytest.raises(AuthorizationError, match=message):
            write()
