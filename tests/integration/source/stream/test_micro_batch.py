"""Test micro-batches on a real broker, without Spark: discovery, stop offsets, restarts, data loss."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

import pytest

from kafka_sql.errors import DataLossError, OffsetError, TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.source.enumerator.partitions import Discovery
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from tests.batch_read import StreamingRead, commit, define_table, delete_records, offsets, read, transaction
from tests.topics import Topics

pytestmark = pytest.mark.integration
NOW = {"scan_topic__partition__discovery_interval": "1 ms"}
IGNORE = {"scan_missing__topics": "ignore"}


def recreate(topics: Topics, topic: str, *values: bytes) -> None:
    topics.create_named(topic)
    topics.produce(topic, *values)


def run_forever(query: StreamingRead) -> None:
    while True:
        query.batch()


def eventually(batch: Callable[[], list[bytes | None]], expected: list[bytes | None]) -> None:
    """Run batches until a new partition or topic is known to all brokers."""
    values: list[bytes | None] = []
    for _ in range(1000):
        values += batch()
        if len(values) >= len(expected):
            break
    assert values == expected


def test_new_partitions_are_read_from_the_earliest_offset(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"old")
    query = StreamingRead(define_table(topics, topic, scan_startup_mode="latest-offset", **NOW))
    assert query.values() == []
    topics.add_partitions(topic, 2)
    topics.produce(topic, b"first", b"second", partition=1)
    eventually(query.values, [b"first", b"second"])
    topics.produce(topic, b"third", partition=1)
    assert query.values() == [b"third"]


def test_new_topics_are_read_from_the_earliest_offset(topics: Topics) -> None:
    name = f"n{uuid.uuid4().hex}"
    topics.create_named(f"{name}.a")
    pattern = StreamingRead(
        define_table(topics, None, topic__pattern=rf"{name}\..", scan_startup_mode="latest-offset", **NOW)
    )
    listed = StreamingRead(
        define_table(topics, f"{name}.a;{name}.b", scan_startup_mode="latest-offset", **NOW, **IGNORE)
    )
    assert (pattern.values(), listed.values()) == ([], [])
    topics.create_named(f"{name}.b")
    topics.produce(f"{name}.b", b"1", b"2")
    eventually(pattern.values, [b"1", b"2"])
    eventually(listed.values, [b"1", b"2"])


def test_discovery_interval(topics: Topics) -> None:
    topic, time = topics.create(), [0.0]
    tables = {
        "interval": define_table(topics, topic, scan_topic__partition__discovery_interval="5 min"),
        "never": define_table(topics, topic, scan_topic__partition__discovery_interval="0"),
        "bounded": define_table(topics, topic, scan_bounded_mode="latest-offset", **NOW),
    }
    cluster = Cluster(tables["never"].client_config)
    discoveries = {name: Discovery(definition, lambda: time[0]) for name, definition in tables.items()}
    counts = {name: [len(discovery.partitions(cluster))] for name, discovery in discoveries.items()}
    topics.add_partitions(topic, 3)
    for time[0] in (1, 299.9, 300, 301):
        for name, discovery in discoveries.items():
            counts[name].append(len(discovery.partitions(cluster)))
    assert counts == {"interval": [1, 1, 1, 3, 3], "never": [1] * 5, "bounded": [1] * 5}


def test_deleted_topics_fail_or_are_ignored(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    remaining, deleted = topics.create(), topics.create()
    topics.produce(remaining, b"a")
    topics.produce(deleted, b"b", b"c")
    query = StreamingRead(define_table(topics, f"{remaining};{deleted}"))
    assert query.values() == [b"a", b"b", b"c"]
    checkpoint = query.checkpoint
    topics.admin.delete_topics([deleted])[deleted].result(30)
    with pytest.raises(
        OffsetError, match=rf"{deleted}\[0\]@2: .* the partition no longer exists. .*'scan.missing-topics'"
    ):
        run_forever(query)  # until the brokers have deleted the topic
    with pytest.raises(TopicNotFoundError, match=f"Topic '{deleted}' does not exist"):
        StreamingRead(query.definition, checkpoint).batch()
    ignoring = query.restart(**IGNORE)
    topics.produce(remaining, b"d")
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        assert ignoring.values() == [b"d"]
    assert f"{deleted}[0] no longer exist" in caplog.text
    recreate(topics, deleted, b"new")
    eventually(ignoring.restart(**NOW).values, [b"new"])


def test_recreated_topics_fail_or_are_read_from_the_earliest_offset(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b", b"c")
    query = StreamingRead(define_table(topics, topic))
    assert query.values() == [b"a", b"b", b"c"]
    recreate(topics, topic, b"new")
    with pytest.raises(
        OffsetError, match=rf"{topic}\[0\]@3: .* the partition ends at 1. The topic was deleted or recreated"
    ):
        query.restart().batch()
    ignoring = query.restart(**IGNORE)
    assert ignoring.values() == [b"new"]
    topics.produce(topic, b"newer")
    assert ignoring.values() == [b"newer"]


def test_recreated_topics_are_detected_by_their_id(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b", b"c")
    query = StreamingRead(define_table(topics, topic))
    assert query.values() == [b"a", b"b", b"c"]
    recreate(topics, topic, *(b"%d" % i for i in range(3)))
    ignoring = query.restart(**IGNORE)
    with pytest.raises(OffsetError, match=rf"{topic}\[0\]@3: .* the topic has another id. The topic was"):
        query.restart().batch()  # it ends at the checkpoint's offset
    topics.produce(topic, b"3")
    with pytest.raises(OffsetError, match="the topic has another id"):
        query.restart().batch()
    assert ignoring.values() == [b"0", b"1", b"2", b"3"]
    topics.produce(topic, b"4")
    assert ignoring.values() == [b"4"]
    assert ignoring.restart().values() == []


def test_a_repeated_batch_is_not_read_from_a_recreated_topic(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b", b"c")
    definition = define_table(topics, topic)
    first = MicroBatchStream(definition)
    start = first.initial_offset()
    end = first.latest_offset(start, is_limited=True)
    assert len(MicroBatchStream(definition).plan_splits(start, end)) == 1
    recreate(topics, topic, b"x", b"y", b"z")
    with pytest.raises(OffsetError, match="the topic has another id"):
        MicroBatchStream(definition).plan_splits(start, end)


def test_topics_added_at_a_restart_are_read_from_the_earliest_offset(topics: Topics) -> None:
    name = f"c{uuid.uuid4().hex}"
    for suffix in ("a", "b"):
        topics.create_named(f"{name}.{suffix}")
        topics.produce(f"{name}.{suffix}", suffix.encode())
    query = StreamingRead(define_table(topics, f"{name}.a"))
    assert query.values() == [b"a"]
    assert query.restart(topic=f"{name}.a;{name}.b", scan_startup_mode="latest-offset").values() == [b"b"]
    assert query.restart(topic="", topic__pattern=rf"{name}\..").values() == [b"b"]


def test_topics_removed_at_a_restart_fail_or_are_ignored(topics: Topics) -> None:
    one, two, other = topics.create(), topics.create(), topics.create()
    topics.produce(one, b"1")
    query = StreamingRead(define_table(topics, f"{one};{two}"))
    assert query.values() == [b"1"]
    topics.produce(two, b"2")
    with pytest.raises(OffsetError, match=rf"has offsets of '{one}', but the table reads '{two}'"):
        query.restart(topic=two).batch()
    with pytest.raises(OffsetError, match=f"the table reads topics that match the pattern '{two}'"):
        query.restart(topic="", topic__pattern=two).batch()
    assert query.restart(topic=two, **IGNORE).values() == [b"2"]
    with pytest.raises(
        OffsetError, match=f"has offsets of '{one}, {two}'"
    ):  # no common partition: the checkpoint of another query
        query.restart(topic=other, **IGNORE).batch()


def test_scan_partitions_changed_at_a_restart(topics: Topics) -> None:
    topic = topics.create(3)
    for partition in range(3):
        topics.produce(topic, b"%d" % partition, partition=partition)
    query = StreamingRead(define_table(topics, None, scan_partitions=f"{topic}:0,1"))
    assert query.values() == [b"0", b"1"]
    assert query.restart(scan_partitions=f"{topic}:0,1,2").values() == [b"2"]
    with pytest.raises(
        OffsetError,
        match=rf"has offsets of {topic}\[1\], but the table reads the partitions of option 'scan.partitions'",
    ):
        query.restart(scan_partitions=f"{topic}:0,2").batch()
    assert query.restart(scan_partitions=f"{topic}:0,2", **IGNORE).values() == [b"2"]


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ({"scan_bounded_mode": "latest-offset"}, [b"a", b"b", b"c"]),
        (
            {"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:2"},
            [b"a", b"b"],
        ),
        ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "2000"}, [b"a"]),
        ({"scan_bounded_mode": "group-offsets"}, [b"a", b"b"]),
    ],
)
def test_bounded_streams_end_at_their_stop_offsets(
    topics: Topics, bound: dict[str, str], expected: list[bytes]
) -> None:
    topic, group = topics.create(2), f"g-{uuid.uuid4()}"
    for i, value in enumerate((b"a", b"b", b"c"), 1):
        topics.produce(topic, value, timestamp=i * 1000)
    commit(topics, group, {(topic, 0): 2, (topic, 1): 0})
    query = StreamingRead(define_table(topics, topic, properties_group_id=group, **bound, **NOW))
    values = query.values()
    topics.produce(topic, b"later", b"too late")
    topics.add_partitions(topic, 3)
    topics.produce(topic, b"elsewhere", partition=2)
    assert (values, query.values(), query.values()) == (expected, [], [])


def test_bounded_streams_keep_their_end_with_limits_and_restarts(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(10)))
    bounded = {"scan_bounded_mode": "latest-offset", "scan_max__offsets__per__trigger": "3"}
    query, values = StreamingRead(define_table(topics, topic, **bounded)), []
    for size in (3, 3, 3, 1, 0):
        batch = query.values()
        assert len(batch) == size
        values += batch
        if len(values) < 10:
            topics.produce(topic, b"later")
            query = query.restart()
    assert values == [b"%d" % i for i in range(10)]
    assert query.restart().values() == [b"later"] * 3  # after its end, a restart resolves a new end


def test_bounded_streams_wait_for_ends_that_do_not_exist_yet(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b")
    bounded = {"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:4"}
    query = StreamingRead(define_table(topics, topic, **bounded))
    assert (query.values(), query.values()) == ([b"a", b"b"], [])
    topics.produce(topic, b"c", b"d", b"e")
    assert (query.values(), query.values()) == ([b"c", b"d"], [])


def test_min_offsets_wait_for_the_maximum_delay(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a")
    min_offsets = {"scan_min__offsets__per__trigger": "3"}
    long_delay = StreamingRead(define_table(topics, topic, **min_offsets, scan_max__trigger__delay="1 h"))
    short_delay = StreamingRead(define_table(topics, topic, **min_offsets, scan_max__trigger__delay="1 ms"))
    assert (long_delay.values(), short_delay.values()) == ([b"a"], [b"a"])
    topics.produce(topic, b"b")
    assert long_delay.values() == []
    eventually(short_delay.values, [b"b"])
    topics.produce(topic, b"c", b"d")
    assert long_delay.values() == [b"b", b"c", b"d"]


def test_empty_ranges_and_starts_after_the_end(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(5)))
    for start, end in ((2, 2), (4, 2), (9, 5), (9, 7)):
        definition = define_table(
            topics,
            topic,
            scan_startup_mode="specific-offsets",
            scan_startup_specific__offsets=f"partition:0,offset:{start}",
            scan_bounded_mode="specific-offsets",
            scan_bounded_specific__offsets=f"partition:0,offset:{end}",
        )
        query = StreamingRead(definition)
        assert (query.values(), query.values()) == ([], [])


def test_starts_after_the_log_end_are_reset_as_in_flink(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b")
    after_end = {"scan_startup_mode": "specific-offsets", "scan_startup_specific__offsets": "partition:0,offset:3"}
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        assert StreamingRead(define_table(topics, topic, **after_end)).values() == [b"a", b"b"]
    assert f"{topic}[0]@3 (the log ends at 2)" in caplog.text
    assert StreamingRead(define_table(topics, topic, **after_end, properties_auto_offset_reset="latest")).values() == []
    with pytest.raises(OffsetError, match="no offset reset strategy"):
        StreamingRead(define_table(topics, topic, **after_end, properties_auto_offset_reset="none")).batch()
    at_end = {**after_end, "scan_startup_specific__offsets": "partition:0,offset:2"}
    assert StreamingRead(define_table(topics, topic, **at_end)).values() == []


READ_COMMITTED = {"properties_isolation_level": "read_committed"}


def test_aborted_records_are_skipped_and_open_transactions_limit_the_read(topics: Topics) -> None:
    topic = topics.create()
    transaction(topics, topic, b"a", end="commit")  # offset 0, marker 1
    transaction(topics, topic, b"x", end="abort")  # offset 2, marker 3
    open_transaction = transaction(topics, topic, b"b", b"c", end="open")  # offsets 4, 5
    topics.produce(topic, b"d")  # offset 6
    committed = define_table(topics, topic, **READ_COMMITTED)
    query, uncommitted = StreamingRead(committed), StreamingRead(define_table(topics, topic))
    assert query.values() == [b"a"]
    assert read(committed) == [((topic, 0, 0), b"a")]
    assert uncommitted.values() == [b"a", b"x", b"b", b"c", b"d"]
    # after the last stable offset
    assert uncommitted.restart(properties_isolation_level="read_committed").values() == []
    open_transaction.commit_transaction(30)  # marker 7, written asynchronously
    eventually(query.values, [b"b", b"c", b"d"])
    assert offsets(committed) == [0, 4, 5, 6]
    assert offsets(define_table(topics, topic)) == [0, 2, 4, 5, 6]


def test_bounded_batches_wait_for_ends_that_do_not_exist_yet(topics: Topics) -> None:
    from threading import Timer

    topic = topics.create()
    topics.produce(topic, b"a")
    bounded = {"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:3"}
    later = Timer(1.5, topics.produce, (topic, b"b", b"c", b"d"))
    later.start()
    # longer than the timeout without progress for existing offsets
    waiting = define_table(topics, topic, **bounded, properties_default_api_timeout_ms="1000")
    assert [value for _, value in read(waiting)] == [b"a", b"b", b"c"]
    later.join()


def test_removed_records_are_data_loss(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    topic = topics.create(2)
    topics.produce(topic, *(b"%d" % i for i in range(6)))
    topics.produce(topic, b"x", partition=1)
    query = StreamingRead(define_table(topics, topic))
    assert len(query.values()) == 7
    topics.produce(topic, b"6", b"7", b"8", b"9")
    delete_records(topics, topic, 8)
    with pytest.raises(DataLossError) as e:
        query.batch()
    assert f"{topic}[0]@6: the earliest available offset is 8, 2 offsets are lost." in str(e.value)
    assert f"{topic}[1]" not in str(e.value)
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        assert query.restart(scan_fail__on__data__loss="false").values() == [b"8", b"9"]
    assert f"{topic}[0]@6: the earliest available offset is 8, 2 offsets are lost." in caplog.text


def test_batch_reads_of_removed_records(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(6)))
    delete_records(topics, topic, 4)
    from_removed = {"scan_startup_mode": "specific-offsets", "scan_startup_specific__offsets": "partition:0,offset:1"}
    with pytest.raises(DataLossError, match=r"@1: the earliest available offset is 4, 3 offsets are lost"):
        read(define_table(topics, topic, **from_removed))
    continuing = {**from_removed, "scan_fail__on__data__loss": "false"}
    assert offsets(define_table(topics, topic, **continuing)) == [4, 5]
    bounded = {"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:3"}
    with pytest.raises(DataLossError, match=r"2 offsets are lost"):  # only those in the range count
        read(define_table(topics, topic, **from_removed, **bounded))
    assert offsets(define_table(topics, topic, **continuing, **bounded)) == []
    assert offsets(define_table(topics, topic)) == [4, 5]  # no loss from the earliest offset


def test_records_removed_while_a_task_reads_are_data_loss(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    from kafka_sql.source.enumerator.splits import plan_batch
    from tests.batch_read import records

    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(6)))
    definition = define_table(topics, topic)
    splits = plan_batch(definition)
    delete_records(topics, topic, 4)
    with pytest.raises(DataLossError, match=rf"{topic}\[0\]@0: the earliest available offset is 4, 4 offsets"):
        records(definition, splits)
    continuing = define_table(topics, topic, scan_fail__on__data__loss="false")
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        assert [location[2] for location, _ in records(continuing, splits)] == [4, 5]
    assert "4 offsets are lost" in caplog.text


def test_compaction_is_not_data_loss(topics: Topics) -> None:
    topic = topics.create(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.001", max_compaction_lag_ms="100"
    )
    topics.produce(topic, *(b"%d" % i for i in range(20)), key=b"k")
    from_five = {"scan_startup_mode": "specific-offsets", "scan_startup_specific__offsets": "partition:0,offset:5"}
    all_records, definition = define_table(topics, topic), define_table(topics, topic, **from_five)
    while 5 in offsets(definition):
        topics.produce(topic, b"again", key=b"k")  # a new record rolls the segment, so that it can be compacted
    before, from_five_on, after = (offsets(table) for table in (all_records, definition, all_records))
    while before != after:  # compaction ran between the reads
        before, from_five_on, after = (offsets(table) for table in (all_records, definition, all_records))
    assert from_five_on == [offset for offset in before if offset >= 5]
