"""Test DataFrames of small results, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from kafka_sql.sql.dataframes import dataframe

COLUMNS = {"name": pa.string(), "count": pa.int64()}
SCHEMA = StructType([StructField("name", StringType()), StructField("count", LongType())])


@pytest.mark.parametrize("context", [{}, {"_sc": object()}], ids=["connect", "classic"])
def test_rows(context: dict[str, Any]) -> None:
    spark: Any = SimpleNamespace(createDataFrame=lambda table: table.to_pylist(), **context)
    assert dataframe(spark, COLUMNS, [("a", 1)]) == [{"name": "a", "count": 1}]


def test_connect_needs_a_schema_for_no_rows() -> None:
    spark: Any = SimpleNamespace(createDataFrame=lambda rows, schema: (rows, schema))
    assert dataframe(spark, COLUMNS, []) == ([], SCHEMA)
