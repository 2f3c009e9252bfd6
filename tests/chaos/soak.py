"""``make soak MINUTES=30``: a continuous query that copies a topic into another one exactly once, under a steady load
and restarted again and again, read along by a client; what it uses must stay flat after the warm-up, and nothing may be
lost, doubled or out of order.
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
_WARM_UP: Final = 0.3  # of the time
_RECORD: Final = "x" * 100
_STALL: Final = 600.0  # seconds without a row: the query does not go on


class Load:
    """Numbers at a steady rate, one after another for each key."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.sent = 0
        self._rate, self._over = rate, threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 0, "enable.idempotence": True}
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._over.wait(0.1):
            while self.sent < (time.monotonic() - begun) * self._rate:
                key = self.sent % _KEYS
                value = json.dumps({"a": self.sent // _KEYS, "k": key, "s": _RECORD})
                self._producer.produce("src", value, partition=key % _PARTITIONS)
                self.sent += 1
                self._producer.poll(0)

    def stop(self) -> int:
        """How many were sent."""
        self._over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0
        return self.sent


class Reader:
    """Reads the target along, committed records only; each key's numbers must come one after another."""

    def __init__(self, bootstrap: str) -> None:
        self.rows, self.stall, self.wrong = 0, 0.0, list[str]()
        self.last = time.monotonic()
        self._next: dict[int, int] = {}
        self._over = threading.Event()
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
        while not self._over.is_set():
            for message in self._consumer.consume(1000, 0.5):
                if message.error() is None:
                    self._row(json.loads(message.value() or b"{}"))
        self._consumer.close()

    def _row(self, row: dict[str, Any]) -> None:
        now = time.monotonic()
        if self.rows:  # before the first one Spark starts
            self.stall = max(self.stall, now - self.last)
        self.last, self.rows = now, self.rows + 1
        expected = self._next.get(row["k"], 0)
        if row["a"] != expected and len(self.wrong) < 20:
            self.wrong.append(f"key {row['k']}: expected {expected}, found {row['a']}")
        self._next[row["k"]] = row["a"] + 1

    def stop(self) -> None:
        """End it."""
        self._over.set()
        self._thread.join()


def soak(minutes: float, rate: int, restart: float, out: Path | None) -> list[str]:
    """Run it, print the curve; what is wrong, in words."""
    seconds = minutes * 60
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        topics = [NewTopic(name, _PARTITIONS, 1) for name in ("src", "tgt")]
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for made in admin.create_topics(topics).values():
            made.result()
        with _query(bootstrap, folder, restart) as query:
            load, reader = Load(bootstrap, rate), Reader(bootstrap)
            wrong = _wait(_STALL * 2, query, reader, lambda: reader.rows > 0)
            watch = Watch(query.pid, _PAUSE)
            wrong += _wait(seconds, query, reader, lambda: False)
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
    wrong += reader.wrong + growth_messages(samples, seconds * _WARM_UP)
    if reader.rows != sent:
        wrong.append(f"{sent} records were sent, and {reader.rows} were read")
    return wrong


def _wait(seconds: float, query: subprocess.Popen[bytes], reader: Reader, there: Callable[[], bool]) -> list[str]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not there():
        if query.poll() is not None:
            return [f"the query ended with {query.returncode}"]
        if time.monotonic() - reader.last > _STALL:
            return [f"no row for {_STALL:g} s"]
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
    """The query, stopped and started again from its checkpoint for ever."""
    from pyspark.sql import SparkSession

    import kafka_sql

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = kafka_sql.enable(
        SparkSession.builder.master("local[2]")
        # a heap that is there from the beginning: what grows then is a leak
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
        'key.format' = 'json', 'key.fields' = 'k', 'sink.delivery-guarantee' = 'exactly-once',
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
        while query.lastProgress is None or query.lastProgress.numInputRows == 0:  # it goes on first
            query.awaitTermination(1)
        query.awaitTermination(restart)
        query.stop()


def main() -> int:
    """1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=2000, help="records a second")
    parser.add_argument("--restart", type=float, default=60, help="seconds between two restarts of the query")
    parser.add_argument("--out", type=Path, help="a file for the samples, as JSON lines")
    parser.add_argument("--query", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.query:
        bootstrap, folder, restart = given.query
        run_query(bootstrap, folder, float(restart))
        return 0
    wrong = soak(given.minutes, given.rate, given.restart, given.out)
    print("\n".join(wrong) or "flat, and every record once and in order")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
