"""Decode a batch of records in parts if its values do not fit the columns of one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from kafka_sql.formats.format import ColumnOverflow
from kafka_sql.kafka.records import Records

T = TypeVar("T")


def decode_in_parts(decode: Callable[[Records], T], records: Records) -> Iterator[T]:
    """Yield what ``decode`` returns for the records: once, or for each half if the values do not fit, and so on.

    A single record never overflows: decoders report it as undecodable.
    """
    try:
        decoded = decode(records)
    except ColumnOverflow:
        indices = np.arange(len(records.offsets))
        for half in np.array_split(indices, 2):
            yield from decode_in_parts(decode, records.take(half))
    else:
        yield decoded
