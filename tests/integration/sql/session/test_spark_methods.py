"""Listings and descriptions show the user's tables, and nothing internal."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row

from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def tables(sql: Any, topics: Topics) -> str:
    """Create tables of each kind, with views, hints and streams, and return their topic."""
    topic = topics.create()
    options = topics.with_options(topic)
    sql(f"CREATE TABLE plain (a INT) {options}")
    sql(f"CREATE TABLE computed (a INT, b AS a + 1, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) COMMENT 'both' {options}")
    sql(f"CREATE TEMPORARY TABLE passing (a INT) {options}")
    sql("CREATE TEMPORARY VIEW brief AS SELECT b FROM computed")
    sql("CREATE VIEW lasting AS SELECT b FROM computed")
    sql("SELECT * FROM plain /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */").collect()
    sql("SELECT * FROM STREAM computed")
    sql(f"SELECT * FROM read_kafka(bootstrapServers => '{topics.bootstrap}', topic => '{topic}')")
    yield topic
    sql("DROP VIEW IF EXISTS brief")
    sql("DROP VIEW lasting")


def test_tables_and_views_are_listed(spark: Any, sql: Any, tables: str) -> None:
    assert [row.tableName for row in sql("SHOW TABLES").collect()] == [
        "computed",
        "lasting",
        "plain",
        "brief",
        "passing",
    ]
    assert [tuple(row) for row in sql("SHOW VIEWS").collect()] == [("default", "lasting", False), ("", "brief", True)]
    assert [row.viewName for row in sql("SHOW VIEWS IN default LIKE 'b*'").collect()] == ["brief"]
    listed = {t.name: t for t in spark.catalog.listTables()}
    assert list(listed) == ["computed", "lasting", "plain", "brief", "passing"]
    assert {name: t.tableType for name, t in listed.items()} == {
        "computed": "MANAGED",
        "lasting": "VIEW",
        "plain": "MANAGED",
        "brief": "TEMPORARY",
        "passing": "TEMPORARY",
    }
    assert listed["computed"].description == "both"
    assert spark.catalog.getTable("computed") == listed["computed"]
    assert spark.catalog.getTable("default.plain") == listed["plain"]
    assert [t.name for t in spark.catalog.listTables("default", "c*")] == ["computed"]
    with pytest.raises(AnalysisException):
        spark.catalog.getTable("missing")


def test_describe_extended(sql: Any, topics: Topics, tables: str) -> None:
    plain = sql("DESCRIBE plain").collect()
    *columns, blank, title = sql("DESCRIBE EXTENDED plain").collect()[:3]
    assert columns == plain
    assert (blank.name, title.name, title.type) == ("", "# Kafka table", "default.plain")
    assert details(sql("DESC FORMATTED plain").collect()) == {
        "connector": "kafka",
        "topic": tables,
        "brokers": topics.bootstrap,
        "format": "json",
        "startup mode": "earliest-offset",
        "bounded mode": "unbounded",
    }
    sql(
        f"""CREATE TEMPORARY TABLE keyed (k INT, a INT, PRIMARY KEY (k) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'topic' = '{tables}', 'properties.bootstrap.servers' = '{topics.bootstrap}',
        'key.format' = 'json', 'value.format' = 'csv', 'properties.ssl.key.password' = 'hunter2')"""
    )
    shown = sql("DESCRIBE EXTENDED keyed").collect()
    assert {**details(shown), "brokers": ""} == {
        "connector": "upsert-kafka",
        "topic": tables,
        "brokers": "",
        "format": "csv",
        "key format": "json",
        "bounded mode": "unbounded",
    }
    assert "hunter2" not in str(shown)


def details(rows: list[Row]) -> dict[str, str]:
    """Return the rows after the title."""
    titles = [index for index, row in enumerate(rows) if row.name == "# Kafka table"]
    return {row.name: row.type for row in rows[titles[0] + 1 :]}
