"""Tables across sessions: catalog folders, sessions of one application, names left by ended applications."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.source_catalog import add_source_catalog
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import CatalogFolderError, StatementError, TableExistsError, UnsupportedSqlError
from kafka_sql.sql.session import enable as session
from tests.topics import Topics

pytestmark = pytest.mark.integration


def tables_of(spark: SparkSession) -> Tables:
    """Return the session's tables."""
    tables = session.session_tables(spark)
    assert tables is not None
    return tables


def run(code: str, *arguments: str) -> str:
    """Run a program in a separate process and return its output."""
    prelude = "\n".join(
        (
            "import sys, kafka_sql",
            "from pyspark.sql import SparkSession",
            "builder = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')",
            "builder = builder.config('spark.sql.warehouse.dir', sys.argv[2])",
            "builder = builder.config('spark.kafka_sql.catalog', sys.argv[1])",
            "spark = kafka_sql.enable(builder.getOrCreate())",
        )
    )
    completed = subprocess.run(
        [sys.executable, "-c", f"{prelude}\n{code}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.mark.long
def test_another_session_of_the_application_has_the_tables(sql: Any, spark: SparkSession, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE shared (a INT, b AS a + 1) {topics.with_options(topic)}")
    sql("INSERT INTO shared VALUES (1)")
    new = spark.newSession()
    assert "kafka_sql" not in repr(new.sql)
    other = kafka_sql.enable(new)
    assert other.sql("SELECT * FROM shared").collect() == [(1, 2)]
    with pytest.raises(TableExistsError, match=r"default\.shared"):
        other.sql(f"CREATE TABLE shared (a INT) {topics.with_options(topic)}")
    other.sql(f"CREATE TEMPORARY TABLE mine (a INT) {topics.with_options(topic)}")
    sql(f"CREATE TEMPORARY TABLE mine (b INT, a INT) {topics.with_options(topic)}")
    assert (other.table("mine").columns, spark.table("mine").columns) == (["a"], ["b", "a"])
    other.sql(f"CREATE TABLE later (a INT) {topics.with_options(topic)}")
    assert sql("SELECT * FROM later").collect() == [(1,)]
    other.sql("DROP TABLE mine")
    other.sql("DROP TABLE shared")
    assert {"later", "mine"} <= {row.tableName for row in sql("SHOW TABLES").collect()}
    assert "shared" not in {row.tableName for row in sql("SHOW TABLES").collect()}


def test_a_continuous_query_may_start_on_any_thread(sql: Any, topics: Topics, tmp_path: Path) -> None:
    sql(f"CREATE TABLE src (a INT) {topics.with_options(topics.create())}")
    sql(f"CREATE TABLE dst (a INT) {topics.with_options(topics.create())}")
    sql("INSERT INTO src VALUES (1)")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sql, "INSERT INTO dst SELECT a FROM src").result()
    (query,) = SparkSession.active().streams.active
    query.processAllAvailable()
    query.stop()
    sql("SET 'execution.runtime-mode' = 'batch'")
    assert sql("SELECT a FROM dst").collect() == [(1,)]


@pytest.mark.long
def test_a_name_left_by_an_ended_application_is_reused(sql: Any, spark: SparkSession, topics: Topics) -> None:
    topic = topics.create()
    # as in a persistent metastore: the names remain, the declarations are lost
    with EndedApplication(spark):
        sql(f"CREATE TABLE left_table (a INT) {topics.with_options(topic)}")
        sql(f"CREATE TABLE left_view (a INT, b AS a + 1) {topics.with_options(topic)}")
        sql(f"CREATE TABLE left_again (a INT, b AS a + 1) {topics.with_options(topic)}")
    sql(f"CREATE TABLE IF NOT EXISTS left_again (a INT, b AS a + 5) {topics.with_options(topic)}")
    sql(f"CREATE TABLE left_table (a INT, b AS a + 2) {topics.with_options(topic)}")
    sql(f"CREATE TABLE left_view (a INT) {topics.with_options(topic)}")
    sql("INSERT INTO left_view VALUES (1)")
    assert sql("SELECT * FROM left_table").collect() == [(1, 3)]
    assert sql("SELECT * FROM left_again").collect() == [(1, 6)]
    sql("DROP TABLE left_again")
    sql("DROP TABLE left_table")
    sql("DROP TABLE left_view")


class EndedApplication:
    """Tables declared in the block stay in Spark's catalog as those of an ended application."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark_catalog, self._permanent = tables_of(spark)._spark_catalog, tables_of(spark)._permanent

    def __enter__(self) -> None:
        self._before = dict(self._permanent.tables), set(self._permanent.storage_names)
        self._application_id = self._spark_catalog.application_id
        self._spark_catalog.application_id = lambda: "app-ended"  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        self._permanent.tables, self._permanent.storage_names = self._before
        self._spark_catalog.application_id = self._application_id  # type: ignore[method-assign]


def test_the_next_application_has_the_tables_of_the_folder(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    topic, folder = topics.create(), tmp_path / "tables"
    options = topics.with_options(topic).replace("WITH (", "WITH ('properties.sasl.password' = 'hunter2', ")
    kafka_sql.enable(spark, catalog=folder)
    try:
        for statement in (
            f"CREATE TABLE orders (a INT COMMENT 'it''s', b AS a + 1) COMMENT 'first' {options}",
            "CREATE DATABASE shop",
            f"CREATE TABLE shop.Mixed_2 (a INT) {options}",
            f"CREATE TABLE gone (a INT) {options}",
            "DROP TABLE gone",
            f"CREATE TEMPORARY TABLE not_persisted (a INT) {options}",
            "INSERT INTO orders VALUES (41)",
        ):
            spark.sql(statement)
    finally:
        tables_of(spark)._permanent.store = None  # this application drops its tables, and the folder keeps them
        for kind in ("TABLE IF EXISTS orders", "TABLE IF EXISTS shop.Mixed_2", "DATABASE IF EXISTS shop"):
            spark.sql(f"DROP {kind}")
        spark.sql("DROP TEMPORARY TABLE IF EXISTS not_persisted")
    files = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    assert files == ["default.orders.sql", "shop.mixed_2.sql"]
    assert {p.stat().st_mode & 0o777 for p in folder.iterdir()} == {0o600}
    assert "CREATE TABLE `default`.`orders` (\n  `a` INT COMMENT 'it''s'," in (folder / files[0]).read_text()
    second = run(
        "print(spark.table('orders').collect(), spark.table('shop.Mixed_2').collect())\n"
        "spark.sql('INSERT INTO orders VALUES (42)')\n"
        "print(spark.sql('SELECT * FROM orders ORDER BY a').collect())\n"
        "print(spark.sql('SHOW CREATE TABLE orders').first()[0])",
        str(folder),
        str(tmp_path / "warehouse"),
    )
    assert "[Row(a=41, b=42)] [Row(a=41)]\n[Row(a=41, b=42), Row(a=42, b=43)]\n" in second
    assert "hunter2" not in second
    assert "'properties.sasl.password' = '******'" in second


def test_names_that_spark_does_not_allow(sql: Any, spark: SparkSession, topics: Topics) -> None:
    topic = topics.create()
    with pytest.raises(
        StatementError, match=r"CREATE TABLE default\.ä\.name: invalid name .ä\.name.: Spark allows only letters a to z"
    ):
        sql(f"CREATE TABLE `ä.name` (a INT) {topics.with_options(topic)}")
    sql(f"CREATE TEMPORARY TABLE `my-ä.name` (a INT, b AS a + 1) {topics.with_options(topic)}")
    sql("INSERT INTO `my-ä.name` VALUES (1)")
    sql("ALTER TABLE `my-ä.name` ADD c AS a + 2")
    assert sql("SELECT `my-ä.name`.* FROM `my-ä.name`").collect() == [(1, 2, 3)]
    latest = "/*+ OPTIONS('scan.startup.mode' = 'latest-offset') */"
    assert sql(f"SELECT a FROM `my-ä.name` {latest}").collect() == []
    for stream in (spark.readStream.table("`my-ä.name`"), sql("SELECT a, b, c FROM STREAM `my-ä.name`")):
        assert (stream.isStreaming, stream.columns) == (True, ["a", "b", "c"])
    assert [row.isTemporary for row in sql("SHOW TABLES").collect() if row.tableName == "my-ä.name"] == [True]
    assert sql("SHOW CREATE TABLE `my-ä.name`").first()[0].startswith("CREATE TEMPORARY TABLE `my-ä.name` (")
    assert [row.name for row in sql("DESCRIBE `my-ä.name`").collect()] == ["a", "b", "c"]
    sql("DROP TEMPORARY TABLE `my-ä.name`")
    assert "my-ä.name" not in {row.tableName for row in sql("SHOW TABLES").collect()}


def test_applications_of_one_folder_see_each_others_tables(
    spark: SparkSession, topics: Topics, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    permanent = tables_of(spark)._permanent
    before = dict(permanent.tables)
    topic = topics.create()
    kafka_sql.enable(spark, catalog=tmp_path)
    try:
        statement = f"CREATE TABLE `default`.`theirs` (a INT) {topics.with_options(topic)}"
        other = FileCatalogStore(tmp_path)
        with other.lock():
            other.write(("default", "theirs"), statement)
        spark.sql("INSERT INTO theirs VALUES (1)")
        with other.lock():
            other.write(("default", "theirs"), statement.replace("a INT", "a INT, b AS a + 1"))
        assert spark.sql("SELECT * FROM theirs").collect() == [(1, 2)]
        with other.lock():
            other.write(("default", "broken"), "CREATE TABLE broken (a INT) WITH ('connector' = 'kafka'")
        with caplog.at_level(logging.WARNING, "kafka_sql"):
            spark.sql("SELECT * FROM theirs").collect()
        assert [r.getMessage().split(": ")[:2] for r in caplog.records] == [
            [f"Catalog folder '{tmp_path}'", "table default.broken is skipped"]
        ]
        with other.lock():
            other.remove(("default", "theirs"))
        assert "theirs" not in {row.tableName for row in spark.sql("SHOW TABLES").collect()}
    finally:
        for entry in list(permanent):
            if entry.name not in before:
                spark.sql(f"DROP TABLE {entry.definition.name}")
        permanent.store = None


def test_a_user_table_that_replaced_a_kafka_table_is_not_dropped(sql: Any, spark: SparkSession, topics: Topics) -> None:
    other = spark.newSession()
    for columns in ("a INT", "a INT, b AS a + 1"):
        sql(f"CREATE TABLE taken ({columns}) {topics.with_options('x')}")
        entry = tables_of(spark).find(("taken",))
        assert entry is not None
        tables_of(spark).spark_sql(f"DROP {'VIEW' if entry.is_view else 'TABLE'} taken")
        other.sql("CREATE TABLE taken (mine INT) USING parquet")
        other.sql("INSERT INTO taken VALUES (4711)")
        sql("DROP TABLE taken")
        assert other.sql("SELECT mine FROM taken").collect() == [(4711,)]
        other.sql("DROP TABLE taken")


def test_tables_are_in_spark_catalog(sql: Any, spark: SparkSession, topics: Topics) -> None:
    sql(f"CREATE TABLE mine (a INT) {topics.with_options('x')}")
    tables = tables_of(spark)
    spark_catalog = tables._spark_catalog
    current_catalog = spark_catalog.current_catalog
    # Spark comes without a second catalog
    spark_catalog.current_catalog = lambda: "another"  # type: ignore[method-assign]
    try:
        assert tables.find(("mine",)) is None
        assert tables.find(("default", "mine")) is None
        assert tables.find(("spark_catalog", "default", "mine")) is not None
        with pytest.raises(StatementError, match=r"the current catalog is 'another'"):
            sql(f"CREATE TABLE other (a INT) {topics.with_options('x')}")
    finally:
        spark_catalog.current_catalog = current_catalog  # type: ignore[method-assign]


def test_the_catalog_of_functions_does_not_hide_a_database(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.unset("spark.sql.catalog.kafka_sql")
    other.sql("CREATE DATABASE kafka_sql")
    try:
        with pytest.raises(UnsupportedSqlError, match="would hide the database kafka_sql"):
            add_source_catalog(other, other.sql)
    finally:
        other.sql("DROP DATABASE kafka_sql")


def test_hints_of_two_threads_keep_their_options(sql: Any, topics: Topics) -> None:
    first, second = topics.create(), topics.create()
    sql(f"CREATE TABLE t (a INT) {topics.with_options(first)}")
    sql("INSERT INTO t VALUES (1)")
    sql(f"INSERT INTO t /*+ OPTIONS('topic' = '{second}') */ VALUES (2)")

    def read(topic: str) -> list[Any]:
        return list(sql(f"SELECT a FROM t /*+ OPTIONS('topic' = '{topic}') */").collect())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, [first, second] * 2)) == [[(1,)], [(2,)]] * 2


def test_a_folder_that_others_can_write_is_rejected(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    with pytest.raises(CatalogFolderError, match=r"is writable by other users.*chmod 700"):
        FileCatalogStore(tmp_path)


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogFolderError, match=r"file/tables' cannot be used: Not a directory"):
        FileCatalogStore(tmp_path / "file" / "tables")


def test_writers_take_turns_and_remove_leftover_files(tmp_path: Path) -> None:
    reader = FileCatalogStore(tmp_path)
    (tmp_path / ".123.tmp").write_text("half a stat")

    def write(n: int) -> None:
        store = FileCatalogStore(tmp_path)
        for i in range(20):
            with store.lock():
                store.write(("default", "t"), f"{n} " * 10_000)
                assert set(store.read()["default", "t"].split()) == {str(n)}
                store.write(("default", f"t{n}_{i}"), "x")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write, range(4))) == [None] * 4
    assert len(reader.read()) == 81
    assert not list(tmp_path.glob(".*.tmp"))
