"""Spark's Python planners are started before the first query."""

from __future__ import annotations

import logging

import pytest
from pyspark.sql import SparkSession

from kafka_sql.catalog import warmup

pytestmark = pytest.mark.integration


def test_planners_are_started_in_the_background(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, warmup.__name__):
        warmup._plan_once(spark)
        assert not caplog.records
        assert spark.read.format(warmup.WarmupSource.name()).load().collect() == []
        java_session = spark.__dict__.pop("_jsparkSession")
        try:
            warmup._plan_once(spark)  # as if the session ended meanwhile
        finally:
            spark.__dict__["_jsparkSession"] = java_session
    assert [r.getMessage() for r in caplog.records] == ["Spark's Python planners could not be started in advance"]
