"""Errors that Spark reports are caught by this package's classes and by Spark's."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import kafka_sql
from kafka_sql.errors import DecodeError, MissingOptionError, SessionNotEnabledError, TopicNotFoundError
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def topic(sql: Any, topics: Topics) -> str:
    """A topic with a record that table t cannot decode."""
    topic = topics.create()
    topics.produce(topic, b'{"a": "one"}')
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic)}")
    return topic


@pytest.mark.parametrize(
    ("action", "spark_class"),
    [
        (lambda frame: frame.show(), PySparkException),
        (lambda frame: frame.collect(), PySparkException),
        pytest.param(
            lambda frame: frame.toPandas(),
            PySparkException,
            marks=pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization"),
        ),
        (lambda frame: list(frame.toLocalIterator()), Py4JJavaError),
        (lambda frame: frame.selectExpr("sum(a)").collect(), PySparkException),
        (lambda frame: frame.foreach(print), PySparkException),
        (lambda frame: frame.write.format("noop").mode("append").save(), PySparkException),
    ],
    ids=["show", "collect", "toPandas", "toLocalIterator", "aggregate", "foreach", "write"],
)
def test_an_error_of_a_task(
    spark: SparkSession, topic: str, action: Callable[[DataFrame], Any], spark_class: Any
) -> None:
    with pytest.raises(DecodeError) as raised:
        action(spark.read.table("t"))
    error = raised.value
    assert isinstance(error, spark_class)
    assert str(error).startswith(f"[DECODE] {topic}[0]@0, field 'a': found \"one\", expected INT")
    assert (error.where, error.field) == (f"{topic}[0]@0", "a")
    lines = "".join(traceback.format_exception(error)).splitlines()
    assert lines[-1] == f"kafka_sql.errors.DecodeError: {error}"
    assert error.__cause__ is not None


def test_an_error_of_a_task_is_a_python_exception(spark: SparkSession, topic: str) -> None:
    with pytest.raises(PythonException, match=rf"^\[DECODE\] {topic}\[0\]@0"):
        spark.table("t").collect()


def test_an_error_of_the_planner(sql: Any, topics: Topics) -> None:
    sql(f"CREATE TABLE t (a INT) {topics.with_options('no-such-topic')}")
    with pytest.raises(TopicNotFoundError, match=r"Create it, or set 'scan\.missing-topics' to 'ignore'\.$") as raised:
        sql("SELECT * FROM t").show()
    assert isinstance(raised.value, AnalysisException)
    assert raised.value.topic == "no-such-topic"
    with pytest.raises(TopicNotFoundError, match=r"Create it, or set 'sink\.topic\.create' to 'true'\.$"):
        sql("INSERT INTO t VALUES (1)")
    options = topics.with_options(topics.create(), **{"scan.startup.mode": "group-offsets"})
    sql(f"CREATE TABLE grouped (a INT) {options}")
    with pytest.raises(MissingOptionError, match=r"Set it, or set 'scan\.startup\.mode' to"):
        sql("SELECT * FROM grouped").collect()


def test_an_error_of_a_continuous_query(spark: SparkSession, topic: str, tmp_path: Path) -> None:
    writer = spark.readStream.table("t").writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    with pytest.raises(DecodeError) as raised:
        query.awaitTermination(60)
    error = query.exception()
    for each in (raised.value, error):
        assert isinstance(each, DecodeError)
        assert isinstance(each, StreamingQueryException)
        assert each.where == f"{topic}[0]@0"
        assert str(query.id) in str(each.__cause__)


def test_a_session_without_enable(spark: SparkSession, topics: Topics, topic: str) -> None:
    other = spark.newSession()
    with pytest.raises(SessionNotEnabledError, match=r"table 't'.*Call kafka_sql\.enable\(spark\)"):
        other.table("t").collect()
    with pytest.raises(
        SessionNotEnabledError, match=r"Flink's CREATE TABLE\. Call kafka_sql\.enable\(spark\)"
    ) as raised:
        other.sql(f"CREATE TABLE u (a INT) {topics.with_options(topic)}")
    assert isinstance(raised.value, ParseException)


def test_a_table_that_another_session_declares_later(sql: Any, spark: SparkSession, topics: Topics) -> None:
    other = kafka_sql.enable(spark.newSession())
    sql(f"CREATE TABLE later (a INT) {topics.with_options(topics.create())}")
    with pytest.raises(SessionNotEnabledError, match=r"table 'later', which another session declared\. Call"):
        other.table("later")
    kafka_sql.enable(other)
    assert other.table("later").collect() == []
