"""Errors that arrived as text have the attributes that their messages name."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import (
    BrokerUnreachableError,
    DecodeError,
    EncodeError,
    FetchError,
    KafkaSqlError,
    MissingOptionError,
    SchemaError,
    TopicNotFoundError,
)
from kafka_sql.sql.errors.from_text import error_from_message


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (
            error_from_message(DecodeError, "orders[3]@17 (key), field 'a.b[2]': found \"x: y\", expected INT"),
            {"where": "orders[3]@17 (key)", "field": "a.b[2]", "reason": 'found "x: y", expected INT', "row": -1},
        ),
        (
            error_from_message(DecodeError, "my.orders[3]@17: the payload is not JSON: line 1"),
            {"where": "my.orders[3]@17", "field": None, "reason": "the payload is not JSON: line 1", "row": -1},
        ),
        (error_from_message(DecodeError, "record 5 of the buffer: no"), {"where": None, "field": None, "row": 5}),
        (error_from_message(DecodeError, "anything"), {"where": None, "reason": "anything", "row": -1}),
        (
            error_from_message(
                TopicNotFoundError, "Topic 'a.b' does not exist on localhost:9092,h:1. Did you mean 'c'?"
            ),
            {"topic": "a.b", "servers": "localhost:9092,h:1", "partition": None, "table": None},
        ),
        (
            error_from_message(FetchError, "Table 't': reading my-topic[12]@345 stopped."),
            {"table": "t", "topic": "my-topic", "partition": 12, "offset": 345},
        ),
        (
            error_from_message(FetchError, "orders[1] has no leader"),
            {"topic": "orders", "partition": 1, "offset": None},
        ),
        (
            error_from_message(BrokerUnreachableError, "No broker of 'h:9' (option 'properties.bootstrap.servers')"),
            {"servers": "h:9", "topic": None},
        ),
        (
            error_from_message(MissingOptionError, "Table 't': option 'properties.group.id' is required"),
            {"table": "t", "option": "properties.group.id"},
        ),
        (error_from_message(SchemaError, "Table 't': column 'a' not found."), {"table": "t", "column": "a"}),
        (error_from_message(EncodeError, "Column 'ts' (METADATA FROM 'timestamp') has"), {"field": "ts"}),
    ],
    ids=str,
)
def test_an_error_that_arrived_as_text_has_the_facts_of_its_message(
    error: KafkaSqlError, facts: dict[str, Any]
) -> None:
    assert {name: getattr(error, name) for name in facts} == facts
