"""Where the time of reading goes: CPU time a record, of each process and of each step in the worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psutil
import pyarrow as pa

from benchmarks.contest import Result
from benchmarks.floor import config, nothing
from benchmarks.formats import SCHEMA
from benchmarks.orders import Topic, every_field, prepared
from benchmarks.peers.launch import OURS
from benchmarks.station import Station
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.types import Split
from kafka_sql.options import Options

UNIT = "us"  # of CPU time a record
_PROCESSES = {"kafka.Kafka": "broker", "SparkSubmit": "JVM", "pyspark.daemon": "worker"}


def stages(topic: Topic, alone: Topic, station: Station, runs: int) -> Iterator[Result]:
    """Of a query over a topic, and of the worker's steps over another one of one partition."""
    for statement in prepared(station.name, topic):
        station.ask("sql", text=statement)
    query = f"SELECT {every_field(topic)} FROM {topic.name}"
    taken: dict[str, list[float]] = {}
    station.ask("sql", text=query)
    for _ in range(runs):
        before = _times()
        station.ask("sql", text=query)
        for kind, seconds in _times().items():
            taken.setdefault(kind, []).append((seconds - before.get(kind, 0)) / topic.records * 1e6)
    for step, steps in _steps(alone, runs).items():
        taken[f"worker: {step}"] = steps
    for stage, values in sorted(taken.items()):
        yield Result("stages", f"{topic.format}, {stage}", OURS, values, unit=UNIT)


def _times() -> dict[str, float]:
    """Seconds of CPU time that this process' descendants have used so far, by what they are."""
    found: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            command, times = " ".join(process.cmdline()), process.cpu_times()
        except psutil.Error:  # it has just ended
            continue
        for mark, kind in _PROCESSES.items():
            if mark in command:
                found[kind] = found.get(kind, 0) + times.user + times.system
    return found


def _steps(topic: Topic, runs: int) -> dict[str, list[float]]:
    split, mine = Split(topic.name, 0, 0, topic.records), config(topic.bootstrap)
    payloads: list[pa.BinaryArray] = []

    def gather() -> None:
        payloads[:] = [batch.values for batch in read_records(mine, split)]

    steps: dict[str, Callable[[], object]] = {
        "librdkafka": lambda: nothing(mine, split),
        "the reader": gather,
    }
    if topic.format != "raw":
        format = FORMATS[topic.format]
        decoder = format.decoder(SCHEMA, Options(format.options, {}, ""))
        steps["decode"] = lambda: [decoder.decode(batch) for batch in payloads]
    return {name: [_cpu(step) / topic.records * 1e6 for _ in range(1 + runs)][1:] for name, step in steps.items()}


def _cpu(step: Callable[[], object]) -> float:
    began = time.process_time()
    step()
    return time.process_time() - began
