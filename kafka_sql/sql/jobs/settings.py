"""Define Flink's session options, such as 'execution.runtime-mode', which Spark's session configuration stores.

Some options of Flink set one of Spark's; for others, a warning says why they have no effect.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options import Option, boolean, duration, enum, integer, string
from kafka_sql.runtime.task import SESSION_TIME_ZONE
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
TYPE_LENGTH_ENFORCER: Final = enum(
    "table.exec.sink.type-length-enforcer",
    "What an INSERT into a Kafka table does with values of other lengths than CHAR(n), VARCHAR(n), BINARY(n) and "
    "VARBINARY(n) have. 'IGNORE': write them. 'TRIM_PAD': cut them, and pad those of CHAR and BINARY. 'ERROR': fail.",
    allowed=("IGNORE", "TRIM_PAD", "ERROR"),
    default="IGNORE",
)
NOT_NULL_ENFORCER: Final = enum(
    "table.exec.sink.not-null-enforcer",
    "What an INSERT into a Kafka table does with a NULL for a NOT NULL column. 'ERROR': fail. 'DROP': skip the row.",
    allowed=("ERROR", "DROP"),
    default="ERROR",
)
NESTED_CONSTRAINT_ENFORCER: Final = enum(
    "table.exec.sink.nested-constraint-enforcer",
    "Where the other two enforcers check values inside a column, too. 'ROWS': in the fields of a ROW. "
    "'ROWS_AND_COLLECTIONS': also in elements of ARRAY, MAP and MULTISET.",
    allowed=("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
    default="IGNORE",
)
CDC_EVENTS_DUPLICATE: Final = boolean(
    "table.exec.source.cdc-events-duplicate",
    "Whether the topics of change data capture formats may have changes more than once. 'true': a continuous query "
    "keeps the row of each PRIMARY KEY, and compares it with each change.",
    default="false",
)
IGNORE: Final = "IGNORE"
FUNCTION_DIFFERENCES: Final = enum(
    "table.function-differences",
    "'WARN': log a warning for each function and operator of a statement over Kafka tables that Spark and Flink have "
    "under one name, with other results.",
    allowed=("WARN", IGNORE),
    default="WARN",
)

SETTINGS: Final[dict[str, Option[Any]]] = {
    o.key: o
    for o in (
        RUNTIME_MODE,
        LATENCY_MODE,
        CHECKPOINT_DIR,
        CHECKPOINT_INTERVAL,
        PIPELINE_NAME,
        METRICS_PORT,
        METRICS_HOST,
        TYPE_LENGTH_ENFORCER,
        NOT_NULL_ENFORCER,
        NESTED_CONSTRAINT_ENFORCER,
        CDC_EVENTS_DUPLICATE,
        FUNCTION_DIFFERENCES,
    )
}


_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
_STATE_PACKAGE: Final = "org.apache.spark.sql.execution.streaming.state"
_STATE_BACKENDS: Final = {
    "hashmap": f"{_STATE_PACKAGE}.HDFSBackedStateStoreProvider",
    "filesystem": f"{_STATE_PACKAGE}.HDFSBackedStateStoreProvider",
    "rocksdb": f"{_STATE_PACKAGE}.RocksDBStateStoreProvider",
}


def _time_zone(text: str) -> str | None:
    if text == "default":
        return None
    offset = re.fullmatch(r"(?:GMT|UTC)([+-])(\d{1,2})(?::?(\d\d))?", text)
    if offset is not None:
        return f"{offset[1]}{int(offset[2]):02d}:{offset[3] or '00'}"
    if text not in ("UTC", "GMT") and not re.fullmatch(r"[+-]\d\d:\d\d|[A-Za-z_]+/[A-Za-z0-9_+/-]+", text):
        raise ValueError("expected 'default', an area such as 'America/Los_Angeles', or an offset such as 'GMT-08:00'")
    return text


def _parallelism(text: str) -> str | None:
    if not re.fullmatch(r"-1|[1-9]\d{0,8}", text.strip()):
        raise ValueError("expected a positive integer, or -1 for Spark's default")
    return None if text.strip() == "-1" else text.strip()


def _state_backend(text: str) -> str:
    if text.lower() not in _STATE_BACKENDS:
        raise ValueError("expected 'hashmap' or 'rocksdb'")
    return _STATE_BACKENDS[text.lower()]


# options of Flink -> the setting of Spark, and what returns its value: None for the default
_TRANSLATED: Final[dict[str, tuple[str, Callable[[str], str | None]]]] = {
    "table.local-time-zone": (SESSION_TIME_ZONE, _time_zone),
    "parallelism.default": (_SHUFFLE_PARTITIONS, _parallelism),
    "table.exec.resource.default-parallelism": (_SHUFFLE_PARTITIONS, _parallelism),
    "state.backend.type": (_STATE_STORE, _state_backend),
    "state.backend": (_STATE_STORE, _state_backend),
}
_RENAMED: Final = {"state.checkpoints.dir": "execution.checkpointing.dir"}  # as Flink has renamed them

# reasons by the beginnings of keys; the first match counts
_WITHOUT_EFFECT: Final = {
    "table.exec.source.idle-timeout": "a partition without records never delays Spark's watermark.",
    "table.exec.mini-batch.": "Spark always aggregates the rows of a micro-batch before it updates the state. SET "
    "'execution.checkpointing.interval' to choose how long a micro-batch collects rows.",
    "table.optimizer.": "Spark has its own optimizer; its settings start with 'spark.sql.'.",
    "table.exec.state.ttl": "Spark keeps the state of an aggregate or a join until a watermark removes it. Declare a "
    "WATERMARK, and group by a window or restrict the join by time.",
    "table.dml-sync": "in streaming mode, an INSERT returns when its query has started. Use batch mode, in which it "
    "returns when all rows are written.",
    "execution.checkpointing.mode": "the sink chooses with 'sink.delivery-guarantee'.",
    "execution.checkpointing.": "each micro-batch ends with a checkpoint.",
    "state.savepoints.": "each micro-batch ends with a checkpoint, from which the same INSERT resumes.",
    "state.": "Spark's state store has the settings 'spark.sql.streaming.stateStore.*'.",
    "restart-strategy": "Spark retries failed tasks ('spark.task.maxFailures'). A query that fails resumes when its "
    "INSERT is run again.",
    "sql-client.": "it is an option of Flink's SQL client; kafka-sql --help lists those of the shell.",
    "pipeline.max-parallelism": "the number of state partitions is 'parallelism.default' at the first start.",
}
_PREFIXES: Final = (
    "execution.",
    "pipeline.",
    "table.",
    "parallelism.",
    "state.",
    "metrics.",
    "restart-strategy",
    "sql-client.",
)


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
    renamed = _RENAMED.get(key, key)
    if renamed in SETTINGS:
        SETTINGS[renamed].read(value)
        spark.conf.set(renamed, value)
    elif key in _TRANSLATED:
        spark_key, spark_value = _translate(key, value)
        spark.conf.unset(spark_key) if spark_value is None else spark.conf.set(spark_key, spark_value)
    elif key.startswith(_PREFIXES):
        reason = next((reason for beginning, reason in _WITHOUT_EFFECT.items() if key.startswith(beginning)), "")
        _LOG.warning(
            "SET '%s' has no effect here%s", key, f": {reason}" if reason else f".{did_you_mean(key, SETTINGS)}"
        )
    spark.conf.set(key, value)


def reset(spark: SparkSession, key: str) -> None:
    """Execute RESET 'key'."""
    spark.conf.unset(key)
    if key in _RENAMED:
        spark.conf.unset(_RENAMED[key])
    if key in _TRANSLATED:
        spark.conf.unset(_TRANSLATED[key][0])


def _translate(key: str, value: str) -> tuple[str, str | None]:
    spark_key, convert = _TRANSLATED[key]
    try:
        return spark_key, convert(value)
    except ValueError as e:
        raise InvalidOptionError(f"Invalid value '{value}' for option '{key}': {e}.", option=key) from None
