"""Run a streaming query under steady load for a long time (``make soak MINUTES=30``).

The query copies a topic exactly once and is restarted regularly while a client reads the result. Both topics are
compressed with lz4. Resource use must not grow after the warm-up, and no row may be lost, duplicated or out of order.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.resources import Sample, Watch, as_rows, curve, growth, growth_messages, peak

_PARTITIONS: Final = 4
_KEYS: Final = 100
_PAUSE: Final = 5.0  # seconds between two samples
_WARM_UP: Final = 0.3  # fraction of the time
_RECORD: Final = "x" * 100
_STALL: Final = 600.0  # seconds without a new row, after which the query counts as stuck


class Load:
    """Sends ascending numbers per key at a steady rate."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.sent = 0
        self._rate, self._stopped = rate, threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 20,
                "log_level": 0,
                "enable.idempotence": True,
                "compression.type": "lz4",
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stopped.wait(0.1):
            while self.sent < (time.monotonic() - started) * self._rate:
                key = self.sent % _KEYS
                value = json.dumps({"a": self.sent // _KEYS, "k": key, "s": _RECORD})
                self._producer.produce("src", value, partition=key % _PARTITIONS)
                self.sent += 1
                self._producer.poll(0)

    def stop(self) -> int:
        """Stop, and return how many numbers were sent."""
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(60) == 0
        return self.sent


class Reader:
    """Reads committed records of the target concurrently, and checks that the numbers of each key are consecutive."""

    def __init__(self, bootstrap: str) -> None:
        self.rows, self.stall, self.errors = 0, 0.0, list[str]()
        self.last = time.monotonic()
        self._next: dict[int, int] = {}
        self._stopped = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "soak",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition("tgt", p, 0) for p in range(_PARTITIONS)])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            for message in self._consumer.consume(1000, 0.5):
                if message.error() is None:
                    self._row(json.loads(message.value() or b"{}"))
        self._consumer.close()

    def _row(self, row: dict[str, Any]) -> None:
        now = time.monotonic()
        if self.rows:  # Spark starts before the first row
            self.stall = max(self.stall, now - self.last)
        self.last, self.rows = now, self.rows + 1
        expected = self._next.get(row["k"], 0)
        if row["a"] != expected and len(self.errors) < 20:
            self.errors.append(f"key {row['k']}: expected {expected}, found {row['a']}")
        self._next[row["k"]] = row["a"] + 1

    def stop(self) -> None:
        """Stop reading."""
        self._stopped.set()
        self._thread.join()


def soak(minutes: float, rate: int, restart: float, out: Path | None) -> list[str]:
    """Run the test, print the resource use over time, and return the errors."""
    seconds = minutes * 60
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        topics = [NewTopic(name, _PARTITIONS, 1) for name in ("src", "tgt")]
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for future in admin.create_topics(topics).values():
            future.result()
        with _query(bootstrap, folder, restart) as query:
            load, reader = Load(bootstrap, rate), Reader(bootstrap)
            errors = _wait(_STALL * 2, query, reader, lambda: reader.rows > 0)
            watch = Watch(query.pid, _PAUSE)
            errors += _wait(seconds, query, reader, lambda: False)
            samples, sent = watch.stop(), load.stop()
            deadline = time.monotonic() + _STALL
            while reader.rows < sent and time.monotonic() < deadline and query.poll() is None:
                time.sleep(0.5)
            reader.stop()
        notes = Path(folder, "restarts")
        restarts = len(notes.read_text().splitlines()) - 1 if notes.exists() else 0
    _print_report(samples, seconds, sent, reader, restarts)
    if out is not None:
        out.write_text("\n".join(map(json.dumps, as_rows(samples))) + "\n")
    errors += reader.errors + growth_messages(samples, seconds * _WARM_UP)
    if reader.rows != sent:
        errors.append(f"{sent} records were sent, but {reader.rows} were read")
    return errors


def _wait(seconds: float, query: subprocess.Popen[bytes], reader: Reader, condition: Callable[[], bool]) -> list[str]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not condition():
        if query.poll() is not None:
            return [f"the query exited with {query.returncode}"]
        if time.monotonic() - reader.last > _STALL:
            return [f"no new row for {_STALL:g} s"]
        time.sleep(1)
    return []


def _print_report(samples: list[Sample], seconds: float, sent: int, reader: Reader, restarts: int) -> None:
    print(curve(samples))
    print(f"peak: {peak(samples)}")
    for key, (first, last) in growth(samples, seconds * _WARM_UP).items():
        print(f"{key:10} {first:8.0f} -> {last:8.0f}")
    print(f"sent {sent:,}, read {reader.rows:,}, restarts {restarts}, longest stall {reader.stall:.1f} s", flush=True)


@contextmanager
def _query(bootstrap: str, folder: str, restart: float) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.chaos.soak", "--query", bootstrap, folder, str(restart)]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.terminate()


def run_query(bootstrap: str, folder: str, restart: float) -> None:
    """Run the query; stop and restart it from its checkpoint until this process is killed."""
    from pyspark.sql import SparkSession

    import kafka_sql

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = kafka_sql.enable(
        SparkSession.builder.master("local[2]")
        # allocate the whole heap at the start, so that any growth is a leak
        .config("spark.driver.memory", "700m")
        .config("spark.driver.extraJavaOptions", "-Xms700m -XX:+AlwaysPreTouch -XX:+UseSerialGC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.minBatchesToRetain", "10")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    shared = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json'"
    spark.sql(
        f"""CREATE TABLE src (a BIGINT, k BIGINT, s STRING, p INT METADATA FROM 'partition' VIRTUAL) WITH ({shared},
        'topic' = 'src', 'scan.startup.mode' = 'earliest-offset')"""
    )
    spark.sql(
        f"""CREATE TABLE tgt (a BIGINT, k BIGINT, s STRING) WITH ({shared}, 'topic' = 'tgt',
        'key.format' = 'json', 'key.fields' = 'k', 'properties.compression.type' = 'lz4',
        'sink.delivery-guarantee' = 'exactly-once',
        'sink.transactional-id-prefix' = 'soak')"""
    )
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/checkpoints'")
    spark.sql("SET 'execution.checkpointing.interval' = '1 s'")
    while True:
        spark.sql("INSERT INTO tgt SELECT a, k, s FROM src")
        with open(Path(folder, "restarts"), "a") as file:
            file.write(f"{time.time()}\n")
        (query,) = spark.streams.active
        while query.lastProgress is None or query.lastProgress.numInputRows == 0:  # wait until it has resumed
            query.awaitTermination(1)
        query.awaitTermination(restart)
        query.stop()


def main() -> int:
    """Run the soak test. The exit code is 1 if there are errors."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=2000, help="records per second")
    parser.add_argument("--restart", type=float, default=60, help="seconds between restarts of the query")
    parser.add_argument("--out", type=Path, help="file for the samples, as JSON Lines")
    parser.add_argument("--query", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.query:
        bootstrap, folder, restart = arguments.query
        run_query(bootstrap, folder, float(restart))
        return 0
    errors = soak(arguments.minutes, arguments.rate, arguments.restart, arguments.out)
    print("\n".join(errors) or "no growth; each record exactly once and in order")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
