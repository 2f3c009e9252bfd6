import pytest

from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.classify_insert import Insert


def insert(sql: str) -> Insert | None:
    found = classify(sql)
    assert found is None or isinstance(found, Insert)
    return found


def plain(body: str, start: int, *name: str, overwrite: bool = False) -> Insert:
    return Insert(name or ("t",), overwrite, None, False, None, body, start)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO t SELECT 1", plain("SELECT 1", 14)),
        ("-- c\ninsert into TABLE db.`t``x` VALUES (1, 'a')", plain("VALUES (1, 'a')", 33, "db", "t`x")),
        ("INSERT OVERWRITE t SELECT 1", plain("SELECT 1", 19, overwrite=True)),
        ("INSERT OVERWRITE TABLE t SELECT 1", plain("SELECT 1", 25, overwrite=True)),
        ("INSERT INTO t (SELECT a FROM s)", plain("(SELECT a FROM s)", 14)),
        ("INSERT INTO t (VALUES (1))", plain("(VALUES (1))", 14)),
        ("INSERT INTO t ((SELECT 1))", plain("((SELECT 1))", 14)),
        ("INSERT INTO t (TABLE s)", plain("(TABLE s)", 14)),
        ("INSERT INTO t TABLE s", plain("TABLE s", 14)),
        ("INSERT INTO t FROM s SELECT a", plain("FROM s SELECT a", 14)),
        ("INSERT INTO t WITH q AS (SELECT 1)\nSELECT * FROM q", plain("WITH q AS (SELECT 1)\nSELECT * FROM q", 14)),
        ("INSERT INTO partition SELECT 1", plain("SELECT 1", 22, "partition")),
        ("INSERT OVERWRITE directory SELECT 1", plain("SELECT 1", 27, "directory", overwrite=True)),
        ("INSERT INTO t SELECT 1;", plain("SELECT 1", 14)),
        ("INSERT INTO t SELECT ';' ; ; -- ;\n", plain("SELECT ';' ", 14)),
        ("INSERT INTO t SELECT ';' -- ;", plain("SELECT ';' -- ;", 14)),
        (
            "INSERT INTO t /*+ OPTIONS('a' = '*/') */ SELECT 1",
            Insert(("t",), False, None, False, None, "SELECT 1", 41, " /*+ OPTIONS('a' = '*/') */ "),
        ),
        ("INSERT INTO t /* OPTIONS('a' = 'b') */ SELECT 1", plain("SELECT 1", 39)),
        ("INSERT INTO t SELECT r'\\' || \"x;\"", plain("SELECT r'\\' || \"x;\"", 14)),
        ("INSERT INTO t (a, `b c`) SELECT 1, 2", Insert(("t",), False, ("a", "b c"), False, None, "SELECT 1, 2", 25)),
        ("INSERT INTO t(a) VALUES (1)", Insert(("t",), False, ("a",), False, None, "VALUES (1)", 17)),
        ("INSERT INTO t (a) (SELECT 1)", Insert(("t",), False, ("a",), False, None, "(SELECT 1)", 18)),
        ("INSERT INTO t BY NAME SELECT 1 AS a", Insert(("t",), False, None, True, None, "SELECT 1 AS a", 22)),
        (
            "INSERT INTO t PARTITION (p = 'x)') SELECT 1",
            Insert(("t",), False, None, False, "(p = 'x)')", "SELECT 1", 35),
        ),
        ("INSERT INTO t PARTITION (p) (a) SELECT 1", Insert(("t",), False, ("a",), False, "(p)", "SELECT 1", 32)),
    ],
)
def test_insert(sql: str, expected: Insert) -> None:
    assert insert(sql) == expected
    assert sql.startswith(expected.body, expected.body_start)


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
def test_forms_of_sparks_own(sql: str) -> None:
    assert insert(sql) is None


@pytest.mark.parametrize(
    ("sql", "body"),
    [
        ("WITH q AS (SELECT 1) INSERT INTO t SELECT * FROM q;", "WITH q AS (SELECT 1) SELECT * FROM q"),
        ("-- c\nwith q(a) as (select ')') insert into t (x) (select * from q)", None),
        ("WITH q AS (SELECT 1), r AS (TABLE q)\nINSERT INTO t WITH s AS (TABLE r) TABLE s", None),
    ],
)
def test_ctes_before_insert(sql: str, body: str | None) -> None:
    found = insert(sql)
    assert found is not None
    assert found.name == ("t",)
    if body is not None:
        assert found.body == body


def test_ctes_of_both_places_nest() -> None:
    found = insert("WITH q AS (SELECT 1) INSERT INTO t WITH r AS (TABLE q) TABLE r")
    assert found is not None
    assert found.body == "WITH q AS (SELECT 1) (WITH r AS (TABLE q) TABLE r)"
