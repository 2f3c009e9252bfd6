"""The parts of Spark's CREATE TABLE ... AS."""

from __future__ import annotations

import pytest

from kafka_sql.sql.statements.spark_ddl import Ctas, find_ctas


@pytest.mark.parametrize(
    ("head", "query", "name", "if_not_exists", "replaces"),
    [
        ("CREATE TABLE lake AS ", "SELECT 1", ("lake",), False, False),
        ("-- c\ncreate table if not exists `a b`.t using parquet as ", "(SELECT 1)", ("a b", "t"), True, False),
        (
            "CREATE OR REPLACE TABLE c.d.t PARTITIONED BY (a) AS ",
            "WITH a AS (SELECT 1) TABLE a",
            ("c", "d", "t"),
            False,
            True,
        ),
        ("REPLACE TABLE t USING delta AS ", "FROM a", ("t",), False, True),
        ("CREATE TABLE IDENTIFIER('t') AS ", "SELECT 1", (), False, False),
        ("CREATE TABLE t USING parquet ", "SELECT a AS b FROM c", ("t",), False, False),
        ("CREATE TABLE identifier AS ", "SELECT 1", ("identifier",), False, False),
    ],
)
def test_create_table_as(head: str, query: str, name: tuple[str, ...], if_not_exists: bool, replaces: bool) -> None:
    assert find_ctas(head + query) == Ctas(name, if_not_exists, replaces, len(head))


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT GENERATED ALWAYS AS (b)) USING delta",
        "CREATE VIEW t AS SELECT 1",
        "INSERT INTO t SELECT 1",
        "CREATE TABLE select (a INT)",
        "CREATE TABLE t LIKE d.select",
        "DROP TABLE t",
    ],
)
def test_other_statements(text: str) -> None:
    assert find_ctas(text) is None
