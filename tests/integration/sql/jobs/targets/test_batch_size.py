"""The number of rows per batch in Python, and that the session's settings are restored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kafka_sql.sql.jobs.start_settings import limit_batches_by_rows
from tests.topics import Topics

pytestmark = pytest.mark.integration

BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def settings(spark: SparkSession) -> tuple[str | None, str | None]:
    return spark.conf.get(BYTES, None), spark.conf.get(ROWS, None)


def test_an_insert_limits_batches_by_rows(sql: Callable[..., Any], spark: SparkSession, topics: Topics) -> None:
    topic = topics.create(1)
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic)}")
    sizes = spark.range(0, 10_000, 1, 1).mapInArrow(
        lambda batches: (pa.RecordBatch.from_pydict({"a": pa.array([len(b)] * len(b), pa.int32())}) for b in batches),
        "a int",
    )
    sizes.createOrReplaceTempView("sizes")
    sql("INSERT INTO t SELECT a FROM sizes")
    written = Counter(json.loads(m.value() or b"")["a"] for m in topics.consume(topic, 10_000, 1))
    assert written == {8192: 8192, 1808: 1808}
    assert settings(spark) == (None, None)


def test_the_last_of_several_inserts_restores_the_settings(spark: SparkSession) -> None:
    first, second = limit_batches_by_rows(spark), limit_batches_by_rows(spark)
    with first:
        second.__enter__()
    assert settings(spark) == (str(2**31 - 1), "8192")
    second.__exit__(None, None, None)
    assert settings(spark) == (None, None)


@pytest.mark.parametrize(("rows", "limit"), [("100", "100"), ("10000", "8192"), ("0", "8192")])
def test_a_smaller_row_limit_of_the_user_stays(spark: SparkSession, rows: str, limit: str) -> None:
    spark.conf.set(ROWS, rows)
    try:
        with limit_batches_by_rows(spark):
            assert settings(spark) == (str(2**31 - 1), limit)
        assert settings(spark) == (None, rows)
    finally:
        spark.conf.unset(ROWS)


def test_a_byte_limit_of_the_user_stays(spark: SparkSession) -> None:
    spark.conf.set(BYTES, "1m")
    try:
        with limit_batches_by_rows(spark):
            assert settings(spark) == ("1m", None)
        assert settings(spark) == ("1m", None)
    finally:
        spark.conf.unset(BYTES)
