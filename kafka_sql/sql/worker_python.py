"""Which Python runs a local session's workers."""

from __future__ import annotations

import os
import shutil
import sys

from pyspark.sql import SparkSession

from kafka_sql.runtime.spark_context import spark_context
from kafka_sql.runtime.worker_main import installed


def configure_worker_python(spark: SparkSession) -> None:
    """Let a local session's workers be this very Python, unless something else was chosen.

    Spark takes the first ``python3`` on the PATH, which has no kafka_sql where a virtual environment's Python runs that
    was not activated.
    """
    context = spark_context(spark)
    if context is None or not (context.master or "").startswith("local"):
        return
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
    if shutil.which(context.pythonExec) == sys.executable:
        context.pythonExec = installed() or sys.executable
