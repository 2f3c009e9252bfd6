"""Measure the CPU time per record of reads, by process and by step in the worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psutil
import pyarrow as pa

from benchmarks.comparison import Result
from benchmarks.floor import client_config, read_and_discard
from benchmarks.formats import SCHEMA
from benchmarks.orders import Topic, declare_statements, select_list
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.split import Split
from kafka_sql.options import Options

UNIT = "us"  # CPU time per record
_PROCESSES = {"kafka.Kafka": "broker", "SparkSubmit": "JVM", "pyspark.daemon": "worker"}


def measure_stages(topic: Topic, single: Topic, process: PeerProcess, runs: int) -> Iterator[Result]:
    """Measure a query over a topic, and the worker's steps over another topic with one partition."""
    for statement in declare_statements(process.name, topic):
        process.request("sql", text=statement)
    query = f"SELECT {select_list(topic)} FROM {topic.name}"
    taken: dict[str, list[float]] = {}
    process.request("sql", text=query)
    for _ in range(runs):
        before = _times()
        process.request("sql", text=query)
        for name, seconds in _times().items():
            taken.setdefault(name, []).append((seconds - before.get(name, 0)) / topic.records * 1e6)
    for step, steps in _steps(single, runs).items():
        taken[f"worker: {step}"] = steps
    for stage, values in sorted(taken.items()):
        yield Result("stages", f"{topic.format}, {stage}", OURS, values, unit=UNIT)


def _times() -> dict[str, float]:
    """Return process type -> CPU seconds that the descendants of this process have used so far."""
    seconds_of: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            command, times = " ".join(process.cmdline()), process.cpu_times()
        except psutil.Error:  # it has just exited
            continue
        for mark, name in _PROCESSES.items():
            if mark in command:
                seconds_of[name] = seconds_of.get(name, 0) + times.user + times.system
    return seconds_of


def _steps(topic: Topic, runs: int) -> dict[str, list[float]]:
    split, config = Split(topic.name, 0, 0, topic.records), client_config(topic.bootstrap)
    payloads: list[pa.BinaryArray] = []

    def gather() -> None:
        payloads[:] = [batch.values for batch in read_records(config, split)]

    steps: dict[str, Callable[[], object]] = {
        "fetch (confluent-kafka)": lambda: read_and_discard(config, split),
        "fetch (direct client)": gather,
    }
    if topic.format != "raw":
        format = FORMATS[topic.format]
        decoder = format.decoder(SCHEMA, Options(format.options, {}, ""))
        steps["decode"] = lambda: [decoder.decode(batch) for batch in payloads]
    return {name: [_cpu(step) / topic.records * 1e6 for _ in range(1 + runs)][1:] for name, step in steps.items()}


def _cpu(step: Callable[[], object]) -> float:
    started = time.process_time()
    step()
    return time.process_time() - started
