"""Demonstrate table declaration, queries, INSERT and streaming on a real broker. All results are checked.

``make demo``, or ``python -m ddl_examples.demo``.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from string import Template
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, Row, SparkSession

import kafka_sql
from ddl_examples.orders import PARTITIONS, ExpectedResults, fill
from kafka_sql.embedded import EmbeddedKafka

ORDERS = 300_000
_SQL = Path(__file__).parent / "demo"
_INSERTED = {"DE": (2, Decimal("37.80")), "FR": (10, Decimal("34.90"))}  # 04_insert_values.sql: items, total


class Mismatch(Exception):
    """A result differs from the expected result of the input."""


def main() -> int:
    """Run the demo. The exit code is 0 only if all results are as expected."""
    logging.basicConfig(level=logging.ERROR)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kafka_sql_demo_") as folder:
        say("Starting Apache Kafka on this machine (the first start downloads its jars) ...")
        with EmbeddedKafka() as kafka:
            say(f"Kafka is ready at {kafka.bootstrap_servers}. Starting Spark ...")
            spark = session(folder)
            try:
                Demo(spark, kafka.bootstrap_servers, folder).run()
            except Mismatch as e:
                print(f"\nFAILED: {e}", file=sys.stderr)
                return 1
            finally:
                spark.stop()
    say(f"All results are as expected ({time.monotonic() - started:.0f} s).\n")
    print("What to try next:")
    print("  .venv/bin/kafka-sql-broker   a Kafka broker on this machine; Ctrl-C stops it")
    print("  ddl_examples/demo/*.sql      the statements above, to change and run again")
    print("  docs/                        options, formats, embedded Kafka, architecture")
    print("  make bench                   compare this project with Spark's own Kafka source")
    return 0


def session(folder: str) -> SparkSession:
    """Return a local Spark session with Flink SQL support."""
    spark = (
        SparkSession.builder.master("local[*]")
        .appName("kafka_sql demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return kafka_sql.enable(spark)


class Demo:
    """The demo's steps, in the order of the SQL files."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: str) -> None:
        """Store what the steps share."""
        self.spark, self.bootstrap = spark, bootstrap
        self.names = {"bootstrap": bootstrap, "checkpoints": f"{folder}/checkpoints"}

    def run(self) -> None:
        """Run all steps.

        Raises:
            Mismatch: a result is not as expected.
        """
        create_topics(self.bootstrap, {"orders": PARTITIONS, "large-orders": 2, "revenue": 2})
        say(f"Filling the topic 'orders' with {ORDERS:,} JSON records ...")
        expected = fill(self.bootstrap, "orders", ORDERS, lambda n: progress(f"{n:,} records sent"))
        print()
        self.batch(expected)
        self.stream(expected)

    def batch(self, expected: ExpectedResults) -> None:
        """Declare tables, query and insert."""
        self.sql("01_orders")
        rows = self.show("02_by_country")
        expect(
            "totals by country", {r.country: [r.orders, r["items"], r.revenue] for r in rows}, dict(expected.by_country)
        )
        rows = self.show("03_metadata")
        expect("records by partition", {r.partition: r.records for r in rows}, dict(expected.by_partition))
        expect("offsets", [(r.first_offset, r.last_offset + 1) for r in rows], [(0, r.records) for r in rows])
        self.sql("04_insert_values")
        (row,) = self.show("05_after_insert")
        revenue = expected.revenue + sum(total for _, total in _INSERTED.values())
        expect("after INSERT ... VALUES", list(row), [ORDERS + 2, 900_002, revenue])
        self.sql("06_large_orders")
        self.sql("07_insert_select")
        (row,) = self.show("08_large_orders")
        large = expected.large
        expect("large orders", list(row), [len(large), min(large), max(large), sum(large)])

    def stream(self, expected: ExpectedResults) -> None:
        """Run a continuous query, and show its result as a table."""
        self.sql("09_revenue")
        self.sql("10_settings")
        (job,) = self.show("11_streaming_insert")
        self.spark.sql("SET 'execution.runtime-mode' = 'batch'")
        self.follow(job["job id"], len(expected.windows))
        self.show("12_revenue")
        rows = self.spark.sql("SELECT * FROM revenue").collect()
        totals_by_window = {(seconds(r.window_start), r.country): [r.orders, r.revenue] for r in rows}
        expect("windows written once", len(rows), len(totals_by_window))
        expect("totals by window", totals_by_window, {(seconds(w), c): v for (w, c), v in expected.windows.items()})
        length = {r.window_end - r.window_start for r in rows}
        expect("length of the windows", length, {timedelta(minutes=10)})

    def follow(self, job: str, expected: int) -> None:
        """Show the progress of the continuous query until it has written ``expected`` rows, then stop it."""
        query = self.spark.streams.get(job)
        assert query is not None
        for _ in range(20):
            query.processAllAvailable()
            written = sum(max(p.sink.numOutputRows, 0) for p in query.recentProgress)
            read = sum(p.numInputRows for p in query.recentProgress)
            progress(f"{read:,} records read, {written} of {expected} windows written")
            if self.spark.table("revenue").count() >= expected:
                break
        print()
        query.stop()

    def sql(self, name: str) -> DataFrame:
        """Print and run the statements of a file, and return the last result."""
        text = Template((_SQL / f"{name}.sql").read_text()).substitute(self.names).strip()
        heading, _, statements = text.partition("\n")
        print(f"\n\033[1m{heading}\033[0m\n{statements};" if sys.stdout.isatty() else f"\n{heading}\n{statements};")
        for statement in statements.split(";\n"):
            result = self.spark.sql(statement)
        return result

    def show(self, name: str) -> list[Row]:
        """Run the statements of a file, and print the last result as a table."""
        started = time.monotonic()
        rows = self.sql(name).collect()
        table(rows)
        print(f"{len(rows)} rows in {time.monotonic() - started:.1f} s")
        return rows


def create_topics(bootstrap: str, topics: dict[str, int]) -> None:
    """Create topics with unlimited retention."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new = [NewTopic(t, n, 1, config={"retention.ms": "-1"}) for t, n in topics.items()]
    for done in admin.create_topics(new).values():
        done.result()


def expect(subject: str, actual: Any, expected: Any) -> None:
    """Compare a result with the expected one, which was computed from the input.

    Raises:
        Mismatch: they differ.
    """
    if actual != expected:
        raise Mismatch(f"{subject}: found {actual}, expected {expected}")
    print(f"  as expected: {subject}")


def seconds(timestamp: Any) -> float:
    """Return a timestamp as seconds since 1970, which do not depend on time zones."""
    return float(timestamp.timestamp())


def table(rows: Iterable[Row]) -> None:
    """Print rows as a table."""
    rows = list(rows)
    if not rows:
        print("(no rows)")
        return
    cells = [[str(name) for name in rows[0].__fields__], *([str(v) for v in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def say(text: str) -> None:
    """Print a line."""
    print(text, flush=True)


def progress(text: str) -> None:
    """Print progress: an updated line on a terminal, a separate line elsewhere."""
    print(
        f"\r  {text}\033[K" if sys.stdout.isatty() else f"  {text}", end="" if sys.stdout.isatty() else "\n", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
