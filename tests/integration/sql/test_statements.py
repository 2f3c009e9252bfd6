"""Flink's statements on real tables: LIKE, AS, ALTER, EXPLAIN, statement sets, hints, names, unsupported statements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import (
    InvalidOptionError,
    SchemaError,
    StatementError,
    TableExistsError,
    TableNotFoundError,
    TopicNotFoundError,
    UnsupportedSqlError,
)
from tests.topics import Topics

pytestmark = pytest.mark.integration


def values(topics: Topics, topic: str, expected: int) -> list[dict[str, Any]]:
    return sorted((json.loads(m.value() or b"") for m in topics.consume(topic, expected)), key=str)


def finish(spark: Any, result: Any) -> list[str]:
    """Process all available records, stop, and return the names."""
    names = []
    for (id,) in result.collect():
        query = spark.streams.get(id)
        query.processAllAvailable()
        names.append(query.name)
        query.stop()
    return names


def columns(sql: Any, table: str) -> list[str]:
    return [row.name for row in sql(f"DESCRIBE {table}").collect()]


def test_like_copies_columns_and_options(sql: Any, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    sql(f"CREATE TABLE base (a INT, b AS a + 1) {topics.with_options(one)}")
    sql(f"CREATE TABLE copy (c STRING) WITH ('topic' = '{two}') LIKE base")
    sql("CREATE TABLE plain LIKE base (EXCLUDING GENERATED)")
    sql("INSERT INTO copy VALUES (1, 'x')")
    assert sql("SELECT a, b, c FROM copy").collect() == [(1, 2, "x")]
    assert columns(sql, "plain") == ["a"]
    assert values(topics, two, 1) == [{"a": 1, "c": "x"}]
    with pytest.raises(SchemaError, match="A column named 'a' already exists in the base table"):
        sql("CREATE TABLE no (a STRING) LIKE base")
    with pytest.raises(TableNotFoundError, match="Source table 'nothing' of the LIKE clause not found"):
        sql("CREATE TABLE no WITH ('topic' = 'x') LIKE nothing")


def test_like_of_a_spark_table(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    sql("CREATE TABLE parquet_base (a INT, d DECIMAL(5, 2), s STRUCT<x: ARRAY<STRING>>) USING parquet")
    sql(f"CREATE TABLE copy {topics.with_options(topic)} LIKE parquet_base")
    described = [(r.name, r.type) for r in sql("DESCRIBE copy").collect()]
    assert described == [("a", "INT"), ("d", "DECIMAL(5, 2)"), ("s", "ROW<`x` ARRAY<STRING>>")]
    sql("CREATE TABLE parquet_copy LIKE parquet_base")
    assert sql("SHOW CREATE TABLE parquet_copy").first()[0].startswith("CREATE TABLE spark_catalog.default.parquet")


def test_create_table_as(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE created {topics.with_options(topic)} AS SELECT 1 AS a, 'x' AS b; ")
    assert values(topics, topic, 1) == [{"a": 1, "b": "x"}]
    with pytest.raises(TableExistsError):
        sql(f"CREATE TABLE created {topics.with_options(topic)} AS SELECT 2 AS a, 'x' AS b")
    sql(f"CREATE TABLE IF NOT EXISTS created {topics.with_options(topic)} AS SELECT 2 AS a, 'x' AS b")
    assert len(topics.consume(topic, 1)) == 1
    sql(f'CREATE OR REPLACE TABLE created (b, a) {topics.with_options(topic)} AS SELECT 2 AS a, "it\'s" AS b')
    assert columns(sql, "created") == ["b", "a"]
    # the records stay in the topic
    assert sql("SELECT b, a FROM created ORDER BY a").collect() == [
        ("x", 1),
        ("it's", 2),
    ]
    sql(f"REPLACE TABLE created (n AS a * 2, a BIGINT) {topics.with_options(topic)} AS SELECT 3 AS a")
    assert sql("SELECT n, a FROM created ORDER BY a").collect() == [(2, 1), (4, 2), (6, 3)]
    sql(f"CREATE OR REPLACE TABLE created (a LONG) {topics.with_options(topic)}")
    assert columns(sql, "created") == ["a"]
    with pytest.raises(TableExistsError, match="use CREATE OR REPLACE TABLE or CREATE TABLE IF NOT EXISTS"):
        sql(f"CREATE TABLE created (a INT) {topics.with_options(topic)}")


def test_a_query_that_fails_leaves_no_table(sql: Any, topics: Topics) -> None:
    options = topics.with_options(topics.create())
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sql(f"CREATE TABLE created {options} AS SELECT 1 div id AS a FROM range(1)")
    assert "created" not in [r.tableName for r in sql("SHOW TABLES").collect()]
    sql(f"CREATE TABLE created (a BIGINT) {options}")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sql(f"CREATE OR REPLACE TABLE created {options} AS SELECT 1 div id AS b FROM range(1)")
    assert columns(sql, "created") == ["a"]


def test_alter(sql: Any, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    topics.produce(one, b'{"a": 1, "s": "x"}')
    topics.produce(two, b'{"a": 2, "s": "y"}')
    sql(f"CREATE TABLE t (a INT) {topics.with_options(one)}")
    sql("ALTER TABLE t ADD (s STRING COMMENT 'text' FIRST, b AS a * 10 AFTER s)")
    assert sql("SELECT * FROM t").collect() == [("x", 10, 1)]
    sql("ALTER TABLE t MODIFY (a BIGINT FIRST)")
    assert sql("SELECT * FROM t").columns == ["a", "s", "b"]
    with pytest.raises(SchemaError, match="The column `a` is referenced by computed column `b`"):
        sql("ALTER TABLE t DROP a")
    sql("ALTER TABLE t DROP b")
    sql(f"ALTER TABLE t SET ('topic' = '{two}')")
    assert sql("SELECT * FROM t").collect() == [(2, "y")]
    sql("ALTER TABLE t RENAME s TO text")
    assert sql("SELECT a, text FROM t").collect() == [(2, None)]
    with pytest.raises(UnsupportedSqlError, match="ALTER TABLE RESET does not support changing 'connector'"):
        sql("ALTER TABLE t RESET ('connector')")
    with pytest.raises(Exception, match=r"scan\.startup\.mode"):
        sql("ALTER TABLE t SET ('scan.startup.mod' = 'x')")
    assert sql("SELECT a, text FROM t").collect() == [(2, None)]
    sql("ALTER TABLE t RENAME TO u")
    assert sql("SELECT a FROM u").collect() == [(2,)]
    sql("ALTER TABLE IF EXISTS t RENAME TO v")
    sql("INSERT INTO u VALUES (3, 'z')")
    assert values(topics, two, 2) == [{"a": 2, "s": "y"}, {"a": 3, "text": "z"}]


def test_alter_of_spark_tables_runs_in_spark(sql: Any) -> None:
    sql("CREATE TABLE p (a INT) USING parquet")
    sql("ALTER TABLE p ADD COLUMNS (b INT)")
    sql("ALTER TABLE IF EXISTS p SET TBLPROPERTIES ('x' = 'y')")
    assert sql("SELECT * FROM p").columns == ["a", "b"]


def test_explain_writes_and_starts_nothing(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    one, two = topics.create(), topics.create()
    secret = {"properties.sasl.password": "hunter2"}
    sql(f"CREATE TABLE src (a INT, b AS a + 1) {topics.with_options(one, **secret)}")
    sql(f"CREATE TABLE tgt (a INT) {topics.with_options(two, **secret)}")
    inserts = ["INSERT INTO tgt SELECT b FROM src", "EXECUTE INSERT INTO tgt SELECT 1", "INSERT INTO tgt VALUES (1)"]
    for mode in ("batch", "streaming"):
        sql(f"SET 'execution.runtime-mode' = '{mode}'")
        sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
        for head in ("", "PLAN FOR", "ESTIMATED_COST, CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "EXTENDED", "FORMATTED"):
            for statement in [*inserts, "SELECT * FROM src", f"STATEMENT SET BEGIN {inserts[0]}; {inserts[2]}; END"]:
                result = sql(f"EXPLAIN {head} {statement}")
                assert result.columns == ["plan"]
                (row,) = result.collect()
                assert "Physical Plan" in row.plan
                assert "hunter2" not in row.plan
    assert spark.streams.active == []
    topics.consume(two, 0)
    with pytest.raises(StatementError, match="EXPLAIN supports"):
        sql("EXPLAIN DROP TABLE src")


@pytest.mark.long
def test_statement_set_in_batch(sql: Any, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    sql(f"CREATE TABLE x (a INT) {topics.with_options(one)}")
    sql(f"CREATE TABLE y (a INT) {topics.with_options(two)}")
    sql("EXECUTE STATEMENT SET BEGIN INSERT INTO x VALUES (1); INSERT INTO y SELECT a + 1 FROM x; END;")
    assert (values(topics, one, 1), values(topics, two, 1)) == ([{"a": 1}], [{"a": 2}])
    with pytest.raises(StatementError, match="statement 2: only INSERT"):
        sql("BEGIN STATEMENT SET; INSERT INTO x VALUES (1); SELECT 1; END;")
    with pytest.raises(StatementError, match="without END"):
        sql("BEGIN STATEMENT SET;")
    topics.consume(one, 1)


def test_statement_set_starts_all_or_none(spark: Any, streaming: Any, topics: Topics, tmp_path: Path) -> None:
    source, one, two = topics.create(), topics.create(), topics.create()
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE x (a INT) {topics.with_options(one)}")
    streaming(f"CREATE TABLE y (a INT) {topics.with_options(two)}")
    streaming("SET 'pipeline.name' = 'both'")
    topics.produce(source, b'{"a": 1}')
    started = streaming(
        """BEGIN STATEMENT SET;
        INSERT INTO x SELECT a FROM src;
        INSERT INTO y SELECT a * 10 FROM src;
        INSERT INTO y SELECT a * 100 FROM src;
        END;"""
    )
    assert started.columns == ["job id"]
    assert finish(spark, started) == ["both/from_default.src"]  # one query, which reads once
    written = sorted(value["a"] for value in values(topics, two, 2))
    assert (values(topics, one, 1), written) == ([{"a": 1}], [10, 100])
    assert (tmp_path / "both" / "from_default.src" / "offsets").is_dir()
    copy = "INSERT INTO x SELECT a FROM src"
    with pytest.raises(StatementError, match="takes 1"):
        streaming(
            "EXECUTE STATEMENT SET BEGIN INSERT INTO x SELECT a FROM src; INSERT INTO y SELECT a, a FROM src; END"
        )
    streaming("SET 'pipeline.name' = 'late'")
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "default.y").write_text("not a folder")
    with pytest.raises(Exception, match=r"late/default\.y"):
        streaming(f"EXECUTE STATEMENT SET BEGIN {copy}; INSERT INTO y SELECT a FROM src UNION ALL TABLE src; END")
    assert spark.streams.active == []


def test_hints_in_batch(sql: Any, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    topics.produce(one, b'{"a": 1}', b'{"a": 2}')
    topics.produce(two, b'{"a": 3}')
    sql(f"CREATE TABLE t (a INT, b AS a + 1) {topics.with_options(one)}")
    latest = "/*+ OPTIONS('scan.startup.mode' = 'latest-offset') */"
    assert sql(f"SELECT b FROM t {latest}").collect() == []
    assert sql(f"SELECT x.b FROM t {latest} -- c\n AS x RIGHT JOIN t ON true ORDER BY 1").collect() == [
        (None,),
        (None,),
    ]
    other = f"/*+ OPTIONS('topic'='{two}') */"
    joined = f"SELECT x.a, t.b, default.t.a FROM t {other} JOIN t AS x ON true ORDER BY 1"
    assert sql(joined).collect() == [(1, 4, 3), (2, 4, 3)]
    earliest = "/*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */"
    different = f"SELECT t.a, x.a FROM t {other} LEFT JOIN t {latest} AS x ON true JOIN t {earliest} AS y ON true"
    assert sql(different).collect() == [(3, None), (3, None)]
    assert sql(f"TABLE t {other}").collect() == [(3, 4)]
    assert sql(f"SELECT count(*) FROM t {other} TABLESAMPLE (100 PERCENT) WHERE t.a = 3").collect() == [(1,)]
    assert sql("SELECT count(*) FROM t /* no hint */ AS y").collect() == [(2,)]
    sql(f"INSERT INTO t {other} SELECT 4")
    assert values(topics, two, 2) == [{"a": 3}, {"a": 4}]
    assert "t__" not in str([r.tableName for r in sql("SHOW TABLES").collect()])
    for query, error, message in [
        ("SELECT * FROM t /*+ OPTIONS('connector' = 'x') */", InvalidOptionError, "cannot be changed by a hint"),
        ("SELECT * FROM t /*+ OPTIONS('x' = 'y') */", Exception, "'x'"),
        (f"SELECT * FROM t AS x {other}", UnsupportedSqlError, "directly follow the name"),
        (f"SELECT {other} * FROM t", UnsupportedSqlError, "directly follow the name"),
        ("SELECT * FROM t WITH ('topic' = 'x')", UnsupportedSqlError, r"WITH \(...\) after the table name"),
        ("SELECT * FROM t /*+ OPTIONS('topic' = 'it''s */') */", Exception, "it's"),
        ("SELECT * FROM t /*+ OPTIONS('topic' 'x') */", StatementError, "expected 'key' = 'value'"),
    ]:
        with pytest.raises(error, match=message):
            sql(query).collect()


@pytest.mark.long
def test_hints_in_streaming(spark: Any, streaming: Any, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    absent = topics.with_options("absent", **{"scan.startup.mode": "latest-offset"})
    streaming(f"CREATE TABLE src (a INT, b AS a + 1) {absent}")
    streaming(f"CREATE TABLE tgt (a INT) {absent}")
    topics.produce(one, b'{"a": 1}', b'{"a": 2}')
    finish(
        spark,
        streaming(
            f"""INSERT INTO tgt /*+ OPTIONS('topic' = '{two}') */ SELECT b FROM src
            /*+ OPTIONS('topic' = '{one}',
                        'scan.startup.mode' = 'earliest-offset') */ WHERE src.a > 1"""
        ),
    )
    assert values(topics, two, 1) == [{"a": 3}]


@pytest.mark.long
def test_hints_in_views(spark: Any, streaming: Any, topics: Topics) -> None:
    sql, one, two = streaming, topics.create(), topics.create()
    sql("SET 'execution.runtime-mode' = 'batch'")
    topics.produce(one, b'{"a": 1}', b'{"a": 2}')
    sql(f"CREATE TABLE src (a INT, b AS a + 1) {topics.with_options(one, **{'scan.startup.mode': 'latest-offset'})}")
    sql(f"CREATE TABLE tgt (a INT) {topics.with_options(two)}")
    hint = "/*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */"
    sql(f"CREATE VIEW permanent AS SELECT x.a, default.src.b FROM src {hint} JOIN src {hint} AS x ON x.a = src.a")
    sql(f"CREATE OR REPLACE TEMPORARY VIEW temporary_view (c) AS SELECT b FROM src {hint} WHERE src.a > 1")
    other = hint.replace("earliest", "latest")
    counts = f"SELECT 'all' AS k, count(*) AS c FROM src {hint} UNION ALL SELECT 'new', count(*) FROM src {other}"
    sql(f"CREATE VIEW two_hints (kind, n) AS {counts}")
    try:
        assert sorted(map(tuple, sql("SELECT * FROM two_hints").collect())) == [("all", 2), ("new", 0)]
        assert sql("SELECT a FROM src").collect() == []
        assert sql("SELECT * FROM permanent ORDER BY a").collect() == [(1, 2), (2, 3)]
        assert spark.table("temporary_view").collect() == [(3,)]
        assert "__" not in str(sql("SHOW TABLES").collect() + sql("SHOW VIEWS").collect())
        assert "__" not in str(spark.catalog.listTables())
        for view in ("permanent", "temporary_view", "two_hints"):
            ((created,),) = sql(f"SHOW CREATE VIEW {view}").collect()
            assert f"`spark_catalog`.`default`.`src` {hint}" in created
            sql(f"DROP VIEW {view}")
            sql(created)
        assert sql("SELECT * FROM permanent ORDER BY a").collect() == [(1, 2), (2, 3)]
        assert sql("SELECT n FROM two_hints ORDER BY n").collect() == [(0,), (2,)]

        sql("SET 'execution.runtime-mode' = 'streaming'")
        assert finish(spark, sql("INSERT INTO tgt SELECT c FROM temporary_view")) == ["insert-into_default.tgt"]
        assert values(topics, two, 1) == [{"a": 3}]
        sql("SET 'execution.runtime-mode' = 'batch'")

        sql(f"ALTER TABLE src SET ('topic' = '{two}', 'scan.startup.mode' = 'group-offsets')")
        assert sql("SELECT * FROM temporary_view").collect() == [(4,)]
        sql("DROP TABLE src")
        with pytest.raises(Exception, match="cannot be found"):
            sql("SELECT * FROM temporary_view").collect()
        sql(f"CREATE TABLE src (a INT, b AS a * 10) {topics.with_options(two)}")
        assert sql("SELECT * FROM temporary_view").collect() == [(30,)]
        for query, error, message in [
            ("SELECT * FROM STREAM src " + hint, UnsupportedSqlError, "Remove STREAM"),
            ("SELECT * FROM src /*+ OPTIONS('x' = 'y') */", Exception, "'x'"),
            (f"SELECT * FROM src AS x {hint}", UnsupportedSqlError, "directly follow the name"),
        ]:
            with pytest.raises(error, match=message):
                sql(f"CREATE VIEW refused AS {query}")
    finally:
        sql("SET 'execution.runtime-mode' = 'batch'")
        sql("DROP VIEW IF EXISTS temporary_view")
        sql("DROP VIEW IF EXISTS permanent")
        sql("DROP VIEW IF EXISTS two_hints")


@pytest.mark.long
def test_a_stream_of_two_hints_on_one_table(spark: Any, streaming: Any, topics: Topics) -> None:
    one, two = topics.create(), topics.create()
    topics.produce(one, b'{"a": 1}', b'{"a": 2}')
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(one)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(two)}")
    offsets = "'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:1'"
    second = f"/*+ OPTIONS({offsets}) */"
    earliest = "/*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */"
    insert = f"INSERT INTO tgt SELECT a FROM src {earliest} UNION ALL SELECT a * 10 FROM src {second}"
    finish(spark, streaming(insert))
    assert sorted(row["a"] for row in values(topics, two, 3)) == [1, 2, 20]
    topics.produce(one, b'{"a": 3}')
    finish(spark, streaming(insert))
    assert sorted(row["a"] for row in values(topics, two, 5)) == [1, 2, 3, 20, 30]


def test_names_with_catalogs(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"a": 1}')
    sql(f"CREATE TABLE default_catalog.default_database.t (a INT) {topics.with_options(topic)}")
    assert sql("SELECT t.a FROM default_catalog.default_database.t").collect() == [(1,)]
    named = "default_catalog.default_database.t"
    assert sql(f"SELECT {named}.a FROM {named}").collect() == [(1,)]
    assert sql("SELECT a FROM spark_catalog.default.t").collect() == [(1,)]
    assert columns(sql, "EXTENDED spark_catalog.default.t")[:3] == ["a", "", "# Kafka table"]
    sql("ALTER TABLE default_catalog.default_database.t RENAME TO u")
    sql("DROP TABLE default_catalog.default_database.u")
    assert sql("SHOW TABLES LIKE 'u'").collect() == []


def test_flinks_statements_about_catalogs_and_views(sql: Any, topics: Topics) -> None:
    sql("USE CATALOG default_catalog")
    sql("USE default_database")
    sql("USE default_catalog.default_database")
    current = sql("SHOW CURRENT CATALOG"), sql("SHOW CURRENT DATABASE")
    assert [(c.columns, c.collect()) for c in current] == [
        (["current catalog name"], [("spark_catalog",)]),
        (["current database name"], [("default",)]),
    ]
    sql("CREATE TEMPORARY VIEW v (x COMMENT 'it''s x', `y z`) AS SELECT 1 AS a, 2 AS b")
    ((created,),) = sql("SHOW CREATE VIEW v").collect()
    assert created.startswith("CREATE TEMPORARY VIEW `v` (`x` COMMENT ")
    assert created.endswith(", `y z`) AS SELECT 1 AS a, 2 AS b")
    sql("DROP TEMPORARY VIEW v")
    sql(created)
    assert sql("SHOW CREATE VIEW v").collect() == [(created,)]
    sql("DROP TEMPORARY VIEW v")
    sql("CREATE VIEW v AS SELECT 2 AS a")
    ((created,),) = sql("SHOW CREATE VIEW default_catalog.default_database.v").collect()
    assert created.startswith("CREATE VIEW ")
    assert "SELECT 2 AS a" in created
    with pytest.raises(TableNotFoundError, match=r"Temporary view 'v' not found in this session"):
        sql("DROP TEMPORARY VIEW v")  # does not drop the permanent view
    sql("DROP TEMPORARY VIEW IF EXISTS v")
    sql("DROP VIEW v")
    sql(f"CREATE TABLE t (a INT) {topics.with_options('absent')}")
    with pytest.raises(UnsupportedSqlError, match=r"SHOW CREATE VIEW .* Use SHOW CREATE TABLE"):
        sql("SHOW CREATE VIEW t")


def test_the_local_time_zone_is_that_of_the_session(sql: Any) -> None:
    sql("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    try:
        text = "SELECT CAST(TIMESTAMP '2026-01-01 00:00:00Z' AS STRING)"
        assert sql(text).collect() == [("2026-01-01 09:00:00",)]
        sql("SET 'table.local-time-zone' = 'GMT-3'")
        assert sql(text).collect() == [("2025-12-31 21:00:00",)]
    finally:
        sql("RESET 'table.local-time-zone'")
        sql("SET spark.sql.session.timeZone = UTC")


def test_show_columns_and_full_tables(sql: Any, topics: Topics) -> None:
    sql(f"CREATE TABLE t (a INT COMMENT 'x', ab AS a + 1) {topics.with_options('absent')}")
    sql("CREATE VIEW v AS SELECT 1 AS a")
    shown = sql("SHOW COLUMNS FROM t NOT LIKE '%b'")
    assert shown.columns == ["name", "type", "null", "key", "extras", "watermark"]
    assert [tuple(r) for r in shown.collect()] == [("a", "INT", True, None, None, None)]
    types = {r.tableName: r["table type"] for r in sql("SHOW FULL TABLES").collect()}
    assert (types["t"], types["v"]) == ("TABLE", "VIEW")
    sql("DROP VIEW v")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET a = 1",
        "DELETE FROM t WHERE a = 1",
        "TRUNCATE TABLE t",
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "COMMENT ON TABLE t IS 'x'",
        "DROP VIEW t",
        "ALTER VIEW t AS SELECT 1",
        "CREATE OR REPLACE VIEW t AS SELECT 1",
        "INSERT OVERWRITE t SELECT 1",
    ],
)
def test_unsupported_statements(sql: Any, topics: Topics, statement: str) -> None:
    sql(f"CREATE TABLE t (a INT, b AS a + 1) {topics.with_options('absent')}")
    with pytest.raises(UnsupportedSqlError, match=r"Kafka table 'default\.t'|not supported for a Kafka topic"):
        sql(statement)
    assert columns(sql, "t") == ["a", "b"]


def test_temporary_views_hide_tables(sql: Any, topics: Topics, spark: Any) -> None:
    sql(f"CREATE TABLE t (a INT) {topics.with_options('absent')}")
    spark.range(1).createOrReplaceTempView("t")
    try:
        assert sql("DESCRIBE t").columns == ["col_name", "data_type", "comment"]
        sql("SET 'execution.runtime-mode' = 'streaming'")
        assert sql("SELECT * FROM t").collect() == [(0,)]
        assert sql("SELECT * FROM default.t").isStreaming
        assert sql("WITH t AS (SELECT 2 AS x) SELECT * FROM t").collect() == [(2,)]
    finally:
        spark.catalog.dropTempView("t")
    assert columns(sql, "t") == ["a"]


def test_views_are_streams_in_streaming_mode(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (a INT, b AS a + 1) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1}')
    streaming("CREATE VIEW permanent(x, y) AS SELECT src.a, b\nFROM src -- all\n")
    streaming("CREATE TEMPORARY VIEW temporary_view AS SELECT y AS z FROM permanent WHERE x > 0")
    try:
        assert finish(spark, streaming("INSERT INTO tgt SELECT temporary_view.z FROM temporary_view")) == [
            "insert-into_default.tgt"
        ]
        assert values(topics, target, 1) == [{"a": 2}]
        streaming("SET 'execution.runtime-mode' = 'batch'")
        streaming("SELECT a FROM src").createOrReplaceTempView("opaque")
        streaming("SET 'execution.runtime-mode' = 'streaming'")
        with pytest.raises(UnsupportedSqlError, match="a view of a DataFrame"):
            streaming("INSERT INTO tgt SELECT a FROM opaque")
    finally:
        streaming("DROP VIEW IF EXISTS temporary_view")
        streaming("DROP VIEW IF EXISTS permanent")
        spark.catalog.dropTempView("opaque")
    topics.consume(target, 1)


@pytest.mark.long
def test_every_form_of_reference_is_a_stream(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(
        f"""CREATE TABLE src (a INT, b AS a + 1, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
        WATERMARK FOR ts AS ts) {topics.with_options(source)}"""
    )
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1}')
    for query in [
        "SELECT default.src.b FROM src",
        "SELECT src.b FROM default.src WHERE spark_catalog.default.src.a = 1",
        "SELECT b FROM src TABLESAMPLE (100 PERCENT) AS x",
        "SELECT src.b FROM src TABLESAMPLE (100 PERCENT) WHERE src.a = 1",
        "SELECT b FROM (TABLE src)",
        "WITH q AS (TABLE src) SELECT b FROM q",
    ]:
        assert streaming(query).isStreaming, query
    assert streaming("TABLE src").isStreaming
    finish(spark, streaming("WITH q AS (SELECT b FROM src) INSERT INTO tgt SELECT b FROM q"))
    assert values(topics, target, 1) == [{"a": 2}]


def test_insert_into_other_tables_in_streaming_mode(streaming: Any, topics: Topics) -> None:
    streaming(f"CREATE TABLE src (a INT) {topics.with_options('absent')}")
    streaming("CREATE TABLE p (a INT) USING parquet")
    with pytest.raises(TopicNotFoundError, match="'absent' does not exist"):  # it would be a continuous query
        streaming("INSERT INTO p SELECT a FROM src")
    streaming("INSERT INTO p VALUES (1)")
    assert streaming("SELECT * FROM p").collect() == [(1,)]
