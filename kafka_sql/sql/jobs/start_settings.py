"""Change settings of Spark for a ``with`` block in which a query starts or writes. What the user has set stays.

A streaming query keeps the settings that its session had when the query started.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.hadoop import is_on_local_disk
from kafka_sql.spark.jar import PACKAGE, add_jar
from kafka_sql.spark.jvm import is_classic, is_local
from kafka_sql.spark.plan import STREAM
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.session_settings import changed_settings, user_setting

_MAX_BYTES_CONF: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_MAX_ROWS_CONF: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED: Final = 2**31 - 1  # Spark's value for no limit, with which it does not sum
_MAX_ROWS: Final = 8192  # more rows are not faster, and need more memory if records are large
_PARTITIONS_CONF: Final = "spark.sql.shuffle.partitions"
_DYNAMIC_ALLOCATION_CONF: Final = "spark.dynamicAllocation.enabled"
_REUSE_CONF: Final = "spark.sql.exchange.reuse"
_FILE_MANAGER_CONF: Final = "spark.sql.streaming.checkpointFileManagerClass"
_FILE_MANAGER: Final = f"{PACKAGE}.streaming.LocalCheckpointFileManager"


def limit_batches_by_rows(spark: SparkSession) -> AbstractContextManager[None]:
    """Limit the Arrow batches in which Spark passes rows to Python to a number of rows, not of bytes.

    Spark has both limits. To apply the one in bytes, it sums the buffers of all columns after each row, which takes
    42 % of the JVM's time in an INSERT of nine columns. If the user set it or a smaller row limit, that stays.
    """
    if user_setting(spark, _MAX_BYTES_CONF) is not None:
        return nullcontext()
    rows = user_setting(spark, _MAX_ROWS_CONF)
    limits = {_MAX_BYTES_CONF: str(_UNBOUNDED)}
    if rows is None or not 0 < int(rows) <= _MAX_ROWS:  # Spark treats 0 and less as no limit
        limits[_MAX_ROWS_CONF] = str(_MAX_ROWS)
    return changed_settings(spark, limits)


def match_partitions_to_cores(spark: SparkSession) -> AbstractContextManager[None]:
    """Give aggregates and joins as many partitions as there are cores, unless the user set a number.

    Each partition has its own state store, which a micro-batch opens and commits whether it has rows or not. Spark's
    default is 200. A query keeps the number of its first start. Where executors come and go, the default stays.
    """
    context = spark_context(spark)
    if context is None or user_setting(spark, _PARTITIONS_CONF) is not None:
        return nullcontext()
    if str(context.getConf().get(_DYNAMIC_ALLOCATION_CONF, "false")).lower() == "true":
        return nullcontext()
    return changed_settings(spark, {_PARTITIONS_CONF: str(context.defaultParallelism)})


def keep_watermarks(spark: SparkSession, rows: DataFrame) -> AbstractContextManager[None]:
    """Let Spark execute each aggregate of a stream by itself, if a query reads a stream more than once.

    Spark would execute equal parts once, also those with a watermark. The aggregate that reuses the rows of another one
    then has no watermark, and never returns its windows. The user's setting does not matter.
    """
    operators = read_plan(rows).walk()
    streams = [(operator.name, operator.detail) for operator in operators if operator.name.startswith(STREAM)]
    is_reused = len(set(streams)) < len(streams)
    return changed_settings(spark, {_REUSE_CONF: "false"}) if is_reused else nullcontext()


def write_directly(spark: SparkSession, location: str) -> AbstractContextManager[None]:
    """Let Spark write a checkpoint on a local disk without starting other processes.

    Hadoop's local file system runs the commands chmod and readlink for each file, which takes half of the time of a
    small micro-batch. In local mode, ``LocalCheckpointFileManager`` writes them instead; on a cluster, executors write
    checkpoints of state.
    """
    applies = is_classic(spark) and is_local(spark) and is_on_local_disk(spark, location)
    if not applies or user_setting(spark, _FILE_MANAGER_CONF) is not None or add_jar(spark_context(spark)) is None:
        return nullcontext()
    return changed_settings(spark, {_FILE_MANAGER_CONF: _FILE_MANAGER})
