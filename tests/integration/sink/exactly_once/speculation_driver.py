"""Run an INSERT whose first task hangs in its first attempt, so that Spark starts a speculative one on another host.

Usage: ``python speculation_driver.py MASTER BROKER TARGET PREFIX FOLDER``. Each attempt creates a file in the folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import kafka_sql

ROWS, TASKS = 60_000, 3


def main(master: str, broker: str, target: str, prefix: str, folder: str) -> None:
    """Write, and wait until killed."""
    spark = kafka_sql.enable(
        SparkSession.builder.master(master)
        .config("spark.cores.max", "4")
        .config("spark.executor.memory", "512m")
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "100ms")
        .config("spark.speculation.multiplier", "1.01")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.speculation.minTaskRuntime", "100ms")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql(
        f"""CREATE TABLE tgt (a BIGINT) WITH (
        'connector' = 'kafka', 'topic' = '{target}', 'properties.bootstrap.servers' = '{broker}', 'format' = 'json',
        'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{prefix}')"""
    )

    def hang(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        first, attempt = context.partitionId() == 0, context.attemptNumber()
        Path(folder, f"{context.partitionId()}-{attempt}-{context.taskAttemptId()}").touch()
        for i, batch in enumerate(batches):
            yield batch
            if first and attempt == 0 and i == 1:  # its first rows are on the broker
                time.sleep(3600)

    frame = spark.range(0, ROWS, 1, TASKS).toDF("a").mapInArrow(hang, "a BIGINT")
    frame.writeTo("tgt").append()
    print("written", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
