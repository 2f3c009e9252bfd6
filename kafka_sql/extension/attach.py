"""Attach this process to the JVM that started it, and to the SparkContext there, and execute its statements.

``java/Python.java`` calls ``attach`` with the JVM's port and secret in the environment.
"""

from __future__ import annotations

import os
import signal
import sys

import pyspark

from kafka_sql.extension.statements import Statements
from kafka_sql.runtime.error_loggers import disable_error_loggers
from kafka_sql.spark.processes import attach_context, connect_to_jvm


def attach() -> None:
    """Execute the JVM's statements until it ends, which closes this process's stdin."""
    disable_error_loggers()
    os.dup2(2, 1)  # stdout belongs to the shell, for results
    gateway = connect_to_jvm()
    starter = gateway.entry_point
    java_context = starter.context()
    if _release(java_context.version()) != _release(pyspark.__version__):
        starter.refuse(
            f"[PYTHON_NOT_STARTED] Spark is {java_context.version()}, but {sys.executable} has PySpark "
            f"{pyspark.__version__}. Set PYSPARK_PYTHON to a Python with kafka_sql and "
            f"pyspark=={java_context.version()}."
        )
        return
    context = attach_context(gateway, java_context)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the shell handles Ctrl-C and cancels the jobs
    starter.attach(Statements(context))
    sys.stdin.buffer.read()
    os._exit(0)  # skip Py4J's cleanup, which would call the ended JVM


def _release(version: str) -> list[str]:
    return version.split(".")[:2]
