"""Give event times what Spark's watermarks need: a type with a time zone, and filters that stay above."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.spark.context import is_connect, is_pipeline, spark_context
from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jar import add_jar, java_classes
from kafka_sql.spark.jvm import JavaObject, from_java_column, java_column, java_dataset, jvm

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        "org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion",
        "the event time of a column TIMESTAMP(3) has the same bytes, and costs nothing",
        "streams of tables with such an event time fail before they start",
        members=("new/3",),
    ),
)

PASS_EVENT_TIME: Final = "passEventTime"  # the method of EventTime in Java


def with_same_microseconds(spark: SparkSession, column: Column) -> Column:
    """Return a TIMESTAMP_NTZ as the TIMESTAMP with the same microseconds since 1970, whatever the time zone."""
    if is_connect(spark):  # without access to the expressions of Spark
        fraction = (F.extract(F.lit("SECOND"), column) % 1 * 1_000_000).cast("bigint")
        return F.timestamp_micros(F.unix_timestamp(column) * 1_000_000 + fraction)
    java = jvm(spark)
    convert = java.org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion
    types, utils = java.org.apache.spark.sql.types.DataTypes, java.org.apache.spark.sql.classic.ExpressionUtils
    number = convert(utils.expression(java_column(column)), types.TimestampNTZType, types.LongType)
    return from_java_column(utils.column(convert(number, types.LongType, types.TimestampType)))


def can_keep_filters_above(spark: SparkSession) -> bool:
    """Return whether ``below_filters`` is available: in a classic session whose driver can load the class in Java."""
    context = spark_context(spark)
    return context is not None and not is_pipeline() and add_jar(context) is not None


def below_filters(rows: DataFrame, name: str) -> Column:
    """Return an event time of rows that filters stay above, so that the rows that they drop advance the watermark.

    Args:
        name: the column as it is written in SQL.
    """
    if not can_keep_filters_above(rows.sparkSession):
        return rows[name]
    column = java_dataset(rows).col(name)
    return from_java_column(java_classes(spark_context(rows.sparkSession)).streaming.EventTime.of(column))


def is_event_time_call(node: JavaObject) -> bool:
    """Return whether an expression of the JVM is that of ``below_filters``."""
    return str(node.getClass().getSimpleName()) == "StaticInvoke" and str(node.functionName()) == PASS_EVENT_TIME
