"""Flink's session keys, kept in Spark's own session configuration: ``SET 'execution.runtime-mode' = 'streaming'``."""

from __future__ import annotations

import logging
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from kafka_sql.errors import did_you_mean
from kafka_sql.options import Option, duration, enum, integer, string

T = TypeVar("T")
_LOG = logging.getLogger("kafka_sql.sql")
_FLINKS = ("execution.", "pipeline.", "table.", "parallelism.", "state.", "metrics.")

RUNTIME_MODE: Final = enum(
    "execution.runtime-mode",
    "'batch': a query reads a snapshot and ends. 'streaming': an INSERT starts a continuous query.",
    allowed=("batch", "streaming"),
    default="batch",
)
CHECKPOINT_DIR: Final = string(
    "execution.checkpointing.dir",
    "Folder of the checkpoints of streaming INSERTs; each has the subfolder that its 'pipeline.name' says.",
)
CHECKPOINT_INTERVAL: Final = duration(
    "execution.checkpointing.interval",
    "Time between the starts of two micro-batches, such as '10 s'; absent: as soon as there are new records.",
)
PIPELINE_NAME: Final = string(
    "pipeline.name", "Name of the next streaming INSERT, and of its checkpoint. Default: insert-into_<table>."
)
METRICS_PORT: Final = integer(
    "metrics.reporter.prom.port",
    "Port on which the driver serves the metrics of streaming INSERTs as Prometheus text, from the next one on; '0' "
    "takes a free one. Without it, there is none.",
    minimum=0,
)

SETTINGS: Final[dict[str, Option[Any]]] = {
    o.key: o for o in (RUNTIME_MODE, CHECKPOINT_DIR, CHECKPOINT_INTERVAL, PIPELINE_NAME, METRICS_PORT)
}


def read(spark: SparkSession, option: Option[T]) -> T | None:
    """A setting's value, or its default.

    Raises:
        InvalidOptionError: it was set to something else by Spark's own SET.
    """
    text = spark.conf.get(option.key, option.default)
    return None if text is None else option.read(text)


def is_streaming(spark: SparkSession) -> bool:
    """Whether the runtime mode is streaming."""
    return read(spark, RUNTIME_MODE) == "streaming"


def write(spark: SparkSession, key: str, value: str) -> None:
    """SET 'key' = 'value'; a key that is not Flink's is set in Spark's configuration.

    Raises:
        InvalidOptionError: the value is not allowed.
    """
    if key in SETTINGS:
        SETTINGS[key].read(value)
    elif key.startswith(_FLINKS):
        _LOG.warning("SET '%s' has no effect here.%s", key, did_you_mean(key, SETTINGS))
    spark.conf.set(key, value)
