"""A topic as a table: create, describe, read and write it."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from kafka_sql.errors import (
    InvalidOptionError,
    SchemaError,
    StatementError,
    TableExistsError,
    UnsupportedSqlError,
)
from tests.topics import Topics

pytestmark = pytest.mark.integration
UTC = timezone.utc

COLUMNS = """
  order_id BIGINT, price DECIMAL(10, 2), quantity INT COMMENT 'pieces',
  total AS price * quantity,
  ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
"""


def timestamp(second: int) -> datetime:
    return datetime(2026, 3, 2, 8, 0, second, tzinfo=UTC)


def instants(rows: Any) -> list[tuple[Any, ...]]:
    """Return rows with timestamps in UTC, because collect() returns local times."""
    return [tuple(v.astimezone(UTC) if isinstance(v, datetime) else v for v in row) for row in rows]


@pytest.fixture
def orders(sql: Any, topics: Topics) -> str:
    topic = topics.create(2)
    sql(f"CREATE TABLE orders ({COLUMNS}) {topics.with_options(topic)}")
    return topic


def test_reads_fields_metadata_and_computed_columns(sql: Any, topics: Topics, orders: str) -> None:
    milliseconds = int(timestamp(1).timestamp() * 1000)
    topics.produce(orders, b'{"order_id": 1, "price": 9.99, "quantity": 3}', timestamp=milliseconds)
    topics.produce(
        orders, b'{"order_id": 2, "price": null}', b'{"quantity": 7, "other": 1}', partition=1, timestamp=milliseconds
    )
    rows = sql("SELECT * FROM orders ORDER BY `partition`, `offset`").collect()
    assert instants(rows) == [
        (1, Decimal("9.99"), 3, Decimal("29.97"), timestamp(1), 0, 0),
        (2, None, None, None, timestamp(1), 1, 0),
        (None, None, 7, None, timestamp(1), 1, 1),
    ]


def test_each_query_reads_the_current_records(sql: Any, topics: Topics, orders: str) -> None:
    query = sql("SELECT count(*) FROM orders")
    assert sql("SELECT count(*) FROM orders").first()[0] == 0
    topics.produce(orders, b'{"order_id": 1}')
    assert sql("SELECT count(*) FROM orders").first()[0] == 1
    topics.produce(orders, b'{"order_id": 2}')
    assert query.first()[0] == 2  # planned by its first action, not by sql()
    joined = sql("SELECT a.order_id FROM orders a JOIN orders b ON a.order_id = b.order_id + 1")
    assert joined.collect() == [(2,)]


def test_latest_offset_is_an_empty_snapshot(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"a": 1}')
    sql(f"CREATE TABLE late (a INT) {topics.with_options(topic, **{'scan.startup.mode': 'latest-offset'})}")
    assert sql("SELECT * FROM late").collect() == []


@pytest.mark.long
def test_group_offsets_start_at_the_committed_offset(sql: Any, topics: Topics) -> None:
    from confluent_kafka import Consumer, TopicPartition

    topic = topics.create()
    topics.produce(topic, *(b'{"a": %d}' % i for i in range(5)))
    options = {"scan.startup.mode": "group-offsets", "properties.group.id": topic}
    sql(f"CREATE TABLE mine (a INT) {topics.with_options(topic, **options)}")
    with pytest.raises(
        Exception, match=rf"group '{topic}' has no valid committed offset for {topic}\[0\].*earliest-offset"
    ):
        sql("SELECT * FROM mine").collect()
    reset = {**options, "properties.auto.offset.reset": "earliest"}
    sql(f"CREATE TABLE reset (a INT) {topics.with_options(topic, **reset)}")
    assert sql("SELECT count(*) FROM reset").first()[0] == 5
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": topic, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    consumer.close()
    assert sql("SELECT a FROM mine").collect() == [(3,), (4,)]


def test_insert_values_writes_json_with_the_given_timestamp(sql: Any, topics: Topics, orders: str) -> None:
    sql("INSERT INTO orders VALUES (1, 9.99, 3, TIMESTAMP '2026-03-02 08:00:01Z')")
    (message,) = topics.consume(orders, 1, partitions=2)
    assert json.loads(message.value() or b"", parse_float=Decimal) == {
        "order_id": 1,
        "price": Decimal("9.99"),
        "quantity": 3,
    }
    assert message.timestamp() == (1, int(timestamp(1).timestamp() * 1000))
    assert sql("SELECT total FROM orders").first()[0] == Decimal("29.97")


def test_insert_by_column_list_and_by_name(sql: Any, topics: Topics, orders: str) -> None:
    sql("INSERT INTO orders (quantity, order_id) VALUES (5, 1)")
    sql("INSERT INTO orders BY NAME SELECT 2 AS order_id, 6 AS quantity")
    rows = [json.loads(m.value() or b"") for m in topics.consume(orders, 2, partitions=2)]
    assert sorted(rows, key=lambda f: f["order_id"]) == [
        {"order_id": 1, "price": None, "quantity": 5},
        {"order_id": 2, "price": None, "quantity": 6},
    ]


@pytest.mark.long
def test_insert_select_from_topic_to_topic(sql: Any, topics: Topics, orders: str) -> None:
    topics.produce(orders, *(b'{"order_id": %d, "price": 2.50, "quantity": %d}' % (i, i) for i in range(100)))
    copy = topics.create()
    sql(f"CREATE TABLE copy (id BIGINT, total DECIMAL(21, 2)) {topics.with_options(copy)}")
    sql("INSERT INTO copy SELECT order_id, total FROM orders WHERE quantity >= 40")
    topics.consume(copy, 60)
    assert sql("SELECT count(*), sum(total), min(id) FROM copy").collect() == [(60, Decimal("10425.00"), 40)]


def test_insert_with_parameters(sql: Any, topics: Topics, orders: str) -> None:
    sql("INSERT INTO orders (order_id, quantity) VALUES (:id, :n)", args={"id": 7, "n": 8})
    assert sql("SELECT order_id, quantity FROM orders WHERE quantity = ?", args=[8]).collect() == [(7, 8)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO orders (total) VALUES (1)", "no writable column 'total'"),
        ("INSERT INTO orders (`offset`) VALUES (1)", "no writable column 'offset'"),
    ],
)
def test_read_only_columns_cannot_be_written(sql: Any, orders: str, statement: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        sql(statement)


def test_overwrite_is_not_supported(sql: Any, orders: str) -> None:
    with pytest.raises(UnsupportedSqlError, match="INSERT OVERWRITE is not supported for a Kafka topic"):
        sql("INSERT OVERWRITE orders VALUES (1, 1, 1, NULL)")


def test_describe_show_tables_show_create(sql: Any, topics: Topics, orders: str) -> None:
    sql(f"CREATE TABLE secret (a INT) {topics.with_options(orders, **{'properties.sasl.password': 'hunter2'})}")
    described = {r.name: r for r in sql("DESCRIBE orders").collect()}
    assert list(described) == ["order_id", "price", "quantity", "total", "ts", "partition", "offset"]
    assert described["price"].type == "DECIMAL(10, 2)"
    assert described["total"].extras == "AS price * quantity"
    assert described["ts"].watermark == "ts - INTERVAL '5' SECOND"
    assert described["offset"].extras == "METADATA FROM 'offset' VIRTUAL"
    assert described["quantity"].comment == "pieces"
    names = [r.tableName for r in sql("SHOW TABLES").collect()]
    assert [n for n in names if "orders" in n or "secret" in n] == ["orders", "secret"]
    shown = sql("SHOW CREATE TABLE orders").first()[0]
    sql("DROP TABLE orders")
    sql(shown)  # creates the same table again
    assert sql("SHOW CREATE TABLE orders").first()[0] == shown
    assert "'topic' = '" + orders in shown
    masked = sql("SHOW CREATE TABLE secret").first()[0]
    assert "hunter2" not in masked
    assert "'properties.sasl.password' = '******'" in masked


def test_comments_reach_spark_unchanged(spark: Any, sql: Any, topics: Topics) -> None:
    columns = "a INT COMMENT 'it''s ${env:HOME} \\ so'"
    sql(f"CREATE TABLE commented ({columns}, b AS a + 1) COMMENT '${{env:HOME}}' {topics.with_options('x')}")
    assert spark.table("commented").schema["a"].metadata["comment"] == "it's ${env:HOME} \\ so"
    assert "Comment: ${env:HOME}\n" in sql("SHOW TABLE EXTENDED LIKE 'commented'").first().information


def test_drop(sql: Any, topics: Topics, orders: str) -> None:
    sql("DROP TABLE orders")
    assert "orders" not in [r.tableName for r in sql("SHOW TABLES").collect()]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql("SELECT * FROM orders")
    sql("DROP TABLE IF EXISTS orders")
    sql(f"CREATE TABLE orders (a INT) {topics.with_options(orders)}")  # the name is free again
    assert [r.name for r in sql("DESCRIBE orders").collect()] == ["a"]


def test_a_table_is_not_a_view_even_if_spark_has_it_as_a_view(sql: Any, topics: Topics, orders: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=r"it is a table, not a view\. Use DROP TABLE"):
        sql("DROP VIEW orders")
    sql("DROP TABLE orders")
    sql(f"CREATE TABLE orders (a INT, b AS a + 1) {topics.with_options(orders)}")
    assert [r.name for r in sql("DESCRIBE orders").collect()] == ["a", "b"]


def test_a_name_that_is_in_use(sql: Any, topics: Topics, orders: str) -> None:
    with pytest.raises(TableExistsError, match=r"Table 'default.orders' already exists.*IF NOT EXISTS"):
        sql(f"CREATE TABLE orders (a INT) {topics.with_options(orders)}")
    sql(f"CREATE TABLE IF NOT EXISTS orders (a INT) {topics.with_options(orders)}")
    assert len(sql("DESCRIBE orders").collect()) == 7


@pytest.mark.long
def test_two_databases_may_use_the_same_table_name(sql: Any, topics: Topics, orders: str) -> None:
    other = topics.create()
    topics.produce(other, b'{"a": 5}')
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.orders (a INT) {topics.with_options(other)}")
    assert sql("SELECT a FROM shop.orders").collect() == [(5,)]
    assert sql("SELECT count(*) FROM orders").first()[0] == 0
    sql("DROP TABLE shop.orders")
    sql("DROP DATABASE shop")


def test_a_temporary_table_hides_a_permanent_one(sql: Any, topics: Topics) -> None:
    permanent, topic = topics.create(), topics.create()
    sql(f"CREATE TABLE scratch (a INT, b AS a + 1) {topics.with_options(permanent)}")
    sql(f"CREATE TEMPORARY TABLE scratch (a INT) {topics.with_options(topic)}")
    assert [r.isTemporary for r in sql("SHOW TABLES").collect() if "scratch" in r.tableName] == [False, True]
    sql("INSERT INTO scratch VALUES (1)")
    sql("INSERT INTO scratch VALUES (2)")
    assert sorted(sql("SELECT * FROM scratch").collect()) == [(1,), (2,)]
    sql("DROP TEMPORARY TABLE scratch")
    sql("INSERT INTO scratch VALUES (3)")
    assert sql("SELECT * FROM scratch").collect() == [(3, 4)]


def test_tables_of_the_user_are_never_dropped(sql: Any, topics: Topics) -> None:
    """The data source of a table ``mine`` with computed columns would be ``mine__kafka``."""
    sql("CREATE TABLE mine__kafka (x INT) USING parquet")
    sql("INSERT INTO mine__kafka VALUES (1)")
    with pytest.raises(TableExistsError, match=r"'default\.mine__kafka' already exists as a Spark table or view"):
        sql(f"CREATE TABLE mine (a INT, b AS a + 1) {topics.with_options('x')}")
    assert sql("SELECT x FROM mine__kafka").collect() == [(1,)]


def test_a_failed_create_leaves_nothing(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    before = sql("SHOW TABLES").collect()
    with pytest.raises(InvalidOptionError, match=r"scan.startup.mode"):
        sql(f"CREATE TABLE t (a INT) {topics.with_options(topic, **{'scan.startup.mode': 'x'})}")
    with pytest.raises(SchemaError, match=r"Invalid metadata key 'ofset'.*Did you mean 'offset'"):
        sql(f"CREATE TABLE t (a INT, o BIGINT METADATA FROM 'ofset' VIRTUAL) {topics.with_options(topic)}")
    assert sql("SHOW TABLES").collect() == before


def test_other_statements_run_in_spark(sql: Any) -> None:
    sql("CREATE TABLE files (a INT) USING parquet")
    sql("INSERT INTO files VALUES (1)")
    assert sql("SELECT a FROM files").collect() == [(1,)]
    assert [r.col_name for r in sql("DESCRIBE files").collect()] == ["a"]
    sql("DROP TABLE files")


def test_types_round_trip(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    sql(
        """CREATE TABLE types (
          a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(38, 18), i STRING, j BYTES,
          k DATE, l TIMESTAMP(6), m TIMESTAMP_LTZ(6), n ARRAY<INT>, o MAP<STRING, BIGINT>,
          p ROW<x INT, y ARRAY<STRING>>, q VARCHAR(10)
        ) """
        + topics.with_options(topic)
    )
    row = """true, -128Y, 32767S, -2147483648, 9223372036854775807L, 1.5F, -0.1D,
      12345678901234567890.123456789012345678BD, 'a"\\\\b\\n\\u00e9', X'00FF', DATE '1969-07-20',
      TIMESTAMP_NTZ '1969-07-20 20:17:40.000001', TIMESTAMP '2026-03-02 08:00:01.5Z', array(1, NULL), map('k', 1L),
      named_struct('x', 1, 'y', array('z')), 'short'"""
    sql(f"INSERT INTO types VALUES ({row})")
    sql("INSERT INTO types (d) VALUES (1)")
    assert sql("SELECT * FROM types WHERE d < 0").collect() == sql(f"SELECT {row}").collect()
    assert sql("SELECT * FROM types WHERE d = 1").collect() == [(None,) * 3 + (1,) + (None,) * 13]
    topics.consume(topic, 2)


@pytest.mark.long
def test_raw_table(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"caf\xc3\xa9", None, b"")
    sql(
        f"CREATE TABLE lines (line STRING, `offset` BIGINT METADATA VIRTUAL) {topics.with_options(topic, format='raw')}"
    )
    sql("INSERT INTO lines VALUES ('x\ny')")
    rows = sql("SELECT line, `offset` FROM lines ORDER BY `offset`").collect()
    assert rows == [("café", 0), (None, 1), ("", 2), ("x\ny", 3)]


def test_not_null_is_checked(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"b": 1}')
    sql(f"CREATE TABLE strict (a INT NOT NULL, b INT) {topics.with_options(topic)}")
    with pytest.raises(Exception, match=rf"{topic}\[0\]@0, field 'a'"):
        sql("SELECT * FROM strict").collect()
    with pytest.raises(Exception, match="NULL"):
        sql("INSERT INTO strict VALUES (NULL, 1)")
    topics.consume(topic, 1)
