"""Create the Spark session for a command line."""

from __future__ import annotations

import logging
import os
import shlex

from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.cli.arguments import Arguments
from kafka_sql.runtime.error_loggers import disable_error_loggers

# The shell prints errors in one line; Spark's log would add the stack traces of tasks.
_QUIET = {"spark.log.level": "FATAL"}
_JOBS_LOGGER = "kafka_sql.sql.jobs"  # logs failed jobs, which the shell reports itself
_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",  # the shell has its own progress line
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",  # even if a streaming SELECT is stopped
}


def create_session(arguments: Arguments) -> SparkSession:
    """Start Spark or connect to a Spark Connect server, and enable Flink's statements."""
    disable_error_loggers()
    logging.getLogger(_JOBS_LOGGER).disabled = True
    if arguments.remote is not None:
        spark = _connect(arguments)
    else:
        os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(submit_arguments(arguments))
        spark = SparkSession.builder.getOrCreate()
    kafka_sql.enable(spark, catalog=arguments.catalog)
    for key, value in {**arguments.hiveconf, **arguments.variables}.items():
        spark.conf.set(key, value)
    if arguments.database is not None:
        spark.sql(f"USE {qualified_name(arguments.database.split('.'))}")
    return spark


def _connect(arguments: Arguments) -> SparkSession:
    builder = SparkSession.builder.remote(arguments.remote or "")
    for key, value in arguments.conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def submit_arguments(arguments: Arguments) -> list[str]:
    """Return spark-submit's arguments, with which PySpark starts its JVM. ``--conf`` overrides the defaults."""
    hadoop = {f"spark.hadoop.{key}": value for key, value in arguments.hiveconf.items()}
    conf = {**_QUIET, **_DEFAULTS, **hadoop, **arguments.conf}
    name = [] if "--name" in arguments.submit else ["--name", "kafka-sql"]
    conf_options = [argument for key, value in conf.items() for argument in ("--conf", f"{key}={value}")]
    return [*name, *arguments.submit, *conf_options, "pyspark-shell"]
