"""Read one partition between two offsets with librdkafka, as columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any, Final

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafka_sql.errors import FetchError
from kafka_sql.kafka.client_cache import CachedClient, ClientCache
from kafka_sql.kafka.config.properties import api_timeout
from kafka_sql.kafka.fetch_errors import fetch_error, out_of_range_error, stalled_error
from kafka_sql.kafka.librdkafka.client import ClientErrors, open_client
from kafka_sql.kafka.record_metadata import HEADER_LIST
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.split import DataLossHandler, Split
from kafka_sql.options.connector import DIRECT, SCAN_CLIENT

_FIRST_MESSAGE_SECONDS: Final = 0.2
_FILL_SECONDS: Final = 0.005  # how long a batch that has its first record waits for more
_WATERMARK_SECONDS: Final = 3.0  # for one response: a leader that has failed sends none, and its successor is asked
_FETCH_WAIT_MS: Final = "10"  # how long a broker waits for more records; those of a split exist already
# For a header name that is not UTF-8, confluent-kafka's method returns a broken list and sets an exception. Only calls
# from C, as here, check for that; the interpreter's own may continue with the list.
_GET_HEADERS: Final = methodcaller("headers")
_INVALID_NAME: Final = (
    "the name of a header is not valid UTF-8, which librdkafka's Python client does not support: to read the record, "
    f"set '{SCAN_CLIENT.key}' = '{DIRECT}', or remove the metadata column of the headers"
)


def read_to_end(
    config: Mapping[str, str],
    split: Split,
    fields: RecordFields,
    size: BatchSize,
    on_data_loss: DataLossHandler,
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
    with _CACHE.lease(settings) as client:
        _assign(client, split, split.start)
        yield from _read(client, split, api_timeout(config), fields, size, on_data_loss)


@dataclass
class _ConsumerClient(CachedClient):
    consumer: Consumer
    errors: ClientErrors

    def is_reusable(self) -> bool:
        self.consumer.unassign()  # while idle, it must not fetch
        return True

    def on_reuse(self) -> None:
        self.errors.clear()


def _create(config: Mapping[str, str], stack: ExitStack) -> _ConsumerClient:
    client = _ConsumerClient(*open_client(Consumer, config))
    stack.callback(_close, client.consumer)
    return client


def _close(consumer: Consumer) -> None:
    with suppress(UnicodeDecodeError):  # a log line with a broker's message that is not UTF-8
        consumer.close()


_CACHE: Final = ClientCache(_create)


def _assign(client: _ConsumerClient, split: Split, start: int) -> None:
    try:
        client.consumer.assign([TopicPartition(split.topic, split.partition, start)])
    except KafkaException as e:
        reason = e.args[0].str()
        raise FetchError(
            f"{split.describe_offset(start)}: the partition cannot be assigned: {reason}.", **split.at(start)
        ) from None


def _read(
    client: _ConsumerClient,
    split: Split,
    stall_seconds: float,
    fields: RecordFields,
    size: BatchSize,
    on_data_loss: DataLossHandler,
) -> Iterator[Records]:
    position, deadline, at_end = split.start, time.monotonic() + stall_seconds, False
    while position < split.stop:
        try:
            messages = _receive(client.consumer, min(size.max_rows, split.stop - position))
        except UnicodeDecodeError:  # a log line with a broker's message that is not UTF-8
            messages = []
            _assign(client, split, position)  # records that were received with the line are lost
        has_response = bool(messages)
        if has_response:
            client.errors.auth_failures.clear()
        else:
            client.errors.raise_if_rejected()
        while messages and position < split.stop:
            if count := _count_records(messages, split.stop, size.max_bytes):
                records = to_records(messages[:count], fields)
                del messages[:count]
                position, at_end = int(records.offsets[-1]) + 1, False
                yield records
                continue
            message = messages.pop(0)
            event = message.error()
            if event is None:  # a record at the stopping offset or beyond
                position = split.stop
            # partitions are assigned and no group is joined, but librdkafka still looks for its coordinator
            elif event.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                first_offset = partial(_first_offset, client, split, stall_seconds)
                position = max(position, _handle_event(message, event, split, position, first_offset, on_data_loss))
                at_end = split.end_may_not_exist and event.code() == KafkaError._PARTITION_EOF
                if event.code() != KafkaError._PARTITION_EOF:
                    _assign(client, split, position)  # which discards the messages that follow
                    break
        if has_response:
            deadline = time.monotonic() + stall_seconds
        elif not at_end and time.monotonic() > deadline:
            raise stalled_error(split, position, stall_seconds, client.errors.causes())


def _receive(consumer: Consumer, count: int) -> list[Message]:
    """Wait for one message, then take what is available.

    With one call for all, librdkafka would wait its whole timeout for a full batch.
    """
    messages = consumer.consume(1, _FIRST_MESSAGE_SECONDS)
    if messages and count > 1:
        messages += consumer.consume(count - 1, _FILL_SECONDS)
    return messages


def _count_records(messages: list[Message], stop: int, max_bytes: int) -> int:
    """Return how many of the first messages become one batch.

    They end before an error or event, at the offset ``stop``, or where their bytes would exceed ``max_bytes`` (a single
    record is always taken).
    """
    total = 0
    for i, message in enumerate(messages):
        if message.error() is not None or _offset(message) >= stop:
            return i
        total += len(message.value() or b"") + len(message.key() or b"")
        if total > max_bytes and i > 0:
            return i
    return len(messages)


def _handle_event(
    message: Message,
    event: KafkaError,
    split: Split,
    position: int,
    first_offset: Callable[[], int],
    on_data_loss: DataLossHandler,
) -> int:
    """Return the offset to resume at: the partition's end, or the first available offset if that is higher."""
    if event.code() == KafkaError._PARTITION_EOF:
        return _offset(message)
    if event.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        first = first_offset()
        if first > position:
            on_data_loss(split, position, first)
            return first
        raise out_of_range_error(split, position, event.str())
    raise fetch_error(event.code(), split, position, event.str())


def _offset(message: Message) -> int:
    offset = message.offset()
    return -1 if offset is None else offset


def _first_offset(client: _ConsumerClient, split: Split, seconds: float) -> int:
    """Return the first offset that the partition holds."""
    partition, deadline = TopicPartition(split.topic, split.partition), time.monotonic() + seconds
    while True:
        with suppress(KafkaException):
            watermarks = client.consumer.get_watermark_offsets(partition, min(_WATERMARK_SECONDS, seconds))
            if watermarks:  # confluent-kafka returns None for a timeout
                return watermarks[0]
        if time.monotonic() > deadline:
            raise stalled_error(split, split.start, seconds, client.errors.causes())
        client.errors.raise_if_rejected()
        time.sleep(_FIRST_MESSAGE_SECONDS)


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
