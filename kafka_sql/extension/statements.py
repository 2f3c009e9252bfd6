"""Execute statements from Spark's JVM; each belongs to a session of the JVM and comes on the thread that runs it."""

from __future__ import annotations

import threading
from collections import OrderedDict

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import kafka_sql
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import KafkaSqlError
from kafka_sql.spark.exceptions import original_exception
from kafka_sql.spark.jvm import JavaException, JavaObject, java_dataset
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.errors.spark_errors import mask_errors
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify import classify, is_query
from kafka_sql.sql.session.enable import session_tables

# Spark does not report when a connection to its Thrift server ends. A session that is used again after this many others
# has lost only its temporary tables.
_MAX_SESSIONS = 256


class Statements:
    """A ``java.util.function.BiFunction`` from a Java session and a statement to the result."""

    class Java:
        implements = ("java.util.function.BiFunction",)

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._sessions: OrderedDict[str, tuple[SparkSession, Tables]] = OrderedDict()
        self._lock = threading.Lock()

    def apply(self, java_session: JavaObject, text: str) -> JavaObject | str | None:
        """Execute a statement.

        Returns:
            the result as a Java Dataset; None if Spark is to run the statement itself; or the error, as a Java
            exception or a message.
        """
        try:
            return java_dataset(_execute(*self._session(java_session), text))
        except _SparkStatement:
            return None
        except KafkaSqlError as e:
            return str(e)
        except PySparkException as e:
            return original_exception(e) or str(e)
        except JavaException as e:
            return e.java_exception

    def _session(self, java_session: JavaObject) -> tuple[SparkSession, Tables]:
        key = java_session.sessionUUID()
        with self._lock:
            if key not in self._sessions:
                spark = kafka_sql.enable(SparkSession(self._context, java_session))
                tables = session_tables(spark)
                if tables is None:
                    raise AssertionError("an enabled session has tables")
                self._sessions[key] = spark, tables
                if len(self._sessions) > _MAX_SESSIONS:
                    self._sessions.popitem(last=False)
            self._sessions.move_to_end(key)
            return self._sessions[key]


class _SparkStatement(Exception):
    """Raised for a statement that Spark is to run itself, before it runs."""


def _execute(spark: SparkSession, tables: Tables, text: str) -> DataFrame:
    def run(statement: str) -> DataFrame:
        # the results of these are changed here, and the errors of queries of tables that are views
        is_changed = isinstance(classify(text), st.ShowTables | st.ShowViews | st.Explain)
        if statement == text and not is_changed and not _may_name_storage(tables, text):
            raise _SparkStatement
        return tables.spark_sql(statement)

    with mask_errors():
        tables.refresh()
        return dispatch(spark, tables, text, run)


def _may_name_storage(tables: Tables, text: str) -> bool:
    """Return whether Spark's errors of a query may contain storage names of tables (``catalog/storage_names.py``)."""
    words = text.lower()
    return is_query(text) and any(entry.is_view and entry.name[1].lower() in words for entry in tables)
