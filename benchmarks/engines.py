"""Measure other stream processors for Python on the work of the parts 'read' and 'stream': JSON only, at-least-once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, Run, RunResult, measure_alternately
from benchmarks.orders import Topic, create_table, select_list, string_extremes
from benchmarks.peer_process import PeerProcess
from benchmarks.peers.launch import OURS
from benchmarks.streams import QUERIES, measure_backlogs, query_run
from benchmarks.writing import AT_LEAST_ONCE

GROUP: Final = "engines"
READ: Final = "read"
ROWS: Final = (READ, "pass-through", "filter")


def measure_engines(
    topic: Topic,
    warm_up: Topic,
    processes: Sequence[PeerProcess],
    cluster: Cluster,
    folder: Path,
    runs: int,
    rows: Collection[str] = ROWS,
) -> Iterator[Result]:
    """Let this project and each engine aggregate a topic, copy it, and copy a part of it.

    Args:
        topic, warm_up: filled topics with JSON. The second one is read before each comparison.
        processes: this project, which also verifies what is written, and the engines.
        folder: for checkpoints.
        rows: those of ``ROWS`` to measure.
    """
    (ours,) = (process for process in processes if process.name == OURS)
    for source in (topic, warm_up):
        ours.request("sql", text=f"DROP TABLE IF EXISTS {source.name}")
        ours.request("sql", text=create_table(source.name, source))
    if READ in rows:
        yield from _measure_reads(topic, warm_up, processes, runs)
    for name in (row for row in rows if row in QUERIES):
        cpu: dict[str, list[float]] = {process.name: [] for process in processes}
        warm_ups, backlogs = (
            {
                process.name: query_run(
                    process, QUERIES[name], source, AT_LEAST_ONCE, ours, cluster, folder, cpu[process.name]
                )
                for process in processes
            }
            for source in (warm_up, topic)
        )
        for _ in measure_alternately(GROUP, name, warm_ups, warm_up.records, 0, 1):
            pass
        yield from measure_backlogs(GROUP, f"{name}, at-least-once", backlogs, topic.records, cpu, runs)


def _measure_reads(topic: Topic, warm_up: Topic, processes: Sequence[PeerProcess], runs: int) -> Iterator[Result]:
    for with_extremes in (True, False):
        peers = {process.name: _read(process, warm_up, with_extremes) for process in processes}
        for _ in measure_alternately(GROUP, READ, peers, warm_up.records, 0, 1):
            pass  # only compares the results
    peers = {process.name: _read(process, topic, False) for process in processes}
    yield from measure_alternately(GROUP, READ, peers, topic.records, runs, 0)


def _read(process: PeerProcess, topic: Topic, with_extremes: bool) -> Run:
    def run() -> RunResult:
        if process.name == OURS:
            columns = string_extremes(topic) if with_extremes else select_list(topic)
            response: RunResult = process.request("sql", text=f"SELECT {columns} FROM {topic.name}")
        else:
            names = {"bootstrap": topic.bootstrap, "topic": topic.name}
            response = process.request("read", **names, records=topic.records, with_extremes=with_extremes)
        return response

    return run
