"""Choose the Python of a local session's workers, and register what another Python cannot find."""

from __future__ import annotations

import os
import shutil
import sys

from pyspark.sql import SparkSession

from kafka_sql.catalog.options_source import KafkaSource
from kafka_sql.catalog.spark_catalog import register_data_source
from kafka_sql.runtime.worker_main import installed_command
from kafka_sql.spark.context import spark_context


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


def register_format(spark: SparkSession) -> None:
    """Register ``format("kafka_sql")`` in a session, unless Spark has found it.

    Spark looks for data sources once per application, with the Python of PYSPARK_DRIVER_PYTHON, of PYSPARK_PYTHON or
    the first ``python3`` on the PATH. If that lacks kafka_sql, Spark does not find the format.
    """
    session = spark.__dict__.get("_jsparkSession")  # None with Spark Connect, where the server's Python is unknown
    if session is None or not session.sessionState().dataSourceManager().dataSourceExists(KafkaSource.name()):
        register_data_source(spark, KafkaSource)
