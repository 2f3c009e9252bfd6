"""Halve the start-up time of Spark and Kafka in tests: use only the C1 compiler, and map classes from an archive.

When run as a program, create the archives in the virtual environment, with the classes that a small application and
an empty broker load (JEP 350).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kafka_sql.embedded import EmbeddedKafka, cluster

VARIABLE: Final = "SPARK_SUBMIT_OPTS"  # read by spark-submit, and so by pyspark, spark-sql and the Connect server
SPARK_ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
KAFKA_ARCHIVE: Final = Path(sys.prefix, "kafka.jsa")
_FAST: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SILENT: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")  # no warnings about classes whose location changed
_STOP_SECONDS: Final = 120  # to write the archive


def spark_options() -> str:
    """Return the value for ``VARIABLE``."""
    return " ".join([_FAST, *_archive_options(SPARK_ARCHIVE)])


def kafka_options() -> list[str]:
    """Return the options of a broker's JVM. A broker with another class path or Java ignores the archive."""
    return [*cluster.FAST_JVM, *_archive_options(KAFKA_ARCHIVE)]


def _archive_options(archive: Path) -> Sequence[str]:
    return [f"-XX:SharedArchiveFile={archive}", *_SILENT] if archive.exists() else []


def make_spark_archive() -> None:
    """Create the archive from a small application with Hive's catalog and Spark Connect."""
    from pyspark.sql import SparkSession

    SPARK_ARCHIVE.unlink(missing_ok=True)
    os.environ[VARIABLE] = " ".join([_FAST, f"-XX:ArchiveClassesAtExit={SPARK_ARCHIVE}", *_SILENT])
    with tempfile.TemporaryDirectory() as folder:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.sql.catalogImplementation", "hive")
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:derby:memory:archive;create=true")
            .config("spark.driver.extraJavaOptions", f"-Dderby.stream.error.file={folder}/derby.log")
            .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
            .config("spark.connect.grpc.binding.port", "0")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        spark.sql("CREATE TABLE t USING parquet AS SELECT id, CAST(id AS STRING) AS s FROM range(10)")
        spark.sql("SELECT s, count(*) FROM t GROUP BY s").toArrow()
        rows = spark.readStream.table("t").writeStream.format("noop")
        rows.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()
        java: Any = spark.sparkContext._gateway
        spark.stop()
        java.shutdown()
        java.proc.stdin.close()
        java.proc.wait()  # the JVM writes the archive when it exits


def make_kafka_archive() -> None:
    """Create the archive from a broker without topics."""
    KAFKA_ARCHIVE.unlink(missing_ok=True)
    with EmbeddedKafka(
        java_options=[*cluster.FAST_JVM, f"-XX:ArchiveClassesAtExit={KAFKA_ARCHIVE}", *_SILENT]
    ) as kafka:
        (node,) = kafka.nodes
        node.terminate()
        node.wait_for_exit(_STOP_SECONDS)  # the JVM writes the archive when it exits


if __name__ == "__main__":
    make_kafka_archive()
    make_spark_archive()
