"""A computed column follows the time zone of the session that runs a query; other settings do not change it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import kafka_sql
from kafka_sql.runtime.time_zone import SESSION_TIME_ZONE
from tests.topics import Topics

pytestmark = pytest.mark.integration

NOON = 1704110400000  # milliseconds, 2024-01-01 12:00:00 UTC


@pytest.fixture
def time_zone(sql: Any, spark: Any) -> Iterator[Any]:
    """Return a function that sets the session's time zone for the test."""
    yield lambda zone: sql(f"SET 'table.local-time-zone' = '{zone}'")
    spark.conf.set(SESSION_TIME_ZONE, "UTC")


@pytest.fixture
def noon(topics: Topics) -> str:
    topic = topics.create()
    topics.produce(topic, b'{"id": 1, "ts": "2024-01-01 12:00:00Z"}', timestamp=NOON)
    return topic


def test_computed_columns_follow_the_time_zone_of_the_query(
    spark: Any, sql: Any, streaming: Any, topics: Topics, noon: str, time_zone: Any
) -> None:
    columns = """id INT, ts TIMESTAMP_LTZ(3), m TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
      hh AS DATE_FORMAT(ts, 'HH:mm'), h AS EXTRACT(HOUR FROM ts), local AS CAST(ts AS TIMESTAMP(3))"""
    streaming("SET 'execution.runtime-mode' = 'batch'")
    time_zone("UTC")
    sql(f"CREATE TABLE w ({columns}) {topics.with_options(noon)}")
    sql(f"CREATE TEMPORARY TABLE tw ({columns}) {topics.with_options(noon)}")
    sql("CREATE VIEW v AS SELECT *, date_format(ts, 'HH:mm') AS own FROM w")
    sql("CREATE VIEW vv AS SELECT * FROM v")
    sql("CREATE TEMPORARY VIEW tv AS SELECT * FROM w")
    read = "CAST(m AS STRING), hh, h, CAST(local AS STRING) FROM"
    queries = [f"SELECT '{name}', {read} {name}" for name in ("w", "tw", "v", "vv", "tv")]
    queries.append(f"SELECT 'hint', {read} w /*+ OPTIONS('scan.parallelism' = '1') */")

    time_zone("Asia/Tokyo")
    local = ("2024-01-01 21:00:00", "21:00", 21, "2024-01-01 21:00:00")
    assert {tuple(row)[1:] for row in sql(" UNION ALL ".join(queries)).collect()} == {local}
    assert spark.table("w").select("hh").collect() == [("21:00",)]
    # the expressions of a view keep the time zone of CREATE VIEW, as in all views of Spark
    assert sql("SELECT own FROM v").collect() == [("12:00",)]

    written = topics.create()
    sql(f"CREATE TABLE texts (hh STRING, local STRING, m STRING) {topics.with_options(written)}")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    query = sql("INSERT INTO texts SELECT hh, CAST(local AS STRING), CAST(m AS STRING) FROM w")
    assert query is not None
    (message,) = topics.consume(written, 1)
    assert json.loads(message.value() or b"") == {"hh": "21:00", "local": local[3], "m": local[0]}
    sql("SET 'execution.runtime-mode' = 'batch'")

    other = kafka_sql.enable(spark.newSession())
    other.conf.set(SESSION_TIME_ZONE, "America/New_York")
    assert other.sql("SELECT hh, h FROM w").collect() == [("07:00", 7)]
    sql("DROP VIEW vv")
    sql("DROP VIEW v")


def test_threads_and_rdds_have_the_time_zone(spark: Any, sql: Any, topics: Topics, noon: str) -> None:
    """Spark passes to tasks only settings that were set, and none to the tasks of an RDD."""
    columns = "id INT, t TIMESTAMP(3) METADATA FROM 'timestamp'"
    results: dict[str, Any] = {}

    def run() -> None:
        session = kafka_sql.enable(spark.newSession())
        session.conf.unset(SESSION_TIME_ZONE)
        session.sql(f"CREATE TABLE a1 ({columns}) {topics.with_options(noon)}")
        session.sql("INSERT INTO a1 SELECT 2, t FROM a1")
        session.conf.unset(SESSION_TIME_ZONE)
        results["default"] = session.sql("SELECT t FROM a1").collect()
        session.conf.set(SESSION_TIME_ZONE, "Asia/Tokyo")
        results["RDD"] = session.sql("SELECT t FROM a1").repartition(2).rdd.collect()
        results["iterator"] = list(session.sql("SELECT t FROM a1").toLocalIterator())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    default = ZoneInfo(spark._jvm.java.util.TimeZone.getDefault().getID())
    for name, zone in {"default": default, "RDD": ZoneInfo("Asia/Tokyo"), "iterator": ZoneInfo("Asia/Tokyo")}.items():
        assert results[name] == [(datetime.fromtimestamp(NOON / 1000, zone).replace(tzinfo=None),)] * 2, name
