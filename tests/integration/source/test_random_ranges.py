"""What is read of random topics in random ranges is what a plain consumer reads there."""

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
from kafka_sql.kafka.types import Offsets
from tests.batch_read import Place, Streaming, commit, declared, delete_records, planned, read
from tests.topics import Topics

pytestmark = pytest.mark.integration
PARTITIONS = 2
START = 1_700_000_000_000
Record = tuple[Place, bytes | None]
Step = tuple[str, int, int]  # what, in which partition, how many


@dataclass(frozen=True)
class Log:
    """A topic's content and the range of it that is read.

    Attributes:
        steps: plain records, transactions that are committed or aborted, removals of the oldest records.
        begin, end: parts of each partition's log; above 1 they lie beyond its end.
    """

    steps: list[Step]
    begin: list[float]
    end: list[float]


class Writer:
    """Fills topics by steps, many topics at once."""

    def __init__(self, topics: Topics) -> None:
        """Connect."""
        config = {"bootstrap.servers": topics.bootstrap, "log_level": 0, "linger.ms": 0}
        self._topics = topics
        self._plain = Producer(config)
        self._bound = Producer({**config, "transactional.id": f"properties-{uuid.uuid4()}"})
        self._bound.init_transactions(60)

    def fill(self, steps: dict[str, list[Step]]) -> None:
        """Carry out the steps of each topic; a transaction has the records of all topics whose turn it is."""
        for at in range(max(map(len, steps.values()))):
            turn = [(topic, *of[at]) for topic, of in steps.items() if at < len(of)]
            for what in ("put", "commit", "abort"):
                self._write(at, what, [(topic, p, count) for topic, kind, p, count in turn if kind == what])
            self._remove([(topic, p, count) for topic, kind, p, count in turn if kind == "remove"])

    def _write(self, at: int, what: str, turn: list[tuple[str, int, int]]) -> None:
        if not turn:
            return
        producer = self._plain if what == "put" else self._bound
        if what != "put":
            producer.begin_transaction()
        for topic, partition, count in turn:
            for i in range(count):
                value = b"%d-%d" % (at, i) if i % 5 else None
                producer.produce(topic, value, b"%d" % (i % 3), partition, timestamp=START + at * 1000 + i)
        assert producer.flush(60) == 0
        if what == "commit":
            producer.commit_transaction(60)
        elif what == "abort":
            producer.abort_transaction(60)

    def _remove(self, turn: list[tuple[str, int, int]]) -> None:
        for topic, partition, count in turn:
            _, end = ends(self._topics, topic)[partition]
            delete_records(self._topics, topic, min(count, end), partition)


@contextmanager
def consumer(topics: Topics, isolation: str) -> Iterator[Consumer]:
    plain = Consumer(
        {
            "bootstrap.servers": topics.bootstrap,
            "group.id": "oracle",
            "enable.partition.eof": "true",
            "isolation.level": isolation,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
    )
    yield plain
    plain.close()


def ends(topics: Topics, topic: str) -> list[tuple[int, int]]:
    """Of each partition, the first offset and the one behind the last."""
    with consumer(topics, "read_uncommitted") as plain:
        return [plain.get_watermark_offsets(TopicPartition(topic, p), timeout=30) for p in range(PARTITIONS)]


def oracle(topics: Topics, names: Iterable[str], isolation: str) -> list[Record]:
    """All records of topics, by Kafka's own consumer."""
    found: list[Record] = []
    left = {(topic, p) for topic in names for p in range(PARTITIONS)}
    with consumer(topics, isolation) as plain:
        plain.assign([TopicPartition(t, p, OFFSET_BEGINNING) for t, p in left])
        while left:
            message = plain.poll(30)
            assert message is not None
            error, place = message.error(), (message.topic() or "", message.partition() or 0)
            if error is None:
                found.append(((*place, message.offset() or 0), message.value()))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                left.discard(place)
    return sorted(found)


def within(records: list[Record], starts: Offsets, stops: Offsets) -> list[Record]:
    return [r for r in records if starts[r[0][:2]] <= r[0][2] < stops[r[0][:2]]]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "commit", "abort", "remove")),
        st.integers(0, PARTITIONS - 1),
        st.integers(1, 12),
    ),
    max_size=6,
)
SPOTS = st.lists(st.floats(0, 1.2), min_size=PARTITIONS, max_size=PARTITIONS)
ISOLATION = st.sampled_from(("read_committed", "read_uncommitted"))


def spots(at: list[float], limits: list[tuple[int, int]]) -> list[int]:
    """Offsets at these parts of each partition's log, beyond its end where the part is above 1."""
    return [low + round(part * (high - low)) for part, (low, high) in zip(at, limits, strict=True)]


def specific(offsets: Offsets) -> str:
    return ";".join(f"topic:{t},partition:{p},offset:{at}" for (t, p), at in offsets.items())


def streamed(definition: Definition, restart: bool) -> list[Record]:
    """All that a stream reads in batches of few offsets; restarted between them or not."""
    query, found = Streaming(definition), []
    for _ in range(200):
        before = query.checkpoint
        found += query.batch()
        if query.checkpoint == before:
            return sorted(found)
        query = query.again() if restart else query
    raise AssertionError("the stream does not come to an end")


def check(topics: Topics, logs: dict[str, Log], isolation: str, restart: bool) -> None:
    """Read the range of each topic, all topics in one query; then everything."""
    starts: Offsets = {}
    stops: Offsets = {}
    for topic, log in logs.items():
        limits = ends(topics, topic)
        starts |= {(topic, p): at for p, at in enumerate(spots(log.begin, limits))}
        stops |= {(topic, p): min(at, limits[p][1]) for p, at in enumerate(spots(log.end, limits))}
    everything, names = oracle(topics, logs, isolation), ";".join(logs)
    more = {"properties_isolation_level": isolation, "scan_max__offsets__per__trigger": str(7 * len(logs))}
    bounded = {"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": specific(stops)}
    begins = {"scan_startup_mode": "specific-offsets", "scan_startup_specific__offsets": specific(starts)}
    rows = within(everything, starts, stops)
    assert read(declared(topics, names, **begins, **bounded, **more)) == rows
    assert streamed(declared(topics, names, **begins, **bounded, **more), restart) == rows
    # from the beginning and to the end
    assert read(declared(topics, names, **more)) == everything
    assert streamed(declared(topics, names, scan_bounded_mode="latest-offset", **more), restart) == everything


def by_time(topics: Topics, names: Collection[str], isolation: str, begin: float, end: float) -> None:
    """The same by times, which Kafka's own consumer looks up for the oracle."""
    first, last = (START + round(part * 7000) for part in (begin, end))
    starts, stops = ({}, {})
    with consumer(topics, isolation) as plain:
        for at, offsets in ((first, starts), (last, stops)):
            places = [TopicPartition(t, p, at) for t in names for p in range(PARTITIONS)]
            found = plain.offsets_for_times(places, timeout=30)
            offsets |= {(tp.topic, tp.partition): 1 << 62 if tp.offset < 0 else tp.offset for tp in found}
    definition = declared(
        topics,
        ";".join(names),
        properties_isolation_level=isolation,
        scan_startup_mode="timestamp",
        scan_startup_timestamp__millis=str(first),
        scan_bounded_mode="timestamp",
        scan_bounded_timestamp__millis=str(last),
    )
    assert read(definition) == within(oracle(topics, names, isolation), starts, stops), planned(definition)


@pytest.fixture(scope="module")
def writer(kafka: object) -> Writer:
    return Writer(Topics(kafka.bootstrap_servers))  # type: ignore[attr-defined]


def of_random_topics(examples: int, at_once: int) -> object:
    """Examples of several topics each: a query over many takes little longer than one over one."""

    def decorated(test: Any) -> Any:
        logs = st.lists(st.builds(Log, STEPS, SPOTS, SPOTS), min_size=at_once, max_size=at_once)
        return settings(
            max_examples=examples,
            deadline=None,
            phases=(Phase.generate,),  # a smaller example would be of fewer steps, but of as many topics
            suppress_health_check=list(HealthCheck),
        )(given(logs=logs, isolation=ISOLATION, restart=st.booleans())(test))

    return decorated


def read_all_ways(topics: Topics, writer: Writer, logs: list[Log], isolation: str, restart: bool) -> None:
    named = {topics.create(PARTITIONS): log for log in logs}
    # their leaders are there when they take a record
    writer.fill({topic: [*(("put", p, 1) for p in range(PARTITIONS)), *log.steps] for topic, log in named.items()})
    check(topics, named, isolation, restart)
    by_time(topics, named, isolation, logs[0].begin[0], logs[0].end[0])


@seed(2026)
@of_random_topics(3, 4)  # type: ignore[operator]
def test_random_topics(topics: Topics, writer: Writer, logs: list[Log], isolation: str, restart: bool) -> None:
    read_all_ways(topics, writer, logs, isolation, restart)


@pytest.mark.long
@pytest.mark.timeout(3600)
@of_random_topics(25, 20)  # type: ignore[operator]
def test_many_random_topics(topics: Topics, writer: Writer, logs: list[Log], isolation: str, restart: bool) -> None:
    read_all_ways(topics, writer, logs, isolation, restart)


@seed(2026)
@of_random_topics(2, 3)  # type: ignore[operator]
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
    metadata = ", ".join(f"`{c}` {kind} METADATA VIRTUAL" for c, kind in METADATA.items())
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
    """A topic of which the cleaner has removed records, committed and aborted ones among them."""
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
    steps = [(what, p, 20) for what in ("put", "commit", "abort", "put") for p in range(PARTITIONS)]
    writer.fill({topic: steps})
    deadline = time.monotonic() + 60
    while len({place[1] for place, _ in oracle(topics, [topic], "read_committed") if place[2] < 10}) > 0:
        assert time.monotonic() < deadline, "the cleaner has not been here"
        for partition in range(PARTITIONS):  # a new record rolls the segment, which lets the cleaner work
            topics.put(topic, b"again", partition=partition, key=b"0")
    return topic


def test_random_ranges_of_a_compacted_topic(topics: Topics, compacted: str) -> None:
    rng = random.Random(2026)
    for _ in range(4):
        begin, end = ([rng.uniform(0, 1.2) for _ in range(PARTITIONS)] for _ in range(2))
        isolation = rng.choice(("read_committed", "read_uncommitted"))
        check(topics, {compacted: Log([], begin, end)}, isolation, rng.random() < 0.5)


def test_a_groups_offset_in_a_gap(topics: Topics, compacted: str) -> None:
    offsets, group = {(compacted, 0): 3, (compacted, 1): 0}, f"g-{uuid.uuid4()}"
    commit(topics, group, offsets)
    definition = declared(topics, compacted, scan_startup_mode="group-offsets", properties_group_id=group)
    everything = oracle(topics, [compacted], "read_uncommitted")
    assert read(definition) == within(everything, offsets, dict.fromkeys(offsets, 1 << 62))
