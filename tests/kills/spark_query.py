"""Run an exactly-once streaming query with Spark until it is killed; print the process ids of Python and Java.

Usage: ``python -m tests.kills.spark_query BOOTSTRAP SOURCE TARGET PREFIX CHECKPOINTS MASTER QUERY CLIENT CODEC``
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import kafka_sql

_ONCE = """'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{prefix}',
  'sink.client' = '{client}', 'properties.compression.type' = '{codec}'"""
_KAFKA = f"""WITH ('connector' = 'kafka', 'properties.bootstrap.servers' = '{{bootstrap}}', 'topic' = '{{target}}',
  'format' = 'json', 'key.format' = 'json', 'key.fields' = 'k', {_ONCE})"""
_UPSERT = f"""WITH ('connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{{bootstrap}}',
  'topic' = '{{target}}', 'value.format' = 'json', 'key.format' = 'json', {_ONCE})"""
# name -> CREATE TABLE of the target, and INSERT
QUERIES = {
    "copy": (f"CREATE TABLE tgt (a BIGINT, k BIGINT) {_KAFKA}", "INSERT INTO tgt SELECT a, k FROM src"),
    # the latest count and sum per key, written by each batch that changes them
    "aggregate": (
        f"CREATE TABLE tgt (k BIGINT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) {_UPSERT}",
        "INSERT INTO tgt SELECT k, count(*) AS n, sum(a) AS s FROM src GROUP BY k",
    ),
    # each window once, when the watermark has passed its end
    "window": (
        f"CREATE TABLE tgt (w TIMESTAMP_LTZ(3), k BIGINT, n BIGINT, s BIGINT) {_KAFKA}",
        """INSERT INTO tgt SELECT window(t, '10 seconds').start AS w, k, count(*) AS n, sum(a) AS s FROM src
        GROUP BY window(t, '10 seconds'), k""",
    ),
}


def main(
    bootstrap: str,
    source: str,
    target: str,
    prefix: str,
    checkpoints: str,
    master: str,
    query: str = "copy",
    client: str = "auto",
    codec: str = "none",
) -> None:
    """Start the query and wait."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = kafka_sql.enable(
        SparkSession.builder.master(master)
        .config("spark.task.maxFailures", "8")  # for tasks whose worker is killed
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql(
        f"""CREATE TABLE src (a BIGINT, k BIGINT, t TIMESTAMP_LTZ(3), WATERMARK FOR t AS t - INTERVAL '2' MINUTE) WITH (
        'connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json', 'topic' = '{source}',
        'scan.startup.mode' = 'earliest-offset', 'scan.client' = '{client}')"""
    )
    table, insert = QUERIES[query]
    spark.sql(table.format(bootstrap=bootstrap, target=target, prefix=prefix, client=client, codec=codec))
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{checkpoints}'")
    spark.sql(insert)
    jvm = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    print(os.getpid(), jvm, flush=True)
    spark.streams.active[0].awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
