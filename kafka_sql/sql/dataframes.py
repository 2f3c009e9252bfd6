"""Create DataFrames of small results, from Arrow: reading a DataFrame of Python rows would run a Spark job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kafka_sql.spark.context import is_connect

SparkSql: TypeAlias = Callable[[str], DataFrame]  # Spark's own sql(), with the caller's parameters


def dataframe(spark: SparkSession, columns: dict[str, pa.DataType], rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Return a DataFrame of rows with column names and Arrow types."""
    arrays = [pa.array([row[i] for row in rows], type) for i, type in enumerate(columns.values())]
    table = pa.table(arrays, names=list(columns))
    if not rows and is_connect(spark):  # Connect needs a schema for an empty table
        return spark.createDataFrame([], from_arrow_schema(table.schema))
    return spark.createDataFrame(table)


def empty_dataframe(spark: SparkSession) -> DataFrame:
    """Return a DataFrame without rows and columns, which Spark also returns for statements without a result."""
    if is_connect(spark):  # Connect rejects an Arrow table without columns, but runs no job for a list
        return spark.createDataFrame([], StructType([]))
    return spark.createDataFrame(pa.table({}))
