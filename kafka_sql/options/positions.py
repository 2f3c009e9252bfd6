"""Parse options with positions in partitions: offsets, partitions, and timestamps.

A timestamp is given in milliseconds, in ISO 8601, or relative to the start of the query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options.option import Option, parse_duration
from kafka_sql.options.secrets import mask_user_info

# trailing commas are ignored, as by Java's String.split
_PAIR = re.compile(r"(?:topic:([\w.-]+),)?partition:([+-]?0*\d{1,19}),offset:([+-]?0*\d{1,19}),*", re.ASCII)
_SET = re.compile(r"\s*([\w.-]+)\s*:\s*(\d{1,10}(?:\s*,\s*\d{1,10})*)\s*", re.ASCII)

# Sentinel offsets of Flink's KafkaPartitionSplit.
LATEST: Final = -1
EARLIEST: Final = -2
COMMITTED: Final = -3

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLIS = re.compile(r"\s*[+-]?\d{1,19}\s*", re.ASCII)
_RELATIVE = re.compile(r"\s*-\s*(\d+\s*[A-Za-z]+)\s*", re.ASCII)
_ISO = re.compile(
    r"\s*(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?\s*", re.ASCII
)


def parse_specific_offsets(text: str, key: str) -> dict[tuple[str | None, int], int]:
    """Parse specific offsets. If a partition is listed twice, the last offset applies.

    Returns:
        offsets by topic and partition; the topic is None if the entries do not name it.

    Raises:
        InvalidOptionError: the text has another format.
    """
    offsets: dict[tuple[str | None, int], int] = {}
    for pair in text.rstrip(";").split(";"):
        match = _PAIR.fullmatch(pair)
        if match is None or not 0 <= int(match[2]) < 1 << 31 or not COMMITTED <= int(match[3]) < 1 << 63:
            raise InvalidOptionError(
                f"Invalid properties '{key}' should follow the format "
                f"'partition:0,offset:42;partition:1,offset:300', but is '{mask_user_info(text)}'. For several "
                "topics, each entry names its topic: 'topic:a,partition:0,offset:42;topic:b,partition:0,offset:7'.",
                option=key,
            )
        offsets[match[1], int(match[2])] = int(match[3])
    if len({topic is None for topic, _ in offsets}) > 1:
        raise InvalidOptionError(
            f"Invalid properties '{key}': either all entries or none must name their topic, but is "
            f"'{mask_user_info(text)}'.",
            option=key,
        )
    return offsets


def fill_in_topic(offsets: Mapping[tuple[str | None, int], int], topics: tuple[str, ...]) -> dict[tuple[str, int], int]:
    """Replace a missing topic with the table's only topic."""
    return {
        (topics[0] if topic is None else topic, partition): offset for (topic, partition), offset in offsets.items()
    }


def parse_partitions(text: str) -> tuple[tuple[str, int], ...]:
    """Parse partitions such as ``orders:0,1;returns:3``, and return them sorted; raise ValueError for other text."""
    partitions: set[tuple[str, int]] = set()
    for part in text.split(";"):
        match = _SET.fullmatch(part)
        if match is None or any(int(number) >= 1 << 31 for number in match[2].split(",")):
            raise ValueError("expected topics with partitions, such as 'orders:0,1;returns:3'")
        partitions |= {(match[1], int(number)) for number in match[2].split(",")}
    return tuple(sorted(partitions))


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
