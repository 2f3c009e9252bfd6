"""Expressions with another value in a query are reported when a table is declared."""

from __future__ import annotations

import uuid

import pytest

from kafka_sql.sql.declarations.create import parse_create


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("q / 2", ["5 / 2 is 2.5; write 'div' there"]),
        ("(1 + items[1]) / q", ["5 / 2 is 2.5", "a[1] is Spark's, and the second element"]),
        ("q / 2.0", []),
        ("price / q", []),
        ("labels['a']", []),
        ("q % 2", []),
    ],
)
def test_warning(expression: str, words: list[str], caplog: pytest.LogCaptureFixture) -> None:
    name = f"c_{uuid.uuid4().hex}"
    create = (
        f"CREATE TABLE t (q INT, price DECIMAL(5, 2), items ARRAY<BIGINT>, labels MAP<STRING, STRING>, {name} AS "
        f"{expression}) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:1', "
        "'format' = 'json')"
    )
    for _ in range(2):
        parse_create(create)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(words)
    for message, part in zip(messages, words, strict=True):
        assert message.startswith(f"Computed column '{name}': ")
        assert part in message


def test_nanoseconds(caplog: pytest.LogCaptureFixture) -> None:
    name = f"c_{uuid.uuid4().hex}"
    parse_create(
        f"CREATE TABLE t ({name} TIMESTAMP(9), r_{name} ROW<x ARRAY<TIMESTAMP_LTZ(7)>>, ok_{name} TIMESTAMP(6), "
        f"m_{name} TIMESTAMP_LTZ(9) METADATA FROM 'timestamp') WITH ('connector' = 'kafka')"
    )
    rest = (
        " has microseconds, because Spark has no nanoseconds. Digits after the sixth are dropped when a value is read, "
        "and are zeros when it is written."
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"Column '{name}': TIMESTAMP(9){rest}",
        f"Column 'r_{name}.x': TIMESTAMP_LTZ(7){rest}",
    ]
