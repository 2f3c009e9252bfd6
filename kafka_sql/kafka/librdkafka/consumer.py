"""Read one partition between two offsets with librdkafka, as columns."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from kafka_sql.errors import AuthorizationError, DataLossError, FetchError, OffsetError
from kafka_sql.kafka import bindings
from kafka_sql.kafka.bindings import Message
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.config.properties import api_timeout
from kafka_sql.kafka.librdkafka import fetch_kernels
from kafka_sql.kafka.librdkafka.client import Handle, open_handle
from kafka_sql.kafka.librdkafka.message_columns import gather_records, release_messages
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.types import DataLossHandler, Split

_FIRST_MESSAGE_MS: Final = 200
_FILL_MS: Final = 5  # how long a batch that has its first record waits for more
_WATERMARK_MS: Final = 10_000
_FETCH_WAIT_MS: Final = "10"  # how long a broker waits for more records; those of a split exist already


def read_to_end(
    config: Mapping[str, str],
    split: Split,
    fields: RecordFields,
    size: BatchSize,
    on_data_loss: DataLossHandler | None,
) -> Iterator[Records]:
    """Read a split to its end; see ``kafka_sql.kafka.fetch.read_records``."""
    fetch_wait = {} if split.end_may_not_exist else {"fetch.wait.max.ms": _FETCH_WAIT_MS}
    settings = {
        **fetch_wait,
        **config,
        "group.id": config.get("group.id", "kafka_sql"),
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "error",  # a reader must never skip offsets silently
    }
    with _CACHE.lease(settings) as consumer:
        _assign(consumer.handle, split, split.start)
        yield from _read(consumer, split, api_timeout(config), fields, size, on_data_loss or _raise_data_loss)


@dataclass
class _Consumer:
    handle: Handle
    queue: int

    def is_reusable(self) -> bool:
        bindings.assign(self.handle.pointer, None)
        return True

    def on_reuse(self) -> None:
        self.handle.clear_errors()


def _create(config: Mapping[str, str], stack: ExitStack) -> _Consumer:
    handle = stack.enter_context(open_handle(bindings.CONSUMER, config))
    bindings.poll_set_consumer(handle.pointer)
    stack.callback(bindings.consumer_close, handle.pointer)
    queue = bindings.consumer_queue(handle.pointer)
    stack.callback(bindings.queue_destroy, queue)
    return _Consumer(handle, queue)


_CACHE: Final = ClientCache(_create)


def _assign(handle: Handle, split: Split, start: int) -> None:
    partitions, topic = bindings.partitions_new(1), split.topic.encode()
    bindings.partitions_add(partitions, topic, split.partition)
    bindings.partitions_set_offset(partitions, topic, split.partition, start)
    code = bindings.assign(handle.pointer, partitions)
    bindings.partitions_destroy(partitions)
    if code:
        raise FetchError(f"{split.describe_offset(start)}: the partition cannot be assigned: {bindings.reason(code)}.")


def _read(
    consumer: _Consumer,
    split: Split,
    stall_seconds: float,
    fields: RecordFields,
    size: BatchSize,
    on_data_loss: DataLossHandler,
) -> Iterator[Records]:
    handle, messages = consumer.handle, np.zeros(size.max_rows, np.int64)
    position, deadline, at_end = split.start, time.monotonic() + stall_seconds, False
    while position < split.stop:
        count = _receive(consumer.queue, messages, split.stop - position)
        start = 0
        if count:
            handle.auth_failures.clear()
        else:
            handle.raise_if_rejected()
        try:
            while start < count and position < split.stop:
                end, value_bytes, key_bytes, is_done = fetch_kernels.measure(
                    messages, start, count, split.stop, size.max_bytes
                )
                if end > start:
                    records = gather_records(messages, start, end, (value_bytes, key_bytes), fields)
                    start, position, at_end = end, int(records.offsets[-1]) + 1, False
                    yield records
                if is_done:
                    position = split.stop
                elif start < count and (message := Message.from_address(int(messages[start]))).err:
                    is_moved = False
                    # partitions are assigned and no group is joined, but librdkafka still looks for its coordinator
                    if message.err != bindings.GROUP_AUTHORIZATION_FAILED:
                        is_moved = message.err != bindings.PARTITION_EOF
                        at_end = not is_moved and split.end_may_not_exist
                        position = max(position, _handle_event(handle, message, split, position, on_data_loss))
                    release_messages(messages, start, start + 1)
                    start += 1
                    if is_moved:
                        _assign(handle, split, position)
                deadline = time.monotonic() + stall_seconds
        finally:
            release_messages(messages, start, count)
        if not count and not at_end and time.monotonic() > deadline:
            raise FetchError(
                f"{split.describe_offset(position)}: no records arrived for {stall_seconds:g} s, and the read ends at "
                f"offset {split.stop}. Check that the topic was not deleted or recreated and that its brokers are up. "
                f"Client: {handle.causes()}."
            )


def _receive(queue: int, messages: npt.NDArray[np.int64], count: int) -> int:
    """Wait for one message, then take what is available; return how many messages there are.

    With one call for all, librdkafka would wait its whole timeout for a full batch.
    """
    address = messages.ctypes.data
    if bindings.consume_batch(queue, _FIRST_MESSAGE_MS, address, 1) < 1:
        return 0
    capacity = min(len(messages), count) - 1
    return 1 + (max(bindings.consume_batch(queue, _FILL_MS, address + 8, capacity), 0) if capacity else 0)


def _handle_event(handle: Handle, message: Message, split: Split, position: int, on_data_loss: DataLossHandler) -> int:
    """Return the offset to resume at: the partition's end, or the first available offset if that is higher.

    Raises:
        DataLossError, OffsetError, FetchError: the event is an error.
    """
    if message.err == bindings.PARTITION_EOF:
        return int(message.offset)
    text = bindings.message_error(ctypes.addressof(message)) or bindings.err2str(message.err)
    reason = text.decode(errors="replace")
    where = split.describe_offset(position)
    if message.err in (bindings.AUTO_OFFSET_RESET, bindings.OFFSET_OUT_OF_RANGE):
        first = _first_offset(handle, split)
        if first > position:
            on_data_loss(split, position, first)
            return first
        raise OffsetError(
            f"{where}: the offset is out of range ({reason}). The topic was recreated, or its leader has lost records. "
            "Restart with 'scan.startup.mode' = 'earliest-offset'."
        )
    if message.err == bindings.TOPIC_AUTHORIZATION_FAILED:
        raise AuthorizationError(f"{where}: {reason}. Grant the user READ on the topic.")
    raise FetchError(f"{where}: {reason}.")


def _first_offset(handle: Handle, split: Split) -> int:
    """Return the first offset that the partition holds; -1 if no broker responds."""
    low, high = ctypes.c_int64(-1), ctypes.c_int64(-1)
    code = bindings.query_watermarks(handle.pointer, split.topic.encode(), split.partition, low, high, _WATERMARK_MS)
    return -1 if code else int(low.value)


def _raise_data_loss(split: Split, offset: int, first: int) -> None:
    raise DataLossError(
        f"{split.describe_offset(offset)}: the record was deleted before it was read. The first available offset is "
        f"{first}.",
        topic=split.topic,
        partition=split.partition,
        offset=offset,
    )
