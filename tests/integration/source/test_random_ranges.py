"""Test reads of random topics and ranges against Kafka's consumer."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kafka_sql.definition import Definition
from kafka_sql.kafka.topic_partition import Offsets
from tests.batch_read import RecordLocation, StreamingRead, commit, define_table, delete_records, planned_ranges, read
from tests.spark_versions import needs_limits
from tests.topics import Topics

pytestmark = pytest.mark.integration
PARTITIONS = 2
START = 1_700_000_000_000
Record = tuple[RecordLocation, bytes | None]
Step = tuple[str, int, int]  # action, partition, count


@dataclass(frozen=True)
class Log:
    """A topic's content and the range to read.

    Attributes:
        steps: non-transactional records, committed or aborted transactions, removals of the oldest records.
        begin, end: fractions of each partition's log; more than 1 is after its end.
    """

    steps: list[Step]
    begin: list[float]
    end: list[float]


class Writer:
    """Writes the steps of several topics."""

    def __init__(self, topics: Topics) -> None:
        """Create the producers."""
        config = {"bootstrap.servers": topics.bootstrap, "log_level": 0, "linger.ms": 0}
        self._topics = topics
        self._producer = Producer(config)
        self._transactional_producer = Producer({**config, "transactional.id": f"properties-{uuid.uuid4()}"})
        self._transactional_producer.init_transactions(60)

    def fill(self, steps: dict[str, list[Step]]) -> None:
        """Execute the steps of each topic. A transaction contains the records of all topics with the same step."""
        for step in range(max(map(len, steps.values()))):
            turn = [(topic, *topic_steps[step]) for topic, topic_steps in steps.items() if step < len(topic_steps)]
            for action in ("put", "commit", "abort"):
                self._write(step, action, [(topic, p, count) for topic, other, p, count in turn if other == action])
            self._remove([(topic, p, count) for topic, action, p, count in turn if action == "remove"])

    def _write(self, step: int, action: str, turn: list[tuple[str, int, int]]) -> None:
        if not turn:
            return
        producer = self._producer if action == "put" else self._transactional_producer
        if action != "put":
            producer.begin_transaction()
        for topic, partition, count in turn:
            for i in range(count):
                value = b"%d-%d" % (step, i) if i % 5 else None
                producer.produce(topic, value, b"%d" % (i % 3), partition, timestamp=START + step * 1000 + i)
        assert producer.flush(60) == 0
        if action == "commit":
            producer.commit_transaction(60)
        elif action == "abort":
            producer.abort_transaction(60)

    def _remove(self, turn: list[tuple[str, int, int]]) -> None:
        for topic, partition, count in turn:
            _, end = ends(self._topics, topic)[partition]
            delete_records(self._topics, topic, min(count, end), partition)


@contextmanager
def consumer(topics: Topics, isolation: str) -> Iterator[Consumer]:
    kafka_consumer = Consumer(
        {
            "bootstrap.servers": topics.bootstrap,
            "group.id": "oracle",
            "enable.partition.eof": "true",
            "isolation.level": isolation,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
    )
    yield kafka_consumer
    kafka_consumer.close()


def ends(topics: Topics, topic: str) -> list[tuple[int, int]]:
    """Return each partition's first offset and end offset."""
    with consumer(topics, "read_uncommitted") as kafka_consumer:
        return [kafka_consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30) for p in range(PARTITIONS)]


def oracle(topics: Topics, names: Iterable[str], isolation: str) -> list[Record]:
    """Read all records of topics with Kafka's consumer."""
    found: list[Record] = []
    remaining = {(topic, p) for topic in names for p in range(PARTITIONS)}
    with consumer(topics, isolation) as kafka_consumer:
        kafka_consumer.assign([TopicPartition(t, p, OFFSET_BEGINNING) for t, p in remaining])
        while remaining:
            message = kafka_consumer.poll(30)
            assert message is not None
            error, partition = message.error(), (message.topic() or "", message.partition() or 0)
            if error is None:
                found.append(((*partition, message.offset() or 0), message.value()))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                remaining.discard(partition)
    return sorted(found)


def in_range(records: list[Record], starts: Offsets, stops: Offsets) -> list[Record]:
    return [r for r in records if starts[r[0][:2]] <= r[0][2] < stops[r[0][:2]]]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "commit", "abort", "remove")),
        st.integers(0, PARTITIONS - 1),
        st.integers(1, 12),
    ),
    max_size=6,
)
FRACTIONS = st.lists(st.floats(0, 1.2), min_size=PARTITIONS, max_size=PARTITIONS)
ISOLATION = st.sampled_from(("read_committed", "read_uncommitted"))


def offsets_at(fractions: list[float], limits: list[tuple[int, int]]) -> list[int]:
    """Return the offsets at fractions of each partition's log; a fraction above 1 is after its end."""
    return [low + round(fraction * (high - low)) for fraction, (low, high) in zip(fractions, limits, strict=True)]


def specific(offsets: Offsets) -> str:
    return ";".join(f"topic:{t},partition:{p},offset:{at}" for (t, p), at in offsets.items())


def read_stream(definition: Definition, restart: bool) -> list[Record]:
    """Read a table as a stream in small batches, optionally restarting after each batch."""
    query, found = StreamingRead(definition), []
    for _ in range(200):
        before = query.checkpoint
        found += query.batch()
        if query.checkpoint == before:
            return sorted(found)
        query = query.restart() if restart else query
    raise AssertionError("the stream does not end")


def check(topics: Topics, logs: dict[str, Log], isolation: str, restart: bool) -> None:
    """Check reads of the topics' ranges in one query, and of all their records."""
    starts: Offsets = {}
    stops: Offsets = {}
    for topic, log in logs.items():
        limits = ends(topics, topic)
        starts |= {(topic, p): at for p, at in enumerate(offsets_at(log.begin, limits))}
        stops |= {(topic, p): min(at, limits[p][1]) for p, at in enumerate(offsets_at(log.end, limits))}
    everything, names = oracle(topics, logs, isolation), ";".join(logs)
    scan_options = {"properties_isolation_level": isolation, "scan_max__offsets__per__trigger": str(7 * len(logs))}
    bounded = {
        "scan_bounded_mode": "specific-offsets",
        "scan_bounded_specific__offsets": specific(stops),
    }
    begins = {"scan_startup_mode": "specific-offsets", "scan_startup_specific__offsets": specific(starts)}
    rows = in_range(everything, starts, stops)
    assert read(define_table(topics, names, **begins, **bounded, **scan_options)) == rows
    assert read_stream(define_table(topics, names, **begins, **bounded, **scan_options), restart) == rows
    # all records
    assert read(define_table(topics, names, **scan_options)) == everything
    assert (
        read_stream(define_table(topics, names, scan_bounded_mode="latest-offset", **scan_options), restart)
        == everything
    )


def check_by_time(topics: Topics, names: Collection[str], isolation: str, begin: float, end: float) -> None:
    """Check reads between timestamps, whose offsets the oracle looks up with Kafka's consumer."""
    first, last = (START + round(fraction * 7000) for fraction in (begin, end))
    starts, stops = ({}, {})
    with consumer(topics, isolation) as kafka_consumer:
        for at, offsets in ((first, starts), (last, stops)):
            timestamps = [TopicPartition(t, p, at) for t in names for p in range(PARTITIONS)]
            found = kafka_consumer.offsets_for_times(timestamps, timeout=30)
            offsets |= {(tp.topic, tp.partition): 1 << 62 if tp.offset < 0 else tp.offset for tp in found}
    definition = define_table(
        topics,
        ";".join(names),
        properties_isolation_level=isolation,
        scan_startup_mode="timestamp",
        scan_startup_timestamp__millis=str(first),
        scan_bounded_mode="timestamp",
        scan_bounded_timestamp__millis=str(last),
    )
    assert read(definition) == in_range(oracle(topics, names, isolation), starts, stops), planned_ranges(definition)


@pytest.fixture(scope="module")
def writer(kafka: object) -> Writer:
    return Writer(Topics(kafka.bootstrap_servers))  # type: ignore[attr-defined]


def with_random_topics(examples: int, at_once: int) -> object:
    """Generate examples with several topics each: a query on many topics is hardly slower than on one."""

    def decorated(test: Any) -> Any:
        logs = st.lists(st.builds(Log, STEPS, FRACTIONS, FRACTIONS), min_size=at_once, max_size=at_once)
        return settings(
            max_examples=examples,
            deadline=None,
            phases=(Phase.generate,),  # shrinking is not worth the time
            suppress_health_check=list(HealthCheck),
        )(given(logs=logs, isolation=ISOLATION, restart=st.booleans())(test))

    return decorated


def check_all_ways(topics: Topics, writer: Writer, logs: list[Log], isolation: str, restart: bool) -> None:
    named = {topics.create(PARTITIONS): log for log in logs}
    # a written record shows that the leaders are available
    writer.fill({topic: [*(("put", p, 1) for p in range(PARTITIONS)), *log.steps] for topic, log in named.items()})
    check(topics, named, isolation, restart)
    check_by_time(topics, named, isolation, logs[0].begin[0], logs[0].end[0])


@seed(2026)
@with_random_topics(3, 4)  # type: ignore[operator]
def test_random_topics(topics: Topics, writer: Writer, logs: list[Log], isolation: str, restart: bool) -> None:
    check_all_ways(topics, writer, logs, isolation, restart)


@pytest.mark.long
@pytest.mark.timeout(3600)
@with_random_topics(25, 20)  # type: ignore[operator]
def test_many_random_topics(topics: Topics, writer: Writer, logs: list[Log], isolation: str, restart: bool) -> None:
    check_all_ways(topics, writer, logs, isolation, restart)


@seed(2026)
@with_random_topics(2, 3)  # type: ignore[operator]
@pytest.mark.long
@needs_limits
def test_random_topics_by_spark(
    spark: Any, sql: Any, writer: Writer, topics: Topics, logs: list[Log], isolation: str, restart: bool
) -> None:
    named = {topics.create(PARTITIONS): log for log in logs}
    writer.fill({topic: [*(("put", p, 1) for p in range(PARTITIONS)), *log.steps] for topic, log in named.items()})
    options = topics.with_options(
        ";".join(named),
        **{"format": "raw", "properties.isolation.level": isolation, "scan.max-offsets-per-trigger": "20"},
        **({"scan.parallelism": "3"} if restart else {}),
    )
    metadata = ", ".join(f"`{c}` {column_type} METADATA VIRTUAL" for c, column_type in METADATA.items())
    name, rows = f"random_{uuid.uuid4().hex}", oracle(topics, named, isolation)
    sql(f"CREATE TABLE {name} (v BYTES, {metadata}) {options}")
    assert rows_of(sql(f"SELECT * FROM {name}")) == rows
    writing = spark.readStream.table(name).writeStream.format("memory").queryName(f"of_{name}")
    assert writing.trigger(availableNow=True).start().awaitTermination(300)
    assert rows_of(spark.table(f"of_{name}")) == rows


METADATA = {"topic": "STRING", "partition": "INT", "offset": "BIGINT"}


def rows_of(frame: Any) -> list[Record]:
    return sorted(((r.topic, r.partition, r.offset), None if r.v is None else bytes(r.v)) for r in frame.collect())


@pytest.fixture(scope="module")
def compacted(kafka: object, writer: Writer) -> str:
    """Create a compacted topic, with gaps among committed and aborted records."""
    topics = Topics(kafka.bootstrap_servers)  # type: ignore[attr-defined]
    topic = f"compacted-{uuid.uuid4()}"
    topics.create_named(
        topic,
        PARTITIONS,
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.001",
        max_compaction_lag_ms="100",
    )
    steps = [(action, p, 20) for action in ("put", "commit", "abort", "put") for p in range(PARTITIONS)]
    writer.fill({topic: steps})
    deadline = time.monotonic() + 60
    while len({location[1] for location, _ in oracle(topics, [topic], "read_committed") if location[2] < 10}) > 0:
        assert time.monotonic() < deadline, "the topic was not compacted"
        for partition in range(PARTITIONS):  # a new record rolls the segment, so that it can be compacted
            topics.produce(topic, b"again", partition=partition, key=b"0")
    return topic


@pytest.mark.long
def test_random_ranges_of_a_compacted_topic(topics: Topics, compacted: str) -> None:
    rng = random.Random(2026)
    for _ in range(4):
        begin, end = ([rng.uniform(0, 1.2) for _ in range(PARTITIONS)] for _ in range(2))
        isolation = rng.choice(("read_committed", "read_uncommitted"))
        check(topics, {compacted: Log([], begin, end)}, isolation, rng.random() < 0.5)


def test_a_groups_offset_in_a_gap(topics: Topics, compacted: str) -> None:
    offsets, group = {(compacted, 0): 3, (compacted, 1): 0}, f"g-{uuid.uuid4()}"
    commit(topics, group, offsets)
    definition = define_table(topics, compacted, scan_startup_mode="group-offsets", properties_group_id=group)
    everything = oracle(topics, [compacted], "read_uncommitted")
    assert read(definition) == in_range(everything, offsets, dict.fromkeys(offsets, 1 << 62))
