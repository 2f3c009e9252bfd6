"""Start a Spark query, send it data, find its processes and kill them."""

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

from kafka_sql.options.connector import AUTO

KEYS: Final = 3
QUERIES: Final = ("copy", "aggregate", "window")  # of spark_query
SEND_SPAN: Final = timedelta(seconds=100)  # of event time, per call of ``send``
_EPOCH: Final = datetime(2024, 1, 1)


@contextlib.contextmanager
def running_query(
    bootstrap: str,
    source: str,
    target: str,
    folder: Path,
    master: str,
    query: str,
    client: str = AUTO,
    codec: str = "none",
) -> Iterator[tuple[int, int]]:
    """Run a query and yield the process ids of its Python and Java processes, which are killed at the end.

    Args:
        client: 'scan.client' and 'sink.client'.
        codec: 'properties.compression.type' of the target.
    """
    command = [sys.executable, "-m", "tests.kills.spark_query", bootstrap, source, target, "spark-kills"]
    command += [str(folder / "checkpoints"), master, query, client, codec]
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


def send(bootstrap: str, topic: str, start: int, count: int = 100, codec: str = "none") -> int:
    """Send the next numbers, with timestamps that span ``SEND_SPAN``. Return the number after the last one."""
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "log_level": 0})
    for a in range(start, start + count):
        row = {"a": a, "k": a % KEYS, "t": (_EPOCH + a * SEND_SPAN / count).isoformat(" ", "milliseconds") + "Z"}
        producer.produce(topic, json.dumps(row).encode(), partition=a % KEYS)
    assert producer.flush(120) == 0
    return start + count


def assert_running(process: int, folder: Path) -> None:
    """Assert that a driver is still running."""
    exited = not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    assert not exited, (folder / "driver.err").read_text()[-5000:]


def kill(processes: list[int]) -> int:
    """Kill processes, and return how many of them were running."""
    gone = 0
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            gone += 1
    return len(processes) - gone


def workers(java: int) -> list[int]:
    """Return the Python processes that run tasks. (Killing one that plans or commits would end the query.)"""
    return [
        worker
        for daemon in children(java)
        if command_of(daemon).endswith(b"pyspark.worker\0")
        for worker in children(daemon)
    ]


def has_librdkafka(process: int) -> bool:
    """Return whether a process has a client of librdkafka, by the names of its threads."""
    names = []
    for path in Path(f"/proc/{process}/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # the thread has ended
            names.append(path.read_text())
    return any(name.startswith("rdk:") for name in names)


def executors(java: int) -> list[int]:
    """Return the executor JVMs of a local cluster."""
    return [child for child in children(java) if b"CoarseGrainedExecutorBackend" in command_of(child)]


def children(process: int) -> list[int]:
    """Return the process ids of child processes."""
    with contextlib.suppress(FileNotFoundError):
        return [
            int(word) for path in Path(f"/proc/{process}/task").glob("*/children") for word in path.read_text().split()
        ]
    return []


def command_of(process: int) -> bytes:
    """Return the command line; each argument ends with a zero byte."""
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def committed_rows(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    """Return the committed rows of a topic; those of a partition are in order."""
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
    rows: list[dict[str, Any]] = []
    finished: set[int | None] = set()
    while len(finished) < KEYS:
        for message in consumer.consume(1000, 5):
            error = message.error()
            if error is None:
                rows.append({**json.loads(message.key() or b"{}"), **json.loads(message.value() or b"{}")})
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                finished.add(message.partition())
    consumer.close()
    return rows
