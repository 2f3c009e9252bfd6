"""Measure reading: formats, record sizes, partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.comparison import Result, Run, RunResult, measure_alternately
from benchmarks.orders import Topic, declare_statements, select_list, string_extremes
from benchmarks.peer_process import PeerProcess


def measure_reads(
    group: str, comparison: str, topic: Topic, processes: Sequence[PeerProcess], runs: int, warm_ups: int = 1
) -> Iterator[Result]:
    """Let each peer read all fields of all records of a topic."""
    for process in processes:
        for statement in declare_statements(process.name, topic):
            process.request("sql", text=statement)
        process.memory.reset()
    extremes = {
        process.name: _query(process, f"SELECT {string_extremes(topic)} FROM {topic.name}") for process in processes
    }
    for _ in measure_alternately(group, comparison, extremes, topic.records, runs=0):
        pass  # only compares the results
    peers = {process.name: _query_with_count_check(process, topic) for process in processes}
    for result in measure_alternately(group, comparison, peers, topic.records, runs, warm_ups):
        (process,) = (s for s in processes if s.name == result.peer)
        result.memory = process.memory.peaks
        yield result


def _query(process: PeerProcess, text: str) -> Run:
    def run() -> RunResult:
        response: RunResult = process.request("sql", text=text)
        return response

    return run


def _query_with_count_check(process: PeerProcess, topic: Topic) -> Run:
    query = _query(process, f"SELECT {select_list(topic)} FROM {topic.name}")

    def run() -> RunResult:
        response = query()
        if response["rows"][0][0] != str(topic.records):
            raise RuntimeError(f"{process.name} read {response['rows'][0][0]} records of '{topic.name}'")
        return response

    return run
