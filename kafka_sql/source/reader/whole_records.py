"""Whole records as Arrow columns, for formats that decode more than the payload of the value."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split


def whole_records(records: Records, split: Split) -> pa.RecordBatch:
    """Return records with all fields as a batch: key, value, topic, partition, offset, timestamp, headers."""
    count = len(records.offsets)
    assert records.timestamps is not None
    timestamps = pa.array(records.timestamps, pa.int64(), mask=records.timestamps < 0).cast(pa.timestamp("ms", "UTC"))
    columns = {
        "key": records.keys,
        "value": records.values,
        "topic": pa.repeat(split.topic, count),
        "partition": pa.repeat(pa.scalar(split.partition, pa.int32()), count),
        "offset": pa.array(records.offsets, pa.int64()),
        "timestamp": timestamps,
        "headers": records.headers,
    }
    return pa.RecordBatch.from_pydict(columns)
