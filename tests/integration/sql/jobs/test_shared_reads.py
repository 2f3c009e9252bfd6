"""Test statement sets whose INSERTs share the read of a Kafka table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import CheckpointError
from kafka_sql.sql.jobs.registry import records_counted
from tests.lakehouse_targets import forget_last_commit
from tests.topics import Topics

pytestmark = pytest.mark.integration

ROWS = 20


@pytest.fixture
def lake(streaming: Any, topics: Topics) -> Iterator[str]:
    """Kafka tables ``src``, ``out`` and tables of files ``lake``, ``day``; returns the topic of ``src``."""
    source = topics.create(2)
    columns = "id BIGINT, tags ARRAY<STRING>, unused STRING"
    metadata = "doubled AS id * 2, part INT METADATA FROM 'partition' VIRTUAL, ts TIMESTAMP_LTZ(3) METADATA FROM "
    watermark = "'timestamp', WATERMARK FOR ts AS ts"
    streaming(f"CREATE TABLE src ({columns}, {metadata}{watermark}) {topics.with_options(source)}")
    streaming(f"CREATE TABLE out (id INT, tag STRING) {topics.with_options(topics.create())}")
    streaming("CREATE TABLE lake (id INT, doubled BIGINT) USING parquet")
    streaming("CREATE TABLE tagged (tag STRING, id BIGINT, part INT) USING json PARTITIONED BY (part)")
    yield source
    for table in ("lake", "tagged"):
        streaming(f"DROP TABLE {table}")


def produce(topics: Topics, topic: str, start: int) -> None:
    for n in range(start, start + ROWS):
        topics.produce(topic, b'{"id": %d, "tags": ["a", "b"], "unused": "x"}' % n, partition=n % 2)


SET = """EXECUTE STATEMENT SET BEGIN
INSERT INTO lake SELECT id, doubled FROM src WHERE id % 4 = 0;
INSERT INTO tagged SELECT tag, id, part FROM (SELECT explode(tags) AS tag, id, part FROM src);
INSERT INTO out (id) SELECT count(*) FROM src GROUP BY window(ts, '1 second');
INSERT INTO out SELECT id, 'odd' FROM src AS s WHERE s.part = 1;
END"""


def run(spark: Any, jobs: Any) -> list[tuple[str, int]]:
    """Let jobs process all records, and stop them; return their names and how many records they have read."""
    queries = [spark.streams.get(row[0]) for row in jobs.collect()]
    before = [records_counted(spark, query.id) for query in queries]
    for query in queries:
        query.processAllAvailable()
        query.stop()
    return [(q.name, records_counted(spark, q.id) - n) for q, n in zip(queries, before, strict=True)]


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    result = sorted(tuple(row) for row in spark.sql(query).collect())
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    return result


def test_inserts_over_one_table_read_it_once(
    spark: Any, streaming: Any, topics: Topics, lake: str, tmp_path: Path
) -> None:
    for start in (0, ROWS):
        produce(topics, lake, start)
        read = run(spark, streaming(SET))
        # three INSERTs share the first query; that of the window keeps rows, so it is a separate query
        assert [name for name, _ in read] == ["insert-from_default.src", "insert-into_default.out"]
        assert read[0][1] == ROWS
    forget_last_commit(tmp_path / "insert-from_default.src")
    run(spark, streaming(SET))  # repeats a micro-batch
    ids = range(2 * ROWS)
    assert rows(spark, "SELECT * FROM lake") == [(n, 2 * n) for n in ids if n % 4 == 0]
    expected = sorted((tag, n, n % 2) for n in ids for tag in "ab")
    assert rows(spark, "SELECT tag, id, part FROM tagged") == expected
    odd = rows(spark, "SELECT DISTINCT id, tag FROM out WHERE tag IS NOT NULL")  # at least once
    assert odd == [(n, "odd") for n in ids if n % 2]


@pytest.mark.long
def test_a_set_that_changes_does_not_start(spark: Any, streaming: Any, topics: Topics, lake: str) -> None:
    produce(topics, lake, 0)
    run(spark, streaming(SET))
    for old, new, message in (
        ("INSERT INTO tagged", "INSERT INTO out SELECT id, 'x' FROM src; INSERT INTO tagged", "cannot resume"),
        (
            "SELECT id, doubled FROM src WHERE id % 4 = 0",
            "SELECT id, max(doubled) FROM src GROUP BY id, window(ts, '1 day')",
            "separate query",
        ),
        ("INSERT INTO lake SELECT id, doubled FROM src WHERE id % 4 = 0;", "", "the sink changed from tables"),
    ):
        with pytest.raises(CheckpointError, match=message):
            streaming(SET.replace(old, new))
    assert not spark.streams.active


@pytest.mark.long
def test_checkpoints_of_earlier_versions_are_resumed(spark: Any, streaming: Any, topics: Topics, lake: str) -> None:
    produce(topics, lake, 0)
    inserts = ["INSERT INTO lake SELECT id, 1 FROM src", "INSERT INTO out SELECT id, 'a' FROM src"]
    assert [run(spark, streaming(insert)) for insert in inserts] == [
        [("insert-into_default.lake", ROWS)],
        [("insert-into_default.out", ROWS)],
    ]
    produce(topics, lake, ROWS)
    read = run(spark, streaming(f"EXECUTE STATEMENT SET BEGIN {inserts[0]}; {inserts[1]}; END"))
    assert read == [("insert-into_default.lake", ROWS), ("insert-into_default.out", ROWS)]
    assert [row[0] for row in rows(spark, "SELECT id FROM lake")] == list(range(2 * ROWS))
