from __future__ import annotations

import traceback

import pytest
from pyspark.errors import ParseException

from kafka_sql.sql.spark_errors import masked, unwrapped


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
def test_masked(message: str, shown: str) -> None:
    assert masked(message) == shown


def test_a_parser_error_shows_no_secret() -> None:
    with pytest.raises(ParseException) as found, unwrapped():
        raise ParseException(message="== SQL ==\nALTER x ('a.password' = 'hunter2')", errorClass="PARSE_SYNTAX_ERROR")
    assert str(found.value) == "[PARSE_SYNTAX_ERROR] == SQL ==\nALTER x ('a.password' = ******)"
    assert "hunter2" not in "".join(traceback.format_exception(found.value))


def test_a_parser_error_without_a_secret_stays() -> None:
    error = ParseException(message="near 'x'", errorClass="PARSE_SYNTAX_ERROR")
    with pytest.raises(ParseException) as found, unwrapped():
        raise error
    assert found.value is error
