"""Let Spark write checkpoints on a local disk without starting other processes.

Hadoop's local file system runs the commands chmod and readlink for each file, which takes half of the time of a
small micro-batch. In local mode, ``LocalCheckpointFileManager`` writes them instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.jar import PACKAGE, add_jar
from kafka_sql.spark.session_settings import changed_settings

_CONF: Final = "spark.sql.streaming.checkpointFileManagerClass"
_CLASS: Final = f"{PACKAGE}.streaming.LocalCheckpointFileManager"
_LOCAL_SCHEME: Final = "file"


@contextmanager
def write_directly(spark: SparkSession, location: str) -> Iterator[None]:
    """Set the session's manager of checkpoint files for a ``with`` block in which a query starts.

    Changes nothing if the user set a manager, if the checkpoint is not on a local disk, or if Spark runs on a cluster,
    whose executors write checkpoints of state.

    Args:
        location: the folder of the checkpoint.
    """
    if (
        not _is_local(spark, location)
        or spark.conf.get(_CONF, None) is not None
        or add_jar(spark_context(spark)) is None
    ):
        yield
        return
    with changed_settings(spark, {_CONF: _CLASS}):
        yield


def _is_local(spark: SparkSession, location: str) -> bool:
    """Return whether a folder is on a local disk, in a classic session in local mode."""
    context: Any = spark_context(spark)
    if context is None or not context._jsc.sc().isLocal():
        return False
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    file_system = context._jvm.org.apache.hadoop.fs.Path(location).getFileSystem(configuration)
    return bool(file_system.getScheme() == _LOCAL_SCHEME)
