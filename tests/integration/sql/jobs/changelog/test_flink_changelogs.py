"""Continuous queries over random changelogs: the final content equals Flink's, and that of a model.

Each query is one INSERT in both engines, from the same topics into a separate topic. All histories are in the same
topics, and each row has the number of its history.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import launch
from tests.changelog_histories import COLUMNS, decimal, final_content, interleave, make_history, write
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long]  # Flink's libraries are 312 MB

HISTORIES, COUNT = 1000, 200
KEY, GROUP = "PRIMARY KEY (h, k) NOT ENFORCED", "PRIMARY KEY (h, g) NOT ENFORCED"
VALUES = (
    f"h INT, g INT, n BIGINT, c BIGINT, s DECIMAL(38, 2), low DECIMAL(10, 2), high DECIMAL(10, 2), d BIGINT, {GROUP}"
)
AGGREGATE = (
    "SELECT h, g, count(*), count(v), CAST(sum(v) AS DECIMAL(38, 2)), min(v), max(v), count(DISTINCT k) "
    "FROM {} WHERE k > 0 GROUP BY h, g"
)
TOTALS = f"h INT, g INT, n BIGINT, s DECIMAL(38, 2), {GROUP}"
SUMS = "SELECT h, g, count(*), CAST(sum(v) AS DECIMAL(38, 2)) FROM {} GROUP BY h, g HAVING count(*) > 1"
QUERIES = {  # columns of the sink, query
    "copy": (f"{COLUMNS}, {KEY}", "SELECT h, k, g, v FROM cdc"),
    "filtered": (f"{COLUMNS}, {KEY}", "SELECT h, k, g, v FROM upserts WHERE v > 50 OR g = 1"),
    "totals": (TOTALS, SUMS.format("cdc")),
    "grouped": (VALUES, AGGREGATE.format("cdc")),
    "of_upserts": (VALUES, AGGREGATE.format("upserts") + " HAVING count(*) > 1"),
    "distinct_groups": (f"h INT, g INT, {GROUP}", "SELECT DISTINCT h, g FROM cdc"),
    "newest": (f"{COLUMNS}, {GROUP}", "SELECT h, k, g, v FROM cdc"),
    "newest_of_upserts": (f"{COLUMNS}, {GROUP}", "SELECT h, k, g, v FROM upserts"),
}


@pytest.mark.timeout(1800)
def test_random_histories(spark: Any, streaming: Any, topics: Topics, tmp_path: Path) -> None:
    by_history = [make_history(number, COUNT) for number in range(HISTORIES)]
    cdc, upserts = topics.create(), topics.create()  # of one partition, so that both engines read the same order
    write(topics, cdc, upserts, interleave(by_history, slice(None)), 1)
    bounded = {"scan.bounded.mode": "latest-offset"}
    sources = [
        f"CREATE TABLE cdc ({COLUMNS}, {KEY}) {topics.with_options(cdc, format='debezium-json', **bounded)}",
        f"CREATE TABLE upserts ({COLUMNS}, {KEY}) {topics.with_upsert_options(upserts, **bounded)}",
    ]
    theirs, ours = {name: topics.create() for name in QUERIES}, {name: topics.create(2) for name in QUERIES}
    with launch.start_flink(tmp_path, 1, "streaming") as flink:
        for statement in sources:
            flink.request("sql", text=statement)
        for name, (columns, query) in QUERIES.items():
            flink.request("sql", text=f"CREATE TABLE {name} ({columns}) {topics.with_upsert_options(theirs[name])}")
            flink.request("sql", text=f"INSERT INTO {name} {query}")
    for statement in sources:
        streaming(statement)
    for name, (columns, query) in QUERIES.items():
        streaming(f"CREATE TABLE {name} ({columns}) {topics.with_upsert_options(ours[name])}")
        (job,) = streaming(f"INSERT INTO {name} {query}").collect()
        spark.streams.get(job[0]).awaitTermination()
    streaming("SET 'execution.runtime-mode' = 'batch'")
    for name, (columns, _) in QUERIES.items():
        streaming(f"CREATE TABLE flink_{name} ({columns}) {topics.with_upsert_options(theirs[name])}")
        mine, flinks = (
            {tuple(row) for row in streaming(f"SELECT * FROM {table}").collect()} for table in (name, f"flink_{name}")
        )
        assert mine == flinks, name
        assert len(mine) > HISTORIES
    content = {row for changes in by_history for row in map(_values, final_content(changes).values())}
    assert {tuple(row) for row in streaming("SELECT * FROM copy").collect()} == content
    mine, flinks = (
        records_by_key(streaming, name, topics.with_options(topic, **{"format": "raw", "key.format": "raw"}))
        for name, topic in (("own_records", ours["filtered"]), ("flink_records", theirs["filtered"]))
    )
    assert mine == flinks  # also what is written, and how often
    assert len(mine) > HISTORIES


def records_by_key(sql: Any, table: str, options: str) -> dict[str, list[Any]]:
    """Return the values of each key of a topic, in their order."""
    metadata = "p INT METADATA FROM 'partition' VIRTUAL, o BIGINT METADATA FROM 'offset' VIRTUAL"
    key = "'key.fields' = 'key_text', 'value.fields-include' = 'EXCEPT_KEY')"
    sql(f"CREATE TABLE {table} (key_text STRING, line STRING, {metadata}) {options.removesuffix(')')}, {key}")
    records: dict[str, list[Any]] = {}
    for row in sql(f"SELECT * FROM {table} ORDER BY p, o").collect():
        records.setdefault(row["key_text"], []).append(row["line"] and json.loads(row["line"]))
    return records


def _values(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["h"], row["k"], row["g"], decimal(row)
