"""Let Spark write checkpoints on a local disk without starting other processes.

Hadoop's local file system runs the commands chmod and readlink for each file, which takes half of the time of a
small micro-batch. In local mode, ``LocalCheckpointFileManager`` writes them instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.hadoop import is_on_local_disk
from kafka_sql.spark.jar import PACKAGE, add_jar
from kafka_sql.spark.jvm import is_classic, is_local
from kafka_sql.spark.session_settings import changed_settings, user_setting

_CONF: Final = "spark.sql.streaming.checkpointFileManagerClass"
_CLASS: Final = f"{PACKAGE}.streaming.LocalCheckpointFileManager"


@contextmanager
def write_directly(spark: SparkSession, location: str) -> Iterator[None]:
    """Set the session's manager of checkpoint files for a ``with`` block in which a query starts.

    Changes nothing if the user set a manager, if the checkpoint is not on a local disk, or if Spark runs on a cluster,
    whose executors write checkpoints of state.

    Args:
        location: the folder of the checkpoint.
    """
    applies = is_classic(spark) and is_local(spark) and is_on_local_disk(spark, location)
    if not applies or user_setting(spark, _CONF) is not None or add_jar(spark_context(spark)) is None:
        yield
        return
    with changed_settings(spark, {_CONF: _CLASS}):
        yield
