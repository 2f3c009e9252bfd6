"""Halve the start-up time of Spark and Kafka in tests: use only the C1 compiler, and map classes from an archive.

When run as a program, create the archives in the virtual environment, with the classes that a small application and
an empty broker load (JEP 350).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafka_sql.cli import class_archive
from kafka_sql.embedded import EmbeddedKafka, cluster

SPARK_ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
KAFKA_ARCHIVE: Final = Path(sys.prefix, "kafka.jsa")
FAST: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_STOP_SECONDS: Final = 120  # to write the archive


def spark_options() -> str:
    """Return the value of the variable SPARK_SUBMIT_OPTS."""
    return " ".join([*FAST, *_archive_options(SPARK_ARCHIVE)])


def kafka_options() -> list[str]:
    """Return the options of a broker's JVM. A broker with another class path or Java ignores the archive."""
    return [*cluster.FAST_JVM, *_archive_options(KAFKA_ARCHIVE)]


def _archive_options(archive: Path) -> Sequence[str]:
    return class_archive.archive_options(archive) if archive.exists() else []


def make_spark_archive() -> None:
    """Create the archive from a small application with Hive's catalog and Spark Connect."""
    SPARK_ARCHIVE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        conf = {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:archive;create=true",
            "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={folder}/derby.log",
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.port": "0",
        }
        class_archive.write_archive(SPARK_ARCHIVE, FAST, conf)


def make_kafka_archive() -> None:
    """Create the archive from a broker without topics."""
    KAFKA_ARCHIVE.unlink(missing_ok=True)
    with EmbeddedKafka(
        java_options=[*cluster.FAST_JVM, f"-XX:ArchiveClassesAtExit={KAFKA_ARCHIVE}", *class_archive.SILENT]
    ) as kafka:
        (node,) = kafka.nodes
        node.terminate()
        node.wait_for_exit(_STOP_SECONDS)  # the JVM writes the archive when it exits


if __name__ == "__main__":
    make_kafka_archive()
    make_spark_archive()
