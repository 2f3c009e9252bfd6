"""Parse options with timestamps: milliseconds, ISO 8601, or relative to the start of the query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from kafka_sql.options.option import Option, parse_duration

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLIS = re.compile(r"\s*[+-]?\d{1,19}\s*", re.ASCII)
_RELATIVE = re.compile(r"\s*-\s*(\d+\s*[A-Za-z]+)\s*", re.ASCII)
_ISO = re.compile(
    r"\s*(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?\s*", re.ASCII
)


@dataclass(frozen=True)
class TimestampSpec:
    """A timestamp as an option specifies it."""

    millis: int  # milliseconds since 1970-01-01 UTC; if relative, since the start of the query (negative: before it)
    relative: bool = False  # whether ``millis`` is relative to the start of the query

    def resolve(self, now: int) -> int:
        """Return milliseconds since 1970-01-01 UTC, for a query that starts at ``now``."""
        return now + self.millis if self.relative else self.millis


def timestamp(key: str, doc: str, **attributes: Any) -> Option[TimestampSpec]:
    """Define an option with a timestamp."""
    return Option(key, parse_timestamp, "Long", doc, **attributes)


def parse_timestamp(text: str) -> TimestampSpec:
    """Parse a timestamp; raise ValueError for other text. The default time zone is UTC, the default time 00:00."""
    if _MILLIS.fullmatch(text) and -(1 << 63) <= int(text) < 1 << 63:
        return TimestampSpec(int(text))
    relative = _RELATIVE.fullmatch(text)
    if relative is not None:
        return TimestampSpec(-parse_duration(relative[1]), relative=True)
    iso = _ISO.fullmatch(text)
    if iso is None:
        raise ValueError(
            "expected milliseconds since 1970-01-01 UTC, a timestamp such as '2026-03-01T12:00:00Z', or an interval "
            "before the start of the query such as '-1 hour'"
        )
    date, time, seconds, fraction, zone = iso.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    without_fraction = datetime.fromisoformat(f"{date}T{time or '00:00'}:{seconds or '00'}{zone}")
    return TimestampSpec(
        (without_fraction - _EPOCH) // timedelta(milliseconds=1) + int((fraction or "0").ljust(3, "0")[:3])
    )
