"""What Flink gets of a generated world, and how its rows are compared."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from confluent_kafka import Message

from tests.generated_queries.contents import difference, render, topic_content
from tests.generated_queries.flink import flink_table
from tests.generated_queries.tables import (
    DECIMAL,
    INSERT_ONLY,
    INT,
    RETRACT,
    RETRACT_KEYED,
    TIMESTAMP,
    UPSERT,
    Change,
    Column,
    Table,
)

COLUMNS = (Column("h", INT, False), Column("a_id", INT, False))
OLD, NEW = (1, 2), (1, 3)


@pytest.mark.parametrize(
    ("kind", "before", "after", "rows"),
    [
        (INSERT_ONLY, None, NEW, [("+I", 1, 3)]),
        (RETRACT, OLD, NEW, [("-U", 1, 2), ("+U", 1, 3)]),
        (RETRACT_KEYED, None, NEW, [("+I", 1, 3)]),
        (RETRACT, OLD, None, [("-D", 1, 2)]),
        (UPSERT, OLD, NEW, [("+U", 1, 3)]),
        (UPSERT, None, NEW, [("+U", 1, 3)]),
        (UPSERT, OLD, None, [("-D", 1, 2)]),
    ],
)
def test_rows_of_a_change(kind: str, before: Any, after: Any, rows: list[Any]) -> None:
    table = Table("a", kind, COLUMNS, ("h", "a_id") if kind in (UPSERT, RETRACT_KEYED) else ())
    assert flink_table(table, [Change("a", before, after)])["rows"] == rows


def test_a_watermark_is_an_expression() -> None:
    table = Table("a", INSERT_ONLY, (*COLUMNS, Column("a_ts", TIMESTAMP, False)), (), "a_ts")
    assert flink_table(table, [])["watermark"] == ("a_ts", "a_ts - INTERVAL '5' SECOND")


def test_rows_of_both_engines_have_the_same_text() -> None:
    columns = (*COLUMNS, Column("c", DECIMAL), Column("t", TIMESTAMP))
    flink = render([1, 2, "1.5000", "2024-01-01 00:00:05"], columns)
    assert flink == render([1, 2, 1.5, "2024-01-01 00:00:05.000"], columns)


def test_plain_json_only_adds_rows() -> None:
    class Record(Message):
        def key(self) -> None:
            return None

        def value(self) -> bytes:
            return b'{"h": 1, "a_id": 2}'

    assert topic_content([Record(), Record()], COLUMNS) == Counter({"(1, 2)": 2})


def test_a_difference_names_the_engine() -> None:
    assert difference(Counter(["(1)"]), Counter(["(2)"]), "Flink") == "only Flink: (1); only stream: (2)"
