"""Create the Spark session for a command line."""

from __future__ import annotations

import logging
import os
import secrets
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.cli.arguments import Arguments, submit_arguments
from kafka_sql.cli.class_archive import use_archive
from kafka_sql.cli.screen import Screen
from kafka_sql.cli.script import find_unreadable
from kafka_sql.embedded.java import find_java
from kafka_sql.errors import EmbeddedKafkaError
from kafka_sql.runtime.error_loggers import disable_error_loggers
from kafka_sql.sql.errors.spark_errors import error_message

_JOBS_LOGGER = "kafka_sql.sql.jobs"  # logs failed jobs, which the shell reports itself
_STDERR: Final = 2  # the file descriptor that Java inherits
_CHUNK_BYTES: Final = 65536


def start_session(arguments: Arguments, screen: Screen) -> SparkSession | None:
    """Check that the files can be read, and create the session; None after an error, which has been printed."""
    paths = [*arguments.init, *(path for type, path in arguments.sources if type == "file")]
    unreadable = find_unreadable(paths)  # before Spark starts, which takes seconds
    if unreadable is not None:
        screen.error(unreadable)
        return None
    try:
        return create_session(arguments)
    except Exception as e:  # noqa: BLE001  any error is reported in one line
        screen.error(_with_java(error_message(e)))
        return None


def _with_java(message: str) -> str:
    """Return Spark's message, with what is wrong with Java if Spark only reports that it has ended."""
    if message.startswith("[JAVA_GATEWAY_EXITED]"):
        try:
            find_java()
        except EmbeddedKafkaError as e:
            return f"{message} {e.message}"
    return message


def create_session(arguments: Arguments) -> SparkSession:
    """Start Spark or connect to a Spark Connect server, and enable Flink's statements."""
    disable_error_loggers()
    logging.getLogger(_JOBS_LOGGER).disabled = True
    if arguments.remote is not None:
        builder = SparkSession.builder.remote(arguments.remote)
        for key, value in arguments.conf.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    else:
        use_archive()
        on_interrupt = signal.getsignal(signal.SIGINT)
        os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(submit_arguments(arguments))
        # lines of Ivy and of a log that was asked for are printed at once
        is_verbose = "--packages" in arguments.submit or "spark.log.level" in arguments.conf
        with nullcontext() if is_verbose else hold_startup_output():
            spark = SparkSession.builder.getOrCreate()
        # PySpark's own handler would cancel the jobs of continuous queries
        signal.signal(signal.SIGINT, on_interrupt)
    kafka_sql.enable(spark, catalog=arguments.catalog)
    for key, value in {**arguments.hiveconf, **arguments.variables}.items():
        spark.conf.set(key, value)
    if arguments.database is not None:
        spark.sql(f"USE {qualified_name(arguments.database.split('.'))}")
    return spark


@contextmanager
def hold_startup_output() -> Iterator[None]:
    """Discard what processes that are started in a ``with`` block print to standard error, until the block's end.

    Their later output is printed. If Java exits in the block, what it printed is the cause, and is printed.
    """
    reader, writer = os.pipe()
    stderr = os.dup(_STDERR)
    os.dup2(writer, _STDERR)
    end = secrets.token_bytes()  # written to the pipe at the end of the block
    is_cause = False
    has_passed_end = threading.Event()

    def forward() -> None:
        output = b""
        while end not in output:
            output += os.read(reader, _CHUNK_BYTES)
        before, _, after = output.partition(end)
        os.write(stderr, before + after if is_cause else after)
        has_passed_end.set()
        while output := os.read(reader, _CHUNK_BYTES):
            os.write(stderr, output)

    threading.Thread(target=forward, daemon=True).start()
    try:
        yield
    except PySparkRuntimeError as e:
        is_cause = e.getCondition() == "JAVA_GATEWAY_EXITED"
        raise
    finally:
        os.dup2(stderr, _STDERR)
        os.write(writer, end)
        os.close(writer)
        has_passed_end.wait()
