"""Measure the first query of a new process, and small queries in a warm process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.comparison import Result, RunResult, measure_alternately
from benchmarks.orders import Topic, declare_statements, select_list
from benchmarks.peer_process import PeerProcess
from benchmarks.reading import measure_reads

Start = Callable[[Path], PeerProcess]


def measure_first_query(name: str, topic: Topic, starts: dict[str, Start], folder: Path, runs: int) -> Iterator[Result]:
    """Create a table and query it in a new session."""

    def cold(start: Start) -> Callable[[], RunResult]:
        def run() -> RunResult:
            with start(folder) as process:
                results = [process.request("sql", text=text) for text in declare_statements(process.name, topic)]
                results.append(process.request("sql", text=f"SELECT {select_list(topic)} FROM {topic.name}"))
            return {"seconds": sum(r["seconds"] for r in results), "rows": results[-1]["rows"]}

        return run

    peers = {name: cold(start) for name, start in starts.items()}
    yield from measure_alternately("start", f"{name}, {topic.records:,} records", peers, 0, runs, warm_ups=0)


def measure_small_queries(topic: Topic, processes: Sequence[PeerProcess], runs: int) -> Iterator[Result]:
    """Run the same query repeatedly."""
    for result in measure_reads("start", f"warm query, {topic.records:,} records", topic, processes, runs, warm_ups=5):
        result.records = 0
        yield result
