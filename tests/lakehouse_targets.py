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
        provider: the provider of the lakehouse's tables.
        folder: for checkpoints.
    """
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/targets'")
    check_appends(spark, topics, provider, folder)
    check_create_table_as(spark, provider)
    check_shared_read(spark, provider, folder)
    check_changes(spark, topics, provider, folder)
    check_aggregate(spark, topics, provider)
    check_history(spark, topics, provider, folder)
    check_refused(spark, provider)
    for table in ("src", "people", "appended", "both", "latest", "created", "created_totals", "merged", "totals"):
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


def check_shared_read(spark: SparkSession, provider: str, folder: Path) -> None:
    """Check that a statement set reads its source once, and that a repeated micro-batch changes nothing."""
    spark.sql(f"CREATE TABLE both (id INT, part STRING) USING {provider}")
    key = f"USING {provider} TBLPROPERTIES ('primary-key' = 'name')"
    spark.sql(f"CREATE TABLE latest (name STRING, id INT) {key}")
    inserts = ["INSERT INTO both SELECT id, 'x' FROM src", "INSERT INTO both SELECT id, 'y' FROM src WHERE id > 9"]
    inserts.append("INSERT INTO latest SELECT name, id FROM src WHERE id < 6")
    for _ in range(2):
        run_jobs(spark, f"EXECUTE STATEMENT SET BEGIN {'; '.join(inserts)}; END")
        if provider == "delta":  # Iceberg's appends are queries of their own
            forget_last_commit(folder / "targets" / "insert-from_default.src")
    expected = sorted([(n, "x") for n in range(12)] + [(n, "y") for n in (10, 11)])
    assert rows(spark, "SELECT * FROM both") == expected
    assert rows(spark, "SELECT * FROM latest") == [("a", 4), ("b", 5)]
    assert (folder / "targets" / "insert-from_default.src").exists() == (provider == "delta")


def check_changes(spark: SparkSession, topics: Topics, provider: str, folder: Path) -> None:
    """Check that inserts, updates and deletes of a change data capture table reach the lakehouse, also repeated."""
    topic = topics.create()
    options = topics.with_options(topic, format="debezium-json")
    spark.sql(f"CREATE TABLE people (id INT, name STRING, age INT, PRIMARY KEY (id) NOT ENFORCED) {options}")
    spark.sql(f"CREATE TABLE merged (id INT NOT NULL, name STRING) USING {provider}{declare_key(provider)}")
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


HISTORY = "SELECT id, name, unix_millis(valid_from), unix_millis(valid_to), is_current FROM history"


def check_history(spark: SparkSession, topics: Topics, provider: str, folder: Path) -> None:
    """Check slowly changing dimensions of type 2: of a change data capture table, and of an upsert table."""
    topic, upserts = topics.create(), topics.create()
    time = "changed TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
    columns = f"(id INT, name STRING, age INT, {time}, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE staff {columns} {topics.with_options(topic, format='debezium-json')}")
    spark.sql(f"CREATE TABLE staff_upserts {columns} {topics.with_upsert_options(upserts)}")
    spark.sql(
        "CREATE TABLE history (id INT, name STRING, valid_from TIMESTAMP, valid_to TIMESTAMP, is_current BOOLEAN) "
        f"USING {provider} TBLPROPERTIES ('primary-key' = 'id', 'scd-type' = '2', "
        "'scd-columns' = 'valid_from, valid_to, is_current')"
    )
    spark.sql(
        f"CREATE TABLE history_of_upserts (id INT, name STRING, __START_AT TIMESTAMP, __END_AT TIMESTAMP) "
        f"USING {provider} TBLPROPERTIES ('primary-key' = 'id', 'scd-type' = '2')"
    )
    insert = "INSERT INTO history (id, name, valid_from) SELECT id, name, changed FROM staff WHERE age < 50"

    def at(seconds: int, change: dict[str, Any]) -> None:
        topics.produce(topic, json.dumps(change).encode(), timestamp=seconds * 1000)

    at(1, create(1, "ann", 20))
    at(2, create(2, "bob", 30))
    run_job(spark, insert)
    assert rows(spark, HISTORY) == [(1, "ann", 1000, None, True), (2, "bob", 2000, None, True)]
    at(3, update(1, "ann", 20, "anna", 20))
    at(4, update(1, "anna", 20, "annie", 20))
    at(5, delete(2, "bob", 30))
    at(6, create(3, "tom", 10))
    at(7, delete(3, "tom", 10))
    at(8, update(1, "annie", 20, "annie", 21))  # no column of the table changes
    at(9, create(4, "eve", 40))
    at(10, update(4, "eve", 40, "eve", 60))  # leaves the filter
    ended = [(1, "ann", 1000, 3000, False), (1, "anna", 3000, 4000, False)]
    others = [(2, "bob", 2000, 5000, False), (3, "tom", 6000, 7000, False), (4, "eve", 9000, 10000, False)]
    for repeated in (False, True):
        if repeated:
            forget_last_commit(folder / "targets" / "insert-into_default.history")
        run_job(spark, insert)
        assert rows(spark, HISTORY) == [*ended, (1, "annie", 4000, None, True), *others], repeated
    at(11, create(2, "bea", 30))
    at(3, update(1, "annie", 21, "anne", 21))  # an earlier time: it replaces the row of the change before it
    moved = update(2, "bea", 30, "bea", 30)
    moved["after"]["id"] = 5
    at(12, moved)
    for _ in range(2):
        run_job(spark, insert)
        started = [(1, "anne", 4000, None, True), (2, "bea", 11000, 12000, False), (5, "bea", 12000, None, True)]
        assert rows(spark, HISTORY) == sorted([*ended, *others, *started])
        forget_last_commit(folder / "targets" / "insert-into_default.history")
    for second, value in ((1, {"id": 1, "name": "ann"}), (2, {"id": 1, "name": "anna"}), (3, None)):
        payload = None if value is None else json.dumps(value).encode()
        topics.produce(upserts, payload, key=b'{"id":1}', timestamp=second * 1000)
    run_job(spark, "INSERT INTO history_of_upserts (id, name, __START_AT) SELECT id, name, changed FROM staff_upserts")
    history = "SELECT id, name, unix_millis(__START_AT), unix_millis(__END_AT) FROM history_of_upserts"
    assert rows(spark, history) == [(1, "ann", 1000, 2000), (1, "anna", 2000, 3000)]
    for query, message in (
        ("SELECT id, name, timestamp_millis(age) FROM staff", "not from a metadata column"),
        ("SELECT count(*), name, max(changed) FROM staff GROUP BY name", "of an aggregate"),
        ("SELECT age, name, changed FROM staff", "with another PRIMARY KEY"),
    ):
        check_error(spark, f"INSERT INTO history (id, name, valid_from) {query}", UnsupportedSqlError, message)
    for table in ("staff", "staff_upserts", "history", "history_of_upserts"):
        spark.sql(f"DROP TABLE {table}")


def check_refused(spark: SparkSession, provider: str) -> None:
    """Check that what would be wrong does not start."""
    check_error(
        spark, "INSERT INTO appended SELECT name, id FROM people", UnsupportedSqlError, "update and delete changes"
    )
    spark.sql(f"CREATE TABLE wrong_key (id INT) USING {provider} TBLPROPERTIES ('primary-key' = 'other')")
    check_error(spark, "INSERT INTO wrong_key SELECT id FROM src", StatementError, "names column 'other'")
    spark.sql("DROP TABLE wrong_key")


def declare_key(provider: str, key: str = "id") -> str:
    """Return the clause that declares the primary key; Iceberg's tables declare it by identifier fields."""
    return "" if provider == "iceberg" else f" TBLPROPERTIES ('primary-key' = '{key}')"


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
    assert run_jobs(spark, insert) == 1


def run_jobs(spark: SparkSession, statement: str) -> int:
    """Start continuous queries, let them process all records, and stop them; return how many there were."""
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    jobs = spark.sql(statement).collect()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    for (job,) in jobs:
        query = spark.streams.get(job)
        assert query is not None
        query.processAllAvailable()
        query.stop()
    return len(jobs)


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
