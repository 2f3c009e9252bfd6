"""The first words of statements: the classifier has the same ones as Spark's own shells."""

from __future__ import annotations

import re

import pytest

from kafka_sql.sql.recognize import classify as module
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.first_words import FIRST_WORDS, starts_python_pattern


def test_the_classifier_has_the_same_words() -> None:
    flink_only = {words[0] for words in module._FLINK_ONLY}
    assert set(FIRST_WORDS) == set(module._CLASSIFIERS) | flink_only


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("-- a\n/* b */ create table t (a int)\nwith ('connector' = 'kafka')", True),
        ("SET 'execution.runtime-mode' = 'streaming'", True),
        ("RESET'a'", True),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; END", True),
        ("BEGIN STATEMENT SET", True),
        ("SHOW JOBS", True),
        ("STOP JOB 'a'", True),
        ("SELECT * FROM\nread_kafka(topic => 'a')", True),
        ("SET spark.a = b", False),
        ("CREATE TABLE t (a INT) USING parquet", False),
        ("EXECUTE IMMEDIATE 'SELECT 1'", False),
        ("INSERT INTO t SELECT 1", False),
    ],
)
def test_statements_that_start_python(sql: str, expected: bool) -> None:
    pattern = re.sub(r"(?<=[+*])\+", "", starts_python_pattern())  # Python 3.10 has no possessive quantifiers
    assert bool(re.fullmatch(pattern, sql, re.IGNORECASE | re.DOTALL)) is expected
    if expected and not sql.startswith("SELECT"):
        assert classify(sql) is not None
