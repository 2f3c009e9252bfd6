"""Errors of other processes arrive with their attributes, although Spark passes on only their text."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import DecodeError, FetchError, KafkaSqlError, SqlSyntaxError, TopicNotFoundError
from kafka_sql.runtime.error_trailer import find_error, raises_attributes, with_attributes


@raises_attributes
class Reader:
    _definition = SimpleNamespace(name="shop.orders")

    def partitions(self, error: KafkaSqlError) -> None:
        raise error

    def read(self, error: KafkaSqlError) -> Iterator[int]:
        yield 1
        self.partitions(error)  # adds its attributes once


def arrive(error: KafkaSqlError) -> KafkaSqlError:
    """Return the error as the driver gets it from a task."""
    try:
        list(Reader().read(error))
    except KafkaSqlError:
        found = find_error(f"Job aborted.\n{traceback.format_exc()} SQLSTATE: 38000\n\tat org.apache.Task(Task.scala)")
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    "error",
    [
        DecodeError(3, "a.b[2]", 'found "x: y"', "orders[3]@17 (key)").with_advice("to tolerate it, set x"),
        DecodeError(0, None, 'found "\n[attributes {"field": "forged"}]"', "t[0]@0"),
        FetchError("t[0]@5: ü is \\ gone", topic="t", partition=0, offset=5, servers="h:1", table="other"),
        SqlSyntaxError("expected\na type", line=2, column=7, marked="2 | a INTT\n      ^"),
        KafkaSqlError("no attributes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_it_is(error: KafkaSqlError) -> None:
    attributes = {**vars(error), **({"table": "shop.orders"} if vars(error).get("table", "") is None else {})}
    expected = f"[{error.condition()}] {' '.join(error.message.splitlines())}", attributes
    arrived = arrive(error)
    assert type(arrived) is type(error)
    assert (str(arrived), vars(arrived)) == expected


def test_the_table_of_the_reader_is_added() -> None:
    assert vars(arrive(TopicNotFoundError("gone")))["table"] == "shop.orders"


def test_a_user_does_not_see_the_attributes() -> None:
    assert str(arrive(TopicNotFoundError("gone", topic="t"))) == "[TOPIC_NOT_FOUND] gone"


def test_an_error_of_an_error_has_its_attributes() -> None:
    """As Spark's error is the cause of the one that a function for foreachBatch raises."""
    text = 'kafka_sql.errors.FetchError: [FETCH] gone\n[attributes {"topic": "t"}]\n\tat a.B(C)\n\nThe above\n'
    found = find_error(f"{text}kafka_sql.errors.FetchError: [FETCH] gone\n")
    assert found is not None
    assert vars(found[0])["topic"] == "t"


@pytest.mark.parametrize(
    "trailer", ["", '\n[attributes {"where": "t[0]', '\n[attributes {"where}]', "\n[attributes {}]"]
)
def test_an_error_without_its_attributes(trailer: str) -> None:
    found = find_error(f"kafka_sql.errors.DecodeError: [DECODE] t[0]@5: no JSON{trailer}")
    assert found is not None
    assert str(found[0]) == "[DECODE] t[0]@5: no JSON"
    assert vars(found[0]) == {"field": None, "row": -1, "reason": "t[0]@5: no JSON", "where": None}


def test_only_known_attributes_are_set() -> None:
    found = find_error('kafka_sql.errors.FetchError: [FETCH] gone\n[attributes {"topic": "t", "args": 1}]')
    assert found is not None
    assert "args" not in vars(found[0])


def test_other_errors_stay() -> None:
    error: Any = ValueError("x")
    with pytest.raises(ValueError, match=r"^x$"), with_attributes():
        raise error
