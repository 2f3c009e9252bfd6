"""Offsets by partition as options write them: ``partition:0,offset:42;partition:1,offset:300``."""

from __future__ import annotations

import re

from kafka_sql.errors import InvalidOptionError

_PAIR = re.compile(
    r"partition:([+-]?\d+),offset:([+-]?\d+),*", re.ASCII
)  # as Java splits: commas at the end are nothing


def specific_offsets(text: str, key: str) -> dict[int, int]:
    """Offset by partition; of a partition that is named twice, the last.

    Raises:
        InvalidOptionError: the text of option ``key`` has another form.
    """
    offsets: dict[int, int] = {}
    for pair in text.rstrip(";").split(";"):
        match = _PAIR.fullmatch(pair)
        if match is None or int(match[1]) >= 1 << 31 or int(match[2]) >= 1 << 63:
            raise InvalidOptionError(
                f"Invalid properties '{key}' should follow the format "
                f"'partition:0,offset:42;partition:1,offset:300', but is '{text}'."
            )
        offsets[int(match[1])] = int(match[2])
    return offsets
