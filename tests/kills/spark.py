"""Spark with a query that is killed: starting it, feeding it, and finding the processes that work for it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

KEYS: Final = 3
QUERIES: Final = ("copy", "aggregate", "window")  # of spark_query
SENT: Final = timedelta(seconds=100)
_EPOCH: Final = datetime(2024, 1, 1)


@contextlib.contextmanager
def running_query(
    bootstrap: str, source: str, target: str, folder: Path, master: str, question: str
) -> Iterator[tuple[int, int]]:
    """Process ids of the query's Python and Java, which are killed at the end."""
    command = [sys.executable, "-m", "tests.kills.spark_query", bootstrap, source, target, "spark-kills"]
    command += [str(folder / "checkpoints"), master, question]
    with (
        (folder / "driver.err").open("ab") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        python, java = map(int, process.stdout.readline().split())
        try:
            yield python, java
        finally:
            kill([java, python])


def send(bootstrap: str, topic: str, start: int, count: int = 100) -> int:
    """So many more numbers, the times of which span ``SENT`` in all; the next number."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for a in range(start, start + count):
        row = {"a": a, "k": a % KEYS, "t": (_EPOCH + a * SENT / count).isoformat(" ", "milliseconds") + "Z"}
        producer.produce(topic, json.dumps(row).encode(), partition=a % KEYS)
    assert producer.flush(120) == 0
    return start + count


def assert_running(process: int, folder: Path) -> None:
    """Fail where a driver has ended by itself."""
    ended = not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    assert not ended, (folder / "driver.err").read_text()[-5000:]


def kill(processes: list[int]) -> int:
    """How many of them there were."""
    gone = 0
    for one in processes:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            gone += 1
    return len(processes) - gone


def workers(java: int) -> list[int]:
    """The Python processes that work at tasks; the death of one that plans or commits ends the query."""
    return [
        worker
        for daemon in children(java)
        if command_of(daemon).endswith(b"pyspark.worker\0")
        for worker in children(daemon)
    ]


def executors(java: int) -> list[int]:
    """The Javas of a local cluster."""
    return [one for one in children(java) if b"CoarseGrainedExecutorBackend" in command_of(one)]


def children(process: int) -> list[int]:
    """Process ids."""
    with contextlib.suppress(FileNotFoundError):
        return [
            int(word) for path in Path(f"/proc/{process}/task").glob("*/children") for word in path.read_text().split()
        ]
    return []


def command_of(process: int) -> bytes:
    """Its words, each ended by a zero."""
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def committed_rows(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    """The rows that a reader of committed records sees now, each partition's in its order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "oracle",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(KEYS)])
    found: list[dict[str, Any]] = []
    ended: set[int | None] = set()
    while len(ended) < KEYS:
        for message in consumer.consume(1000, 5):
            error = message.error()
            if error is None:
                found.append({**json.loads(message.key() or b"{}"), **json.loads(message.value() or b"{}")})
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
    consumer.close()
    return found
