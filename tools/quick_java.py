"""A Spark that starts in half the time, for tests: only the quick compiler, and classes mapped from an archive.

Run as a program it makes the archive, in the environment's folder: what a small application has loaded (JEP 350).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "SPARK_SUBMIT_OPTS"  # read by spark-submit, and so by pyspark, spark-sql and the Connect server
ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def options() -> str:
    """What ``VARIABLE`` is to be."""
    archive = f" -XX:SharedArchiveFile={ARCHIVE} -Xlog:cds=off -Xlog:cds+dynamic=off" if ARCHIVE.exists() else ""
    return _QUICK + archive


def make() -> None:
    """Run a small application whose classes are kept."""
    from pyspark.sql import SparkSession

    ARCHIVE.unlink(missing_ok=True)
    os.environ[VARIABLE] = f"{_QUICK} -XX:ArchiveClassesAtExit={ARCHIVE} -Xlog:cds=off -Xlog:cds+dynamic=off"
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sql("CREATE TEMPORARY VIEW t AS SELECT id, CAST(id AS STRING) AS s FROM range(10)")
    spark.sql("SELECT s, count(*) FROM t GROUP BY s").toArrow()
    java: Any = spark.sparkContext._gateway
    spark.stop()
    java.shutdown()
    java.proc.stdin.close()
    java.proc.wait()  # it writes the archive at its end


if __name__ == "__main__":
    make()
