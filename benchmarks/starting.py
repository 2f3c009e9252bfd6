"""A new process' first query, and small queries in a warm one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.contest import Answer, Result, compete
from benchmarks.orders import Topic, every_field, prepared
from benchmarks.reading import read
from benchmarks.station import Station

Start = Callable[[Path], Station]


def first(topic: Topic, starts: dict[str, Start], folder: Path, runs: int) -> Iterator[Result]:
    """Declare a table and query it in a session that has done nothing yet."""

    def cold(start: Start) -> Callable[[], Answer]:
        def run() -> Answer:
            with start(folder) as station:
                answers = [station.ask("sql", text=text) for text in prepared(station.name, topic)]
                answers.append(station.ask("sql", text=f"SELECT {every_field(topic)} FROM {topic.name}"))
            return {"seconds": sum(a["seconds"] for a in answers), "rows": answers[-1]["rows"]}

        return run

    peers = {name: cold(start) for name, start in starts.items()}
    yield from compete("start", f"first query, {topic.records:,} records", peers, 0, runs, warm_ups=0)


def small(topic: Topic, stations: Sequence[Station], runs: int) -> Iterator[Result]:
    """The same query again and again."""
    for result in read("start", f"warm query, {topic.records:,} records", topic, stations, runs, warm_ups=5):
        result.records = 0
        yield result
