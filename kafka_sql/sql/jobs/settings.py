"""Define Flink's session options, such as 'execution.runtime-mode', which Spark's session configuration stores."""

from __future__ import annotations

import logging
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from kafka_sql.options import Option, duration, enum, integer, string
from kafka_sql.sql.jobs import flink_settings
from kafka_sql.suggestions import did_you_mean

T = TypeVar("T")
_LOG = logging.getLogger("kafka_sql.sql")

RUNTIME_MODE: Final = enum(
    "execution.runtime-mode",
    "'batch': a query reads a snapshot and ends. 'streaming': an INSERT starts a continuous query.",
    allowed=("batch", "streaming"),
    default="batch",
)
REAL_TIME: Final = "real-time"
LATENCY_MODE: Final = enum(
    "execution.latency-mode",
    "'micro-batch': a streaming INSERT reads new records in batches. 'real-time': it runs in Spark's real-time mode, "
    "over Spark's own Kafka connector, and passes each record on within milliseconds.",
    allowed=("micro-batch", REAL_TIME),
    default="micro-batch",
)
CHECKPOINT_DIR: Final = string(
    "execution.checkpointing.dir",
    "Folder for the checkpoints of streaming INSERTs. Each uses the subfolder named by its 'pipeline.name'.",
)
CHECKPOINT_INTERVAL: Final = duration(
    "execution.checkpointing.interval",
    "Time between the starts of two micro-batches, such as '10 s'. Default: start as soon as there are new records. In "
    "real-time mode, the duration of a batch, after which its offsets are committed; default: 5 minutes.",
)
PIPELINE_NAME: Final = string(
    "pipeline.name",
    "Name of the streaming INSERTs that follow, until RESET, and of their checkpoints. Set a new name for each INSERT. "
    "Default: insert-into_<table>.",
)
METRICS_PORT: Final = integer(
    "metrics.reporter.prom.port",
    "Port on which the driver serves the metrics of streaming INSERTs to Prometheus, starting with the next INSERT. "
    "'0' uses any free port. Default: not served.",
    minimum=0,
)
METRICS_HOST: Final = string(
    "metrics.reporter.prom.host",
    "Address on which the driver serves these metrics. The default can be reached from the driver's machine only; "
    "'0.0.0.0' serves them on all addresses. There is no authentication.",
    default="127.0.0.1",
)

SETTINGS: Final[dict[str, Option[Any]]] = {
    o.key: o
    for o in (
        *(RUNTIME_MODE, LATENCY_MODE, CHECKPOINT_DIR, CHECKPOINT_INTERVAL, PIPELINE_NAME, METRICS_PORT, METRICS_HOST),
    )
}


def read(spark: SparkSession, option: Option[T]) -> T | None:
    """Return a setting's value, or its default.

    Raises:
        InvalidOptionError: Spark's own SET stored an invalid value.
    """
    text = spark.conf.get(option.key, option.default)
    return None if text is None else option.read(text)


def is_streaming(spark: SparkSession) -> bool:
    """Return whether the runtime mode is streaming."""
    return read(spark, RUNTIME_MODE) == "streaming"


def is_real_time(spark: SparkSession) -> bool:
    """Return whether the latency mode is real-time."""
    return read(spark, LATENCY_MODE) == REAL_TIME


def write(spark: SparkSession, key: str, value: str) -> None:
    """Execute SET 'key' = 'value'. Every key is stored; some options of Flink also set one of Spark's.

    Raises:
        InvalidOptionError: the value is not allowed.
    """
    renamed = flink_settings.RENAMED.get(key, key)
    translated = flink_settings.translate(key, value)
    if renamed in SETTINGS:
        SETTINGS[renamed].read(value)
        spark.conf.set(renamed, value)
    elif translated is not None:
        spark_key, spark_value = translated
        spark.conf.unset(spark_key) if spark_value is None else spark.conf.set(spark_key, spark_value)
    elif key.startswith(flink_settings.PREFIXES):
        reason = flink_settings.reason_without_effect(key)
        _LOG.warning(
            "SET '%s' has no effect here%s", key, f": {reason}" if reason else f".{did_you_mean(key, SETTINGS)}"
        )
    spark.conf.set(key, value)


def reset(spark: SparkSession, key: str) -> None:
    """Execute RESET 'key'."""
    spark.conf.unset(key)
    if key in flink_settings.RENAMED:
        spark.conf.unset(flink_settings.RENAMED[key])
    if key in flink_settings.TRANSLATED:
        spark.conf.unset(flink_settings.TRANSLATED[key].spark_key)
