"""Give the times of a column without a time zone to one with it, because only such a column can have a watermark."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from kafka_sql.spark.context import is_connect
from kafka_sql.spark.internal import Internal, java_classes
from kafka_sql.spark.jvm import from_java_column, java_column, jvm

INTERNALS: Final[tuple[Internal, ...]] = java_classes(
    "org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion new/3",
    "the event time of a column TIMESTAMP(3) has the same bytes, and costs nothing",
    "streams of tables with such an event time fail before they start",
)


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
