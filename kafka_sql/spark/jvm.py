"""Reach the JVM objects of a classic session. A Spark Connect session has none.

Other packages do not call methods of Spark's Java objects: they call functions of ``kafka_sql.spark`` that do. They
catch ``JavaError`` where a call may fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import DataType

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.internal import Internal, JavaClass, PythonName

JavaObject: TypeAlias = Any  # an object of the JVM

JavaError: Final = Py4JError  # a call failed, or the class or method does not exist
JavaException: Final = Py4JJavaError  # Java raised an exception that PySpark does not convert
JAVA_EXCEPTIONS: Final = (Py4JJavaError, PySparkException)  # PySpark converts some of them

_JVM = "Java objects are only reachable this way; PySpark is built on it"
_FAILS = "enable() and every statement fail in classic sessions with AttributeError"

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName("pyspark.core.context.SparkContext._jvm", _JVM, _FAILS),
    PythonName("pyspark.core.context.SparkContext._gateway", "arrays and callbacks need Py4J's gateway", _FAILS),
    PythonName("pyspark.core.context.SparkContext._jsc", "leads to Spark's own SparkContext", _FAILS),
    PythonName("pyspark.sql.session.SparkSession._jsparkSession", "leads to the session's state", _FAILS),
    PythonName("pyspark.sql.classic.dataframe.DataFrame._jdf", "leads to the query's plans", _FAILS),
    PythonName("pyspark.sql.classic.column.Column._jc", "Java functions of this package take columns", _FAILS),
    PythonName(
        "pyspark.sql.streaming.query.StreamingQuery._jsq", "metrics read the last execution", "bytes are not reported"
    ),
    JavaClass(
        "org.apache.spark.sql.types.DataType",
        "Java functions of this package take types",
        _FAILS,
        members=("fromJson/1",),
    ),
    JavaClass(
        "org.apache.spark.sql.catalyst.expressions.Expression", "Java functions of this package take conditions", _FAILS
    ),
    JavaClass("org.apache.spark.sql.Column", "Java functions of this package take arrays of columns", _FAILS),
    JavaClass("org.apache.spark.sql.classic.Dataset", "plans of a query", _FAILS, members=("queryExecution/0",)),
)


def gateway(spark: SparkSession) -> Any:
    """Return Py4J's gateway to the JVM of a classic session."""
    context: Any = spark_context(spark)
    return context._gateway


def jvm(spark: SparkSession) -> Any:
    """Return the root of the JVM's packages. Outside of ``kafka_sql.spark``, only for this package's own classes."""
    context: Any = spark_context(spark)
    return context._jvm


def java_context(spark: SparkSession) -> JavaObject:
    """Return Spark's SparkContext."""
    context: Any = spark_context(spark)
    return context._jsc.sc()


def java_session(spark: SparkSession) -> JavaObject | None:
    """Return Spark's session; None over Spark Connect."""
    return spark.__dict__.get("_jsparkSession")


def session_state(spark: SparkSession) -> JavaObject:
    """Return the state of a classic session: its catalog, configuration and planners."""
    session: Any = java_session(spark)
    return session.sessionState()


def is_classic(spark: SparkSession) -> bool:
    """Return whether the session's JVM belongs to this process."""
    return java_session(spark) is not None


def is_local(spark: SparkSession) -> bool:
    """Return whether a classic session's executors are in the driver's process."""
    return bool(java_context(spark).isLocal())


def java_dataset(frame: DataFrame) -> JavaObject:
    """Return the Dataset of a DataFrame."""
    untyped: Any = frame
    return untyped._jdf


def query_execution(frame: DataFrame) -> JavaObject:
    """Return the QueryExecution of a DataFrame, which has its plans."""
    return java_dataset(frame).queryExecution()


def java_query(query: StreamingQuery) -> JavaObject | None:
    """Return Spark's handle of a streaming query; None over Spark Connect."""
    return getattr(query, "_jsq", None)


def java_column(column: Column) -> JavaObject:
    """Return the Column of the JVM."""
    untyped: Any = column
    return untyped._jc


def java_type(gateway: Any, data_type: DataType) -> JavaObject:
    """Return a type of the JVM."""
    return gateway.jvm.org.apache.spark.sql.types.DataType.fromJson(data_type.json())


def java_columns(spark: SparkSession, columns: Sequence[Column]) -> JavaObject:
    """Return an array of Columns of the JVM."""
    return java_array(spark, jvm(spark).org.apache.spark.sql.Column, [java_column(column) for column in columns])


def from_java_dataset(dataset: JavaObject, spark: SparkSession) -> DataFrame:
    """Return the DataFrame of a Dataset."""
    return DataFrame(dataset, spark)


def from_java_column(column: JavaObject) -> Column:
    """Return the Column of Python."""
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(column)


def java_expressions(spark: SparkSession, expressions: Sequence[JavaObject]) -> JavaObject:
    """Return an array of expressions of plans."""
    return java_array(spark, jvm(spark).org.apache.spark.sql.catalyst.expressions.Expression, expressions)


def java_array(spark: SparkSession, java_class: JavaObject | str, values: Sequence[Any]) -> JavaObject:
    """Return an array of the JVM.

    Args:
        java_class: the class of its elements, or a name such as ``String`` or ``int``.
    """
    java_class = getattr(jvm(spark), java_class) if isinstance(java_class, str) else java_class
    array = gateway(spark).new_array(java_class, len(values))
    for i, value in enumerate(values):
        array[i] = value
    return array
