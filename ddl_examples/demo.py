"""The main job from end to end on a real broker: declare, query, insert, stream. Every figure shown is checked.

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
from ddl_examples.orders import PARTITIONS, Implied, fill
from kafka_sql.embedded import EmbeddedKafka

ORDERS = 300_000
_SQL = Path(__file__).parent / "demo"
_INSERTED = {"DE": (2, Decimal("37.80")), "FR": (10, Decimal("34.90"))}  # 04_insert_values.sql: items, total


class Mismatch(Exception):
    """A figure is not what the input implies."""


def main() -> int:
    """Run the demo; the exit code is 0 only if every figure is what the input implies."""
    logging.basicConfig(level=logging.ERROR)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kafka_sql_demo_") as folder:
        say("Starting Apache Kafka on this machine (the first time, its jars are fetched) ...")
        with EmbeddedKafka() as kafka:
            say(f"Kafka answers on {kafka.bootstrap_servers}. Starting Spark ...")
            spark = session(folder)
            try:
                Demo(spark, kafka.bootstrap_servers, folder).run()
            except Mismatch as e:
                print(f"\nFAILED: {e}", file=sys.stderr)
                return 1
            finally:
                spark.stop()
    say(f"All figures are what the input implies ({time.monotonic() - began:.0f} s).\n")
    print("What to try next:")
    print("  .venv/bin/kafka-sql-broker   a Kafka of your own on this machine; Ctrl-C ends it")
    print("  ddl_examples/demo/*.sql      the statements that you have just seen, to be changed and run again")
    print("  docs/                        options, formats, the embedded Kafka, how it is built")
    print("  make bench                   the same kind of SELECT by this project and by Spark's own Kafka source")
    return 0


def session(folder: str) -> SparkSession:
    """A local Spark that knows Flink's statements."""
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
        """Keep what the steps share."""
        self.spark, self.bootstrap = spark, bootstrap
        self.names = {"bootstrap": bootstrap, "checkpoints": f"{folder}/checkpoints"}

    def run(self) -> None:
        """All steps.

        Raises:
            Mismatch: a figure is wrong.
        """
        create_topics(self.bootstrap, {"orders": PARTITIONS, "large-orders": 2, "revenue": 2})
        say(f"Filling the topic 'orders' with {ORDERS:,} JSON records ...")
        implied = fill(self.bootstrap, "orders", ORDERS, lambda n: progress(f"{n:,} records sent"))
        print()
        self.batch(implied)
        self.stream(implied)

    def batch(self, implied: Implied) -> None:
        """Declare, query, insert."""
        self.sql("01_orders")
        rows = self.show("02_by_country")
        expect(
            "totals by country", {r.country: [r.orders, r["items"], r.revenue] for r in rows}, dict(implied.by_country)
        )
        rows = self.show("03_metadata")
        expect("records by partition", {r.partition: r.records for r in rows}, dict(implied.by_partition))
        expect("offsets", [(r.first_offset, r.last_offset + 1) for r in rows], [(0, r.records) for r in rows])
        self.sql("04_insert_values")
        (row,) = self.show("05_after_insert")
        revenue = implied.revenue + sum(total for _, total in _INSERTED.values())
        expect("after INSERT ... VALUES", list(row), [ORDERS + 2, 900_002, revenue])
        self.sql("06_large_orders")
        self.sql("07_insert_select")
        (row,) = self.show("08_large_orders")
        large = implied.large
        expect("large orders", list(row), [len(large), min(large), max(large), sum(large)])

    def stream(self, implied: Implied) -> None:
        """A continuous query, and its result as a table."""
        self.sql("09_revenue")
        self.sql("10_settings")
        (job,) = self.show("11_streaming_insert")
        self.spark.sql("SET 'execution.runtime-mode' = 'batch'")
        self.follow(job["job id"], len(implied.windows))
        self.show("12_revenue")
        rows = self.spark.sql("SELECT * FROM revenue").collect()
        found = {(seconds(r.window_start), r.country): [r.orders, r.revenue] for r in rows}
        expect("windows written once", len(rows), len(found))
        expect("totals by window", found, {(seconds(w), c): v for (w, c), v in implied.windows.items()})
        length = {r.window_end - r.window_start for r in rows}
        expect("length of the windows", length, {timedelta(minutes=10)})

    def follow(self, job: str, expected: int) -> None:
        """Show the continuous query at work until it has written ``expected`` rows, then stop it."""
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
        """Print a file's statements, run them, return the last result."""
        text = Template((_SQL / f"{name}.sql").read_text()).substitute(self.names).strip()
        heading, _, statements = text.partition("\n")
        print(f"\n\033[1m{heading}\033[0m\n{statements};" if sys.stdout.isatty() else f"\n{heading}\n{statements};")
        for statement in statements.split(";\n"):
            result = self.spark.sql(statement)
        return result

    def show(self, name: str) -> list[Row]:
        """The same, printing the last result as a table."""
        began = time.monotonic()
        rows = self.sql(name).collect()
        table(rows)
        print(f"{len(rows)} rows in {time.monotonic() - began:.1f} s")
        return rows


def create_topics(bootstrap: str, topics: dict[str, int]) -> None:
    """Create topics that keep their records whatever their age."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new = [NewTopic(t, n, 1, config={"retention.ms": "-1"}) for t, n in topics.items()]
    for done in admin.create_topics(new).values():
        done.result()


def expect(what: str, found: Any, implied: Any) -> None:
    """Compare a figure with what the input implies.

    Raises:
        Mismatch: they differ.
    """
    if found != implied:
        raise Mismatch(f"{what}: found {found}, the input implies {implied}")
    print(f"  as the input implies: {what}")


def seconds(moment: Any) -> float:
    """A time as seconds since 1970, so that time zones do not matter."""
    return float(moment.timestamp())


def table(rows: Iterable[Row]) -> None:
    """Print rows in columns."""
    rows = list(rows)
    if not rows:
        print("(no rows)")
        return
    cells = [[str(name) for name in rows[0].__fields__], *([str(v) for v in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def say(text: str) -> None:
    """One line of what happens."""
    print(text, flush=True)


def progress(text: str) -> None:
    """A line that replaces itself in a terminal, and is a line of its own in a log."""
    print(
        f"\r  {text}\033[K" if sys.stdout.isatty() else f"  {text}", end="" if sys.stdout.isatty() else "\n", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
