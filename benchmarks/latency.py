"""Measure the latency from sending a record until a micro-batch function receives it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result
from benchmarks.orders import Topic, create_table
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS

_PAUSE = 0.001  # seconds: a sender that wakes up for each of 20,000 records would use a core that the others need


def measure_latency(
    rate: int, seconds: int, peers: Sequence[PeerProcess], cluster: Cluster, folder: Path, rounds: int
) -> Iterator[Result]:
    """Let each peer stream a topic to which ``rate`` records per second are sent."""
    latencies: dict[tuple[str, str], list[float]] = {}
    for round_ in range(1 + rounds):
        for process in peers:
            for quantile, value in _measure_stream(rate, seconds, process, cluster, folder).items():
                if round_:  # the first stream of a process is a warm-up
                    latencies.setdefault((quantile, process.name), []).append(value)
    for (quantile, peer), values in sorted(latencies.items()):
        yield Result("latency", f"{quantile} at {rate:,} records per second", peer, values)


def _measure_stream(rate: int, seconds: int, process: PeerProcess, cluster: Cluster, folder: Path) -> dict[str, float]:
    topic = Topic(f"latency_{uuid.uuid4().hex[:8]}", "raw", 0, 2, cluster.bootstrap)
    cluster.create(topic.name, topic.partitions)
    table, options = None, {}
    if process.name == OURS:
        table = topic.name
        process.request("sql", text=create_table(table, topic).replace("'scan.bounded.mode' = 'latest-offset', ", ""))
    else:
        options = {
            "kafka.bootstrap.servers": topic.bootstrap,
            "subscribe": topic.name,
            "startingOffsets": "earliest",
        }
    producer = Producer({"bootstrap.servers": topic.bootstrap, "log_level": 0})
    process.request("start_stream", table=table, options=options, checkpoint=str(folder / topic.name))
    pending = send(producer, topic.name, rate, 3)  # warm-up
    while pending > 0:
        pending -= process.request("count_received")
        time.sleep(0.1)
    sent = send(producer, topic.name, rate, seconds)
    response: dict[str, Any] = process.request("stop_stream", count=sent)
    cluster.delete(topic.name)
    return response


def send(
    producer: Producer,
    topic: str,
    rate: int,
    seconds: float,
    value: Callable[[int], bytes] = lambda number: repr(time.time()).encode(),
) -> int:
    """Send records with the current time. Return their number.

    Args:
        producer: the client.
        topic: the topic.
        rate: records per second.
        seconds: the duration.
        value: number of a record, from 0 -> its value. By default, the value is the time.
    """
    started, sent = time.time(), 0
    while (now := time.time()) < started + seconds:
        while sent < (now - started) * rate:
            producer.produce(topic, value(sent))
            sent += 1
        producer.poll(0)
        time.sleep(max(_PAUSE, 1 / rate))
    producer.flush()
    return sent
