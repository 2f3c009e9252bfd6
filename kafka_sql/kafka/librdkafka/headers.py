"""Record headers as Arrow columns, both ways."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import FetchError
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka import header_kernels as kernels
from kafka_sql.kafka.librdkafka.binary_columns import binary
from kafka_sql.kafka.record_metadata import HEADER, LIST

_HEADERS_OF: Final = bindings.address(bindings.message_headers)
_COUNT_OF: Final = bindings.address(bindings.header_count)
_GET_ALL: Final = bindings.address(bindings.header_get_all)


def gather_headers(messages: npt.NDArray[np.int64], start: int, end: int) -> pa.ListArray:
    """The headers of messages[start:end], all of them and in their order; type ``LIST``.

    Raises:
        FetchError: a record's headers are damaged; says how far behind ``start`` it is.
    """
    count = end - start
    lists, positions = np.empty(count, np.int64), np.empty(count + 1, np.int32)
    failed, code = kernels.count_headers(messages, start, end, _HEADERS_OF, _COUNT_OF, lists, positions)
    if code:
        raise FetchError(f"The headers of record {failed - start} of a batch cannot be read: {bindings.reason(code)}.")
    total = int(positions[count])
    names, values, sizes = np.empty(total, np.int64), np.empty(total, np.int64), np.empty((2, total), np.int64)
    kernels.locate_headers(lists, positions, _GET_ALL, names, values, sizes)
    entries = pa.StructArray.from_arrays(
        [_texts(binary(names, sizes[0])), binary(values, sizes[1])], fields=list(HEADER)
    )
    return pa.Array.from_buffers(LIST, count, [None, pa.py_buffer(positions)], children=[entries])


def last_values(headers: pa.ListArray) -> pa.MapArray:
    """Headers as maps; of several with one name the last, as in Flink's reader."""
    positions = np.frombuffer(headers.buffers()[1], np.int32)[headers.offset : headers.offset + len(headers) + 1]
    entries = headers.values
    _, offsets, data = entries.field(0).buffers()
    last = np.zeros(len(entries), np.uint8)
    texts = np.frombuffer(data or b"", np.uint8)
    if len(entries) and kernels.last_of_name(positions, np.frombuffer(offsets, np.int32), texts, last):
        entries = entries.filter(pa.array(last.view(bool)))
        positions = np.concatenate(([0], np.cumsum(last, dtype=np.int32)))[positions].astype(np.int32)
    starts = pa.Array.from_buffers(pa.int32(), len(positions), [None, pa.py_buffer(positions)])
    return pa.MapArray.from_arrays(starts, entries.field(0), entries.field(1))


def _texts(names: pa.BinaryArray) -> pa.StringArray:
    """Names as text, with U+FFFD for what is no UTF-8, as Java's client reads them."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.to_pylist()], pa.string())
