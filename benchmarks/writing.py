"""Measure writing of computed rows to a topic, with each delivery guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, Run, RunResult, measure_alternately
from benchmarks.orders import Topic, avro_schema, create_table, select_headers, select_rows
from benchmarks.page_cache import warm_page_cache
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import FLINK, OURS, SPARK

AT_LEAST_ONCE: Mapping[str, str] = {"sink.delivery-guarantee": "at-least-once"}
EXACTLY_ONCE: Mapping[str, str] = {
    "sink.delivery-guarantee": "exactly-once",
    "sink.transactional-id-prefix": "benchmark",
    "properties.transaction.timeout.ms": "600000",
}
_NAMES = count(1)
_MEMORY = 512  # MiB; more than a run writes


def measure_writes(
    comparison: str,
    topic: Topic,
    writers: Sequence[tuple[str, PeerProcess, Mapping[str, str]]],
    cluster: Cluster,
    runs: int,
    warm_ups: int = 3,
) -> Iterator[Result]:
    """Let each peer write the same rows to new topics.

    Args:
        comparison: name for the results.
        topic: number of records, format and partitions.
        writers: name, peer, and the table's delivery options.
        cluster: the cluster.
        runs: number of measured rounds.
        warm_ups: number of rounds before, until the JVMs have compiled most code.
    """
    (verifier,) = {process for _, process, _ in writers if process.name == OURS}
    peers = {name: _insert(process, topic, options, cluster, verifier) for name, process, options in writers}
    yield from measure_alternately("write", comparison, peers, topic.records, runs, warm_ups)


def _insert(
    process: PeerProcess, like: Topic, options: Mapping[str, str], cluster: Cluster, verifier: PeerProcess
) -> Run:
    numbers = "numbers" if process.name == FLINK else f"range(0, {like.records}, 1, 2)"

    def run() -> RunResult:
        topic = replace(like, name=f"written_{next(_NAMES)}")
        cluster.create(topic.name, topic.partitions)
        warm_page_cache(_MEMORY)
        rows, headers = select_rows(topic, numbers), select_headers(process.name, topic)
        if process.name == SPARK:
            query = f"SELECT {_payload(topic)} AS value{headers} FROM ({rows})"
            target = {"bootstrap": topic.bootstrap, "topic": topic.name, "compression": topic.compression}
            response: RunResult = process.request("write", text=query, **target)
        else:
            if process.name == FLINK:
                process.request("sql", text="DROP TABLE IF EXISTS numbers")
                process.request("sql", text=_numbers(like.records))
            table_options = dict(options)
            if EXACTLY_ONCE.items() <= options.items():
                table_options["sink.transactional-id-prefix"] = f"benchmark-{topic.name}"
            process.request("sql", text=create_table(topic.name, topic, table_options))
            insert = f"INSERT INTO {topic.name} " + (f"SELECT *{headers} FROM ({rows})" if headers else rows)
            response = process.request("sql", text=insert)
        content = _content(verifier, topic)
        cluster.delete(topic.name)
        return {"seconds": response["seconds"], "rows": content}

    return run


def _payload(topic: Topic) -> str:
    """Return Spark's expression that encodes a row."""
    if topic.format == "avro":
        return f"to_avro(struct(*), '{avro_schema(topic)}')"
    return f"to_{topic.format}(struct(*))"


def _numbers(records: int) -> str:
    """Return the definition of Flink's table of numbers."""
    return (
        "CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', "
        # by default it is unbounded, with 10,000 rows per second
        f"'number-of-rows' = '{records}', 'rows-per-second' = '1000000000', "
        f"'fields.id.start' = '0', 'fields.id.end' = '{records - 1}')"
    )


def _content(verifier: PeerProcess, topic: Topic) -> list[list[str]]:
    """Return the number of committed records and the sums of the checksums of their values and headers."""
    table = replace(topic, format="raw")
    verifier.request("sql", text="DROP TABLE IF EXISTS written")
    verifier.request("sql", text=create_table("written", table, {"properties.isolation.level": "read_committed"}))
    checksums = ["CAST(value AS BINARY)"] + ["headers['trace']", "headers['origin']"] * topic.has_headers
    query = f"SELECT count(*), {', '.join(f'sum(crc32({data}))' for data in checksums)} FROM written"
    content: list[list[str]] = verifier.request("sql", text=query)["rows"]
    if content[0][0] != str(topic.records):
        raise RuntimeError(f"topic '{topic.name}' holds {content[0][0]} records, not {topic.records}")
    return content
