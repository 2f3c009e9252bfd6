"""Any input gives the correct result or a clear error, never hangs, and leaves Spark statements unchanged."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.grammar.parser import parse_alteration
from kafka_sql.sql.recognize.classify import classify, is_query
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import find_table_references
from kafka_sql.sql.rewrite.hints import parse_hint
from kafka_sql.sql.rewrite.windows.subqueries import rewrite_windows
from tests.fuzz.statements import is_passed_through
from tests.hypothesis_examples import examples

WITH = "WITH ('connector' = 'kafka')"
SIZE = 50_000  # characters; run time must be linear in the length, not quadratic

LONG = {
    "columns": f"CREATE TABLE t ({', '.join(f'c{i} INT' for i in range(SIZE // 10))}) {WITH}",
    "parentheses": f"CREATE TABLE t (a AS {'(' * SIZE}1{')' * SIZE}) {WITH}",
    "rows": f"CREATE TABLE t (a {'ROW<x ' * (SIZE // 6)}INT{'>' * (SIZE // 6)}) {WITH}",
    "arrays": f"CREATE TABLE t (a INT{' ARRAY' * (SIZE // 6)}) {WITH}",
    "connectives": f"CREATE TABLE t (b BOOLEAN, a AS b{' OR b' * (SIZE // 5)}) {WITH}",
    "negations": f"CREATE TABLE t (b BOOLEAN, a AS {'NOT ' * (SIZE // 4)}b) {WITH}",
    "value": f"CREATE TABLE t (a INT) WITH ('connector' = '{'x' * SIZE}')",
    "open value": f"CREATE TABLE t (a INT) WITH ('connector' = '{'x' * SIZE}",
    "open comment": f"CREATE TABLE t (a INT) /* {'*' * SIZE}",
    "open quotes": f"CREATE TABLE t (a INT COMMENT {chr(39) * (SIZE + 1)}) {WITH}",
    "comments": f"{'/* */' * (SIZE // 5)}CREATE TABLE t (a INT) {WITH}",
    "name": f"CREATE TABLE {'a.' * (SIZE // 2)}a (x INT) {WITH}",
    "number": f"CREATE TABLE t (a DECIMAL({'9' * SIZE})) {WITH}",
    "slashes": "/" * SIZE,
    "stars": "/*" * (SIZE // 2),
    "hints": "/*+" * (SIZE // 3),
    "backquotes": "`" * SIZE,
    "quotes": "SELECT " + "'" * (SIZE + 1),
    "brackets": "(" * SIZE,
    "insert": "INSERT INTO t SELECT " + "(" * SIZE,
    "open hint": "INSERT INTO t /*+ OPTIONS('" + "x" * SIZE,
    "hint": f"INSERT INTO t /*+ OPTIONS({chr(39)}a{chr(39)}='b'{', ' * SIZE}) */ SELECT 1",
    "set": f"EXECUTE STATEMENT SET BEGIN {'INSERT INTO t SELECT 1;' * (SIZE // 25)} END",
    "ctes": f"WITH {'a AS (SELECT 1), ' * (SIZE // 17)} b AS (SELECT 1) INSERT INTO t SELECT 1",
    "alter": f"ALTER TABLE t ADD ({', '.join(f'c{i} INT' for i in range(SIZE // 10))})",
    "explain": "EXPLAIN " * (SIZE // 8) + "SELECT 1",
}


PARSERS: tuple[Callable[[str], object], ...] = (
    classify,
    is_query,
    lambda text: find_table_references(QueryText(text)),
    lambda text: QueryText(text).blocks,
    lambda text: rewrite_windows(QueryText(text), True),
    parse_create,
    parse_alteration,
)


@pytest.mark.sample(3)
@pytest.mark.large
@pytest.mark.parametrize("sql", LONG.values(), ids=LONG.keys())
def test_long_and_deep_statements_terminate(sql: str) -> None:
    start = time.process_time()
    for parse in (*PARSERS, lambda text: parse_hint(text, len("INSERT INTO t"))):
        with contextlib.suppress(KafkaSqlError):
            parse(sql)
    assert time.process_time() - start < 15


WORDS = """
CREATE TABLE t ( a INT , b ) WITH 'connector' = 'kafka' ; ALTER ADD DROP RENAME TO LIKE AS SELECT FROM INSERT INTO
EXECUTE STATEMENT SET BEGIN END EXPLAIN PLAN FOR /*+ OPTIONS('k'='v') */ /* -- ' " ` . * REPLACE OR VIEW DESCRIBE
PRIMARY KEY NOT ENFORCED WATERMARK ROW< > 1 é 😀 \\ $ { } ${env:HOME} SHOW COLUMNS UPDATE
"""
FRAGMENTS = st.sampled_from([*WORDS.split(), "\n", "\x00"])
TEXTS = st.one_of(
    st.lists(FRAGMENTS, max_size=25).map(" ".join),
    st.text(max_size=80),
)


@given(TEXTS)
def test_parsers_raise_only_kafka_sql_errors(sql: str) -> None:
    for parse in PARSERS:
        with contextlib.suppress(KafkaSqlError):
            parse(sql)


@examples(300)
@example("EXECUTE PLAN", "batch")
@given(TEXTS, st.sampled_from(["batch", "streaming"]))
def test_spark_statements_are_passed_on_unchanged(sql: str, mode: str) -> None:
    is_passed_through(sql, mode)


def test_comments_and_names_cannot_inject_sql() -> None:
    evil = "x'; DROP TABLE y; --`/*"
    quoted = "`" + evil.replace("`", "``") + "`"
    text = evil.replace("'", "''")
    table = parse_create(f"CREATE TABLE t ({quoted} INT COMMENT '{text}') COMMENT '{text}' WITH ('{text}' = '{text}')")
    assert table.columns[0].name == table.columns[0].comment == table.comment == evil
    assert table.options == {evil: evil}
