"""A JSON SELECT over every field: this project against Spark's own Kafka source with from_json, in alternation.

``make bench``, or ``python -m benchmarks.read_json --records 2000000 --runs 5``. Both read the same topic on the same
broker in the same session; results are compared, and a mismatch fails the run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyspark
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import kafka_sql
from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java

PARTITIONS = 4
COLUMNS = (
    "order_id BIGINT, user_id BIGINT, product STRING, price DOUBLE, quantity INT, status STRING, country STRING, "
    "paid BOOLEAN, ts BIGINT"
)
EVERY_FIELD = (
    "count(*), sum(order_id), sum(user_id), max(product), sum(CAST(price * 100 AS BIGINT)), sum(quantity), "
    "max(status), max(country), sum(CAST(paid AS INT)), max(ts)"
)


def main() -> int:
    """Measure, print a line a run and the ratio; 1 where the two disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each, after one to warm up")
    arguments = parser.parse_args()
    jars = kafka_jars(find_java(), Path(__file__).with_name("spark-kafka.lock"))
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka(java_options=["-Xmx1g"]) as kafka:
        size = fill(kafka.bootstrap_servers, arguments.records)
        spark = session(folder, jars)
        print(f"Spark {pyspark.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, local[2];")
        print(f"{arguments.records:,} records of {size} B in {PARTITIONS} partitions; seconds a query:")
        readers = {
            "kafka_sql": ours(spark, kafka.bootstrap_servers),
            "Spark + from_json": sparks(spark, kafka.bootstrap_servers),
        }
        taken, results = measure(readers, arguments.runs)
        spark.stop()
    if len(set(results)) != 1:
        print(f"FAILED: the results differ: {results}", file=sys.stderr)
        return 1
    report(taken, arguments.records, "Spark's own source with from_json")
    return 0


def fill(bootstrap: str, records: int) -> int:
    """Send the records; returns the mean size of a payload in bytes."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic("orders", PARTITIONS, 1)])["orders"].result()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.size": 500_000,
            "queue.buffering.max.messages": 500_000,
        }
    )
    rng, size = random.Random(1), 0
    for i in range(records):
        payload = json.dumps(
            {
                "order_id": i,
                "user_id": rng.randrange(100_000),
                "product": f"product-{rng.randrange(1000)}",
                "price": rng.randrange(50_000) / 100,
                "quantity": rng.randrange(1, 10),
                "status": rng.choice(["new", "paid", "shipped", "done"]),
                "country": rng.choice(["DE", "FR", "US", "CN", "BR"]),
                "paid": rng.random() < 0.5,
                "ts": 1_700_000_000_000 + i,
            }
        ).encode()
        size += len(payload)
        while True:
            try:
                producer.produce("orders", payload, partition=i % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if i % 10_000 == 0:
            producer.poll(0)
    producer.flush()
    return size // records


def session(folder: str, jars: list[Path]) -> SparkSession:
    """One session that has both sources."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return kafka_sql.enable(spark)


def ours(spark: SparkSession, bootstrap: str) -> Callable[[], DataFrame]:
    """A table of this project."""
    spark.sql(
        f"""CREATE TABLE orders ({COLUMNS}) WITH ('connector' = 'kafka', 'topic' = 'orders', 'format' = 'json',
        'properties.bootstrap.servers' = '{bootstrap}', 'scan.startup.mode' = 'earliest-offset')"""
    )
    return lambda: spark.sql(f"SELECT {EVERY_FIELD} FROM orders")


def sparks(spark: SparkSession, bootstrap: str) -> Callable[[], DataFrame]:
    """Spark's own source and its JSON function."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "orders")

    def query() -> DataFrame:
        rows = source.load().select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("r")).select("r.*")
        return rows.selectExpr(*split(EVERY_FIELD))

    return query


def split(expressions: str) -> list[str]:
    """A select list as its items; none here has a comma inside."""
    return [e.strip() for e in expressions.split(", ")]


def measure(readers: dict[str, Callable[[], DataFrame]], runs: int) -> tuple[dict[str, list[float]], list[Row]]:
    """Seconds of each run by reader, in alternation, and all results. The first run of each only warms up."""
    taken: dict[str, list[float]] = {name: [] for name in readers}
    results: list[Row] = []
    for run in range(runs + 1):
        for name, query in readers.items():
            began = time.perf_counter()
            results += query().collect()
            seconds = time.perf_counter() - began
            print(f"  {name:<18} {'warm-up' if run == 0 else f'run {run}':<8} {seconds:6.2f}", flush=True)
            if run:
                taken[name].append(seconds)
    return taken, results


def report(taken: dict[str, list[float]], records: int, peer: str) -> None:
    """Medians, spread and the ratio to the peer, which comes second."""
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        print(
            f"{name:<18} median {median:5.2f} s (least {min(seconds):.2f}, most {max(seconds):.2f}), "
            f"{records / median / 1000:,.0f} thousand records a second"
        )
    ours_, theirs = (statistics.median(s) for s in taken.values())
    print(f"ratio: {theirs / ours_:.2f} times as fast as {peer}")


if __name__ == "__main__":
    sys.exit(main())
