"""Continuous queries with TO_CHANGELOG and FROM_CHANGELOG, and aggregates of what they return."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kafka_sql.errors import CheckpointError, UnsupportedSqlError
from tests.integration.sql.jobs.changelog.test_joins import Row, change, content, run
from tests.topics import Topics

_MAPPING = "MAP['INSERT', 'c', 'UPDATE_BEFORE', 'b', 'UPDATE_AFTER', 'u', 'DELETE', 'd']"
_CODES = "MAP['c', 'INSERT', 'b', 'UPDATE_BEFORE', 'u', 'UPDATE_AFTER', 'd', 'DELETE']"
pytestmark = pytest.mark.integration


def test_changes_become_rows_and_changes_again(spark: Any, streaming: Any, topics: Topics) -> None:
    rng, rows = random.Random(3), dict[int, Row]()
    source, events, target = (topics.create() for _ in range(3))
    columns = "id INT, k INT, v INT"
    streaming(f"CREATE TABLE a ({columns}) {topics.with_options(source, format='debezium-json')}")
    streaming(f"CREATE TABLE events (op STRING, {columns}) {topics.with_options(events)}")
    streaming(
        f"CREATE TEMPORARY VIEW changes AS SELECT * FROM TO_CHANGELOG(input => TABLE a, op_mapping => {_MAPPING})"
    )
    types = "k INT, x INT, g BIGINT, n BIGINT, d DOUBLE"
    streaming(f"CREATE TABLE tgt ({types}) {topics.with_options(target, format='debezium-json')}")
    aggregate = (
        "SELECT k, x, grouping_id() AS g, count(*) AS n, round(stddev_pop(v), 9) AS d "
        "FROM {} CROSS JOIN UNNEST(array(v % 3, v % 2)) AS u (x) GROUP BY CUBE (k, x)"
    )
    changes = f"FROM_CHANGELOG(input => TABLE events, op_mapping => {_CODES}) AS e"
    for _ in range(2):
        change(topics, source, rows, rng, 25)
        run(spark, streaming("INSERT INTO events SELECT * FROM changes"))
        run(spark, streaming("INSERT INTO tgt " + aggregate.format(changes)))
        assert content(spark, "SELECT * FROM tgt") == content(spark, aggregate.format("a"))
    assert set(content(spark, "SELECT op FROM events GROUP BY op")) == {f"Row(op='{code}')" for code in "cbud"}
    with pytest.raises(UnsupportedSqlError, match="only supported in a continuous INSERT INTO"):
        content(spark, "SELECT * FROM TO_CHANGELOG(input => TABLE a)")


def test_rows_of_changes_are_counted_by_their_codes(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE a (id INT, k INT, v INT) {topics.with_options(source, format='debezium-json')}")
    columns = "op STRING, n BIGINT, PRIMARY KEY (op) NOT ENFORCED"
    streaming(f"CREATE TABLE tgt ({columns}) {topics.with_upsert_options(target)}")
    insert = (
        "INSERT INTO tgt SELECT op, count(*) FROM "
        "TO_CHANGELOG(input => TABLE a, op_mapping => MAP['INSERT', '{}', 'DELETE', 'd']) GROUP BY op"
    )
    change(topics, source, {}, random.Random(1), 20)
    run(spark, streaming(insert.format("c")))
    assert len(content(spark, "SELECT op FROM tgt WHERE n > 0 AND op = 'c'")) == 1
    with pytest.raises(CheckpointError, match="grouping columns changed"):
        streaming(insert.format("x"))
