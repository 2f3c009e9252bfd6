"""Copy fetched messages into Arrow columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import FetchError
from kafka_sql.kafka import bindings
from kafka_sql.kafka.binary_columns import binary_array, copy_binary
from kafka_sql.kafka.bindings import Message
from kafka_sql.kafka.librdkafka import fetch_kernels as kernels
from kafka_sql.kafka.record_metadata import HEADER, HEADER_LIST
from kafka_sql.kafka.records import RecordFields, Records

_DESTROY: Final = bindings.address(bindings.message_destroy)
_TIMESTAMP: Final = bindings.address(bindings.message_timestamp)
_LEADER_EPOCH: Final = bindings.address(bindings.message_leader_epoch)
_HEADERS: Final = bindings.address(bindings.message_headers)
_HEADER_COUNT: Final = bindings.address(bindings.header_count)
_HEADER_GET_ALL: Final = bindings.address(bindings.header_get_all)


def gather_records(
    messages: npt.NDArray[np.int64], start: int, end: int, sizes: tuple[int, int], fields: RecordFields
) -> Records:
    """Copy messages[start:end] into columns and release them.

    Args:
        sizes: bytes of the values and of the keys.

    Raises:
        FetchError: the headers of a record are malformed.
    """
    count = end - start
    values = _gather_binary(messages, start, end, Message.payload.offset, Message.length.offset, sizes[0])
    offsets = np.empty(count, np.int64)
    kernels.gather_offsets(messages, start, end, offsets)
    keys = timestamps = timestamp_types = leader_epochs = None
    if fields.keys:
        keys = _gather_binary(messages, start, end, Message.key.offset, Message.key_length.offset, sizes[1])
    if fields.timestamps:
        timestamps, timestamp_types = np.empty(count, np.int64), np.empty(count, np.int32)
        kernels.gather_timestamps(messages, start, end, _TIMESTAMP, timestamps, timestamp_types)
    if fields.leader_epochs:
        leader_epochs = np.empty(count, np.int32)
        kernels.gather_leader_epochs(messages, start, end, _LEADER_EPOCH, leader_epochs)
    headers = _gather_headers(messages, start, end) if fields.headers else None
    release_messages(messages, start, end)
    return Records(values, offsets, keys, timestamps, timestamp_types, headers, leader_epochs)


def release_messages(messages: npt.NDArray[np.int64], start: int, end: int) -> None:
    """Give messages[start:end] back to librdkafka."""
    kernels.release(messages, start, end, _DESTROY)


def _gather_binary(
    messages: npt.NDArray[np.int64], start: int, end: int, pointer_field: int, length_field: int, size: int
) -> pa.BinaryArray:
    """Copy the values or the keys of messages[start:end]."""
    count = end - start
    offsets, valid = np.empty(count + 1, np.int32), np.empty(count, np.uint8)
    data = np.empty(size, np.uint8)
    nulls = kernels.gather_bytes(messages, start, end, pointer_field, length_field, offsets, data, valid)
    return binary_array(offsets, data, valid, nulls)


def _gather_headers(messages: npt.NDArray[np.int64], start: int, end: int) -> pa.ListArray:
    """Copy all headers of messages[start:end] in their order; type ``HEADER_LIST``."""
    count = end - start
    lists, offsets = np.empty(count, np.int64), np.empty(count + 1, np.int32)
    failed, code = kernels.count_headers(messages, start, end, _HEADERS, _HEADER_COUNT, lists, offsets)
    if code:
        raise FetchError(f"The headers of record {failed - start} of a batch cannot be read: {bindings.reason(code)}.")
    total = int(offsets[count])
    names, values, sizes = np.empty(total, np.int64), np.empty(total, np.int64), np.empty((2, total), np.int64)
    kernels.locate_headers(lists, offsets, _HEADER_GET_ALL, names, values, sizes)
    entries = pa.StructArray.from_arrays(
        [_decode_names(copy_binary(names, sizes[0])), copy_binary(values, sizes[1])], fields=list(HEADER)
    )
    return pa.Array.from_buffers(HEADER_LIST, count, [None, pa.py_buffer(offsets)], children=[entries])


def _decode_names(names: pa.BinaryArray) -> pa.StringArray:
    """Decode header names, with U+FFFD for invalid UTF-8, as Java's client does."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.to_pylist()], pa.string())
