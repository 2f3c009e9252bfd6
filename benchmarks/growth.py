"""Measure how costs grow with the number of partitions, columns and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import httpx
from confluent_kafka import Producer

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, Run, RunResult, count_noun, measure_alternately
from benchmarks.orders import Topic, create_table, declare_statements
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS

NARROW = "a table with this column only"
_MANY_COLUMNS: Final = 100
_METHOD_LIMIT: Final = "spark.sql.codegen.hugeMethodLimit"  # in bytes of bytecode; HotSpot compiles methods up to 8,000


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
    counts: Sequence[int], records: int, processes: Sequence[PeerProcess], cluster: Cluster, runs: int
) -> Iterator[Result]:
    """Sum each of many BIGINT columns of JSON records; 100 also without a method that HotSpot does not compile."""
    (ours,) = (p for p in processes if p.name == OURS)
    for count in counts:
        topic = _create_columns(count, records, ours, cluster)
        for process in processes:
            for statement in _declare(process.name, topic, _bigint_columns(count)):
                process.request("sql", text=statement)
        sums = ", ".join(f"sum(c{i})" for i in range(count))
        peers = {p.name: query_run(p, f"SELECT count(*), {sums} FROM {topic.name}") for p in processes}
        yield from measure_alternately("growth", count_noun(count, "column"), peers, records, runs)
        if count >= _MANY_COLUMNS:
            for process in processes:
                process.request("sql", text=f"SET {_METHOD_LIMIT} = 8000")
            name = f"{count_noun(count, 'column')}, `{_METHOD_LIMIT}` = 8000"
            yield from measure_alternately("growth", name, peers, records, runs)
            for process in processes:
                process.request("sql", text=f"RESET {_METHOD_LIMIT}")


def measure_unused_columns(
    count: int, records: int, process: PeerProcess, cluster: Cluster, runs: int
) -> Iterator[Result]:
    """Sum one of many BIGINT columns of JSON records; then the same in a table that declares only this column."""
    topic = _create_columns(count, records, process, cluster)
    narrow = f"one_of_{topic.name}"
    process.request("sql", text=_create_table(narrow, topic, "c0 BIGINT"))
    peers = {peer: query_run(process, f"SELECT sum(c0) FROM {t}") for peer, t in ((OURS, topic.name), (NARROW, narrow))}
    yield from measure_alternately("unused", f"1 of {count} columns", peers, records, runs)


def _create_columns(count: int, records: int, process: PeerProcess, cluster: Cluster) -> Topic:
    """Fill a topic with JSON records of BIGINT columns c0, c1, ..., and declare a table of the same name."""
    topic = Topic(f"columns_{count}", "json", records, 2, cluster.bootstrap)
    cluster.create(topic.name, 2)
    for statement in _declare(process.name, topic, _bigint_columns(count)):
        process.request("sql", text=statement)
    values = ", ".join(f"id + {i} AS c{i}" for i in range(count))
    process.request("sql", text=f"INSERT INTO {topic.name} SELECT {values} FROM range(0, {records}, 1, 2)")
    return topic


def _bigint_columns(count: int) -> str:
    return ", ".join(f"c{i} BIGINT" for i in range(count))


def _declare(peer: str, topic: Topic, columns: str) -> list[str]:
    """Return ``declare_statements`` with other columns."""
    return [statement.replace(topic.columns, columns) for statement in declare_statements(peer, topic)]


def _create_table(name: str, topic: Topic, columns: str) -> str:
    return create_table(name, topic).replace(topic.columns, columns)


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
