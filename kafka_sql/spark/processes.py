"""Find the installed Spark, end its JVM, attach to one that is running, and choose the Python of its workers."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from kafka_sql.runtime.worker_main import installed_command
from kafka_sql.spark.callback_server import start_callback_server
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.internal import Internal, PythonName
from kafka_sql.spark.jvm import JavaObject, gateway

_ATTACH = "Spark's own shells execute Flink's statements in a Python process that their JVM starts"
_FAILS = "statements in Spark's own shells fail with PYTHON_NOT_STARTED"

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName(
        "pyspark.find_spark_home._find_spark_home",
        "an archive of classes is made for the installed jars",
        "kafka-sql and kafka-sql class-archive fail with an ImportError",
    ),
    PythonName("pyspark.java_gateway.launch_gateway", _ATTACH, _FAILS, parameters=("conf",)),
    PythonName("pyspark.conf.SparkConf._jconf", _ATTACH, _FAILS),
    PythonName(
        "pyspark.core.context.SparkContext.pythonExec",
        "local workers run with the driver's Python, which has kafka_sql, even in a virtual environment",
        "workers run the first python3 on the PATH; if it lacks kafka_sql, the error is WORKER_PYTHON",
    ),
)


def spark_jars() -> Path:
    """Return the folder with the jars of the installed Spark."""
    return Path(_find_spark_home(), "jars")


def end_jvm(spark: SparkSession) -> None:
    """Stop a classic session, and wait until its JVM has ended."""
    java = gateway(spark)
    spark.stop()
    java.shutdown()
    java.proc.stdin.close()
    java.proc.wait()


def connect_to_jvm() -> Any:
    """Connect to the JVM that started this process, and return the gateway. Its port and secret are in variables."""
    untyped_launch: Any = launch_gateway
    java = untyped_launch()  # connects to PYSPARK_GATEWAY_PORT
    del os.environ["PYSPARK_GATEWAY_SECRET"]  # child processes must not inherit the JVM's secret
    return java


def attach_context(java: Any, java_context: JavaObject) -> SparkContext:
    """Return the SparkContext of a running application."""
    start_callback_server(java)
    context = SparkContext(gateway=java, jsc=java_context, conf=SparkConf(_jconf=java_context.getConf()))
    SparkSession(context)  # PySpark makes its first session the JVM's default session: use the existing one
    return context


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
