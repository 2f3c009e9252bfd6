"""Test reading and writing all metadata keys with their declared types."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import KafkaSqlError, SchemaError
from tests.spark_versions import needs_limits
from tests.topics import ANY_TIMESTAMP, Topics

pytestmark = pytest.mark.integration

Sql = Callable[..., Any]
TIMESTAMP_MILLIS = 1_700_000_000_123  # 2023-11-14 22:13:20.123 UTC


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_all_metadata_keys(sql: Sql, topics: Topics) -> None:
    topic = topics.create(2)
    sql(
        "CREATE TABLE t (a INT, topic STRING METADATA VIRTUAL, p INT METADATA FROM 'partition' VIRTUAL,"
        " headers MAP<STRING, BYTES> METADATA VIRTUAL,"
        " hs ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list' VIRTUAL,"
        " `leader-epoch` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL,"
        " ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', kind STRING METADATA FROM 'timestamp-type' VIRTUAL)"
        f" {topics.with_options(topic)}"
    )
    headers = [("k", b"1"), ("n", None), ("k", b"2")]
    topics.produce(topic, b'{"a": 1}', partition=1, timestamp=TIMESTAMP_MILLIS, headers=headers)
    topics.produce(topic, None, b'{"a": 2}', partition=1, timestamp=TIMESTAMP_MILLIS)
    assert rows(sql("SELECT topic, p, `leader-epoch`, `offset`, ts, kind FROM t ORDER BY a")) == [
        (topic, 1, 0, 0, datetime(2023, 11, 14, 22, 13, 20, 123000), "CreateTime"),
        (topic, 1, 0, 2, datetime(2023, 11, 14, 22, 13, 20, 123000), "CreateTime"),
    ]
    assert rows(sql("SELECT headers, hs FROM t ORDER BY a")) == [
        ({"n": None, "k": b"2"}, [("k", b"1"), ("n", None), ("k", b"2")]),
        ({}, []),
    ]


def test_declared_types(sql: Sql, topics: Topics, spark: Any) -> None:
    topic = topics.create()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        sql(
            "CREATE TABLE t (a INT, p BIGINT METADATA FROM 'partition' VIRTUAL,"
            " o STRING METADATA FROM 'offset' VIRTUAL, b BYTES METADATA FROM 'topic' VIRTUAL,"
            " n TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, headers MAP<STRING, STRING> METADATA VIRTUAL,"
            " hs ARRAY<ROW<n BYTES, v STRING>> METADATA FROM 'header-list' VIRTUAL)"
            f" {topics.with_options(topic)}"
        )
        headers = [("k", "\u00fc".encode()), ("x", b"\xff"), ("n", None)]
        topics.produce(topic, b'{"a": 1}', timestamp=TIMESTAMP_MILLIS, headers=headers)
        (row,) = sql("SELECT p, o, b, n, headers, hs FROM t").collect()
        assert (row.p, row.o, row.b) == (0, "0", topic.encode())
        assert row.n == datetime(2023, 11, 15, 7, 13, 20, 123000)
        assert row.headers == {"k": "\u00fc", "x": "\ufffd", "n": None}
        assert [tuple(h) for h in row.hs] == [(b"k", "\u00fc"), (b"x", "\ufffd"), (b"n", None)]
        for index, (declared, key, expected) in enumerate(
            [
                ("DECIMAL(20, 0)", "offset", "0"),
                ("TIMESTAMP(0)", "timestamp", "2023-11-15 07:13:20"),
                ("TIMESTAMP_LTZ(0)", "timestamp", "2023-11-15 07:13:20"),
                ("STRING", "timestamp", "2023-11-15 07:13:20.123"),
                ("DATE", "timestamp", "2023-11-15"),
            ]
        ):
            columns = f"m {declared} METADATA FROM '{key}' VIRTUAL, a INT"
            sql(f"CREATE TABLE t{index} ({columns}) {topics.with_options(topic)}")
            assert rows(sql(f"SELECT CAST(m AS STRING) FROM t{index}")) == [(expected,)], declared
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        # the time zone at query time, not at CREATE TABLE
        assert rows(sql("SELECT m FROM t3")) == [("2023-11-14 22:13:20.123",)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.long
@needs_limits
def test_timestamps_outside_of_sparks_range(spark: Any, sql: Sql, topics: Topics, tmp_path: Path) -> None:
    topic, copy = topics.create(**ANY_TIMESTAMP), topics.create()
    largest = 2**63 // 1000  # in milliseconds: Spark's timestamps have microseconds
    for n, timestamp in enumerate((TIMESTAMP_MILLIS, 2**63 - 1, 1_700_000_000_123_000_000, largest + 1, largest)):
        topics.produce(topic, b'{"n": %d}' % n, timestamp=timestamp)
    sql(
        "CREATE TABLE t (n INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts AS ts)"
        f" {topics.with_options(topic)}"
    )
    location = rf"{topic}\[0\]@1, field 'ts': metadata 'timestamp' is 9223372036854775807 ms since 1970"
    with pytest.raises(KafkaSqlError, match=location):
        sql("SELECT n FROM t").collect()
    ignored, logged = (
        f"SELECT n, unix_millis(ts) FROM t /*+ OPTIONS('error-handling.mode' = '{mode}') */"
        for mode in ("ignore", "log")
    )
    expected = 2 * [(0, TIMESTAMP_MILLIS)] + 2 * [(4, largest)]
    assert rows(sql(f"{ignored} UNION ALL {logged} ORDER BY n")) == expected

    # in a stream whose micro-batches are ordered by event time
    sql("ALTER TABLE t SET ('error-handling.mode' = 'ignore', 'scan.max-offsets-per-trigger' = '2')")
    sql(f"CREATE TABLE copy (n INT) {topics.with_options(copy)}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    (job,) = sql("INSERT INTO copy SELECT n FROM STREAM t").collect()
    query = spark.streams.get(job[0])
    query.processAllAvailable()
    query.stop()
    assert sorted(m.value() for m in topics.consume(copy, 2)) == [b'{"n":0}', b'{"n":4}']


@pytest.mark.parametrize(
    ("column", "fragment"),
    [
        ("p SMALLINT METADATA FROM 'partition'", "'p' with metadata key 'partition' of table 'default.t'"),
        (
            "`offset` INT METADATA",
            "metadata column 'offset' of table 'default.t'. The column cannot be declared as 'INT'",
        ),
        ("ts BIGINT METADATA FROM 'timestamp'", "castable from metadata type 'TIMESTAMP_LTZ(3) NOT NULL'"),
        ("topic VARCHAR(3) METADATA", "cannot be declared as 'VARCHAR(3)'"),
        ("topic MAP<STRING, STRING> METADATA", "castable from metadata type 'STRING NOT NULL'"),
        ("headers ARRAY<STRING> METADATA", "castable from metadata type 'MAP<STRING, BYTES> NOT NULL'"),
        (
            "x INT METADATA FROM 'value.source'",
            "Invalid metadata key 'value.source' in column 'x' of table 'default.t'",
        ),
    ],
)
def test_invalid_types_and_metadata_keys(sql: Sql, topics: Topics, column: str, fragment: str) -> None:
    with pytest.raises(SchemaError) as caught:
        sql(f"CREATE TABLE t (a INT, {column} VIRTUAL) {topics.with_options('x')}")
    assert fragment in str(caught.value)


def test_writing_timestamp_and_headers(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    sql(
        "CREATE TABLE t (a INT, ts TIMESTAMP(3) METADATA FROM 'timestamp', headers MAP<STRING, STRING> METADATA,"
        f" hs ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list' VIRTUAL) {topics.with_options(topic)}"
    )
    sql(
        "INSERT INTO t SELECT 1, TIMESTAMP_NTZ'2023-11-14 22:13:20.123', map('k', 'v', 'n', CAST(NULL AS STRING))"
        " UNION ALL SELECT 2, TIMESTAMP_NTZ'1970-01-01 00:00:00', NULL"
    )
    found = {m.value(): (m.timestamp()[1], m.headers()) for m in topics.consume(topic, 2)}
    assert found == {
        b'{"a":1}': (TIMESTAMP_MILLIS, [("k", b"v"), ("n", None)]),
        b'{"a":2}': (0, None),
    }
    assert rows(sql("SELECT ts FROM t WHERE a = 2")) == [(datetime(1970, 1, 1),)]
    sql("INSERT INTO t (a) VALUES (3)")
    last = next(m for m in topics.consume(topic, 3) if m.value() == b'{"a":3}')
    assert last.headers() is None
    assert last.timestamp()[1] > TIMESTAMP_MILLIS


def test_writing_a_header_list(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    sql(
        "CREATE TABLE t (a INT, hs ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list')"
        f" {topics.with_options(topic)}"
    )
    sql("INSERT INTO t SELECT 1, array(struct('k', X'01'), struct('k', CAST(NULL AS BINARY)), struct('k', X''))")
    assert topics.consume(topic, 1)[0].headers() == [("k", b"\x01"), ("k", None), ("k", b"")]
    assert rows(sql("SELECT hs FROM t")) == [([("k", b"\x01"), ("k", None), ("k", b"")],)]
    # fields have the position of the table's, whatever their names are
    sql("INSERT INTO t SELECT 2, array(named_struct('value', 'v', 'key', X'02'))")
    assert topics.consume(topic, 2)[1].headers() == [("v", b"\x02")]


def test_read_only_metadata(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    with_options = topics.with_options(topic)
    sql(f"CREATE TABLE o (a INT, `offset` BIGINT METADATA) {with_options}")
    topics.produce(topic, b'{"a": 1}')
    assert rows(sql("SELECT * FROM o")) == [(1, 0)]  # can be read without VIRTUAL
    with pytest.raises(KafkaSqlError, match=r"Invalid metadata key 'offset' in column 'offset' .* keys for writing: "):
        sql("INSERT INTO o VALUES (1, 2)")
    sql(f"CREATE TABLE n (a INT, topic STRING METADATA) {with_options}")
    with pytest.raises(KafkaSqlError, match=r"for writing: headers, header-list, timestamp\. .* METADATA VIRTUAL"):
        sql("INSERT INTO n VALUES (1, 'x')")
    sql(f"CREATE TABLE s (a INT, ts STRING METADATA FROM 'timestamp') {with_options}")
    with pytest.raises(KafkaSqlError, match=r"castable to metadata type 'TIMESTAMP_LTZ\(3\)'"):
        sql("INSERT INTO s VALUES (1, '2020-01-01')")
    both = "headers MAP<STRING, BYTES> METADATA, l ARRAY<ROW<k STRING, v BYTES>> METADATA FROM 'header-list'"
    sql(f"CREATE TABLE b (a INT, {both}) {with_options}")
    with pytest.raises(
        KafkaSqlError, match=r"writable metadata is ambiguous\. Please use either metadata key 'headers'"
    ):
        sql("INSERT INTO b SELECT 1, map(), array()")


def test_rows_select_their_topic(sql: Sql, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    both = topics.with_options(f"{one};{two}")
    sql(f"CREATE TABLE t (a INT, topic STRING METADATA) {both}")
    sql(f"INSERT INTO t VALUES (1, '{one}'), (2, '{two}'), (3, '{one}')")
    assert sorted(m.value() or b"" for m in topics.consume(one, 2)) == [b'{"a":1}', b'{"a":3}']
    assert rows(sql("SELECT a, topic FROM t ORDER BY a")) == [(1, one), (2, two), (3, one)]
    with pytest.raises(KafkaSqlError, match=rf"Expected topic to be in: \[{one}, {two}\] but was: x"):
        sql("INSERT INTO t VALUES (1, 'x')")
    with pytest.raises(KafkaSqlError, match=r"topic of the sink record is not valid.* but no topic is set"):
        sql("INSERT INTO t VALUES (1, NULL)")
    sql(f"CREATE TABLE u (a INT) {both}")
    with pytest.raises(KafkaSqlError, match=r"has several topics\. Expected a single topic but no topic is set"):
        sql("INSERT INTO u VALUES (1)")


@pytest.mark.long
def test_local_time_in_a_stream(spark: Any, sql: Sql, topics: Topics, tmp_path: Any) -> None:
    source, sink = topics.create(), topics.create()
    sql(f"CREATE TABLE s (a INT, d STRING METADATA FROM 'timestamp' VIRTUAL) {topics.with_options(source)}")
    sql(f"CREATE TABLE o (a INT, d STRING) {topics.with_options(sink)}")
    topics.produce(source, b'{"a": 1}', timestamp=TIMESTAMP_MILLIS)
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql("INSERT INTO o SELECT a, d FROM s")
    (query,) = spark.streams.active
    query.processAllAvailable()
    query.stop()
    assert topics.consume(sink, 1)[0].value() == b'{"a":1,"d":"2023-11-14 22:13:20.123"}'
