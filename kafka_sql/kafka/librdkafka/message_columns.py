"""Convert messages of confluent-kafka to Arrow columns."""

from __future__ import annotations

from operator import methodcaller
from typing import Any, Final

import numpy as np
import pyarrow as pa
from confluent_kafka import Message

from kafka_sql.kafka.record_metadata import HEADER_LIST
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.options.connector import DIRECT, SCAN_CLIENT

# For a header name that is not UTF-8, confluent-kafka's method returns a broken list and sets an exception. Only calls
# from C, as here, check for that; the interpreter's own may continue with the list.
_GET_HEADERS: Final = methodcaller("headers")
_INVALID_NAME: Final = (
    "the name of a header is not valid UTF-8, which librdkafka's Python client does not support: to read the record, "
    f"set '{SCAN_CLIENT.key}' = '{DIRECT}', or remove the metadata column of the headers"
)


def to_records(messages: list[Message], fields: RecordFields) -> Records:
    """Return the messages, none of which has an error, as columns."""
    timestamps = [m.timestamp() for m in messages] if fields.timestamps else None
    epochs = [m.leader_epoch() for m in messages] if fields.leader_epochs else None
    headers = [_headers(m) for m in messages] if fields.headers else []
    return Records(
        values=pa.array([m.value() for m in messages], pa.binary()),
        offsets=np.array([m.offset() for m in messages], np.int64),
        keys=pa.array([m.key() for m in messages], pa.binary()) if fields.keys else None,
        timestamps=np.array([time for _, time in timestamps], np.int64) if timestamps else None,
        timestamp_types=np.array([type for type, _ in timestamps], np.int32) if timestamps else None,
        headers=pa.array([h or () for h in headers], HEADER_LIST) if fields.headers else None,
        leader_epochs=np.array([-1 if e is None else e for e in epochs], np.int32) if epochs else None,
        unreadable={row: _INVALID_NAME for row, h in enumerate(headers) if h is None} or None,
    )


def _headers(message: Message) -> Any:
    """Return the headers of a message; None if they cannot be decoded."""
    try:
        return _GET_HEADERS(message) or ()
    except SystemError:
        return None
