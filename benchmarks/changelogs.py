"""Measure continuous queries over changelogs until they have read a topic, beside Flink in streaming mode.

Flink returns each change of a result; Spark returns a result once per micro-batch. Only the final content is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, Run, RunResult, measure_alternately
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import FLINK, OURS

_PARTITIONS: Final = 4
_GROUPS: Final = 1_000
_CHANGES_PER_KEY: Final = 10
_NAMES: Final = count(1)
_ROW: Final = "id BIGINT, g INT, amount INT, note STRING"
_KEY: Final = "PRIMARY KEY (id) NOT ENFORCED"
_SUMS: Final = f"g INT, n BIGINT, total BIGINT, {_KEY.replace('id', 'g')}"
_RANGES: Final = f"g INT, low INT, high INT, d BIGINT, {_KEY.replace('id', 'g')}"
# comparison -> columns of the sink, query
_QUERIES: Final = {
    "changes to upserts": (f"{_ROW}, {_KEY}", "SELECT * FROM changes"),
    "COUNT, SUM of changes": (_SUMS, "SELECT g, count(*), sum(CAST(amount AS BIGINT)) FROM changes GROUP BY g"),
    "MIN, MAX, COUNT DISTINCT of changes": (
        _RANGES,
        "SELECT g, min(amount), max(amount), count(DISTINCT amount) FROM changes GROUP BY g",
    ),
    "COUNT, SUM of upserts": (_SUMS, "SELECT g, count(*), sum(CAST(amount AS BIGINT)) FROM upserts GROUP BY g"),
}


def measure_changelogs(
    changes: int, kafka_sql: PeerProcess, flink: PeerProcess, cluster: Cluster, folder: Path, runs: int
) -> Iterator[Result]:
    """Measure each query.

    Args:
        changes: number of changes in the topics; each key has ten.
        flink: Flink in streaming mode.
        folder: for checkpoints.
    """
    topics = {"changes": f"changes_{changes}", "upserts": f"upserts_{changes}"}
    for topic in topics.values():
        cluster.create(topic, _PARTITIONS)
    _write_changes(cluster.bootstrap, topics["changes"], topics["upserts"], changes)
    read = f"'properties.bootstrap.servers' = '{cluster.bootstrap}', 'scan.bounded.mode' = 'latest-offset'"
    for process in (kafka_sql, flink):
        process.request(
            "sql",
            text=f"CREATE TABLE changes ({_ROW}, {_KEY}) WITH ('connector' = 'kafka', 'topic' = '{topics['changes']}', "
            f"{read}, 'scan.startup.mode' = 'earliest-offset', 'format' = 'debezium-json')",
        )
        process.request(
            "sql",
            text=f"CREATE TABLE upserts ({_ROW}, {_KEY}) WITH ('connector' = 'upsert-kafka', "
            f"'topic' = '{topics['upserts']}', {read}, 'key.format' = 'json', 'value.format' = 'json')",
        )
    for comparison, (columns, query) in _QUERIES.items():
        peers = {
            OURS: _insert(kafka_sql, kafka_sql, columns, query, cluster, folder),
            FLINK: _insert(flink, kafka_sql, columns, query, cluster, folder),
        }
        yield from measure_alternately("changelogs", comparison, peers, changes, runs, warm_ups=1)


def _insert(
    process: PeerProcess, verifier: PeerProcess, columns: str, query: str, cluster: Cluster, folder: Path
) -> Run:
    def run() -> RunResult:
        name = f"result_{next(_NAMES)}"
        cluster.create(name, _PARTITIONS)
        create = (
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'upsert-kafka', 'topic' = '{name}', "
            f"'properties.bootstrap.servers' = '{cluster.bootstrap}', 'key.format' = 'json', 'value.format' = 'json')"
        )
        process.request("sql", text=create)
        insert = f"INSERT INTO {name} {query}"
        if process.name == FLINK:
            response: RunResult = process.request("sql", text=insert)
            verifier.request("sql", text=create)
        else:
            response = process.request("insert_stream", text=insert, checkpoints=str(folder / "checkpoints"))
        values = [column.split()[0] for column in columns.split(", ") if " " in column and "PRIMARY" not in column]
        text = ", ".join(f"coalesce(CAST({value} AS STRING), '')" for value in values)
        content = f"SELECT count(*), sum(crc32(CAST(concat_ws(',', {text}) AS BINARY))) FROM {name}"
        rows = verifier.request("sql", text=content)["rows"]
        cluster.delete(name)
        return {"seconds": response["seconds"], "rows": rows}

    return run


def _write_changes(bootstrap: str, changes: str, upserts: str, number: int) -> None:
    """Write changes of as many rows as there are rounds of all keys; each tenth change of a key deletes its row."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    keys = number // _CHANGES_PER_KEY
    for version in range(_CHANGES_PER_KEY):
        for id_ in range(keys):
            old = None if version == 0 else _row(id_, version - 1)
            new = None if version == _CHANGES_PER_KEY - 1 and id_ % 3 == 0 else _row(id_, version)
            op = "c" if old is None else "d" if new is None else "u"
            event = json.dumps({"before": old, "after": new, "op": op})
            producer.produce(changes, event, partition=id_ % _PARTITIONS)
            value = None if new is None else json.dumps(new)
            producer.produce(upserts, value, json.dumps({"id": id_}), partition=id_ % _PARTITIONS)
            if id_ % 1_000 == 0:
                producer.poll(0)
        if producer.flush(120):
            raise RuntimeError("not all changes are written")


def _row(id_: int, version: int) -> dict[str, int | str]:
    amount = (id_ * 31 + version * 17) % 10_007
    return {"id": id_, "g": (id_ + version) % _GROUPS, "amount": amount, "note": f"note {amount:08}"}
