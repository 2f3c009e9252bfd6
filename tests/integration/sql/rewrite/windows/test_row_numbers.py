"""Deduplication and Top-N of streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

UPSERT = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"


class Jobs:
    """Streaming INSERTs from one topic."""

    def __init__(self, spark: Any, sql: Callable[..., Any], topics: Topics) -> None:
        self._spark, self._sql, self._topics = spark, sql, topics
        self.source = topics.create()
        watermark = "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
        sql(f"CREATE TABLE clicks (k STRING, x INT, ts TIMESTAMP(3), {watermark}) {topics.with_options(self.source)}")
        self.targets: dict[str, str] = {}
        self._queries: list[Any] = []

    def start(self, name: str, columns: str, query: str, upsert: bool = True) -> None:
        topic = self.targets[name] = self._topics.create()
        broker = f"'topic' = '{topic}', 'properties.bootstrap.servers' = '{self._topics.bootstrap}'"
        options = f"WITH ({UPSERT}, {broker})" if upsert else self._topics.with_options(topic)
        self._sql(f"CREATE TABLE {name} ({columns}) {options}")
        (row,) = self._sql(f"INSERT INTO {name} {query}").collect()
        self._queries.append(self._spark.streams.get(row[0]))

    def send(self, *rows: tuple[str, int, str]) -> None:
        for k, x, time in rows:
            record = {"k": k, "x": x, "ts": f"2026-01-02 {time}"}
            self._topics.produce(self.source, json.dumps(record).encode())
        for query in self._queries:
            query.processAllAvailable()

    def content(self, name: str) -> list[tuple[Any, ...]]:
        self._sql("SET 'execution.runtime-mode' = 'batch'")
        rows = self._sql(f"SELECT * FROM {name}").collect()
        self._sql("SET 'execution.runtime-mode' = 'streaming'")
        return sorted(tuple(row) for row in rows)

    def stop(self) -> None:
        for query in self._queries:
            query.stop()


@pytest.fixture
def jobs(spark: Any, streaming: Any, topics: Topics) -> Iterator[Jobs]:
    jobs = Jobs(spark, streaming, topics)
    yield jobs
    jobs.stop()


@pytest.mark.parametrize(
    "names",
    [("last_row", "first_seen"), pytest.param(("first_row", "last_seen"), marks=pytest.mark.long)],
    ids=["last row, first seen", "first row, last seen"],
)
def test_deduplication(jobs: Jobs, streaming: Any, names: Sequence[str]) -> None:
    key = "k STRING, x INT, PRIMARY KEY (k) NOT ENFORCED"
    streaming("CREATE TEMPORARY VIEW seen AS SELECT *, current_timestamp() AS proctime FROM clicks WHERE x < 100")
    for name, order in [
        ("first_row", "ts ASC"),
        ("last_row", "ts DESC"),
        ("first_seen", "PROCTIME()"),
        ("last_seen", "proctime DESC"),
    ]:
        if name not in names:
            continue
        source = "seen" if "proctime" in order else "clicks"
        rows = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS rn FROM {source} WHERE x < 100"
        jobs.start(name, key, f"SELECT k, x FROM ({rows}) WHERE rn = 1")
    # no row is late, however the rows are cut into micro-batches
    jobs.send(("a", 1, "08:00:01"), ("a", 2, "08:00:01"), ("b", 3, "08:00:01"), ("b", 4, "08:00:00.5"))
    jobs.send(("z", 100, "08:00:02.5"))  # advances the watermark, for which the first row waits
    expected = {
        "first_row": [("a", 1), ("b", 4)],
        "last_row": [("a", 2), ("b", 3)],
        "first_seen": [("a", 1), ("b", 3)],
        "last_seen": [("a", 2), ("b", 4)],
    }
    assert {name: jobs.content(name) for name in names} == {name: expected[name] for name in names}
    jobs.send(
        ("a", 5, "08:00:01"), ("b", 6, "08:00:00"), ("b", 7, "07:00:00"), ("a", 100, "09:00:00"), ("c", 8, "08:00:00")
    )
    expected = {
        "first_row": [("a", 1), ("b", 4)],  # the other rows are behind the watermark
        "last_row": [("a", 5), ("b", 3), ("c", 8)],
        "first_seen": [("a", 1), ("b", 3), ("c", 8)],
        "last_seen": [("a", 5), ("b", 7), ("c", 8)],
    }
    assert {name: jobs.content(name) for name in names} == {name: expected[name] for name in names}


def test_of_equal_rows_the_first_is_first(jobs: Jobs) -> None:
    key = "k STRING, n BIGINT, second INT, PRIMARY KEY (n) NOT ENFORCED"
    for name, order, limit in [("least", "x", 3), ("greatest", "x DESC", 3), ("greatest_one", "x DESC", 1)]:
        rows = f"SELECT k, ts, x, ROW_NUMBER() OVER (ORDER BY {order}) AS n FROM clicks"
        jobs.start(name, key, f"SELECT k, n, CAST(extract(SECOND FROM ts) AS INT) FROM ({rows}) WHERE n <= {limit}")
    jobs.send(("c", 5, "08:00:01"), ("b", 5, "08:00:02"))
    jobs.send(("a", 5, "08:00:03"), ("d", 5, "08:00:00"))
    expected = [("a", 3, 3), ("b", 2, 2), ("c", 1, 1)]
    contents = {name: jobs.content(name) for name in ("least", "greatest", "greatest_one")}
    assert contents == {"least": expected, "greatest": expected, "greatest_one": expected[2:]}


@pytest.mark.long
def test_top_n_with_its_rank(jobs: Jobs) -> None:
    rows = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) AS rank FROM clicks"
    query = f"SELECT k, rank, x FROM ({rows}) WHERE rank <= 2"
    jobs.start("top", "k STRING, rank INT, x INT, PRIMARY KEY (k, rank) NOT ENFORCED", query)
    jobs.send(("a", 1, "08:00:00"), ("b", 1, "08:00:00"))
    assert jobs.content("top") == [("a", 1, 1), ("b", 1, 1)]
    jobs.send(("a", 5, "08:00:00"), ("a", 3, "08:00:00"), ("a", 2, "08:00:00"))
    assert jobs.content("top") == [("a", 1, 5), ("a", 2, 3), ("b", 1, 1)]
    jobs.start("by_value", "k STRING, x INT, PRIMARY KEY (k, x) NOT ENFORCED", query.replace(" rank,", ""))
    jobs.send(("a", 4, "08:00:00"))
    assert jobs.content("by_value") == [("a", 4), ("a", 5), ("b", 1)]


@pytest.mark.parametrize("name", [pytest.param("rows_of_windows", marks=pytest.mark.long), "sums_of_windows"])
def test_top_n_of_windows_is_final(jobs: Jobs, name: str) -> None:
    windows = "TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTES)"
    sums = f"SELECT window_start, window_end, k, sum(x) AS x FROM {windows} GROUP BY window_start, window_end, k"
    source = windows if name == "rows_of_windows" else f"({sums})"
    over = "PARTITION BY window_start, window_end ORDER BY x DESC"
    rows = f"SELECT *, ROW_NUMBER() OVER ({over}) AS rn FROM {source}"
    columns = "start TIMESTAMP(3), k STRING, x BIGINT, rn BIGINT"
    jobs.start(name, columns, f"SELECT window_start, k, x, rn FROM ({rows}) WHERE rn <= 2", upsert=False)
    rows = f"SELECT k, ROW_NUMBER() OVER ({over}) AS rn FROM (SELECT window_start AS s, * FROM {source})"
    jobs.start("keys", "k STRING", f"SELECT k FROM ({rows}) WHERE rn <= 2", upsert=False)
    jobs.send(
        ("a", 1, "08:00:00"), ("a", 4, "08:01:00"), ("b", 3, "08:02:00"), ("c", 2, "08:03:00"), ("a", 1, "08:10:00")
    )
    jobs.send(("b", 2, "08:10:01"))  # the watermark is 08:10:00
    jobs.send(("b", 2, "08:10:02"))
    found = [(f"{start:%H:%M}", *row) for start, *row in jobs.content(name)]
    assert found == [("08:00", "a", 4 if name == "rows_of_windows" else 5, 1), ("08:00", "b", 3, 2)]
    assert jobs.content("keys") == [("a",), ("b",)]


def test_top_n_of_sums_of_changes(jobs: Jobs) -> None:
    sums = "SELECT k, sum(x) AS total, count(*) AS n FROM clicks GROUP BY k"
    rows = f"SELECT k, total, ROW_NUMBER() OVER (ORDER BY total DESC, n) AS rn FROM ({sums})"
    columns = "rn INT, k STRING, total BIGINT, PRIMARY KEY (rn) NOT ENFORCED"
    jobs.start("ranked", columns, f"WITH r AS ({rows}) SELECT rn, k, total FROM r WHERE rn BETWEEN 2 AND 3")
    limited = f"SELECT k, total FROM ({sums}) ORDER BY total DESC, n LIMIT 2 OFFSET 1"
    jobs.start("limited", "k STRING, total BIGINT, PRIMARY KEY (k) NOT ENFORCED", limited)
    jobs.send(("a", 5, "08:00:00"), ("b", 4, "08:00:00"), ("c", 3, "08:00:00"), ("d", 1, "08:00:00"))
    assert jobs.content("ranked") == [(2, "b", 4), (3, "c", 3)]
    assert jobs.content("limited") == [("b", 4), ("c", 3)]
    jobs.send(("d", 8, "08:00:00"), ("a", -3, "08:00:00"))
    assert jobs.content("ranked") == [(2, "b", 4), (3, "c", 3)]
    jobs.send(("c", 3, "08:00:00"), ("a", 4, "08:00:00"))
    assert jobs.content("ranked") == [(2, "c", 6), (3, "a", 6)]
    assert jobs.content("limited") == [("a", 6), ("c", 6)]


@pytest.mark.long
def test_join_of_windows(jobs: Jobs) -> None:
    windows = "TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTES)"
    jobs.start(
        "joined",
        "start TIMESTAMP(3), k STRING, x INT, y INT",
        f"SELECT L.window_start, L.k, L.x, R.x FROM (SELECT * FROM {windows} WHERE x < 10) L LEFT JOIN (SELECT "
        f"window_start, window_end, k, x FROM {windows} WHERE x > 10) R ON L.k = R.k AND L.window_start = "
        "R.window_start AND L.window_end = R.window_end",
        upsert=False,
    )
    jobs.send(("a", 1, "08:00:00"), ("a", 11, "08:09:00"), ("b", 2, "08:00:00"), ("b", 12, "08:10:00"))
    jobs.send(("a", 3, "08:10:01"))
    jobs.send(("a", 4, "08:10:02"))
    rows = [(f"{row[0]:%H:%M}", *row[1:]) for row in jobs.content("joined")]
    assert rows == [("08:00", "a", 1, 11), ("08:00", "b", 2, None)]
