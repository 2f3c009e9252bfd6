"""From the sending of a record to the moment when a micro-batch's function has it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from benchmarks.cluster import Cluster
from benchmarks.contest import Result
from benchmarks.orders import Topic, definition
from benchmarks.peers.launch import OURS
from benchmarks.station import Station

_PAUSE = 0.001  # seconds: a sender that wakes up for each of 20,000 records takes a core that the others need


def latency(
    rate: int, seconds: int, stations: Sequence[Station], cluster: Cluster, folder: Path, rounds: int
) -> Iterator[Result]:
    """Each station follows a topic into which ``rate`` records a second are sent."""
    found: dict[tuple[str, str], list[float]] = {}
    for turn in range(1 + rounds):
        for station in stations:
            for what, value in _follow(rate, seconds, station, cluster, folder).items():
                if turn:  # the first stream of a process compiles much
                    found.setdefault((what, station.name), []).append(value)
    for (what, peer), values in sorted(found.items()):
        yield Result("latency", f"{what} at {rate:,} records a second", peer, values, unit="latency s")


def _follow(rate: int, seconds: int, station: Station, cluster: Cluster, folder: Path) -> dict[str, float]:
    topic = Topic(f"followed_{uuid.uuid4().hex[:8]}", "raw", 0, 2, cluster.bootstrap)
    cluster.create(topic.name, topic.partitions)
    table, options = None, {}
    if station.name == OURS:
        table = topic.name
        station.ask("sql", text=definition(table, topic).replace("'scan.bounded.mode' = 'latest-offset', ", ""))
    else:
        options = {
            "kafka.bootstrap.servers": topic.bootstrap,
            "subscribe": topic.name,
            "startingOffsets": "earliest",
        }
    producer = Producer({"bootstrap.servers": topic.bootstrap, "log_level": 0})
    station.ask("follow", table=table, options=options, checkpoint=str(folder / topic.name))
    sent = send(producer, topic.name, rate, 3)  # the first batches compile what the others run
    while sent > 0:
        sent -= station.ask("seen")
        time.sleep(0.1)
    sent = send(producer, topic.name, rate, seconds)
    answer: dict[str, Any] = station.ask("latencies", count=sent)
    cluster.delete(topic.name)
    return answer


def send(producer: Producer, topic: str, rate: int, seconds: float) -> int:
    """Records whose value is the time; how many."""
    began, sent = time.time(), 0
    while (now := time.time()) < began + seconds:
        while sent < (now - began) * rate:
            producer.produce(topic, repr(time.time()).encode())
            sent += 1
        producer.poll(0)
        time.sleep(max(_PAUSE, 1 / rate))
    producer.flush()
    return sent
