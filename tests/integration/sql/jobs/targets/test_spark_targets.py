"""Test streaming INSERTs into Spark tables: files and JDBC."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, SparkRuntimeException

from kafka_sql.errors import CheckpointError, StatementError, UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def src(streaming: Any, topics: Topics) -> str:
    """A Kafka table ``src`` with ids 1 to 3 in its topic; returns the topic."""
    topic = topics.create(2)
    columns = "id BIGINT, name STRING, day DATE"
    streaming(f"CREATE TABLE src ({columns}) {topics.with_options(topic)}")
    produce(topics, topic, 1, 2, 3)
    return topic


@pytest.fixture
def create_table(streaming: Any) -> Iterator[Callable[[str], Any]]:
    """Create a Spark table and return the statement's result; drop the table afterwards."""
    names = []

    def create(statement: str) -> Any:
        names.append(statement.split()[2])
        return streaming(statement)

    yield create
    for name in names:
        streaming(f"DROP TABLE IF EXISTS {name}")


def produce(topics: Topics, topic: str, *ids: int) -> None:
    for n in ids:
        topics.produce(topic, b'{"id": %d, "name": "n%d", "day": "2026-01-0%d"}' % (n, n, n % 2 + 1), partition=n % 2)


def run(spark: Any, result: Any) -> Any:
    """Let a job process all records, and stop it."""
    query = start(spark, result)
    query.processAllAvailable()
    query.stop()
    return query


def start(spark: Any, result: Any) -> Any:
    ((job,),) = result.collect()
    return spark.streams.get(job)


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a query in batch mode, and leave the session in streaming mode."""
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    result = sorted(tuple(row) for row in spark.sql(query).collect())
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    return result


def test_a_table_of_files_has_each_row_once_across_restarts(
    spark: Any, streaming: Any, create_table: Any, topics: Topics, src: str, tmp_path: Path
) -> None:
    columns = "day DATE, id INT, name VARCHAR(10), origin STRING DEFAULT 'kafka'"
    managed = f"CREATE TABLE archive ({columns}) USING parquet PARTITIONED BY (day)"
    create_table(f"{managed} LOCATION '{spark.conf.get('spark.sql.warehouse.dir')}/archive'")
    assert rows(spark, "SELECT * FROM archive") == []
    insert = "INSERT INTO archive (name, id, day) SELECT name, id, day FROM src"
    query = start(spark, streaming(insert))
    query.processAllAvailable()
    assert [job.status for job in streaming("SHOW JOBS EXTENDED").collect() if job["job id"] == query.id] == ["RUNNING"]
    produce(topics, src, 4)
    query.processAllAvailable()
    assert [row[0] for row in rows(spark, "SELECT id FROM archive")] == [1, 2, 3, 4]  # not the files of the first read
    streaming(f"STOP JOB '{query.id}'")
    produce(topics, src, 5)
    query = run(spark, streaming(insert))
    assert query.name == "insert-into_default.archive"
    expected = [(n, f"n{n}", "kafka", f"2026-01-0{n % 2 + 1}") for n in range(1, 7)]
    assert rows(spark, "SELECT id, name, origin, CAST(day AS STRING) FROM archive") == expected[:5]
    assert (tmp_path / "insert-into_default.archive" / ".kafka_sql-fingerprint.json").exists()
    streaming("DROP TABLE archive")  # as if the session, whose catalog is in memory, had ended
    with pytest.raises(SparkRuntimeException) as existing:
        streaming(managed)
    assert "remove" not in str(existing.value)
    advised = re.search(r"add (LOCATION 'file:[^']+/archive') to the CREATE TABLE", str(existing.value))
    assert advised is not None
    streaming(f"{managed} {advised[1]}")
    produce(topics, src, 6)
    run(spark, streaming(insert))
    assert rows(spark, "SELECT id, name, origin, CAST(day AS STRING) FROM archive") == expected


@pytest.mark.long
def test_columns_are_assigned_as_in_a_batch(spark: Any, streaming: Any, create_table: Any, src: str) -> None:
    create_table("CREATE TABLE lake (id INT, tag STRING, name CHAR(3)) USING orc PARTITIONED BY (tag)")
    streaming("SET 'pipeline.name' = 'by-name'")
    with pytest.raises(AnalysisException, match="TOO_MANY_DATA_COLUMNS"):
        streaming("INSERT INTO lake BY NAME SELECT 'x' AS tag, id, name, day FROM src")
    with pytest.raises(AnalysisException, match="CANNOT_SAFELY_CAST"):
        streaming("INSERT INTO lake (id, name) SELECT name, name FROM src")
    run(spark, streaming("INSERT INTO lake PARTITION (tag = 'static') BY NAME SELECT name, id FROM src"))
    assert spark.table("lake").count() == 3  # before another statement, and although INSERT has read the table
    assert rows(spark, "SELECT id, name, tag FROM lake") == [(n, f"n{n} ", "static") for n in (1, 2, 3)]


@pytest.mark.long
def test_ctes_views_parameters_and_stream_keyword(spark: Any, streaming: Any, create_table: Any, src: str) -> None:
    create_table("CREATE TABLE lake (id BIGINT) USING json")
    streaming("SET 'execution.runtime-mode' = 'batch'")
    streaming("CREATE TEMPORARY VIEW odd AS SELECT id FROM src WHERE id % 2 = 1")
    text = "WITH o AS (SELECT * FROM STREAM src) INSERT INTO lake SELECT id * :factor FROM o WHERE id > 1"
    query = start(spark, spark.sql(text, args={"factor": 10}))
    query.processAllAvailable()
    query.stop()
    assert rows(spark, "SELECT * FROM lake") == [(20,), (30,)]
    create_table("CREATE TABLE odds (id BIGINT) USING parquet")
    streaming("SET 'execution.runtime-mode' = 'streaming'")
    run(spark, streaming("INSERT INTO odds SELECT * FROM odd"))
    assert rows(spark, "SELECT * FROM odds") == [(1,), (3,)]
    spark.sql("DROP VIEW odd")


@pytest.mark.long
def test_csv_options_apply_to_a_stream(spark: Any, streaming: Any, create_table: Any, src: str) -> None:
    create_table("CREATE TABLE lake (id INT, name STRING) USING csv OPTIONS (sep = '|', header = true)")
    run(spark, streaming("INSERT INTO lake SELECT id, name FROM src"))
    assert rows(spark, "SELECT * FROM lake") == [(1, "n1"), (2, "n2"), (3, "n3")]


@pytest.mark.long
def test_a_bounded_query_ends(spark: Any, streaming: Any, create_table: Any, src: str) -> None:
    create_table("CREATE TABLE lake (id INT) USING parquet")
    bounded = "/*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */"
    query = start(spark, streaming(f"INSERT INTO lake SELECT id FROM src {bounded}"))
    assert query.awaitTermination(120)
    assert rows(spark, "SELECT * FROM lake") == [(1,), (2,), (3,)]


@pytest.mark.long
def test_windows_are_written_when_they_close(spark: Any, streaming: Any, create_table: Any, topics: Topics) -> None:
    topic = topics.create()
    streaming(
        "CREATE TABLE events (ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', id INT, WATERMARK FOR ts AS ts) "
        + topics.with_options(topic)
    )
    for second in (1, 2, 11, 30):
        topics.produce(topic, b'{"id": 1}', timestamp=second * 1000)
    create_table("CREATE TABLE lake (second BIGINT, n BIGINT) USING parquet")
    query = "SELECT unix_seconds(window.start), count(*) FROM events GROUP BY window(ts, '10 seconds')"
    run(spark, streaming(f"INSERT INTO lake {query}"))
    assert rows(spark, "SELECT * FROM lake") == [(0, 2), (10, 1)]


def test_jdbc_gets_one_append_per_micro_batch(
    spark: Any, streaming: Any, create_table: Any, src: str, tmp_path: Path
) -> None:
    url = f"jdbc:derby:{tmp_path}/db;create=true"
    spark.createDataFrame([], "id INT, name STRING").write.jdbc(url, "lake")
    create_table(f"CREATE TABLE lake USING jdbc OPTIONS (url '{url}', dbtable 'lake')")
    run(spark, streaming("INSERT INTO lake (name, id) SELECT name, id FROM src"))
    assert rows(spark, "SELECT * FROM lake") == [(1, "n1"), (2, "n2"), (3, "n3")]


def test_tables_that_a_stream_cannot_write_are_refused(
    spark: Any, streaming: Any, create_table: Any, src: str, tmp_path: Path
) -> None:
    create_table("CREATE TABLE buckets (id INT) USING parquet CLUSTERED BY (id) INTO 2 BUCKETS")
    create_table("CREATE TABLE lake (id INT, n BIGINT) USING parquet")
    streaming(f"CREATE TEMPORARY VIEW folder (id INT) USING parquet OPTIONS (path '{tmp_path}')")
    for statement, message in (
        ("INSERT INTO buckets SELECT id FROM src", r"'buckets': .*CLUSTERED BY"),
        ("INSERT OVERWRITE lake SELECT id, 1 FROM src", r"'lake': INSERT OVERWRITE is not supported in a continuous"),
        ("INSERT INTO folder SELECT id FROM src", "'folder': a stream cannot write this table"),
        (
            "INSERT INTO lake SELECT id, count(*) FROM src GROUP BY id",
            "Table sink 'default.lake' doesn't support consuming update changes",
        ),
    ):
        with pytest.raises(UnsupportedSqlError, match=message):
            streaming(statement)
    spark.sql("DROP VIEW folder")
    assert not spark.streams.active


def test_rows_that_would_be_invisible_are_refused(
    spark: Any, streaming: Any, create_table: Any, topics: Topics, src: str, tmp_path: Path
) -> None:
    create_table("CREATE TABLE lake (id INT) USING parquet")
    streaming("INSERT INTO lake VALUES (9)")
    insert = "INSERT INTO lake SELECT id FROM src"
    with pytest.raises(StatementError, match=r"'default\.lake': the table has rows of other statements"):
        streaming(insert)
    streaming("TRUNCATE TABLE lake")
    run(spark, streaming(insert))
    with pytest.raises(UnsupportedSqlError, match=r"'lake': a streaming query writes this file-based table"):
        streaming("INSERT INTO lake VALUES (9)")
    streaming("SET 'pipeline.name' = 'second'")
    with pytest.raises(StatementError, match=r"the query with checkpoint '.*/insert-into_default.lake' writes the"):
        streaming(insert)
    streaming("RESET 'pipeline.name'")
    (tmp_path / "insert-into_default.lake").rename(tmp_path / "lost")
    with pytest.raises(StatementError, match=r"its checkpoint '.*/insert-into_default.lake' is missing"):
        streaming(insert)
    (tmp_path / "lost").rename(tmp_path / "insert-into_default.lake")
    create_table(f"CREATE TABLE other (id INT) {topics.with_options(topics.create())}")
    with pytest.raises(CheckpointError, match=r"a source changed from table 'default\.src'"):
        streaming("INSERT INTO lake SELECT id FROM other")
    assert rows(spark, "SELECT * FROM lake") == [(1,), (2,), (3,)]


@pytest.mark.long
def test_a_query_that_does_not_start_leaves_the_table_to_others(
    spark: Any, streaming: Any, create_table: Any, src: str, tmp_path: Path
) -> None:
    create_table("CREATE TABLE lake (id INT) USING parquet")
    with pytest.raises(UnsupportedSqlError, match="which a join that is not INNER produces"):
        streaming("INSERT INTO lake SELECT a.id FROM src AS a LEFT JOIN src AS b ON a.id = b.id")
    streaming("INSERT INTO lake VALUES (9)")
    assert rows(spark, "SELECT * FROM lake") == [(9,)]


@pytest.mark.long
def test_explain(spark: Any, streaming: Any, create_table: Any, src: str) -> None:
    create_table("CREATE TABLE lake (id INT) USING parquet")
    plan = streaming("EXPLAIN INSERT INTO lake SELECT id FROM src").collect()[0][0]
    assert plan.startswith("== Sink ==\nINSERT INTO default.lake\n")
    assert not spark.streams.active


@pytest.mark.long
def test_create_table_as_starts_a_continuous_query(
    spark: Any, streaming: Any, create_table: Any, topics: Topics, src: str
) -> None:
    query = start(
        spark,
        create_table(
            "CREATE TABLE lake USING parquet PARTITIONED BY (odd) AS SELECT id % 2 = 1 AS odd, id, name FROM src"
        ),
    )
    query.processAllAvailable()
    produce(topics, src, 4)
    query.processAllAvailable()
    streaming(f"STOP JOB '{query.id}'")
    assert query.name == "insert-into_default.lake"
    assert rows(spark, "SELECT id, name, odd FROM lake") == [(n, f"n{n}", n % 2 == 1) for n in range(1, 5)]
    assert streaming("CREATE TABLE IF NOT EXISTS lake USING parquet AS SELECT * FROM src").columns == []
    produce(topics, src, 5)
    run(spark, streaming("INSERT INTO lake BY NAME SELECT id % 2 = 1 AS odd, id, name FROM src"))  # resumes
    assert [row[0] for row in rows(spark, "SELECT id FROM lake")] == [1, 2, 3, 4, 5]
    streaming("SET 'execution.runtime-mode' = 'batch'")
    create_table("CREATE TABLE copy USING parquet AS SELECT id FROM src")
    assert rows(spark, "SELECT * FROM copy") == [(n,) for n in range(1, 6)]
    streaming("SET 'execution.runtime-mode' = 'batch'")
    run(spark, create_table("CREATE TABLE odds SELECT id FROM STREAM src WHERE id % 2 = 1"))
    assert rows(spark, "SELECT * FROM odds") == [(1,), (3,), (5,)]


@pytest.mark.long
def test_create_table_as_that_does_not_start_leaves_no_table(
    spark: Any, streaming: Any, create_table: Any, src: str
) -> None:
    plan = streaming("EXPLAIN CREATE TABLE lake USING parquet AS SELECT id FROM src").collect()[0][0]
    assert "Stream" in plan
    for statement, error, message in (
        (
            "CREATE TABLE lake USING parquet AS SELECT id, count(*) AS n FROM src GROUP BY id",
            UnsupportedSqlError,
            "'default.lake' doesn't support consuming update changes",
        ),
        ("CREATE TABLE lake AS SELECT id, id FROM src", AnalysisException, "COLUMN_ALREADY_EXISTS"),
        ("CREATE TABLE IDENTIFIER('lake') USING parquet AS SELECT id FROM src", UnsupportedSqlError, "needs the name"),
    ):
        with pytest.raises(error, match=message):
            streaming(statement)
        assert not spark.catalog.tableExists("lake")
    run(spark, create_table("CREATE TABLE lake USING parquet AS SELECT id FROM src"))
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        streaming("CREATE TABLE lake USING parquet AS SELECT id FROM src")
    with pytest.raises(UnsupportedSqlError, match=r"'default\.lake': a continuous query cannot replace a table"):
        streaming("CREATE OR REPLACE TABLE lake USING parquet AS SELECT id FROM src")
    assert rows(spark, "SELECT * FROM lake") == [(1,), (2,), (3,)]
    streaming("DROP TABLE lake")
    with pytest.raises(StatementError, match=r"checkpoint '.*/insert-into_default\.lake' of an earlier query"):
        streaming("CREATE TABLE lake USING parquet AS SELECT id FROM src")
    assert not spark.catalog.tableExists("lake")
