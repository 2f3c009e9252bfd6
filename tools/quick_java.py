"""A Spark that starts in half the time, for tests: only the quick compiler, and classes mapped from an archive.

Run as a program it makes the archive, in the environment's folder: what a small application has loaded (JEP 350).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "SPARK_SUBMIT_OPTS"  # read by spark-submit, and so by pyspark, spark-sql and the Connect server
ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"  # of classes that are not where they were


def options() -> str:
    """What ``VARIABLE`` is to be."""
    archive = f" -XX:SharedArchiveFile={ARCHIVE} {_SILENT}" if ARCHIVE.exists() else ""
    return _QUICK + archive


def make() -> None:
    """Run a small application, with Hive's catalog and Spark Connect, whose classes are kept."""
    from pyspark.sql import SparkSession

    ARCHIVE.unlink(missing_ok=True)
    os.environ[VARIABLE] = f"{_QUICK} -XX:ArchiveClassesAtExit={ARCHIVE} {_SILENT}"
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
        java.proc.wait()  # it writes the archive at its end


if __name__ == "__main__":
    make()
