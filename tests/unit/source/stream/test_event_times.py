"""Test the conversion of source columns to event times, and when batches are ordered by them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.source.stream.event_time_order import UNKNOWN_TIME
from kafka_sql.source.stream.event_times import event_time_order, to_microseconds
from kafka_sql.table.table import EventTimeSource, Watermark
from tests.unit.source.fake_cluster import define

NOON = datetime(2026, 3, 2, 12)
MICROS = 1772452800_000_000


@pytest.mark.parametrize(
    ("values", "type", "unit", "expected"),
    [
        ([NOON, None], pa.timestamp("us"), 1.0, [MICROS, UNKNOWN_TIME]),
        ([NOON.replace(tzinfo=timezone.utc)], pa.timestamp("us", "UTC"), 1.0, [MICROS]),
        ([date(1970, 1, 2)], pa.date32(), 1.0, [86_400_000_000]),
        ([5, None, 2**62], pa.int64(), 1e3, [5_000, UNKNOWN_TIME, UNKNOWN_TIME]),
        ([-(2**63), 2**63 - 1, -1], pa.int64(), 1e3, [UNKNOWN_TIME, UNKNOWN_TIME, -1_000]),
        ([-(2**31), 2**31 - 1, -1], pa.date32(), 1.0, [UNKNOWN_TIME, UNKNOWN_TIME, -86_400_000_000]),
        ([5], pa.int32(), None, [5]),
        ([1_999, 2_000], pa.int64(), 1e-3, [1, 2]),
        ([1.5, float("nan")], pa.float64(), 1e6, [1_500_000, UNKNOWN_TIME]),
        ([Decimal("1.50")], pa.decimal128(10, 2), 1e3, [1_500]),
        (
            ["2026-03-02 12:00:00", "2026-03-02T12:00:00.5Z", "20260302"],
            pa.string(),
            1.0,
            [MICROS, MICROS + 500_000, MICROS - 12 * 3_600_000_000],
        ),
        (
            ["2026-03-02 12", "2026-3-2 12:00:00", "soon", None, "2026-13-02"],
            pa.string(),
            None,
            [MICROS] + 4 * [UNKNOWN_TIME],
        ),
        (["17", "x", "-3"], pa.string(), 1e3, [17_000, UNKNOWN_TIME, -3_000]),
    ],
)
def test_event_times(values: list[Any], type: pa.DataType, unit: float | None, expected: list[int]) -> None:
    assert to_microseconds(pa.array(values, type), unit).tolist() == expected


def test_batches_are_ordered_if_the_table_has_a_watermark_and_a_limit() -> None:
    schema = pa.schema([("v", pa.binary())])
    limit, watermark = {"scan_max__offsets__per__trigger": "5"}, Watermark("v", "'0' SECOND", "v", True)

    def is_ordered(mark: Watermark | None, **options: str) -> bool:
        definition = define(**options)
        return (
            event_time_order(replace(definition, table=replace(definition.table, watermark=mark)), schema) is not None
        )

    assert is_ordered(watermark, **limit)
    assert is_ordered(replace(watermark, source=EventTimeSource(("v",), 1.0)), scan_max__bytes__per__trigger="1 mb")
    assert not is_ordered(watermark)
    assert not is_ordered(None, **limit)
    assert not is_ordered(watermark, **limit, scan_watermark_alignment_enabled="false")
