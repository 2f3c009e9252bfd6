"""A program that streams a table into Parquet files until it is killed: ``python streaming_driver.py BROKER TOPIC
FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import kafka_sql

DECLARATION = """CREATE TABLE src (a INT, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{broker}', 'format' = 'json',
  'properties.group.id' = '{topic}', 'scan.startup.mode' = 'earliest-offset',
  'scan.max-offsets-per-trigger' = '{limit}')"""


def main(broker: str, topic: str, folder: str) -> None:
    """Stream in batches of few records."""
    spark = kafka_sql.enable(
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # it does not live long
        .config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql(DECLARATION.format(broker=broker, topic=topic, limit=100))
    writer = spark.readStream.table("src").writeStream.format("parquet").option("path", f"{folder}/out")
    writer.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
