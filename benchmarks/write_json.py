"""A JSON INSERT of nine fields: this project against Spark's own Kafka sink with to_json, in alternation.

``python -m benchmarks.write_json --records 2000000 --runs 5``. Both write the same rows, at least once, into new topics
of the same broker in the same session; what stands in the topics is compared, and a mismatch fails the run.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pyspark
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from benchmarks.read_json import COLUMNS, PARTITIONS, report, session
from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java

ROWS = """
SELECT id AS order_id, pmod(hash(id), 100000) AS user_id, concat('product-', pmod(hash(id, 1), 1000)) AS product,
  pmod(hash(id, 2), 50000) / 100 AS price, pmod(hash(id, 3), 9) + 1 AS quantity,
  element_at(array('new', 'paid', 'shipped', 'done'), pmod(hash(id, 4), 4) + 1) AS status,
  element_at(array('DE', 'FR', 'US', 'CN', 'BR'), pmod(hash(id, 5), 5) + 1) AS country,
  pmod(hash(id, 6), 2) = 0 AS paid, 1700000000000 + id AS ts
FROM range(0, {records}, 1, 2)
"""
_TOPICS = count(1)
Write = Callable[[str], None]


def main() -> int:
    """Measure, print a line a run and the ratio; 1 where the two disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each, after one to warm up")
    arguments = parser.parse_args()
    jars = kafka_jars(find_java(), Path(__file__).with_name("spark-kafka.lock"))
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka(java_options=["-Xmx1g"]) as kafka:
        bootstrap = kafka.bootstrap_servers
        spark = session(folder, jars)
        fill(spark, folder, arguments.records)
        print(f"Spark {pyspark.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, local[2];")
        print(f"{arguments.records:,} rows into {PARTITIONS} partitions; seconds an INSERT:")
        writers: dict[str, Write] = {
            "kafka_sql": ours(spark, bootstrap),
            "Spark + to_json": sparks(spark, bootstrap),
        }
        taken, results = measure(spark, bootstrap, writers, arguments.runs)
        spark.stop()
    if len(set(results)) != 1 or results[0][0] != arguments.records:
        print(f"FAILED: the topics differ: {results}", file=sys.stderr)
        return 1
    report(taken, arguments.records, "Spark's own sink with to_json")
    return 0


def fill(spark: SparkSession, folder: str, records: int) -> None:
    """Keep the rows in a file, as the temporary view ``rows``, so that making them is not measured."""
    types = ", ".join(f"CAST({c.split()[0]} AS {c.split()[1]}) AS {c.split()[0]}" for c in COLUMNS.split(", "))
    rows = spark.sql(f"SELECT {types} FROM ({ROWS.format(records=records)})")
    rows.write.option("compression", "none").parquet(f"{folder}/rows")
    spark.read.parquet(f"{folder}/rows").createOrReplaceTempView("rows")


def ours(spark: SparkSession, bootstrap: str) -> Write:
    """An INSERT into a table of this project."""

    def write(topic: str) -> None:
        spark.sql(
            f"""CREATE TABLE {topic} ({COLUMNS}) WITH ('connector' = 'kafka', 'topic' = '{topic}',
            'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json')"""
        )
        spark.sql(f"INSERT INTO {topic} SELECT * FROM rows")

    return write


def sparks(spark: SparkSession, bootstrap: str) -> Write:
    """Spark's own sink and its JSON function."""
    rows = spark.sql("SELECT to_json(struct(*)) AS value FROM rows")

    def write(topic: str) -> None:
        rows.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", topic).save()

    return write


def measure(
    spark: SparkSession, bootstrap: str, writers: dict[str, Write], runs: int
) -> tuple[dict[str, list[float]], list[tuple[int, int]]]:
    """Seconds of each run by writer, in alternation, and what the topics of the first run hold, which only warms up."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    taken: dict[str, list[float]] = {name: [] for name in writers}
    results = []
    for run in range(runs + 1):
        for name, write in writers.items():
            topic = f"t{next(_TOPICS)}"
            admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
            began = time.perf_counter()
            write(topic)
            seconds = time.perf_counter() - began
            print(f"  {name:<18} {'warm-up' if run == 0 else f'run {run}':<8} {seconds:6.2f}", flush=True)
            if run == 0:
                results.append(content(spark, bootstrap, topic))
            else:
                taken[name].append(seconds)
            admin.delete_topics([topic])[topic].result()
    return taken, results


def content(spark: SparkSession, bootstrap: str, topic: str) -> tuple[int, int]:
    """The number of records in a topic and the sum of their checksums."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    row = source.selectExpr("count(*)", "sum(crc32(value))").collect()[0]
    return row[0], row[1]


if __name__ == "__main__":
    sys.exit(main())
