"""A continuous query on Spark that copies numbers, exactly once: ``python -m tests.kills.spark_query BOOTSTRAP SOURCE
TARGET PREFIX CHECKPOINTS MASTER``. Prints the process ids of Python and Java, and runs until it is killed.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import kafka_sql


def main(bootstrap: str, source: str, target: str, prefix: str, checkpoints: str, master: str) -> None:
    """Start it and wait."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = kafka_sql.enable(
        SparkSession.builder.master(master)
        .config("spark.task.maxFailures", "8")  # for tasks whose process is killed
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    shared = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json'"
    spark.sql(
        f"""CREATE TABLE src (a BIGINT, k BIGINT) WITH ({shared}, 'topic' = '{source}',
        'scan.startup.mode' = 'earliest-offset')"""
    )
    spark.sql(
        f"""CREATE TABLE tgt (a BIGINT, k BIGINT) WITH ({shared}, 'topic' = '{target}',
        'key.format' = 'json', 'key.fields' = 'k', 'sink.delivery-guarantee' = 'exactly-once',
        'sink.transactional-id-prefix' = '{prefix}')"""
    )
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{checkpoints}'")
    spark.sql("INSERT INTO tgt SELECT a, k FROM src")
    jvm = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    print(os.getpid(), jvm, flush=True)
    spark.streams.active[0].awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
