"""Measure the cost of exactly-once, compared with at-least-once, for micro-batches of 100,000 and 200 rows.

``python -m benchmarks.exactly_once --rounds 8 --batches 12``. Times are those of whole micro-batches in Spark. Each
round runs both queries, in alternating order, and gives the ratio of the two medians. A temporarily slow machine thus
affects both.
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
from kafka_sql.kafka.direct.writes.transactional_producer import open_direct_transaction
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.records import PreparedTransaction, Writer

WARM_UP_BATCHES = 3  # unmeasured batches per query
BROKER_WARM_UP = 4000  # transactions before the first query, so that the broker's JVM has compiled its code
_TABLES = ("at_least_once", "exactly_once")


def main() -> int:
    """Measure, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--batches", type=int, default=12, help="batches per query and round")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 200])
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka(java_options=["-Xmx1g"]) as kafka:
        spark = session(folder)
        create_tables(spark, kafka.bootstrap_servers)
        warm_up_broker(kafka.bootstrap_servers)
        for rows in arguments.rows:
            times: list[dict[str, list[float]]] = []
            for round_ in range(arguments.rounds):
                tables = _TABLES if round_ % 2 else _TABLES[::-1]
                times.append(
                    {
                        table: run(spark, table, rows, arguments.batches, Path(folder) / f"{table}-{rows}-{round_}")
                        for table in tables
                    }
                )
            report(rows, times)
        spark.stop()
    return 0


def session(folder: str) -> SparkSession:
    """Return a local Spark session."""
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


def create_tables(spark: SparkSession, bootstrap: str) -> None:
    """Create a table for each guarantee."""
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


def warm_up_broker(bootstrap: str) -> None:
    """Run enough transactions for the broker to reach its usual speed."""
    config = to_librdkafka({"bootstrap.servers": bootstrap, "transaction.timeout.ms": "60000"})
    run_id, topic = transactional_ids.run_id("warm"), _TABLES[0]
    writer = Writer(name="warm", prefix="warm", topics=topic, run=run_id, query="warm")
    with closing(Committer(config, writer)) as committer:
        for batch in range(BROKER_WARM_UP):
            transaction = transactional_ids.incrementing_id("warm", run_id, batch, partition=0, attempt=batch)
            with open_direct_transaction(config, transaction, topic) as producer:
                producer.produce(pa.array([b"1"] * 1000, pa.binary()))
                producer.flush()
            prepared = PreparedTransaction(
                partition=0,
                rows=1000,
                transaction=transaction,
                digest=0,
                run=run_id,
                query="warm",
                batch=batch,
                hint=producer.hint,
            )
            committer.commit(batch, [prepared])


def run(spark: SparkSession, table: str, rows: int, batches: int, checkpoint: Path) -> list[float]:
    """Return the milliseconds of each measured micro-batch."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 2).load()
    frame = source.selectExpr(
        "value AS id",
        "concat('product-', value % 1000) AS product",
        "value / 100D AS price",
        "substr('DEFRUSCNBR', 1 + 2 * int(value % 5), 2) AS country",
        "CAST(timestamp AS TIMESTAMP_NTZ) AS ts",
    )
    query = frame.writeStream.option("checkpointLocation", str(checkpoint)).toTable(table)
    while query.isActive and (not query.lastProgress or query.lastProgress["batchId"] < batches + WARM_UP_BATCHES - 1):
        time.sleep(0.05)
    failure = query.exception()
    if failure is not None:
        raise failure
    progress = query.recentProgress[WARM_UP_BATCHES : WARM_UP_BATCHES + batches]
    query.stop()
    return [float(p["durationMs"]["triggerExecution"]) for p in progress]


def report(rows: int, rounds: list[dict[str, list[float]]]) -> None:
    """Print the median of each query, and the median over the rounds of their ratio."""
    for name in _TABLES:
        times = [millis for round_ in rounds for millis in round_[name]]
        print(
            f"{rows:>7,} rows  {name:<14} median {statistics.median(times):7.1f} ms (minimum {min(times):.0f}, of "
            f"{len(times)})"
        )
    ratios = [
        statistics.median(round_["exactly_once"]) / statistics.median(round_["at_least_once"]) for round_ in rounds
    ]
    ratio = statistics.median(ratios)
    print(
        f"{rows:>7,} rows  exactly-once takes {ratio:.2f} times as long ({1 / ratio:.0%} of the rate); by round: "
        f"{', '.join(f'{r:.2f}' for r in sorted(ratios))}"
    )


if __name__ == "__main__":
    sys.exit(main())
