"""Run an exactly-once streaming query with Spark until it is killed; print the process ids of Python and Java.

Usage: ``python -m tests.kills.spark_query BOOTSTRAP SOURCE TARGET PREFIX CHECKPOINTS MASTER QUERY CLIENT CODEC``
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import kafka_sql
from tests import changelog_histories as histories

_ONCE = """'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{prefix}',
  'sink.client' = '{client}', 'properties.compression.type' = '{codec}'"""
_KAFKA = f"""WITH ('connector' = 'kafka', 'properties.bootstrap.servers' = '{{bootstrap}}', 'topic' = '{{target}}',
  'format' = 'json', 'key.format' = 'json', 'key.fields' = 'k', {_ONCE})"""
_UPSERT = f"""WITH ('connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{{bootstrap}}',
  'topic' = '{{target}}', 'value.format' = 'json', 'key.format' = 'json', {_ONCE})"""
_READ = """'connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'topic' = '{source}',
  'scan.startup.mode' = 'earliest-offset', 'scan.client' = '{client}'"""
_ROWS = f"""CREATE TABLE src (a BIGINT, k BIGINT, t TIMESTAMP_LTZ(3), WATERMARK FOR t AS t - INTERVAL '2' MINUTE)
  WITH ({_READ}, 'format' = 'json')"""
_KEYED = f"CREATE TABLE src ({histories.COLUMNS}, PRIMARY KEY (h, k) NOT ENFORCED)"
_CHANGES = f"{_KEYED} WITH ({_READ}, 'format' = 'debezium-json')"
_UPSERTS = f"""{_KEYED} WITH ('connector' = 'upsert-kafka',
  'properties.bootstrap.servers' = '{{bootstrap}}', 'topic' = '{{source}}', 'scan.client' = '{{client}}',
  'key.format' = 'json', 'value.format' = 'json')"""
_VALUES = f"""CREATE TABLE tgt (
  h INT, g INT, n BIGINT, s DECIMAL(20, 2), low DECIMAL(10, 2), high DECIMAL(10, 2), d BIGINT,
  PRIMARY KEY (h, g) NOT ENFORCED) {_UPSERT}"""
# two tables over the same topic
_CHANGES_TWICE = f"{_CHANGES}; {_CHANGES.replace('TABLE src', 'TABLE other')}"
_RETRACT = f"""WITH ('connector' = 'kafka', 'properties.bootstrap.servers' = '{{bootstrap}}', 'topic' = '{{target}}',
  'format' = 'debezium-json', {_ONCE})"""
_AGGREGATE = """INSERT INTO tgt
  SELECT h, g, count(*), sum(v), min(v), max(v), count(DISTINCT k % 3) FROM src GROUP BY h, g"""
# name -> CREATE TABLE of the sources and of the target, and INSERT
QUERIES = {
    "copy": (
        _ROWS,
        f"CREATE TABLE tgt (a BIGINT, k BIGINT) {_KAFKA}",
        "INSERT INTO tgt SELECT a, k FROM src",
    ),
    # the latest count and sum per key, written by each batch that changes them
    "aggregate": (
        _ROWS,
        f"CREATE TABLE tgt (k BIGINT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) {_UPSERT}",
        "INSERT INTO tgt SELECT k, count(*) AS n, sum(a) AS s FROM src GROUP BY k",
    ),
    # each window once, when the watermark has passed its end
    "window": (
        _ROWS,
        f"CREATE TABLE tgt (w TIMESTAMP_LTZ(3), k BIGINT, n BIGINT, s BIGINT) {_KAFKA}",
        """INSERT INTO tgt SELECT window(t, '10 seconds').start AS w, k, count(*) AS n, sum(a) AS s FROM src
        GROUP BY window(t, '10 seconds'), k""",
    ),
    # aggregates with retraction, which keep their own state
    "aggregate of changes": (_CHANGES, _VALUES, _AGGREGATE),
    "aggregate of upserts": (_UPSERTS, _VALUES, _AGGREGATE),
    # old and new rows, which no key deduplicates
    "join of changes": (
        _CHANGES_TWICE,
        f"CREATE TABLE tgt (h INT, k INT, k2 INT, v DECIMAL(10, 2), w DECIMAL(10, 2)) {_RETRACT}",
        """INSERT INTO tgt SELECT a.h, a.k, b.k AS k2, a.v, b.v AS w
        FROM src AS a LEFT JOIN other AS b ON a.h = b.h AND a.k = b.g""",
    ),
    "aggregate of an aggregate": (
        _CHANGES,
        f"CREATE TABLE tgt (h INT, n BIGINT, m BIGINT, s DECIMAL(30, 2)) {_RETRACT}",
        """INSERT INTO tgt SELECT h, n, count(*) AS m, sum(s) AS s
        FROM (SELECT h, g, count(*) AS n, sum(v) AS s FROM src GROUP BY h, g) GROUP BY h, n""",
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
    source_table, target_table, insert = QUERIES[query]
    names = {"bootstrap": bootstrap, "source": source, "target": target, "prefix": prefix}
    for table in (*source_table.split(";"), target_table):
        spark.sql(table.format(**names, client=client, codec=codec))
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{checkpoints}'")
    spark.sql(insert)
    jvm = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    print(os.getpid(), jvm, flush=True)
    spark.streams.active[0].awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
