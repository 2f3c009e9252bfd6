"""Which columns are inferred from change events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_sql.formats.format import ColumnTypes
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options


def infer(format_name: str, *events: Any, **options: str) -> ColumnTypes:
    cdc_format = FORMATS[format_name]
    assert cdc_format.infer_from_payloads is not None
    values = {f"{format_name}.{key.replace('_', '-').replace('--', '.')}": text for key, text in options.items()}
    payloads = [json.dumps(event).encode() for event in events]
    return cdc_format.infer_from_payloads(payloads, Options(cdc_format.options, values), None)


@pytest.mark.parametrize(
    ("format_name", "events"),
    [
        (
            "debezium-json",
            [
                {"before": None, "after": {"id": 1, "name": "a"}, "op": "c", "source": {"db": "shop"}},
                {"before": {"id": 1, "name": None, "price": 1.5}, "after": None, "op": "d"},
            ],
        ),
        (
            "canal-json",
            [
                {"data": [{"id": 1}, {"id": 2, "name": "a"}], "old": [{"price": 1.5}, None], "type": "UPDATE"},
                {"data": None, "type": "CREATE"},
            ],
        ),
        (
            "maxwell-json",
            [{"data": {"id": 1, "name": "a", "price": 2}, "old": {"price": 1.5}, "type": "update", "table": "t"}],
        ),
        (
            "ogg-json",
            [{"after": {"id": 1, "name": "a"}, "op_type": "I"}, {"before": {"id": 1, "price": 1.5}, "op_type": "D"}],
        ),
    ],
)
def test_columns_are_those_of_the_rows(format_name: str, events: list[Any]) -> None:
    assert infer(format_name, *events) == (("id", "BIGINT"), ("name", "STRING"), ("price", "DOUBLE"))


def test_debezium_events_in_an_envelope() -> None:
    event = {"schema": {"type": "struct"}, "payload": {"before": None, "after": {"id": 1}, "op": "c"}}
    assert infer("debezium-json", event, schema_include="true") == (("id", "BIGINT"),)
    assert infer("debezium-json", event) == ()


def test_excluded_canal_events_have_no_columns() -> None:
    events = [
        {"database": "shop", "table": table, "type": "INSERT", "data": [{table: 1}]} for table in ("orders", "items")
    ]
    assert infer("canal-json", *events, table__include="orders") == (("orders", "BIGINT"),)
