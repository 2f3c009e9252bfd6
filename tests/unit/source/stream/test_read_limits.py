"""Test admission control, with and without support in PySpark."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.source.stream import rate_limits
from kafka_sql.source.stream.rate_limits import limits_from_options
from tests.unit.source.fake_cluster import define


@pytest.mark.parametrize("option", ["scan.max-offsets-per-trigger", "scan.min-offsets-per-trigger"])
def test_pyspark_4_1_rejects_limits_by_name(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = define(**{option: "1"})
    monkeypatch.setattr(rate_limits, "AVAILABLE", True)
    rate_limits.check_admission_options(table)
    monkeypatch.setattr(rate_limits, "AVAILABLE", False)
    rate_limits.check_admission_options(define())
    with pytest.raises(
        UnsupportedOptionError, match=f"Table 'db.orders': option '{option}' requires PySpark 4.2 or later"
    ):
        rate_limits.check_admission_options(table)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("ReadAllAvailable",)),
        ({"scan.max-offsets-per-trigger": "7", "scan.max-bytes-per-trigger": "1 kb"}, ("ReadMaxRows", 7)),
        ({"scan.max-bytes-per-trigger": "1 kb", "scan.min-offsets-per-trigger": "2"}, ("ReadMaxBytes", 1024)),
        ({"scan.min-offsets-per-trigger": "2"}, ("ReadMinRows", 2)),
    ],
)
def test_default_limit(options: dict[str, str], expected: tuple[Any, ...]) -> None:
    limits = pytest.importorskip("pyspark.sql.streaming.datasource", reason="PySpark 4.2 or later")
    limit = rate_limits.default_limit(limits_from_options(define(**options).options))
    assert limit == getattr(limits, expected[0])(*expected[1:])
    assert rate_limits.is_limited(limit) is bool(options)
