"""Measure how costs grow with the number of partitions, columns and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import httpx
from confluent_kafka import Producer

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, Run, RunResult, count_noun, measure_alternately
from benchmarks.orders import Topic, create_table, declare_statements
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS

NARROW = "a table with this column only"


def measure_partitions(
    counts: Sequence[int], processes: Sequence[PeerProcess], cluster: Cluster, runs: int
) -> Iterator[Result]:
    """Query a topic with one record and many partitions: planning, and tasks without records."""
    for count in counts:
        topic = Topic(f"partitions_{count}", "raw", 1, count, cluster.bootstrap)
        cluster.create(topic.name, count)
        peers: dict[str, Run] = {}
        for process in processes:
            for statement in declare_statements(process.name, topic):
                process.request("sql", text=statement)
            peers[process.name] = query_run(process, f"SELECT count(*) FROM {topic.name}")
        (ours,) = (s for s in processes if s.name == OURS)
        ours.request("sql", text=f"INSERT INTO {topic.name} VALUES (CAST('one' AS BINARY))")
        yield from measure_alternately("growth", count_noun(count, "partition"), peers, 0, runs)


def measure_columns(
    counts: Sequence[int], records: int, process: PeerProcess, cluster: Cluster, runs: int
) -> Iterator[Result]:
    """Sum each of many BIGINT columns of JSON records."""
    for count in counts:
        name = _create_columns(count, records, process, cluster)
        sums = ", ".join(f"sum(c{i})" for i in range(count))
        run = query_run(process, f"SELECT count(*), {sums} FROM {name}")
        yield from measure_alternately("growth", count_noun(count, "column"), {OURS: run}, records, runs)


def measure_unused_columns(
    count: int, records: int, process: PeerProcess, cluster: Cluster, runs: int
) -> Iterator[Result]:
    """Sum one of many BIGINT columns of JSON records; then the same in a table that declares only this column."""
    name = _create_columns(count, records, process, cluster)
    narrow = f"one_of_{name}"
    process.request("sql", text=_create_table(narrow, Topic(name, "json", records, 2, cluster.bootstrap), "c0 BIGINT"))
    peers = {peer: query_run(process, f"SELECT sum(c0) FROM {t}") for peer, t in ((OURS, name), (NARROW, narrow))}
    yield from measure_alternately("unused", f"1 of {count} columns", peers, records, runs)


def _create_columns(count: int, records: int, process: PeerProcess, cluster: Cluster) -> str:
    """Fill a topic with JSON records of BIGINT columns c0, c1, ...; return its name, which is also its table's."""
    name = f"columns_{count}"
    cluster.create(name, 2)
    columns = ", ".join(f"c{i} BIGINT" for i in range(count))
    process.request("sql", text=_create_table(name, Topic(name, "json", records, 2, cluster.bootstrap), columns))
    values = ", ".join(f"id + {i} AS c{i}" for i in range(count))
    process.request("sql", text=f"INSERT INTO {name} SELECT {values} FROM range(0, {records}, 1, 2)")
    return name


def _create_table(name: str, topic: Topic, columns: str) -> str:
    return create_table(name, topic).replace(f"({topic.columns})", f"({columns})")


def measure_schemas(
    counts: Sequence[int], records: int, process: PeerProcess, cluster: Cluster, runs: int
) -> Iterator[Result]:
    """Read Confluent Avro records with many schema ids in turn. Each schema is fetched and resolved once."""
    for count in counts:
        name = f"schemas_{count}"
        cluster.create(name, 2)
        ids = _register(cluster.registry, f"{name}-value", count)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "queue.buffering.max.messages": 0, "log_level": 0})
        for i in range(records):
            # a long of one byte after the five bytes of the wire format
            producer.produce(name, b"\0" + ids[i % count].to_bytes(4, "big") + b"\2", partition=i % 2)
        producer.flush()
        topic = Topic(name, "avro-confluent", records, 2, cluster.bootstrap, cluster.registry)
        process.request("sql", text=_create_table(name, topic, "c BIGINT"))
        run = query_run(process, f"SELECT count(*), sum(c) FROM {name}")
        yield from measure_alternately("growth", count_noun(count, "schema id"), {OURS: run}, records, runs)


def _register(registry: str, subject: str, count: int) -> list[int]:
    """Register incompatible schemas with one long field, and return their ids."""
    ids = []
    for number in range(count):
        schema = f'{{"type": "record", "name": "r{number}", "fields": [{{"name": "c", "type": "long"}}]}}'
        response = httpx.post(f"{registry}/subjects/{subject}/versions", json={"schema": schema})
        ids.append(int(response.raise_for_status().json()["id"]))
        if not number:  # a subject without a schema cannot be configured
            httpx.put(f"{registry}/config/{subject}", json={"compatibility": "NONE"}).raise_for_status()
    return ids


def query_run(process: PeerProcess, text: str) -> Run:
    """Return a run of a statement in a peer."""

    def run() -> RunResult:
        response: RunResult = process.request("sql", text=text)
        return response

    return run
