"""Test how INSERT statements are recognized and split into their parts."""

import pytest

from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.statement_types import Insert


def classify_as_insert(sql: str) -> Insert | None:
    insert = classify(sql)
    assert insert is None or isinstance(insert, Insert)
    return insert


def simple_insert(body: str, *name: str, overwrite: bool = False) -> Insert:
    return Insert(name or ("t",), body, overwrite)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO t SELECT 1", simple_insert("SELECT 1")),
        ("-- c\ninsert into TABLE db.`t``x` VALUES (1, 'a')", simple_insert("VALUES (1, 'a')", "db", "t`x")),
        ("INSERT OVERWRITE t SELECT 1", simple_insert("SELECT 1", overwrite=True)),
        ("INSERT OVERWRITE TABLE t SELECT 1", simple_insert("SELECT 1", overwrite=True)),
        ("INSERT INTO t (SELECT a FROM s)", simple_insert("(SELECT a FROM s)")),
        ("INSERT INTO t (VALUES (1))", simple_insert("(VALUES (1))")),
        ("INSERT INTO t ((SELECT 1))", simple_insert("((SELECT 1))")),
        ("INSERT INTO t (TABLE s)", simple_insert("(TABLE s)")),
        ("INSERT INTO t TABLE s", simple_insert("TABLE s")),
        ("INSERT INTO t FROM s SELECT a", simple_insert("FROM s SELECT a")),
        (
            "INSERT INTO t WITH q AS (SELECT 1)\nSELECT * FROM q",
            simple_insert("WITH q AS (SELECT 1)\nSELECT * FROM q"),
        ),
        ("INSERT INTO partition SELECT 1", simple_insert("SELECT 1", "partition")),
        ("INSERT OVERWRITE directory SELECT 1", simple_insert("SELECT 1", "directory", overwrite=True)),
        ("INSERT INTO t SELECT 1;", simple_insert("SELECT 1")),
        ("INSERT INTO t SELECT ';' ; ; -- ;\n", simple_insert("SELECT ';' ")),
        ("INSERT INTO t SELECT ';' -- ;", simple_insert("SELECT ';' -- ;")),
        (
            "INSERT INTO t /*+ OPTIONS('a' = '*/') */ SELECT 1",
            Insert(("t",), "SELECT 1", hint_text=" /*+ OPTIONS('a' = '*/') */ "),
        ),
        ("INSERT INTO t /* OPTIONS('a' = 'b') */ SELECT 1", simple_insert("SELECT 1")),
        ("INSERT INTO t SELECT r'\\' || \"x;\"", simple_insert("SELECT r'\\' || \"x;\"")),
        ("INSERT INTO t (a, `b c`) SELECT 1, 2", Insert(("t",), "SELECT 1, 2", columns=("a", "b c"))),
        ("INSERT INTO t(a) VALUES (1)", Insert(("t",), "VALUES (1)", columns=("a",))),
        ("INSERT INTO t (a) (SELECT 1)", Insert(("t",), "(SELECT 1)", columns=("a",))),
        (
            "INSERT INTO t SELECT 1 ON conflict /* ! */ DO deduplicate ;",
            Insert(("t",), "SELECT 1 ", conflict="DEDUPLICATE"),
        ),
        (
            "INSERT INTO t TABLE u ON CONFLICT DO NOTHING",
            Insert(("t",), "TABLE u ", conflict="NOTHING"),
        ),
        (
            "INSERT INTO t SELECT * FROM a JOIN b ON conflict",
            Insert(("t",), "SELECT * FROM a JOIN b ON conflict"),
        ),
        ("INSERT INTO t BY NAME SELECT 1 AS a", Insert(("t",), "SELECT 1 AS a", by_name=True)),
        (
            "INSERT INTO t PARTITION (p = 'x)') SELECT 1",
            Insert(("t",), "SELECT 1", partition="(p = 'x)')"),
        ),
        ("INSERT INTO t PARTITION (p) (a) SELECT 1", Insert(("t",), "SELECT 1", columns=("a",), partition="(p)")),
    ],
)
def test_insert(sql: str, expected: Insert) -> None:
    insert = classify_as_insert(sql)
    assert insert == expected
    assert insert.prefix + insert.body in sql


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO",
        "INSERT INTO t",
        "INSERT INTO t (a, b)",
        "INSERT t SELECT 1",
        "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
        "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' SELECT 1",
        "INSERT INTO t REPLACE WHERE a > 1 SELECT 1",
        "INSERT INTO t WITH ('a' = 'b') SELECT 1",
        "INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1",
        "INSERT INTO IDENTIFIER('t') SELECT 1",
        "INSERT OVERWRITE t PARTITION (p = 1) IF NOT EXISTS SELECT 1",
        "INSERT INTO t PARTITION (p SELECT 1",
    ],
)
def test_spark_only_syntax_is_not_classified(sql: str) -> None:
    assert classify_as_insert(sql) is None


@pytest.mark.parametrize(
    ("sql", "body"),
    [
        ("WITH q AS (SELECT 1) INSERT INTO t SELECT * FROM q;", "WITH q AS (SELECT 1) SELECT * FROM q"),
        ("-- c\nwith q(a) as (select ')') insert into t (x) (select * from q)", None),
        ("WITH q AS (SELECT 1), r AS (TABLE q)\nINSERT INTO t WITH s AS (TABLE r) TABLE s", None),
    ],
)
def test_ctes_before_insert(sql: str, body: str | None) -> None:
    insert = classify_as_insert(sql)
    assert insert is not None
    assert insert.name == ("t",)
    if body is not None:
        assert insert.body == body


def test_ctes_before_and_after_insert_are_nested() -> None:
    insert = classify_as_insert("WITH q AS (SELECT 1) INSERT INTO t WITH r AS (TABLE q) TABLE r")
    assert insert is not None
    assert insert.body == "WITH q AS (SELECT 1) (WITH r AS (TABLE q) TABLE r)"
