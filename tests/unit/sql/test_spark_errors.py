"""Test how errors of this package and secrets in Spark's exceptions are shown."""

from __future__ import annotations

import traceback

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from kafka_sql.errors import DecodeError, OffsetError, TopicNotFoundError, WorkerPythonError
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


@pytest.mark.parametrize("error_class", [PySparkException, AnalysisException])  # of a task, and of a plan
def test_an_error_of_this_package_is_extracted_with_all_its_attributes(error_class: type[PySparkException]) -> None:
    with pytest.raises(DecodeError) as raised, unwrap_errors():
        raise error_class("Traceback\nkafka_sql.errors.DecodeError: [DECODE] orders[0]@17: no JSON\n  at org.apache")
    assert str(raised.value) == "[DECODE] orders[0]@17: no JSON"
    assert (raised.value.row, raised.value.field, raised.value.where) == (-1, None, None)


class JavaError(Py4JJavaError):
    """A Java exception that PySpark does not convert."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


TRACEBACK = "Traceback (most recent call last):\n  File x\n    y\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TopicNotFoundError("no"), "[TOPIC_NOT_FOUND] no"),
        (OffsetError("gone", topic="t"), "[OFFSET] gone"),
        (RuntimeError("x"), "RuntimeError: x"),
        (ValueError("boom"), "ValueError: boom"),
        (FileNotFoundError(2, "No such file", "f"), "[Errno 2] No such file: 'f'"),
        (PySparkException("[X] wrong\n  at org.apache.A(B.scala)\n at c"), "[X] wrong"),
        (PySparkException("[X] wrong\nJVM stacktrace:\nx"), "[X] wrong"),
        (PySparkException("[A_B] c\n\nDriver stacktrace:\n\tat x.y(Z)"), "[A_B] c"),
        (
            PySparkException(f"Aborted: {TRACEBACK}kafka_sql.errors.FetchError: [FETCH] t[0]@5: gone\n\tat a.b(C)"),
            "[FETCH] t[0]@5: gone",
        ),
        (
            PySparkException("failed\nkafka_sql.errors.DecodeError: [DECODE] t[0]@1: no JSON\n  at a.B(C)"),
            "[DECODE] t[0]@1: no JSON",
        ),
        (PySparkException(f"[UDF] failed:\n{TRACEBACK}ValueError: z\n\n\tat a.b(C)"), "[UDF] failed:\nValueError: z"),
        (PySparkException(f"failed:\n{TRACEBACK}KeyError: 'a'\n"), "failed:\nKeyError: 'a'"),
        (
            PySparkException(
                "[STREAM_FAILED] Query [id = a] terminated: b\n=== Streaming Query ===\nIdentifier: c\nThread State: d"
            ),
            "[STREAM_FAILED] Query [id = a] terminated: b",
        ),
        (JavaError("An error occurred while calling o1.start.\n: org.a.B: [C_D] e\n\tat f.g(H)"), "[C_D] e"),
        (JavaError("An error occurred while calling o1.a\n: java.io.IOException: full\n\tat a.B(C)"), "full"),
    ],
)
def test_error_messages_have_no_stack_trace(error: BaseException, message: str) -> None:
    assert error_message(error) == message


def test_a_missing_module_of_the_workers_is_explained() -> None:
    with (
        pytest.raises(WorkerPythonError, match="The Python of Spark's workers has no module 'pyarrow'"),
        unwrap_errors(),
    ):
        raise PySparkException("ModuleNotFoundError: No module named 'pyarrow'")


def test_other_errors_of_spark_stay() -> None:
    error = PySparkException("kafka_sql.errors.NoSuchError: [X] y")
    with pytest.raises(PySparkException) as raised, unwrap_errors():
        raise error
    assert raised.value is error
