"""Test local times against zoneinfo, also after 2037, where Arrow does not apply the rules of a zone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import InvalidOptionError
from kafka_sql.table.local_times import to_instants, to_local_times

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ZONES = ["America/Los_Angeles", "Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Tokyo", "UTC"]
MILLIS = st.integers(0, 253_402_300_799_999 - 86_400_000)  # to the year 9999, where Python's times end
LTZ, NTZ = pa.timestamp("ms", "UTC"), pa.timestamp("ms")


def local_millis(millis: int, zone: str) -> int:
    time = (EPOCH + timedelta(milliseconds=millis)).astimezone(ZoneInfo(zone))
    return (time.replace(tzinfo=timezone.utc) - EPOCH) // timedelta(milliseconds=1)


@given(st.lists(st.none() | MILLIS), st.sampled_from(ZONES))
def test_local_times(millis: list[int | None], zone: str) -> None:
    local = to_local_times(pa.array(millis, pa.int64()).cast(LTZ), zone)
    assert local.type == NTZ
    expected = [None if m is None else local_millis(m, zone) for m in millis]
    assert local.cast(pa.int64()).to_pylist() == expected
    # back to the instant, or an hour earlier if the local time occurs twice
    again = to_instants(local, zone).cast(pa.int64()).to_pylist()
    assert [None if m is None else local_millis(m, zone) for m in again] == expected
    assert all(a is None or b is None or 0 <= b - a <= 3_600_000 for a, b in zip(again, millis, strict=True))


@pytest.mark.parametrize("year", [2050, 2450, 100_000])
def test_daylight_saving_time_does_not_end_in_2037(year: int) -> None:
    noon = (year - 2050) // 400 * 146_097 * 86_400_000 + 2_540_000_000_000  # in summer, as 400 years repeat
    local = to_local_times(pa.array([noon]).cast(LTZ), "America/Los_Angeles")
    assert local.cast(pa.int64()).to_pylist() == [noon - 7 * 3_600_000]


def test_local_times_that_do_not_exist_or_occur_twice() -> None:
    twice = pa.array([datetime(2050, 10, 30, 2, 30), None], NTZ)
    first = datetime(2050, 10, 30, 0, 30, tzinfo=timezone.utc)
    expected = [(first - EPOCH) // timedelta(milliseconds=1), None]
    assert to_instants(twice, "Europe/Berlin").cast(pa.int64()).to_pylist() == expected
    with pytest.raises(pa.ArrowInvalid, match="doesn't exist in timezone 'Europe/Berlin': 2050-03-27 02:30"):
        to_instants(pa.array([datetime(2050, 3, 27, 2, 30)], NTZ), "Europe/Berlin")


def test_the_earliest_local_time_stays_negative() -> None:
    assert to_instants(pa.array([-(2**63)]).cast(pa.timestamp("us")), "Asia/Tokyo").cast(pa.int64())[0].as_py() < 0


@pytest.mark.parametrize(
    ("zone", "hours"), [("GMT+8", 8), ("UTC-3", -3), ("UT+01:00", 1), ("+9", 9), ("+0900", 9), ("Z", 0), ("-08:00", -8)]
)
def test_sparks_offsets(zone: str, hours: int) -> None:
    local = to_local_times(pa.array([0, 2_540_000_000_000]).cast(LTZ), zone)
    assert local.cast(pa.int64()).to_pylist() == [hours * 3_600_000, 2_540_000_000_000 + hours * 3_600_000]


def test_unknown_time_zones() -> None:
    with pytest.raises(InvalidOptionError, match=r"Time zone 'PST' of 'spark\.sql\.session\.timeZone'"):
        to_local_times(pa.array([0]).cast(LTZ), "PST")
