"""Parse options with offsets (``partition:0,offset:42;partition:1,offset:300``) and partitions (``orders:0,1``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options.secrets import mask_user_info

# trailing commas are ignored, as by Java's String.split
_PAIR = re.compile(r"(?:topic:([\w.-]+),)?partition:([+-]?0*\d{1,19}),offset:([+-]?0*\d{1,19}),*", re.ASCII)
_SET = re.compile(r"\s*([\w.-]+)\s*:\s*(\d{1,10}(?:\s*,\s*\d{1,10})*)\s*", re.ASCII)

# Sentinel offsets of Flink's KafkaPartitionSplit.
LATEST: Final = -1
EARLIEST: Final = -2
COMMITTED: Final = -3


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
