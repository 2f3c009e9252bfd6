"""Errors of this package that Spark reports are instances of both classes."""

from __future__ import annotations

import copy
import pickle
import traceback
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException, PythonException
from pyspark.errors.exceptions import captured

from kafka_sql.catalog.storage_names import add_storage_name, remove_storage_name
from kafka_sql.errors import (
    BrokerError,
    DecodeError,
    KafkaSqlError,
    SessionNotEnabledError,
    TopicNotFoundError,
    UnsupportedSqlError,
)
from kafka_sql.spark.exceptions import create_converted
from kafka_sql.sql.errors.conversion import convert_error, explain_syntax_error

TRACEBACK = "Traceback (most recent call last):\n  File x\n    y\n"
DECODE = (
    f"{TRACEBACK}kafka_sql.errors.DecodeError: [DECODE] orders[0]@17, field 'a': found \"x\", expected INT\n"
    '[attributes {"row": 0, "field": "a", "where": "orders[0]@17", "reason": "found \\"x\\", expected INT"}]\n'
)
PLANNING = (
    f"[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: {TRACEBACK}"
    "kafka_sql.errors.TopicNotFoundError: [TOPIC_NOT_FOUND] Topic 'orders' does not exist on localhost:9092.\n"
    '[attributes {"topic": "orders", "servers": "localhost:9092"}]\n'
    " SQLSTATE: 38000"
)
UNKNOWN_SOURCE = (
    "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: {}. Make sure the provider name is correct and the "
    "package is properly registered and compatible with your Spark version. SQLSTATE: 42K02"
)


class UnknownException(captured.UnknownException):
    """A Java exception to which no class of PySpark corresponds, without a JVM."""

    def __init__(self, text: str, stack_trace: str) -> None:
        self._desc, self._stackTrace = text, stack_trace

    def __str__(self) -> str:
        return self._desc


def convert(error: Exception | None) -> Any:
    """Convert an exception as if PySpark had created it for an exception of the JVM."""
    return create_converted(convert_error, lambda java_exception: error, SimpleNamespace(_target_id="o1"))


def test_an_error_of_a_task_is_caught_by_both_classes() -> None:
    spark_error = PythonException(DECODE)
    error = convert(spark_error)
    assert isinstance(error, DecodeError)
    assert isinstance(error, PythonException)
    assert str(error) == "[DECODE] orders[0]@17, field 'a': found \"x\", expected INT"
    assert (error.where, error.field, error.reason) == ("orders[0]@17", "a", 'found "x", expected INT')
    assert error.__cause__ is spark_error


def test_an_error_of_the_planner_is_caught_by_both_classes() -> None:
    error = convert(AnalysisException(PLANNING, errorClass="PYTHON_DATA_SOURCE_ERROR"))
    assert isinstance(error, TopicNotFoundError)
    assert isinstance(error, BrokerError)
    assert isinstance(error, AnalysisException)
    assert (error.condition(), error.getCondition()) == ("TOPIC_NOT_FOUND", "PYTHON_DATA_SOURCE_ERROR")
    assert (error.topic, error.servers) == ("orders", "localhost:9092")


def test_its_message_is_the_last_line_of_the_traceback() -> None:
    with pytest.raises(DecodeError) as raised:  # as PySpark raises its exceptions
        raise convert(PythonException(DECODE)) from None
    lines = "".join(traceback.format_exception(raised.value)).splitlines()
    assert lines[-1] == f"kafka_sql.errors.DecodeError: {raised.value}"
    assert raised.value.__cause__ is not None


def test_a_java_exception_stays_an_instance_of_py4js_class() -> None:
    error = convert(UnknownException("org.apache.spark.SparkException: [TASK_WRITE_FAILED] x", f"Caused by: {DECODE}"))
    assert isinstance(error, DecodeError)
    assert isinstance(error, Py4JJavaError)
    assert not isinstance(error, captured.UnknownException)  # PySpark would replace it
    assert error.java_exception._target_id == "o1"
    assert "TASK_WRITE_FAILED" in str(error.__cause__)
    assert str(error).startswith("[DECODE] orders[0]@17")


def test_copies_are_plain_errors_of_this_package() -> None:
    error = convert(PythonException(DECODE))
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is DecodeError
        assert (str(again), again.where) == (str(error), "orders[0]@17")


def test_another_cause_is_ignored() -> None:
    error = convert(PythonException(DECODE))
    cause = error.__cause__
    error.__cause__ = None  # as process pools do
    assert error.__cause__ is cause


@pytest.mark.parametrize(
    "error", [None, PySparkException("x"), DecodeError(0, None, "no JSON"), AnalysisException("kafka_sql.orders")]
)
def test_other_results_stay(error: Exception | None) -> None:
    assert convert(error) is error


@pytest.mark.parametrize(
    ("provider", "table", "words"),
    [
        ("kafka.orders", "orders", "cannot read or write table 'orders'"),
        ("kafka.shop.orders", "shop.orders", "cannot read or write table 'shop.orders'"),
        ("kafka_sql", None, "cannot find format 'kafka_sql'"),
    ],
)
def test_a_session_that_is_not_enabled_has_no_data_source(provider: str, table: str | None, words: str) -> None:
    error = convert(UnknownException(UNKNOWN_SOURCE.format(provider), ""))
    assert isinstance(error, SessionNotEnabledError)
    assert isinstance(error, Py4JJavaError)
    assert words in str(error)
    assert "Call kafka_sql.enable(spark)" in str(error)
    assert "\n" not in str(error)
    assert error.table == table


@pytest.mark.parametrize("provider", ["kafka", "kafkas.orders", "delta"])
def test_other_data_sources_are_not_explained(provider: str) -> None:
    assert not isinstance(convert(UnknownException(UNKNOWN_SOURCE.format(provider), "")), KafkaSqlError)


@pytest.mark.parametrize(
    ("source", "table", "words"),
    [
        ("kafka.orders", "orders", "Table 'orders' is read as a stream, which has no last row"),
        ("kafka.shop.orders", "shop.orders", "in Python, use spark.table in place of spark.readStream."),
        ("kafka_sql", None, "in Python, use spark.read in place of spark.readStream."),
    ],
)
@pytest.mark.parametrize("hint", [".", ", or from a streaming table or flow definition within a pipeline."])
def test_an_action_on_a_stream_says_how_to_run_the_query(source: str, table: str | None, words: str, hint: str) -> None:
    message = f"Queries with streaming sources must be executed with writeStream.start(){hint};\n{source}\n"
    error = convert(AnalysisException(message, errorClass="_LEGACY_ERROR_TEMP_3102", messageParameters={}))
    assert isinstance(error, UnsupportedSqlError)
    assert isinstance(error, AnalysisException)
    assert words in str(error)
    assert "SET 'execution.runtime-mode' = 'batch' and run the query again" in str(error)
    assert error.table == table


@pytest.mark.parametrize("source", ["rate", "kafka", "kafkas.orders"])
def test_an_action_on_a_stream_of_spark_is_sparks_error(source: str) -> None:
    message = f"Queries with streaming sources must be executed with writeStream.start();\n{source}"
    assert not isinstance(convert(AnalysisException(message)), KafkaSqlError)


def test_errors_of_spark_name_tables_as_declared() -> None:
    add_storage_name(("default", "orders__kafka"), ("default", "orders"))
    try:
        error = convert(AnalysisException("Cannot write data for the table `default`.`orders__kafka`: x"))
    finally:
        remove_storage_name(("default", "orders__kafka"))
    assert str(error) == "Cannot write data for the table `default`.`orders`: x"


SYNTAX_ERROR = ParseException("[PARSE_SYNTAX_ERROR] Syntax error at or near '('. SQLSTATE: 42601 (line 1, pos 28)")


def test_a_session_that_is_not_enabled_cannot_parse_a_declaration() -> None:
    statement = "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'a:b')"
    error = explain_syntax_error(statement, SYNTAX_ERROR)
    assert isinstance(error, SessionNotEnabledError)
    assert isinstance(error, ParseException)
    assert str(error) == (
        "[SESSION_NOT_ENABLED] This session does not accept Flink's CREATE TABLE. Call kafka_sql.enable(spark) for the "
        "session."
    )


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (a INT b)", "SELECT 'connector' FROM (", "CREATE TABEL 'connector'"]
)
def test_other_syntax_errors_are_sparks(statement: str) -> None:
    assert explain_syntax_error(statement, SYNTAX_ERROR) is None


def test_spark_own_source_without_its_jar() -> None:
    text = "[KAFKA_DATA_SOURCE_NOT_ENABLED] Failed to find data source: kafka. Please deploy the application."
    error = convert(convert(AnalysisException(text)))  # several sessions patch the functions
    assert str(error) == (
        f"{text}\nkafka_sql needs no jar: declare the topic with CREATE TABLE ... WITH ('connector' = 'kafka', ...), "
        "or use format('kafka_sql') with the options 'topic', 'properties.bootstrap.servers' and 'format', and a "
        "schema."
    )


def test_the_existing_location_of_a_table_is_not_to_be_removed() -> None:
    text = (
        "[LOCATION_ALREADY_EXISTS] Cannot name the managed table as `lake`, as its associated location 'file:/w/lake' "
        "already exists."
    )
    advice = " Please pick a different table name, or remove the existing location first. SQLSTATE: 42710"
    error = convert(convert(AnalysisException(text + advice)))
    assert str(error) == (
        f"{text} It may have rows that an earlier session wrote into a table of this name: an in-memory catalog "
        "forgets the table when the session ends, but not its rows. To use them, add LOCATION 'file:/w/lake' to the "
        "CREATE TABLE. For another table, choose another name or another LOCATION. SQLSTATE: 42710"
    )
