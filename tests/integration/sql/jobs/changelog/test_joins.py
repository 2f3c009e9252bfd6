"""Continuous joins of streams, over rows and changes, against Spark's batch joins of the same rows."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration


def run(spark: Any, result: Any) -> None:
    """Run a continuous query until it has read all records."""
    query = spark.streams.get(result.collect()[0][0])
    query.processAllAvailable()
    query.stop()


def put(topics: Topics, topic: str, rows: dict[int, dict[str, Any]], rng: random.Random, n: int) -> None:
    for _ in range(n):
        id = rng.randrange(6)
        before = rows.get(id)
        if before is not None and rng.random() < 0.3:
            del rows[id]
            event = {"before": before, "after": None, "op": "d"}
        else:
            row = {"id": id, "k": rng.choice([None, 1, 2, 3]), "v": rng.randrange(100)}
            rows[id] = row
            event = {"before": before, "after": row, "op": "c" if before is None else "u"}
        topics.produce(topic, json.dumps(event).encode())


@pytest.mark.parametrize(
    "select",
    [
        "SELECT * FROM a WHERE k IN (SELECT k FROM b WHERE v > 50)",
        "SELECT id, k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v < a.v)",
        "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE k < 3)",
        "SELECT id, v FROM a WHERE v > (SELECT avg(v) FROM b WHERE b.k = a.k)",
        "SELECT id, v - (SELECT max(v) FROM b) AS d FROM a WHERE v < (SELECT max(v) FROM b)",
    ],
)
def test_joins(spark: Any, streaming: Any, topics: Topics, select: str) -> None:
    rng = random.Random(1)
    sources = {name: topics.create() for name in "ab"}
    target = topics.create()
    for name, topic in sources.items():
        options = topics.with_options(topic, format="debezium-json")
        streaming(f"CREATE TABLE {name} (id INT, k INT, v INT, PRIMARY KEY (id) NOT ENFORCED) {options}")
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    empty = spark.sql(select)
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in empty.schema)
    streaming(f"CREATE TABLE tgt ({columns}) {topics.with_options(target, format='debezium-json')}")
    rows: dict[str, dict[int, dict[str, Any]]] = {"a": {}, "b": {}}
    for _ in range(2):
        for name in "ab":
            put(topics, sources[name], rows[name], rng, 25)
        run(spark, streaming(f"INSERT INTO tgt {select}"))
        spark.sql("SET 'execution.runtime-mode' = 'batch'")
        expected = sorted(map(str, spark.sql(select).collect()))
        actual = sorted(map(str, spark.sql("SELECT * FROM tgt").collect()))
        spark.sql("SET 'execution.runtime-mode' = 'streaming'")
        assert actual == expected
