"""Measure latency from end to end, in Spark's real-time mode and in micro-batches, beside Spark's own source and sink.

All queries read JSON, filter it and write JSON. The latency is the time from producing a record until its copy is
consumed from the result topic. Sender and receiver are confluent-kafka without a linger, and the same for all.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result
from benchmarks.latency import send
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS

GROUP: Final = "real-time"
CORES: Final = 4  # a real-time query occupies a core per partition as long as it runs
REAL_TIME: Final = "real-time mode"
MICRO_BATCHES: Final = "micro-batches"
_COLUMNS: Final = "id BIGINT, sent DOUBLE, name STRING"
_CONDITION: Final = "id >= 0"
_PARTITIONS: Final = 2
_WARM_UP: Final = 2000  # records per second, until the JVM has compiled most code
_TIMEOUT: Final = 180.0  # seconds; the first use of a format in a new installation compiles its kernels


def measure_real_time(
    rates: Sequence[int],
    warm_up: float,
    seconds: float,
    peers: Sequence[PeerProcess],
    cluster: Cluster,
    folder: Path,
    runs: int,
) -> Iterator[Result]:
    """Let each peer copy records in both modes.

    Args:
        rates: records per second.
        warm_up: seconds before each measurement.
        seconds: duration of each measurement.
        peers: this project and Spark, with ``CORES`` cores.
        cluster: the cluster.
        folder: for checkpoints.
        runs: number of measurements of each peer, mode and rate; a result has one quantile per measurement.
    """
    for mode in (REAL_TIME, MICRO_BATCHES):
        for rate in rates:
            latencies: dict[str, list[list[float]]] = {process.name: [] for process in peers}
            for _ in range(runs):
                for process in peers:
                    latencies[process.name].append(
                        _measure_copy(mode, rate, warm_up, seconds, process, cluster, folder)
                    )
            for percent in (50, 99):
                for peer, measurements in latencies.items():
                    values = [quantile(measured, percent) for measured in measurements]
                    yield Result(GROUP, f"{mode}, p{percent} at {rate:,} records per second", peer, values)


def quantile(latencies: Sequence[float], percent: int) -> float:
    """Return the value that ``percent`` percent of the latencies do not exceed."""
    return sorted(latencies)[len(latencies) * percent // 100]


def _measure_copy(
    mode: str, rate: int, warm_up: float, seconds: float, process: PeerProcess, cluster: Cluster, folder: Path
) -> list[float]:
    """Return the latencies in seconds."""
    source, target = (f"{name}_{uuid.uuid4().hex[:8]}" for name in ("source", "target"))
    for topic in (source, target):
        cluster.create(topic, _PARTITIONS)
    if process.name == OURS:
        _start_insert(mode, source, target, process, cluster, folder)
    else:
        process.request(
            "start_copy",
            columns=_COLUMNS,
            condition=_CONDITION,
            source=source,
            target=target,
            bootstrap=cluster.bootstrap,
            checkpoint=str(folder / "checkpoints" / source),
            real_time=mode == REAL_TIME,
        )
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    try:
        with _Receiver(cluster.bootstrap, target) as receiver:
            receiver.take(send(producer, source, _WARM_UP, warm_up, _row))
            latencies = receiver.take(send(producer, source, rate, seconds, _row))
    finally:
        process.request("stop_query")  # also reports why a query has failed
    for topic in (source, target):
        cluster.delete(topic)
    return latencies


def _start_insert(mode: str, source: str, target: str, process: PeerProcess, cluster: Cluster, folder: Path) -> None:
    for topic in (source, target):
        create = (
            f"CREATE TABLE {topic} ({_COLUMNS}) WITH ('connector' = 'kafka', 'topic' = '{topic}', "
            f"'properties.bootstrap.servers' = '{cluster.bootstrap}', 'scan.startup.mode' = 'earliest-offset', "
            "'format' = 'json')"
        )
        process.request("sql", text=create)
    settings = {
        "execution.runtime-mode": "streaming",
        "execution.latency-mode": "real-time" if mode == REAL_TIME else "micro-batch",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "pipeline.name": source,
    }
    insert = f"INSERT INTO {target} SELECT id, sent, name FROM {source} WHERE {_CONDITION}"
    process.request("start_insert", text=insert, settings=settings)


def _row(number: int) -> bytes:
    return json.dumps({"id": number, "sent": time.time(), "name": "x"}).encode()


class _Receiver:
    """Consumes a topic in a thread during a ``with`` block, and notes each record's latency."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 0}
        self._consumer = Consumer(settings)
        self._consumer.subscribe([topic])
        self._latencies: list[float] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._receive)

    def __enter__(self) -> _Receiver:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._consumer.close()

    def take(self, count: int) -> list[float]:
        """Wait for ``count`` records, and return their latencies, which are then forgotten."""
        deadline = time.monotonic() + _TIMEOUT
        while len(self._latencies) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self._latencies)} of {count} records arrived within {_TIMEOUT:.0f} s")
            time.sleep(0.05)
        taken, self._latencies = self._latencies, []
        return taken

    def _receive(self) -> None:
        while not self._stopped.is_set():
            message = self._consumer.poll(0.1)  # consume(n, timeout) would wait for n messages or the timeout
            if message is not None and message.error() is None:
                self._latencies.append(time.time() - json.loads(message.value() or b"{}")["sent"])
