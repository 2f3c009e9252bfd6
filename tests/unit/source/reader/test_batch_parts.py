"""Test decoding in parts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_sql.formats.format import ColumnOverflow
from kafka_sql.kafka.records import Records
from kafka_sql.source.reader.row_decoder import decode_in_parts


def test_batches_are_split_until_their_values_fit() -> None:
    sizes = [1, 1, 7, 1, 9, 1, 1, 1, 1]
    batches: list[list[int]] = []

    def decode(records: Records) -> list[int]:
        batches.append(records.offsets.tolist())
        if len(records.offsets) > 1 and sum(sizes[k] for k in records.offsets) > 8:
            raise ColumnOverflow
        return records.offsets.tolist()

    offsets = np.arange(len(sizes))
    records = Records(pa.array([b"x" * size for size in sizes], pa.binary()), offsets)
    parts = list(decode_in_parts(decode, records))
    assert parts == [[0, 1], [2], [3], [4], [5, 6, 7, 8]]
    assert list(decode_in_parts(decode, records.take(np.array([0])))) == [[0]]
