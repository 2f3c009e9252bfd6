"""Windows over changes, sessions that Spark cannot merge, and windows over PROCTIME(), in continuous queries."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from kafka_sql.errors import UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration

Event = tuple[str, int, int]  # k, v, and the second of t
CHANGES: Final[list[list[tuple[Event | None, Event | None]]]] = [  # old and new rows, before and after a restart
    [
        (None, ("x", 1, 1)),
        (None, ("x", 1, 3)),
        (None, ("y", 5, 4)),
        (("x", 1, 1), ("x", 7, 1)),
        (None, ("x", 9, 11)),
        (("y", 5, 4), None),
    ],
    # the third one is late
    [(None, ("x", 2, 12)), (None, ("z", 2, 30)), (("x", 1, 3), None), (None, ("z", 2, 55))],
]
TIMES: Final = "date_format(window_start, 's'), date_format(window_end, 's')"
SIZE: Final = "INTERVAL '5' SECOND"
AGGREGATES: Final = "count(*), sum(v), count(DISTINCT v)"
QUERIES: Final = {
    "tumble": (
        f"SELECT k, {TIMES}, {AGGREGATES} FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(t), {SIZE})) "
        "GROUP BY k, window_start, window_end",
        {("x", "0", "5", 2, 8, 2), ("x", "10", "15", 2, 11, 2), ("z", "30", "35", 1, 2, 1)},
    ),
    "session by key": (
        f"SELECT k, {TIMES}, {AGGREGATES} FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(t), {SIZE})) "
        "GROUP BY k, window_start, window_end",
        {("x", "1", "8", 2, 8, 2), ("x", "11", "17", 2, 11, 2), ("z", "30", "35", 1, 2, 1)},
    ),
    "session of all rows": (
        f"SELECT k, {TIMES}, 1, v, 1 FROM TABLE(SESSION(TABLE a, DESCRIPTOR(t), {SIZE}))",
        {
            ("x", "1", "9", 1, 7, 1),
            ("x", "1", "9", 1, 1, 1),
            ("x", "11", "17", 1, 9, 1),
            ("x", "11", "17", 1, 2, 1),
            ("z", "30", "35", 1, 2, 1),
        },
    ),
    "hop, with other names": (
        "SELECT k, date_format(s, 's'), date_format(e, 's'), count(*), sum(v), max(v) "
        "FROM (SELECT k, v, window_start AS s, window_end AS e "
        f"FROM TABLE(HOP(TABLE a, DESCRIPTOR(t), {SIZE}, INTERVAL '10' SECOND))) WHERE k = 'x' GROUP BY k, s, e",
        {
            ("x", "55", "5", 2, 8, 7),
            ("x", "0", "10", 2, 8, 7),
            ("x", "5", "15", 2, 11, 9),
            ("x", "10", "20", 2, 11, 9),
        },
    ),
}


def _row(event: Event | None) -> dict[str, Any] | None:
    return event and {"k": event[0], "v": event[1], "t": f"2020-10-10 00:00:{event[2]:02}"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", QUERIES)
def test_windows_over_changes_are_written_once(spark: Any, streaming: Any, topics: Topics, name: str) -> None:
    source, target = topics.create(), topics.create()
    columns = "k STRING, v INT, t TIMESTAMP(3), WATERMARK FOR t AS t - INTERVAL '1' SECOND"
    streaming(f"CREATE TABLE a ({columns}) {topics.with_options(source, format='debezium-json')}")
    columns = "k STRING, s STRING, e STRING, n BIGINT, v BIGINT, d BIGINT"
    streaming(f"CREATE TABLE tgt ({columns}) {topics.with_options(target)}")
    query, expected = QUERIES[name]
    for part in CHANGES:
        events = [{"before": _row(old), "after": _row(new), "op": "u"} for old, new in part]
        operations = ["c" if old is None else "d" if new is None else "u" for old, new in part]
        events = [event | {"op": op} for event, op in zip(events, operations, strict=True)]
        topics.produce_all(source, [(b"", json.dumps(event).encode()) for event in events])
        run = spark.streams.get(streaming(f"INSERT INTO tgt {query}").collect()[0][0])
        run.processAllAvailable()
        run.stop()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    rows = [tuple(row) for row in spark.sql("SELECT * FROM tgt").collect()]
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    assert len(rows) == len(expected)
    assert set(rows) == expected


def test_windows_over_the_processing_time_end_without_another_row(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE a (k STRING, p AS PROCTIME()) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (k STRING, n BIGINT) {topics.with_options(target)}")
    topics.produce(source, *[b'{"k": "x"}'] * 3)
    query = "SELECT k, count(*) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(p), INTERVAL '1' SECOND)) "
    run = spark.streams.get(streaming(f"INSERT INTO tgt {query} GROUP BY k, window_start, window_end").collect()[0][0])
    (message,) = topics.consume(target, 1)
    assert json.loads(message.value()) == {"k": "x", "n": 3}
    run.stop()


def test_windows_of_both_times_are_refused(spark: Any, streaming: Any, topics: Topics) -> None:
    columns = "k STRING, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts"
    streaming(f"CREATE TABLE src ({columns}) {topics.with_options(topics.create())}")
    streaming(f"CREATE TABLE tgt (k STRING, n BIGINT) {topics.with_options(topics.create())}")
    windows = (
        f"SELECT k, count(*) FROM TABLE(TUMBLE(TABLE src, DESCRIPTOR({time}), INTERVAL '1' MINUTE)) "
        "GROUP BY k, window_start, window_end"
        for time in ("p", "ts")
    )
    with pytest.raises(UnsupportedSqlError, match="Spark's watermark is the same for both times"):
        streaming(f"INSERT INTO tgt {' UNION ALL '.join(windows)}")
    assert spark.streams.active == []
