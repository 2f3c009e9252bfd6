"""Choose the Python of a local session's workers."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.runtime.worker_main import installed_command
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.internal import Internal, PythonName

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName(
        "pyspark.core.context.SparkContext.pythonExec",
        "local workers run with the driver's Python, which has kafka_sql, even in a virtual environment",
        "workers run the first python3 on the PATH; if it lacks kafka_sql, the error is WORKER_PYTHON",
    ),
)


def configure_worker_python(spark: SparkSession) -> None:
    """Run a local session's workers with this Python, unless the user configured another.

    Spark uses the first ``python3`` on the PATH. That lacks kafka_sql if this Python belongs to a virtual environment
    that was not activated.
    """
    context = spark_context(spark)
    if context is None or not (context.master or "").startswith("local"):
        return
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
    if shutil.which(context.pythonExec) == sys.executable:
        context.pythonExec = installed_command() or sys.executable  # the command starts workers faster
