"""Test how errors of this package and secrets in Spark's exceptions are shown."""

from __future__ import annotations

import traceback

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from kafka_sql.errors import DecodeError, OffsetError, TopicNotFoundError, WorkerPythonError
from kafka_sql.sql.errors.spark_errors import error_message, extract_error, mask_errors, mask_message


@pytest.mark.parametrize(
    ("message", "masked"),
    [
        ("near 'x' == SQL ==\nSET 'topic' = 'a'", "near 'x' == SQL ==\nSET 'topic' = 'a'"),
        ("SET ('a.password' = 'hunter2', 'topic' = 'a')", "SET ('a.password' = '******', 'topic' = 'a')"),
        ('near "hunter2" (`a.password` = "hunter2")', 'near "******" (`a.password` = "******")'),
        ("(a.password='it''s',\n'b.token' = 'abcd')", "(a.password='******',\n'b.token' = '******')"),
        ("a ('k.secret' = 'a')", "a ('k.secret' = '******')"),
        ("near ':' ('r.url' = 'http://u:hunter2@h')", "near ':' ('r.url' = '******')"),
        ("('request.header.Cookie' = 'hunter2')", "('request.header.Cookie' = '******')"),
    ],
)
def test_secrets_are_masked(message: str, masked: str) -> None:
    assert mask_message(message) == masked


def test_a_parser_error_shows_no_secret() -> None:
    with pytest.raises(ParseException) as raised, mask_errors():
        raise ParseException(message="== SQL ==\nALTER x ('a.password' = 'hunter2')", errorClass="PARSE_SYNTAX_ERROR")
    assert str(raised.value) == (
        "[PARSE_SYNTAX_ERROR] Spark cannot parse the statement. Its options may contain secrets and are hidden.\n"
        "== SQL ==\nALTER x (******"
    )
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))


def test_a_parser_error_without_a_secret_stays() -> None:
    error = ParseException(message="near 'x'", errorClass="PARSE_SYNTAX_ERROR")
    with pytest.raises(ParseException) as raised, mask_errors():
        raise error
    assert raised.value is error


def test_an_error_of_this_package_stays() -> None:
    error = DecodeError(0, None, "no JSON")
    with pytest.raises(DecodeError) as raised, mask_errors():
        raise error
    assert raised.value is error


TRACEBACK = "Traceback (most recent call last):\n  File x\n    y\n"
DECODE = "kafka_sql.errors.DecodeError: [DECODE] orders[0]@17: no JSON"
HANDLING = f"\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACEBACK}"


@pytest.mark.parametrize(
    "text",
    [
        DECODE,
        f"Job aborted\n{TRACEBACK}{DECODE}\n\tat org.apache.A(B.scala)",
        f"[PYTHON_DATA_SOURCE_ERROR] failed: {TRACEBACK}{DECODE}\n SQLSTATE: 38000",
        f"[PYTHON_DATA_SOURCE_ERROR] failed: {DECODE} SQLSTATE: 38000",
        f"java.lang.X\n\tat a.b(C)\nCaused by: org.apache.spark.api.python.PythonException: {TRACEBACK}{DECODE}\n",
        f"{TRACEBACK}KeyError: 'a'{HANDLING}{DECODE}\n",
        # PySpark's stream runner, after an error of the reader's constructor
        f"{TRACEBACK}{DECODE}{HANDLING}UnboundLocalError: cannot access local variable 'reader'",
    ],
)
def test_an_error_of_this_package_is_extracted(text: str) -> None:
    error = extract_error(text)
    assert type(error) is DecodeError
    assert str(error) == "[DECODE] orders[0]@17: no JSON"


@pytest.mark.parametrize(
    "text",
    [
        "kafka_sql.errors.NoSuchError: [X] y",
        "other_kafka_sql.errors.DecodeError: [DECODE] y",
        "see kafka_sql.errors.DecodeError",
        f"{TRACEBACK}{DECODE}{HANDLING}RuntimeError: raised by the user's foreachBatch",
        f"{DECODE}\n\nThe above exception was the direct cause of the following exception:\n\n{TRACEBACK}KeyError: 1",
    ],
)
def test_another_error_is_not_extracted(text: str) -> None:
    assert extract_error(text) is None


class JavaError(Py4JJavaError):
    """A Java exception that PySpark does not convert."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


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
    source = '  File "/opt/kafka_sql/source/spark_readers.py", line 9, in <module>\n    import pyarrow as pa\n'
    error = extract_error(f"{TRACEBACK}{source}ModuleNotFoundError: No module named 'pyarrow'")
    assert isinstance(error, WorkerPythonError)
    assert "The Python of Spark's workers has no module 'pyarrow'" in str(error)
    assert isinstance(extract_error(f"{TRACEBACK}ModuleNotFoundError: No module named 'kafka_sql'"), WorkerPythonError)


def test_a_missing_module_of_a_users_function_is_not_explained() -> None:
    function = '  File "/home/me/prices.py", line 9, in discount\n    import numpy\n'
    assert extract_error(f"{TRACEBACK}{function}ModuleNotFoundError: No module named 'numpy'") is None


@pytest.mark.parametrize("position", ["", "; line 1 pos 14"])
def test_the_plan_of_a_query_that_cannot_be_analyzed_is_not_shown(position: str) -> None:
    message = f"[TABLE_OR_VIEW_NOT_FOUND] The table `t` cannot be found.\nSearch path: [a]. SQLSTATE: 42P01{position}"
    error = AnalysisException(f"{message};\n'Project [*]\n+- 'UnresolvedRelation [t], [], false")
    assert error_message(error) == message
