"""Convert between instants and local times of a time zone, as Java does.

Arrow knows the transitions that the system's time zone files list, which end in 2037, but not the rules that hold
afterwards. zoneinfo does: it gives the offset of each later quarter of an hour, within which no zone changes its own.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from kafka_sql.errors import InvalidOptionError
from kafka_sql.runtime import arrow_compute as pc

_UNITS_PER_SECOND: Final = {"ms": 1_000, "us": 1_000_000}
_LAST: Final = 2_114_380_800  # 2037-01-01, in seconds since 1970
_EARLIEST: Final = -(2**62)  # in any unit: Arrow does not notice that an earlier instant overflows
_CYCLE: Final = 146_097 * 86_400  # seconds in 400 years, after which the calendar and the rules repeat
_QUARTER: Final = 900  # seconds
_EPOCH: Final = datetime(1970, 1, 1)
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?")


def to_local_times(instants: pa.TimestampArray, zone: str) -> pa.TimestampArray:
    """Return the local times of instants.

    Args:
        instants: timestamps in UTC, such that no local time overflows.
        zone: a time zone of Spark.

    Raises:
        InvalidOptionError: the time zone is unknown here.
    """
    name = _zone_name(zone)
    local = pc.local_timestamp(instants.cast(pa.timestamp(instants.type.unit, name)))
    return _replace_later(local, instants, name, is_local=False)


def to_instants(local: pa.TimestampArray, zone: str) -> pa.TimestampArray:
    """Return the instants of local times; of two instants the earlier, as in Java.

    Raises:
        pa.ArrowInvalid: a local time does not exist, because clocks are set forward.
        InvalidOptionError: the time zone is unknown here.
    """
    name = _zone_name(zone)
    is_later = pc.greater_equal(local.cast(pa.int64()), _LAST * _UNITS_PER_SECOND[local.type.unit])
    earlier = pc.if_else(is_later, pa.scalar(0, local.type), local) if _has_rules(name) else local
    earlier = pc.max_element_wise(earlier, pa.scalar(_EARLIEST, local.type), skip_nulls=False)
    instants = pc.assume_timezone(earlier, name, ambiguous="earliest", nonexistent="raise")
    return _replace_later(instants, local, name, is_local=True)


def _zone_name(zone: str) -> str:
    """Return Arrow's name of a time zone of Spark, which also has ``Z`` and offsets such as ``GMT+8``."""
    offset = _OFFSET.fullmatch(zone)
    name = "UTC" if zone == "Z" else f"{offset[1]}{offset[2]:0>2}:{offset[3] or '00'}" if offset else zone
    try:
        pc.local_timestamp(pa.scalar(0, pa.timestamp("s", name)))
    except pa.ArrowInvalid:
        raise InvalidOptionError(
            f"Time zone '{zone}' of 'spark.sql.session.timeZone' is not supported by metadata columns. Set a region "
            "such as 'Europe/Berlin' or an offset such as '+09:00'.",
            option="spark.sql.session.timeZone",
        ) from None
    return name


def _has_rules(zone: str) -> bool:
    """Return whether a time zone is a region, and not a fixed offset."""
    return zone[0] not in "+-"


def _replace_later(converted: pa.Array, times: pa.TimestampArray, zone: str, is_local: bool) -> pa.Array:
    """Return the converted times, with those after 2036 converted by the rules of the zone."""
    per_second = _UNITS_PER_SECOND[times.type.unit]
    last = pc.max(times.cast(pa.int64())).as_py()
    if last is None or last < _LAST * per_second or not _has_rules(zone):
        return converted
    numbers = np.asarray(times.cast(pa.int64()).fill_null(0))
    later = np.flatnonzero(numbers >= _LAST * per_second)
    quarters, positions = np.unique(numbers[later] // (per_second * _QUARTER), return_inverse=True)
    offsets = np.array([_offset(int(quarter) * _QUARTER, zone, is_local) for quarter in quarters], np.int64)[positions]
    result = np.array(converted.cast(pa.int64()).fill_null(0))
    result[later] = numbers[later] + (-offsets if is_local else offsets) * per_second
    return pa.array(result, mask=np.asarray(times.is_null())).cast(converted.type)


def _offset(seconds: int, zone: str, is_local: bool) -> int:
    """Return the offset from UTC in seconds at an instant, or at the earlier instant of a local time."""
    rules, in_cycle = ZoneInfo(zone), (seconds - _LAST) % _CYCLE + _LAST
    time = _EPOCH + timedelta(seconds=in_cycle)
    if is_local:
        instant = time.replace(tzinfo=rules).astimezone(timezone.utc)
        if instant.astimezone(rules).replace(tzinfo=None) != time:
            raise pa.ArrowInvalid(f"Timestamp doesn't exist in timezone '{zone}': {time}")
    else:
        instant = time.replace(tzinfo=timezone.utc)
    offset = instant.astimezone(rules).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0
