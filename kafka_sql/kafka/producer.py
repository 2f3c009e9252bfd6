"""Columns of payloads into a topic; returns when the brokers have acknowledged them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DeliveryError
from kafka_sql.kafka import kernels, library
from kafka_sql.kafka.client import Handle, open_handle

_EMPTY: Final = np.zeros(1, np.uint8)
_FLUSH_MS: Final = 100
_FULL_MS: Final = 5  # no report tells of room in the queue, as acknowledged records have none
_PURGE_ALL: Final = 3  # what is queued and what is in flight; after a flush there is nothing


@dataclass
class Producer:
    """An open producer for one topic. Made by ``open_producer``.

    Attributes:
        sent: rows handed over so far.
    """

    topic: str
    _handle: Handle
    _failures: list[str]
    _calls: npt.NDArray[np.int64]
    _units: npt.NDArray[np.uint8]
    sent: int = 0

    def produce(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        timestamps: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Queue records; waits while the queue is full, so memory stays bounded.

        Args:
            values: payloads; null makes a tombstone.
            keys: as many; None for records without a key.
            timestamps: int64 milliseconds since 1970, 0 for now.

        Raises:
            DeliveryError: a record was refused, or one queued before was not acknowledged.
        """
        count = len(values)
        if not count:
            return
        value = _column(values)
        key = _column(keys) if keys is not None else _nothing(count)
        times = timestamps if timestamps is not None else np.zeros(count, np.int64)
        row = 0
        while row < count:
            row, code = kernels.produce_rows(self._calls, self._units, row, count, value, key, times)
            full = code == library.QUEUE_FULL
            if code and not full:
                raise DeliveryError(f"{self.topic}: row {self.sent + row} was refused: {library.reason(code)}.")
            library.poll(self._handle.pointer, _FULL_MS if full else 0)
            self._check()
        self.sent += count

    def flush(self) -> None:
        """Return when every record queued so far is acknowledged.

        Raises:
            DeliveryError: one was not.
        """
        # an idempotent producer ends every record within delivery.timeout.ms, so this ends too
        while library.flush(self._handle.pointer, _FLUSH_MS) == library.TIMED_OUT:
            self._check()
        self._check()

    def _check(self) -> None:
        if self._failures:
            raise DeliveryError(
                f"{self._failures[0]} (records not acknowledged so far: {len(self._failures)}). The rows of this task "
                f"do not count as written. Client: {self._handle.causes()}."
            )


@contextmanager
def open_producer(config: Mapping[str, str], topic: str) -> Iterator[Producer]:
    """A producer for the time of a ``with`` block; leaving it by an error drops what is still queued."""
    failures: list[str] = []

    def on_delivery(_: int, message: Any, __: int) -> None:
        failed = message.contents
        failures.append(f"{topic}[{failed.partition}]: {library.reason(failed.err)}")

    # reports only for failures: an acknowledged record costs no call into Python
    mine = {**config, "delivery.report.only.error": "true"}
    with open_handle(library.PRODUCER, mine, library.DELIVERY_CALLBACK(on_delivery)) as handle:
        target = library.topic_new(handle.pointer, topic.encode(), None)
        functions = (library.produceva, library.error_code, library.error_destroy)
        calls = np.array([handle.pointer, *map(library.address, functions)], np.int64)
        try:
            yield Producer(topic, handle, failures, calls, _units(target))
        finally:
            library.purge(handle.pointer, _PURGE_ALL)
            library.topic_destroy(target)


def _units(topic: int) -> npt.NDArray[np.uint8]:
    """The units of a record with all that is the same for each: the topic, any partition, copy the bytes."""
    units = np.zeros(len(library.UNITS), library.UNIT)
    units["tag"] = library.UNITS
    units["first"][library.UNITS.index(library.TOPIC_HANDLE)] = topic
    # an int32 in a union: the low half of the word (every platform of librdkafka's wheels is little-endian)
    units["first"][library.UNITS.index(library.PARTITION)] = library.ANY_PARTITION
    units["first"][library.UNITS.index(library.FLAGS)] = library.COPY
    return units.view(np.uint8).reshape(-1)


def _column(array: pa.BinaryArray) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.uint8]]:
    """Offsets, address of the bytes and validity (uint8) of a binary array."""
    _, positions, data = array.buffers()
    offsets = np.frombuffer(positions, np.int32)[array.offset : array.offset + len(array) + 1]
    valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else np.ones(len(array), np.uint8)
    # an empty payload needs an address, too: a null pointer would make it a tombstone
    return offsets, data.address if data is not None and data.size else _EMPTY.ctypes.data, valid


def _nothing(count: int) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.uint8]]:
    """The columns of ``count`` nulls."""
    return np.zeros(count + 1, np.int32), 0, np.zeros(count, np.uint8)
