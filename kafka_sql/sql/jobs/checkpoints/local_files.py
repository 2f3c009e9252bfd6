"""Let Spark write checkpoints on a local disk without starting other processes.

Hadoop's local file system runs the commands chmod and readlink for each file, which takes half of the time of a
small micro-batch. In local mode, ``LocalCheckpointFileManager`` writes them instead.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_sql.runtime.java_classes import add_classes, driver_class_loader, load_class
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.session_settings import changed_settings

_LOG: Final = logging.getLogger(__name__)
_CONF: Final = "spark.sql.streaming.checkpointFileManagerClass"
_CLASS: Final = "kafka_sql.LocalCheckpointFileManager"
_SOURCE: Final = Path(__file__).parents[1] / "java" / "LocalCheckpointFileManager.java"
_LOCAL_SCHEME: Final = "file"


@contextmanager
def write_directly(spark: SparkSession, location: str) -> Iterator[None]:
    """Set the session's manager of checkpoint files for a ``with`` block in which a query starts.

    Changes nothing if the user set a manager, if the checkpoint is not on a local disk, or if Spark runs on a cluster,
    whose executors write checkpoints of state.

    Args:
        location: the folder of the checkpoint.
    """
    if not _is_local(spark, location) or spark.conf.get(_CONF, None) is not None or not _load_manager(spark):
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


def _load_manager(spark: SparkSession) -> bool:
    """Return whether the driver has the class, after compiling it if necessary."""
    context: Any = spark_context(spark)
    loader = driver_class_loader(context)
    if loader is None:
        return False
    if load_class(loader, _CLASS) is None:
        try:
            add_classes(context, loader, "kafka-sql-checkpoints.jar", [_SOURCE])
        except (Py4JError, PySparkException):  # this Spark has no such superclass
            _LOG.debug("Hadoop writes the checkpoints", exc_info=True)
            return False
    return True
