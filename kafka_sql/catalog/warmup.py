"""Start Spark's Python planner processes in the background.

Otherwise, the first query of a session would wait while one process after another imports pyspark and this package.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from threading import Thread

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_sql.catalog.data_source import KafkaTable
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.data_sources import plan_read, register_data_source

_LOG = logging.getLogger(__name__)
_warmed_applications: set[str] = set()  # sessions of an application share its planners


class WarmupSource(KafkaTable):
    """A table without columns and rows: planning it starts the processes that plan other tables."""

    @classmethod
    def name(cls) -> str:
        return "kafka_sql_warmup"

    def schema(self) -> StructType:
        return StructType([])

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[override]
        return _WarmupReader()


class _WarmupReader(DataSourceReader):
    def read(self, partition: InputPartition) -> Iterator[tuple[()]]:
        return iter(())


def start_planners(spark: SparkSession) -> None:
    """Start a classic session's planners in the background.

    Errors are ignored here: the first real query hits the same failure and reports it.
    """
    context = spark_context(spark)
    if context is not None and context.applicationId not in _warmed_applications:
        _warmed_applications.add(context.applicationId)
        Thread(target=_plan_once, args=(spark,), name="kafka_sql-warmup", daemon=True).start()


def _plan_once(spark: SparkSession) -> None:
    try:
        register_data_source(spark, WarmupSource)
        plan_read(spark, WarmupSource.name())
    except Exception:  # noqa: BLE001  # from the JVM or the connection to it, if the session ends meanwhile
        _LOG.debug("Spark's Python planners could not be started in advance", exc_info=True)
