"""Test which statements are recognized, and which are left to Spark."""

import time

import pytest

from kafka_sql.sql.recognize.classify import classify, is_query
from kafka_sql.sql.recognize.statement_types import (
    AlterTable,
    CreateTable,
    CreateView,
    Describe,
    DropDatabase,
    DropTable,
    DropTemporaryView,
    Execute,
    Explain,
    FlinkStatement,
    ResetOption,
    SetOption,
    ShowColumns,
    ShowCreate,
    ShowCreateView,
    ShowCurrent,
    ShowJobs,
    ShowTables,
    ShowViews,
    Statement,
    StatementSet,
    StopJob,
    UnsupportedStatement,
    UseCatalog,
    UseDatabase,
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka')", CreateTable()),
        ("create temporary table if not exists db.`t` (a int) comment 'x' with ('a' = 'b');", CreateTable()),
        ("/* dbt */ -- node\n\n  CREATE TABLE t (a INT COMMENT 'USING AS') WITH('a'='b') ", CreateTable()),
        ("// Flink's other comment syntax\nCREATE TABLE t (a INT) WITH ('a' = 'b')", CreateTable()),
        ("CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('a' = 'b')", CreateTable()),
        ("CREATE TABLE t (a INT) WITH ('a' = 'b') AS SELECT 1", CreateTable()),
        ("CREATE OR REPLACE TABLE t WITH ('a' = 'b') AS SELECT 1", CreateTable()),
        ("CREATE TABLE t (a INT WITH ('a' = 'b')", CreateTable()),  # missing parenthesis: must fail with our error
        ("CREATE TABLE t (a INT) WITH (", CreateTable()),
        ("CREATE TABLE row (a INT) WITH ('a' = 'b')", CreateTable()),
        ("DROP TABLE t", DropTable(("t",))),
        ("drop temporary table if exists db.`a.b` ;", DropTable(("db", "a.b"), True, True)),
        ("DROP TEMPORARY VIEW IF EXISTS v;", DropTemporaryView(("v",), True)),
        ("SHOW CREATE VIEW d.v", ShowCreateView(("d", "v"))),
        ("SHOW CURRENT CATALOG", ShowCurrent(True)),
        ("show current database;", ShowCurrent(False)),
        ("USE CATALOG c", UseCatalog("c")),
        ("USE `default_catalog`.d", UseDatabase(("default_catalog", "d"))),
        ("USE default_database", UseDatabase(("default_database",))),
        ("DESCRIBE t", Describe(("t",))),
        ("DESC TABLE db.t;", Describe(("db", "t"))),
        ("DESC extended", Describe(("extended",))),
        ("SHOW TABLES", ShowTables()),
        ("SHOW TABLES FROM db LIKE 'o''%'", ShowTables(("db",), "o'%")),
        ("show tables in c.db not like 'x' ;", ShowTables(("c", "db"), "x", True)),
        ("SHOW CREATE TABLE db.t", ShowCreate(("db", "t"))),
        ("SET 'execution.runtime-mode' = 'streaming';", SetOption("execution.runtime-mode", "streaming")),
        (r"SET 'a' = 'it''s \d'", SetOption("a", r"it's \d")),
        (r"SET U&'\0061' = u&'#00e9##' UESCAPE '#'", SetOption("a", "é#")),
        ("RESET 'a'", ResetOption("a")),
        ("RESET;", ResetOption()),
        ("CREATE TABLE t LIKE d.s", CreateTable(("d", "s"))),
        ("CREATE TABLE t (a INT) LIKE s (EXCLUDING ALL)", CreateTable(("s",))),
        ("CREATE TABLE t LIKE s WITH ('a' = 'b')", CreateTable()),
        ("REPLACE TABLE t WITH ('a' = 'b') AS SELECT 1", CreateTable()),
        ("DROP TABLE t PURGE", DropTable(("t",))),
        ("DROP VIEW IF EXISTS d.v", UnsupportedStatement("DROP VIEW", ("d", "v"))),
        ("ALTER VIEW v AS SELECT 1", UnsupportedStatement("ALTER VIEW", ("v",))),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", CreateView(("v",), temporary=True)),
        ("CREATE TEMP VIEW v AS SELECT 1", CreateView(("v",), temporary=True)),
        ("CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1", CreateView(("v",), temporary=True, keeps_tables=True)),
        ("CREATE VIEW IF NOT EXISTS v AS SELECT 1", CreateView(("v",), keeps_tables=True)),
        ("CREATE OR REPLACE VIEW d.v AS SELECT 1", CreateView(("d", "v"))),
        ("CREATE TABLE t (a INT) WITH (connector = 'kafka')", CreateTable()),
        ("CREATE TABLE t (a INT WITH (connector = 'kafka')", CreateTable()),
        ("CREATE TABLE t (a INT) WITH 'connector' = 'kafka'", CreateTable()),
        ("CREATE TABLE t (a INT) WHIT ('connector' = 'kafka')", CreateTable()),
        ("CREATE TABLE t WHIT 'connector' = 'kafka'", CreateTable()),
        ("DROP DATABASE d CASCADE", DropDatabase(("d",))),
        ("drop schema if exists c.d cascade;", DropDatabase(("c", "d"))),
        ("UPDATE d.t SET a = 1", UnsupportedStatement("UPDATE", ("d", "t"))),
        ("DELETE FROM t", UnsupportedStatement("DELETE FROM", ("t",))),
        ("MERGE INTO t USING s ON t.a = s.a", UnsupportedStatement("MERGE INTO", ("t",))),
        ("TRUNCATE TABLE t", UnsupportedStatement("TRUNCATE TABLE", ("t",))),
        ("ANALYZE TABLE t COMPUTE STATISTICS", UnsupportedStatement("ANALYZE TABLE", ("t",))),
        ("COMMENT ON TABLE t IS 'x'", UnsupportedStatement("COMMENT ON TABLE", ("t",))),
        ("ALTER TABLE d.t RENAME TO u", AlterTable(("d", "t"))),
        ("alter table if exists t set ('a' = 'b')", AlterTable(("t",), True)),
        ("DESCRIBE EXTENDED d.t", Describe(("d", "t"), extended=True)),
        ("DESC EXTENDED t;", Describe(("t",), extended=True)),
        ("DESCRIBE FORMATTED t", Describe(("t",), extended=True)),
        ("DESC formatted", Describe(("formatted",))),
        ("SHOW VIEWS IN d LIKE 'x*'", ShowViews()),
        ("SHOW FULL TABLES IN d LIKE 'o%'", ShowTables(("d",), "o%", full=True)),
        ("SHOW COLUMNS FROM d.t", ShowColumns(("d", "t"))),
        ("SHOW COLUMNS IN t NOT LIKE 'a_'", ShowColumns(("t",), "a_", True)),
        ("EXPLAIN SELECT 1", Explain("", "SELECT 1", True)),
        ("EXPLAIN EXTENDED INSERT INTO t SELECT 1", Explain("EXTENDED", "INSERT INTO t SELECT 1", True)),
        ("EXPLAIN PLAN FOR\nSELECT 1", Explain("", "SELECT 1", False)),
        ("EXPLAIN ESTIMATED_COST, CHANGELOG_MODE SELECT 1", Explain("COST", "SELECT 1", False)),
        ("EXPLAIN JSON_EXECUTION_PLAN SELECT 1", Explain("EXTENDED", "SELECT 1", False)),
        ("EXECUTE INSERT INTO t SELECT 1", Execute("INSERT INTO t SELECT 1")),
        ("EXECUTE SELECT 1", Execute("SELECT 1")),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT ';'; -- c ;\n INSERT INTO b SELECT 2 ; END;",
            StatementSet(("INSERT INTO a SELECT ';'", "-- c ;\n INSERT INTO b SELECT 2")),
        ),
        (
            "BEGIN STATEMENT SET; INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM y; END",
            StatementSet(("INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM y",)),
        ),
        ("STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", StatementSet(("INSERT INTO a SELECT 1",))),
        ("BEGIN STATEMENT SET;", StatementSet((), has_end=False)),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", StatementSet(("INSERT INTO a SELECT 1",), False)),
        ("EXECUTE STATEMENT SET BEGIN END", StatementSet(())),
    ],
)
def test_classified_statements(sql: str, expected: Statement) -> None:
    assert classify(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "-- nothing",
        "/* not closed",
        "SELECT 1",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "CREATE TABLE t (a INT) USING parquet",
        "CREATE TABLE t (a INT) USING parquet OPTIONS ('a' = 'b')",
        "CREATE TABLE t (a INT COMMENT 'it\\'s') USING parquet",
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t AS SELECT 1",
        "CREATE TABLE t USING csv AS WITH (SELECT 1) SELECT 1",
        "CREATE TABLE with (a INT)",
        'CREATE TABLE x (a INT COMMENT "amount with (+/-)") USING parquet',
        'CREATE TABLE x (a INT COMMENT "it\'s with (+)") USING parquet',
        'CREATE TABLE x (a INT COMMENT "it\'s with (+)")',
        "CREATE TABLE x (a INT COMMENT 'it\\'s with (+)') USING parquet",
        "CREATE TABLE x (a INT COMMENT 'it\\'s with (+)')",
        "CREATE TABLE x (a INT COMMENT 'x') TBLPROPERTIES ('a' = 'b')",
        "CREATE TABLE x (a BOOLEAN DEFAULT ('x' = 'y'), b BOOLEAN DEFAULT 'x' = 'y')",
        "DROP DATABASE d",
        "DROP SCHEMA IF EXISTS d RESTRICT",
        "CREATE",
        "CREATE TABLE t LIKE s USING parquet",
        "REPLACE TABLE t USING parquet AS SELECT 1",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "EXECUTE",
        "BEGIN SELECT 1; END",
        "BEGIN",
        "EXPLAIN",
        "WITH q AS (SELECT 'INSERT INTO x') SELECT * FROM q",
        "ALTER DATABASE d SET DBPROPERTIES ('a' = 'b')",
        "SHOW COLUMNS FROM t FROM d",
        "UPDATE",
        "DELETE t",
        "DROP TABLE IF EXISTS",
        "DROP TABLE a.",
        "DESCRIBE FUNCTION f",
        "DESCRIBE DATABASE d",
        "DESCRIBE t col",
        "DESCRIBE t PARTITION (a = 1)",
        "DESCRIBE SELECT 1",
        "DESC TABLE",
        "SHOW TABLES 'x*'",
        "SHOW TABLES FROM",
        "SHOW TABLES NOT",
        "SHOW TABLE EXTENDED LIKE 'x'",
        "SHOW DATABASES",
        "SHOW CREATE TABLE t AS SERDE",
        "SET",
        "SET -v",
        "SET a = b",
        "SET a.b.c=1",
        "SET 'a'",
        "SET 'a' = b",
        "SET 'a' = 'b' 'c'",
        "SET VAR x = 1",
        "RESET a.b",
        "RESET 'a' 'b'",
    ],
)
def test_spark_statements_are_not_classified(sql: str) -> None:
    assert classify(sql) is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("EXPLAIN SELECT 1", Explain("", "SELECT 1", True)),
        ("EXPLAIN COST SELECT 1", Explain("COST", "SELECT 1", True)),
        ("EXPLAIN PLAN FOR SELECT 1", Explain("", "SELECT 1", False)),
        ("EXPLAIN ESTIMATED_COST, CHANGELOG_MODE SELECT 1", Explain("COST", "SELECT 1", False)),
        ("EXPLAIN PLAN_ADVICE, ESTIMATED_COST SELECT 1", Explain("EXTENDED", "SELECT 1", False)),
        ("EXPLAIN ESTIMATED_COST, OTHER SELECT 1", None),
        ("EXPLAIN", None),
        ("EXECUTE INSERT INTO t SELECT 1", Execute("INSERT INTO t SELECT 1")),
        ("EXECUTE IMMEDIATE 'SELECT 1'", None),
        ("EXECUTE EXECUTE SELECT 1", None),
        ("EXECUTE", None),
        ("EXECUTE STATEMENT SET BEGIN a; b c;; END;", StatementSet(("a", "b c"))),
        ("EXECUTE STATEMENT SET BEGIN a; END", StatementSet(("a",))),
        ("EXECUTE STATEMENT SET BEGIN END;", StatementSet(())),
        ("EXECUTE STATEMENT SET a; END", None),
        ("EXECUTE STATEMENT SET BEGIN a; b", StatementSet(("a", "b"), has_end=False)),
        ("EXECUTE STATEMENT SET BEGIN a; END; b", None),
        ("BEGIN STATEMENT SET; a; END;", StatementSet(("a",))),
        ("BEGIN STATEMENT SET", StatementSet((), has_end=False)),
        ("BEGIN STATEMENT SET a; END", None),
        ("BEGIN SELECT 1; END", None),
    ],
)
def test_explain_execute_and_statement_sets(sql: str, expected: Statement | None) -> None:
    assert classify(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SHOW JOBS", ShowJobs()),
        ("show jobs extended", ShowJobs(extended=True)),
        ("-- all\nshow jobs ;", ShowJobs()),
        ("STOP JOB 'a''b'", StopJob("a'b")),
        ("stop job 'a' with savepoint;", StopJob("a", savepoint=True)),
        ("STOP JOB 'a' WITH DRAIN", StopJob("a", drain=True)),
        ("STOP JOB 'a' WITH SAVEPOINT WITH DRAIN", StopJob("a", savepoint=True, drain=True)),
        ("SHOW JOBS LIKE 'a'", None),
        ("STOP JOB a", None),
        ("STOP JOB 'a' WITH", None),
        ("STOP 'a'", None),
    ],
)
def test_job_statements(sql: str, expected: Statement | None) -> None:
    assert classify(sql) == expected


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("COMPILE PLAN 'f' FOR INSERT INTO t SELECT 1", "COMPILE PLAN"),
        ("compile and execute plan 'f' FOR INSERT INTO t SELECT 1", "COMPILE PLAN"),
        ("EXECUTE PLAN 'f'", "EXECUTE PLAN"),
        ("CREATE OR ALTER MATERIALIZED TABLE m AS SELECT 1", "CREATE MATERIALIZED TABLE"),
        ("/* c */ ALTER MATERIALIZED TABLE m SUSPEND", "ALTER MATERIALIZED TABLE"),
        ("DROP MATERIALIZED TABLE IF EXISTS m", "DROP MATERIALIZED TABLE"),
        ("CREATE TEMPORARY MODEL m", "CREATE MODEL"),
        ("CREATE CATALOG IF NOT EXISTS c COMMENT 'c' WITH ('type' = 'hive')", "CREATE CATALOG"),
        ("CREATE CATALOG c", None),
        ("CREATE TABLE catalog (a INT) USING parquet", None),
        ("CREATE TABLE model (a INT) USING parquet", None),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", None),
        ("DROP TABLE materialized", None),
        ("EXECUTE IMMEDIATE 'SELECT 1'", None),
        ("COMPILE", None),
    ],
)
def test_statements_that_only_flink_has(sql: str, verb: str | None) -> None:
    statement = classify(sql)
    assert (statement.verb if isinstance(statement, FlinkStatement) else None) == verb


def test_repr_omits_option_values() -> None:
    assert repr(SetOption("a.password", "hunter2")) == "SetOption(key='a.password')"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + ", ".join(f"column_{i} AS alias_{i}" for i in range(1100)) + " FROM t",
        "CREATE TABLE t AS SELECT " + ", ".join(f"column_{i} AS alias_{i}" for i in range(1100)) + " FROM t",
        "INSERT INTO t SELECT " + ", ".join(f"column_{i} AS alias_{i}" for i in range(1100)) + " FROM t",
        "/* " + "x" * 25_000 + " */ MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
    ],
)
def test_long_statements_are_classified_by_their_first_words(sql: str) -> None:
    """Takes about 20 microseconds; tokenizing 25 kB to the end with sqlglot takes a hundred times that."""
    assert len(sql) > 25_000
    classify(sql)
    start = time.perf_counter()
    for _ in range(100):
        classify(sql)
    assert (time.perf_counter() - start) / 100 < 0.001


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", True),
        ("-- c\nwith x as (select 1) select * from x", True),
        ("((SELECT 1))", True),
        ("FROM t SELECT a", True),
        ("VALUES 1", True),
        ("TABLE t", True),
        ("INSERT INTO t SELECT 1", False),
        ("EXPLAIN SELECT 1", False),
        ("", False),
        ("(", False),
    ],
)
def test_is_query(sql: str, expected: bool) -> None:
    assert is_query(sql) is expected
