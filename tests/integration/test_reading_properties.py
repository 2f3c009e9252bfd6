"""What is read of random topics in random ranges is what a plain consumer reads there."""

from __future__ import annotations

import random
import time
import uuid

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from kafka_sql.definition import Definition
from tests.reading import Place, Streaming, commit, declared, delete_records, planned, read
from tests.support import Topics

pytestmark = pytest.mark.integration
PARTITIONS = 2
START = 1_700_000_000_000
Record = tuple[Place, bytes | None]


class Writer:
    """Fills topics by steps: plain records, transactions that are committed or aborted, removals."""

    def __init__(self, topics: Topics) -> None:
        """Connect."""
        config = {"bootstrap.servers": topics.bootstrap, "log_level": 0, "linger.ms": 0}
        self._topics = topics
        self._plain = Producer(config)
        self._bound = Producer({**config, "transactional.id": f"properties-{uuid.uuid4()}"})
        self._bound.init_transactions(60)

    def fill(self, topic: str, steps: list[tuple[str, int, int]]) -> None:
        """Carry out the steps (what, in which partition, how many)."""
        for at, (what, partition, count) in enumerate(steps):
            producer = self._plain if what == "put" else self._bound
            if what == "remove":
                _, end = ends(self._topics, topic)[partition]
                delete_records(self._topics, topic, min(count, end), partition)
                continue
            if what != "put":
                producer.begin_transaction()
            for i in range(count):
                value = b"%d-%d" % (at, i) if i % 5 else None
                producer.produce(topic, value, b"%d" % (i % 3), partition, timestamp=START + at * 1000 + i)
            assert producer.flush(60) == 0
            if what == "commit":
                producer.commit_transaction(60)
            elif what == "abort":
                producer.abort_transaction(60)


def consumer(topics: Topics, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": topics.bootstrap,
            "group.id": "oracle",
            "enable.partition.eof": "true",
            "isolation.level": isolation,
            "log_level": 0,
        }
    )


def ends(topics: Topics, topic: str) -> list[tuple[int, int]]:
    """Of each partition, the first offset and the one behind the last."""
    plain = consumer(topics, "read_uncommitted")
    found = [plain.get_watermark_offsets(TopicPartition(topic, p), timeout=30) for p in range(PARTITIONS)]
    plain.close()
    return found


def oracle(topics: Topics, topic: str, isolation: str) -> list[Record]:
    """All records, by Kafka's own consumer."""
    plain = consumer(topics, isolation)
    plain.assign([TopicPartition(topic, p, low) for p, (low, _) in enumerate(ends(topics, topic))])
    found: list[Record] = []
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        message = plain.poll(30)
        assert message is not None
        error = message.error()
        if error is None:
            found.append(((topic, message.partition() or 0, message.offset() or 0), message.value()))
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
    plain.close()
    return sorted(found)


def expected(topics: Topics, topic: str, isolation: str, starts: list[int], stops: list[int]) -> list[Record]:
    records = oracle(topics, topic, isolation)
    return [r for r in records if starts[r[0][1]] <= r[0][2] < stops[r[0][1]]]


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


def specific(offsets: list[int]) -> str:
    return ";".join(f"partition:{p},offset:{at}" for p, at in enumerate(offsets))


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


def check(topics: Topics, topic: str, isolation: str, begin: list[float], end: list[float], restart: bool) -> None:
    limits = ends(topics, topic)
    starts, stops = spots(begin, limits), [min(at, limits[p][1]) for p, at in enumerate(spots(end, limits))]
    more = {"properties_isolation_level": isolation, "scan_max__offsets__per__trigger": "7"}
    bounded = {"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": specific(stops)}
    begins = {"scan_startup_mode": "specific-offsets", "scan_startup_specific__offsets": specific(starts)}
    rows = expected(topics, topic, isolation, starts, stops)
    assert read(declared(topics, topic, **begins, **bounded, **more)) == rows
    assert streamed(declared(topics, topic, **begins, **bounded, **more), restart) == rows
    # from the beginning and to the end
    everything = expected(topics, topic, isolation, [0] * PARTITIONS, [1 << 62] * PARTITIONS)
    assert read(declared(topics, topic, **more)) == everything
    assert streamed(declared(topics, topic, scan_bounded_mode="latest-offset", **more), restart) == everything


def by_time(topics: Topics, topic: str, isolation: str, begin: float, end: float) -> None:
    """The same by times, which Kafka's own consumer looks up for the oracle."""
    first, last = (START + round(part * 7000) for part in (begin, end))
    plain = consumer(topics, isolation)
    places = [[TopicPartition(topic, p, at) for p in range(PARTITIONS)] for at in (first, last)]
    found = [[tp.offset for tp in plain.offsets_for_times(times, timeout=30)] for times in places]
    plain.close()
    starts, stops = ([1 << 62 if at < 0 else at for at in offsets] for offsets in found)
    definition = declared(
        topics,
        topic,
        properties_isolation_level=isolation,
        scan_startup_mode="timestamp",
        scan_startup_timestamp__millis=str(first),
        scan_bounded_mode="timestamp",
        scan_bounded_timestamp__millis=str(last),
    )
    assert read(definition) == expected(topics, topic, isolation, starts, stops), planned(definition)


@pytest.fixture(scope="module")
def writer(kafka: object) -> Writer:
    return Writer(Topics(kafka.bootstrap_servers))  # type: ignore[attr-defined]


def of_random_topics(examples: int) -> object:
    return settings(
        max_examples=examples,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow),
    )


def one_topic(
    topics: Topics,
    writer: Writer,
    steps: list[tuple[str, int, int]],
    isolation: str,
    begin: list[float],
    end: list[float],
    restart: bool,
) -> None:
    topic = topics.create(PARTITIONS)
    # its leaders are there when they take a record
    writer.fill(topic, [*(("put", p, 1) for p in range(PARTITIONS)), *steps])
    check(topics, topic, isolation, begin, end, restart)
    by_time(topics, topic, isolation, begin[0], end[0])


@of_random_topics(8)  # type: ignore[operator]
@seed(2026)
@given(STEPS, ISOLATION, SPOTS, SPOTS, st.booleans())
def test_random_topics(
    topics: Topics,
    writer: Writer,
    steps: list[tuple[str, int, int]],
    isolation: str,
    begin: list[float],
    end: list[float],
    restart: bool,
) -> None:
    one_topic(topics, writer, steps, isolation, begin, end, restart)


@pytest.mark.long
@pytest.mark.timeout(3600)
@of_random_topics(300)  # type: ignore[operator]
@given(STEPS, ISOLATION, SPOTS, SPOTS, st.booleans())
def test_many_random_topics(
    topics: Topics,
    writer: Writer,
    steps: list[tuple[str, int, int]],
    isolation: str,
    begin: list[float],
    end: list[float],
    restart: bool,
) -> None:
    one_topic(topics, writer, steps, isolation, begin, end, restart)


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
    writer.fill(topic, steps)
    deadline = time.monotonic() + 60
    while len({place[1] for place, _ in oracle(topics, topic, "read_committed") if place[2] < 10}) > 0:
        assert time.monotonic() < deadline, "the cleaner has not been here"
        for partition in range(PARTITIONS):  # a new record rolls the segment, which lets the cleaner work
            topics.put(topic, b"again", partition=partition, key=b"0")
    return topic


def test_random_ranges_of_a_compacted_topic(topics: Topics, compacted: str) -> None:
    rng = random.Random(2026)
    for _ in range(4):
        begin, end = ([rng.uniform(0, 1.2) for _ in range(PARTITIONS)] for _ in range(2))
        isolation = rng.choice(("read_committed", "read_uncommitted"))
        check(topics, compacted, isolation, begin, end, rng.random() < 0.5)


def test_a_groups_offset_in_a_gap(topics: Topics, compacted: str) -> None:
    (offsets, group) = ({(compacted, 0): 3, (compacted, 1): 0}, f"g-{uuid.uuid4()}")
    commit(topics, group, offsets)
    definition = declared(topics, compacted, scan_startup_mode="group-offsets", properties_group_id=group)
    assert read(definition) == expected(topics, compacted, "read_uncommitted", [3, 0], [1 << 62] * 2)
