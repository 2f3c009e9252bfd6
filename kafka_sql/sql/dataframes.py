"""Small results as DataFrames: from Arrow they are local to the driver, where rows of Python would start a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kafka_sql.runtime.spark_context import spark_context


def dataframe(spark: SparkSession, columns: dict[str, pa.DataType], rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Rows under names and Arrow types."""
    arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(columns.values())]
    return spark.createDataFrame(pa.table(arrays, names=list(columns)))


def empty_dataframe(spark: SparkSession) -> DataFrame:
    """What a statement without a result gives, as Spark's own do."""
    if spark_context(spark) is None:  # Connect takes no Arrow without columns, and needs no job for a list
        return spark.createDataFrame([], StructType([]))
    return spark.createDataFrame(pa.table({}))
