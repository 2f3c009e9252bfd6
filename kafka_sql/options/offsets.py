"""Offsets and partitions as options write them: ``partition:0,offset:42;partition:1,offset:300``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError

# as Java splits: commas at the end are nothing
_PAIR = re.compile(r"(?:topic:([\w.-]+),)?partition:([+-]?0*\d{1,19}),offset:([+-]?0*\d{1,19}),*", re.ASCII)
_SET = re.compile(r"\s*([\w.-]+)\s*:\s*(\d{1,10}(?:\s*,\s*\d{1,10})*)\s*", re.ASCII)

# Offsets that stand for a position, as in Flink's KafkaPartitionSplit.
LATEST: Final = -1
EARLIEST: Final = -2
COMMITTED: Final = -3


def parse_specific_offsets(text: str, key: str) -> dict[tuple[str | None, int], int]:
    """Offset by topic and partition; of one that is named twice, the last. Without a topic: of the table's only one.

    Raises:
        InvalidOptionError: the text of option ``key`` has another form.
    """
    offsets: dict[tuple[str | None, int], int] = {}
    for pair in text.rstrip(";").split(";"):
        match = _PAIR.fullmatch(pair)
        if match is None or not 0 <= int(match[2]) < 1 << 31 or not COMMITTED <= int(match[3]) < 1 << 63:
            raise InvalidOptionError(
                f"Invalid properties '{key}' should follow the format "
                f"'partition:0,offset:42;partition:1,offset:300', but is '{text}'. Of several topics, each entry names "
                "its own: 'topic:a,partition:0,offset:42;topic:b,partition:0,offset:7'."
            )
        offsets[match[1], int(match[2])] = int(match[3])
    if len({topic is None for topic, _ in offsets}) > 1:
        raise InvalidOptionError(
            f"Invalid properties '{key}': either every entry names its topic, or none does, but it is '{text}'."
        )
    return offsets


def fill_in_topic(offsets: Mapping[tuple[str | None, int], int], topics: tuple[str, ...]) -> dict[tuple[str, int], int]:
    """The same with the name of the table's only topic where none is written."""
    return {(topic if topic is not None else topics[0], partition): at for (topic, partition), at in offsets.items()}


def parse_partitions(text: str) -> tuple[tuple[str, int], ...]:
    """Partitions as ``orders:0,1;returns:3``, sorted.

    Raises:
        ValueError: the text has another form.
    """
    found: set[tuple[str, int]] = set()
    for part in text.split(";"):
        match = _SET.fullmatch(part)
        if match is None or any(int(number) >= 1 << 31 for number in match[2].split(",")):
            raise ValueError("expected topics with their partitions, as 'orders:0,1;returns:3'")
        found |= {(match[1], int(number)) for number in match[2].split(",")}
    return tuple(sorted(found))
