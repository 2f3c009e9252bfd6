"""This package's errors and secrets in Spark's exceptions."""

from __future__ import annotations

import traceback

import pytest
from pyspark.errors import ParseException, PySparkException

from kafka_sql.errors import DecodeError
from kafka_sql.sql.spark_errors import mask_secrets, unwrap_errors


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("near 'x' == SQL ==\nSET 'topic' = 'a'", "near 'x' == SQL ==\nSET 'topic' = 'a'"),
        ("SET ('a.password' = 'hunter2', 'topic' = 'a')", "SET ('a.password' = ******, 'topic' = 'a')"),
        ('near "hunter2" (`a.password` = "hunter2")', 'near "******" (`a.password` = ******)'),
        ("(a.password='it''s',\n'b.token' = 'abcd')", "(a.password= ******,\n'b.token' = ******)"),
        ("a ('k.secret' = 'a')", "a ('k.secret' = ******)"),
    ],
)
def test_secrets_are_masked(message: str, shown: str) -> None:
    assert mask_secrets(message) == shown


def test_a_parser_error_shows_no_secret() -> None:
    with pytest.raises(ParseException) as raised, unwrap_errors():
        raise ParseException(message="== SQL ==\nALTER x ('a.password' = 'hunter2')", errorClass="PARSE_SYNTAX_ERROR")
    assert str(raised.value) == "[PARSE_SYNTAX_ERROR] == SQL ==\nALTER x ('a.password' = ******)"
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))


def test_a_parser_error_without_a_secret_stays() -> None:
    error = ParseException(message="near 'x'", errorClass="PARSE_SYNTAX_ERROR")
    with pytest.raises(ParseException) as raised, unwrap_errors():
        raise error
    assert raised.value is error


def test_an_error_of_a_task_is_extracted_with_all_its_attributes() -> None:
    with pytest.raises(DecodeError) as raised, unwrap_errors():
        raise PySparkException(
            "Traceback\nkafka_sql.errors.DecodeError: [DECODE] orders[0]@17: no JSON\n  at org.apache"
        )
    assert str(raised.value) == "[DECODE] orders[0]@17: no JSON"
    assert (raised.value.row, raised.value.field, raised.value.where) == (-1, None, None)
