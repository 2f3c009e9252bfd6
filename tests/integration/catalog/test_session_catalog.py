"""Tables in a session whose session catalog is not Spark's own, as with Delta Lake or Iceberg."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import kafka_sql
from tests.topics import Topics

pytestmark = pytest.mark.integration

_CATALOG = "tests.SessionCatalog"
_SOURCE = """package tests;
public class SessionCatalog extends org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension {}"""


@pytest.fixture
def session(sql: Any, spark: SparkSession) -> Iterator[SparkSession]:
    """A session with a catalog that passes all calls to Spark's own."""
    assert spark._jvm is not None
    java: Any = spark._jvm
    thread = java.java.lang.Thread.currentThread()
    loader = thread.getContextClassLoader()
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(_SOURCE)
    thread.setContextClassLoader(compiler.getClassLoader())
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", _CATALOG)
    yield kafka_sql.enable(session)
    thread.setContextClassLoader(loader)


def test_reads_writes_and_streams(session: SparkSession, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    session.sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    session.sql(f"CREATE TABLE computed (a INT, b AS a + 1) {topics.with_options(source)}")
    session.sql(f"CREATE TABLE tgt (a INT, b INT) {topics.with_options(target)}")
    session.sql("INSERT INTO src VALUES (1)")
    assert session.sql("SELECT src.a FROM src").collect() == [(1,)]
    assert session.sql("SELECT * FROM computed").collect() == [(1, 2)]
    assert session.readStream.table("computed").columns == ["a", "b"]
    session.sql("SET 'execution.runtime-mode' = 'streaming'")
    session.sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    session.sql("INSERT INTO tgt SELECT src.a, 10 FROM src UNION ALL SELECT a, b FROM computed")
    (query,) = session.streams.active
    query.processAllAvailable()
    query.stop()
    values = [json.loads(message.value() or b"") for message in topics.consume(target, 2)]
    assert sorted(value["b"] for value in values) == [2, 10]
    assert {row.tableName for row in session.sql("SHOW TABLES").collect()} >= {"src", "computed", "tgt"}
    assert not [row.tableName for row in session.sql("SHOW TABLES").collect() if row.tableName.endswith("__source")]
