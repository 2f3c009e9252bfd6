"""Writing: rows made by arithmetic into a topic, by each guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from benchmarks.cluster import Cluster
from benchmarks.contest import Answer, Result, Run, compete
from benchmarks.orders import Topic, avro_schema, definition, rows
from benchmarks.pages import touch
from benchmarks.peers.launch import FLINK, OURS, SPARK
from benchmarks.station import Station

AT_LEAST_ONCE: Mapping[str, str] = {"sink.delivery-guarantee": "at-least-once"}
EXACTLY_ONCE: Mapping[str, str] = {
    "sink.delivery-guarantee": "exactly-once",
    "sink.transactional-id-prefix": "benchmark",
    "properties.transaction.timeout.ms": "600000",
}
_NAMES = count(1)
_MEMORY = 512  # MiB, more than any run writes


def write(
    contest: str,
    topic: Topic,
    ways: Sequence[tuple[str, Station, Mapping[str, str]]],
    cluster: Cluster,
    runs: int,
    warm_ups: int = 3,
) -> Iterator[Result]:
    """Each way writes the same rows into new topics.

    Args:
        ways: a name, who writes, and the table's options of delivery.
        warm_ups: runs of each before, which do not count; so many until the JVMs compile little.
    """
    (judge,) = {station for _, station, _ in ways if station.name == OURS}
    peers = {name: _insert(station, topic, options, cluster, judge) for name, station, options in ways}
    yield from compete("write", contest, peers, topic.records, runs, warm_ups)


def _insert(station: Station, like: Topic, options: Mapping[str, str], cluster: Cluster, judge: Station) -> Run:
    numbers = "numbers" if station.name == FLINK else f"range(0, {like.records}, 1, 2)"

    def run() -> Answer:
        topic = replace(like, name=f"written_{next(_NAMES)}")
        cluster.create(topic.name, topic.partitions)
        touch(_MEMORY)
        if station.name == SPARK:
            value = _payload(topic)
            query = f"SELECT {value} AS value FROM ({rows(topic, numbers)})"
            answer: Answer = station.ask("sink", text=query, bootstrap=topic.bootstrap, topic=topic.name)
        else:
            if station.name == FLINK:
                station.ask("sql", text="DROP TABLE IF EXISTS numbers")
                station.ask("sql", text=_numbers(like.records))
            more = dict(options)
            if EXACTLY_ONCE.items() <= options.items():
                more["sink.transactional-id-prefix"] = f"benchmark-{topic.name}"
            station.ask("sql", text=definition(topic.name, topic, more))
            answer = station.ask("sql", text=f"INSERT INTO {topic.name} {rows(topic, numbers)}")
        content = _content(judge, topic)
        cluster.delete(topic.name)
        return {"seconds": answer["seconds"], "rows": content}

    return run


def _payload(topic: Topic) -> str:
    """Spark's function that makes a payload of a row."""
    if topic.format == "avro":
        return f"to_avro(struct(*), '{avro_schema(topic)}')"
    return f"to_{topic.format}(struct(*))"


def _numbers(records: int) -> str:
    """Flink's table of numbers."""
    return (
        "CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', "
        # else it is taken for one without an end, and makes 10,000 a second
        f"'number-of-rows' = '{records}', 'rows-per-second' = '1000000000', "
        f"'fields.id.start' = '0', 'fields.id.end' = '{records - 1}')"
    )


def _content(judge: Station, topic: Topic) -> list[list[str]]:
    """The number of committed records and the sum of their checksums."""
    table = replace(topic, format="raw")
    judge.ask("sql", text="DROP TABLE IF EXISTS written")
    judge.ask("sql", text=definition("written", table, {"properties.isolation.level": "read_committed"}))
    query = "SELECT count(*), sum(crc32(CAST(value AS BINARY))) FROM written"
    found: list[list[str]] = judge.ask("sql", text=query)["rows"]
    if found[0][0] != str(topic.records):
        raise RuntimeError(f"topic '{topic.name}' holds {found[0][0]} records, not {topic.records}")
    return found
