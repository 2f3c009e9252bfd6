"""Test the clauses after a table name: options, TABLESAMPLE, WATERMARK and an alias."""

from __future__ import annotations

import pytest

from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_suffix import parse_table_suffix


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        ("", ""),
        ("x", "alias"),
        ("AS x", "alias"),
        ("`where`", "alias"),
        ("where a", ""),
        ("JOIN u", ""),
        (", u", ""),
        ("WITH ('a' = 'b')", "options"),
        ("WITH ('a' = 'b') x", "alias options"),
        ("WITH", "alias"),
        ("TABLESAMPLE (10 PERCENT)", "sample"),
        ("TABLESAMPLE (10 PERCENT) REPEATABLE (5) x", "alias sample"),
        ("TABLESAMPLE (10 PERCENT) WHERE a", "sample"),
        ("WATERMARK ts DELAY OF INTERVAL '5' SECOND", "watermark"),
        ("WATERMARK ts DELAY OF INTERVAL 5 SECONDS x", "alias watermark"),
        ("WATERMARK to_timestamp(a, 'b') AS ts DELAY OF INTERVAL - '1' DAY AS x", "alias watermark"),
        ("WATERMARK ts DELAY OF INTERVAL '1 2' DAY TO HOUR WHERE a", "watermark"),
        ("WATERMARK ts DELAY OF '5' SECOND", "watermark"),
        ("WATERMARK", "alias"),
        ("WATERMARK, u", "alias"),
        ("WATERMARK WHERE delay", "alias"),
        ("WATERMARK ts DELAY", "alias"),
        ("FETCH FIRST 3 ROWS ONLY", ""),
        ("fetch WHERE a", "alias"),
    ],
)
def test_clauses(suffix: str, expected: str) -> None:
    parsed = parse_table_suffix(QueryText(f"t {suffix}"), 1)
    matches = {
        "alias": parsed.has_alias,
        "options": parsed.has_options,
        "sample": parsed.has_sample,
        "watermark": parsed.has_watermark,
    }
    assert " ".join(name for name, is_found in matches.items() if is_found) == expected


def test_the_position_of_the_alias() -> None:
    query = QueryText("t WATERMARK (a + (b)) DELAY OF INTERVAL '5' SECOND x")
    assert query.tokens[parse_table_suffix(query, 1).end].text == "x"
