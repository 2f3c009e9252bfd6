"""Halve the start-up time of Spark in tests: use only the C1 compiler, and map classes from an archive.

When run as a program, create the archive in the environment's folder, with the classes that a small application loads
(JEP 350).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "SPARK_SUBMIT_OPTS"  # read by spark-submit, and so by pyspark, spark-sql and the Connect server
ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
_FAST: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"  # no warnings about classes whose location changed


def options() -> str:
    """Return the value for ``VARIABLE``."""
    archive = f" -XX:SharedArchiveFile={ARCHIVE} {_SILENT}" if ARCHIVE.exists() else ""
    return _FAST + archive


def make() -> None:
    """Create the archive from a small application with Hive's catalog and Spark Connect."""
    from pyspark.sql import SparkSession

    ARCHIVE.unlink(missing_ok=True)
    os.environ[VARIABLE] = f"{_FAST} -XX:ArchiveClassesAtExit={ARCHIVE} {_SILENT}"
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


if __name__ == "__main__":
    make()
