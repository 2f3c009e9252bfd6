"""Event-time temporal joins of batch queries: each row joins the version that is valid at its time."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from kafka_sql.errors import UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration


def put(topics: Topics, topic: str, time: str, key: str, value: str | None) -> None:
    """Write a version of a key, or a tombstone; ``time`` is the record's timestamp."""
    millis = int(datetime.fromisoformat(f"2026-01-01 {time}").replace(tzinfo=timezone.utc).timestamp() * 1000)
    payload = None if value is None else json.dumps({"currency": key, "rate": value}).encode()
    key_payload = json.dumps({"currency": key}).encode()
    topics.produce(topic, payload, key=key_payload, timestamp=millis)


@pytest.fixture
def orders(sql: Any, topics: Topics) -> str:
    topic = topics.create(2)
    sql(
        f"""CREATE TABLE orders (id INT, currency STRING, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts)
        {topics.with_options(topic, **{"json.timestamp-format.standard": "SQL"})}"""
    )
    for id, currency, time in [
        (1, "EUR", "08:59:59"), (2, "EUR", "09:00:00"), (3, "EUR", "10:14:59.999"), (4, "EUR", "10:15:00"),
        (5, "EUR", "11:00:00"), (6, "EUR", "12:00:00"), (7, "USD", "09:30:00"), (8, "GBP", "09:30:00"),
    ]:  # fmt: skip
        row = {"id": id, "currency": currency, "ts": f"2026-01-01 {time}Z"}
        topics.produce(topic, json.dumps(row).encode(), partition=id % 2)
    return topic


JOIN = "orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency"


def test_versions_of_an_upsert_table(sql: Any, topics: Topics, orders: str) -> None:
    topic = topics.create()
    sql(
        f"""CREATE TABLE rates (currency STRING, rate INT, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
        doubled AS rate * 2, WATERMARK FOR at AS at, PRIMARY KEY (currency) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{topics.bootstrap}',
        'key.format' = 'json', 'value.format' = 'json')"""
    )
    for time, key, value in [
        ("09:00:00", "EUR", "114"), ("09:00:00", "USD", "1"), ("10:15:00", "EUR", "119"), ("10:15:00", "EUR", "120"),
        ("10:45:00", "EUR", None), ("11:30:00", "EUR", "116"), ("11:00:00", "EUR", None), ("09:00:00", "YEN", None),
    ]:  # fmt: skip
        put(topics, topic, time, key, value)
    rows = sql(f"SELECT o.id, r.rate, r.doubled FROM {JOIN} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (1, None, None), (2, 114, 228), (3, 114, 228), (4, 120, 240), (5, None, None), (6, 116, 232), (7, 1, 2),
        (8, None, None),
    ]  # fmt: skip
    inner = f"SELECT * FROM {JOIN.replace('LEFT JOIN', 'JOIN')} WHERE r.rate > 114 ORDER BY o.id"
    result = sql(inner)
    assert result.columns == ["id", "currency", "ts", "currency", "rate", "at", "doubled"]
    assert [(row.id, row.rate) for row in result.collect()] == [(4, 120), (6, 116)]


def test_versions_of_a_changelog(sql: Any, topics: Topics, orders: str) -> None:
    topic = topics.create()
    sql(
        f"""CREATE TABLE rates (currency STRING, rate INT, at TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp',
        WATERMARK FOR at AS at - INTERVAL '5' SECOND, PRIMARY KEY (currency) NOT ENFORCED)
        {topics.with_options(topic, format="debezium-json")}"""
    )

    def change(time: str, op: str, before: Any, after: Any) -> None:
        millis = int(datetime.fromisoformat(f"2026-01-01 {time}+00:00").timestamp() * 1000)
        rows = [None if v is None else {"currency": "EUR", "rate": v} for v in (before, after)]
        event = {"before": rows[0], "after": rows[1], "op": op, "source": {"ts_ms": millis}}
        topics.produce(topic, json.dumps(event).encode())

    change("09:00:00", "c", None, 114)
    change("10:15:00", "u", 114, 119)
    change("11:00:00", "d", 119, None)
    rows = sql(f"SELECT o.id, r.rate FROM {JOIN} WHERE o.currency = 'EUR' ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, None), (2, 114), (3, 114), (4, 119), (5, None), (6, None)]


@pytest.mark.long
def test_versions_of_a_view_of_the_latest_rows(sql: Any, topics: Topics, orders: str) -> None:
    topic = topics.create()
    sql(
        f"""CREATE TABLE history (currency STRING, rate INT, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
        WATERMARK FOR at AS at) {topics.with_options(topic)}"""
    )
    sql(
        """CREATE TEMPORARY VIEW rates AS SELECT currency, rate, at FROM (SELECT *, ROW_NUMBER() OVER (
        PARTITION BY currency ORDER BY at DESC) AS row_num FROM history) WHERE row_num = 1"""
    )
    for time, key, value in [("09:00:00", "EUR", "114"), ("09:30:00", "USD", "1"), ("10:15:00", "EUR", "119")]:
        put(topics, topic, time, key, value)
    try:
        rows = sql(f"SELECT o.id, r.rate FROM {JOIN} ORDER BY id").collect()
    finally:
        sql("DROP VIEW rates")
    assert [tuple(row) for row in rows] == [
        (1, None), (2, 114), (3, 114), (4, 119), (5, 119), (6, 119), (7, 1), (8, None),
    ]  # fmt: skip


def test_refused(sql: Any, topics: Topics, orders: str) -> None:
    sql(f"CREATE TABLE rates (currency STRING, rate INT) {topics.with_options(orders)}")
    upsert = f"""'connector' = 'upsert-kafka', 'topic' = '{orders}', 'key.format' = 'json', 'value.format' = 'json',
        'properties.bootstrap.servers' = '{topics.bootstrap}'"""
    sql(f"CREATE TABLE timeless (currency STRING, rate INT, PRIMARY KEY (currency) NOT ENFORCED) WITH ({upsert})")
    sql("CREATE TEMPORARY VIEW all_rates AS SELECT * FROM rates")
    join = "SELECT * FROM orders AS o {} FOR SYSTEM_TIME AS OF {} AS r ON o.currency = r.currency"
    for table, time, message in [
        ("JOIN rates", "o.ts", "no primary key can be found in 'default.rates'"),
        ("JOIN timeless", "o.ts", "no row time attribute can be found in 'default.timeless'"),
        ("JOIN all_rates", "o.ts", "View 'all_rates' is not a versioned table"),
        ("JOIN nothing", "o.ts", "Table 'nothing' has no versions"),
        ("JOIN rates", "o.id", "'o.id' is not one"),
        ("FULL OUTER JOIN rates", "o.ts", "FULL OUTER JOIN"),
        ("RIGHT JOIN rates", "o.ts", "RIGHT JOIN"),
        ("JOIN STREAM rates", "o.ts", "exclude each other"),
    ]:
        with pytest.raises(UnsupportedSqlError) as error:
            sql(join.format(table, time))
        assert message in str(error.value)
    sql("DROP VIEW all_rates")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    with pytest.raises(UnsupportedSqlError, match="must be an INSERT INTO in a classic session"):
        sql(join.format("JOIN timeless", "o.ts"))
