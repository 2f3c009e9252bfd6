"""Continuous joins and subqueries over rows and changes, against Spark's batch queries over the same rows."""

from __future__ import annotations

import json
import random
from typing import Any, Final

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

Row = dict[str, Any]

QUERIES: Final = {
    "outer join": "SELECT a.id, a.k, b.id AS id2, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.v",
    "aggregate of a join": "SELECT a.k, count(*) AS n, sum(b.v) AS s FROM a JOIN b ON a.id = b.id GROUP BY a.k",
    "comma joins": "SELECT a.id, b.v, c.v AS w FROM a, b, a AS c WHERE a.k = b.k AND b.id = c.id AND a.v > 20 "
    "AND c.v < b.v",
    "not exists": "SELECT id, k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v < a.v)",
    "inner join": "SELECT a.id, a.k, b.id AS id2, b.v FROM a JOIN b ON a.k = b.k",
    "full join": "SELECT a.id, b.k, b.id AS id2, b.v FROM a FULL JOIN b ON a.id = b.id",
    "three tables": "SELECT a.id, b.v, c.v AS w FROM a JOIN b ON a.k = b.k LEFT JOIN a AS c ON c.id = b.k",
    "join of aggregates": "SELECT * FROM (SELECT k, count(*) AS n FROM a GROUP BY k) JOIN "
    "(SELECT k AS k2, max(v) AS m FROM b GROUP BY k) ON k = k2",
    "aggregate of an aggregate": "SELECT n, count(*) AS m FROM (SELECT k, count(*) AS n FROM a GROUP BY k) GROUP BY n",
    "grouping sets": "SELECT k, v % 3 AS m, grouping_id() AS g, count(*) AS n, min_by(id, v) AS i FROM a "
    "GROUP BY GROUPING SETS ((k, v % 3), (k), ())",
    "functions": "SELECT k, sort_array(array_agg(v)) AS l, round(stddev_samp(v), 9) AS s, bool_or(v > 50) AS b, "
    "length(listagg(CAST(v AS STRING), ',') FILTER (WHERE v > 9)) AS t FROM a GROUP BY k",
    "unnest": "SELECT id, x, o FROM a LEFT JOIN UNNEST(array(k, v)) WITH ORDINALITY AS u (x, o) ON TRUE",
    "in": "SELECT * FROM a WHERE k IN (SELECT k FROM b WHERE v > 50)",
    "exists in an expression": "SELECT id, k IN (SELECT k FROM b WHERE v > 50) AS x FROM a "
    "WHERE v > 60 OR EXISTS (SELECT 1 FROM b WHERE b.id = a.id)",
    "not in": "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE k < 3)",
    "correlated scalar": "SELECT id, v FROM a WHERE v > (SELECT avg(v) FROM b WHERE b.k = a.k)",
    "constants": "SELECT x, b.id, b.v FROM VALUES (1), (2), (7) AS t(x) "
    "LEFT JOIN b ON b.k = x AND b.v BETWEEN x AND 60",
    "intersect": "SELECT k, v % 3 AS m FROM a INTERSECT SELECT k, v % 3 FROM b",
    "except": "SELECT k FROM a EXCEPT SELECT k FROM b WHERE v > 50",
    "scalars": "SELECT id, v - (SELECT max(v) FROM b) AS d FROM a WHERE v < (SELECT max(v) FROM b)",
}


def run(spark: Any, result: Any) -> None:
    """Run a continuous query until it has read all records."""
    query = spark.streams.get(result.collect()[0][0])
    query.processAllAvailable()
    query.stop()


def change(topics: Topics, topic: str, rows: dict[int, Row], rng: random.Random, count: int) -> None:
    """Change the rows of a table, and write the changes to its topic."""
    events = []
    for _ in range(count):
        id = rng.randrange(6)
        before = rows.pop(id, None)
        if before is None or rng.random() < 0.7:
            rows[id] = {"id": id, "k": rng.choice([None, 1, 2, 3]), "v": rng.randrange(100)}
        after = rows.get(id)
        events.append({"before": before, "after": after, "op": "d" if after is None else "u" if before else "c"})
    topics.produce_all(topic, [(None, json.dumps(event).encode()) for event in events])


def content(spark: Any, query: str) -> list[str]:
    """Return the rows of a query in batch mode."""
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    rows = sorted(map(str, spark.sql(query).collect()))
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    return rows


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", QUERIES)
def test_changes_of_both_tables(spark: Any, streaming: Any, topics: Topics, name: str) -> None:
    rng, select, target = random.Random(1), QUERIES[name], topics.create()
    tables: dict[str, tuple[str, dict[int, Row]]] = {table: (topics.create(), {}) for table in "ab"}
    for table, (topic, _) in tables.items():
        options = topics.with_options(topic, format="debezium-json")
        streaming(f"CREATE TABLE {table} (id INT, k INT, v INT, PRIMARY KEY (id) NOT ENFORCED) {options}")
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in spark.sql(select).schema)
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    streaming(f"CREATE TABLE tgt ({columns}) {topics.with_options(target, format='debezium-json')}")
    for _ in range(2):
        for topic, rows in tables.values():
            change(topics, topic, rows, rng, 25)
        run(spark, streaming(f"INSERT INTO tgt {select}"))
        assert content(spark, "SELECT * FROM tgt") == content(spark, select)


def test_a_row_whose_join_key_changes_keeps_its_primary_key(spark: Any, streaming: Any, topics: Topics) -> None:
    rng, target = random.Random(2), topics.create()
    tables: dict[str, tuple[str, dict[int, Row]]] = {table: (topics.create(), {}) for table in "ab"}
    for table, (topic, _) in tables.items():
        options = topics.with_options(topic, format="debezium-json")
        streaming(f"CREATE TABLE {table} (id INT, k INT, v INT, PRIMARY KEY (id) NOT ENFORCED) {options}")
    key = "PRIMARY KEY (id) NOT ENFORCED"
    streaming(f"CREATE TABLE tgt (id INT, v INT, w INT, {key}) {topics.with_upsert_options(target)}")
    select = "SELECT a.id, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.id"
    plan = streaming(f"EXPLAIN INSERT INTO tgt {select}").collect()[0][0]
    assert "State: Join" in plan
    assert "SinkUpsertMaterializer" in plan
    for _ in range(2):
        for topic, rows in tables.values():
            change(topics, topic, rows, rng, 40)
        run(spark, streaming(f"INSERT INTO tgt {select}"))
        assert content(spark, "SELECT * FROM tgt") == content(spark, select)


@pytest.mark.long
def test_an_outer_join_of_rows_that_never_change(spark: Any, streaming: Any, topics: Topics) -> None:
    orders, customers, target = (topics.create() for _ in range(3))
    streaming(f"CREATE TABLE orders (id INT, customer INT) {topics.with_options(orders)}")
    streaming(f"CREATE TABLE customers (id INT, name STRING) {topics.with_options(customers)}")
    key = "PRIMARY KEY (id) NOT ENFORCED"
    streaming(f"CREATE TABLE tgt (id INT, name STRING, {key}) {topics.with_upsert_options(target)}")
    select = "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id"
    topics.produce(orders, b'{"id": 1, "customer": 7}')
    for expected in (None, "a"):
        run(spark, streaming(f"INSERT INTO tgt {select}"))
        assert content(spark, "SELECT * FROM tgt") == [f"Row(id=1, name={expected!r})"]
        topics.produce(customers, b'{"id": 7, "name": "a"}')
