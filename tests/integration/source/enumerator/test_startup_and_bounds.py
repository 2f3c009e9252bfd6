"""Test start and stop offsets on a real broker, without Spark."""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import replace

import pyarrow as pa
import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import InvalidOptionError, MissingOptionError, OffsetError, TopicNotFoundError
from kafka_sql.source.enumerator.splits import plan_batch
from kafka_sql.source.enumerator.starting_offsets import OffsetsRetriever
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.table.table import Column, Table
from tests.batch_read import commit, define_table, offsets, planned_ranges
from tests.topics import Topics

pytestmark = pytest.mark.integration
NOON = 1_700_000_000_000


@pytest.fixture
def ten_records(topics: Topics) -> str:
    """Create a topic with ten records in partition 0, one per second from NOON, and none in partition 1."""
    topic = topics.create(2)
    for i in range(10):
        topics.produce(topic, b"%d" % i, timestamp=NOON + i * 1000)
    return topic


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4()}"


def start(topics: Topics, topic: str, mode: str, **options: str) -> int:
    """Return the start offset of a batch read in partition 0. Partition 1 is empty."""
    ranges = planned_ranges(define_table(topics, topic, scan_startup_mode=mode, **options))
    assert ranges[f"{topic}[1]"] == (0, 0)
    assert ranges[f"{topic}[0]"][1] == 10
    return ranges[f"{topic}[0]"][0]


def test_earliest_and_latest(topics: Topics, ten_records: str) -> None:
    assert start(topics, ten_records, "earliest-offset") == 0
    assert start(topics, ten_records, "latest-offset") == 10
    assert offsets(define_table(topics, ten_records)) == list(range(10))
    assert offsets(define_table(topics, ten_records, scan_startup_mode="latest-offset")) == []


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(NOON), 0),
        (str(NOON + 1), 1),
        (str(NOON + 5000), 5),
        ("2023-11-14T22:13:25Z", 5),
        ("2023-11-14 23:13:25.001+01:00", 6),
        ("2023-11-14T22:13", 0),
        ("2023-11-15", 10),
        ("-1 hour", 10),
        ("-9000 d", 0),
        *((str(n), 0) for n in (-1, -2, -5, -(2**63))),
        (str(NOON + 9001), 10),
        (str(2**63 - 1), 10),
    ],
)
def test_timestamps(topics: Topics, ten_records: str, text: str, expected: int) -> None:
    assert start(topics, ten_records, "timestamp", scan_startup_timestamp__millis=text) == expected


def test_relative_timestamps(topics: Topics) -> None:
    topic, now = topics.create(), int(time.time() * 1000)
    for hours in (3, 2, 1, 0):
        topics.produce(topic, b"", timestamp=now - hours * 3_600_000)
    definition = define_table(topics, topic, scan_startup_mode="timestamp", scan_startup_timestamp__millis="-90 min")
    assert offsets(definition) == [2, 3]


def test_specific_offsets_in_flinks_syntax(topics: Topics, ten_records: str) -> None:
    specific = {"scan_startup_specific__offsets": "partition:0,offset:7;partition:1,offset:0"}
    assert start(topics, ten_records, "specific-offsets", **specific) == 7


def test_specific_offsets_of_several_topics(topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    topics.produce(one, b"a", b"b", b"c")
    topics.produce(two, b"d", b"e", b"f")
    definition = define_table(
        topics,
        f"{one};{two}",
        scan_startup_mode="specific-offsets",
        scan_startup_specific__offsets=f"topic:{one},partition:0,offset:1;topic:{two},partition:0,offset:2",
    )
    assert planned_ranges(definition) == {f"{one}[0]": (1, 3), f"{two}[0]": (2, 3)}


def test_unlisted_partitions_start_at_the_committed_offset_or_by_the_reset_strategy(topics: Topics, group: str) -> None:
    topic = topics.create(3)
    for partition in range(3):
        topics.produce(topic, b"a", b"b", b"c", partition=partition)
    commit(topics, group, {(topic, 1): 2})
    options = {
        "scan_startup_mode": "specific-offsets",
        "scan_startup_specific__offsets": "partition:0,offset:1",
        "properties_group_id": group,
    }
    assert planned_ranges(define_table(topics, topic, **options)) == {
        f"{topic}[0]": (1, 3),
        f"{topic}[1]": (2, 3),
        f"{topic}[2]": (0, 3),
    }
    latest = define_table(topics, topic, **options, properties_auto_offset_reset="latest")
    assert planned_ranges(latest)[f"{topic}[2]"] == (3, 3)
    with pytest.raises(OffsetError, match=rf"has no valid committed offset for {topic}\[2\]"):
        planned_ranges(define_table(topics, topic, **options, properties_auto_offset_reset="none"))


def test_sentinel_offsets(topics: Topics, ten_records: str, group: str) -> None:
    commit(topics, group, {(ten_records, 0): 4})
    for offset, expected in ((-2, 0), (-1, 10), (-3, 4)):
        specific = {"scan_startup_specific__offsets": f"partition:0,offset:{offset}", "properties_group_id": group}
        assert start(topics, ten_records, "specific-offsets", **specific) == expected


def test_group_offsets(topics: Topics, ten_records: str, group: str) -> None:
    commit(topics, group, {(ten_records, 0): 6})
    options = {"properties_group_id": group, "properties_auto_offset_reset": "earliest"}
    assert start(topics, ten_records, "group-offsets", **options) == 6
    assert start(topics, ten_records, "group-offsets", **{**options, "properties_auto_offset_reset": "latest"}) == 6
    definition = define_table(topics, ten_records, scan_startup_mode="group-offsets", properties_group_id=group)
    with pytest.raises(OffsetError) as e:
        planned_ranges(definition)
    assert f"group '{group}' has no valid committed offset for {ten_records}[1]" in str(e.value)
    for option in ("'properties.auto.offset.reset'", "'scan.startup.mode'", "'properties.group.id'"):
        assert option in str(e.value)


def test_the_reset_strategy_applies_without_committed_offsets(topics: Topics, ten_records: str, group: str) -> None:
    for strategy, expected in (("earliest", 0), ("latest", 10)):
        options = {"properties_group_id": group, "properties_auto_offset_reset": strategy}
        assert start(topics, ten_records, "group-offsets", **options) == expected


def test_group_offsets_require_a_group(topics: Topics, ten_records: str) -> None:
    with pytest.raises(MissingOptionError, match=r"option 'properties\.group\.id' is required"):
        planned_ranges(define_table(topics, ten_records, scan_startup_mode="group-offsets"))
    with pytest.raises(MissingOptionError, match=r"option 'properties\.group\.id' is required"):
        planned_ranges(define_table(topics, ten_records, scan_bounded_mode="group-offsets"))


def third_from_the_end(partitions: list[tuple[str, int]], retriever: OffsetsRetriever) -> dict[tuple[str, int], int]:
    """Start three records before the end of each partition."""
    first = retriever.beginning_offsets(partitions)
    return {p: max(first[p], end - 3) for p, end in retriever.end_offsets(partitions).items()}


def by_group_and_time(partitions: list[tuple[str, int]], retriever: OffsetsRetriever) -> dict[tuple[str, int], int]:
    """Start at the later of the committed offset and a timestamp's offset; -2 is the earliest offset."""
    committed = retriever.committed_offsets(partitions)
    timed = retriever.offsets_for_times(dict.fromkeys(partitions, NOON + 3000))
    return {p: max(committed.get(p, -2), timed.get(p, -2)) for p in partitions}


def empty(partitions: list[tuple[str, int]], retriever: OffsetsRetriever) -> dict[tuple[str, int], int]:
    return {}


def test_user_defined_offsets_initializers(topics: Topics, ten_records: str, group: str) -> None:
    def start_and_stop(name: str) -> tuple[int, int]:
        definition = define_table(
            topics,
            ten_records,
            scan_startup_offsets__initializer=f"tests.integration.source.enumerator.test_startup_and_bounds:{name}",
            properties_group_id=group,
        )
        return planned_ranges(definition)[f"{ten_records}[0]"]

    assert start_and_stop("third_from_the_end") == (7, 10)
    assert start_and_stop("by_group_and_time") == (3, 10)
    commit(topics, group, {(ten_records, 0): 5})
    assert start_and_stop("by_group_and_time") == (5, 10)
    with pytest.raises(OffsetError, match=rf"returned an invalid offset for {ten_records}\[0\]: None"):
        start_and_stop("empty")
    with pytest.raises(InvalidOptionError, match="has no callable 'missing'"):
        start_and_stop("missing")
    with pytest.raises(InvalidOptionError, match="module 'no_such_module' cannot be imported on the driver"):
        planned_ranges(define_table(topics, ten_records, scan_startup_offsets__initializer="no_such_module:x"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scan_bounded_mode": "latest-offset"}, (0, 10)),
        ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": str(NOON + 4000)}, (0, 4)),
        ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "2023-11-14T22:13:24.500Z"}, (0, 5)),
        ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "-1 min"}, (0, 10)),
        ({"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:3"}, (0, 3)),
        ({"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:1,offset:0"}, (0, 0)),
        ({"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:-1"}, (0, 10)),
    ],
)
def test_bounded_modes(topics: Topics, ten_records: str, options: dict[str, str], expected: tuple[int, int]) -> None:
    definition = define_table(topics, ten_records, **options)
    assert planned_ranges(definition) == {f"{ten_records}[0]": expected, f"{ten_records}[1]": (0, 0)}
    assert offsets(definition) == list(range(*expected))


def test_bounded_by_group_offsets(topics: Topics, ten_records: str, group: str) -> None:
    commit(topics, group, {(ten_records, 0): 6})
    definition = define_table(topics, ten_records, scan_bounded_mode="group-offsets", properties_group_id=group)
    with pytest.raises(
        OffsetError, match=rf"{ten_records}\[1\] should stop at committed offset. But there is no committed"
    ):
        planned_ranges(definition)
    commit(topics, group, {(ten_records, 1): 0})
    assert offsets(definition) == list(range(6))


def test_empty_ranges_and_starts_after_the_end_read_nothing(topics: Topics, ten_records: str) -> None:
    for begin, end in ((4, 4), (8, 3), (200, 10), (200, 100)):
        definition = define_table(
            topics,
            ten_records,
            scan_startup_mode="specific-offsets",
            scan_startup_specific__offsets=f"partition:0,offset:{begin}",
            scan_bounded_mode="specific-offsets",
            scan_bounded_specific__offsets=f"partition:0,offset:{end}",
        )
        assert offsets(definition) == []


def test_topic_lists_patterns_and_partitions(topics: Topics) -> None:
    name = f"p{uuid.uuid4().hex}"
    for suffix, partitions in (("eu", 2), ("us", 1), ("us-old", 1)):
        topics.create_named(f"{name}.{suffix}", partitions)

    def partitions_of(topic: str | None, **options: str) -> list[str]:
        return [
            partition.removeprefix(f"{name}.") for partition in planned_ranges(define_table(topics, topic, **options))
        ]

    assert partitions_of(f"{name}.us;{name}.eu") == ["eu[0]", "eu[1]", "us[0]"]
    assert partitions_of(None, topic__pattern=rf"{name}\.(eu|us)") == ["eu[0]", "eu[1]", "us[0]"]
    assert partitions_of(None, topic__pattern=rf"{name}\.us.*") == ["us[0]", "us-old[0]"]
    assert partitions_of(None, topic__pattern=name) == []  # does not match the full name
    assert partitions_of(None, scan_partitions=f"{name}.eu:1;{name}.us:0") == ["eu[1]", "us[0]"]
    assert partitions_of(f"{name}.eu", scan_partitions=f"{name}.eu:1") == ["eu[1]"]


def test_patterns_do_not_match_internal_topics(topics: Topics, ten_records: str, group: str) -> None:
    commit(topics, group, {(ten_records, 0): 1})
    assert "__consumer_offsets" in topics.admin.list_topics(timeout=30).topics
    internal = "__consumer_offsets|__transaction_state|no-such"
    assert planned_ranges(define_table(topics, None, topic__pattern=internal)) == {}


def test_a_pattern_without_matches_is_logged(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        assert planned_ranges(define_table(topics, None, topic__pattern="no-such-.*")) == {}
    assert "no topic matches the pattern 'no-such-.*'" in caplog.text


def test_missing_topics_and_partitions_fail_or_are_ignored(topics: Topics, ten_records: str) -> None:
    with pytest.raises(
        TopicNotFoundError, match=f"'{ten_records}-x' does not exist on .* Did you mean '{ten_records}'"
    ):
        planned_ranges(define_table(topics, f"{ten_records};{ten_records}-x"))
    with pytest.raises(TopicNotFoundError, match=rf"do not exist on the Kafka brokers: {ten_records}\[7\]"):
        planned_ranges(define_table(topics, None, scan_partitions=f"{ten_records}:0,7"))
    ignore = {"scan_missing__topics": "ignore"}
    assert list(planned_ranges(define_table(topics, f"{ten_records};{ten_records}-x", **ignore))) == [
        f"{ten_records}[0]",
        f"{ten_records}[1]",
    ]
    assert list(planned_ranges(define_table(topics, None, scan_partitions=f"{ten_records}:0,7", **ignore))) == [
        f"{ten_records}[0]"
    ]


def test_latest_rows_of_a_bounded_upsert_table(topics: Topics) -> None:
    topic = topics.create()
    for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", None), (b"a", b"4")):
        topics.produce(topic, value, key=key)
    table = Table(
        ("t",),
        (Column("k", "STRING", "STRING", nullable=False), Column("v", "STRING", "STRING")),
        {
            "connector": "upsert-kafka",
            "topic": topic,
            "properties.bootstrap.servers": topics.bootstrap,
            "key.format": "raw",
            "value.format": "raw",
            "value.fields-include": "EXCEPT_KEY",
            "scan.bounded.mode": "specific-offsets",
        },
        primary_key=("k",),
    )
    schema = pa.schema([("k", pa.string()), ("v", pa.string())])
    for end, rows in ((2, {"a": "1", "b": "2"}), (3, {"a": "3", "b": "2"}), (4, {"a": "3"}), (5, {"a": "4"})):
        options = {**table.options, "scan.bounded.specific-offsets": f"partition:0,offset:{end}"}
        definition = validate_table(replace(table, options=options))
        (split,) = plan_batch(definition)
        latest = [row for batch in SplitReader(definition, schema).read_remaining(split) for row in batch.to_pylist()]
        assert {row["k"]: row["v"] for row in latest} == rows
        assert len(latest) == len(rows)
