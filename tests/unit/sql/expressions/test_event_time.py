"""Test which source column a computed event time follows."""

from __future__ import annotations

import pytest

from kafka_sql.sql.declarations.create import parse_create

COLUMNS = (
    "n BIGINT, f DOUBLE, s STRING, e ROW<`at` ROW<ms BIGINT>>, other BIGINT, "
    "m TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'"
)


@pytest.mark.parametrize(
    ("expression", "path", "unit"),
    [
        ("TO_TIMESTAMP_LTZ(n, 3)", ("n",), 1e3),
        ("TO_TIMESTAMP_LTZ(n)", ("n",), 1e3),
        ("TO_TIMESTAMP_LTZ(n, 0)", ("n",), 1e6),
        ("TO_TIMESTAMP_LTZ(e.`at`.ms / 1000, 3)", ("e", "at", "ms"), 1.0),
        ("TO_TIMESTAMP(FROM_UNIXTIME(n / 1000))", ("n",), 1e3),
        ("TO_TIMESTAMP_LTZ(n * 60 + 5, 0)", ("n",), 60e6),
        ("TO_TIMESTAMP_LTZ(CAST(s AS BIGINT), 0)", ("s",), 1e6),
        ("TO_TIMESTAMP(s)", ("s",), 1.0),
        ("TO_TIMESTAMP_LTZ(s, 'yyyy-MM-dd HH:mm')", ("s",), 1.0),
        ("TO_TIMESTAMP(s, 'yyyy-MM-dd''T''HH:mm:ss')", ("s",), 1.0),
        ("TO_TIMESTAMP(CAST(n AS STRING), 'yyyyMMdd')", ("n",), None),
        ("CAST(s AS TIMESTAMP(3))", ("s",), 1.0),
        ("CAST(m AS TIMESTAMP(3)) - INTERVAL '1' HOUR", ("m",), 1.0),
    ],
)
def test_conversions_follow_a_column(expression: str, path: tuple[str, ...], unit: float | None) -> None:
    watermark = parse_create(
        f"CREATE TABLE t ({COLUMNS}, ts AS {expression}, WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka')"
    ).watermark
    assert watermark is not None
    assert watermark.source is not None
    assert (watermark.source.path, watermark.source.unit) == (path, unit)


@pytest.mark.parametrize(
    "expression",
    [
        "TO_TIMESTAMP_LTZ(n + other, 3)",
        "TO_TIMESTAMP_LTZ(0 - n, 3)",
        "TO_TIMESTAMP_LTZ(s, 'dd.MM.yyyy')",
        "TO_TIMESTAMP_LTZ(s, 'yyyy-MM-dd HH:mm:ss', 'Europe/Berlin')",
        "TO_TIMESTAMP(s, 'dd.MM.yyyy')",
        "CASE WHEN n > 0 THEN TO_TIMESTAMP(s) END",
        "TO_TIMESTAMP(CONCAT(s, ' 00:00:00'))",
        "CURRENT_TIMESTAMP",
    ],
)
def test_other_expressions_follow_none(expression: str) -> None:
    watermark = parse_create(
        f"CREATE TABLE t ({COLUMNS}, ts AS {expression}, WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka')"
    ).watermark
    assert watermark is not None
    assert watermark.source is None
