"""Measure streams that read a backlog and write each record or window to a topic, beside Spark's and Flink's own.

The queries are a pass-through, a filter and an aggregate over windows of event time. They end when they have read what
was in the topic at their start. CPU time is that of the peer's processes and of the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

import psutil

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, Run, RunResult, measure_alternately
from benchmarks.orders import COLUMNS, ROW, Topic, create_table
from benchmarks.page_cache import warm_page_cache
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.environments import MODULES
from benchmarks.peers.launch import FLINK, OURS, SPARK
from benchmarks.writing import AT_LEAST_ONCE, EXACTLY_ONCE

UNIT: Final = "us"  # CPU time per record
WARM_UP: Final = 500_000  # records that each peer reads before the measured backlog
_PARTITIONS: Final = 4
_WINDOW: Final = 10_000  # milliseconds; there is a record per millisecond
_DELAY: Final = 5_000  # milliseconds of the watermark
_CHECKPOINTS: Final = "1 s"  # Flink's interval: at its end, a job waits for the next one
_EVENT_TIME: Final = (
    ", event_time AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND"
)
_AGGREGATES: Final = "country, count(*) AS orders, sum(quantity) AS items, min(ts) AS first_ts, max(ts) AS last_ts"
_SUMS: Final = "country STRING, orders BIGINT, items BIGINT, first_ts BIGINT, last_ts BIGINT"
_NAMES: Final = count(1)


@dataclass(frozen=True)
class Query:
    """A query in the dialects of all peers.

    Attributes:
        columns: the columns of the target.
        sql: the query of this project and of Flink, with ``{source}`` for the table.
        spark_sql: the query of Spark.
        minimum: a lower limit of the prices, for peers without SQL.
    """

    columns: str
    sql: str
    spark_sql: str
    minimum: float | None = None


_MINIMUM: Final = 250
_FILTER: Final = f"SELECT * FROM {{source}} WHERE price > {_MINIMUM}"
QUERIES: Final[Mapping[str, Query]] = {
    "pass-through": Query(COLUMNS, "SELECT * FROM {source}", "SELECT * FROM {source}"),
    "filter": Query(COLUMNS, _FILTER, _FILTER, _MINIMUM),
    "windows": Query(
        _SUMS,
        f"SELECT {_AGGREGATES.replace('sum(quantity)', 'sum(CAST(quantity AS BIGINT))')} FROM TABLE(TUMBLE(TABLE "
        "{source}_timed, DESCRIPTOR(event_time), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, country",
        f"SELECT {_AGGREGATES} FROM {{source}}_timed GROUP BY window(event_time, '10 seconds'), country",
    ),
}


def fill(name: str, records: int, writer: PeerProcess, cluster: Cluster) -> Topic:
    """Return a new topic whose partitions are in the order of event time: one task writes all of them."""
    topic = Topic(name, "json", records, _PARTITIONS, cluster.bootstrap)
    cluster.create(name, _PARTITIONS)
    writer.request("sql", text=create_table(name, topic))
    writer.request("sql", text=f"INSERT INTO {name} SELECT {ROW} FROM range(0, {records}, 1, 1)")
    return topic


def measure_streams(
    backlog: Topic,
    warm_up: Topic,
    processes: Sequence[PeerProcess],
    cluster: Cluster,
    folder: Path,
    runs: int,
    queries: Collection[str] = tuple(QUERIES),
) -> Iterator[Result]:
    """Let each peer read a backlog with each query and delivery guarantee.

    Args:
        backlog, warm_up: filled topics; the second one is read before each query is measured, once per guarantee.
        processes: this project, which also verifies what is written, Spark, and Flink in streaming mode.
        folder: for checkpoints.
        queries: keys of ``QUERIES``.
    """
    by_name = {process.name: process for process in processes}
    by_name[FLINK].request("sql", text=f"SET execution.checkpointing.interval = {_CHECKPOINTS}")
    for topic in (backlog, warm_up):
        for process in (by_name[OURS], by_name[FLINK]):
            for statement in _declare_source(process.name, topic):
                process.request("sql", text=statement)
    guarantees = {"at-least-once": (AT_LEAST_ONCE, by_name), "exactly-once": (EXACTLY_ONCE, _without(by_name, SPARK))}
    topics, verifier = (warm_up, backlog), by_name[OURS]
    for query_name in queries:
        query, comparisons = QUERIES[query_name], []
        for guarantee, (options, peers) in guarantees.items():
            cpu: dict[str, list[float]] = {name: [] for name in peers}
            warm_ups, backlogs = (
                {
                    name: query_run(process, query, topic, options, verifier, cluster, folder, cpu[name])
                    for name, process in peers.items()
                }
                for topic in topics
            )
            for _ in measure_alternately("stream", query_name, warm_ups, warm_up.records, 0, 1):
                pass
            comparisons.append((f"{query_name}, {guarantee}", backlogs, cpu))
        for comparison, backlogs, cpu in comparisons:  # after both warm-ups: the second guarantee is no warmer
            yield from measure_backlogs("stream", comparison, backlogs, backlog.records, cpu, runs)


def measure_backlogs(
    group: str, comparison: str, peers: Mapping[str, Run], records: int, cpu: Mapping[str, list[float]], runs: int
) -> Iterator[Result]:
    """Let each peer read a backlog; measure the time and the CPU time per record.

    Args:
        group, comparison: names for the results.
        peers: name of each peer -> its run.
        records: number of records in the backlog.
        cpu: name of each peer -> the list to which its run adds its CPU time.
        runs: number of measured rounds.
    """
    for values in cpu.values():
        values.clear()
    yield from measure_alternately(group, comparison, peers, records, runs, 0)
    for name, values in cpu.items():
        yield Result(group, f"{comparison}: CPU per record", name, values, unit=UNIT)


def _without(peers: Mapping[str, PeerProcess], name: str) -> dict[str, PeerProcess]:
    return {peer: process for peer, process in peers.items() if peer != name}


def _declare_source(peer: str, topic: Topic) -> Iterator[str]:
    name = topic.name
    if peer == FLINK:
        yield create_table(name, topic)
    yield create_table(f"{name}_timed", topic).replace(topic.columns, topic.columns + _EVENT_TIME, 1)


def query_run(
    process: PeerProcess,
    query: Query,
    source: Topic,
    options: Mapping[str, str],
    verifier: PeerProcess,
    cluster: Cluster,
    folder: Path,
    cpu: list[float],
) -> Run:
    """Return a run that reads what is in a topic and writes the query's rows to a new topic.

    Args:
        process: the peer.
        query: the query.
        source: the topic.
        options: the delivery options of this project's and Flink's target.
        verifier: this project, which reads the target.
        cluster: the cluster.
        folder: for checkpoints.
        cpu: list to which the CPU time per record is added.
    """

    def run() -> RunResult:
        target = replace(source, name=f"streamed_{next(_NAMES)}")
        cluster.create(target.name, target.partitions)
        warm_page_cache(512)
        create = _create_target(target, query.columns, options)
        if process.name in (OURS, FLINK):
            process.request("sql", text=create)
        before = _cpu_seconds(process.pid)
        response: RunResult = _starter(process, query, source, target, folder)()
        cpu.append((_cpu_seconds(process.pid) - before) / source.records * 1e6)
        if process.name != verifier.name:
            verifier.request("sql", text=create)
        rows = _content(verifier, target.name, query, source.records)
        cluster.delete(target.name)
        return {"seconds": response["seconds"], "rows": rows}

    return run


def _starter(process: PeerProcess, query: Query, source: Topic, target: Topic, folder: Path) -> Callable[[], RunResult]:
    checkpoints = str(folder / "checkpoints")
    if process.name == SPARK:
        return lambda: process.request(
            "drain_stream",
            query=query.spark_sql.format(source=source.name),
            columns=COLUMNS,
            source=source.name,
            target=target.name,
            bootstrap=source.bootstrap,
            checkpoint=f"{checkpoints}/{target.name}",
        )
    if process.name in MODULES:
        names = {"bootstrap": source.bootstrap, "source": source.name, "target": target.name}
        return lambda: process.request("stream", **names, records=source.records, minimum=query.minimum)
    insert = f"INSERT INTO {target.name} {query.sql.format(source=source.name)}"
    if process.name == FLINK:
        return lambda: process.request("sql", text=insert)
    return lambda: process.request("insert_stream", text=insert, checkpoints=checkpoints)


def _create_target(target: Topic, columns: str, options: Mapping[str, str]) -> str:
    extra = {**options, "properties.isolation.level": "read_committed"}
    if "sink.transactional-id-prefix" in options:
        extra["sink.transactional-id-prefix"] = f"stream-{target.name}"
    return create_table(target.name, target, extra).replace(target.columns, columns, 1)


def _content(verifier: PeerProcess, table: str, query: Query, records: int) -> list[list[str]]:
    """Return the number of rows and the sum of their checksums, without the last windows, which Spark keeps open."""
    names = [column.split()[0] for column in query.columns.split(", ")]
    text = ", ".join(f"coalesce(CAST({name} AS STRING), '')" for name in names)
    closed = ""
    if "last_ts" in names:
        end = (records - 1 - _DELAY) // _WINDOW * _WINDOW
        closed = f" WHERE last_ts < {1_700_000_000_000 + end}"
    rows: list[list[str]] = verifier.request(
        "sql", text=f"SELECT count(*), sum(crc32(CAST(concat_ws(',', {text}) AS BINARY))) FROM {table}{closed}"
    )["rows"]
    return rows


def _cpu_seconds(peer: int) -> float:
    """Return the CPU seconds that a peer's processes and the broker have used, with those that have exited."""
    root = psutil.Process(peer)
    brokers = [p for p in psutil.Process().children() if "kafka.Kafka" in " ".join(p.cmdline())]
    seconds = 0.0
    for process in [root, *root.children(recursive=True), *brokers]:
        try:
            times = process.cpu_times()
        except psutil.Error:  # it has just exited
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds
