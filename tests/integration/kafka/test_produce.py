"""Writing: a task ends when its rows are acknowledged, and fails when one is not."""

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


def config(bootstrap: str, **more: str) -> dict[str, str]:
    given = {key.replace("_", "."): value for key, value in more.items()}
    return to_librdkafka({"bootstrap.servers": bootstrap, **given})


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
    found = [(m.value(), m.key(), m.timestamp()[1]) for m in topics.take(topic, 4)]
    assert found == [(b"a", b"k", 1_000), (None, b"", 2_000), (b"", None, 3_000), (b"ccc", b"k", 4_000)]


def test_empty_is_not_null(topics: Topics) -> None:
    topic = topics.create()
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array([b"", b""], pa.binary()), pa.array([b"", b""], pa.binary()))
        producer.produce(pa.array([None], pa.binary()), pa.array([b""], pa.binary()))
        producer.flush()
    assert [(m.value(), m.key()) for m in topics.take(topic, 3)] == [(b"", b""), (b"", b""), (None, b"")]


def test_headers(topics: Topics) -> None:
    topic = topics.create()
    maps = pa.MapArray.from_arrays([0, 2, 2, 3], ["a", "b", "c"], pa.array([b"1", None, b""], pa.binary()))
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    entries = [
        [{"key": "k", "value": "1"}, {"key": None, "value": "left out"}, {"key": "k", "value": None}, None],
        None,
    ]
    lists = pa.array([[], *entries, [{"key": "z", "value": "last"}]], kind)[1:]
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array([b"0", b"1", b"2"], pa.binary()), headers=maps)
        producer.produce(pa.array([b"1", b"2"], pa.binary()), headers=maps[1:])
        producer.produce(pa.array([b"3", b"4", b"5"], pa.binary()), headers=lists)
        producer.flush()
    assert [m.headers() for m in topics.take(topic, 8)] == [
        [("a", b"1"), ("b", None)],
        None,
        [("c", b"")],
        None,
        [("c", b"")],
        [("k", b"1"), ("k", None)],
        None,
        [("z", b"last")],
    ]


def test_headers_survive_a_full_queue(topics: Topics) -> None:
    topic = topics.create()
    small = config(topics.bootstrap, queue_buffering_max_messages="100")
    numbers = [b"%d" % i for i in range(2_000)]
    maps = pa.MapArray.from_arrays(list(range(2_001)), ["n"] * 2_000, pa.array(numbers, pa.binary()))
    with open_producer(small, topic) as producer:
        producer.produce(pa.array(numbers, pa.binary()), headers=maps)
        producer.flush()
    assert [m.headers() for m in topics.take(topic, 2_000)] == [[("n", n)] for n in numbers]


def test_each_row_into_its_own_topic(topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    with open_producer(config(topics.bootstrap)) as producer:
        producer.produce(pa.array([b"a", b"b", b"c"], pa.binary()), topics=pa.array([one, two, one]))
        producer.produce(pa.array([b"d"], pa.binary()), topics=pa.array([two]))
        producer.flush()
    assert [m.value() for m in topics.take(one, 2)] == [b"a", b"c"]
    assert [m.value() for m in topics.take(two, 2)] == [b"b", b"d"]


def test_a_slice_of_an_array_is_written_alone(topics: Topics) -> None:
    topic = topics.create()
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array([b"a", b"b", b"c", b"d"], pa.binary())[1:3])
        producer.flush()
    assert [m.value() for m in topics.take(topic, 2)] == [b"b", b"c"]


def test_keys_go_where_javas_partitioner_puts_them(topics: Topics) -> None:
    topic = topics.create(10)
    keys = [b"21", b"foobar", b"a-little-bit-long-string", b"a-little-bit-longer-string", b"abc"]
    with open_producer(config(topics.bootstrap), topic) as producer:
        producer.produce(pa.array(keys, pa.binary()), pa.array(keys, pa.binary()))
        producer.flush()
    # murmur2 of these keys, from the tests of Kafka's Java client, made positive, modulo the partitions
    murmur2 = [-973932308, -790332482, -985981536, -1486304829, 479470107]
    expected = {key: (hash_ & 0x7FFFFFFF) % 10 for key, hash_ in zip(keys, murmur2, strict=True)}
    assert {m.key(): m.partition() for m in topics.take(topic, 5, partitions=10)} == expected


def test_a_full_queue_waits_and_loses_nothing(topics: Topics) -> None:
    topic = topics.create()
    small = config(topics.bootstrap, queue_buffering_max_messages="100")
    payloads = [b"%d" % i for i in range(20_000)]
    with open_producer(small, topic) as producer:
        producer.produce(pa.array(payloads, pa.binary()))
        producer.flush()
    assert [m.value() for m in topics.take(topic, 20_000)] == payloads


def test_nothing_counts_as_written_before_it_is_acknowledged() -> None:
    with EmbeddedKafka() as kafka:
        topic = Topics(kafka.bootstrap_servers).create()
        with open_producer(config(kafka.bootstrap_servers, delivery_timeout_ms="3000"), topic) as producer:
            producer.produce(pa.array([b"before"], pa.binary()))
            producer.flush()
            kafka.nodes[0].pause()  # the connection stays open, and no answer comes
            producer.produce(pa.array([b"lost"], pa.binary()))
            began = time.monotonic()
            with pytest.raises(DeliveryError, match=rf"{topic}\[0\]: .*[Tt]imed out.* do not count as written"):
                producer.flush()
            assert time.monotonic() - began < 20


def test_nothing_is_lost_when_the_broker_is_killed_while_it_is_written_to(tmp_path: Path) -> None:
    with EmbeddedKafka(data=tmp_path) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create(2)
        again = Thread(target=kafka.nodes[0].restart)
        with open_producer(config(kafka.bootstrap_servers, queue_buffering_max_messages="500"), topic) as producer:
            for chunk in range(20):
                producer.produce(pa.array([b"%d" % (chunk * 1000 + i) for i in range(1000)], pa.binary()))
                if chunk == 5:
                    kafka.nodes[0].kill()
                    again.start()
            producer.flush()
            assert producer.sent == 20_000
            assert producer.errors > 0
        again.join()
        found = topics.take(topic, 20_000, 2)  # idempotent: nothing is doubled, either
    numbers = [(m.partition(), int(m.value() or b"")) for m in found]
    assert sorted(n for _, n in numbers) == list(range(20_000))
    for partition in (0, 1):
        own = [n for p, n in numbers if p == partition]
        assert own == sorted(own)


def test_partitions_of_ones_own(topics: Topics) -> None:
    topic, other = topics.create(3), topics.create(2)
    mine = np.array([2, 0, -1, 2], np.int32)
    with open_producer(config(topics.bootstrap), topic) as producer:
        assert (producer.partition_count(topic), producer.partition_count(other)) == (3, 2)
        producer.produce(pa.array([b"a", b"b", b"c", b"d"]), pa.array([b"k"] * 4), partitions=mine)
        producer.produce(pa.array([b"e", b"f"]), topics=pa.array([topic, other]), partitions=np.array([1, 1], np.int32))
        producer.flush()
    murmur2 = {m.value(): m.partition() for m in topics.take(topic, 5, 3)}
    assert {murmur2.pop(b"c")} <= {0, 1, 2}
    assert murmur2 == {b"a": 2, b"b": 0, b"d": 2, b"e": 1}
    assert [(m.partition(), m.value()) for m in topics.take(other, 1, 2)] == [(1, b"f")]


def test_a_partition_that_does_not_exist(topics: Topics) -> None:
    topic = topics.create(2)
    with open_producer(config(topics.bootstrap), topic, "t") as producer:
        assert producer.partition_count(topic) == 2
        with pytest.raises(DeliveryError, match=rf"Table 't': .*{topic}.*'sink.partitioner' must choose one"):
            producer.produce(pa.array([b"a"]), partitions=np.array([2], np.int32))


def test_a_topic_that_does_not_exist_is_not_made(topics: Topics) -> None:
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


def test_a_user_who_may_not_write() -> None:
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
        # told at once where the client knows of the refusal when the row comes, else with the acknowledgements
        refused = rf"Table 't': (topic '{topic}'|{topic}\[0\]).*Grant the user .* WRITE on the topic"

        def write() -> None:
            with open_producer(config(kafka.bootstrap_servers), topic, "t") as producer:
                producer.produce(pa.array([b"a"]))
                producer.flush()

        with pytest.raises(AuthorizationError, match=refused):
            write()
