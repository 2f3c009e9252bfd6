"""A program on executors that are processes of their own: ``python cluster_driver.py BROKER SOURCE TARGET FOLDER``.

It prints what it has read as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import kafka_sql

SOURCE = """CREATE TABLE {name} (
  a INT, s STRING, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL
)
WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{broker}', 'format' = 'json',
  'properties.group.id' = 'cluster', 'scan.startup.mode' = 'earliest-offset', 'scan.parallelism' = '4')"""


def main(broker: str, source: str, target: str, folder: str) -> None:
    """Read and write in batch and streaming mode."""
    spark = kafka_sql.enable(
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    sql = spark.sql
    sql(SOURCE.format(name="src", topic=source, broker=broker))
    sql(SOURCE.format(name="tgt", topic=target, broker=broker))
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    results = {
        "executors": len(list(executors)) - 1,  # one is the driver
        "rows": [tuple(r) for r in sql("SELECT count(*), count(DISTINCT a), max(`offset`) FROM src").collect()],
        "tasks": sql("SELECT * FROM src").rdd.getNumPartitions(),
    }
    sql("INSERT INTO tgt SELECT a, s FROM src WHERE a < 10")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
    (row,) = sql("INSERT INTO tgt SELECT a + 1000, s FROM src WHERE a >= 10").collect()
    query = spark.streams.get(row[0])
    query.processAllAvailable()
    query.stop()
    sql("SET 'execution.runtime-mode' = 'batch'")
    results["written"] = [tuple(r) for r in sql("SELECT count(*), min(a), max(a), sum(a) FROM tgt").collect()]
    print(json.dumps(results))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
