"""Starts Spark's Python planners while the program goes on: they are processes that import pyspark and this package,
one after another where the first query of a session waits for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from threading import Thread

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_sql.catalog.data_source import KafkaTable
from kafka_sql.catalog.spark_catalog import active_session, register_data_source
from kafka_sql.runtime.spark_context import spark_context

_LOG = logging.getLogger(__name__)
_warmed: set[str] = set()  # applications, which share their planners


class WarmupSource(KafkaTable):
    """A table without columns and rows: planning it starts the processes that plan the others."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "kafka_sql_nothing"

    def schema(self) -> StructType:
        """No columns."""
        return StructType([])

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[override]
        """No rows."""
        return _NothingReader()


class _NothingReader(DataSourceReader):
    def read(self, partition: InputPartition) -> Iterator[tuple[()]]:
        return iter(())


def start_planners(spark: SparkSession) -> None:
    """Let a classic session's planners start in the background. What fails here fails again, and is told, where it is
    needed.
    """
    context = spark_context(spark)
    if context is not None and context.applicationId not in _warmed:
        _warmed.add(context.applicationId)
        Thread(target=_warm, args=(spark,), name="kafka_sql-warm", daemon=True).start()


def _warm(spark: SparkSession) -> None:
    try:
        register_data_source(spark, WarmupSource)
        with active_session(spark):
            spark.read.format(WarmupSource.name()).load()._jdf.queryExecution().executedPlan()
    except Exception:  # noqa: BLE001  # of the JVM or of the way to it, where the session ends meanwhile
        _LOG.debug("Spark's planners were not started ahead", exc_info=True)
