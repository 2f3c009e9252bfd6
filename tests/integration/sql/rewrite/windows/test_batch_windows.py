"""Windows in batches: the rows of Flink's manual, offsets, time zones and sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

BIDS = [
    ("08:05", 4, "C"),
    ("08:07", 2, "A"),
    ("08:09", 5, "D"),
    ("08:11", 3, "B"),
    ("08:13", 1, "E"),
    ("08:17", 6, "F"),
]
AUTUMN = [  # New York sets its clocks back at 2 o'clock summer time, which is 06:00 UTC
    "2021-11-07T05:30:00Z",  # 01:30, the first time
    "2021-11-07T06:10:00Z",  # 01:10, the second time
    "2021-11-07T06:30:00Z",  # 01:30, the second time
    "2021-11-08T04:59:59.999Z",
    "2021-11-08T05:00:00Z",
]


@pytest.fixture
def bid(sql: Callable[..., Any], topics: Topics) -> None:
    topic = topics.create()
    sql(
        "CREATE TABLE Bid (bidtime TIMESTAMP(3), price INT, item STRING, WATERMARK FOR bidtime AS bidtime) "
        f"{topics.with_options(topic)}"
    )
    for time, price, item in BIDS:
        topics.produce(topic, json.dumps({"bidtime": f"2020-04-15 {time}:00", "price": price, "item": item}).encode())


@pytest.fixture
def new_york(spark: Any) -> Iterator[None]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", zone)


def rows(result: Any) -> list[tuple[Any, ...]]:
    """Return the rows, times as HH:MM."""
    return sorted(tuple(f"{v:%H:%M}" if isinstance(v, datetime) else v for v in row) for row in result.collect())


def test_tumble_returns_the_columns_of_the_manual(sql: Callable[..., Any], bid: None) -> None:
    result = sql("SELECT * FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))")
    assert result.columns == ["bidtime", "price", "item", "window_start", "window_end", "window_time"]
    assert {field.dataType.typeName() for field in result.schema[3:]} == {"timestamp_ntz"}
    first = min(result.collect())
    assert first[3:] == (
        datetime(2020, 4, 15, 8, 0),
        datetime(2020, 4, 15, 8, 10),
        datetime(2020, 4, 15, 8, 9, 59, 999000),
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)",
            [("08:00", "08:10", 11), ("08:10", "08:20", 10)],
        ),
        (
            "TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES, INTERVAL '1' MINUTES)",
            [("08:01", "08:11", 11), ("08:11", "08:21", 10)],
        ),
        (
            "HOP(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)",
            [("08:00", "08:10", 11), ("08:05", "08:15", 15), ("08:10", "08:20", 10), ("08:15", "08:25", 6)],
        ),
        (
            "CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES)",
            [
                ("08:00", "08:06", 4),
                ("08:00", "08:08", 6),
                ("08:00", "08:10", 11),
                ("08:10", "08:12", 3),
                ("08:10", "08:14", 4),
                ("08:10", "08:16", 4),
                ("08:10", "08:18", 10),
                ("08:10", "08:20", 10),
            ],
        ),
        (
            "SESSION(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES)",
            [("08:05", "08:15", 15), ("08:17", "08:19", 6)],
        ),
        (
            "SESSION(DATA => TABLE (SELECT *, price % 2 AS k FROM Bid) PARTITION BY k, TIMECOL => DESCRIPTOR(bidtime), "
            "GAP => INTERVAL '3' MINUTES)",
            [("08:05", "08:10", 6), ("08:09", "08:16", 9), ("08:17", "08:20", 6)],
        ),
    ],
)
def test_aggregates(sql: Callable[..., Any], bid: None, source: str, expected: list[tuple[Any, ...]]) -> None:
    query = f"SELECT window_start, window_end, sum(price) AS price FROM {source} GROUP BY window_start, window_end"
    assert rows(sql(query)) == expected
    sql(f"CREATE VIEW windowed AS {query}")  # Spark keeps the text for Spark
    assert rows(sql("SELECT * FROM windowed")) == expected
    sql("DROP VIEW windowed")


def test_group_windows(sql: Callable[..., Any], bid: None) -> None:
    result = sql(
        "SELECT HOP_START(bidtime, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) AS s, sum(price) FROM Bid "
        "WHERE price > 1 GROUP BY HOP(bidtime, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)"
    )
    assert rows(result) == [("08:00", 11), ("08:05", 14), ("08:10", 9), ("08:15", 6)]
    result = sql(
        "SELECT item, SESSION_START(bidtime, INTERVAL '2' MINUTES), SESSION_END(bidtime, INTERVAL '2' MINUTES) "
        "FROM Bid GROUP BY item, SESSION(bidtime, INTERVAL '2' MINUTES)"
    )
    assert rows(result)[:2] == [("A", "08:07", "08:09"), ("B", "08:11", "08:13")]


def test_windows_of_windows(sql: Callable[..., Any], bid: None) -> None:
    inner = (
        "SELECT window_time AS rowtime, sum(price) AS price FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), "
        "INTERVAL '5' MINUTES) GROUP BY window_start, window_end, window_time"
    )
    query = (
        f"WITH five AS ({inner}) SELECT window_start, window_end, sum(price), count(*) FROM "
        "TUMBLE(TABLE five, DESCRIPTOR(rowtime), INTERVAL '10' MINUTES) GROUP BY window_start, window_end"
    )
    assert rows(sql(query)) == [("08:00", "08:10", 11, 1), ("08:10", "08:20", 10, 2)]


def test_top_n_and_joins_of_windows(sql: Callable[..., Any], bid: None) -> None:
    tumble = "TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)"
    result = sql(
        "SELECT window_start, item, rownum FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY price DESC) AS rownum FROM {tumble}) WHERE rownum <= 2"
    )
    assert rows(result) == [("08:00", "C", 2), ("08:00", "D", 1), ("08:10", "B", 2), ("08:10", "F", 1)]
    result = sql(
        f"SELECT L.item, R.item, L.window_start FROM (SELECT * FROM {tumble} WHERE price > 3) L LEFT JOIN "
        f"(SELECT * FROM {tumble} WHERE price < 3) R ON L.window_start = R.window_start AND L.window_end = R.window_end"
    )
    assert rows(result) == [("C", "A", "08:00"), ("D", "A", "08:00"), ("F", "E", "08:10")]


def test_instants_are_in_windows_of_local_time(sql: Callable[..., Any], new_york: None) -> None:
    values = ", ".join(f"(TIMESTAMP '{time}')" for time in AUTUMN)
    sql(f"CREATE TEMPORARY VIEW autumn AS SELECT * FROM VALUES {values} AS v(ts)")

    def count(source: str) -> list[tuple[str, ...]]:
        columns = "window_start, window_end, window_time"
        query = f"SELECT {columns}, count(*) AS n FROM {source} GROUP BY {columns}"
        result = sql(query)
        types = [field.dataType.typeName() for field in result.schema]
        assert types == ["timestamp_ntz", "timestamp_ntz", "timestamp", "long"]
        shown = "CAST(window_start AS STRING), CAST(window_end AS STRING), unix_millis(window_time), n"
        text = sql(f"SELECT {shown} FROM ({query})")
        return sorted(tuple(row) for row in text.collect())

    assert count("TUMBLE(TABLE autumn, DESCRIPTOR(ts), INTERVAL '1' DAY)") == [
        ("2021-11-07 00:00:00", "2021-11-08 00:00:00", 1636347599999, 4),
        ("2021-11-08 00:00:00", "2021-11-09 00:00:00", 1636433999999, 1),
    ]
    # 01:59:59.999 exists twice
    assert count("TUMBLE(TABLE autumn, DESCRIPTOR(ts), INTERVAL '1' HOUR)")[0] == (
        "2021-11-07 01:00:00",
        "2021-11-07 02:00:00",
        1636268399999,
        3,
    )


def test_microseconds_and_times_before_1970(sql: Callable[..., Any]) -> None:
    sql(
        "CREATE TEMPORARY VIEW old AS SELECT * FROM VALUES (TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'), "
        "(TIMESTAMP_NTZ '1969-12-31 23:59:58.000000'), (TIMESTAMP_NTZ '0001-01-01 00:00:00'), (NULL) AS v(ts)"
    )
    first, second, third = "0001-01-01 00:00:00", "1969-12-31 23:59:58", "1969-12-31 23:59:59"
    for source, expected in [
        ("TUMBLE(TABLE old, DESCRIPTOR(ts), INTERVAL '1' SECOND)", [first, second, third]),
        ("SESSION(TABLE old, DESCRIPTOR(ts), INTERVAL '1.999' SECOND)", [first, second]),
        ("SESSION(TABLE old, DESCRIPTOR(ts), INTERVAL '1.998' SECOND)", [first, second, f"{third}.999"]),
    ]:
        result = sql(f"SELECT DISTINCT CAST(window_start AS STRING) FROM {source}")
        assert sorted(row[0] for row in result.collect()) == expected
