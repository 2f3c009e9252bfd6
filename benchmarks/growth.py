"""How the cost grows: with the partitions of a topic, the columns of a record, and the schemas of a topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import httpx
from confluent_kafka import Producer

from benchmarks.cluster import Cluster
from benchmarks.contest import Answer, Result, Run, compete
from benchmarks.orders import Topic, definition, prepared
from benchmarks.peers.launch import OURS
from benchmarks.station import Station


def partitions(counts: Sequence[int], stations: Sequence[Station], cluster: Cluster, runs: int) -> Iterator[Result]:
    """A query over a topic that holds one record, in so many partitions: planning, and tasks that find nothing."""
    for count in counts:
        topic = Topic(f"partitions_{count}", "raw", 1, count, cluster.bootstrap)
        cluster.create(topic.name, count)
        peers: dict[str, Run] = {}
        for station in stations:
            for statement in prepared(station.name, topic):
                station.ask("sql", text=statement)
            peers[station.name] = query(station, f"SELECT count(*) FROM {topic.name}")
        (ours,) = (s for s in stations if s.name == OURS)
        ours.ask("sql", text=f"INSERT INTO {topic.name} VALUES (CAST('one' AS BINARY))")
        yield from compete("growth", f"{count} partitions", peers, 0, runs)


def columns(counts: Sequence[int], records: int, station: Station, cluster: Cluster, runs: int) -> Iterator[Result]:
    """A JSON record of so many BIGINT columns, all of which are summed up."""
    for count in counts:
        name = f"columns_{count}"
        cluster.create(name, 2)
        names = [f"c{i}" for i in range(count)]
        topic = Topic(name, "json", records, 2, cluster.bootstrap)
        kinds = ", ".join(f"{n} BIGINT" for n in names)
        text = definition(name, topic).replace(f"({topic.columns})", f"({kinds})")
        station.ask("sql", text=text)
        values = ", ".join(f"id + {i} AS {n}" for i, n in enumerate(names))
        station.ask("sql", text=f"INSERT INTO {name} SELECT {values} FROM range(0, {records}, 1, 2)")
        sums = ", ".join(f"sum({n})" for n in names)
        run = query(station, f"SELECT count(*), {sums} FROM {name}")
        yield from compete("growth", f"{count} columns", {OURS: run}, records, runs)


def schemas(counts: Sequence[int], records: int, station: Station, cluster: Cluster, runs: int) -> Iterator[Result]:
    """Confluent Avro whose records name so many schemas by turns: each is fetched once and resolved once."""
    for count in counts:
        name = f"schemas_{count}"
        cluster.create(name, 2)
        ids = _registered(cluster.registry, f"{name}-value", count)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "queue.buffering.max.messages": 0, "log_level": 0})
        for i in range(records):
            # a long of one byte after the five bytes of the wire format
            producer.produce(name, b"\0" + ids[i % count].to_bytes(4, "big") + b"\2", partition=i % 2)
        producer.flush()
        topic = Topic(name, "avro-confluent", records, 2, cluster.bootstrap, cluster.registry)
        station.ask("sql", text=definition(name, topic).replace(f"({topic.columns})", "(c BIGINT)"))
        run = query(station, f"SELECT count(*), sum(c) FROM {name}")
        yield from compete("growth", f"{count} schema ids", {OURS: run}, records, runs)


def _registered(registry: str, subject: str, count: int) -> list[int]:
    """The ids of schemas of one long, none of which fits another."""
    ids = []
    for number in range(count):
        schema = f'{{"type": "record", "name": "r{number}", "fields": [{{"name": "c", "type": "long"}}]}}'
        answer = httpx.post(f"{registry}/subjects/{subject}/versions", json={"schema": schema})
        ids.append(int(answer.raise_for_status().json()["id"]))
        if not number:  # a subject without a schema cannot be configured
            httpx.put(f"{registry}/config/{subject}", json={"compatibility": "NONE"}).raise_for_status()
    return ids


def query(station: Station, text: str) -> Run:
    """A statement that a station is asked to run."""

    def run() -> Answer:
        answer: Answer = station.ask("sql", text=text)
        return answer

    return run
