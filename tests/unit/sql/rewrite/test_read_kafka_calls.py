"""Test how calls of read_kafka(...) are found and parsed."""

from __future__ import annotations

import pytest

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    SqlSyntaxError,
    UnknownOptionError,
    UnsupportedSqlError,
)
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import find_relations
from kafka_sql.sql.rewrite.read_kafka import Call, find_calls

SERVERS = "properties.bootstrap.servers"
BATCH = {"connector": "kafka", "scan.startup.mode": "earliest-offset"}
STREAM = {"connector": "kafka", "scan.startup.mode": "latest-offset"}


def calls(sql: str, streaming: bool = False) -> list[Call]:
    query = QueryText(sql)
    return find_calls(query, find_relations(query), streaming)


def options(arguments: str, streaming: bool = False) -> dict[str, str]:
    """Return the options of the one call in a query."""
    (call,) = calls(f"SELECT * FROM read_kafka({arguments})", streaming)
    return dict(call.options)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("bootstrapServers => 'a:1,b:2', subscribe => 'x,y'", {SERVERS: "a:1,b:2", "topic": "x;y"}),
        ("BOOTSTRAPSERVERS => 'a:1', Subscribe => 'x'", {SERVERS: "a:1", "topic": "x"}),
        ("subscribePattern => 'x.*'", {"topic-pattern": "x.*"}),
        (
            "maxOffsetsPerTrigger => 10, maxTriggerDelay => '1 min', failOnDataLoss => FALSE",
            {
                "scan.max-offsets-per-trigger": "10",
                "scan.max-trigger-delay": "1 min",
                "scan.fail-on-data-loss": "false",
            },
        ),
        ("`kafka.ssl.keystore.type` => 'PEM'", {"properties.ssl.keystore.type": "PEM"}),
        ("`Kafka.group.id` => 'g'", {"properties.group.id": "g"}),
        ("startingOffsets => 'LATEST'", {"scan.startup.mode": "latest-offset"}),
        ("endingOffsets => 'latest'", {}),
        ("topic => 'x', format => 'json'", {"topic": "x", "format": "json"}),
        ("`scan.startup.timestamp-millis` => 17", {"scan.startup.timestamp-millis": "17"}),
        ("connector => 'upsert-kafka'", {"connector": "upsert-kafka"}),
        (r"""topic => "it's", format => r'\d', `x.b` => 'it\'s', `x.c` => 'two
lines'""", {"topic": "it's", "format": r"\d", "x.b": "it's", "x.c": "two\nlines"}),
        ("/* a */ topic -- b\n => 'x' -- c\n", {"topic": "x"}),
    ],
)  # fmt: skip
def test_arguments_become_options(arguments: str, expected: dict[str, str]) -> None:
    has_mode = any(key.startswith("scan.startup.") for key in expected) or "connector" in expected
    defaults = {"connector": "kafka"} if has_mode else BATCH
    assert options(arguments) == {**defaults, **expected}


def test_a_stream_starts_at_the_end_by_default() -> None:
    assert options("topic => 'x'", streaming=True) == {**STREAM, "topic": "x"}
    (call,) = calls("SELECT * FROM STREAM read_kafka(topic => 'x')")
    assert (dict(call.options), call.reference.is_stream) == ({**STREAM, "topic": "x"}, True)


def test_positions_and_headers() -> None:
    sql = "SELECT ')' FROM STREAM `Read_Kafka` (includeheaders => TRUE) r, x JOIN read_kafka(topic => ')') /* ) */"
    first, second = calls(sql)
    assert sql[first.reference.start : first.reference.end] == "STREAM `Read_Kafka` (includeheaders => TRUE)"
    assert sql[second.reference.start : second.reference.end] == "read_kafka(topic => ')')"
    assert (first.has_headers, second.has_headers) == (True, False)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'read_kafka(a => 1)'",
        "SELECT 1 /* FROM read_kafka(a => 1) */",
        "SELECT * FROM read_kafka",
        "SELECT * FROM db.read_kafka(a => 1)",
        "INSERT INTO read_kafka (a) VALUES (1)",
        "SELECT read_kafka(1), read_kafka.a FROM t",
    ],
)
def test_other_names_are_not_calls(sql: str) -> None:
    assert calls(sql) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ("'x'", SqlSyntaxError, r"read_kafka in line 2: expected an argument such as topic => 'orders'"),
        ("topic = 'x'", SqlSyntaxError, "expected an argument such as"),
        ("kafka.group.id => 'x'", SqlSyntaxError, "with backticks if it has a dot"),
        ("topic => 'x' format => 'json'", UnsupportedSqlError, "the value of 'topic' must be a string in quotes"),
        ("topic => 'x', ", SqlSyntaxError, "expected an argument such as"),
        ("topic => :t", UnsupportedSqlError, "Expressions and parameters are not supported"),
        ("topic => concat('x', 'y')", UnsupportedSqlError, "the value of 'topic' must be a string"),
        ("topic => 'x' 'y'", UnsupportedSqlError, "the value of 'topic' must be a string"),
        ("topic => 'x', topic => 'y'", ConflictingOptionsError, "the argument 'topic' is set twice"),
        ("topic => 'x', subscribe => 'y'", ConflictingOptionsError, "two arguments set the option 'topic'"),
        ("includeHeaders => 'yes'", InvalidOptionError, "'includeHeaders' must be TRUE or FALSE"),
        ('startingOffsets => \'{"x": {"0": 5}}\'', InvalidOptionError, "'startingOffsets' supports 'earliest' and"),
        ("endingOffsets => 'earliest'", InvalidOptionError, "'endingOffsets' supports only 'latest'"),
    ],
)
def test_errors_name_the_argument(arguments: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        calls(f"SELECT * FROM\nread_kafka({arguments})")


def test_errors_do_not_show_values() -> None:
    for arguments in ("`kafka.sasl.password` => 'hunter2' x", "`kafka.sasl.password` => 'hunter2', 'x'"):
        with pytest.raises((SqlSyntaxError, UnsupportedSqlError)) as error:
            options(arguments)
        assert "hunter2" not in str(error.value)
    (call,) = calls("SELECT * FROM read_kafka(`kafka.sasl.password` => 'hunter2')")
    assert "hunter2" not in repr(call)


@pytest.mark.parametrize(
    "sql",
    ["SELECT read_kafka(topic => 'x')", "SELECT * FROM STREAM(read_kafka(topic => 'x'))", "CALL read_kafka(a => 1)"],
)
def test_calls_outside_of_from_are_rejected(sql: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=r"read_kafka in line 1: it is only supported in FROM and JOIN"):
        calls(sql)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("bootstrapServer", "bootstrapServers"), ("startingOffset", "startingOffsets"), ("fromat", "format")],
)
def test_unknown_arguments_suggest_the_nearest(name: str, suggestion: str) -> None:
    with pytest.raises(UnknownOptionError) as raised:
        options(f"{name} => 'x'")
    message = f"[UNKNOWN_OPTION] read_kafka: unknown argument '{name}'. Did you mean '{suggestion}'? Arguments are "
    assert str(raised.value).startswith(message)
    assert raised.value.option == name
