"""Convert Spark's exceptions to this package's errors where Spark reports one of them.

A converted error is an instance of both classes: ``except DecodeError`` and ``except PythonException`` catch it. Its
message is this package's, its methods are Spark's, and Spark's exception is its ``__cause__``. Other errors of Spark
name a user's tables as declared.

Sessions that are not enabled are affected only if they use Kafka tables or declare them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from kafka_sql.catalog.storage_names import show_table_names, show_table_names_in_error
from kafka_sql.errors import KafkaSqlError, SessionNotEnabledError, SqlSyntaxError, UnsupportedSqlError
from kafka_sql.spark.exceptions import change_message, convert_exceptions, stack_trace
from kafka_sql.spark.patches import patch_syntax_errors
from kafka_sql.sql.errors.spark_errors import extract_error
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.splitter import statements
from kafka_sql.sql.recognize.statement_types import CreateTable

_UNKNOWN_SOURCE = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] Failed to find the data source: (kafka_sql|kafka\.[\w.]*\w)\.")
# an action on a streaming DataFrame; the last line is its source
_STREAMING_QUERY = re.compile(
    r"Queries with streaming sources must be executed with writeStream\.start\(\).*^(kafka_sql|kafka\.[\w.]*\w)",
    re.MULTILINE | re.DOTALL,
)
_NO_JAR_NEEDED = (
    "\nkafka_sql needs no jar: declare the topic with CREATE TABLE ... WITH ('connector' = 'kafka', ...), or use "
    "format('kafka_sql') with the options 'topic', 'properties.bootstrap.servers' and 'format', and a schema."
)
# The folder of a managed table remains when an in-memory catalog ends. Spark advises to delete it, with its rows.
_EXISTING_LOCATION = re.compile(
    r"(\[LOCATION_ALREADY_EXISTS\].* location '?([^']+?)'? already exists\.) Please pick a different table name, or "
    "remove the existing location first\\."
)
_ADVICE = "Call kafka_sql.enable(spark) for the session."


def convert_errors(spark: SparkSession) -> None:
    """Convert the errors of all sessions of this process that are of the same type, classic or Connect."""
    patch_syntax_errors(spark, explain_syntax_error)
    convert_exceptions(spark, convert_error)


def convert_error(spark_error: Exception, raised: Exception) -> Exception:
    """Return this package's error if an exception of Spark reports one, or the exception with names as declared."""
    error = _extract(spark_error)
    if error is not None:
        return combine(error, raised, spark_error)
    change_message(spark_error, _show_table_names)
    return spark_error


def explain_syntax_error(statement: str, spark_error: ParseException) -> Exception | None:
    """Return the error of a session that is not enabled, if the statement is Flink's CREATE TABLE."""
    # Enabled sessions do not pass this statement to Spark.
    if "connector" not in statement or not isinstance(classify(statement), CreateTable):
        return None
    error = SessionNotEnabledError(f"This session does not accept Flink's CREATE TABLE. {_ADVICE}")
    return combine(error, spark_error, spark_error)


@contextmanager
def explain_several_statements(text: str) -> Iterator[None]:
    """Replace the syntax error of a text that has several statements, which only marks where the second one starts.

    Raises:
        SqlSyntaxError: the text has several statements; also an instance of ParseException if Spark raised that.
    """
    try:
        yield
    except (SqlSyntaxError, ParseException) as e:
        count = sum(1 for _ in statements(text))
        if count < 2:
            raise
        error = SqlSyntaxError(
            f"spark.sql() runs one statement, but this text has {count}. Run them one by one, or save them to a file "
            "and run it with kafka-sql -f FILE."
        )
        raise (combine(error, e, e) if isinstance(e, ParseException) else error) from None


def _extract(spark_error: Exception) -> KafkaSqlError | None:
    """Return the error that an exception of Spark reports in its message or in the causes of its stack trace."""
    if isinstance(spark_error, KafkaSqlError):
        return None
    message, trace = str(spark_error), stack_trace(spark_error)
    return (
        extract_error(message)
        or (extract_error(trace) if trace else None)
        or _not_enabled_error(message)
        or _streaming_query_error(message)
    )


def _show_table_names(text: str) -> str:
    """Replace storage names in the message of an exception, and add or replace advice."""
    text = _EXISTING_LOCATION.sub(_advise_on_location, text)
    lacks_jar = "[KAFKA_DATA_SOURCE_NOT_ENABLED]" in text and _NO_JAR_NEEDED not in text
    return show_table_names_in_error(text) + (_NO_JAR_NEEDED if lacks_jar else "")


def _advise_on_location(match: re.Match[str]) -> str:
    return (
        f"{match[1]} It may have rows that an earlier session wrote into a table of this name: an in-memory catalog "
        f"forgets the table when the session ends, but not its rows. To use them, add LOCATION '{match[2]}' to the "
        "CREATE TABLE. For another table, choose another name or another LOCATION."
    )


def _not_enabled_error(text: str) -> SessionNotEnabledError | None:
    """Return the error of a session without ``enable()``, to which a Kafka table is an unknown data source."""
    source = _UNKNOWN_SOURCE.search(text)
    if source is None:
        return None
    if source[1] == "kafka_sql":
        return SessionNotEnabledError(f"This session cannot find format 'kafka_sql'. {_ADVICE}")
    table = source[1].removeprefix("kafka.")
    return SessionNotEnabledError(
        f"This session cannot read or write table '{table}', which another session declared. {_ADVICE} If the "
        "application that declared it has ended, declare it again.",
        table=table,
    )


def _streaming_query_error(text: str) -> UnsupportedSqlError | None:
    """Return the error of an action such as ``show()`` on a DataFrame that reads a Kafka table as a stream."""
    source = _STREAMING_QUERY.search(text)
    if source is None:
        return None
    table = None if source[1] == "kafka_sql" else show_table_names(source[1]).removeprefix("kafka.")
    subject, reader = (f"Table '{table}'", "spark.table") if table else ("Format 'kafka_sql'", "spark.read")
    return UnsupportedSqlError(
        f"{subject} is read as a stream, which has no last row to show or collect. To read to the current end of the "
        f"topic, SET 'execution.runtime-mode' = 'batch' and run the query again; in Python, use {reader} in place of "
        "spark.readStream. To process the stream, write it with INSERT INTO or DataFrame.writeStream.",
        table=table,
    )


def combine(error: KafkaSqlError, raised: Exception, cause: Exception) -> KafkaSqlError:
    """Return an error that is also an instance of the class that Spark raises.

    Args:
        raised: what Spark raises without this package.
        cause: Spark's description of the failure.
    """
    error_class = type(error)
    names = {name: getattr(error_class, name) for name in ("__module__", "__qualname__", "__doc__")}
    combined_class = type(error_class.__name__, (_SparkFailure, error_class, type(raised)), names)
    combined: KafkaSqlError = combined_class.__new__(combined_class, *error.args)
    combined.__dict__.update({**vars(raised), **vars(error), "_error": error, "_cause_in_spark": cause})
    return combined


class _SparkFailure:
    """An error of this package that Spark reported."""

    _error: KafkaSqlError
    _cause_in_spark: Exception

    @property
    def __cause__(self) -> BaseException:
        """Spark's exception. PySpark raises its exceptions ``from None``, which removes any other cause."""
        return self._cause_in_spark

    @__cause__.setter
    def __cause__(self, cause: BaseException | None) -> None:
        """Ignore another cause."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy only this package's error: Spark's exceptions refer to objects in the JVM."""
        return self._error.with_message(self._error.message).__reduce__()
