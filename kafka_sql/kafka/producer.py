"""Columns of records into topics; returns when the brokers have acknowledged them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import DeliveryError
from kafka_sql.kafka import library
from kafka_sql.kafka.client import Handle, open_handle
from kafka_sql.kafka.produce_kernels import Column, produce_rows

_EMPTY: Final = np.zeros(1, np.uint8)
_FLUSH_MS: Final = 100
_FULL_MS: Final = 5  # no report tells of room in the queue, as acknowledged records have none
_PURGE_ALL: Final = 3  # what is queued and what is in flight; after a flush there is nothing


@dataclass
class Producer:
    """An open producer. Made by ``open_producer``.

    Attributes:
        topic: where records without a topic of their own go.
        sent: rows handed over so far.
    """

    topic: str | None
    _handle: Handle
    _failures: list[str]
    _calls: npt.NDArray[np.int64]
    _units: npt.NDArray[np.uint8]
    _topics: dict[str, int] = field(default_factory=dict)  # rd_kafka_topic_t* by name
    sent: int = 0

    def produce(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        timestamps: npt.NDArray[np.int64] | None = None,
        headers: pa.ListArray | pa.MapArray | None = None,
        topics: pa.StringArray | None = None,
    ) -> None:
        """Queue records; waits while the queue is full, so memory stays bounded.

        Args:
            values: payloads; null makes a tombstone.
            keys: as many; None for records without a key.
            timestamps: int64 milliseconds since 1970, 0 for now.
            headers: lists of structs or maps of a name and a value, both texts or binary; null is none.
            topics: each record's topic, none of them null; None for the producer's own.

        Raises:
            DeliveryError: a record was refused, or one queued before was not acknowledged.
        """
        count = len(values)
        if not count:
            return
        # names and values stay here: the loop gets no more than their addresses
        lists, names, contents = _header_columns(headers) if headers is not None else _no_headers(count)
        times = timestamps if timestamps is not None else np.zeros(count, np.int64)
        columns = (
            _frozen(self._targets(topics, count)),
            _column(values),
            _column(keys) if keys is not None else _nothing(count),
            _frozen(times),
            (_frozen(lists), _column(names), _column(contents)),
        )
        row = 0
        while row < count:
            row, code = produce_rows(self._calls, self._units, row, count, *columns)
            full = code == library.QUEUE_FULL
            if code and not full:
                topic = self.topic if topics is None else topics[row].as_py()
                raise DeliveryError(f"{topic}: row {self.sent + row} was refused: {library.reason(code)}.")
            library.poll(self._handle.pointer, _FULL_MS if full else 0)
            self._check()
        self.sent += count

    def _targets(self, topics: pa.StringArray | None, count: int) -> npt.NDArray[np.int64]:
        """Each row's topic as librdkafka's handle."""
        if topics is None:
            assert self.topic is not None
            return np.full(count, self._topic(self.topic), np.int64)
        names = pc.dictionary_encode(topics)
        handles = np.array([self._topic(name) for name in names.dictionary.to_pylist()], np.int64)
        targets: npt.NDArray[np.int64] = handles[np.asarray(names.indices)]
        return targets

    def _topic(self, name: str) -> int:
        if name not in self._topics:
            self._topics[name] = library.topic_new(self._handle.pointer, name.encode(), None)
        return self._topics[name]

    def _close(self) -> None:
        library.purge(self._handle.pointer, _PURGE_ALL)
        for handle in self._topics.values():
            library.topic_destroy(handle)

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
def open_producer(config: Mapping[str, str], topic: str | None = None) -> Iterator[Producer]:
    """A producer for the time of a ``with`` block; leaving it by an error drops what is still queued."""
    failures: list[str] = []

    def on_delivery(_: int, message: Any, __: int) -> None:
        failed = message.contents
        name = library.topic_name(failed.topic_handle).decode()
        failures.append(f"{name}[{failed.partition}]: {library.reason(failed.err)}")

    # reports only for failures: an acknowledged record costs no call into Python
    mine = {**config, "delivery.report.only.error": "true"}
    with open_handle(library.PRODUCER, mine, library.DELIVERY_CALLBACK(on_delivery)) as handle:
        functions = (
            library.produceva,
            library.error_code,
            library.error_destroy,
            library.headers_new,
            library.header_add,
            library.headers_destroy,
        )
        calls = np.array([handle.pointer, *map(library.address, functions)], np.int64)
        producer = Producer(topic, handle, failures, calls, _units())
        try:
            yield producer
        finally:
            producer._close()


def _units() -> npt.NDArray[np.uint8]:
    """The units of a record with all that is the same for each: any partition, copy the bytes."""
    units = np.zeros(len(library.UNITS), library.UNIT)
    units["tag"] = library.UNITS
    # an int32 in a union: the low half of the word (every platform of librdkafka's wheels is little-endian)
    units["first"][library.UNITS.index(library.PARTITION)] = library.ANY_PARTITION
    units["first"][library.UNITS.index(library.FLAGS)] = library.COPY
    return units.view(np.uint8).reshape(-1)


def _header_columns(
    array: pa.ListArray | pa.MapArray,
) -> tuple[npt.NDArray[np.int32], pa.BinaryArray, pa.BinaryArray]:
    """Positions of each row's headers, their names and their values."""
    ends = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    if isinstance(array, pa.MapArray):
        names, values = array.keys, array.items
    else:
        names, values = array.values.flatten()  # a null entry has a null name
    if array.null_count:  # what a null list points to is no header
        present = np.asarray(array.is_valid())
        chosen = pa.array(np.arange(ends[0], ends[-1])[np.repeat(present, np.diff(ends))])
        names, values = names.take(chosen), values.take(chosen)
        ends = np.concatenate(([0], np.cumsum(np.where(present, np.diff(ends), 0)))).astype(np.int32)
    return ends, names.cast(pa.binary()), values.cast(pa.binary())


def _no_headers(count: int) -> tuple[npt.NDArray[np.int32], pa.BinaryArray, pa.BinaryArray]:
    return np.zeros(count + 1, np.int32), pa.array([], pa.binary()), pa.array([], pa.binary())


def _column(array: pa.BinaryArray) -> Column:
    """Offsets, address of the bytes and validity (uint8) of a binary array."""
    if not len(array):
        return _nothing(0)
    _, positions, data = array.buffers()
    offsets = np.frombuffer(positions, np.int32)[array.offset : array.offset + len(array) + 1]
    valid = np.asarray(array.is_valid()).view(np.uint8) if array.null_count else np.ones(len(array), np.uint8)
    # an empty payload needs an address, too: a null pointer would make it a tombstone
    return offsets, data.address if data is not None and data.size else _EMPTY.ctypes.data, _frozen(valid)


def _nothing(count: int) -> Column:
    """The columns of ``count`` nulls."""
    return _frozen(np.zeros(count + 1, np.int32)), 0, _frozen(np.zeros(count, np.uint8))


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, read-only as Arrow's own memory is: numba compiles its loop for one kind of array only once."""
    view: npt.NDArray[Any] = array.view()
    view.flags.writeable = False
    return view
