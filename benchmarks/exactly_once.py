"""What exactly-once costs a continuous query: micro-batches of 100,000 rows and of 200, beside at-least-once.

``python -m benchmarks.exactly_once --rounds 8 --batches 12``. Times are Spark's own, of whole micro-batches. Each round
runs both queries, by turns the one or the other first, and its ratio is that of its two medians: a machine that is
slower for a minute is so for both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.transactional_producer import open_direct_transaction
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.records import Prepared, Writer

WARM_UP = 3  # batches of each query that do not count
_BEFORE = 4000  # transactions before the first query: a new broker compiles what they ask of it for that long
_TABLES = ("at_least_once", "exactly_once")


def main() -> int:
    """Measure, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--batches", type=int, default=12, help="of each query in a round")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 200])
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka(java_options=["-Xmx1g"]) as kafka:
        spark = session(folder)
        declare(spark, kafka.bootstrap_servers)
        warm(kafka.bootstrap_servers)
        for rows in arguments.rows:
            taken: list[dict[str, list[float]]] = []
            for turn in range(arguments.rounds):
                tables = _TABLES if turn % 2 else _TABLES[::-1]
                taken.append(
                    {
                        table: run(spark, table, rows, arguments.batches, Path(folder) / f"{table}-{rows}-{turn}")
                        for table in tables
                    }
                )
            report(rows, taken)
        spark.stop()
    return 0


def session(folder: str) -> SparkSession:
    """A local Spark."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return kafka_sql.enable(spark)


def declare(spark: SparkSession, bootstrap: str) -> None:
    """A table of each guarantee."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    guarantees = {
        "at_least_once": "'sink.delivery-guarantee' = 'at-least-once'",
        "exactly_once": "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'benchmark'",
    }
    for name, guarantee in guarantees.items():
        admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
        spark.sql(
            f"""CREATE TABLE {name} (id BIGINT, product STRING, price DOUBLE, country STRING, ts TIMESTAMP) WITH (
            'connector' = 'kafka', 'topic' = '{name}', 'properties.bootstrap.servers' = '{bootstrap}',
            'format' = 'json', {guarantee})"""
        )


def warm(bootstrap: str) -> None:
    """Bring a broker to where it is after some minutes' work."""
    config = to_librdkafka({"bootstrap.servers": bootstrap, "transaction.timeout.ms": "60000"})
    run, topic = transactional_ids.short("warm"), _TABLES[0]
    with closing(Committer(config, Writer("warm", "warm", topic, run, "warm"))) as committer:
        for batch in range(_BEFORE):
            transaction = transactional_ids.incrementing("warm", run, batch, 0, batch)
            with open_direct_transaction(config, transaction, topic) as producer:
                producer.produce(pa.array([b"1"] * 1000, pa.binary()))
                producer.flush()
            committer.commit(batch, [Prepared(0, 1000, transaction, 0, run, "warm", batch, hint=producer.hint)])


def run(spark: SparkSession, table: str, rows: int, batches: int, checkpoint: Path) -> list[float]:
    """Milliseconds of each micro-batch that counts."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 2).load()
    frame = source.selectExpr(
        "value AS id",
        "concat('product-', value % 1000) AS product",
        "value / 100D AS price",
        "substr('DEFRUSCNBR', 1 + 2 * int(value % 5), 2) AS country",
        "CAST(timestamp AS TIMESTAMP_NTZ) AS ts",
    )
    query = frame.writeStream.option("checkpointLocation", str(checkpoint)).toTable(table)
    while query.isActive and (not query.lastProgress or query.lastProgress["batchId"] < batches + WARM_UP - 1):
        time.sleep(0.05)
    failure = query.exception()
    if failure is not None:
        raise failure
    progress = query.recentProgress[WARM_UP : WARM_UP + batches]
    query.stop()
    return [float(p["durationMs"]["triggerExecution"]) for p in progress]


def report(rows: int, taken: list[dict[str, list[float]]]) -> None:
    """Medians, and how they compare."""
    for name in _TABLES:
        times = [time for turn in taken for time in turn[name]]
        print(
            f"{rows:>7,} rows  {name:<14} median {statistics.median(times):7.1f} ms (least {min(times):.0f}, of "
            f"{len(times)})"
        )
    ratios = [statistics.median(turn["exactly_once"]) / statistics.median(turn["at_least_once"]) for turn in taken]
    ratio = statistics.median(ratios)
    print(
        f"{rows:>7,} rows  exactly-once takes {ratio:.2f} times as long ({1 / ratio:.0%} of the rate); by rounds: "
        f"{', '.join(f'{one:.2f}' for one in sorted(ratios))}"
    )


if __name__ == "__main__":
    sys.exit(main())
