"""Test CREATE TABLE: its clauses, its columns, and the errors of invalid statements."""

import pytest

from kafka_sql.errors import (
    ConflictingOptionsError,
    KafkaSqlError,
    MissingOptionError,
    SchemaError,
    SqlSyntaxError,
    UnsupportedSqlError,
)
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.table.table import Column, EventTimeSource, Table, Watermark

WITH = "WITH ('connector' = 'kafka')"


def test_all_clauses() -> None:
    table = parse_create(
        r"""
        -- leading comments, as written by dbt and editors
        CREATE TEMPORARY TABLE IF NOT EXISTS shop.`or``ders` (
          id BIGINT COMMENT 'it''s', -- a comment
          price DECIMAL(10, 2) NOT NULL, /* another */
          total AS price * 2 COMMENT 'twice',
          ts TIMESTAMP_LTZ(3) NOT NULL METADATA FROM 'timestamp' COMMENT 'when',
          `offset` BIGINT METADATA VIRTUAL,
          WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
          CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
        ) COMMENT 'all of it' WITH (
          'connector' = 'kafka',
          'properties.sasl.jaas.config' = 'Login required password="a\"b";',
          'pattern' = '\d+''\'
        );
        """
    )
    assert table == Table(
        name=("shop", "or`ders"),
        columns=(
            Column("id", "BIGINT", "BIGINT", nullable=False, comment="it's"),
            Column("price", "DECIMAL(10,2)", "DECIMAL(10, 2)", nullable=False),
            Column("total", None, "price * 2", comment="twice", expression="(`price` * CAST(2 AS DECIMAL(10,0)))"),
            Column("ts", "TIMESTAMP_LTZ", "TIMESTAMP_LTZ(3)", False, "when", metadata="timestamp"),
            Column("offset", "BIGINT", "BIGINT", metadata="offset", virtual=True),
        ),
        options={
            "connector": "kafka",
            "properties.sasl.jaas.config": 'Login required password="a\\"b";',
            "pattern": "\\d+'\\",
        },
        primary_key=("id",),
        watermark=Watermark("ts", "'5' SECOND", "ts - INTERVAL '5' SECOND", True, EventTimeSource(("ts",), 1.0)),
        comment="all of it",
        temporary=True,
        if_not_exists=True,
        primary_key_name="pk",
    )


def test_keywords_can_name_columns() -> None:
    table = parse_create(
        "create table t (value STRING, timestamp TIMESTAMP(3), watermark INT, primary INT, `constraint` INT,"
        f" `from` INT) {WITH}"
    )
    assert [c.name for c in table.columns] == ["value", "timestamp", "watermark", "primary", "constraint", "from"]


def test_column_primary_key() -> None:
    table = parse_create(f"CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED COMMENT 'k', b INT) {WITH}")
    assert table.primary_key == ("a",)
    assert [(c.nullable, c.comment) for c in table.columns] == [(False, "k"), (True, None)]


def test_named_column_primary_key() -> None:
    table = parse_create(f"CREATE TABLE t (a INT CONSTRAINT `p k` PRIMARY KEY NOT ENFORCED) {WITH}")
    assert table.primary_key == ("a",)


@pytest.mark.parametrize(
    ("column", "expression", "delay"),
    [
        ("TIMESTAMP(3)", "ts - INTERVAL '5' SECOND", "'5' SECOND"),
        ("TIMESTAMP_LTZ(3)", "ts - INTERVAL '0.001' SECOND(3, 3)", "'0.001' SECOND"),
        ("TIMESTAMP(3)", "`ts` - INTERVAL '1 10:00' DAY TO MINUTE", "'1 10:00' DAY TO MINUTE"),
        ("TIMESTAMP(3)", "ts", "'0' SECOND"),
        ("TIMESTAMP(3)", "ts - INTERVAL '1' MINUTE - INTERVAL '5' SECOND", "'65' SECOND"),
        ("TIMESTAMP(3)", "ts - INTERVAL '1' DAY - INTERVAL -'0.05' SECOND", "'86399.950' SECOND"),
        ("AS TO_TIMESTAMP_LTZ(b, 3)", "ts - INTERVAL '2' minutes", "'2' MINUTE"),
        ("TIMESTAMP(3)", "ts + INTERVAL -'5' SECOND", "'5' SECOND"),
        ("TIMESTAMP(3)", "INTERVAL -'5' SECOND + ts", "'5' SECOND"),
        ("TIMESTAMP(3)", "ts - INTERVAL '1' MINUTE * 2", "'120' SECOND"),
        ("TIMESTAMP(3)", "ts - 2 * INTERVAL '1.5' SECOND * (2 * 3)", "'18' SECOND"),
        ("TIMESTAMP(3)", "(ts - (INTERVAL '1' MINUTE + INTERVAL '5' SECOND))", "'65' SECOND"),
        ("TIMESTAMP(3)", "ts - (INTERVAL '1' MINUTE - - INTERVAL '5' SECOND)", "'65' SECOND"),
        ("TIMESTAMP(3)", "ts - INTERVAL '1' MINUTE + INTERVAL '5' SECOND", "'55' SECOND"),
        ("TIMESTAMP(3)", "TIMESTAMPADD(SECOND, -5, ts)", "'5' SECOND"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMPADD(WEEK, -(1 * 2), ts - INTERVAL '1' SECOND)", "'1209601' SECOND"),
        ("TIMESTAMP(3)", "CAST(ts AS TIMESTAMP(3)) - INTERVAL '5' SECOND", "'5' SECOND"),
        ("TIMESTAMP_LTZ(3)", "CAST(ts - INTERVAL '5' SECOND AS TIMESTAMP_LTZ(6))", "'5' SECOND"),
        ("AS CAST(s AS TIMESTAMP(3))", "ts", "'0' SECOND"),
    ],
)
def test_watermark(column: str, expression: str, delay: str) -> None:
    table = parse_create(f"CREATE TABLE t (b BIGINT, s STRING, ts {column}, WATERMARK FOR ts AS {expression}) {WITH}")
    source = {"AS TO_TIMESTAMP_LTZ(b, 3)": (("b",), 1e3), "AS CAST(s AS TIMESTAMP(3))": (("s",), 1.0)}
    event_time = EventTimeSource(*source.get(column, (("ts",), 1.0)))
    assert table.watermark == Watermark("ts", delay, expression, "LTZ" in column, event_time)
    if not column.startswith("AS"):
        assert table.columns[2].type == ("TIMESTAMP_LTZ" if "LTZ" in column else "TIMESTAMP_NTZ")


def test_watermark_can_precede_its_column() -> None:
    table = parse_create(f"CREATE TABLE t (WATERMARK FOR ts AS ts, ts TIMESTAMP(3), other TIMESTAMP(3)) {WITH}")
    assert table.watermark == Watermark("ts", "'0' SECOND", "ts", False, EventTimeSource(("ts",), 1.0))
    assert [c.declared for c in table.columns] == ["TIMESTAMP(3)", "TIMESTAMP(3)"]


@pytest.mark.parametrize(
    ("elements", "error", "message"),
    [
        ("a INT, a STRING", SchemaError, "Column 'a' is declared more than once."),
        ("a INT, A STRING", SchemaError, "Columns 'a' and 'A' differ only in case"),
        ("a INT, PRIMARY KEY (b) NOT ENFORCED", SchemaError, "PRIMARY KEY (b): column 'b' not found"),
        ("order_id INT, PRIMARY KEY (orderid) NOT ENFORCED", SchemaError, "Did you mean 'order_id'?"),
        (
            "a INT, PRIMARY KEY (a)",
            UnsupportedSqlError,
            "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint",
        ),
        ("a INT PRIMARY KEY", UnsupportedSqlError, "PRIMARY KEY (a): Flink doesn't support ENFORCED mode"),
        ("a INT, PRIMARY KEY (a) ENFORCED", UnsupportedSqlError, "Flink doesn't support ENFORCED mode"),
        ("a INT, PRIMARY KEY (a, a) NOT ENFORCED", SchemaError, "column 'a' is listed more than once"),
        (
            "a INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (a) NOT ENFORCED",
            SchemaError,
            "Duplicate primary key definition: PRIMARY KEY (a) and PRIMARY KEY (a).",
        ),
        ("a INT, b AS a, PRIMARY KEY (b) NOT ENFORCED", SchemaError, "column 'b' is not a physical column"),
        ("a INT METADATA, PRIMARY KEY (a) NOT ENFORCED", SchemaError, "column 'a' is not a physical column"),
        ("a INT, UNIQUE (a)", UnsupportedSqlError, "UNIQUE constraint is not supported"),
        ("a INT UNIQUE", UnsupportedSqlError, "UNIQUE constraint is not supported"),
        ("a INT, CONSTRAINT u UNIQUE (a)", UnsupportedSqlError, "UNIQUE constraint is not supported"),
        ("a INT, WATERMARK FOR b AS b", SchemaError, "WATERMARK FOR b: column 'b' not found"),
        (
            "a INT, WATERMARK FOR a AS a",
            SchemaError,
            "column 'a' must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), but is INT.",
        ),
        ("a INT, c AS a + 1, WATERMARK FOR c AS c", SchemaError, "TIMESTAMP_LTZ(p), but is INT."),
        ("a AS NULL, b INT, WATERMARK FOR a AS a", SchemaError, "TIMESTAMP_LTZ(p), but is NULL."),
        (
            "a STRING, WATERMARK FOR a AS a",
            SchemaError,
            "but is STRING. Add a computed column, such as 'event_time AS TO_TIMESTAMP(a)', and declare the watermark "
            "for it.",
        ),
        ("a BIGINT, WATERMARK FOR a AS a", SchemaError, "such as 'event_time AS TO_TIMESTAMP_LTZ(a, 3)'"),
        (
            "a TIMESTAMP(3), b TIMESTAMP(3), WATERMARK FOR a AS a, WATERMARK FOR b AS b",
            SchemaError,
            "Multiple WATERMARK definitions, for 'a' and 'b'.",
        ),
        (
            "r ROW<ts TIMESTAMP(3)>, WATERMARK FOR r.ts AS r.ts",
            UnsupportedSqlError,
            "WATERMARK FOR r.ts: a nested field",
        ),
        (
            "a TIMESTAMP(3), WATERMARK FOR a AS a - INTERVAL '1' SECOND - INTERVAL -'2' SECOND",
            UnsupportedSqlError,
            "the delay INTERVAL '-1' SECOND is negative",
        ),
        ("a TIMESTAMP(3), WATERMARK FOR a AS a + INTERVAL '1' SECOND", UnsupportedSqlError, "'-1' SECOND is negative"),
        (
            "a TIMESTAMP(3), WATERMARK FOR a AS TIMESTAMPADD(SECOND, 1, a)",
            UnsupportedSqlError,
            "'-1' SECOND is negative",
        ),
        (
            "a TIMESTAMP(3), WATERMARK FOR a AS TIMESTAMPADD(MONTH, -1, a)",
            UnsupportedSqlError,
            "WATERMARK FOR a: INTERVAL '1' MONTH has no fixed length",
        ),
        *(
            (f"a TIMESTAMP(3), b INT, WATERMARK FOR a AS {expression}", UnsupportedSqlError, "minus a fixed delay")
            for expression in (
                "CAST(a AS TIMESTAMP(0))",
                "CAST(a AS TIMESTAMP_LTZ(3))",
                "TIMESTAMPADD(SECOND, -b, a)",
                "TIMESTAMPADD(SECOND, -1.5, a)",
                "a - INTERVAL '1' SECOND * b",
                "a - INTERVAL '1' SECOND / 2",
                "COALESCE(a, a)",
                "CASE WHEN b > 1 THEN a END",
                "a - 5",
            )
        ),
        (
            "a TIMESTAMP(3), b TIMESTAMP(3), WATERMARK FOR a AS b",
            UnsupportedSqlError,
            "WATERMARK FOR a AS b: Spark supports only",
        ),
        (
            "a TIMESTAMP(3), WATERMARK FOR a AS a - INTERVAL '1' MONTH",
            UnsupportedSqlError,
            "WATERMARK FOR a: INTERVAL '1' MONTH",
        ),
        ("a TIMESTAMP(3), WATERMARK FOR a AS a - INTERVAL -'1' DAY", UnsupportedSqlError, "'-1' DAY is negative"),
    ],
)
def test_invalid_columns(elements: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error) as e:
        parse_create(f"CREATE TABLE t ({elements}) {WITH}")
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        (
            "CREATE TABLE t (a INT)",
            MissingOptionError,
            "CREATE TABLE t has no WITH clause: table options do not contain",
        ),
        (f"CREATE TABLE t {WITH}", SchemaError, "CREATE TABLE t declares no columns."),
        (f"CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) {WITH}", SchemaError, "column 'a' not found"),
        (
            f"CREATE TABLE a.b.c (a INT) {WITH}",
            UnsupportedSqlError,
            "CREATE TABLE a.b.c: expected table or database.table",
        ),
        (
            f"CREATE TABLE t (a INT) PARTITIONED BY (a) {WITH}",
            UnsupportedSqlError,
            "PARTITIONED BY is not supported",
        ),
        (f"CREATE TABLE t (a INT) DISTRIBUTED BY HASH(a) {WITH}", UnsupportedSqlError, "DISTRIBUTED is not supported"),
        (
            f"CREATE TABLE t (a INT) {WITH} LIKE s (INCLUDING ALL)",
            UnsupportedSqlError,
            "CREATE TABLE t: LIKE requires a Spark session",
        ),
        (f"CREATE TABLE t {WITH} AS SELECT 1", UnsupportedSqlError, "CREATE TABLE t: AS requires a Spark session"),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'hunter1', 'topic' = 'hunter2')",
            ConflictingOptionsError,
            "CREATE TABLE t: option 'topic' is set more than once. Remove the duplicates.",
        ),
        (f"DROP TABLE t {WITH}", SqlSyntaxError, "line 1, column 1: expected CREATE TABLE."),
        ("", SqlSyntaxError, "line 1, column 1: expected CREATE TABLE."),
        (f"CREATE VIEW t {WITH}", SqlSyntaxError, "line 1, column 8: expected TABLE."),
        (f"CREATE TABLE (a INT) {WITH}", SqlSyntaxError, "line 1, column 14: expected a table name."),
        (
            f"CREATE TABLE t (a INT b INT) {WITH}",
            SqlSyntaxError,
            "line 1, column 23: expected ',' or ')' in the column list.",
        ),
        (f"CREATE TABLE t (a INT,) {WITH}", SqlSyntaxError, "line 1, column 23: expected a column name."),
        (
            f"CREATE TABLE t (a INT METADATA FROM topic) {WITH}",
            SqlSyntaxError,
            "expected the metadata key in single quotes.",
        ),
        (f"CREATE TABLE t (a INT COMMENT x) {WITH}", SqlSyntaxError, "expected the column comment in single quotes."),
        (f"CREATE TABLE t (WATERMARK FOR a) {WITH}", SqlSyntaxError, "expected AS and the watermark expression."),
        (f"CREATE TABLE t (a INT, PRIMARY KEY a NOT ENFORCED) {WITH}", SqlSyntaxError, "expected '(' and the columns"),
        (f"CREATE TABLE t (a INT, CONSTRAINT c CHECK (a > 1)) {WITH}", SqlSyntaxError, "expected PRIMARY KEY."),
        (f"CREATE TABLE t (a INT) {WITH} EXTRA", SqlSyntaxError, "expected the end of the statement."),
        (f"CREATE TABLE t (a INT) {WITH}; SELECT 1", SqlSyntaxError, "expected the end of the statement."),
    ],
)
def test_invalid_statements(sql: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error) as e:
        parse_create(sql)
    assert message in str(e.value)
    assert "hunter" not in str(e.value)


def test_order_of_options_and_columns_is_preserved() -> None:
    table = parse_create("CREATE TABLE t (z INT, a INT) WITH ('z' = '1', 'a' = '2', 'connector' = 'x')")
    assert list(table.options) == ["z", "a", "connector"]
    assert [c.name for c in table.columns] == ["z", "a"]
