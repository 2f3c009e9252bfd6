"""Windows in streams: results appear once, when the watermark passes the end of the window, and state is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_sql.errors import UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration

UPSERT = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
WATERMARK = "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"


@pytest.fixture
def zone(spark: Any) -> Iterator[None]:
    """A time zone whose offset is not 0, so that a local time is not taken for an instant."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", zone)


class Stream:
    """A streaming INSERT between two topics."""

    def __init__(self, spark: Any, sql: Callable[..., Any], topics: Topics) -> None:
        self._spark, self._sql, self._topics = spark, sql, topics
        self.source, self.target = topics.create(), topics.create()
        self.read = 0

    def start(self, columns: str, sink: str, insert: str) -> None:
        self._sql(f"CREATE TABLE src ({columns}) {self._topics.with_options(self.source)}")
        options = (
            f"WITH ({UPSERT}, 'topic' = '{self.target}', 'properties.bootstrap.servers' = '{self._topics.bootstrap}')"
        )
        options = options if "PRIMARY KEY" in sink else self._topics.with_options(self.target)
        self._sql(f"CREATE TABLE tgt ({sink}) {options}")
        self.restart(insert)

    def restart(self, insert: str) -> None:
        (row,) = self._sql(insert).collect()
        self.query = self._spark.streams.get(row[0])

    def send(self, *values: tuple[str, str | None, int]) -> None:
        for ts, k, x in values:
            self._topics.produce(self.source, json.dumps({"ts": ts, "k": k, "x": x}).encode())
        self.query.processAllAvailable()

    def new_rows(self, expected: int) -> list[tuple[Any, ...]]:
        """Return the rows since the last call; None for tombstones."""
        messages = self._topics.consume(self.target, self.read + expected)[self.read :]
        self.read += len(messages)
        return sorted(tuple(json.loads(m.value()).values()) for m in messages)

    @property
    def state_rows(self) -> int:
        return sum(operator.numRowsTotal for operator in self.query.lastProgress.stateOperators)


@pytest.fixture
def stream(spark: Any, streaming: Any, topics: Topics) -> Iterator[Stream]:
    stream = Stream(spark, streaming, topics)
    yield stream
    stream.query.stop()


def local(time: str) -> str:
    return f"2026-01-02 {time}"


def utc(time: str) -> str:
    """Return a time of the same day in New York as JSON of a TIMESTAMP_LTZ."""
    hour, rest = time.split(":", 1)
    return f"2026-01-02 {int(hour) + 5:02}:{rest}Z"


@pytest.mark.parametrize("type", ["TIMESTAMP(3)", pytest.param("TIMESTAMP_LTZ(3)", marks=pytest.mark.long)])
def test_tumble(stream: Stream, zone: None, type: str) -> None:
    event = local if type == "TIMESTAMP(3)" else utc
    stream.start(
        f"ts {type}, k STRING, x INT, {WATERMARK}",
        f"s TIMESTAMP(3), e TIMESTAMP(3), t {type}, k STRING, x BIGINT",
        "INSERT INTO tgt SELECT window_start, window_end, window_time, k, sum(x) FROM TUMBLE(TABLE src, "
        "DESCRIPTOR(ts), INTERVAL '10' MINUTES) GROUP BY window_start, window_end, window_time, k",
    )
    stream.send((event("08:00:00"), "a", 1), (event("08:09:59.999"), "a", 2), (event("08:10:00"), "a", 4))
    stream.send((event("08:10:00.9"), "b", 8))
    assert stream.state_rows == 3
    stream.send((event("08:10:01"), "c", 16))  # the watermark is 08:10:00
    assert stream.new_rows(1) == [(local("08:00:00"), local("08:10:00"), event("08:09:59.999"), "a", 3)]
    assert stream.state_rows == 3
    stream.send((event("08:09:00"), "a", 100), (event("08:10:03"), "c", 32))  # the first one is late
    stream.send((event("08:30:00"), "a", 64))
    stream.send((event("08:20:02"), "a", 128))
    assert stream.new_rows(3) == [
        (local("08:10:00"), local("08:20:00"), event("08:19:59.999"), k, x) for k, x in (("a", 4), ("b", 8), ("c", 48))
    ]
    assert stream.state_rows == 2


@pytest.mark.parametrize("type", ["TIMESTAMP(3)", pytest.param("TIMESTAMP_LTZ(3)", marks=pytest.mark.long)])
def test_rows_that_a_filter_drops_close_windows_and_make_others_late(stream: Stream, zone: None, type: str) -> None:
    event = local if type == "TIMESTAMP(3)" else utc
    stream.start(
        f"ts {type}, k STRING, x INT, {WATERMARK}",
        "s TIMESTAMP(3), e TIMESTAMP(3), k STRING, x BIGINT",
        "INSERT INTO tgt SELECT window_start, window_end, k, sum(x) FROM CUMULATE(TABLE src, DESCRIPTOR(ts), "
        "INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) WHERE NOT (k BETWEEN 'x' AND 'z') "
        "GROUP BY window_start, window_end, k",
    )
    stream.send((event("08:00:00"), "a", 1), (event("08:05:00"), "a", 2))
    stream.send((event("08:10:01"), None, 0))  # does not pass the filter
    assert stream.new_rows(2) == [
        (local("08:00:00"), local("08:05:00"), "a", 1),
        (local("08:00:00"), local("08:10:00"), "a", 3),
    ]
    stream.send((event("08:09:59"), "a", 100), (event("08:15:00"), "b", 4))  # the first one is late
    stream.send((event("08:20:01"), "y", 0))
    assert stream.new_rows(1) == [(local("08:10:00"), local("08:20:00"), "b", 4)]


@pytest.mark.long
def test_cumulate_and_windows_of_windows(stream: Stream, zone: None) -> None:
    stream.start(
        f"ts TIMESTAMP_LTZ(3), k STRING, x INT, {WATERMARK}",
        "s TIMESTAMP(3), e TIMESTAMP(3), n BIGINT, x BIGINT",
        "INSERT INTO tgt WITH one AS (SELECT window_start AS s, window_time AS rowtime, sum(x) AS x FROM TUMBLE("
        "TABLE src, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_start, window_end, window_time) "
        "SELECT window_start, window_end, count(*), sum(x) FROM CUMULATE(TABLE one, DESCRIPTOR(rowtime), "
        "INTERVAL '2' MINUTE, INTERVAL '6' MINUTE) GROUP BY window_start, window_end",
    )
    stream.send((utc("08:00:00"), "a", 1), (utc("08:01:00"), "a", 2), (utc("08:01:59"), "a", 4))
    stream.send((utc("08:02:02"), "a", 8))
    stream.send((utc("08:02:03"), "a", 16))
    stream.send((utc("08:12:00"), "a", 0))
    stream.send((utc("08:12:01"), "a", 0))
    stream.send((utc("08:12:02"), "a", 0))
    assert stream.new_rows(3) == [
        (local("08:00:00"), local("08:02:00"), 2, 7),
        (local("08:00:00"), local("08:04:00"), 3, 31),
        (local("08:00:00"), local("08:06:00"), 3, 31),
    ]


def test_sessions(stream: Stream, zone: None) -> None:
    stream.start(
        f"ts TIMESTAMP_LTZ(3), k STRING, x INT, {WATERMARK}",
        "s TIMESTAMP(3), e TIMESTAMP(3), k STRING, x BIGINT",
        "INSERT INTO tgt SELECT SESSION_START(ts, INTERVAL '1' MINUTE), SESSION_END(ts, INTERVAL '1' MINUTE), k, "
        "sum(x) FROM src GROUP BY k, SESSION(ts, INTERVAL '1' MINUTE)",
    )
    stream.send((utc("08:00:00"), "a", 1), (utc("08:00:30"), "b", 2))
    stream.send((utc("08:01:00"), "a", 4))  # touches the first one
    stream.send((utc("08:02:00.001"), "a", 8))
    stream.send((utc("08:02:02"), "c", 0))
    stream.send((utc("08:02:02"), "c", 0))
    assert stream.new_rows(2) == [
        (local("08:00:00"), local("08:02:00"), "a", 5),
        (local("08:00:30"), local("08:01:30"), "b", 2),
    ]


@pytest.mark.long
def test_early_results_without_a_watermark(stream: Stream) -> None:
    stream.start(
        "ts TIMESTAMP(3), k STRING, x INT",
        "s TIMESTAMP(3), x BIGINT, PRIMARY KEY (s) NOT ENFORCED",
        "INSERT INTO tgt SELECT window_start, sum(x) FROM TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '10' MINUTES) "
        "GROUP BY window_start, window_end",
    )
    stream.send((local("08:00:00"), "a", 1))
    assert stream.new_rows(1) == [(local("08:00:00"), 1)]
    stream.send((local("08:15:00"), "a", 2))
    stream.send((local("08:01:00"), "a", 4))
    assert stream.new_rows(2) == [(local("08:00:00"), 5), (local("08:10:00"), 2)]


def test_a_window_of_another_column_than_the_watermark_is_not_an_event_time(
    spark: Any, streaming: Any, topics: Topics
) -> None:
    streaming(
        f"CREATE TABLE src (ts TIMESTAMP(3), other TIMESTAMP(3), {WATERMARK}) {topics.with_options(topics.create())}"
    )
    streaming(f"CREATE TABLE tgt (n BIGINT) {topics.with_options(topics.create())}")
    for column in ("other", "ts"):
        insert = (
            f"INSERT INTO tgt SELECT count(*) FROM TUMBLE(TABLE src, DESCRIPTOR({column}), INTERVAL '10' MINUTES) "
            "GROUP BY window_start, window_end"
        )
        if column == "other":
            with pytest.raises(UnsupportedSqlError, match="aggregate without a watermark"):
                streaming(insert)
        else:
            streaming(insert)


@pytest.mark.long
def test_a_window_join_returns_a_copy_of_its_time(stream: Stream) -> None:
    window = "TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '10' MINUTES))"
    insert = (
        "INSERT INTO tgt SELECT l.{}, l.x, r.x AS y FROM (SELECT *, ts + INTERVAL '0' SECOND AS copy FROM {}) AS l "
        "JOIN (SELECT * FROM {}) AS r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    )
    columns = f"ts TIMESTAMP(3), k STRING, x INT, {WATERMARK}", "t TIMESTAMP(3), x INT, y INT"
    with pytest.raises(
        UnsupportedSqlError, match="several event times, ts and window_time, and Spark supports only one"
    ):
        stream.start(*columns, insert.format("ts", window, window))
    stream.restart(insert.format("copy", window, window))
    stream.send((local("08:00:01"), "a", 1), (local("08:10:01"), "a", 2))
    assert stream.new_rows(2) == [(local("08:00:01"), 1, 1), (local("08:10:01"), 2, 2)]


def test_two_aggregates_of_a_table_in_a_query(stream: Stream) -> None:
    """Each has its own watermark, although Spark could execute their equal parts once."""
    counts = (
        "SELECT window_start, window_end, k, count(*) AS n FROM TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k"
    )
    most = f"SELECT window_start, window_end, max(n) AS n FROM ({counts}) GROUP BY window_start, window_end"
    condition = "c.window_start = m.window_start AND c.window_end = m.window_end AND c.n = m.n"
    query = f"SELECT c.window_start, c.k, c.n FROM ({counts}) AS c JOIN ({most}) AS m ON {condition}"
    columns = f"ts TIMESTAMP(3), k STRING, x INT, {WATERMARK}"
    stream.start(columns, "s TIMESTAMP(3), k STRING, n BIGINT", f"INSERT INTO tgt {query}")
    stream.send((local("08:00:01"), "a", 1), (local("08:00:02"), "a", 2), (local("08:00:03"), "b", 3))
    stream.send((local("08:10:00"), "c", 1))
    stream.send((local("08:20:00"), "c", 1))
    assert stream.new_rows(2) == [(local("08:00:00"), "a", 2), (local("08:10:00"), "c", 1)]


def test_sessions_are_merged(streaming: Any, stream: Stream, topics: Topics) -> None:
    """Also into a sink with changes."""
    session = "SESSION(TABLE src PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)"
    query = f"SELECT k, window_end, count(*) FROM {session} GROUP BY k, window_start, window_end"
    columns = f"ts TIMESTAMP(3), k STRING, x INT, {WATERMARK}"
    stream.start(columns, "k STRING, e TIMESTAMP(3), n BIGINT", "INSERT INTO tgt SELECT k, ts, x FROM src WHERE x < 0")
    sink = topics.with_options(stream.target, format="debezium-json")
    streaming(f"CREATE TABLE changes (k STRING, e TIMESTAMP(3), n BIGINT) {sink}")
    stream.query.stop()
    stream.restart(f"INSERT INTO changes {query}")
    stream.send((local("08:00:01"), "a", 1), (local("08:00:03"), "a", 2))
    stream.send((local("08:00:06"), "a", 2))
    stream.send((local("08:10:00"), "c", 1))
    row = {"k": "a", "e": local("08:00:11"), "n": 3}
    assert [json.loads(m.value())["after"] for m in topics.consume(stream.target, 1)] == [row]
