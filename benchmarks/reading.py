"""Reading: formats, sizes of records, partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.contest import Answer, Result, Run, compete
from benchmarks.orders import Topic, every_field, prepared, texts
from benchmarks.station import Station


def read(
    group: str, contest: str, topic: Topic, stations: Sequence[Station], runs: int, warm_ups: int = 1
) -> Iterator[Result]:
    """Each station reads every field of every record of a topic."""
    for station in stations:
        for statement in prepared(station.name, topic):
            station.ask("sql", text=statement)
        station.memory.reset()
    looks = {station.name: _query(station, f"SELECT {texts(topic)} FROM {topic.name}") for station in stations}
    for _ in compete(group, contest, looks, topic.records, runs=0):
        pass  # compared only
    peers = {station.name: _counted(station, topic) for station in stations}
    for result in compete(group, contest, peers, topic.records, runs, warm_ups):
        (station,) = (s for s in stations if s.name == result.peer)
        result.memory = station.memory.peaks
        yield result


def _query(station: Station, text: str) -> Run:
    def run() -> Answer:
        answer: Answer = station.ask("sql", text=text)
        return answer

    return run


def _counted(station: Station, topic: Topic) -> Run:
    query = _query(station, f"SELECT {every_field(topic)} FROM {topic.name}")

    def run() -> Answer:
        answer = query()
        if answer["rows"][0][0] != str(topic.records):
            raise RuntimeError(f"{station.name} read {answer['rows'][0][0]} records of '{topic.name}'")
        return answer

    return run
