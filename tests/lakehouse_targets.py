"""Streaming INSERTs into tables of a lakehouse: each row once, and changes by MERGE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError, UnsupportedSqlError
from tests.topics import Topics


def check_targets(spark: SparkSession, topics: Topics, provider: str, folder: Path) -> None:
    """Check continuous queries into tables of a lakehouse.

    Args:
        spark: an enabled session.
        provider: of the tables of the lakehouse.
        folder: for checkpoints.
    """
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/targets'")
    check_appends(spark, topics, provider, folder)
    check_create_table_as(spark, provider)
    check_changes(spark, topics, provider, folder)
    check_aggregate(spark, topics, provider)
    check_refused(spark, provider)
    for table in ("src", "people", "appended", "created", "created_totals", "merged", "totals"):
        spark.sql(f"DROP TABLE {table}")


def check_appends(spark: SparkSession, topics: Topics, provider: str, folder: Path) -> None:
    """Check that a partitioned table has each row once after restarts, and after a batch that was not committed."""
    topic = topics.create(2)
    spark.sql(f"CREATE TABLE src (id INT, name STRING) {topics.with_options(topic)}")
    spark.sql(f"CREATE TABLE appended (name STRING, id BIGINT) USING {provider} PARTITIONED BY (name)")
    insert = "INSERT INTO appended (id, name) SELECT id, name FROM src"
    for n in range(3):
        for i in range(4):
            topics.produce(topic, b'{"id": %d, "name": "%s"}' % (n * 4 + i, b"ab"[i % 2 : i % 2 + 1]), partition=i % 2)
        run_job(spark, insert)
    forget_last_commit(folder / "targets" / "insert-into_default.appended")
    run_job(spark, insert)
    assert rows(spark, "SELECT id, name FROM appended") == [(n, "ab"[n % 2]) for n in range(12)]


def check_create_table_as(spark: SparkSession, provider: str) -> None:
    """Check that a continuous CREATE TABLE AS creates a table, and that an INSERT resumes it."""
    run_job(spark, f"CREATE TABLE created USING {provider} PARTITIONED BY (name) AS SELECT id, name FROM src")
    run_job(spark, "INSERT INTO created BY NAME SELECT id, name FROM src")
    assert rows(spark, "SELECT id, name FROM created") == [(n, "ab"[n % 2]) for n in range(12)]
    key = "TBLPROPERTIES ('primary-key' = 'name')"
    run_job(
        spark,
        f"CREATE TABLE created_totals USING {provider} {key} AS SELECT name, count(*) AS n FROM src GROUP BY name",
    )
    assert rows(spark, "SELECT * FROM created_totals") == [("a", 6), ("b", 6)]


def check_changes(spark: SparkSession, topics: Topics, provider: str, folder: Path) -> None:
    """Check that inserts, updates and deletes of a change data capture table reach the lakehouse, also repeated."""
    topic = topics.create()
    options = topics.with_options(topic, format="debezium-json")
    spark.sql(f"CREATE TABLE people (id INT, name STRING, age INT, PRIMARY KEY (id) NOT ENFORCED) {options}")
    spark.sql(f"CREATE TABLE merged (id INT NOT NULL, name STRING) USING {provider}{declare_key(provider, 'merged')}")
    if provider == "iceberg":
        spark.sql("ALTER TABLE merged SET IDENTIFIER FIELDS id")
    insert = "INSERT INTO merged SELECT id, upper(name) FROM people WHERE age < 50"
    produce(topics, topic, create(1, "ann", 20), create(2, "bob", 30), create(3, "eve", 60))
    run_job(spark, insert)
    assert rows(spark, "SELECT * FROM merged") == [(1, "ANN"), (2, "BOB")]
    produce(topics, topic, update(1, "ann", 20, "anna", 21), update(1, "anna", 21, "annie", 22), delete(2, "bob", 30))
    produce(topics, topic, update(3, "eve", 60, "eve", 40), create(4, "tom", 10), delete(4, "tom", 10))
    run_job(spark, insert)
    assert rows(spark, "SELECT * FROM merged") == [(1, "ANNIE"), (3, "EVE")]
    forget_last_commit(folder / "targets" / "insert-into_default.merged")
    run_job(spark, insert)
    assert rows(spark, "SELECT * FROM merged") == [(1, "ANNIE"), (3, "EVE")]
    produce(topics, topic, update(3, "eve", 40, "eve", 55))  # leaves the filter
    run_job(spark, insert)
    assert rows(spark, "SELECT * FROM merged") == [(1, "ANNIE")]


def check_aggregate(spark: SparkSession, topics: Topics, provider: str) -> None:
    """Check an aggregate whose groups change and leave the result."""
    properties = "TBLPROPERTIES ('primary-key' = 'NAME')"
    spark.sql(f"CREATE TABLE totals (name STRING, n BIGINT) USING {provider} {properties}")
    insert = "INSERT INTO totals SELECT name, count(*) FROM src GROUP BY name HAVING count(*) < 8"
    run_job(spark, insert)
    assert rows(spark, "SELECT * FROM totals") == [("a", 6), ("b", 6)]
    topic = spark.sql("SHOW CREATE TABLE src").collect()[0][0].split("'topic' = '")[1].split("'")[0]
    produce(topics, topic, {"id": 20, "name": "a"}, {"id": 21, "name": "b"}, {"id": 22, "name": "b"})
    run_job(spark, insert)
    assert rows(spark, "SELECT * FROM totals") == [("a", 7)]


def check_refused(spark: SparkSession, provider: str) -> None:
    """Check that what would be wrong does not start."""
    check_error(
        spark, "INSERT INTO appended SELECT name, id FROM people", UnsupportedSqlError, "update and delete changes"
    )
    check_error(spark, "INSERT INTO totals SELECT name, id FROM people", UnsupportedSqlError, "PRIMARY KEY")
    spark.sql(f"CREATE TABLE wrong_key (id INT) USING {provider} TBLPROPERTIES ('primary-key' = 'other')")
    check_error(spark, "INSERT INTO wrong_key SELECT id FROM src", StatementError, "names column 'other'")
    spark.sql("DROP TABLE wrong_key")


def declare_key(provider: str, table: str) -> str:
    """Return the clause that declares the primary key; Iceberg's tables declare it by identifier fields."""
    return "" if provider == "iceberg" else " TBLPROPERTIES ('primary-key' = 'id')"


def create(id: int, name: str, age: int) -> dict[str, Any]:
    return {"op": "c", "before": None, "after": {"id": id, "name": name, "age": age}}


def update(id: int, old_name: str, old_age: int, name: str, age: int) -> dict[str, Any]:
    before = {"id": id, "name": old_name, "age": old_age}
    return {"op": "u", "before": before, "after": {"id": id, "name": name, "age": age}}


def delete(id: int, name: str, age: int) -> dict[str, Any]:
    return {"op": "d", "before": {"id": id, "name": name, "age": age}, "after": None}


def produce(topics: Topics, topic: str, *values: dict[str, Any]) -> None:
    topics.produce(topic, *(json.dumps(value).encode() for value in values))


def run_job(spark: SparkSession, insert: str) -> None:
    """Start a streaming INSERT, let it process all records, and stop it."""
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    ((job,),) = spark.sql(insert).collect()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    query = spark.streams.get(job)
    assert query is not None
    query.processAllAvailable()
    query.stop()


def forget_last_commit(checkpoint: Path) -> None:
    """Remove the commit of the last micro-batch, as if the driver had failed between the write and the commit."""
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a query."""
    return sorted(tuple(row) for row in spark.sql(query).collect())


def check_error(spark: SparkSession, statement: str, error: type[Exception], message: str) -> None:
    """Check that a streaming INSERT fails before it starts."""
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    try:
        spark.sql(statement)
    except error as e:
        raised = str(e)
    else:
        raised = "nothing"
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    assert message in raised, f"{statement} raised {raised}"
