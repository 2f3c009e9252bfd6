"""The direct producer: librdkafka reads every record exactly once and in order, whatever fails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.errors import (
    AuthorizationError,
    BrokerUnreachableError,
    DeliveryError,
    RecordTooLargeError,
    TopicNotFoundError,
    WriterFencedError,
)
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.direct.writes.producer_state import ProducerState, open_producer_state
from kafka_sql.kafka.direct.writes.transactional_producer import open_direct_transaction
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from tests.chaos.clusters import cluster_behind_proxy, leader_of
from tests.topics import Topics, grant
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def config(bootstrap: str, **more: str) -> dict[str, str]:
    properties = {key.replace("_", "."): value for key, value in more.items()}
    return to_librdkafka({"bootstrap.servers": bootstrap, **properties})


@contextmanager
def open_state(bootstrap: str, **more: str) -> Iterator[ProducerState]:
    with ExitStack() as stack:
        yield open_producer_state(config(bootstrap, **more), stack)


@contextmanager
def open_producer(bootstrap: str, topic: str, **more: str) -> Iterator[DirectProducer]:
    with open_state(bootstrap, **more) as state, closing(DirectProducer(state, topic, "t")) as producer:
        yield producer


def write(bootstrap: str, topic: str) -> None:
    with open_producer(bootstrap, topic) as producer:
        producer.produce(numbers(0, 1))
        producer.flush()


def numbers(start: int, end: int) -> pa.BinaryArray:
    return pa.array([b"%d" % i for i in range(start, end)], pa.binary())


def read_numbers(topics: Topics, topic: str, count: int, partitions: int = 1) -> dict[int, list[int]]:
    """Read committed records: the numbers of each partition in order."""
    result: dict[int, list[int]] = {p: [] for p in range(partitions)}
    for message in topics.consume(topic, count, partitions, **{"isolation.level": "read_committed"}):
        result[message.partition() or 0].append(int(message.value() or b""))
    return result


def once_and_in_order(partitions: dict[int, list[int]], count: int) -> bool:
    return sorted(n for part in partitions.values() for n in part) == list(range(count)) and all(
        part == sorted(part) for part in partitions.values()
    )


def test_values_keys_and_nulls(topics: Topics) -> None:
    topic = topics.create()
    rows = [(b"a", b"k"), (None, b""), (b"", None), (b"c" * 3000, b"k"), (None, None)]
    began = int(time.time() * 1000)
    with open_producer(topics.bootstrap, topic) as producer:
        values, keys = (pa.array(part, pa.binary()) for part in zip(*rows, strict=True))
        producer.produce(values[:2], keys[:2])
        producer.produce(values[2:], keys[2:])
        producer.produce(values[:0])
        producer.flush()
        assert (producer.sent, producer.sent_bytes, producer.errors) == (5, 3003, 0)
    found = topics.consume(topic, 5)
    assert [(m.value(), m.key()) for m in found] == rows
    assert all(began <= m.timestamp()[1] <= time.time() * 1000 and not m.headers() for m in found)


@pytest.mark.parametrize("options", [{"acks": "1"}, {"enable_idempotence": "false"}])
def test_without_idempotence(topics: Topics, options: dict[str, str]) -> None:
    topic = topics.create()
    with open_producer(topics.bootstrap, topic, batch_size="1000", **options) as producer:
        producer.produce(numbers(0, 5_000))
        producer.flush()
        assert producer.sent == 5_000
    assert read_numbers(topics, topic, 5_000) == {0: list(range(5_000))}


def test_next_epoch(topics: Topics) -> None:
    """The leader accepts an epoch that the producer itself has incremented (KIP-360), and then rejects the old one."""
    topic = topics.create()
    with open_producer(topics.bootstrap, topic) as producer:
        producer.produce(numbers(0, 5))
        producer.flush()
        errors = producer.errors  # the leader of a new partition may not have started yet
        (queue,) = producer._state.queues.values()
        first = queue.producer
        assert first is not None
        next_epoch = first.next_epoch()
        assert next_epoch is not None
        queue.restart(next_epoch)
        producer.produce(numbers(5, 10))
        producer.flush()
        assert (producer.errors, queue.producer) == (errors, next_epoch)
        queue.restart(first)
        producer.produce(numbers(10, 15))
        producer.flush()
        assert producer.errors == errors + 1
        assert queue.producer is not None
        assert queue.producer.id not in (first.id, -1)
    assert read_numbers(topics, topic, 15) == {0: list(range(15))}


def test_partition_by_key_is_that_of_the_java_client(topics: Topics) -> None:
    topic = topics.create(10)
    keys = [b"21", b"foobar", b"a-little-bit-long-string", b"a-little-bit-longer-string", b"abc"]
    with open_producer(topics.bootstrap, topic) as producer:
        producer.produce(pa.array(keys, pa.binary()), pa.array(keys, pa.binary()))
        producer.flush()
    # murmur2 of these keys, from the tests of Kafka's Java client, made positive, modulo the partitions
    murmur2 = [-973932308, -790332482, -985981536, -1486304829, 479470107]
    expected = {key: (hash_ & 0x7FFFFFFF) % 10 for key, hash_ in zip(keys, murmur2, strict=True)}
    assert {m.key(): m.partition() for m in topics.consume(topic, 5, partitions=10)} == expected


def test_without_keys_each_batch_goes_to_the_next_partition(topics: Topics) -> None:
    topic = topics.create(3)
    with open_producer(topics.bootstrap, topic, batch_size="10000") as producer:
        producer.produce(numbers(0, 20_000))
        producer.flush()
    found = read_numbers(topics, topic, 20_000, 3)
    assert once_and_in_order(found, 20_000)
    assert min(map(len, found.values())) > 5_000


def test_given_partitions(topics: Topics) -> None:
    topic = topics.create(3)
    with open_producer(topics.bootstrap, topic) as producer:
        assert producer.partition_count(topic) == 3
        values = pa.array([b"a", b"b", b"c", b"d"], pa.binary())
        producer.produce(values, pa.array([b"21"] * 4, pa.binary()), partitions=np.array([2, 0, -1, 2], np.int32))
        with pytest.raises(DeliveryError, match=rf"Table 't': .*{topic}.*row 6 .*'sink.partitioner' must return one"):
            producer.produce(values, partitions=np.array([0, 1, 3, 0], np.int32))
        producer.flush()
    found = {m.value(): m.partition() for m in topics.consume(topic, 4, 3)}
    assert found == {b"a": 2, b"b": 0, b"c": (-973932308 & 0x7FFFFFFF) % 3, b"d": 2}


def test_many_partitions_and_batch_sizes(topics: Topics) -> None:
    topic = topics.create(200)
    with open_producer(topics.bootstrap, topic, batch_size="2000") as producer:
        for start in range(0, 30_000, 3_000):
            rows = numbers(start, start + 3_000)
            producer.produce(rows, partitions=np.arange(3_000, dtype=np.int32) % 200)
        large = pa.array([b"%d" % 30_000 + b" " * 500_000], pa.binary())
        producer.produce(large, partitions=np.array([7], np.int32))
        producer.flush()
    found = read_numbers(topics, topic, 30_001, 200)
    assert once_and_in_order(found, 30_001)
    assert found[7] == [*range(7, 30_000, 200), 30_000]


def test_record_too_large_for_the_client_or_the_topic(topics: Topics) -> None:
    topic = topics.create(max_message_bytes="10000")
    with (
        open_producer(topics.bootstrap, topic, max_request_size="5000") as producer,
        pytest.raises(
            RecordTooLargeError, match=rf"Table 't': topic '{topic}', row 1 of the task: .*'max.message.bytes'"
        ),
    ):
        producer.produce(pa.array([b"a", b"b" * 5001], pa.binary()))
    with open_producer(topics.bootstrap, topic) as producer:
        producer.produce(pa.array([b"b" * 20_000], pa.binary()))
        with pytest.raises(RecordTooLargeError, match=rf"Table 't': {topic}\[0\]: .* do not count as written"):
            producer.flush()
    topics.consume(topic, 0)


def test_missing_topic_is_not_created(topics: Topics) -> None:
    with (
        pytest.raises(TopicNotFoundError, match=r"Table 't': topic 'absent'.*'sink.topic.create' = 'true'"),
        open_producer(topics.bootstrap, "absent", default_api_timeout_ms="500"),
    ):
        pass
    assert "absent" not in topics.admin.list_topics(timeout=30).topics


def test_unreachable_broker() -> None:
    with (
        pytest.raises(BrokerUnreachableError, match=r"'127\.0\.0\.1:1' .* within 0\.5 s: "),
        open_producer("127.0.0.1:1", "t", default_api_timeout_ms="500"),
    ):
        pass


@pytest.mark.long
def test_user_without_write_access() -> None:
    rules = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with EmbeddedKafka(properties={**rules, "allow.everyone.if.no.acl.found": "true"}) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        resource = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL)
        deny = AclBinding(*resource, "User:ANONYMOUS", "*", AclOperation.WRITE, AclPermissionType.DENY)
        allow_describe = AclBinding(*resource, "User:ANONYMOUS", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW)
        for rule, where in ((deny, f"topic '{topic}'"), (allow_describe, rf"{topic}\[0\]")):
            grant(topics.admin, [rule])
            with pytest.raises(AuthorizationError, match=rf"Table 't': {where}: .*Grant .* WRITE on the topic"):
                write(kafka.bootstrap_servers, topic)


@pytest.mark.long
def test_unacknowledged_records_do_not_count_as_written() -> None:
    with EmbeddedKafka() as kafka:
        topic = Topics(kafka.bootstrap_servers).create()
        with open_producer(kafka.bootstrap_servers, topic, delivery_timeout_ms="3000") as producer:
            producer.produce(numbers(0, 1))
            producer.flush()
            kafka.nodes[0].pause()  # the connection stays open without a response
            producer.produce(numbers(1, 3))
            began = time.monotonic()
            with pytest.raises(DeliveryError, match=rf"{topic}\[0\]: .*[Tt]imed out.* so far: 2\. .* do not count"):
                producer.flush()
            assert time.monotonic() - began < 20


@pytest.mark.long
def test_broker_killed_during_writes(tmp_path: Path) -> None:
    with EmbeddedKafka(data=tmp_path) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create(2)
        restart = Thread(target=kafka.nodes[0].restart)
        with open_producer(kafka.bootstrap_servers, topic, batch_size="3000") as producer:
            for start in range(0, 20_000, 1_000):
                producer.produce(numbers(start, start + 1_000))
                if start == 5_000:
                    kafka.nodes[0].kill()
                    restart.start()
            producer.flush()
            assert producer.errors > 0
        restart.join()
        assert once_and_in_order(read_numbers(topics, topic, 20_000, 2), 20_000)


@pytest.mark.long
def test_broker_killed_before_its_responses_are_read(tmp_path: Path) -> None:
    """After its restart, the broker knows only the last batch of the producer."""
    with EmbeddedKafka(data=tmp_path) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        with open_producer(kafka.bootstrap_servers, topic, batch_size="3000") as producer:
            producer.produce(numbers(0, 1))
            producer.flush()
            producer.produce(numbers(1, 1_000))  # some batches, fewer than the maximum in flight
            assert 2 < producer._state.pending <= 5
            await_end(topics, topic, 1_000 - int(producer._accumulator.cursors[0, 2]))
            kafka.nodes[0].kill()
            kafka.nodes[0].restart()
            producer.produce(numbers(1_000, 2_000))
            producer.flush()
            assert producer.errors > 0
        assert read_numbers(topics, topic, 2_000) == {0: list(range(2_000))}


def await_end(topics: Topics, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "end"})
    wait_until(
        lambda: consumer.get_watermark_offsets(TopicPartition(topic, 0), 30)[1] >= offset, "all rows in the topic"
    )
    consumer.close()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_leaders_killed_during_writes() -> None:
    with EmbeddedKafka(3) as kafka:
        topics, topic = Topics(kafka.bootstrap_servers), "replicated"
        topics.admin.create_topics([NewTopic(topic, 3, 3)])[topic].result(60)
        with open_producer(kafka.bootstrap_servers, topic, batch_size="3000") as producer:
            for start in range(0, 30_000, 1_000):
                rows = numbers(start, start + 1_000)
                producer.produce(rows, pa.array([b"%d" % (i % 7) for i in range(1_000)], pa.binary()))
                if start in (5_000, 15_000):
                    dead = leader_of(kafka, topic)
                    dead.kill()
                if start in (10_000, 20_000):
                    dead.restart()
            producer.flush()
            assert producer.errors > 0
        found = read_numbers(topics, topic, 30_000, 3)
        assert once_and_in_order(found, 30_000)


def test_lost_responses_cause_no_duplicates() -> None:
    with cluster_behind_proxy(1) as (kafka, far, network):
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create(2)
        with open_producer(far, topic, batch_size="3000", request_timeout_ms="2000") as producer:
            for start in range(0, 40_000, 1_000):
                producer.produce(numbers(start, start + 1_000))
                if start % 8_000 == 0:
                    network.stall()  # requests arrive, responses do not
                    producer.produce(numbers(start + 100_000, start + 100_000))
                    network.cut()
                    network.restore()
            producer.flush()
            assert producer.errors > 0
        assert once_and_in_order(read_numbers(topics, topic, 40_000, 2), 40_000)


@pytest.mark.long
def test_added_partitions_are_used_by_the_next_producer() -> None:
    with EmbeddedKafka() as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create(1)
        keys = [b"%d" % i for i in range(1_000)]
        with open_state(kafka.bootstrap_servers) as state:
            for count in (1, 3):
                producer = DirectProducer(state, topic, "t")
                topics.admin.create_partitions([NewPartitions(topic, 3)])[topic].exception(30)
                producer.produce(numbers(0, 1_000), pa.array(keys, pa.binary()))
                kafka.nodes[0].kill()
                kafka.nodes[0].restart()
                producer.flush()  # requests the leaders again
                assert (producer.errors > 0, producer.partition_count(topic)) == (True, count)
                producer.produce(numbers(1_000, 2_000), pa.array(keys, pa.binary()))
                producer.flush()
        found = read_numbers(topics, topic, 4_000, 3)
        assert len(found[0]) > 2_000
        assert min(map(len, found.values())) > 300


def test_recreated_topic(topics: Topics) -> None:
    topic = topics.create(2)
    with open_state(topics.bootstrap) as state:
        for count in (2, 1):
            producer = DirectProducer(state, topic, "t")
            producer.produce(numbers(0, 3), partitions=np.zeros(3, np.int32))
            producer.flush()
            assert read_numbers(topics, topic, 3, count)[0] == [0, 1, 2]
            topics.create_named(topic, 1)


def test_transaction_is_left_open_and_aborted_by_a_later_producer(topics: Topics) -> None:
    topic = topics.create(2)
    client_config = config(topics.bootstrap, transaction_timeout_ms="60000")
    with open_direct_transaction(client_config, f"{topic}-id", topic) as producer:
        producer.produce(numbers(0, 3))
        producer.flush()
        assert len(topics.consume(topic, 3, 2, **{"isolation.level": "read_uncommitted"})) == 3
        with open_direct_transaction(client_config, f"{topic}-id", topic) as later:  # aborts the open transaction
            later.produce(numbers(3, 4))
            later.flush()
        producer.produce(numbers(3, 4))
        with pytest.raises(WriterFencedError, match="Another producer with the same transactional id"):
            producer.flush()
    assert read_numbers(topics, topic, 0, 2) == {0: [], 1: []}


def test_requests_to_the_coordinator_do_not_block_writes(topics: Topics) -> None:
    topic = topics.create(5)
    client_config = config(topics.bootstrap, transaction_timeout_ms="60000", batch_size="2000")
    for turn in range(2):
        with open_direct_transaction(client_config, f"{topic}-{turn}", topic) as producer:
            producer.produce(numbers(0, 20_000))
            producer.flush()
            if turn:  # the first producer may have been faster than the election of leaders
                assert producer.errors == 0


@pytest.mark.parametrize("key", [ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN])
def test_lost_response_of_the_coordinator(topics: Topics, monkeypatch: pytest.MonkeyPatch, key: int) -> None:
    """It is awaited after rows were encoded, and then the request is repeated."""
    topic, receive, lost = topics.create(3), Connection.receive, list[int]()

    def lose_first(connection: Connection, request: Request, number: int, seconds: float | None = None) -> Reader:
        response = receive(connection, request, number, seconds)
        if request.key == key and not lost:
            lost.append(key)
            raise ConnectionError("lost")
        return response

    monkeypatch.setattr(Connection, "receive", lose_first)
    client_config = config(topics.bootstrap, transaction_timeout_ms="60000", batch_size="20000")
    with open_direct_transaction(client_config, f"{topic}-id", topic) as producer:
        for start in range(0, 20_000, 2_000):
            producer.produce(numbers(start, start + 2_000))
        producer.flush()
    assert lost
    commit(client_config, f"{topic}-id")
    assert once_and_in_order(read_numbers(topics, topic, 20_000, 3), 20_000)


@pytest.mark.parametrize("transactional", [False, True])
def test_first_batch_of_a_partition_is_rejected(
    topics: Topics, monkeypatch: pytest.MonkeyPatch, transactional: bool
) -> None:
    """A leader that does not know the producer yet would accept the second batch in its place."""
    topic, send, rejected = topics.create(), Connection.send, list[int]()

    def misdirect_first(connection: Connection, request: Request, parts: Sequence[bytes] = ()) -> int:
        if request.key == ApiKey.PRODUCE and not rejected:
            rejected.append(1)
            encode = request.encode
            request = request._replace(
                encode=lambda *version: encode(*version).replace(topic.encode(), b"?" * len(topic))  # a missing topic
            )
        return send(connection, request, parts)

    monkeypatch.setattr(Connection, "send", misdirect_first)
    client_config = config(topics.bootstrap, transaction_timeout_ms="60000", batch_size="2000")
    with ExitStack() as stack:
        if transactional:
            producer = stack.enter_context(open_direct_transaction(client_config, f"{topic}-id", topic))
        else:
            producer = DirectProducer(open_producer_state(client_config, stack), topic, "t")
        producer.produce(numbers(0, 3_000))
        producer.flush()
        assert (rejected, producer.errors) == ([1], 1)
    if transactional:
        commit(client_config, f"{topic}-id")
    assert read_numbers(topics, topic, 3_000) == {0: list(range(3_000))}


def commit(client_config: dict[str, str], transactional_id: str) -> None:
    with closing(TransactionAdmin(client_config)) as admin:
        description = admin.describe([transactional_id])[transactional_id]
        assert description is not None
        target = EndTxnTarget(transactional_id, description.producer_id, description.producer_epoch)
        assert admin.commit([target]) == {target.transactional_id: 0}


def test_records_of_ten_megabytes(topics: Topics) -> None:
    topic = topics.create(max_message_bytes="11000000")
    with open_producer(topics.bootstrap, topic, max_request_size="10000000") as producer:
        for i in range(5):
            producer.produce(pa.array([b"%d" % i + b" " * 9_900_000, b"%d" % (100 + i)], pa.binary()))
        producer.flush()
    assert read_numbers(topics, topic, 10) == {0: [0, 100, 1, 101, 2, 102, 3, 103, 4, 104]}


@pytest.mark.parametrize("written", [0, 3])
def test_failed_transaction_is_aborted(topics: Topics, written: int) -> None:
    topic = topics.create()
    client_config = config(topics.bootstrap, transaction_timeout_ms="60000")
    with pytest.raises(RecordTooLargeError):
        fail(client_config, topic, written)
    topics.produce(topic, b"9")
    assert read_numbers(topics, topic, 1) == {0: [9]}  # visible only if no earlier transaction is open


def fail(client_config: dict[str, str], topic: str, written: int) -> None:
    with open_direct_transaction(client_config, f"{topic}-id", topic) as producer:
        producer.produce(numbers(0, written))
        if written:
            producer.flush()
        producer.produce(numbers(0, 3))
        producer.produce(pa.array([b"b" * 2_000_000], pa.binary()))
