"""Errors that Spark reports are caught by this package's classes and by Spark's."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import __version__ as spark_version
from pyspark.errors import AnalysisException, ParseException, PySparkException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import kafka_sql
from kafka_sql.errors import (
    DecodeError,
    MissingOptionError,
    SessionNotEnabledError,
    TopicNotFoundError,
    UnsupportedSqlError,
)
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def topic(sql: Any, topics: Topics) -> str:
    """A topic with a record that table t cannot decode."""
    topic = topics.create()
    topics.produce(topic, b'{"a": "one"}')
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic)}")
    return topic


@pytest.mark.sample(1)
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


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "action",
    [
        lambda spark: spark.sql("SELECT upper(a) FROM t").show(),
        lambda spark: spark.sql("SELECT a FROM t").first(),
        lambda spark: spark.sql("SELECT a FROM t /*+ OPTIONS('scan.parallelism' = '1') */").count(),
        lambda spark: spark.readStream.table("t").collect(),
    ],
    ids=["show", "first", "hint", "readStream"],
)
def test_an_action_on_a_stream(
    sql: Any, spark: SparkSession, topic: str, action: Callable[[SparkSession], Any]
) -> None:
    sql("SET 'execution.runtime-mode' = 'streaming'")
    try:
        with pytest.raises(UnsupportedSqlError, match=r"^\[UNSUPPORTED_SQL\] Table 't' is read as a stream") as raised:
            action(spark)
    finally:
        sql("RESET 'execution.runtime-mode'")
    assert isinstance(raised.value, AnalysisException)
    assert raised.value.table == "t"


@pytest.fixture
def computed(sql: Any, topics: Topics) -> str:
    """A table with a computed column, which is a view over a data source of another name."""
    sql(f"CREATE TABLE computed (a INT, b AS a + 1) {topics.with_options(topics.create())}")
    return "computed"


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO {} VALUES (DATE'2020-01-01')", "INSERT INTO {} VALUES (1, 2)", "SELECT c FROM {}"],
)
def test_spark_errors_name_tables_as_declared(sql: Any, computed: str, statement: str) -> None:
    with pytest.raises(AnalysisException) as raised:
        sql(statement.format(computed))
    assert "computed" in str(raised.value)
    assert "computed__kafka" not in str(raised.value)


def test_plans_name_tables_as_declared(
    sql: Any, spark: SparkSession, computed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    statements = [f"SELECT b FROM {computed}", f"INSERT INTO {computed} VALUES (1)"]
    hint = f"SELECT b FROM {computed} /*+ OPTIONS('scan.parallelism' = '1') */"
    plans = [sql(f"EXPLAIN EXTENDED {statement}").first()[0] for statement in [*statements, hint]]
    plans.append(sql(f"EXPLAIN {statements[1]}").first()[0])
    if spark_version >= "4.2":
        assert "AppendData spark_catalog.default.computed kafka.computed" in plans[-1]
    else:  # 4.1 shows the data source only
        assert "AppendData kafka.computed\n" in plans.pop()
    spark.table(computed).explain(True)
    plans.append(capsys.readouterr().out)
    assert plans[-1].startswith("== Parsed Logical Plan ==")
    for plan in plans:
        assert "spark_catalog.default.computed" in plan
        assert "__kafka" not in plan
