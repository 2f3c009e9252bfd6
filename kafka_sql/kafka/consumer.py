"""Records of one partition between two offsets, as columns."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import FetchError, OffsetError
from kafka_sql.kafka import kernels, library
from kafka_sql.kafka.client import Handle, open_handle
from kafka_sql.kafka.library import Message
from kafka_sql.kafka.properties import API_TIMEOUT
from kafka_sql.kafka.split import Split

BATCH_RECORDS: Final = 20_000
BATCH_BYTES: Final = 32 << 20
_FILL_MS: Final = 5  # how long a batch that has its first record waits for the others
_STALL_MS: Final = 60_000  # Java's default.api.timeout.ms

_DESTROY: Final = library.address(library.message_destroy)
_TIMESTAMP: Final = library.address(library.message_timestamp)


@dataclass(frozen=True)
class Records:
    """A run of records, as columns of one length.

    Attributes:
        values: payloads; null is a tombstone. Each is followed by the terminator that was asked for.
        offsets: int64.
        timestamps: int64 milliseconds since 1970, -1 where the record has none.
        timestamp_types: int32: 0 none, 1 CreateTime, 2 LogAppendTime.
    """

    values: pa.BinaryArray
    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]
    timestamp_types: npt.NDArray[np.int32]


def fetch(config: Mapping[str, str], split: Split, terminator: bytes = b"") -> Iterator[Records]:
    """Read a split to its end.

    The end is a position: a record at or beyond ``stop``, or the partition's end at or beyond it. Control records,
    aborted transactions and compacted gaps make offsets without records, so no count of records could tell.

    Args:
        config: librdkafka's configuration of a table.
        terminator: one byte or none, put after each value inside the array (for parsers of joined buffers).

    Raises:
        OffsetError: the partition no longer holds ``start``.
        FetchError: a broker's error, or no progress for ``default.api.timeout.ms``.
    """
    if split.start >= split.stop:
        return
    mine = {
        **config,
        "group.id": config.get("group.id", "kafka_sql"),
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "error",  # a reader never jumps silently
    }
    stall = int(config.get(API_TIMEOUT, _STALL_MS)) / 1000
    with open_handle(library.CONSUMER, mine) as handle:
        library.poll_set_consumer(handle.pointer)
        queue = library.consumer_queue(handle.pointer)
        try:
            _assign(handle, split)
            yield from _drain(handle, queue, split, stall, terminator)
        finally:
            library.queue_destroy(queue)
            library.consumer_close(handle.pointer)


def _assign(handle: Handle, split: Split) -> None:
    partitions, topic = library.partitions_new(1), split.topic.encode()
    library.partitions_add(partitions, topic, split.partition)
    library.partitions_set_offset(partitions, topic, split.partition, split.start)
    code = library.assign(handle.pointer, partitions)
    library.partitions_destroy(partitions)
    if code:
        raise FetchError(f"{split.at(split.start)}: the client refused the partition: {library.reason(code)}.")


def _drain(handle: Handle, queue: int, split: Split, stall: float, terminator: bytes) -> Iterator[Records]:
    messages = np.zeros(BATCH_RECORDS, np.int64)
    position, deadline = split.start, time.monotonic() + stall
    while position < split.stop:
        count = _receive(queue, messages, split.stop - position)
        start = 0
        try:
            while start < count and position < split.stop:
                end, size, _, done = kernels.measure(messages, start, count, split.stop, BATCH_BYTES)
                if end > start:
                    records = _gather(messages, start, end, size, terminator)
                    start, position = end, int(records.offsets[-1]) + 1
                    yield records
                if done:
                    position = split.stop
                elif start < count and (message := Message.from_address(int(messages[start]))).err:
                    position = max(position, _end_of(message, split, position))
                    kernels.release(messages, start, start + 1, _DESTROY)
                    start += 1
                deadline = time.monotonic() + stall
        finally:
            kernels.release(messages, start, count, _DESTROY)
        if not count and time.monotonic() > deadline:
            raise FetchError(
                f"{split.at(position)}: nothing arrived for {stall:g} s, and the end of this read is offset "
                f"{split.stop}. "
                f"Is the topic deleted or recreated, or are its brokers down? Client: {handle.causes()}."
            )


def _receive(queue: int, messages: npt.NDArray[np.int64], wanted: int) -> int:
    """Wait for one message, then take what is there: librdkafka's batch call would wait its whole timeout for a full
    batch.
    """
    base = messages.ctypes.data
    if library.consume_batch(queue, 200, base, 1) < 1:
        return 0
    room = min(len(messages), wanted) - 1
    return 1 + (max(library.consume_batch(queue, _FILL_MS, base + 8, room), 0) if room else 0)


def _end_of(message: Message, split: Split, position: int) -> int:
    """The position that an end-of-partition event tells.

    Raises:
        OffsetError, FetchError: the event is an error.
    """
    if message.err == library.PARTITION_EOF:
        return int(message.offset)
    text = library.message_error(ctypes.addressof(message)) or library.err2str(message.err)
    why = text.decode(errors="replace")
    if message.err in (library.AUTO_OFFSET_RESET, library.OFFSET_OUT_OF_RANGE):
        raise OffsetError(
            f"{split.at(position)}: the partition does not hold this offset any more, or not yet ({why}). Records "
            f"were removed by "
            "retention, or the topic was recreated. Start again with 'scan.startup.mode' = 'earliest-offset'."
        )
    raise FetchError(f"{split.at(position)}: {why}.")


def _gather(messages: npt.NDArray[np.int64], start: int, end: int, size: int, terminator: bytes) -> Records:
    """Copy messages[start:end] into columns and give them back to librdkafka."""
    count = end - start
    positions = np.empty(count + 1, np.int32)
    data = np.empty(size + count * len(terminator), np.uint8)
    valid = np.empty(count, np.uint8)
    offsets, timestamps = np.empty(count, np.int64), np.empty(count, np.int64)
    kinds = np.empty(count, np.int32)
    ending = terminator[0] if terminator else -1
    nulls = kernels.gather_bytes(
        messages, start, end, Message.payload.offset, Message.length.offset, ending, positions, data, valid
    )
    kernels.gather_places(messages, start, end, _TIMESTAMP, offsets, timestamps, kinds)
    kernels.release(messages, start, end, _DESTROY)
    mask = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    values = pa.Array.from_buffers(
        pa.binary(), count, [mask, pa.py_buffer(positions), pa.py_buffer(data)], null_count=nulls
    )
    return Records(values, offsets, timestamps, kinds)
