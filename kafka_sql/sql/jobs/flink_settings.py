"""Translate session options of Flink to Spark's, or return why an option has no effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.runtime.task import SESSION_TIME_ZONE

_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
_STATE_PACKAGE: Final = "org.apache.spark.sql.execution.streaming.state"
_STATE_BACKENDS: Final = {
    "hashmap": f"{_STATE_PACKAGE}.HDFSBackedStateStoreProvider",
    "filesystem": f"{_STATE_PACKAGE}.HDFSBackedStateStoreProvider",
    "rocksdb": f"{_STATE_PACKAGE}.RocksDBStateStoreProvider",
}


@dataclass(frozen=True)
class Translation:
    """What a session option of Flink sets in Spark.

    Attributes:
        spark_key: the setting of Spark.
        convert: returns Spark's value, or None for Spark's default; raises ValueError with what is expected.
    """

    spark_key: str
    convert: Callable[[str], str | None]


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


TRANSLATED: Final = {
    "table.local-time-zone": Translation(SESSION_TIME_ZONE, _time_zone),
    "parallelism.default": Translation(_SHUFFLE_PARTITIONS, _parallelism),
    "table.exec.resource.default-parallelism": Translation(_SHUFFLE_PARTITIONS, _parallelism),
    "state.backend.type": Translation(_STATE_STORE, _state_backend),
    "state.backend": Translation(_STATE_STORE, _state_backend),
}
RENAMED: Final = {"state.checkpoints.dir": "execution.checkpointing.dir"}  # as Flink has renamed them

# reasons by the beginnings of keys; the first match counts
_WITHOUT_EFFECT: Final = {
    "table.exec.source.idle-timeout": "a partition without records never delays Spark's watermark.",
    "table.exec.mini-batch.": "Spark always aggregates the rows of a micro-batch before it updates the state. SET "
    "'execution.checkpointing.interval' to choose how long a micro-batch collects rows.",
    "table.optimizer.": "Spark has its own optimizer; its settings start with 'spark.sql.'.",
    "table.exec.state.ttl": "Spark keeps the state of an aggregate or a join until a watermark removes it. Declare a "
    "WATERMARK, and group by a window or restrict the join by time.",
    "table.exec.sink.not-null-enforcer": "a NULL for a NOT NULL column is an error, as with Flink's default.",
    "table.exec.sink.type-length-enforcer": "Spark's STRING has no length.",
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
PREFIXES: Final = (
    "execution.",
    "pipeline.",
    "table.",
    "parallelism.",
    "state.",
    "metrics.",
    "restart-strategy",
    "sql-client.",
)


def reason_without_effect(key: str) -> str:
    """Return why an option of Flink has no effect, as a sentence; empty if the reason is not known."""
    return next((reason for beginning, reason in _WITHOUT_EFFECT.items() if key.startswith(beginning)), "")


def translate(key: str, value: str) -> tuple[str, str | None] | None:
    """Return the setting of Spark and its value for an option of Flink; None if it is not translated.

    The value is None for Spark's default.

    Raises:
        InvalidOptionError: the value is not allowed.
    """
    translation = TRANSLATED.get(key)
    if translation is None:
        return None
    try:
        return translation.spark_key, translation.convert(value)
    except ValueError as e:
        raise InvalidOptionError(f"Invalid value '{value}' for option '{key}': {e}.", option=key) from None
