"""Which Python runs a local session's workers, and how it starts."""

from __future__ import annotations

import os
import shutil
import sys

from pyspark.sql import SparkSession

from kafka_sql import daemon


def share(spark: SparkSession) -> None:
    """Let a local session's workers be this very Python, unless something else was chosen.

    Spark takes the first ``python3`` on the PATH, which has no kafka_sql where a virtual environment's Python runs that
    was not activated.
    """
    context = spark.__dict__.get("_sc")  # a Connect session has none, and its workers are the server's
    if context is None or not context.master.startswith("local"):
        return
    chosen = context.getConf()
    if "PYSPARK_PYTHON" not in os.environ and chosen.get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
    if shutil.which(context.pythonExec) == sys.executable and chosen.get(daemon.CONF) is None:
        context._jsc.sc().conf().set(daemon.CONF, daemon.__name__)  # the environment's own, which Spark asks each time
