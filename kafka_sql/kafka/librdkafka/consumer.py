"""Records of one partition between two offsets, as columns."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import AuthorizationError, DataLossError, FetchError, OffsetError
from kafka_sql.kafka.client_cache import Kept
from kafka_sql.kafka.direct.reader import read_plain
from kafka_sql.kafka.librdkafka import bindings, fetch_kernels
from kafka_sql.kafka.librdkafka.binary_columns import assembled
from kafka_sql.kafka.librdkafka.bindings import Message
from kafka_sql.kafka.librdkafka.client import Handle, open_handle, patience_at_work
from kafka_sql.kafka.librdkafka.headers import gather_headers
from kafka_sql.kafka.records import VALUES_ONLY, Records, Wanted
from kafka_sql.kafka.types import Split

_FILL_MS: Final = 5  # how long a batch that has its first record waits for the others
_WATERMARK_SECONDS: Final = 10
_FETCH_WAIT_MS: Final = "10"  # of a broker for more records: those of a split are there already


@dataclass(frozen=True)
class BatchSize:
    """How much is read at once: with librdkafka's queue, all that a reader holds.

    Attributes:
        rows: at most so many records.
        bytes: of their keys and values, at most so many; a single record is always taken.
    """

    rows: int = 20_000
    bytes: int = 32 << 20


Lost = Callable[[Split, int, int], None]
_DEFAULT_SIZE: Final = BatchSize()
_DESTROY: Final = bindings.address(bindings.message_destroy)
_TIMESTAMP: Final = bindings.address(bindings.message_timestamp)
_EPOCH: Final = bindings.address(bindings.message_leader_epoch)


def fetch(
    config: Mapping[str, str],
    split: Split,
    wanted: Wanted = VALUES_ONLY,
    size: BatchSize = _DEFAULT_SIZE,
    lost: Lost | None = None,
) -> Iterator[Records]:
    """Read a split to its end.

    The end is a position: a record at or beyond ``stop``, or the partition's end at or beyond it. Control records,
    aborted transactions and compacted gaps make offsets without records, so no count of records could tell.

    Args:
        config: librdkafka's configuration of a table.
        wanted: what is read of a record besides its value and its offset.
        size: how much a run of records is at most.
        lost: is told of offsets that were removed before they were read (the split, the wanted offset and the first
            that there is); where it returns, reading goes on from there. By default they are an error.

    Raises:
        DataLossError: the partition no longer holds an offset of the range.
        OffsetError: the partition does not hold an offset of the range yet.
        FetchError: a broker's error, or no progress for ``default.api.timeout.ms``.
    """
    if split.start >= split.stop:
        return
    position = yield from read_plain(config, split, wanted, size.rows, size.bytes)
    if position >= split.stop:
        return
    split, stall = replace(split, start=position), patience_at_work(config)
    waiting = {} if split.waits else {"fetch.wait.max.ms": _FETCH_WAIT_MS}
    mine = {
        **waiting,
        **config,
        "group.id": config.get("group.id", "kafka_sql"),
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "error",  # a reader never jumps silently
    }
    with _KEPT.use(mine) as consumer:
        _assign(consumer.handle, split, split.start)
        yield from _drain(consumer.handle, consumer.queue, split, stall, wanted, size, lost or _refuse)


@dataclass
class _Consumer:
    handle: Handle
    queue: int

    def rested(self) -> bool:
        bindings.assign(self.handle.pointer, None)
        return True

    def renew(self) -> None:
        self.handle.forget()


def _made(config: Mapping[str, str], stack: ExitStack) -> _Consumer:
    handle = stack.enter_context(open_handle(bindings.CONSUMER, config))
    bindings.poll_set_consumer(handle.pointer)
    stack.callback(bindings.consumer_close, handle.pointer)
    queue = bindings.consumer_queue(handle.pointer)
    stack.callback(bindings.queue_destroy, queue)
    return _Consumer(handle, queue)


_KEPT: Final = Kept(_made)


def _assign(handle: Handle, split: Split, start: int) -> None:
    partitions, topic = bindings.partitions_new(1), split.topic.encode()
    bindings.partitions_add(partitions, topic, split.partition)
    bindings.partitions_set_offset(partitions, topic, split.partition, start)
    code = bindings.assign(handle.pointer, partitions)
    bindings.partitions_destroy(partitions)
    if code:
        raise FetchError(f"{split.at(start)}: the client refused the partition: {bindings.reason(code)}.")


def _drain(
    handle: Handle,
    queue: int,
    split: Split,
    stall: float,
    wanted: Wanted,
    size: BatchSize,
    lost: Lost,
) -> Iterator[Records]:
    messages = np.zeros(size.rows, np.int64)
    position, deadline, at_end = split.start, time.monotonic() + stall, False
    while position < split.stop:
        count = _receive(queue, messages, split.stop - position)
        start = 0
        if count:
            handle.refusals.clear()
        else:
            handle.check()
        try:
            while start < count and position < split.stop:
                end, values, keys, done = fetch_kernels.measure(messages, start, count, split.stop, size.bytes)
                if end > start:
                    records = _gather(messages, start, end, (values, keys), wanted)
                    start, position, at_end = end, int(records.offsets[-1]) + 1, False
                    yield records
                if done:
                    position = split.stop
                elif start < count and (message := Message.from_address(int(messages[start]))).err:
                    moved = False
                    # partitions are assigned, no group is used: librdkafka looks for its coordinator all the same
                    if message.err != bindings.GROUP_AUTHORIZATION_FAILED:
                        moved = message.err != bindings.PARTITION_EOF
                        at_end = not moved and split.waits
                        position = max(position, _next(handle, message, split, position, lost))
                    fetch_kernels.release(messages, start, start + 1, _DESTROY)
                    start += 1
                    if moved:  # it goes on elsewhere
                        _assign(handle, split, position)
                deadline = time.monotonic() + stall
        finally:
            fetch_kernels.release(messages, start, count, _DESTROY)
        if not count and not at_end and time.monotonic() > deadline:
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
    if bindings.consume_batch(queue, 200, base, 1) < 1:
        return 0
    room = min(len(messages), wanted) - 1
    return 1 + (max(bindings.consume_batch(queue, _FILL_MS, base + 8, room), 0) if room else 0)


def _next(handle: Handle, message: Message, split: Split, position: int, lost: Lost) -> int:
    """The position that an event tells: the partition's end, or its beginning where that is behind the position.

    Raises:
        DataLossError, OffsetError, FetchError: the event is an error.
    """
    if message.err == bindings.PARTITION_EOF:
        return int(message.offset)
    text = bindings.message_error(ctypes.addressof(message)) or bindings.err2str(message.err)
    why = text.decode(errors="replace")
    if message.err in (bindings.AUTO_OFFSET_RESET, bindings.OFFSET_OUT_OF_RANGE):
        first = _beginning(handle, split)
        if first > position:
            lost(split, position, first)
            return first
        raise OffsetError(
            f"{split.at(position)}: the partition does not hold this offset any more, or not yet ({why}). The topic "
            "was recreated, or its leader has lost records. Start again with 'scan.startup.mode' = 'earliest-offset'."
        )
    if message.err == bindings.TOPIC_AUTHORIZATION_FAILED:
        raise AuthorizationError(f"{split.at(position)}: {why}. Grant the user READ on the topic.")
    raise FetchError(f"{split.at(position)}: {why}.")


def _beginning(handle: Handle, split: Split) -> int:
    """The first offset that the partition holds; -1 where nobody says."""
    low, high = ctypes.c_int64(-1), ctypes.c_int64(-1)
    milliseconds = int(_WATERMARK_SECONDS * 1000)
    code = bindings.query_watermarks(handle.pointer, split.topic.encode(), split.partition, low, high, milliseconds)
    return -1 if code else int(low.value)


def _refuse(split: Split, position: int, first: int) -> None:
    raise DataLossError(f"{split.at(position)}: removed before it was read; the first offset there is is {first}.")


def _gather(messages: npt.NDArray[np.int64], start: int, end: int, sizes: tuple[int, int], wanted: Wanted) -> Records:
    """Copy messages[start:end] into columns and give them back to librdkafka.

    Args:
        sizes: bytes of the values and of the keys.
    """
    count = end - start
    values = _bytes(messages, start, end, Message.payload.offset, Message.length.offset, sizes[0])
    offsets = np.empty(count, np.int64)
    fetch_kernels.gather_offsets(messages, start, end, offsets)
    keys = timestamps = kinds = epochs = None
    if wanted.keys:
        keys = _bytes(messages, start, end, Message.key.offset, Message.key_length.offset, sizes[1])
    if wanted.timestamps:
        timestamps, kinds = np.empty(count, np.int64), np.empty(count, np.int32)
        fetch_kernels.gather_timestamps(messages, start, end, _TIMESTAMP, timestamps, kinds)
    if wanted.leader_epochs:
        epochs = np.empty(count, np.int32)
        fetch_kernels.gather_epochs(messages, start, end, _EPOCH, epochs)
    headers = gather_headers(messages, start, end) if wanted.headers else None
    fetch_kernels.release(messages, start, end, _DESTROY)
    return Records(values, offsets, keys, timestamps, kinds, headers, epochs)


def _bytes(
    messages: npt.NDArray[np.int64], start: int, end: int, pointer_at: int, length_at: int, size: int
) -> pa.BinaryArray:
    """The values or the keys of messages[start:end]."""
    count = end - start
    positions, valid = np.empty(count + 1, np.int32), np.empty(count, np.uint8)
    data = np.empty(size, np.uint8)
    nulls = fetch_kernels.gather_bytes(messages, start, end, pointer_at, length_at, positions, data, valid)
    return assembled(positions, data, valid, nulls)
