"""Test how errors of this package and secrets in Spark's exceptions are shown."""

from __future__ import annotations

import traceback

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException

from kafka_sql.errors import DecodeError, TopicNotFoundError
from kafka_sql.sql.spark_errors import error_message, mask_message, unwrap_errors


@pytest.mark.parametrize(
    ("message", "masked"),
    [
        ("near 'x' == SQL ==\nSET 'topic' = 'a'", "near 'x' == SQL ==\nSET 'topic' = 'a'"),
        ("SET ('a.password' = 'hunter2', 'topic' = 'a')", "SET ('a.password' = '******', 'topic' = 'a')"),
        ('near "hunter2" (`a.password` = "hunter2")', 'near "******" (`a.password` = "******")'),
        ("(a.password='it''s',\n'b.token' = 'abcd')", "(a.password='******',\n'b.token' = '******')"),
        ("a ('k.secret' = 'a')", "a ('k.secret' = '******')"),
        ("near ':' ('r.url' = 'http://u:hunter2@h')", "near ':' ('r.url' = 'http://******@h')"),
        ("('request.header.Cookie' = 'hunter2')", "('request.header.Cookie' = '******')"),
    ],
)
def test_secrets_are_masked(message: str, masked: str) -> None:
    assert mask_message(message) == masked


def test_a_parser_error_shows_no_secret() -> None:
    with pytest.raises(ParseException) as raised, unwrap_errors():
        raise ParseException(message="== SQL ==\nALTER x ('a.password' = 'hunter2')", errorClass="PARSE_SYNTAX_ERROR")
    assert str(raised.value) == (
        "[PARSE_SYNTAX_ERROR] Spark cannot parse the statement. Its options may contain secrets and are hidden.\n"
        "== SQL ==\nALTER x ('a.password'******"
    )
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


def test_error_messages_have_no_stack_trace() -> None:
    trace = "Traceback (most recent call last):\n  File x\n"
    wrapped = f"Aborted: {trace}kafka_sql.errors.FetchError: [FETCH] t[0]@5: gone\n\tat a.b(C)"
    assert error_message(PySparkException(wrapped)) == "[FETCH] t[0]@5: gone"
    assert error_message(TopicNotFoundError("no")) == "[TOPIC_NOT_FOUND] no"
    assert error_message(PySparkException("[A_B] c\n\nDriver stacktrace:\n\tat x.y(Z)")) == "[A_B] c"
    python = "[UDF] failed:\nTraceback (most recent call last):\n  File x\n    y\nValueError: z\n\n\tat a.b(C)"
    assert error_message(PySparkException(python)) == "[UDF] failed:\nValueError: z"
    stream = "[STREAM_FAILED] Query [id = a] terminated: b\n=== Streaming Query ===\nIdentifier: c\nThread State: d"
    assert error_message(PySparkException(stream)) == "[STREAM_FAILED] Query [id = a] terminated: b"
    call = "An error occurred while calling o1.start.\n: org.a.B: [C_D] e\n\tat f.g(H)"
    java = Py4JJavaError.__new__(Py4JJavaError)
    java.__class__ = type("Call", (Py4JJavaError,), {"__str__": lambda _: call})
    assert error_message(java) == "[C_D] e"
    assert error_message(RuntimeError("x")) == "RuntimeError: x"
