"""Stream a table into Parquet files until killed: ``python streaming_driver.py BROKER TOPIC FOLDER [finish]``.

With ``finish``, read all remaining records, terminate, and print a summary of the files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import kafka_sql

DECLARATION = """CREATE TABLE src (a INT, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{broker}', 'format' = 'json',
  'properties.group.id' = '{topic}', 'scan.startup.mode' = 'earliest-offset', 'scan.parallelism' = '1',
  'scan.max-offsets-per-trigger' = '{limit}')"""
SUMMARY = """SELECT `partition`, count(*) AS n, count(DISTINCT `offset`) AS offsets, min(`offset`) AS first,
  max(`offset`) AS last, count(CASE WHEN a = `offset` THEN 1 END) AS right FROM parquet.`{folder}/out`
  GROUP BY `partition` ORDER BY `partition`"""


def main(broker: str, topic: str, folder: str, finish: str = "") -> None:
    """Stream in small batches."""
    spark = kafka_sql.enable(
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # a short-lived process
        .config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql(DECLARATION.format(broker=broker, topic=topic, limit=1_000_000 if finish else 100))
    writer = spark.readStream.table("src").writeStream.format("parquet").option("path", f"{folder}/out")
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
    (writer.trigger(availableNow=True) if finish else writer).start().awaitTermination()
    print(json.dumps([tuple(row) for row in spark.sql(SUMMARY.format(folder=folder)).collect()]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
